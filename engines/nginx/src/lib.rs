//! A dynamic module for nginx that checks request bodies, response bodies and TCP streams, based on `utf8-codec`.
//!
//! - `settings` has the directives, and converts them to the settings of the module for Envoy.
//! - `exchange` has the decisions about a request and its response. Like `settings` it has no pointer of nginx.
//! - `http` and `stream` are the hooks that nginx calls, over `ffi`: buffers, configuration, header fields, memory.
//!
//! nginx calls a worker's hooks on one thread, one at a time. A hook can be entered again while it calls the next one, so
//! no state is borrowed during such a call.

mod exchange;
#[allow(unsafe_code)]
mod ffi;
#[allow(unsafe_code)]
mod http;
mod settings;
#[allow(unsafe_code)]
mod stream;

use core::ffi::{CStr, c_char};

use ngx::ffi::ngx_module_t;

/// A list of C strings that nginx reads.
#[repr(transparent)]
#[allow(missing_debug_implementations)]
pub struct Names<const N: usize>([*const c_char; N]);

// SAFETY: the names are static and never written.
#[allow(unsafe_code)]
unsafe impl<const N: usize> Sync for Names<N> {}

const fn names<const N: usize>(texts: [Option<&'static CStr>; N]) -> Names<N> {
    let mut names = [core::ptr::null(); N];
    let mut index = 0;
    while index < N {
        if let Some(text) = texts[index] {
            names[index] = text.as_ptr();
        }
        index += 1;
    }
    Names(names)
}

/// The modules of this library.
#[allow(non_upper_case_globals, unsafe_code)]
#[unsafe(no_mangle)]
pub static mut ngx_modules: [*mut ngx_module_t; 3] = [
    &raw mut http::ngx_http_utf8_codec_module,
    &raw mut stream::ngx_stream_utf8_codec_module,
    core::ptr::null_mut(),
];

/// Their names.
#[allow(non_upper_case_globals, unsafe_code)]
#[unsafe(no_mangle)]
pub static ngx_module_names: Names<3> =
    names([Some(c"ngx_http_utf8_codec_module"), Some(c"ngx_stream_utf8_codec_module"), None]);

/// The modules before which the one of HTTP is inserted. The filters that are later in nginx's list run earlier, so a
/// response is checked after its decompression and before all filters that change text.
#[allow(non_upper_case_globals, unsafe_code)]
#[unsafe(no_mangle)]
pub static ngx_module_order: Names<4> = names([
    Some(c"ngx_http_utf8_codec_module"),
    Some(c"ngx_http_gunzip_filter_module"),
    Some(c"ngx_http_copy_filter_module"),
    None,
]);
