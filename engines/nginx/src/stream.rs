//! The hook of `stream`: a filter of the bytes in both directions of a TCP session.
//!
//! The symbols of `stream` are looked up at run time, because nginx loads them from a module that may be absent.

use core::cell::RefCell;
use core::ffi::{CStr, c_char, c_void};
use core::ptr;
use std::sync::Arc;

use ngx::ffi::*;
use utf8_codec_engines::MessageKind;
use utf8_codec_engines::config::{FilterKind, Settings};
use utf8_codec_engines::plan::{Check, Verdict};

use crate::exchange::{Record, Variable};
use crate::ffi::chain::{Chain, Inserted, consume, rewrite, slices};
use crate::ffi::conf::{block, commands, create, fail, merge, name, set};
use crate::ffi::{DECLINED, ERROR, OK, copy, guard, log, own, set_panic_hook};
use crate::settings::{Checked, OF_STREAM};

/// A TCP session.
struct Session {
    request: Way,
    response: Way,
    record: Record,
}

/// One direction of it.
struct Way {
    check: Check,
    /// The direction was rejected. What still arrives is dropped.
    is_over: bool,
    inserted: Inserted,
}

impl Way {
    fn new(settings: &Settings, message: MessageKind) -> Self {
        let check = if settings.covers(message) { Check::connection(settings) } else { Check::pass() };
        Self { check, is_over: false, inserted: Inserted::default() }
    }
}

/// The filter that was registered before.
static mut NEXT: ngx_stream_filter_pt = None;

/// Looks up a symbol of `stream`.
fn symbol(name: &CStr) -> Option<ptr::NonNull<c_void>> {
    // SAFETY: the name is a C string. A null handle is `RTLD_DEFAULT`.
    ptr::NonNull::new(unsafe { dlsym(ptr::null_mut(), name.as_ptr()) })
}

/// Returns the settings of a server, if it checks anything.
///
/// # Safety
///
/// `s` is the session of a hook. The same holds for all functions of this file.
unsafe fn checked(s: *mut ngx_stream_session_t) -> Option<Arc<Checked>> {
    // SAFETY: the configuration of the server lives as long as the session.
    unsafe {
        let conf = *(*s).srv_conf.add(ngx_stream_utf8_codec_module.ctx_index);
        block(conf).borrow().settings.clone()
    }
}

unsafe fn session<'s>(s: *mut ngx_stream_session_t) -> Option<&'s RefCell<Session>> {
    // SAFETY: only `new_session` sets the pointer.
    unsafe { (*(*s).ctx.add(ngx_stream_utf8_codec_module.ctx_index)).cast::<RefCell<Session>>().as_ref() }
}

unsafe fn new_session<'s>(s: *mut ngx_stream_session_t) -> Option<&'s RefCell<Session>> {
    // SAFETY: the session lives as long as the pool of its connection.
    unsafe {
        // A datagram is not a part of a stream.
        if (*(*s).connection).type_ != __socket_type_SOCK_STREAM as i32 {
            return None;
        }
        let checked = checked(s)?;
        let settings = &checked.settings;
        let new = Session {
            request: Way::new(settings, MessageKind::Request),
            response: Way::new(settings, MessageKind::Response),
            record: Record::default(),
        };
        let new: &RefCell<Session> = own((*(*s).connection).pool, RefCell::new(new))?;
        *(*s).ctx.add(ngx_stream_utf8_codec_module.ctx_index) = ptr::from_ref(new).cast_mut().cast();
        Some(new)
    }
}

unsafe fn next(
    s: *mut ngx_stream_session_t,
    chain: *mut ngx_chain_t,
    from_upstream: ngx_uint_t,
) -> ngx_int_t {
    // SAFETY: the filter was registered before this one.
    unsafe { NEXT.map_or(ERROR, |next| next(s, chain, from_upstream)) }
}

unsafe extern "C" fn filter(
    s: *mut ngx_stream_session_t,
    from: *mut ngx_chain_t,
    from_upstream: ngx_uint_t,
) -> ngx_int_t {
    // SAFETY: the pointers are those of the hook. An error closes the session.
    guard(|| unsafe { check(s, from, from_upstream) }, || ERROR)
}

unsafe fn check(
    s: *mut ngx_stream_session_t,
    from: *mut ngx_chain_t,
    from_upstream: ngx_uint_t,
) -> ngx_int_t {
    // SAFETY: the pointers are those of the hook. Nothing is borrowed while the next filter runs.
    unsafe {
        let Some(cell) = session(s).or_else(|| new_session(s)) else { return next(s, from, from_upstream) };
        let message = if from_upstream == 0 { MessageKind::Request } else { MessageKind::Response };
        let mut state = cell.borrow_mut();
        let Session { request, response, record } = &mut *state;
        let way = if from_upstream == 0 { request } else { response };
        if way.is_over {
            drop(state);
            consume(from);
            return write(s, &Chain::new((*(*s).connection).pool), from_upstream);
        }
        if from.is_null() || way.check.is_passing() {
            drop(state);
            return next(s, from, from_upstream);
        }
        let mut chain = Chain::new((*(*s).connection).pool);
        // The header of the PROXY protocol is not a part of the text. It is the only buffer that is not flushed.
        let mut text = from;
        while from_upstream == 0
            && !text.is_null()
            && (*(*text).buf).flush() == 0
            && (*(*text).buf).last_buf() == 0
        {
            if chain.pass((*text).buf).is_none() {
                return ERROR;
            }
            text = (*text).next;
        }
        let read = slices(text);
        let outcome = way.check.feed(&read.slices, read.has_last);
        if outcome.repaired > 0 {
            record.set("repaired", message, None);
        }
        match &outcome.verdict {
            Verdict::Pass => {}
            Verdict::Reported(reason) => record.set("reported", message, Some(reason.clone())),
            Verdict::Rejected(reason) => {
                record.set("rejected", message, Some(reason.clone()));
                way.is_over = true;
            }
        }
        let line = record.line.take();
        let is_over = way.is_over;
        let is_changed = is_over || !outcome.is_unchanged();
        if is_changed && rewrite(&mut chain, text, &outcome, &mut way.inserted).is_none() {
            return ERROR;
        }
        drop(state);
        if let Some(line) = line {
            log(NGX_LOG_INFO, (*(*s).connection).log, &line);
        }
        if is_over {
            // As if the sender had ended its direction: nginx closes the session, or with `proxy_half_close` the other
            // direction continues.
            let sender = match (*s).upstream.as_ref() {
                Some(upstream) if from_upstream != 0 => upstream.peer.connection,
                _ => (*s).connection,
            };
            (*(*sender).read).set_eof(1);
        }
        let rc = if is_changed { write(s, &chain, from_upstream) } else { next(s, from, from_upstream) };
        let mut state = cell.borrow_mut();
        let way = if from_upstream == 0 { &mut state.request } else { &mut state.response };
        way.inserted.release_written();
        rc
    }
}

/// Writes a chain. Without anything to write, nginx would report an empty chain as an error.
unsafe fn write(s: *mut ngx_stream_session_t, chain: &Chain, from_upstream: ngx_uint_t) -> ngx_int_t {
    // SAFETY: the session has both connections while it is filtered.
    unsafe {
        let receiver = if from_upstream == 0 { (*(*s).upstream).peer.connection } else { (*s).connection };
        if chain.is_empty() && (*receiver).buffered() == 0 {
            return OK;
        }
        next(s, chain.first(), from_upstream)
    }
}

// Configuration.

unsafe extern "C" fn variable(
    s: *mut ngx_stream_session_t,
    value: *mut ngx_stream_variable_value_t,
    data: usize,
) -> ngx_int_t {
    // SAFETY: the session is that of the hook.
    let text = guard(|| unsafe { text_of(s, data) }, || None);
    // SAFETY: nginx passes the place for the value.
    unsafe { crate::ffi::set_value(value, text) };
    OK
}

unsafe fn text_of(s: *mut ngx_stream_session_t, data: usize) -> Option<ngx_str_t> {
    let (_, variable) = Variable::ALL[data];
    // SAFETY: the session is that of the hook.
    unsafe { copy((*(*s).connection).pool, &session(s)?.borrow().record.value(variable)?) }
}

/// The type of `ngx_stream_add_variable`.
type AddVariable =
    unsafe extern "C" fn(*mut ngx_conf_t, *mut ngx_str_t, ngx_uint_t) -> *mut ngx_stream_variable_t;

unsafe extern "C" fn add_variables(cf: *mut ngx_conf_t) -> ngx_int_t {
    let Some(add) = symbol(c"ngx_stream_add_variable") else { return DECLINED };
    // SAFETY: the symbol has this type.
    let add: AddVariable = unsafe { core::mem::transmute(add) };
    for (index, (text, _)) in Variable::ALL.iter().enumerate() {
        // SAFETY: `cf` is the pointer of the hook, and the name is static.
        unsafe {
            let Some(added) = add(cf, &mut name(text), NGX_STREAM_VAR_NOCACHEABLE as ngx_uint_t).as_mut()
            else {
                return ERROR;
            };
            added.get_handler = Some(variable);
            added.data = index;
        }
    }
    OK
}

unsafe extern "C" fn add_filter(cf: *mut ngx_conf_t) -> ngx_int_t {
    set_panic_hook();
    let top = symbol(c"ngx_stream_top_filter");
    // SAFETY: the symbol is a variable of this type. nginx reads a configuration on one thread.
    unsafe {
        match top.map(|top| top.cast::<ngx_stream_filter_pt>().as_mut()) {
            Some(top @ Some(_)) => {
                NEXT = *top;
                *top = Some(filter);
                OK
            }
            _ => {
                fail(cf, "load ngx_stream_module.so before this module");
                ERROR
            }
        }
    }
}

unsafe extern "C" fn create_conf(cf: *mut ngx_conf_t) -> *mut c_void {
    // SAFETY: the pointer is that of the hook.
    unsafe { create(cf) }
}

unsafe extern "C" fn merge_conf(cf: *mut ngx_conf_t, outer: *mut c_void, inner: *mut c_void) -> *mut c_char {
    // SAFETY: the pointers are those of the hook.
    unsafe { merge(cf, outer, inner, FilterKind::Network) }
}

unsafe extern "C" fn set_directive(
    cf: *mut ngx_conf_t,
    command: *mut ngx_command_t,
    conf: *mut c_void,
) -> *mut c_char {
    // SAFETY: the pointers are those of the hook.
    unsafe { set(cf, command, conf, FilterKind::Network) }
}

static mut CONTEXT: ngx_stream_module_t = ngx_stream_module_t {
    preconfiguration: Some(add_variables),
    postconfiguration: Some(add_filter),
    create_main_conf: None,
    init_main_conf: None,
    create_srv_conf: Some(create_conf),
    merge_srv_conf: Some(merge_conf),
};

static mut COMMANDS: [ngx_command_t; OF_STREAM + 1] = commands(
    (NGX_STREAM_MAIN_CONF | NGX_STREAM_SRV_CONF) as ngx_uint_t,
    NGX_STREAM_SRV_CONF_OFFSET,
    set_directive,
);

/// The module, under the name that nginx uses in its list.
#[allow(non_upper_case_globals)]
pub(crate) static mut ngx_stream_utf8_codec_module: ngx_module_t = ngx_module_t {
    ctx: (&raw mut CONTEXT).cast(),
    commands: (&raw mut COMMANDS).cast(),
    type_: NGX_STREAM_MODULE as ngx_uint_t,
    ..ngx_module_t::default()
};
