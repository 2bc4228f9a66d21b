//! The border to nginx: memory of a pool, panics, the log.

pub(crate) mod chain;
pub(crate) mod conf;
pub(crate) mod fields;

use core::any::Any;
use core::ffi::c_void;
use core::ptr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use ngx::ffi::{
    NGX_ERROR, NGX_OK, ngx_int_t, ngx_log_t, ngx_pnalloc, ngx_pool_cleanup_add, ngx_pool_t, ngx_str_t,
    ngx_variable_value_t,
};

pub(crate) const OK: ngx_int_t = NGX_OK as ngx_int_t;
pub(crate) const ERROR: ngx_int_t = NGX_ERROR as ngx_int_t;
pub(crate) const AGAIN: ngx_int_t = ngx::ffi::NGX_AGAIN as ngx_int_t;
pub(crate) const DECLINED: ngx_int_t = ngx::ffi::NGX_DECLINED as ngx_int_t;

/// Calls `hook`, and `on_panic` if it panics. A panic must not unwind into nginx, because that would abort the worker.
pub(crate) fn guard<T>(hook: impl FnOnce() -> T, on_panic: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(hook)).unwrap_or_else(|payload| {
        // The destructor of the panic payload may also panic.
        core::mem::forget(payload);
        on_panic()
    })
}

/// Sets what a panic writes to the error log: its place, because its message may contain the payload.
pub(crate) fn set_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            if let Some(place) = panic.location() {
                // nginx redirects stderr to the error log.
                eprintln!("utf8_codec: panic at {place}");
            }
        }));
    });
}

/// Writes a line to the error log.
///
/// # Safety
///
/// `log` is a log of nginx.
pub(crate) unsafe fn log(level: u32, log: *mut ngx_log_t, line: &str) {
    ngx::ngx_log_error!(level, log, "{line}");
}

/// Moves a value into memory that is released with the pool. Returns `None` without memory.
///
/// # Safety
///
/// `pool` is a pool of nginx, and the reference is not used after it.
pub(crate) unsafe fn own<'p, T: Any>(pool: *mut ngx_pool_t, value: T) -> Option<&'p T> {
    // SAFETY: the caller passes a pool.
    let cleanup = unsafe { ngx_pool_cleanup_add(pool, 0).as_mut()? };
    let value: Box<dyn Any> = Box::new(value);
    let value = Box::leak(Box::new(value));
    cleanup.data = ptr::from_mut(value).cast();
    cleanup.handler = Some(release);
    value.downcast_ref()
}

/// Finds a value that [`own`] moved into a pool.
///
/// # Safety
///
/// As for [`own`].
pub(crate) unsafe fn find<'p, T: Any>(pool: *mut ngx_pool_t) -> Option<&'p T> {
    // SAFETY: the list of a pool has cleanups until its null pointer. Those with our handler point to what `own` leaked.
    unsafe {
        let mut next = (*pool).cleanup;
        while let Some(cleanup) = next.as_ref() {
            if cleanup.handler.is_some_and(|handler| ptr::fn_addr_eq(handler, release as Handler))
                && let Some(value) = cleanup.data.cast::<Box<dyn Any>>().as_ref()
                && let Some(value) = value.downcast_ref()
            {
                return Some(value);
            }
            next = cleanup.next;
        }
        None
    }
}

type Handler = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" fn release(value: *mut c_void) {
    // SAFETY: `own` leaked the box, and nginx calls a cleanup once.
    guard(|| drop(unsafe { Box::from_raw(value.cast::<Box<dyn Any>>()) }), || ());
}

/// Returns the bytes of a string of nginx.
///
/// # Safety
///
/// The string is valid during `'s`.
pub(crate) const unsafe fn bytes<'s>(text: ngx_str_t) -> &'s [u8] {
    if text.len == 0 {
        return &[];
    }
    // SAFETY: a string of nginx points to `len` bytes.
    unsafe { core::slice::from_raw_parts(text.data, text.len) }
}

/// Returns a string of nginx for text that lives as long as its use.
pub(crate) const fn string(text: &str) -> ngx_str_t {
    ngx_str_t { len: text.len(), data: text.as_ptr().cast_mut() }
}

/// Copies text to a pool. Returns `None` without memory.
///
/// # Safety
///
/// `pool` is a pool of nginx.
pub(crate) unsafe fn copy(pool: *mut ngx_pool_t, text: &str) -> Option<ngx_str_t> {
    // SAFETY: `ngx_pnalloc` returns room for the text or a null pointer.
    unsafe {
        let data: *mut u8 = ngx_pnalloc(pool, text.len()).cast();
        data.as_mut()?;
        data.copy_from_nonoverlapping(text.as_ptr(), text.len());
        Some(ngx_str_t { len: text.len(), data })
    }
}

/// Sets the value of a variable.
///
/// # Safety
///
/// `value` is the place that nginx passed for it.
pub(crate) unsafe fn set_value(value: *mut ngx_variable_value_t, text: Option<ngx_str_t>) {
    // SAFETY: the caller passes a valid place.
    let value = unsafe { &mut *value };
    match text {
        Some(text) => {
            value.data = text.data;
            value.set_len(text.len as u32);
            value.set_valid(1);
            value.set_not_found(0);
        }
        None => value.set_not_found(1),
    }
}
