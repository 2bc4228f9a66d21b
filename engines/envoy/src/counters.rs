//! Counters, dynamic metadata and log lines, for both filters.

use core::cell::Cell;

use utf8_codec_engines::{ErrorKind, MessageKind, Reason};

use crate::abi::log_level;
use crate::host::{Config, Host, log};

/// The counters of a filter. Envoy exports them as `dynamicmodulescustom.utf8_<filter>_<name>`.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    /// The number of streams whose check has started: directions of connections, or bodies.
    streams: usize,
    /// The number of bytes of these streams.
    bytes: usize,
    /// The number of ill-formed sequences that were repaired.
    repaired: usize,
    /// The number of streams or messages that were rejected.
    rejected: usize,
    /// The number of streams or messages that would have been rejected without `"action": "report"`.
    reported: usize,
    /// The number of hooks that panicked.
    panics: usize,
    /// The number of rejected or reported streams, by the kind of the error.
    kinds: [usize; ErrorKind::ALL.len()],
    /// The number of messages that were rejected or reported for a reason other than ill-formed text.
    other: usize,
}

/// The number of bytes that are counted at once.
const MANY: u64 = 256 * 1024;

/// The reason to reject a configuration for which Envoy defines no counters.
const UNDEFINED: &str = "the counters cannot be defined";

impl Counters {
    pub(crate) fn for_network(config: Config) -> Result<Self, &'static str> {
        Self::define(|name| config.define_network_counter(&format!("utf8_tcp_{name}"))).ok_or(UNDEFINED)
    }

    pub(crate) fn for_http(config: Config) -> Result<Self, &'static str> {
        Self::define(|name| config.define_http_counter(&format!("utf8_http_{name}"))).ok_or(UNDEFINED)
    }

    fn define(define: impl Fn(&str) -> Option<usize>) -> Option<Self> {
        let mut kinds = [0; ErrorKind::ALL.len()];
        for (id, kind) in kinds.iter_mut().zip(ErrorKind::ALL) {
            *id = define(&format!("errors_{}", snake_case(kind.as_str())))?;
        }
        Some(Self {
            streams: define("streams")?,
            bytes: define("bytes")?,
            repaired: define("repaired")?,
            rejected: define("rejected")?,
            reported: define("reported")?,
            panics: define("panics")?,
            kinds,
            other: define("errors_other")?,
        })
    }

    pub(crate) fn started(&self, host: impl Host) {
        host.count(self.streams, 1);
    }

    /// Counts bytes. A call of Envoy for each read would cost about 1 % of its CPU, so fewer than [`MANY`] wait in
    /// `uncounted`.
    pub(crate) fn received(&self, host: impl Host, uncounted: &Cell<u64>, bytes: usize) {
        uncounted.set(uncounted.get() + bytes as u64);
        if uncounted.get() >= MANY {
            self.ended(host, uncounted);
        }
    }

    /// Counts the bytes that wait.
    pub(crate) fn ended(&self, host: impl Host, uncounted: &Cell<u64>) {
        let bytes = uncounted.take();
        if bytes > 0 {
            host.count(self.bytes, bytes);
        }
    }

    pub(crate) fn repaired(&self, host: impl Host, sequences: u64) {
        if sequences > 0 {
            host.count(self.repaired, sequences);
            host.set_text("verdict", "repaired");
        }
    }

    pub(crate) fn panicked(&self, host: impl Host) {
        host.count(self.panics, 1);
    }

    /// Counts and logs a rejected or reported stream, and sets its metadata.
    pub(crate) fn rejected(
        &self,
        host: impl Host,
        message: MessageKind,
        reason: &Reason,
        only_reported: bool,
    ) {
        let (counter, verdict) =
            if only_reported { (self.reported, "reported") } else { (self.rejected, "rejected") };
        host.count(counter, 1);
        host.count(reason.utf8_error().map_or(self.other, |error| self.kinds[error.kind as usize]), 1);
        let message = match message {
            MessageKind::Request => "request",
            MessageKind::Response => "response",
        };
        host.set_text("verdict", verdict);
        host.set_text("direction", message);
        host.set_text("kind", reason.kind());
        if let Some((offset, len)) = reason.offset_and_len() {
            host.set_number("offset", offset as f64);
            host.set_number("len", len as f64);
        }
        log(log_level::INFO, || format!("utf8_codec: {verdict} {message}: {reason}"));
    }
}

/// Converts `InvalidLead` to `invalid_lead`.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 2);
    for (index, character) in name.char_indices() {
        if character.is_ascii_uppercase() && index > 0 {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}
