//! The hooks that Envoy calls for an HTTP filter.

use std::sync::Arc;

use utf8_codec_engines::config::{FilterKind, Settings};

use super::{Filter, REJECTED, REQUEST, RESPONSE, Shared};
use crate::abi::{Buffer, EnvoyPtr, ModulePtr, body_status, headers_status, trailers_status};
use crate::counters::Counters;
use crate::host::{Config, Stream, guard};
use crate::objects;

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_config_new(
    envoy: EnvoyPtr,
    _name: Buffer,
    config: Buffer,
) -> ModulePtr {
    // SAFETY: the buffer and the pointer are those of this hook.
    unsafe {
        objects::new_config(config, FilterKind::Http, "an HTTP filter", |settings| {
            let counters = Counters::for_http(Config::new(envoy))?;
            Ok(Shared { settings: Arc::new(settings), counters })
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_config_destroy(config: ModulePtr) {
    // SAFETY: `config_new` returned the pointer, and Envoy destroys it once.
    unsafe { objects::destroy_config::<Shared>(config) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_per_route_config_new(
    _name: Buffer,
    config: Buffer,
) -> ModulePtr {
    // SAFETY: the buffer is that of this hook.
    unsafe { objects::new_config(config, FilterKind::Http, "a route", Ok) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_per_route_config_destroy(config: ModulePtr) {
    // SAFETY: `per_route_config_new` returned the pointer, and Envoy destroys it once.
    unsafe { objects::destroy_config::<Settings>(config) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_new(
    config: ModulePtr,
    _envoy: EnvoyPtr,
) -> ModulePtr {
    // Envoy responds with 500 if the filter is null.
    // SAFETY: `config_new` returned the pointer, and Envoy keeps it while it creates filters from it.
    unsafe { objects::new_filter(config, Filter::new) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_destroy(module: ModulePtr) {
    // SAFETY: `new` returned the pointer, and Envoy destroys it once.
    unsafe { objects::destroy_filter::<Filter>(module) }
}

/// Calls a hook of a filter. After a panic the client receives 500 or a reset, and the hook returns `stop`.
///
/// # Safety
///
/// The pointers are those that Envoy passed to the hook.
unsafe fn hook(
    envoy: EnvoyPtr,
    module: ModulePtr,
    stop: u32,
    run: impl FnOnce(&Filter, Stream) -> u32,
) -> u32 {
    // SAFETY: `new` returned `module`, which is not yet destroyed.
    let (stream, filter) = unsafe { (Stream::new(envoy), &*module.cast::<Filter>()) };
    guard(
        || run(filter, stream),
        || {
            filter.panicked(stream);
            stop
        },
    )
}

macro_rules! hooks {
    ($($name:ident($($end:ident)?), $stop:expr, $run:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(envoy: EnvoyPtr, module: ModulePtr $(, $end: bool)?) -> u32 {
            let run: fn(&Filter, Stream $(, hooks!(@bool $end))?) -> u32 = $run;
            // SAFETY: the pointers are those of this hook.
            unsafe { hook(envoy, module, $stop, |filter, stream| run(filter, stream $(, $end)?)) }
        }
    )*};
    (@bool $end:ident) => { bool };
}

hooks! {
    envoy_dynamic_module_on_http_filter_request_headers(end), headers_status::STOP,
        |filter, stream, end| filter.headers(stream, REQUEST, end);
    envoy_dynamic_module_on_http_filter_request_body(end), body_status::STOP_NO_BUFFER,
        |filter, stream, end| filter.body(stream, REQUEST, end);
    envoy_dynamic_module_on_http_filter_request_trailers(), trailers_status::STOP,
        |filter, stream| filter.trailers(stream, REQUEST);
    envoy_dynamic_module_on_http_filter_response_headers(end), headers_status::STOP,
        |filter, stream, end| filter.headers(stream, RESPONSE, end);
    envoy_dynamic_module_on_http_filter_response_body(end), body_status::STOP_NO_BUFFER,
        |filter, stream, end| filter.body(stream, RESPONSE, end);
    envoy_dynamic_module_on_http_filter_response_trailers(), trailers_status::STOP,
        |filter, stream| filter.trailers(stream, RESPONSE);
}

/// The event that `Stream::schedule` scheduled: a response is reset after its well-formed text.
#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_scheduled(
    envoy: EnvoyPtr,
    _module: ModulePtr,
    _event: u64,
) {
    // SAFETY: the pointer is that of this hook.
    guard(|| unsafe { Stream::new(envoy) }.reset(REJECTED), || ());
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_stream_complete(envoy: EnvoyPtr, module: ModulePtr) {
    // SAFETY: the pointers are those of this hook.
    unsafe { hook(envoy, module, 0, Filter::ended) };
}

/// Hooks that Envoy requires but this module does not use.
macro_rules! unused_hooks {
    ($($name:ident($($type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        const extern "C" fn $name(_envoy: EnvoyPtr, _module: ModulePtr $(, _: $type)*) {}
    )*};
}

unused_hooks! {
    envoy_dynamic_module_on_http_filter_http_callout_done(u64, u32, *const Buffer, usize, *const Buffer, usize);
    envoy_dynamic_module_on_http_filter_http_stream_headers(u64, *const Buffer, usize, bool);
    envoy_dynamic_module_on_http_filter_http_stream_data(u64, *const Buffer, usize, bool);
    envoy_dynamic_module_on_http_filter_http_stream_trailers(u64, *const Buffer, usize);
    envoy_dynamic_module_on_http_filter_http_stream_complete(u64);
    envoy_dynamic_module_on_http_filter_http_stream_reset(u64, u32);
    envoy_dynamic_module_on_http_filter_downstream_above_write_buffer_high_watermark();
    envoy_dynamic_module_on_http_filter_downstream_below_write_buffer_low_watermark();
}
