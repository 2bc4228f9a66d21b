//! The hooks of HTTP.
//!
//! | hook | what it does |
//! |---|---|
//! | handler of the phase before the content | decides how the request is checked |
//! | filter of request bodies | checks a body while the handler of its location reads it, into memory, a file or the connection to the server; the handler receives no part of one that is held |
//! | filter of response headers | decides how the response is checked; writes the header of an answer to a rejected message |
//! | filter of response bodies | checks a body after decompression, and before other filters change or compress it |
//!
//! An answer is written in place of the page that nginx has for its status, so `error_page` works as usual.

mod request;
mod response;
mod state;

use core::ffi::{c_char, c_void};

use ngx::ffi::*;
use utf8_codec_engines::config::FilterKind;

use self::state::{MODULE, NEXT, shared};
use crate::exchange::Variable;
use crate::ffi::conf::{commands, create, merge, name, set};
use crate::ffi::{ERROR, OK, copy, guard, set_panic_hook};
use crate::settings::DIRECTIVES;

unsafe extern "C" fn variable(
    r: *mut ngx_http_request_t,
    value: *mut ngx_http_variable_value_t,
    data: usize,
) -> ngx_int_t {
    // SAFETY: the request is that of the hook.
    let text = guard(|| unsafe { text_of(r, data) }, || None);
    // SAFETY: nginx passes the place for the value.
    unsafe { crate::ffi::set_value(value, text) };
    OK
}

unsafe fn text_of(r: *mut ngx_http_request_t, data: usize) -> Option<ngx_str_t> {
    let (_, variable) = Variable::ALL[data];
    // SAFETY: the request is that of the hook.
    unsafe {
        let shared = shared((*r).main, None)?.borrow();
        copy((*r).pool, &shared.0.record.value(variable)?)
    }
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
        MODULE = &raw mut ngx_http_utf8_codec_module;
        NEXT = (ngx_http_top_header_filter, ngx_http_top_body_filter, ngx_http_top_request_body_filter);
        ngx_http_top_header_filter = Some(response::header_filter);
        ngx_http_top_body_filter = Some(response::body_filter);
        ngx_http_top_request_body_filter = Some(request::body_filter);
        let ctx = (*cf).ctx.cast::<ngx_http_conf_ctx_t>();
        let core = *(*ctx).main_conf.add((&raw const ngx_http_core_module).read().ctx_index);
        let phases = &mut (*core.cast::<ngx_http_core_main_conf_t>()).phases;
        let handlers = &mut phases[ngx_http_phases_NGX_HTTP_PRECONTENT_PHASE as usize].handlers;
        let Some(handler) = ngx_array_push(handlers).cast::<ngx_http_handler_pt>().as_mut() else {
            return ERROR;
        };
        *handler = Some(request::before_content);
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
