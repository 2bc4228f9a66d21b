//! The hooks of the network filter.
//!
//! A read is the request direction (client to upstream), a write the response direction.

use core::cell::Cell;
use std::sync::Arc;

use utf8_codec::http::Message;

use crate::abi::{self, Buffer, EnvoyPtr, ModulePtr, close_type, log_level, network_status};
use crate::config::{FilterKind, Settings};
use crate::counters::Counters;
use crate::host::{Config, Connection, Side, guard, log};
use crate::plan::{Check, Outcome, Verdict};

/// The configuration of a filter.
struct Shared {
    settings: Settings,
    counters: Counters,
}

/// The filter of a connection.
///
/// A callback may call another hook before it returns, such as `event` while the connection is closed. The hooks
/// therefore share the filter, and a check is removed from its cell while it is used. If there is no check, the
/// direction has ended, or one of its hooks is running or has panicked, and further data is dropped.
struct Filter {
    shared: Arc<Shared>,
    read: Cell<Option<Check>>,
    write: Cell<Option<Check>>,
}

/// The details of a close, for Envoy's access log.
const REJECTED: &str = "utf8_codec_rejected";
const PANICKED: &str = "utf8_codec_panicked";

impl Filter {
    fn new(shared: Arc<Shared>) -> Self {
        let check = |message| {
            let Shared { settings, .. } = &*shared;
            Cell::new(Some(if settings.covers(message) {
                Check::text(settings.decoder(), settings.only_reports())
            } else {
                Check::pass()
            }))
        };
        Self { read: check(Message::Request), write: check(Message::Response), shared }
    }

    fn started(&self, connection: Connection) {
        for message in [Message::Request, Message::Response] {
            if self.shared.settings.covers(message) {
                self.shared.counters.started(connection);
            }
        }
    }

    /// Processes new data of one direction.
    fn data(&self, connection: Connection, side: Side, len: usize, end: bool) -> u32 {
        let (state, message) = match side {
            Side::Read => (&self.read, Message::Request),
            Side::Write => (&self.write, Message::Response),
        };
        let Some(mut check) = state.take() else {
            connection.drain(side, len);
            return network_status::STOP;
        };
        if check.is_passing() {
            state.set(Some(check));
            return network_status::CONTINUE;
        }
        let outcome = connection.with_slices(side, |slices| {
            let outcome = check.feed(slices, end);
            if !outcome.is_unchanged() && !matches!(outcome.verdict, Verdict::Rejected(_)) {
                apply(connection, side, slices, &outcome);
            }
            outcome
        });
        assert_eq!(outcome.len, len, "a part of the data was not checked");
        let counters = &self.shared.counters;
        counters.received(connection, outcome.len);
        counters.repaired(connection, outcome.repaired);
        match &outcome.verdict {
            Verdict::Pass => {}
            Verdict::Reported(reason) => counters.rejected(connection, message, reason, true),
            Verdict::Rejected(reason) => {
                counters.rejected(connection, message, reason, false);
                self.reject(connection, side, &outcome);
                return network_status::STOP;
            }
        }
        state.set(Some(check));
        network_status::CONTINUE
    }

    /// Ends the direction after its well-formed text. Its check has been removed from the cell.
    fn reject(&self, connection: Connection, side: Side, outcome: &Outcome) {
        let mut text = outcome.head.as_slice().to_vec();
        connection.with_slices(side, |slices| {
            prefix(slices, outcome.kept).for_each(|part| text.extend_from_slice(part))
        });
        text.extend_from_slice(&outcome.tail);
        connection.drain(side, outcome.len);
        match side {
            // Closing the connection now would discard bytes that the upstream has not read yet. The proxy closes it
            // after the upstream has closed its side.
            Side::Read => connection.inject(side, &text, true),
            Side::Write => {
                self.read.set(None);
                connection.inject(side, &text, false);
                connection.close(close_type::FLUSH_WRITE, REJECTED);
            }
        }
    }
}

thread_local! {
    /// The bytes that are copied from one end of a buffer to the other: at most one slice, usually 16 KiB.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Changes the buffer. Bytes cannot be removed from its end, so the remaining bytes are copied if it must be shortened. Each
/// slice is drained before its copy is appended, because Envoy stops reading while a buffer is above its limit. A drained
/// slice is not read again.
fn apply(connection: Connection, side: Side, slices: &[&[u8]], outcome: &Outcome) {
    // Passed on before the buffer and not inserted into it, because the buffer may be full.
    if !outcome.head.as_slice().is_empty() {
        connection.inject(side, outcome.head.as_slice(), false);
    }
    if outcome.kept == outcome.len {
        connection.append(side, &outcome.tail);
        return;
    }
    let mut scratch = SCRATCH.take();
    for (slice, part) in slices.iter().zip(prefix(slices, outcome.kept)) {
        scratch.clear();
        scratch.extend_from_slice(part);
        connection.drain(side, slice.len());
        connection.append(side, &scratch);
    }
    connection.append(side, &outcome.tail);
    SCRATCH.set(scratch);
}

/// Returns the first `len` bytes of the slices.
pub(crate) fn prefix<'s>(slices: &[&'s [u8]], len: usize) -> impl Iterator<Item = &'s [u8]> {
    slices.iter().scan(len, |left, slice| {
        let taken = slice.len().min(*left);
        *left -= taken;
        Some(&slice[..taken])
    })
}

/// Returns the filter of a hook.
///
/// # Safety
///
/// `filter` was returned by `network_filter_new` and not yet destroyed.
unsafe fn filter<'f>(filter: ModulePtr) -> &'f Filter {
    // SAFETY: the caller guarantees the requirements.
    unsafe { &*filter.cast::<Filter>() }
}

fn panicked(connection: Connection, filter: &Filter) -> u32 {
    filter.read.set(None);
    filter.write.set(None);
    filter.shared.counters.panicked(connection);
    connection.close(close_type::ABORT, PANICKED);
    network_status::STOP
}

#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_program_init() -> *const core::ffi::c_char {
    abi::VERSION.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_config_new(
    envoy: EnvoyPtr,
    _name: Buffer,
    config: Buffer,
) -> ModulePtr {
    let make = || {
        // SAFETY: Envoy's buffer is valid until the hook returns.
        let settings = match Settings::parse(unsafe { config.bytes() }, FilterKind::Network) {
            Ok(settings) => settings,
            Err(error) => {
                log(log_level::ERROR, || {
                    format!("utf8_codec: the configuration of a network filter is rejected: {error}")
                });
                return core::ptr::null();
            }
        };
        // SAFETY: the pointer is that of this hook.
        let Some(counters) = Counters::for_network(unsafe { Config::new(envoy) }) else {
            log(log_level::ERROR, || "utf8_codec: the counters cannot be defined".into());
            return core::ptr::null();
        };
        Arc::into_raw(Arc::new(Shared { settings, counters })).cast()
    };
    guard(make, core::ptr::null)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_config_destroy(config: ModulePtr) {
    // SAFETY: `config_new` created it from an `Arc`, and Envoy destroys it once.
    guard(|| drop(unsafe { Arc::from_raw(config.cast::<Shared>()) }), || ());
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_new(
    config: ModulePtr,
    _envoy: EnvoyPtr,
) -> ModulePtr {
    let make = || {
        let config = config.cast::<Shared>();
        // SAFETY: `config_new` created it from an `Arc`, and Envoy keeps it while it creates filters from it.
        let shared = unsafe {
            Arc::increment_strong_count(config);
            Arc::from_raw(config)
        };
        Box::into_raw(Box::new(Filter::new(shared))).cast_const().cast()
    };
    // Envoy closes a connection whose filter is null.
    guard(make, core::ptr::null)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_new_connection(
    envoy: EnvoyPtr,
    module: ModulePtr,
) -> u32 {
    // SAFETY: the pointers are those of this hook.
    let (connection, filter) = unsafe { (Connection::new(envoy), filter(module)) };
    let start = || {
        filter.started(connection);
        network_status::CONTINUE
    };
    guard(start, || panicked(connection, filter))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_read(
    envoy: EnvoyPtr,
    module: ModulePtr,
    len: usize,
    end: bool,
) -> u32 {
    // SAFETY: the pointers are those of this hook.
    let (connection, filter) = unsafe { (Connection::new(envoy), filter(module)) };
    guard(|| filter.data(connection, Side::Read, len, end), || panicked(connection, filter))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_write(
    envoy: EnvoyPtr,
    module: ModulePtr,
    len: usize,
    end: bool,
) -> u32 {
    // SAFETY: the pointers are those of this hook.
    let (connection, filter) = unsafe { (Connection::new(envoy), filter(module)) };
    guard(|| filter.data(connection, Side::Write, len, end), || panicked(connection, filter))
}

#[unsafe(no_mangle)]
const extern "C" fn envoy_dynamic_module_on_network_filter_event(
    _envoy: EnvoyPtr,
    _module: ModulePtr,
    _event: u32,
) {
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_destroy(module: ModulePtr) {
    // SAFETY: `new` created it from a `Box`, and Envoy destroys it once.
    guard(|| drop(unsafe { Box::from_raw(module.cast_mut().cast::<Filter>()) }), || ());
}
