//! The objects of this module that Envoy stores as pointers: configurations and filters.
//!
//! A configuration is an [`Arc`], because filters use it after Envoy has destroyed it. A filter is a [`Box`].

use core::ptr;
use std::sync::Arc;

use utf8_codec_engines::config::{FilterKind, Settings};

use crate::abi::{Buffer, ModulePtr, log_level};
use crate::host::{guard, log};

/// Creates a configuration from its JSON. Returns null, and logs the reason, if the JSON is invalid or `make` returns an
/// error.
///
/// # Safety
///
/// `json` is the buffer that Envoy passed to the hook.
pub(crate) unsafe fn new_config<C>(
    json: Buffer,
    kind: FilterKind,
    of: &str,
    make: impl FnOnce(Settings) -> Result<C, &'static str>,
) -> ModulePtr {
    // SAFETY: Envoy's buffer is valid until the hook returns.
    let json = unsafe { json.bytes() };
    guard(
        || {
            let settings = Settings::parse(json, kind).map_err(|error| error.to_string());
            match settings.and_then(|settings| make(settings).map_err(str::to_owned)) {
                Ok(config) => Arc::into_raw(Arc::new(config)).cast(),
                Err(error) => {
                    log(log_level::ERROR, || {
                        format!("utf8_codec: the configuration of {of} is rejected: {error}")
                    });
                    ptr::null()
                }
            }
        },
        ptr::null,
    )
}

/// Returns a configuration with a reference count of its own.
///
/// # Safety
///
/// `new_config::<C>` returned `config`, and Envoy has not destroyed it.
pub(crate) unsafe fn config<C>(config: ModulePtr) -> Arc<C> {
    let config = config.cast::<C>();
    // SAFETY: the pointer is that of an `Arc` whose count is at least 1.
    unsafe {
        Arc::increment_strong_count(config);
        Arc::from_raw(config)
    }
}

/// Destroys a configuration that no filter uses, or leaves it to the last filter.
///
/// # Safety
///
/// Same as for [`config`], and `config` is not used again.
pub(crate) unsafe fn destroy_config<C>(config: ModulePtr) {
    // SAFETY: the pointer is that of an `Arc` whose count includes the one of Envoy.
    guard(|| drop(unsafe { Arc::from_raw(config.cast::<C>()) }), || ());
}

/// Creates a filter from its configuration. Returns null after a panic.
///
/// # Safety
///
/// Same as for [`config`].
pub(crate) unsafe fn new_filter<C, F>(shared: ModulePtr, make: impl FnOnce(Arc<C>) -> F) -> ModulePtr {
    // SAFETY: the caller guarantees the requirements.
    let config = unsafe { config(shared) };
    guard(|| Box::into_raw(Box::new(make(config))).cast_const().cast(), ptr::null)
}

/// Destroys a filter.
///
/// # Safety
///
/// `new_filter` returned `filter` for a filter of the type `F`, and it is not used again.
pub(crate) unsafe fn destroy_filter<F>(filter: ModulePtr) {
    // SAFETY: the pointer is that of a `Box`, and no reference to it exists outside a hook.
    guard(|| drop(unsafe { Box::from_raw(filter.cast_mut().cast::<F>()) }), || ());
}
