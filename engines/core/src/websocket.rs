//! The check of a WebSocket connection after its handshake (RFC 6455), over the slices of an engine's buffers.
//!
//! ```
//! use utf8_codec_proxy::websocket::FrameSender;
//! use utf8_codec_engines::config::{FilterKind, Settings};
//! use utf8_codec_engines::plan::Verdict;
//! use utf8_codec_engines::websocket::WebSocket;
//!
//! let mut connection = WebSocket::new(&Settings::parse(b"{}", FilterKind::Http)?).expect("checked by default");
//! let outcome = connection.feed(FrameSender::Server, &[b"\x81\x02ok\x81\x05caf\xFF"], false);
//! assert!(matches!(outcome.verdict, Verdict::Rejected(_)));
//! // The client receives the first message, the text before the error, and a close frame with 1007.
//! assert_eq!((outcome.kept, &outcome.tail[..6]), (4, &b"\x01\x03caf\x88"[..]));
//! assert_eq!(outcome.tail[7..9], 1007_u16.to_be_bytes());
//! // The server receives a close frame in place of what the client sends next.
//! let outcome = connection.feed(FrameSender::Client, &[b"\x82"], false);
//! assert_eq!((outcome.kept, outcome.tail[0]), (0, 0x88));
//! # Ok::<(), utf8_codec_engines::config::ConfigError>(())
//! ```

use core::hash::{BuildHasher as _, Hasher as _};
use std::hash::RandomState;

use utf8_codec::from_utf8;
use utf8_codec::inflate::{Deflate, Inflater};
use utf8_codec_http::MessageKind;
use utf8_codec_proxy::Edit;
use utf8_codec_proxy::websocket::{CloseFrame, CompressionPolicy, FrameFilter, FrameSender};

use crate::config::Settings;
use crate::outcome::{Outcome, Output, Verdict};
use crate::reason::Reason;

/// Both directions of a connection.
#[derive(Debug)]
pub struct WebSocket {
    client: Direction,
    server: Direction,
    max_message: u64,
    only_reports: bool,
}

#[derive(Debug)]
struct Direction {
    sender: FrameSender,
    /// `None` if the frames are not checked, or not checked anymore.
    filter: Option<FrameFilter>,
    state: State,
}

#[derive(Debug)]
enum State {
    Open,
    /// The other direction was rejected. The receiver gets this close frame in place of what the sender sends next.
    Closing(Vec<u8>),
    /// The receiver has a close frame. What the sender sends is dropped.
    Over,
}

impl WebSocket {
    /// Creates the check of a connection, unless the settings say that it passes.
    pub fn new(settings: &Settings) -> Option<Self> {
        let limit = settings.max_websocket_message()?;
        Some(Self {
            client: Direction::new(settings, limit, FrameSender::Client),
            server: Direction::new(settings, limit, FrameSender::Server),
            max_message: limit,
            only_reports: settings.only_reports(),
        })
    }

    /// Sets what happens to compressed messages, by the fields of the response of the server.
    pub fn set_extensions<'f>(
        &mut self,
        settings: &Settings,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) {
        let extensions = given(fields).unwrap_or_default();
        let policy = match settings.compression() {
            // The offer is not removed if errors are only reported.
            CompressionPolicy::Remove if settings.only_reports() => CompressionPolicy::Pass,
            policy => policy,
        };
        let compression = policy.negotiated(&extensions);
        for direction in [&mut self.client, &mut self.server] {
            let Some(mut filter) = direction.filter.take() else { continue };
            filter = filter.with_compression(compression);
            if compression == CompressionPolicy::Inflate {
                let is_kept = direction.sender.has_context_takeover(&extensions);
                let inflater = Inflater::new(Deflate::permessage().with_context_takeover(is_kept));
                filter = filter.with_inflater(inflater.with_max_length(self.max_message));
            }
            direction.filter = Some(filter);
        }
    }

    /// Checks the next slices of a direction. With `end` the direction ends after them.
    ///
    /// After an error, the new content of the buffer ends with a close frame for the receiver, and later data of both
    /// directions is dropped. The sender gets its close frame from the next call for the other direction, which is that
    /// for the reply of the receiver (RFC 6455 section 5.5.1) or for its end.
    pub fn feed(&mut self, sender: FrameSender, slices: &[&[u8]], end: bool) -> Outcome {
        let (this, other) = match sender {
            FrameSender::Client => (&mut self.client, &mut self.server),
            FrameSender::Server => (&mut self.server, &mut self.client),
        };
        let mut output = Output::new(slices);
        let len = output.len();
        if let Some(close) = this.take_close() {
            output.tail = close;
            return output.outcome(0, Verdict::Pass);
        }
        let filter = match (&this.state, &mut this.filter) {
            (State::Open, Some(filter)) => filter,
            (State::Open, None) => {
                output.kept = len;
                return output.outcome(0, Verdict::Pass);
            }
            _ => return output.outcome(0, Verdict::Pass),
        };
        let mut repaired = 0;
        let mut result = Ok(());
        for (index, slice) in slices.iter().enumerate() {
            result = filter.feed_with(slice, |edit| {
                repaired += u64::from(matches!(edit, Edit::IllFormed(_)));
                output.edit(index, edit);
            });
            if result.is_err() || filter.is_closed() {
                break;
            }
            output.start += slice.len();
        }
        let is_closed = filter.is_closed();
        if self.only_reports {
            if result.is_err() || is_closed {
                this.filter = None;
            }
            let verdict =
                result.map_or_else(|error| Verdict::Reported(Reason::Frame(error)), |()| Verdict::Pass);
            return Outcome::unchanged(len, verdict);
        }
        match result {
            Ok(()) => {
                // What is left of a frame that is not complete is dropped with its connection.
                if end || is_closed {
                    this.state = State::Over;
                }
                output.outcome(repaired, Verdict::Pass)
            }
            Err(error) => {
                let frame = error.close_frame();
                output.tail.extend_from_slice(&this.close_bytes(&frame));
                this.state = State::Over;
                if matches!(other.state, State::Open) {
                    other.state = match other.filter {
                        Some(_) => State::Closing(other.close_bytes(&frame)),
                        // Its frames are not known, so nothing can be inserted between them.
                        None => State::Over,
                    };
                }
                output.outcome(repaired, Verdict::Rejected(Reason::Frame(error)))
            }
        }
    }
}

impl Direction {
    fn new(settings: &Settings, limit: u64, sender: FrameSender) -> Self {
        let mut filter = FrameFilter::new(sender).with_max_frame_length(limit).with_max_message_length(limit);
        if let utf8_codec::ErrorPolicy::Substitute(byte) = settings.decoder().error_policy() {
            filter = filter.with_substitute(byte);
        }
        let message = match sender {
            FrameSender::Client => MessageKind::Request,
            FrameSender::Server => MessageKind::Response,
        };
        Self { sender, filter: settings.covers(message).then_some(filter), state: State::Open }
    }

    fn take_close(&mut self) -> Option<Vec<u8>> {
        match &mut self.state {
            State::Closing(close) => {
                let close = core::mem::take(close);
                self.state = State::Over;
                Some(close)
            }
            State::Open | State::Over => None,
        }
    }

    /// Returns the bytes of a close frame for the receiver. Those for a server have a mask, as all frames of a client.
    fn close_bytes(&self, frame: &CloseFrame) -> Vec<u8> {
        let key = (self.sender == FrameSender::Client).then(|| {
            let [a, b, c, d, ..] = RandomState::new().build_hasher().finish().to_ne_bytes();
            [a, b, c, d]
        });
        let mut bytes = Vec::new();
        frame.write_to(key, &mut bytes);
        bytes
    }
}

/// Whether the fields of a request ask for a WebSocket connection, or those of a response accept one. Over HTTP/2 it is
/// `:protocol` (RFC 8441).
pub fn is_handshake<'f>(mut fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> bool {
    fields.any(|(name, value)| match name {
        b":protocol" => value.eq_ignore_ascii_case(b"websocket"),
        name if name.eq_ignore_ascii_case(b"upgrade") => value
            .split(|&byte| byte == b',')
            .any(|token| token.trim_ascii().eq_ignore_ascii_case(b"websocket")),
        _ => false,
    })
}

/// The name of the field that [`extensions`] returns.
pub const EXTENSIONS: &str = "sec-websocket-extensions";

/// The new value of `Sec-WebSocket-Extensions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extensions {
    /// The message has no such field, or it does not change.
    Unchanged,
    /// The field is removed.
    Removed,
    /// The message has one field with this value.
    Changed(String),
}

/// Returns what becomes of the extensions in a handshake. Only compression is kept, and only if the settings say so.
pub fn extensions<'f>(settings: &Settings, fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Extensions {
    let Some(given) = given(fields) else { return Extensions::Unchanged };
    if settings.only_reports() {
        return Extensions::Unchanged;
    }
    match settings.compression().edit(&given) {
        None => Extensions::Removed,
        Some(kept) if kept == given => Extensions::Unchanged,
        Some(kept) => Extensions::Changed(kept),
    }
}

/// Returns the value of all fields together. A value that is not text has no extension.
fn given<'f>(fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Option<String> {
    let values = fields.filter(|(name, _)| name.eq_ignore_ascii_case(EXTENSIONS.as_bytes()));
    values
        .map(|(_, value)| from_utf8(value).unwrap_or_default().to_owned())
        .reduce(|all, value| all + ", " + &value)
}
