//! Safe wrappers for the callbacks of Envoy.
//!
//! A [`Connection`], [`Stream`] or [`Config`] may only be created from the pointer that Envoy passes to a hook, and
//! used until that hook returns. Under this condition every callback may be called: Envoy calls all hooks of a filter
//! on one thread, copies its arguments, and returns buffers that are valid until they are changed.
//!
//! The bytes of a buffer are only read. `Buffer::addBufferFragment` of Envoy adds memory that may be read-only, or shared
//! with other buffers, and the ABI does not tell which memory a buffer has.

use core::ffi::c_void;
use core::panic::AssertUnwindSafe;
use core::ptr::{self, NonNull};
use std::panic::catch_unwind;

use crate::abi::{self, Buffer, EnvoyPtr, Header};

/// The namespace of the dynamic metadata.
const NAMESPACE: &[u8] = b"utf8_codec";

/// Calls `hook`, and `on_panic` if it panics. A panic must not unwind into Envoy, because that would abort the process.
pub(crate) fn guard<T>(hook: impl FnOnce() -> T, on_panic: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(hook)).unwrap_or_else(|payload| {
        // The destructor of the panic payload may also panic.
        core::mem::forget(payload);
        on_panic()
    })
}

/// Logs a line if the level is enabled. Otherwise `line` is not called.
pub(crate) fn log(level: u32, line: impl FnOnce() -> String) {
    // SAFETY: no pointer is passed.
    if unsafe { abi::log_enabled(level) } {
        let line = line();
        // SAFETY: Envoy copies the line.
        unsafe { abi::log(level, Buffer::new(line.as_bytes())) }
    }
}

/// The content of a buffer of Envoy.
pub(crate) struct Chunks<'b> {
    buffers: &'b [Buffer],
}

/// The number of slices up to which nothing is allocated.
const INLINE: usize = 16;

impl Chunks<'_> {
    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.length).sum()
    }

    /// Passes the slices to `then`.
    pub(crate) fn read<T>(&self, then: impl FnOnce(&[&[u8]]) -> T) -> T {
        // SAFETY: `with_chunks` has the requirements.
        let slice = |buffer: &Buffer| unsafe { buffer.bytes() };
        let buffers = self.buffers;
        if buffers.len() <= INLINE {
            let slices: [&[u8]; INLINE] =
                core::array::from_fn(|index| buffers.get(index).map_or(&[][..], slice));
            then(&slices[..buffers.len()])
        } else {
            then(&buffers.iter().map(slice).collect::<Vec<_>>())
        }
    }
}

/// Reads `count` buffers, and passes them to `then`. Allocates if there are more than 16.
///
/// # Panics
///
/// Panics if they cannot be read. [`guard`] catches the panic, and nothing passes unchecked.
///
/// # Safety
///
/// `read` writes `count` buffers, whose bytes nothing else changes or releases while a function of [`Chunks`] runs.
unsafe fn with_chunks<T>(
    count: usize,
    read: impl FnOnce(*mut Buffer) -> bool,
    then: impl FnOnce(Chunks<'_>) -> T,
) -> T {
    if count <= INLINE {
        let mut buffers = [Buffer::NULL; INLINE];
        assert!(count == 0 || read(buffers.as_mut_ptr()), "Envoy has no buffer");
        then(Chunks { buffers: &buffers[..count] })
    } else {
        let mut buffers = vec![Buffer::NULL; count];
        assert!(read(buffers.as_mut_ptr()), "Envoy has no buffer");
        then(Chunks { buffers: &buffers })
    }
}

/// A configuration that is being created.
#[derive(Clone, Copy)]
pub(crate) struct Config(EnvoyPtr);

impl Config {
    /// # Safety
    ///
    /// See the documentation of this module.
    pub(crate) const unsafe fn new(envoy: EnvoyPtr) -> Self {
        Self(envoy)
    }

    pub(crate) fn define_network_counter(self, name: &str) -> Option<usize> {
        let mut id = 0;
        // SAFETY: see the documentation of this module.
        let result = unsafe {
            abi::network_filter_config_define_counter(self.0, Buffer::new(name.as_bytes()), &mut id)
        };
        (result == abi::METRICS_SUCCESS).then_some(id)
    }

    pub(crate) fn define_http_counter(self, name: &str) -> Option<usize> {
        let name = Buffer::new(name.as_bytes());
        let mut id = 0;
        // SAFETY: see the documentation of this module. There are no labels.
        let result =
            unsafe { abi::http_filter_config_define_counter(self.0, name, ptr::null_mut(), 0, &mut id) };
        (result == abi::METRICS_SUCCESS).then_some(id)
    }
}

/// The buffer of a connection: the bytes that were read from the client, or the bytes to write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Read,
    Write,
}

/// The callbacks for one buffer.
struct SideCallbacks {
    len: unsafe extern "C" fn(EnvoyPtr) -> usize,
    chunks_size: unsafe extern "C" fn(EnvoyPtr) -> usize,
    chunks: unsafe extern "C" fn(EnvoyPtr, *mut Buffer) -> bool,
    drain: unsafe extern "C" fn(EnvoyPtr, usize) -> bool,
    append: unsafe extern "C" fn(EnvoyPtr, Buffer) -> bool,
    inject: unsafe extern "C" fn(EnvoyPtr, Buffer, bool),
}

impl Side {
    const fn callbacks(self) -> &'static SideCallbacks {
        match self {
            Self::Read => &SideCallbacks {
                len: abi::network_filter_get_read_buffer_size,
                chunks_size: abi::network_filter_get_read_buffer_chunks_size,
                chunks: abi::network_filter_get_read_buffer_chunks,
                drain: abi::network_filter_drain_read_buffer,
                append: abi::network_filter_append_read_buffer,
                inject: abi::network_filter_inject_read_data,
            },
            Self::Write => &SideCallbacks {
                len: abi::network_filter_get_write_buffer_size,
                chunks_size: abi::network_filter_get_write_buffer_chunks_size,
                chunks: abi::network_filter_get_write_buffer_chunks,
                drain: abi::network_filter_drain_write_buffer,
                append: abi::network_filter_append_write_buffer,
                inject: abi::network_filter_inject_write_data,
            },
        }
    }
}

/// A connection or stream with counters and dynamic metadata.
pub(crate) trait Host: Copy {
    fn count(self, counter: usize, value: u64);
    /// Sets a key of the metadata.
    fn set_text(self, key: &str, value: &str);
    /// Sets a key of the metadata.
    fn set_number(self, key: &str, value: f64);
}

/// A connection with a network filter.
#[derive(Clone, Copy)]
pub(crate) struct Connection(EnvoyPtr);

impl Connection {
    /// # Safety
    ///
    /// See the documentation of this module.
    pub(crate) const unsafe fn new(envoy: EnvoyPtr) -> Self {
        Self(envoy)
    }

    /// Passes the content of the buffer to `then`.
    pub(crate) fn with_chunks<T>(self, side: Side, then: impl FnOnce(Chunks<'_>) -> T) -> T {
        let callbacks = side.callbacks();
        // SAFETY: see the documentation of this module. Envoy writes the number of buffers that it returned before.
        unsafe {
            let count = (callbacks.chunks_size)(self.0);
            with_chunks(count, |buffers| (callbacks.chunks)(self.0, buffers), then)
        }
    }

    /// Returns the length of the buffer.
    pub(crate) fn len(self, side: Side) -> usize {
        // SAFETY: see the documentation of this module.
        unsafe { (side.callbacks().len)(self.0) }
    }

    /// Returns the limit of the buffer. The buffer to write is that of the upstream connection, whose limit is unknown.
    pub(crate) fn limit(self, side: Side) -> usize {
        match side {
            // SAFETY: see the documentation of this module.
            Side::Read => match unsafe { abi::network_filter_get_buffer_limit(self.0) } {
                0 => usize::MAX,
                limit => limit as usize,
            },
            Side::Write => 0,
        }
    }

    /// Removes bytes from the start of the buffer.
    pub(crate) fn drain(self, side: Side, len: usize) {
        if len > 0 {
            // SAFETY: see the documentation of this module.
            unsafe { (side.callbacks().drain)(self.0, len) };
        }
    }

    /// Appends a copy.
    pub(crate) fn append(self, side: Side, data: &[u8]) {
        if !data.is_empty() {
            // SAFETY: see the documentation of this module.
            unsafe { (side.callbacks().append)(self.0, Buffer::new(data)) };
        }
    }

    /// Passes a copy to the next filter, which runs before this function returns and may close the connection. Does nothing
    /// without data and without the end.
    pub(crate) fn inject(self, side: Side, data: &[u8], end: bool) {
        if !data.is_empty() || end {
            // SAFETY: see the documentation of this module.
            unsafe { (side.callbacks().inject)(self.0, Buffer::new(data), end) }
        }
    }

    /// Passes copies of the first `len` bytes of the buffer to the next filter, as [`inject`](Self::inject) does. Returns
    /// false, and passes nothing more, if that filter has closed the connection, which releases the buffer.
    pub(crate) fn inject_start(self, side: Side, chunks: &Chunks<'_>, mut len: usize) -> bool {
        let all = chunks.len();
        for buffer in chunks.buffers {
            let part = Buffer { length: buffer.length.min(len), ..*buffer };
            len -= part.length;
            if part.length > 0 {
                // SAFETY: see the documentation of this module. The part is not released before Envoy has copied it, and
                // there is no reference to it: it may be released when this call returns.
                unsafe { (side.callbacks().inject)(self.0, part, false) }
                if self.len(side) != all {
                    return false;
                }
            }
        }
        true
    }

    pub(crate) fn close(self, close_type: u32, details: &str) {
        // SAFETY: see the documentation of this module.
        unsafe { abi::network_filter_close_with_details(self.0, close_type, Buffer::new(details.as_bytes())) }
    }

    /// Returns whether one direction can end before the other, as with `tcp_proxy`.
    pub(crate) fn has_half_close(self) -> bool {
        // SAFETY: see the documentation of this module.
        unsafe { abi::network_filter_is_half_close_enabled(self.0) }
    }

    /// Defers a close of the type `FLUSH_WRITE`, and with `false` no longer. Does nothing without the feature
    /// `connection_close_through_filter_manager` of Envoy's runtime.
    pub(crate) fn disable_close(self, disabled: bool) {
        // SAFETY: see the documentation of this module.
        unsafe { abi::network_filter_disable_close(self.0, disabled) }
    }

    /// Returns a scheduler of the filter, or `None` while it has no connection.
    pub(crate) fn scheduler(self) -> Option<Scheduler> {
        // SAFETY: see the documentation of this module.
        NonNull::new(unsafe { abi::network_filter_scheduler_new(self.0) }).map(Scheduler)
    }
}

/// Calls the hook `scheduled` of a network filter, from any thread. It may only be used until the connection has raised the
/// event that it is closed: in 1.38 and 1.39 it refers to the event loop of the connection.
pub(crate) struct Scheduler(NonNull<c_void>);

// SAFETY: Envoy's scheduler is made for other threads: it has a weak reference to the filter, and posts to its event loop.
unsafe impl Send for Scheduler {}

impl Scheduler {
    pub(crate) fn commit(self) {
        // SAFETY: `scheduler_new` returned the pointer, and the connection is not closed.
        unsafe { abi::network_filter_scheduler_commit(self.0.as_ptr(), 0) }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // SAFETY: `scheduler_new` returned the pointer, and it is not used again.
        unsafe { abi::network_filter_scheduler_delete(self.0.as_ptr()) }
    }
}

impl Host for Connection {
    fn count(self, counter: usize, value: u64) {
        // SAFETY: see the documentation of this module.
        unsafe { abi::network_filter_increment_counter(self.0, counter, value) };
    }

    fn set_text(self, key: &str, value: &str) {
        let [namespace, key, value] = [NAMESPACE, key.as_bytes(), value.as_bytes()].map(Buffer::new);
        // SAFETY: see the documentation of this module.
        unsafe { abi::network_set_dynamic_metadata_string(self.0, namespace, key, value) }
    }

    fn set_number(self, key: &str, value: f64) {
        let [namespace, key] = [NAMESPACE, key.as_bytes()].map(Buffer::new);
        // SAFETY: see the documentation of this module.
        unsafe { abi::network_set_dynamic_metadata_number(self.0, namespace, key, value) }
    }
}

/// A request and its response with an HTTP filter.
#[derive(Clone, Copy)]
pub(crate) struct Stream(EnvoyPtr);

impl Stream {
    /// # Safety
    ///
    /// See the documentation of this module.
    pub(crate) const unsafe fn new(envoy: EnvoyPtr) -> Self {
        Self(envoy)
    }

    /// Returns the configuration of the route: a pointer that this module returned, or null.
    pub(crate) fn route_config(self) -> abi::ModulePtr {
        // SAFETY: see the documentation of this module.
        unsafe { abi::get_most_specific_route_config(self.0) }
    }

    /// Passes the names and values of the fields to `then`. Allocates if there are more than 32.
    ///
    /// # Panics
    ///
    /// If they cannot be read.
    pub(crate) fn with_fields<T>(self, header_type: u32, then: impl FnOnce(&[(&[u8], &[u8])]) -> T) -> T {
        const INLINE: usize = 32;
        // SAFETY: see the documentation of this module.
        let count = unsafe { abi::http_get_headers_size(self.0, header_type) };
        // SAFETY: same as above. Envoy writes the number of fields that it returned before.
        let read = |fields: *mut Header| unsafe { abi::http_get_headers(self.0, header_type, fields) };
        // SAFETY: same as above. `then` cannot change the fields.
        let field = |header: &Header| unsafe { (header.key.bytes(), header.value.bytes()) };
        if count <= INLINE {
            let mut headers = [Header::NULL; INLINE];
            assert!(count == 0 || read(headers.as_mut_ptr()), "Envoy has no fields");
            then(&headers.each_ref().map(field)[..count])
        } else {
            let mut headers = vec![Header::NULL; count];
            assert!(read(headers.as_mut_ptr()), "Envoy has no fields");
            then(&headers.iter().map(field).collect::<Vec<_>>())
        }
    }

    pub(crate) fn remove_field(self, header_type: u32, name: &str) {
        // SAFETY: see the documentation of this module. Without a value the field is removed.
        unsafe { abi::http_set_header(self.0, header_type, Buffer::new(name.as_bytes()), Buffer::NULL) };
    }

    /// Replaces all fields of this name by one.
    pub(crate) fn set_field(self, header_type: u32, name: &str, value: &str) {
        self.remove_field(header_type, name);
        // SAFETY: see the documentation of this module.
        unsafe {
            abi::http_set_header(
                self.0,
                header_type,
                Buffer::new(name.as_bytes()),
                Buffer::new(value.as_bytes()),
            )
        };
    }

    pub(crate) fn with_body<T>(self, body_type: u32, then: impl FnOnce(Chunks<'_>) -> T) -> T {
        let Self(envoy) = self;
        // SAFETY: see the documentation of this module. Envoy writes the number of buffers that it returned before.
        unsafe {
            with_chunks(
                abi::http_get_body_chunks_size(envoy, body_type),
                |buffers| abi::http_get_body_chunks(envoy, body_type, buffers),
                then,
            )
        }
    }

    /// Appends a copy.
    pub(crate) fn append(self, body_type: u32, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        // SAFETY: see the documentation of this module.
        unsafe { abi::http_append_body(self.0, body_type, Buffer::new(data)) };
    }

    /// Removes bytes from the start of the body.
    pub(crate) fn drain(self, body_type: u32, len: usize) {
        if len == 0 {
            return;
        }
        // SAFETY: see the documentation of this module.
        unsafe { abi::http_drain_body(self.0, body_type, len) };
    }

    /// Responds to the client, or resets the stream if a response has begun.
    ///
    /// For a request of gRPC, Envoy sets `grpc-status` to 0 unless the field is given.
    pub(crate) fn respond<const N: usize>(
        self,
        status: u16,
        fields: &[(&str, &str); N],
        body: &str,
        details: &str,
    ) {
        let mut headers = fields.map(|(name, value)| Header {
            key: Buffer::new(name.as_bytes()),
            value: Buffer::new(value.as_bytes()),
        });
        let [body, details] = [body, details].map(|text| Buffer::new(text.as_bytes()));
        // SAFETY: see the documentation of this module.
        unsafe {
            abi::http_send_response(
                self.0,
                status.into(),
                headers.as_mut_ptr(),
                headers.len(),
                body,
                details,
            );
        }
    }

    pub(crate) fn reset(self, details: &str) {
        // SAFETY: see the documentation of this module.
        unsafe { abi::http_filter_reset_stream(self.0, abi::LOCAL_RESET, Buffer::new(details.as_bytes())) }
    }

    /// Calls the hook `scheduled` after the current hook has returned and its data is sent.
    pub(crate) fn schedule(self) {
        // SAFETY: see the documentation of this module. The event outlives the scheduler.
        unsafe {
            let scheduler = abi::http_filter_scheduler_new(self.0);
            if !scheduler.is_null() {
                abi::http_filter_scheduler_commit(scheduler, 0);
                abi::http_filter_scheduler_delete(scheduler);
            }
        }
    }
}

impl Host for Stream {
    fn count(self, counter: usize, value: u64) {
        // SAFETY: see the documentation of this module. The counter has no labels.
        unsafe { abi::http_filter_increment_counter(self.0, counter, ptr::null_mut(), 0, value) };
    }

    fn set_text(self, key: &str, value: &str) {
        let [namespace, key, value] = [NAMESPACE, key.as_bytes(), value.as_bytes()].map(Buffer::new);
        // SAFETY: see the documentation of this module.
        unsafe { abi::http_set_dynamic_metadata_string(self.0, namespace, key, value) }
    }

    fn set_number(self, key: &str, value: f64) {
        let [namespace, key] = [NAMESPACE, key.as_bytes()].map(Buffer::new);
        // SAFETY: see the documentation of this module.
        unsafe { abi::http_set_dynamic_metadata_number(self.0, namespace, key, value) }
    }
}
