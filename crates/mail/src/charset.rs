//! Text in charsets other than UTF-8, with the offsets of its bytes on the wire.

use alloc::boxed::Box;

use utf8_codec::from_utf8;
use utf8_codec_encodings::{Encoding, TranscodeProgress, TranscodeStatus, Transcoder};
use utf8_codec_media::content_type::labels;

use super::error::MimeError;
use super::transfer::TransferPiece;

/// The output space for one step of the transcoder.
const ROOM: usize = 1024;

/// Decodes text in another charset.
#[derive(Clone, Debug)]
pub(super) struct CharsetText {
    transcoder: Transcoder,
    /// The offset on the wire of each pending byte.
    pending: [u64; 8],
}

impl CharsetText {
    pub(super) fn new(charset: Encoding) -> Box<Self> {
        Box::new(Self { transcoder: Transcoder::new(charset, Encoding::Utf8), pending: [0; 8] })
    }

    /// Returns the decoder for a name of an encoding. Mail uses more names than the web, such as `utf-7`, `iso-2022-kr`
    /// and `cp949`. The labels of the web are accepted, too. UTF-16 and UTF-32 have no decoder: their text in mail may
    /// have a BOM of the other byte order.
    pub(super) fn for_label(label: &[u8]) -> Option<Box<Self>> {
        let named = from_utf8(label).ok().and_then(|name| name.trim_ascii().parse().ok());
        let encoding = named.or_else(|| Encoding::for_label(label))?;
        let is_wide = labels::is_wide(label) || is_wide(encoding);
        (!is_wide).then(|| Self::new(encoding))
    }

    /// Returns a decoder of the same charset for another text.
    pub(super) fn restarted(&self) -> Box<Self> {
        Self::new(self.transcoder.source())
    }

    /// Returns the number of bytes of the text so far.
    pub(super) const fn offset(&self) -> u64 {
        self.transcoder.offset()
    }

    /// Decodes a piece of a body.
    pub(super) fn decode(
        &mut self,
        piece: TransferPiece<'_>,
        each: &mut impl FnMut(Result<&str, MimeError>),
    ) {
        match piece {
            TransferPiece::Bytes(decoded) => {
                self.feed(decoded.bytes(), |index| decoded.encoded_offset(index), each);
            }
            TransferPiece::Error(error) => each(Err(error.into())),
        }
    }

    /// Decodes bytes. `wire` returns the offset on the wire of each of them.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        wire: impl Fn(usize) -> u64,
        each: &mut impl FnMut(Result<&str, MimeError>),
    ) {
        let start = self.offset();
        let held = self.transcoder.pending().len() as u64;
        let before = self.pending;
        let wire = |offset: u64| match offset.checked_sub(start) {
            Some(index) => wire(index as usize),
            None => before[(held - (start - offset)) as usize],
        };
        let mut rest = bytes;
        let mut room = [0; ROOM];
        loop {
            let progress = self.transcoder.feed_into_slice(rest, &mut room);
            rest = &rest[progress.read..];
            if report(progress, &room, &wire, each) {
                break;
            }
        }
        let pending = self.transcoder.pending().len();
        let first = self.offset() - pending as u64;
        self.pending[..pending].iter_mut().zip(first..).for_each(|(at, offset)| *at = wire(offset));
    }

    /// Ends the text.
    pub(super) fn finish(&mut self, each: &mut impl FnMut(Result<&str, MimeError>)) {
        let first = self.offset() - self.transcoder.pending().len() as u64;
        let pending = self.pending;
        let wire = |offset: u64| pending[(offset - first) as usize];
        let mut room = [0; ROOM];
        while !report(self.transcoder.finish_into_slice(&mut room), &room, &wire, each) {}
    }
}

const fn is_wide(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be | Encoding::Utf32Le | Encoding::Utf32Be)
}

/// Calls `each` with the text and the error of a step. Returns whether it was the last one.
fn report(
    progress: TranscodeProgress,
    room: &[u8],
    wire: &impl Fn(u64) -> u64,
    each: &mut impl FnMut(Result<&str, MimeError>),
) -> bool {
    let text = from_utf8(&room[..progress.written]).unwrap_or_default();
    if !text.is_empty() {
        each(Ok(text));
    }
    if let TranscodeStatus::IllFormed(error) = progress.status {
        each(Err(MimeError::charset(wire(error.offset), error)));
    }
    progress.status == TranscodeStatus::InputEmpty
}
