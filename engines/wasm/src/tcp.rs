//! The filter of connections.
//!
//! The text before an error is forwarded, and the rest of the direction is dropped. The filter cannot close the connection:
//! text that was not sent yet would be lost, and the SDK panics when Envoy reports the close to a context that no longer
//! exists. The connection ends when its client ends it.

use log::error;
use proxy_wasm::traits::{Context, StreamContext};
use proxy_wasm::types::Action;
use utf8_codec_engines::MessageKind;
use utf8_codec_engines::config::Settings;
use utf8_codec_engines::plan::{Check, Verdict};

use crate::buffers::{change, log, whole};

/// Both directions of a connection.
pub(crate) struct Connection {
    downstream: Direction,
    upstream: Direction,
    only_reports: bool,
}

/// One direction. An error in it does not affect the other one, which may carry the answer to the text before the error.
struct Direction {
    check: Check,
    was_rejected: bool,
}

impl Direction {
    fn new(settings: &Settings, message: MessageKind) -> Self {
        let check = if settings.covers(message) { Check::connection(settings) } else { Check::pass() };
        Self { check, was_rejected: false }
    }
}

impl Connection {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            downstream: Direction::new(settings, MessageKind::Request),
            upstream: Direction::new(settings, MessageKind::Response),
            only_reports: settings.only_reports(),
        }
    }

    fn data(&mut self, message: MessageKind, size: usize, end: bool) -> Action {
        let is_request = message == MessageKind::Request;
        let data =
            if is_request { self.get_downstream_data(0, size) } else { self.get_upstream_data(0, size) };
        let direction = if is_request { &mut self.downstream } else { &mut self.upstream };
        let data = whole(data, size);
        if data.is_none() && !direction.was_rejected {
            error!("utf8_codec: the engine did not deliver all bytes of a connection");
            if self.only_reports {
                return Action::Continue;
            }
            direction.was_rejected = true;
        }
        let (data, outcome) = match data {
            Some(data) if !direction.was_rejected => {
                let outcome = direction.check.feed(&[&data], end);
                (data, outcome)
            }
            _ => {
                self.set(message, 0, size, &[]);
                return Action::Continue;
            }
        };
        match &outcome.verdict {
            Verdict::Rejected(reason) => {
                log("rejected", message, reason);
                direction.was_rejected = true;
            }
            Verdict::Reported(reason) => log("reported", message, reason),
            Verdict::Pass => {}
        }
        change(data, &outcome, |start, size, bytes| self.set(message, start, size, bytes));
        Action::Continue
    }

    fn set(&self, message: MessageKind, start: usize, size: usize, bytes: &[u8]) {
        match message {
            MessageKind::Request => self.set_downstream_data(start, size, bytes),
            MessageKind::Response => self.set_upstream_data(start, size, bytes),
        }
    }
}

impl Context for Connection {}

impl StreamContext for Connection {
    fn on_downstream_data(&mut self, size: usize, end: bool) -> Action {
        self.data(MessageKind::Request, size, end)
    }

    fn on_upstream_data(&mut self, size: usize, end: bool) -> Action {
        self.data(MessageKind::Response, size, end)
    }
}
