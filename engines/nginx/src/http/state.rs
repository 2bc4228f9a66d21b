//! The state of a request and of its response, and where nginx keeps it.

use core::cell::RefCell;
use core::ptr;
use std::sync::Arc;

use ngx::ffi::*;
use utf8_codec_engines::plan::Check;

use crate::exchange::{Answer, Exchange};
use crate::ffi::chain::Inserted;
use crate::ffi::conf::block;
use crate::ffi::{find, guard, log, own};
use crate::settings::Checked;

/// The context of a request or subrequest in one location.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// The answer to a rejected message.
    pub(super) answer: Option<Answer>,
    /// The header of the response is that of the answer.
    pub(super) is_answering: bool,
    pub(super) has_answered: bool,
    pub(super) check: Option<Box<Check>>,
    pub(super) checked: Option<Arc<Checked>>,
    /// The response, if it is held until its end.
    pub(super) held: Option<Vec<u8>>,
    /// The response was rejected after its header. It ends when the text before the error is written.
    pub(super) is_over: bool,
    pub(super) inserted: Inserted,
}

pub(super) type Shared = RefCell<(Exchange, Inserted)>;

/// The module, which has the index of its contexts and configurations.
pub(super) static mut MODULE: *mut ngx_module_t = ptr::null_mut();

/// The filters that were registered before.
pub(super) static mut NEXT: (
    ngx_http_output_header_filter_pt,
    ngx_http_output_body_filter_pt,
    ngx_http_request_body_filter_pt,
) = (None, None, None);

/// The settings of the location of a request, if it checks anything.
///
/// # Safety
///
/// `r` is the request of a hook. The same holds for all functions of this file.
pub(super) unsafe fn checked(r: *mut ngx_http_request_t) -> Option<Arc<Checked>> {
    // SAFETY: the configuration of the location lives as long as the request.
    unsafe {
        let conf = *(*r).loc_conf.add((*MODULE).ctx_index);
        block(conf).borrow().settings.clone()
    }
}

/// Returns the state of the main request, which is created for a location that checks anything.
pub(super) unsafe fn shared<'r>(
    r: *mut ngx_http_request_t,
    checked: Option<Arc<Checked>>,
) -> Option<&'r Shared> {
    // SAFETY: the state lives as long as the pool of the request.
    unsafe {
        let pool = (*r).pool;
        if let Some(shared) = find(pool) {
            return Some(shared);
        }
        own(pool, RefCell::new((Exchange::new(checked?), Inserted::default())))
    }
}

/// Returns the context in the location, if there is one. An internal redirect removes it.
pub(super) unsafe fn reply<'r>(r: *mut ngx_http_request_t) -> Option<&'r RefCell<Reply>> {
    // SAFETY: only `new_reply` sets the pointer.
    unsafe { (*(*r).ctx.add((*MODULE).ctx_index)).cast::<RefCell<Reply>>().as_ref() }
}

pub(super) unsafe fn new_reply(r: *mut ngx_http_request_t, new: Reply) -> Option<()> {
    // SAFETY: the context lives as long as the pool of the request.
    unsafe {
        let new: &RefCell<Reply> = own((*r).pool, RefCell::new(new))?;
        *(*r).ctx.add((*MODULE).ctx_index) = ptr::from_ref(new).cast_mut().cast();
        Some(())
    }
}

/// Keeps the answer for the filters of the response. Returns its status.
pub(super) unsafe fn keep_answer(r: *mut ngx_http_request_t, answer: Answer) -> ngx_int_t {
    let status = answer.status as ngx_int_t;
    // SAFETY: the request is that of the hook.
    unsafe {
        match reply(r) {
            Some(reply) => {
                let mut reply = reply.borrow_mut();
                (reply.check, reply.held) = (None, None);
                reply.answer = Some(answer);
            }
            None => {
                if new_reply(r, Reply { answer: Some(answer), ..Reply::default() }).is_none() {
                    return NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t;
                }
            }
        }
    }
    status
}

/// Writes the line about a rejected or reported message.
pub(super) unsafe fn log_line(r: *mut ngx_http_request_t, shared: &Shared) {
    if let Some(line) = shared.borrow_mut().0.record.line.take() {
        // SAFETY: a request has a connection with a log.
        unsafe { log(NGX_LOG_INFO, (*(*r).connection).log, &line) };
    }
}

/// The status of a request after a panic.
pub(super) unsafe fn panicked(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: the request is that of the hook.
    let status = guard(|| unsafe { answer_panic(r) }, || None);
    status.unwrap_or(NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t)
}

unsafe fn answer_panic(r: *mut ngx_http_request_t) -> Option<ngx_int_t> {
    // SAFETY: the request is that of the hook.
    unsafe {
        (*r).set_keepalive(0);
        let answer = shared(r, None)?.try_borrow_mut().ok()?.0.panicked();
        Some(keep_answer(r, answer))
    }
}
