//! tokio-util codecs: text in chunks, text in lines, errors as items.
//!
//! The unfinished tail waits in the read buffer, so that a sequence is contiguous when it is whole, nothing is
//! copied, and `Framed::into_parts` hands on every byte that was not given out as text. A caller may pass any
//! buffer to `decode`; so nothing is called text because an earlier call saw it, only because this call did.

mod batches;
mod chunks;
mod error;
mod errors_as_items;
mod frames;
mod lines;
#[cfg(feature = "transcode")]
mod transcode;

pub use batches::{Lines, LinesIter, Utf8LineBatchesCodec};
pub use chunks::Utf8Codec;
pub use error::{CodecError, Recoverable};
pub use errors_as_items::ErrorsAsItems;
pub use frames::{Fragment, FrameError, Utf8FragmentsCodec, Utf8FramesCodec};
pub use lines::{LineEnding, Utf8LinesCodec};
#[cfg(feature = "transcode")]
pub use transcode::TranscodeCodec;

use bytes::Bytes;
use bytestring::ByteString;

use crate::error::Utf8Error;
use crate::text::{TextDecoder, TextPiece};

/// Text whose bytes were found well-formed a moment ago.
fn checked(text: Bytes) -> ByteString {
    debug_assert!(core::str::from_utf8(&text).is_ok());
    // SAFETY: every caller is in this folder, and has just had `text` validated from its first byte to its last, or
    // has cut it out of such text beside an ASCII byte.
    #[allow(unsafe_code)]
    unsafe {
        ByteString::from_bytes_unchecked(text)
    }
}

/// Whether a frame is text as it is, in which no policy has a say. Only then the decoder has taken it.
#[inline]
fn is_good(text: &mut TextDecoder, frame: &[u8]) -> bool {
    let start = text.offset();
    // A frame starts between characters, whatever the decoder was fed before.
    text.seek(start);
    let is_good = text.is_past_start() && crate::from_utf8(frame).is_ok();
    if is_good {
        text.seek(start.wrapping_add(frame.len() as u64));
    }
    is_good
}

/// Decodes a frame that is a text of its own. Its last `terminator` bytes, which are ASCII, are looked at but not
/// given out: it is they that break off a sequence before them. Without a terminator the frame ends the text.
///
/// # Errors
///
/// The first one, and the frame without its terminator.
fn decode_frame(
    text: &mut TextDecoder,
    frame: Bytes,
    terminator: usize,
) -> Result<ByteString, (Utf8Error, Bytes)> {
    let (start, end) = (text.offset(), text.offset().wrapping_add(frame.len() as u64));
    let payload = frame.len() - terminator;
    if is_good(text, &frame) {
        let mut frame = frame;
        frame.truncate(payload);
        return Ok(checked(frame));
    }
    text.seek(start);
    let mut out = String::with_capacity(frame.len());
    let mut refused = text.decode_into(&frame[..payload], &mut out).err();
    let mut take = |piece: TextPiece<'_>| piece.text().map(|text| out.push_str(text));
    if refused.is_none() && !text.pending().is_empty() {
        // Of the terminator only what it does to the sequence before it counts.
        refused = text.feed(&frame[payload..]).take(1).try_for_each(&mut take).err();
    }
    if refused.is_none() {
        refused = text.finish().and_then(|piece| take(piece).err());
    }
    text.seek(end);
    match refused {
        Some(error) => Err((error, frame.slice(..payload))),
        None => Ok(out.into()),
    }
}
