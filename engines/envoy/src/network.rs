//! The hooks of the network filter.
//!
//! A read is the request direction (client to upstream), a write the response direction.

use core::cell::Cell;
use std::sync::Arc;

use utf8_codec_engines::MessageKind;
use utf8_codec_engines::config::{FilterKind, Settings};
use utf8_codec_engines::plan::{Check, Outcome, Verdict};

use crate::abi::{self, Buffer, EnvoyPtr, ModulePtr, close_type, network_status};
use crate::counters::Counters;
use crate::host::{Chunks, Config, Connection, Side, guard};
use crate::linger::Linger;
use crate::objects;
use crate::rewrite::{Target, rewrite, within};

/// The configuration of a filter.
struct Shared {
    settings: Settings,
    counters: Counters,
}

/// The filter of a connection.
///
/// A callback may call another hook before it returns, such as `event` while the connection is closed. The hooks
/// therefore share the filter, and the state of a direction is removed from its cell while it is used.
struct Filter {
    shared: Arc<Shared>,
    read: Cell<Direction>,
    write: Cell<Direction>,
    uncounted: Cell<u64>,
}

/// The state of one direction.
#[derive(Default)]
enum Direction {
    /// No data has arrived.
    Start,
    /// Boxed, because most connections use one direction long before the other.
    Checked(Box<Check>),
    /// Data is not checked, or not checked anymore.
    Unchecked,
    /// The direction was ended before the client has ended it. Further data is dropped. After the response the connection
    /// lingers.
    Rejected(Option<Linger>),
    /// The direction has ended, or one of its hooks is running or has panicked. Further data is dropped.
    #[default]
    Over,
}

/// The details of a close, for Envoy's access log.
const REJECTED: &str = "utf8_codec_rejected";
const PANICKED: &str = "utf8_codec_panicked";

impl Filter {
    const fn new(shared: Arc<Shared>) -> Self {
        let read = Cell::new(Direction::Start);
        Self { shared, read, write: Cell::new(Direction::Start), uncounted: Cell::new(0) }
    }

    fn started(&self, connection: Connection) -> u32 {
        for message in [MessageKind::Request, MessageKind::Response] {
            if self.shared.settings.covers(message) {
                self.shared.counters.started(connection);
            }
        }
        network_status::CONTINUE
    }

    /// Processes new data of one direction.
    fn data(&self, connection: Connection, side: Side, len: usize, end: bool) -> u32 {
        let (direction, message) = match side {
            Side::Read => (&self.read, MessageKind::Request),
            Side::Write => (&self.write, MessageKind::Response),
        };
        let Shared { settings, counters } = &*self.shared;
        let mut check = match direction.take() {
            Direction::Start if settings.covers(message) => Box::new(Check::connection(settings)),
            Direction::Checked(check) => check,
            Direction::Start | Direction::Unchecked => {
                if !end {
                    direction.set(Direction::Unchecked);
                }
                return network_status::CONTINUE;
            }
            Direction::Rejected(linger) => {
                connection.drain(side, len);
                if !end || linger.is_some() {
                    direction.set(Direction::Rejected(linger));
                }
                return network_status::STOP;
            }
            Direction::Over => {
                connection.drain(side, len);
                return network_status::STOP;
            }
        };
        let outcome = connection.with_chunks(side, |chunks| {
            let outcome = chunks.read(|slices| check.feed(slices, end));
            if !outcome.is_unchanged() && !matches!(outcome.verdict, Verdict::Rejected(_)) {
                apply(connection, side, &chunks, &outcome);
            }
            outcome
        });
        assert_eq!(outcome.len, len, "a part of the data was not checked");
        counters.received(connection, &self.uncounted, outcome.len);
        counters.repaired(connection, outcome.repaired);
        match &outcome.verdict {
            Verdict::Pass => {}
            Verdict::Reported(reason) => counters.rejected(connection, message, reason, true),
            Verdict::Rejected(reason) => {
                counters.rejected(connection, message, reason, false);
                self.reject(connection, side, &outcome, end);
                return network_status::STOP;
            }
        }
        if !end {
            let is_over = check.is_passing();
            direction.set(if is_over { Direction::Unchecked } else { Direction::Checked(check) });
        }
        network_status::CONTINUE
    }

    /// Ends the direction, whose state is [`Direction::Over`], after its well-formed text. `end` is whether its sender
    /// has ended it.
    fn reject(&self, connection: Connection, side: Side, outcome: &Outcome, end: bool) {
        let mut text = outcome.head.as_slice().to_vec();
        connection.with_chunks(side, |chunks| {
            chunks
                .read(|slices| within(slices, 0..outcome.kept).for_each(|part| text.extend_from_slice(part)))
        });
        text.extend_from_slice(&outcome.tail);
        connection.drain(side, outcome.len);
        match side {
            // Closing the connection now would discard bytes that the upstream has not read yet. The proxy closes it
            // after the upstream has closed its side.
            Side::Read => {
                if !end {
                    self.read.set(Direction::Rejected(None));
                }
                connection.inject(side, &text, true);
            }
            Side::Write => {
                let lingers = !matches!(self.read.take(), Direction::Over) && connection.has_half_close();
                if lingers {
                    self.read.set(Direction::Rejected(None));
                    self.linger(connection);
                }
                connection.inject(side, &text, lingers);
                connection.close(close_type::FLUSH_WRITE, REJECTED);
            }
        }
    }

    /// Before the end of a response: defers the close if the client was rejected and has not ended.
    fn linger(&self, connection: Connection) {
        let mut read = self.read.take();
        if let Direction::Rejected(linger @ None) = &mut read {
            *linger = Linger::start(connection);
            if linger.is_some() {
                connection.disable_close(true);
            }
        }
        self.read.set(read);
    }

    /// Checks what the upstream sent.
    fn written(&self, connection: Connection, len: usize, end: bool) -> u32 {
        let status = self.data(connection, Side::Write, len, end);
        if end && status == network_status::CONTINUE {
            self.linger(connection);
        }
        status
    }

    /// Counts the connection, which is closed, and stops lingering.
    fn ended(&self, connection: Connection) -> u32 {
        self.shared.counters.ended(connection, &self.uncounted);
        match self.read.take() {
            Direction::Rejected(_) => {}
            read => self.read.set(read),
        }
        network_status::CONTINUE
    }

    /// Allows the close that [`linger`](Self::linger) deferred.
    fn lingered(&self, connection: Connection) -> u32 {
        self.read.set(Direction::Over);
        connection.disable_close(false);
        network_status::CONTINUE
    }

    fn panicked(&self, connection: Connection) -> u32 {
        self.read.set(Direction::Over);
        self.write.set(Direction::Over);
        self.shared.counters.panicked(connection);
        connection.close(close_type::ABORT, PANICKED);
        network_status::STOP
    }
}

/// The length of what is passed before the rest of a buffer that may be full.
const FIRST: usize = 64;
/// The size of the slices to which Envoy reads.
const SLICE: usize = 16 * 1024;

/// Changes the buffer. What may not fit into its limit is passed to the next filter before it, because Envoy stops reading
/// while a buffer is above its limit.
fn apply(connection: Connection, side: Side, chunks: &Chunks<'_>, outcome: &Outcome) {
    if !outcome.tail.is_empty() {
        return repair(connection, side, chunks, outcome);
    }
    let head = outcome.head.as_slice();
    let kept = outcome.kept;
    let len = outcome.len;
    let more = (kept + head.len()).saturating_sub(len);
    let may_be_full = more > 0
        && len >= SLICE
        && len.is_multiple_of(SLICE)
        && connection.limit(side).saturating_sub(len) < more;
    let target = (connection, side);
    if !may_be_full {
        return chunks.read(|slices| rewrite(target, slices, head, 0..kept, false));
    }
    let mut first = [0; FIRST];
    let start = FIRST - head.len();
    first[..head.len()].copy_from_slice(head);
    chunks.read(|slices| {
        let bytes = within(slices, 0..start).flatten();
        first[head.len()..].iter_mut().zip(bytes).for_each(|(to, &from)| *to = from);
    });
    if pass(connection, side, &first, len) {
        chunks.read(|slices| rewrite(target, slices, &[], start..kept, false));
    }
}

/// Changes the buffer if something in it is replaced.
fn repair(connection: Connection, side: Side, chunks: &Chunks<'_>, outcome: &Outcome) {
    let kept = outcome.kept;
    let len = outcome.len;
    if !pass(connection, side, outcome.head.as_slice(), len) {
        return;
    }
    if kept == len {
        connection.append(side, &outcome.tail);
    } else if connection.inject_start(side, chunks, kept) && pass(connection, side, &outcome.tail, len) {
        connection.drain(side, len);
    }
}

/// Passes a copy to the next filter. Returns false if that filter has closed the connection, which releases the buffer. The
/// buffer had this length.
fn pass(connection: Connection, side: Side, data: &[u8], len: usize) -> bool {
    connection.inject(side, data, false);
    connection.len(side) == len
}

impl Target for (Connection, Side) {
    fn append(self, data: &[u8]) {
        self.0.append(self.1, data);
    }

    fn drain(self, len: usize) {
        self.0.drain(self.1, len);
    }
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
    // SAFETY: the buffer and the pointer are those of this hook.
    unsafe {
        objects::new_config(config, FilterKind::Network, "a network filter", |settings| {
            Ok(Shared { settings, counters: Counters::for_network(Config::new(envoy))? })
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_config_destroy(config: ModulePtr) {
    // SAFETY: `config_new` returned the pointer, and Envoy destroys it once.
    unsafe { objects::destroy_config::<Shared>(config) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_new(
    config: ModulePtr,
    _envoy: EnvoyPtr,
) -> ModulePtr {
    // Envoy closes a connection whose filter is null.
    // SAFETY: `config_new` returned the pointer, and Envoy keeps it while it creates filters from it.
    unsafe { objects::new_filter(config, Filter::new) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_destroy(module: ModulePtr) {
    // SAFETY: `new` returned the pointer, and Envoy destroys it once.
    unsafe { objects::destroy_filter::<Filter>(module) }
}

/// Calls a hook of a filter. After a panic the connection is closed.
///
/// # Safety
///
/// The pointers are those that Envoy passed to the hook.
unsafe fn hook(envoy: EnvoyPtr, module: ModulePtr, run: impl FnOnce(&Filter, Connection) -> u32) -> u32 {
    // SAFETY: `new` returned `module`, which is not yet destroyed.
    let (connection, filter) = unsafe { (Connection::new(envoy), &*module.cast::<Filter>()) };
    guard(|| run(filter, connection), || filter.panicked(connection))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_new_connection(
    envoy: EnvoyPtr,
    module: ModulePtr,
) -> u32 {
    // SAFETY: the pointers are those of this hook.
    unsafe { hook(envoy, module, Filter::started) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_read(
    envoy: EnvoyPtr,
    module: ModulePtr,
    len: usize,
    end: bool,
) -> u32 {
    // SAFETY: the pointers are those of this hook.
    unsafe { hook(envoy, module, |filter, connection| filter.data(connection, Side::Read, len, end)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_write(
    envoy: EnvoyPtr,
    module: ModulePtr,
    len: usize,
    end: bool,
) -> u32 {
    // SAFETY: the pointers are those of this hook.
    unsafe { hook(envoy, module, |filter, connection| filter.written(connection, len, end)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_event(
    envoy: EnvoyPtr,
    module: ModulePtr,
    _event: u32,
) {
    // SAFETY: the pointers are those of this hook.
    unsafe { hook(envoy, module, Filter::ended) };
}

/// The event that [`Linger`] scheduled.
#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_network_filter_scheduled(
    envoy: EnvoyPtr,
    module: ModulePtr,
    _event: u64,
) {
    // SAFETY: the pointers are those of this hook.
    unsafe { hook(envoy, module, Filter::lingered) };
}
