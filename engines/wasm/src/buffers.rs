//! The buffers of the engine, and the log.

use log::info;
use utf8_codec_engines::plan::Outcome;
use utf8_codec_engines::shift::{GAP, shift};
use utf8_codec_engines::{MessageKind, Reason};

/// The bytes that an engine announced; `None` if it delivered fewer, which would pass unchecked otherwise.
pub(crate) fn whole(data: Option<Vec<u8>>, size: usize) -> Option<Vec<u8>> {
    let data = data.unwrap_or_default();
    (data.len() == size).then_some(data)
}

/// Changes a buffer whose content is `data`. `set` replaces a number of bytes of the buffer from a position.
///
/// Engines can replace bytes at the start of a buffer and append to it, but not remove the last ones. All bytes are
/// therefore set again, after they were moved in the memory of the module.
pub(crate) fn change(mut data: Vec<u8>, outcome: &Outcome, set: impl Fn(usize, usize, &[u8])) {
    let len = data.len();
    if outcome.is_unchanged() {
    } else if outcome.tail.is_empty() {
        let head = outcome.head.as_slice();
        // Without something to append, a second call would cost more than the gap saves.
        let gap = if head.len() + outcome.kept > len { GAP } else { 0 };
        let remaining = shift(&mut [&mut data], head, outcome.kept, gap);
        set(0, len, &data[remaining.drain..]);
        let more = remaining.append.as_slice();
        if !more.is_empty() {
            // At the end of the buffer.
            set(len - remaining.drain, 0, more);
        }
    } else {
        set(0, len, &[outcome.head.as_slice(), &data[..outcome.kept], &outcome.tail].concat());
    }
}

/// Logs an error without a byte of the payload.
pub(crate) fn log(what: &str, message: MessageKind, reason: &Reason) {
    let side = if message == MessageKind::Request { "request" } else { "response" };
    info!("utf8_codec: {what} {side}: {reason}");
}
