//! The filter of connections.
//!
//! The text before an error is forwarded, and all that follows it is dropped. The filter does not close the connection: a
//! filter of Proxy-Wasm that does loses the text that is not sent yet, and the SDK panics when Envoy reports the close to a
//! context that is gone. The connection ends when its client ends it.

use proxy_wasm::traits::{Context, StreamContext};
use proxy_wasm::types::Action;
use utf8_codec::http::Message;
use utf8_codec_envoy::config::Settings;
use utf8_codec_envoy::plan::{Check, Verdict};

use crate::{log, new_content};

/// Both directions of a connection.
pub(crate) struct Connection {
    downstream: Check,
    upstream: Check,
    was_rejected: bool,
}

impl Connection {
    pub(crate) fn new(settings: &Settings) -> Self {
        let check = |message| match settings.covers(message) {
            true => Check::text(settings.decoder(), settings.only_reports()),
            false => Check::pass(),
        };
        let (downstream, upstream) = (check(Message::Request), check(Message::Response));
        Self { downstream, upstream, was_rejected: false }
    }

    fn data(&mut self, message: Message, size: usize, end: bool) -> Action {
        let is_request = message == Message::Request;
        let data =
            if is_request { self.get_downstream_data(0, size) } else { self.get_upstream_data(0, size) };
        let data = data.unwrap_or_default();
        let mut content = None;
        if self.was_rejected {
            content = Some(Vec::new());
        } else {
            let check = if is_request { &mut self.downstream } else { &mut self.upstream };
            let outcome = check.feed(&[&data], end);
            content = new_content(&data, &outcome).or(content);
            match outcome.verdict {
                Verdict::Rejected(reason) => {
                    log("rejected", message, &reason);
                    self.was_rejected = true;
                }
                Verdict::Reported(reason) => log("reported", message, &reason),
                Verdict::Pass => {}
            }
        }
        if let Some(content) = content {
            if is_request {
                self.set_downstream_data(0, size, &content);
            } else {
                self.set_upstream_data(0, size, &content);
            }
        }
        Action::Continue
    }
}

impl Context for Connection {}

impl StreamContext for Connection {
    fn on_downstream_data(&mut self, size: usize, end: bool) -> Action {
        self.data(Message::Request, size, end)
    }

    fn on_upstream_data(&mut self, size: usize, end: bool) -> Action {
        self.data(Message::Response, size, end)
    }
}
