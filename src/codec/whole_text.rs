//! Decodes a whole text, which is a line or a frame: a slice of it if possible, or a copy if a policy changes it.

use bytes::Bytes;
use bytestring::ByteString;
use kernels::held;

use crate::error::{ErrorKind, Utf8Error};
use crate::json::{Escapes, JsonPieces, JsonStrings};
use crate::text::{TextDecoder, TextPiece, put};

/// Returns a line or a frame as text if it is well-formed and no policy applies to it. The decoder is then at its end. It
/// starts between characters, regardless of the earlier input of the decoder.
#[inline(always)]
pub(super) fn unchanged<'f>(text: &mut TextDecoder, frame: &'f [u8]) -> Option<&'f str> {
    if text.is_past_start() { text.validate_whole(frame).ok() } else { None }
}

/// The functions for text to which a policy may apply. They are called through pointers, so that a program contains them only
/// if it sets a policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policed {
    pub(super) decode: fn(&mut TextDecoder, Bytes, usize) -> DecodedText,
    pub(super) finish: fn(&mut TextDecoder) -> Option<TextPiece<'static>>,
}

impl Policed {
    pub(super) const FUNCTIONS: Self = Self { decode: decode_policed, finish: TextDecoder::finish };
}

/// Which escapes are accepted, and the functions for JSON, called through pointers as in [`Policed`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Json {
    pub(super) strings: JsonStrings,
    pub(super) accepts: fn(JsonStrings, &[u8]) -> bool,
    pub(super) decode: fn(&mut TextDecoder, JsonStrings, Bytes, usize) -> DecodedText,
}

impl Json {
    pub(super) const fn new(strings: JsonStrings) -> Self {
        Self { strings, accepts: |strings, text| Escapes::new(strings).accept(text), decode: decode_json }
    }
}

/// The text of a line or a frame, or its first error and its bytes without the terminator.
pub(super) type DecodedText = Result<ByteString, (Utf8Error, Bytes)>;

/// Same as [`decode_policed`], for a decoder without policies.
pub(super) fn decode_strict(text: &mut TextDecoder, frame: Bytes, terminator: usize) -> DecodedText {
    let end = text.offset().wrapping_add(frame.len() as u64);
    let payload = frame.len() - terminator;
    let mut error = None;
    let validated = held::whole(frame, payload, |frame| {
        text.validate_whole(frame).map_err(|found| error = Some(found)).ok()
    });
    validated.map_err(|mut frame| {
        frame.truncate(payload);
        // Without an error the frame is text, so it has been returned.
        let error = error.unwrap_or(Utf8Error::new(end, ErrorKind::Truncated, 0));
        text.count(error);
        text.seek(end);
        (error, frame)
    })
}

/// Decodes a line or a frame that is one whole text. Its last `terminator` bytes are ASCII and not part of the text. A sequence
/// that is unfinished before them is ill-formed. If `terminator` is 0, the text ends with the frame.
///
/// # Errors
///
/// Returns the first error, and the frame without its terminator.
pub(super) fn decode_policed(text: &mut TextDecoder, frame: Bytes, terminator: usize) -> DecodedText {
    let start = text.offset();
    let end = start.wrapping_add(frame.len() as u64);
    let payload = frame.len() - terminator;
    let frame = match held::whole(frame, payload, |frame| unchanged(text, frame)) {
        Ok(text) => return Ok(text),
        Err(frame) => frame,
    };
    text.seek(start);
    let mut out = String::with_capacity(frame.len());
    let mut error = text.feed_into(&frame[..payload], &mut out).err();
    if error.is_none() && !text.pending().is_empty() {
        let (piece, _) = text.take_piece(&frame[payload..]);
        error = piece.and_then(|piece| put(piece, &mut out).err());
    }
    if error.is_none() {
        error = text.finish().and_then(|piece| put(piece, &mut out).err());
    }
    text.seek(end);
    match error {
        Some(error) => Err((error, frame.slice(..payload))),
        None => Ok(out.into()),
    }
}

/// Same as [`decode_policed`], for a text in JSON.
#[cold]
pub(super) fn decode_json(
    text: &mut TextDecoder,
    strings: JsonStrings,
    frame: Bytes,
    terminator: usize,
) -> DecodedText {
    let end = text.offset().wrapping_add(frame.len() as u64);
    let (payload, after) = frame.split_at(frame.len() - terminator);
    let mut escapes = Escapes::new(strings);
    let mut out = String::with_capacity(frame.len());
    let mut decoded = JsonPieces::new(text, &mut escapes, payload, false).decode_to(&mut out);
    if decoded.is_ok() && !text.pending().is_empty() {
        // The terminator itself is a borrowed piece of text, which is not part of the output.
        decoded = JsonPieces::new(text, &mut escapes, after, false)
            .take_while(|piece| !matches!(piece, TextPiece::Text(_)))
            .try_for_each(|piece| put(piece, &mut out));
    }
    if decoded.is_ok() {
        decoded = JsonPieces::new(text, &mut escapes, &[], true).try_for_each(|piece| put(piece, &mut out));
    }
    text.seek(end);
    match decoded {
        Ok(()) => Ok(out.into()),
        Err(error) => Err((error, frame.slice(..frame.len() - terminator))),
    }
}
