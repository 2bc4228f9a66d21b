//! Declarations of the part of the ABI of dynamic modules that this module uses.
//!
//! Each item is named after the one in [abi.h] without its prefix `envoy_dynamic_module_`, except for the callbacks,
//! whose symbols Envoy exports under their full names. An enumeration of C is a `u32`.
//!
//! [abi.h]: https://github.com/envoyproxy/envoy/blob/v1.40.0/source/extensions/dynamic_modules/abi/abi.h

use core::ffi::c_void;

/// `ENVOY_DYNAMIC_MODULES_ABI_VERSION` of Envoy 1.40. Envoy logs a warning if its own is different.
pub(crate) const VERSION: &core::ffi::CStr = c"v0.2.0";

/// `type_network_filter_envoy_ptr`, `type_http_filter_envoy_ptr`, and the pointers of their configurations.
pub(crate) type EnvoyPtr = *mut c_void;
/// `type_*_module_ptr`: an object of this module.
pub(crate) type ModulePtr = *const c_void;

/// `type_envoy_buffer` and `type_module_buffer`, which have the same layout.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    pub(crate) ptr: *const u8,
    pub(crate) length: usize,
}

/// `type_envoy_http_header` and `type_module_http_header`, which have the same layout: two buffers, flattened.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) key: Buffer,
    pub(crate) value: Buffer,
}

impl Buffer {
    pub(crate) const NULL: Self = Self { ptr: core::ptr::null(), length: 0 };

    pub(crate) const fn new(bytes: &[u8]) -> Self {
        Self { ptr: bytes.as_ptr(), length: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    ///
    /// The buffer must be null or have `length` bytes that are not changed for `'a`.
    pub(crate) unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.ptr.is_null() || self.length == 0 {
            return &[];
        }
        // SAFETY: the caller guarantees the requirements.
        unsafe { core::slice::from_raw_parts(self.ptr, self.length) }
    }
}

impl Header {
    pub(crate) const NULL: Self = Self { key: Buffer::NULL, value: Buffer::NULL };
}

/// `type_log_level`.
pub(crate) mod log_level {
    pub(crate) const INFO: u32 = 2;
    pub(crate) const ERROR: u32 = 4;
}

/// `type_on_network_filter_data_status`.
pub(crate) mod network_status {
    pub(crate) const CONTINUE: u32 = 0;
    pub(crate) const STOP: u32 = 1;
}

/// `type_network_connection_close_type`.
pub(crate) mod close_type {
    pub(crate) const FLUSH_WRITE: u32 = 0;
    pub(crate) const ABORT: u32 = 3;
}

/// `type_on_http_filter_request_headers_status` and the one of responses.
pub(crate) mod headers_status {
    pub(crate) const CONTINUE: u32 = 0;
    pub(crate) const STOP: u32 = 1;
}

/// `type_on_http_filter_request_body_status` and the one of responses.
pub(crate) mod body_status {
    pub(crate) const CONTINUE: u32 = 0;
    pub(crate) const STOP_AND_BUFFER: u32 = 1;
    pub(crate) const STOP_NO_BUFFER: u32 = 3;
}

/// `type_on_http_filter_request_trailers_status` and the one of responses.
pub(crate) mod trailers_status {
    pub(crate) const CONTINUE: u32 = 0;
    pub(crate) const STOP: u32 = 1;
}

/// `type_http_header_type`.
pub(crate) mod header_type {
    pub(crate) const REQUEST: u32 = 0;
    pub(crate) const REQUEST_TRAILER: u32 = 1;
    pub(crate) const RESPONSE: u32 = 2;
    pub(crate) const RESPONSE_TRAILER: u32 = 3;
}

/// `type_http_body_type`.
pub(crate) mod body_type {
    pub(crate) const RECEIVED_REQUEST: u32 = 0;
    pub(crate) const BUFFERED_REQUEST: u32 = 1;
    pub(crate) const RECEIVED_RESPONSE: u32 = 2;
    pub(crate) const BUFFERED_RESPONSE: u32 = 3;
}

/// `type_metrics_result`: success.
pub(crate) const METRICS_SUCCESS: u32 = 0;
/// `type_http_filter_stream_reset_reason`: local reset.
pub(crate) const LOCAL_RESET: u32 = 0;

macro_rules! callbacks {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        // `envoy_dynamic_module_callback_*`: exported by Envoy and bound when the module is loaded.
        unsafe extern "C" {
            $(
                #[link_name = concat!("envoy_dynamic_module_callback_", stringify!($name))]
                pub(crate) fn $name($($argument: $type),*) $(-> $result)?;
            )*
        }
    };
}

callbacks! {
    fn log(level: u32, message: Buffer);
    fn log_enabled(level: u32) -> bool;

    fn network_filter_config_define_counter(config: EnvoyPtr, name: Buffer, id: *mut usize) -> u32;
    fn network_filter_increment_counter(filter: EnvoyPtr, id: usize, value: u64) -> u32;
    fn network_filter_get_read_buffer_chunks_size(filter: EnvoyPtr) -> usize;
    fn network_filter_get_read_buffer_chunks(filter: EnvoyPtr, chunks: *mut Buffer) -> bool;
    fn network_filter_get_write_buffer_chunks_size(filter: EnvoyPtr) -> usize;
    fn network_filter_get_write_buffer_chunks(filter: EnvoyPtr, chunks: *mut Buffer) -> bool;
    fn network_filter_get_read_buffer_size(filter: EnvoyPtr) -> usize;
    fn network_filter_get_write_buffer_size(filter: EnvoyPtr) -> usize;
    fn network_filter_get_buffer_limit(filter: EnvoyPtr) -> u32;
    fn network_filter_drain_read_buffer(filter: EnvoyPtr, length: usize) -> bool;
    fn network_filter_drain_write_buffer(filter: EnvoyPtr, length: usize) -> bool;
    fn network_filter_append_read_buffer(filter: EnvoyPtr, data: Buffer) -> bool;
    fn network_filter_append_write_buffer(filter: EnvoyPtr, data: Buffer) -> bool;
    fn network_filter_inject_read_data(filter: EnvoyPtr, data: Buffer, end_stream: bool);
    fn network_filter_inject_write_data(filter: EnvoyPtr, data: Buffer, end_stream: bool);
    fn network_filter_close_with_details(filter: EnvoyPtr, close_type: u32, details: Buffer);
    fn network_filter_is_half_close_enabled(filter: EnvoyPtr) -> bool;
    fn network_filter_disable_close(filter: EnvoyPtr, disabled: bool);
    fn network_filter_scheduler_new(filter: EnvoyPtr) -> *mut c_void;
    fn network_filter_scheduler_commit(scheduler: *mut c_void, event: u64);
    fn network_filter_scheduler_delete(scheduler: *mut c_void);
    fn network_set_dynamic_metadata_string(filter: EnvoyPtr, namespace: Buffer, key: Buffer, value: Buffer);
    fn network_set_dynamic_metadata_number(filter: EnvoyPtr, namespace: Buffer, key: Buffer, value: f64);

    fn http_filter_config_define_counter(
        config: EnvoyPtr, name: Buffer, labels: *mut Buffer, labels_length: usize, id: *mut usize,
    ) -> u32;
    fn http_filter_increment_counter(
        filter: EnvoyPtr, id: usize, labels: *mut Buffer, labels_length: usize, value: u64,
    ) -> u32;
    fn get_most_specific_route_config(filter: EnvoyPtr) -> ModulePtr;
    fn http_get_headers_size(filter: EnvoyPtr, header_type: u32) -> usize;
    fn http_get_headers(filter: EnvoyPtr, header_type: u32, headers: *mut Header) -> bool;
    fn http_set_header(filter: EnvoyPtr, header_type: u32, key: Buffer, value: Buffer) -> bool;
    fn http_get_body_chunks_size(filter: EnvoyPtr, body_type: u32) -> usize;
    fn http_get_body_chunks(filter: EnvoyPtr, body_type: u32, chunks: *mut Buffer) -> bool;
    fn http_append_body(filter: EnvoyPtr, body_type: u32, data: Buffer) -> bool;
    fn http_drain_body(filter: EnvoyPtr, body_type: u32, length: usize) -> bool;
    fn http_send_response(
        filter: EnvoyPtr, status: u32, headers: *mut Header, headers_length: usize, body: Buffer, details: Buffer,
    );
    fn http_filter_reset_stream(filter: EnvoyPtr, reason: u32, details: Buffer);
    fn http_filter_scheduler_new(filter: EnvoyPtr) -> *mut c_void;
    fn http_filter_scheduler_commit(scheduler: *mut c_void, event: u64);
    fn http_filter_scheduler_delete(scheduler: *mut c_void);
    fn http_set_dynamic_metadata_string(filter: EnvoyPtr, namespace: Buffer, key: Buffer, value: Buffer);
    fn http_set_dynamic_metadata_number(filter: EnvoyPtr, namespace: Buffer, key: Buffer, value: f64);
}
