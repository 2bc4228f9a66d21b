//! The configuration: directives, and the blocks of `http` or `stream`.

use core::cell::RefCell;
use core::ffi::{CStr, c_char, c_void};
use core::ptr;

use ngx::ffi::{NGX_LOG_EMERG, ngx_command_t, ngx_conf_t, ngx_str_t, ngx_uint_t};
use utf8_codec_engines::config::FilterKind;

use super::{bytes, guard, own};
use crate::settings::{Arguments, Block, DIRECTIVES};

const CONF_OK: *mut c_char = ptr::null_mut();
/// The value of `NGX_CONF_ERROR`.
const CONF_ERROR: *mut c_char = ptr::without_provenance_mut(usize::MAX);

/// Creates the commands of a module for its first `N - 1` directives, and the empty one that ends them.
pub(crate) const fn commands<const N: usize>(
    contexts: ngx_uint_t,
    conf: ngx_uint_t,
    set: unsafe extern "C" fn(*mut ngx_conf_t, *mut ngx_command_t, *mut c_void) -> *mut c_char,
) -> [ngx_command_t; N] {
    let mut commands = [ngx_command_t::empty(); N];
    let mut index = 0;
    while index < N - 1 {
        let directive = &DIRECTIVES[index];
        let arguments = match directive.arguments {
            Arguments::One | Arguments::Flag | Arguments::Json => ngx::ffi::NGX_CONF_TAKE1,
            Arguments::Many => ngx::ffi::NGX_CONF_1MORE,
        };
        commands[index] = ngx_command_t {
            name: name(directive.name),
            type_: contexts | arguments as ngx_uint_t,
            set: Some(set),
            conf,
            offset: 0,
            post: ptr::null_mut(),
        };
        index += 1;
    }
    commands
}

/// Returns a name as a string of nginx.
pub(crate) const fn name(name: &'static CStr) -> ngx_str_t {
    ngx_str_t { len: name.count_bytes(), data: name.as_ptr().cast_mut().cast() }
}

/// Creates the configuration of a block.
///
/// # Safety
///
/// `cf` is the pointer of the hook.
pub(crate) unsafe fn create(cf: *mut ngx_conf_t) -> *mut c_void {
    // SAFETY: nginx keeps the pool of a configuration as long as the configuration.
    let block = guard(|| unsafe { own((*cf).pool, RefCell::new(Block::default())) }, || None);
    block.map_or(ptr::null_mut(), |block| ptr::from_ref(block).cast_mut().cast())
}

/// Returns the configuration of a block.
///
/// # Safety
///
/// `create` returned the pointer, and the configuration is still in use.
pub(crate) const unsafe fn block<'c>(conf: *mut c_void) -> &'c RefCell<Block> {
    // SAFETY: `create` returned a pointer to this type.
    unsafe { &*conf.cast_const().cast() }
}

/// Sets a directive.
///
/// # Safety
///
/// The pointers are those of the hook.
pub(crate) unsafe fn set(
    cf: *mut ngx_conf_t,
    command: *mut ngx_command_t,
    conf: *mut c_void,
    kind: FilterKind,
) -> *mut c_char {
    // SAFETY: the pointers are those of the hook.
    guard(|| unsafe { set_directive(cf, command, conf, kind) }, || CONF_ERROR)
}

unsafe fn set_directive(
    cf: *mut ngx_conf_t,
    command: *mut ngx_command_t,
    conf: *mut c_void,
    kind: FilterKind,
) -> *mut c_char {
    // SAFETY: the arguments of a directive are an array of strings, the first of which is its name.
    let (name, arguments, block) = unsafe {
        let arguments = (*(*cf).args).as_slice::<ngx_str_t>();
        (bytes((*command).name), arguments[1..].iter().map(|text| bytes(*text)), block(conf))
    };
    let Some(directive) = DIRECTIVES.iter().find(|known| known.name.to_bytes() == name) else {
        return CONF_ERROR;
    };
    let arguments: Vec<_> = arguments.map(String::from_utf8_lossy).collect();
    let arguments: Vec<&str> = arguments.iter().map(|text| &**text).collect();
    match block.borrow_mut().set(kind, *directive, &arguments) {
        Ok(()) => CONF_OK,
        // SAFETY: `cf` is the pointer of the hook.
        Err(message) => unsafe { fail(cf, &format!("\"{}\": {message}", directive.name.to_string_lossy())) },
    }
}

/// Lets a block inherit from the outer one.
///
/// # Safety
///
/// The pointers are those of the hook.
pub(crate) unsafe fn merge(
    cf: *mut ngx_conf_t,
    outer: *mut c_void,
    inner: *mut c_void,
    kind: FilterKind,
) -> *mut c_char {
    // SAFETY: `create` returned both pointers.
    let (outer, inner) = unsafe { (block(outer), block(inner)) };
    guard(
        || match inner.borrow_mut().inherit(&outer.borrow(), kind) {
            Ok(()) => CONF_OK,
            // SAFETY: `cf` is the pointer of the hook.
            Err(message) => unsafe { fail(cf, &message) },
        },
        || CONF_ERROR,
    )
}

/// Logs why a configuration is rejected.
///
/// # Safety
///
/// `cf` is the pointer of the hook.
pub(crate) unsafe fn fail(cf: *mut ngx_conf_t, message: &str) -> *mut c_char {
    ngx::ngx_conf_log_error!(NGX_LOG_EMERG, cf, "utf8_codec: {message}");
    CONF_ERROR
}
