//! The hooks of HTTP.
//!
//! | hook | what it does |
//! |---|---|
//! | handler of the phase before the content | decides how the request is checked; reads the body first if it is held |
//! | filter of request bodies | checks a body while nginx reads it, into memory, a file or the connection to the server |
//! | filter of response headers | decides how the response is checked; writes the header of an answer to a rejected message |
//! | filter of response bodies | checks a body after decompression, and before other filters change or compress it |
//!
//! An answer is written in place of the page that nginx has for its status, so `error_page` works as usual.

use core::cell::RefCell;
use core::ffi::{c_char, c_void};
use core::ptr;
use std::sync::Arc;

use ngx::ffi::*;
use utf8_codec::http::{MessageKind, Reason};
use utf8_codec_envoy::config::FilterKind;
use utf8_codec_envoy::plan::{Check, Content, decide};

use crate::exchange::{Answer, Exchange, Request, Variable};
use crate::ffi::chain::{Chain, Inserted, consume, rewrite, slices};
use crate::ffi::conf::{block, commands, create, merge, name, set};
use crate::ffi::fields::{of_request, of_response, remove_of_request, remove_of_response, set_answer};
use crate::ffi::{AGAIN, DECLINED, DONE, ERROR, OK, copy, find, guard, log, own, set_panic_hook};
use crate::settings::{Checked, DIRECTIVES};

/// The context of a request or subrequest in one location.
#[derive(Debug, Default)]
struct Reply {
    /// The answer to a rejected message.
    answer: Option<Answer>,
    has_answered: bool,
    check: Option<Box<Check>>,
    checked: Option<Arc<Checked>>,
    /// The response, if it is held until its end.
    held: Option<Vec<u8>>,
    /// The response was rejected after its header. It ends when the text before the error is written.
    is_over: bool,
    inserted: Inserted,
}

type Shared = RefCell<(Exchange, Inserted)>;

/// The filters that were registered before.
static mut NEXT: (
    ngx_http_output_header_filter_pt,
    ngx_http_output_body_filter_pt,
    ngx_http_request_body_filter_pt,
) = (None, None, None);

/// The settings of the location of a request, if it checks anything.
///
/// # Safety
///
/// `r` is the request of a hook. The same holds for all functions of this file.
unsafe fn checked(r: *mut ngx_http_request_t) -> Option<Arc<Checked>> {
    // SAFETY: the configuration of the location lives as long as the request.
    unsafe {
        let conf = *(*r).loc_conf.add(ngx_http_utf8_codec_module.ctx_index);
        block(conf).borrow().settings.clone()
    }
}

/// Returns the state of the main request, which is created for a location that checks anything.
unsafe fn shared<'r>(r: *mut ngx_http_request_t, checked: Option<Arc<Checked>>) -> Option<&'r Shared> {
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
unsafe fn reply<'r>(r: *mut ngx_http_request_t) -> Option<&'r RefCell<Reply>> {
    // SAFETY: only `new_reply` sets the pointer.
    unsafe { (*(*r).ctx.add(ngx_http_utf8_codec_module.ctx_index)).cast::<RefCell<Reply>>().as_ref() }
}

unsafe fn new_reply(r: *mut ngx_http_request_t, new: Reply) -> Option<()> {
    // SAFETY: the context lives as long as the pool of the request.
    unsafe {
        let new: &RefCell<Reply> = own((*r).pool, RefCell::new(new))?;
        *(*r).ctx.add(ngx_http_utf8_codec_module.ctx_index) = ptr::from_ref(new).cast_mut().cast();
        Some(())
    }
}

/// Keeps the answer for the filters of the response. Returns its status.
unsafe fn keep_answer(r: *mut ngx_http_request_t, answer: Answer) -> ngx_int_t {
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
unsafe fn log_line(r: *mut ngx_http_request_t, shared: &Shared) {
    if let Some(line) = shared.borrow_mut().0.record.line.take() {
        // SAFETY: a request has a connection with a log.
        unsafe { log(NGX_LOG_INFO, (*(*r).connection).log, &line) };
    }
}

/// The status of a request after a panic.
unsafe fn panicked(r: *mut ngx_http_request_t) -> ngx_int_t {
    let answer = || {
        // SAFETY: the request is that of the hook.
        unsafe {
            let answer = shared(r, None)?.try_borrow_mut().ok()?.0.panicked();
            Some(keep_answer(r, answer))
        }
    };
    let failed = NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t;
    guard(|| answer().unwrap_or(failed), || failed)
}

// Requests.

/// Decides once how a request is checked. Returns whether its body is read first, or the status of a rejection.
unsafe fn decide_request(r: *mut ngx_http_request_t, shared: &Shared) -> Result<bool, ngx_int_t> {
    // SAFETY: the request is that of the hook, and the fields are not used after their removal.
    unsafe {
        let has_body = (*r).headers_in.content_length_n > 0 || (*r).headers_in.chunked() != 0;
        let decision = shared.borrow_mut().0.decide(&of_request(r), has_body);
        log_line(r, shared);
        match decision {
            Ok(plan) => {
                remove_of_request(r, &plan.untrue).ok_or(ERROR)?;
                Ok(plan.reads_first)
            }
            Err(answer) => Err(keep_answer(r, answer)),
        }
    }
}

unsafe extern "C" fn before_content(r: *mut ngx_http_request_t) -> ngx_int_t {
    let hook = || {
        // SAFETY: the request is that of the hook. Nothing is borrowed while nginx reads the body.
        unsafe {
            if r != (*r).main {
                return DECLINED;
            }
            let Some(checked) = checked(r) else { return DECLINED };
            let Some(shared) = shared(r, Some(checked)) else { return ERROR };
            // Also in the location of an `error_page`.
            if !matches!(shared.borrow().0.request, Request::New) {
                return DECLINED;
            }
            match decide_request(r, shared) {
                Err(status) => return status,
                Ok(false) => return DECLINED,
                Ok(true) => {}
            }
            let rc = ngx_http_read_client_request_body(r, Some(after_body));
            if rc >= NGX_HTTP_SPECIAL_RESPONSE as ngx_int_t {
                return rc;
            }
            ngx_http_finalize_request(r, DONE);
            DONE
        }
    };
    // SAFETY: the request is that of the hook.
    guard(hook, || unsafe { panicked(r) })
}

/// Continues with the phases of a request whose body was read.
unsafe extern "C" fn after_body(r: *mut ngx_http_request_t) {
    // SAFETY: the request is that of the hook.
    unsafe {
        (*r).write_event_handler = Some(ngx_http_core_run_phases);
        ngx_http_core_run_phases(r);
    }
}

unsafe extern "C" fn request_body_filter(r: *mut ngx_http_request_t, from: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the pointers are those of the hook.
    guard(|| unsafe { check_request(r, from) }, || unsafe { panicked(r) })
}

unsafe fn next_request_body(r: *mut ngx_http_request_t, chain: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the filter was registered before this one.
    unsafe { NEXT.2.map_or(ERROR, |next| next(r, chain)) }
}

unsafe fn check_request(r: *mut ngx_http_request_t, from: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the pointers are those of the hook. Nothing is borrowed while the next filter runs.
    unsafe {
        let Some(shared) = shared(r, checked(r)) else { return next_request_body(r, from) };
        // The body may be read in an earlier phase.
        if matches!(shared.borrow().0.request, Request::New)
            && let Err(status) = decide_request(r, shared)
        {
            return status;
        }
        let mut state = shared.borrow_mut();
        let (exchange, inserted) = &mut *state;
        let check = match &mut exchange.request {
            Request::Checked(check) if !check.is_passing() => check,
            Request::Rejected(status) => return *status as ngx_int_t,
            _ => {
                drop(state);
                return next_request_body(r, from);
            }
        };
        let read = slices(from);
        if read.slices.is_empty() && !read.has_last {
            drop(state);
            return next_request_body(r, from);
        }
        let outcome = check.feed(&read.slices, read.has_last);
        exchange.growth += outcome.head.as_slice().len() as i64 + outcome.tail.len() as i64;
        exchange.growth -= (outcome.len - outcome.kept) as i64;
        let answer = exchange.observe(MessageKind::Request, &outcome);
        let mut chain = Chain::new((*r).pool);
        if answer.is_none()
            && !outcome.is_unchanged()
            && rewrite(&mut chain, from, &outcome, inserted).is_none()
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t;
        }
        if read.has_last {
            set_length(r, exchange.growth);
        }
        drop(state);
        log_line(r, shared);
        if let Some(answer) = answer {
            return keep_answer(r, answer);
        }
        let is_changed = !outcome.is_unchanged();
        let rc = next_request_body(r, if is_changed { chain.first() } else { from });
        if is_changed {
            release_inserted(r, &mut shared.borrow_mut().1);
        }
        rc
    }
}

/// Releases what was inserted and is not used any more. A body in memory is needed to the end, for the next server.
unsafe fn release_inserted(r: *mut ngx_http_request_t, inserted: &mut Inserted) {
    // SAFETY: a request whose body is filtered has the structure of the body.
    unsafe {
        if (*r).request_body_no_buffering() != 0 {
            inserted.release_written();
        } else if (*(*r).request_body).bufs.is_null() {
            // The body is in a file.
            inserted.clear();
        }
    }
}

/// Sets the length that nginx tells the server.
unsafe fn set_length(r: *mut ngx_http_request_t, growth: i64) {
    // SAFETY: a request whose body is filtered has the structure of the body. Nothing more is read.
    unsafe {
        if (*r).headers_in.content_length_n >= 0 {
            (*r).headers_in.content_length_n += growth;
        }
        // From it nginx computes the length of a body over HTTP/2.
        (*(*r).request_body).received += growth;
    }
}

// Responses.

unsafe fn next_header(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: the filter was registered before this one.
    unsafe { NEXT.0.map_or(ERROR, |next| next(r)) }
}

unsafe fn next_body(r: *mut ngx_http_request_t, chain: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the filter was registered before this one.
    unsafe { NEXT.1.map_or(ERROR, |next| next(r, chain)) }
}

/// Ends a response whose header was not sent, with the answer.
unsafe fn finalize(r: *mut ngx_http_request_t, answer: Answer) -> ngx_int_t {
    // SAFETY: the request is that of the hook, and nothing is borrowed.
    unsafe {
        let status = keep_answer(r, answer);
        ngx_http_filter_finalize_request(r, &raw mut ngx_http_utf8_codec_module, status)
    }
}

unsafe extern "C" fn header_filter(r: *mut ngx_http_request_t) -> ngx_int_t {
    let on_panic = || {
        // SAFETY: the request is that of the hook.
        unsafe {
            let status = panicked(r);
            ngx_http_filter_finalize_request(r, &raw mut ngx_http_utf8_codec_module, status)
        }
    };
    // SAFETY: the request is that of the hook.
    guard(|| unsafe { check_header(r) }, on_panic)
}

unsafe fn check_header(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: the request is that of the hook. Nothing is borrowed while nginx or the next filter runs.
    unsafe {
        if let Some(reply) = reply(r) {
            let reply = reply.borrow();
            // An answer of `error_page` has another status.
            if let Some(answer) =
                reply.answer.as_ref().filter(|a| usize::from(a.status) == (*r).headers_out.status)
            {
                // The client may still send. Without this it could lose the answer to a reset.
                (*r).set_lingering_close(1);
                if set_answer(r, answer).is_none() {
                    return ERROR;
                }
            }
            drop(reply);
            return next_header(r);
        }
        let Some(checked) = checked(r) else { return next_header(r) };
        let settings = &checked.settings;
        if !settings.covers(MessageKind::Response) {
            return next_header(r);
        }
        let Some(shared) = shared(r, Some(Arc::clone(&checked))) else { return ERROR };
        let status = u16::try_from((*r).headers_out.status).unwrap_or(0);
        let is_head = (*r).method == NGX_HTTP_HEAD as ngx_uint_t;
        let has_no_body = is_head || (*r).header_only() != 0 || matches!(status, 100..=199 | 204 | 304);
        let content = Content::of_response(!has_no_body, is_head, status);
        let mut content_type = Vec::new();
        let mut fields = of_response(r, &mut content_type);
        let response = MessageKind::Response;
        let plan = match decide(settings, response, fields.iter().copied(), content) {
            Ok(plan) => plan,
            Err(reason) if settings.only_reports() => {
                shared.borrow_mut().0.record.set("reported", response, Some(reason));
                log_line(r, shared);
                return next_header(r);
            }
            Err(reason) => {
                let answer = shared.borrow_mut().0.reject(response, reason);
                log_line(r, shared);
                return finalize(r, answer);
            }
        };
        let is_checked = !plan.check.is_passing();
        if is_checked {
            // nginx cuts ranges out of a body later, in the header and before this filter in the body.
            fields.push((b"content-range", b"bytes 0-0/1"));
            let ranged = decide(settings, response, fields.iter().copied(), content);
            if !plan.untrue.is_empty() || !ranged.is_ok_and(|plan| plan.check.is_passing()) {
                (*r).set_allow_ranges(0);
            }
        }
        drop(fields);
        remove_of_response(r, &plan.untrue);
        if !is_checked {
            return next_header(r);
        }
        (*r).set_filter_need_in_memory(1);
        let is_held = settings.is_buffered() && !settings.only_reports() && r == (*r).main;
        let new = Reply {
            check: Some(Box::new(plan.check)),
            checked: Some(checked),
            held: is_held.then(Vec::new),
            ..Reply::default()
        };
        if new_reply(r, new).is_none() {
            return ERROR;
        }
        if is_held { OK } else { next_header(r) }
    }
}

unsafe extern "C" fn body_filter(r: *mut ngx_http_request_t, from: *mut ngx_chain_t) -> ngx_int_t {
    let on_panic = || {
        // SAFETY: the pointers are those of the hook.
        unsafe {
            let is_held =
                reply(r).is_some_and(|reply| reply.try_borrow().is_ok_and(|reply| reply.held.is_some()));
            let status = panicked(r);
            if is_held {
                return ngx_http_filter_finalize_request(r, &raw mut ngx_http_utf8_codec_module, status);
            }
            if let Some(reply) = reply(r) {
                reply.borrow_mut().is_over = true;
            }
            ERROR
        }
    };
    // SAFETY: the pointers are those of the hook.
    guard(|| unsafe { check_response(r, from) }, || guard(on_panic, || ERROR))
}

unsafe fn check_response(r: *mut ngx_http_request_t, from: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the pointers are those of the hook. Nothing is borrowed while nginx or the next filter runs.
    unsafe {
        let Some(cell) = reply(r) else { return next_body(r, from) };
        let mut state = cell.borrow_mut();
        let state_ref = &mut *state;
        let mut chain = Chain::new((*r).pool);
        if state_ref.is_over {
            drop(state);
            consume(from);
            return end_response(r, &chain);
        }
        if let Some(answer) = &state_ref.answer {
            let body = answer.body.clone().into_bytes();
            consume(from);
            if core::mem::replace(&mut state_ref.has_answered, true) || from.is_null() {
                drop(state);
                return if from.is_null() { next_body(r, from) } else { OK };
            }
            if chain.insert(&mut state_ref.inserted, body).is_none()
                || chain.end(r == (*r).main, true).is_none()
            {
                return ERROR;
            }
            drop(state);
            return next_body(r, chain.first());
        }
        if (*r).headers_out.status == NGX_HTTP_PARTIAL_CONTENT as ngx_uint_t {
            // A range that nginx cut out, which `content_ranges` lets pass. Or one that was decided by its header.
            if (*r).allow_ranges() != 0 {
                state_ref.check = None;
            }
        }
        let (Some(check), false) = (&mut state_ref.check, from.is_null()) else {
            drop(state);
            return next_body(r, from);
        };
        if check.is_passing() {
            drop(state);
            return next_body(r, from);
        }
        let Some(shared) = shared(r, None) else { return ERROR };
        let read = slices(from);
        if read.has_file {
            drop(state);
            log(NGX_LOG_ALERT, (*(*r).connection).log, "utf8_codec: a response is not in memory");
            return ERROR;
        }
        let end = read.has_last || (r != (*r).main && read.has_last_in_chain);
        let outcome = check.feed(&read.slices, end);
        let mut answer = shared.borrow_mut().0.observe(MessageKind::Response, &outcome);
        if let Some(held) = &mut state_ref.held {
            held.extend_from_slice(outcome.head.as_slice());
            let mut left = outcome.kept;
            for slice in &read.slices {
                let kept = slice.len().min(left);
                held.extend_from_slice(&slice[..kept]);
                left -= kept;
            }
            held.extend_from_slice(&outcome.tail);
            let limit = state_ref.checked.as_ref().map_or(0, |checked| checked.buffer_size);
            if answer.is_none() && held.len() > limit {
                answer = Some(shared.borrow_mut().0.reject(MessageKind::Response, Reason::TooLong { limit }));
            }
            let data = if end { core::mem::take(held) } else { Vec::new() };
            drop(state);
            consume(from);
            log_line(r, shared);
            if let Some(answer) = answer {
                return finalize(r, answer);
            }
            return if end { write_held(r, cell, data) } else { OK };
        }
        let is_changed = answer.is_some() || !outcome.is_unchanged();
        if is_changed && rewrite(&mut chain, from, &outcome, &mut state_ref.inserted).is_none() {
            return ERROR;
        }
        if answer.is_some() {
            state_ref.is_over = true;
        }
        drop(state);
        log_line(r, shared);
        if answer.is_some() {
            chain.flush();
            chain.unmark_end();
            return end_response(r, &chain);
        }
        if !is_changed {
            return next_body(r, from);
        }
        let rc = if chain.is_empty() { OK } else { next_body(r, chain.first()) };
        cell.borrow_mut().inserted.release_written();
        rc
    }
}

/// Writes the header and the body of a response that was held.
unsafe fn write_held(r: *mut ngx_http_request_t, cell: &RefCell<Reply>, data: Vec<u8>) -> ngx_int_t {
    // SAFETY: the request is that of the hook. Nothing is borrowed while the next filters run.
    unsafe {
        if (*r).headers_out.content_length_n >= 0 {
            (*r).headers_out.content_length_n = data.len() as i64;
        }
        let mut chain = Chain::new((*r).pool);
        {
            let mut reply = cell.borrow_mut();
            (reply.held, reply.check) = (None, None);
            if chain.insert(&mut reply.inserted, data).is_none() || chain.end(true, true).is_none() {
                return ERROR;
            }
        }
        let rc = next_header(r);
        if rc == ERROR || rc > OK || (*r).header_only() != 0 {
            return rc;
        }
        next_body(r, chain.first())
    }
}

/// Ends a response after the text before an error: the connection or the stream of HTTP/2 is closed without the end of the
/// body.
unsafe fn end_response(r: *mut ngx_http_request_t, chain: &Chain) -> ngx_int_t {
    // SAFETY: the request is that of the hook.
    unsafe {
        let connection = (*r).connection;
        if (!chain.is_empty() || (*connection).buffered() != 0) && next_body(r, chain.first()) == ERROR {
            return ERROR;
        }
        if (*connection).buffered() != 0 { AGAIN } else { ERROR }
    }
}

// Configuration.

unsafe extern "C" fn variable(
    r: *mut ngx_http_request_t,
    value: *mut ngx_http_variable_value_t,
    data: usize,
) -> ngx_int_t {
    let text = || {
        let (_, variable) = Variable::ALL[data];
        // SAFETY: the request is that of the hook.
        unsafe {
            let shared = shared((*r).main, None)?.borrow();
            copy((*r).pool, &shared.0.record.value(variable)?)
        }
    };
    // SAFETY: nginx passes the place for the value.
    unsafe { crate::ffi::set_value(value, guard(text, || None)) };
    OK
}

unsafe extern "C" fn add_variables(cf: *mut ngx_conf_t) -> ngx_int_t {
    for (index, (text, _)) in Variable::ALL.iter().enumerate() {
        // SAFETY: `cf` is the pointer of the hook, and the name is static.
        unsafe {
            let added = ngx_http_add_variable(cf, &mut name(text), NGX_HTTP_VAR_NOCACHEABLE as ngx_uint_t);
            let Some(added) = added.as_mut() else { return ERROR };
            added.get_handler = Some(variable);
            added.data = index;
        }
    }
    OK
}

unsafe extern "C" fn add_filters(cf: *mut ngx_conf_t) -> ngx_int_t {
    set_panic_hook();
    // SAFETY: nginx reads a configuration on one thread, and registers its own filters before those of modules.
    unsafe {
        NEXT = (ngx_http_top_header_filter, ngx_http_top_body_filter, ngx_http_top_request_body_filter);
        ngx_http_top_header_filter = Some(header_filter);
        ngx_http_top_body_filter = Some(body_filter);
        ngx_http_top_request_body_filter = Some(request_body_filter);
        let ctx = (*cf).ctx.cast::<ngx_http_conf_ctx_t>();
        let core = *(*ctx).main_conf.add((&raw const ngx_http_core_module).read().ctx_index);
        let phases = &mut (*core.cast::<ngx_http_core_main_conf_t>()).phases;
        let handlers = &mut phases[ngx_http_phases_NGX_HTTP_PRECONTENT_PHASE as usize].handlers;
        let Some(handler) = ngx_array_push(handlers).cast::<ngx_http_handler_pt>().as_mut() else {
            return ERROR;
        };
        *handler = Some(before_content);
    }
    OK
}

unsafe extern "C" fn create_conf(cf: *mut ngx_conf_t) -> *mut c_void {
    // SAFETY: the pointer is that of the hook.
    unsafe { create(cf) }
}

unsafe extern "C" fn merge_conf(cf: *mut ngx_conf_t, outer: *mut c_void, inner: *mut c_void) -> *mut c_char {
    // SAFETY: the pointers are those of the hook.
    unsafe { merge(cf, outer, inner, FilterKind::Http) }
}

unsafe extern "C" fn set_directive(
    cf: *mut ngx_conf_t,
    command: *mut ngx_command_t,
    conf: *mut c_void,
) -> *mut c_char {
    // SAFETY: the pointers are those of the hook.
    unsafe { set(cf, command, conf, FilterKind::Http) }
}

static mut CONTEXT: ngx_http_module_t = ngx_http_module_t {
    preconfiguration: Some(add_variables),
    postconfiguration: Some(add_filters),
    create_main_conf: None,
    init_main_conf: None,
    create_srv_conf: None,
    merge_srv_conf: None,
    create_loc_conf: Some(create_conf),
    merge_loc_conf: Some(merge_conf),
};

static mut COMMANDS: [ngx_command_t; DIRECTIVES.len() + 1] = commands(
    (NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF) as ngx_uint_t,
    NGX_HTTP_LOC_CONF_OFFSET,
    set_directive,
);

/// The module, under the name that nginx uses in its list.
#[allow(non_upper_case_globals)]
pub(crate) static mut ngx_http_utf8_codec_module: ngx_module_t = ngx_module_t {
    ctx: (&raw mut CONTEXT).cast(),
    commands: (&raw mut COMMANDS).cast(),
    type_: NGX_HTTP_MODULE as ngx_uint_t,
    ..ngx_module_t::default()
};
