//! The filter of one direction, without I/O.

use bytes::{Bytes, BytesMut};

use crate::error::Utf8Error;
use crate::text::{Counters, TextDecoder, TextPiece};

/// One direction of a proxied stream: chunks go in, the text that may be forwarded comes out.
///
/// It has the shape of a proxy's body hook: the chunk is an `&mut Option<Bytes>` that is replaced by what may be
/// forwarded, with a flag for the end of the stream (pingora's `request_body_filter`, `response_body_filter`;
/// proxy-wasm's `on_http_request_body`, `on_downstream_data`). It knows no runtime and no socket.
///
/// Only whole characters leave it: an unfinished one, at most 3 bytes, waits inside for the next chunk. A chunk that
/// is good text is forwarded as a slice of itself. One that begins inside a character, or that is repaired, is copied
/// once; a repair can make it at most four times as long.
///
/// Repair can change the length of the stream: what tells the length in front of it (`Content-Length`) or depends on
/// its bytes (`ETag`, digests) no longer holds, except under [`ErrorPolicy::Substitute`](crate::ErrorPolicy).
///
/// ```
/// use bytes::Bytes;
/// use utf8_codec::ErrorKind;
/// use utf8_codec::proxy::{Filter, Verdict};
///
/// let mut filter = Filter::new();
/// let mut body = Some(Bytes::from_static(b"caf\xC3"));
/// assert_eq!(filter.filter(&mut body, false), Verdict::Pass);
/// assert_eq!(body.as_deref(), Some(&b"caf"[..]));
///
/// let mut body = Some(Bytes::from_static(b"\xA9 \xFF au lait"));
/// let Verdict::Refuse(error) = filter.filter(&mut body, true) else { panic!("FF is in no UTF-8") };
/// assert_eq!((error.offset, error.kind), (6, ErrorKind::InvalidLead));
/// assert_eq!(body.as_deref(), Some("é ".as_bytes()), "the good text is still to be forwarded");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Filter {
    decoder: TextDecoder,
    refused: Option<Utf8Error>,
}

/// What is to be done about a chunk. In every case the body, if it is `Some`, is to be forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refused stream must be closed"]
pub enum Verdict {
    /// The chunk is good text.
    Pass,
    /// Ill-formed sequences were repaired; this was the first of the chunk.
    Repaired(Utf8Error),
    /// After the body the stream is ill-formed: forward the body, then close. Every later chunk is refused whole,
    /// with the same error.
    Refuse(Utf8Error),
}

impl Filter {
    /// A filter that refuses ill-formed text and keeps the BOM.
    pub const fn new() -> Self {
        Self::with_decoder(TextDecoder::new())
    }

    /// A filter with the policies of this decoder.
    pub const fn with_decoder(decoder: TextDecoder) -> Self {
        Self { decoder, refused: None }
    }

    /// Takes the next chunk, if there is one, and leaves in its place the text that may be forwarded, if there is
    /// any. With `end_of_stream`, an unfinished character is ill-formed.
    pub fn filter(&mut self, body: &mut Option<Bytes>, end_of_stream: bool) -> Verdict {
        self.filter_with(body, end_of_stream, |_| {})
    }

    /// [`filter`](Self::filter) that also hands every error, repaired or not, to `report`, in the order of the
    /// stream.
    pub fn filter_with(
        &mut self,
        body: &mut Option<Bytes>,
        end_of_stream: bool,
        mut report: impl FnMut(Utf8Error),
    ) -> Verdict {
        let chunk = body.take().unwrap_or_default();
        if let Some(error) = self.refused {
            return Verdict::Refuse(error);
        }
        let mut text = Forward::of(&chunk);
        let mut verdict = Verdict::Pass;
        // Whether the stream goes on after the piece.
        let mut judge = |piece: TextPiece<'_>| {
            match piece {
                TextPiece::Text(good) => text.lend(good),
                TextPiece::Seam(seam) => text.push(&seam),
                TextPiece::Repaired(repair, error) => {
                    text.push(&repair);
                    report(error);
                    if verdict == Verdict::Pass {
                        verdict = Verdict::Repaired(error);
                    }
                }
                TextPiece::IllFormed(error) => {
                    report(error);
                    verdict = Verdict::Refuse(error);
                    self.refused = Some(error);
                }
            }
            self.refused.is_none()
        };
        let goes_on = self.decoder.feed(&chunk).all(&mut judge);
        if end_of_stream
            && goes_on
            && let Some(piece) = self.decoder.finish()
        {
            judge(piece);
        }
        *body = text.into_bytes();
        verdict
    }

    /// Bytes taken so far, those of an unfinished character included.
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// The bytes of an unfinished character, which wait for the next chunk.
    pub fn pending(&self) -> &[u8] {
        self.decoder.pending()
    }

    /// Errors met so far, by kind.
    pub const fn counters(&self) -> Counters {
        self.decoder.counters()
    }
}

/// The text of a chunk: a slice of it as long as that is possible, then a copy.
struct Forward<'c> {
    chunk: &'c Bytes,
    slice: Bytes,
    copy: BytesMut,
}

impl<'c> Forward<'c> {
    fn of(chunk: &'c Bytes) -> Self {
        Self { chunk, slice: Bytes::new(), copy: BytesMut::new() }
    }

    /// Text of the chunk itself.
    fn lend(&mut self, text: &str) {
        if self.slice.is_empty() && self.copy.is_empty() {
            self.slice = self.chunk.slice_ref(text.as_bytes());
        } else {
            self.push(text);
        }
    }

    fn push(&mut self, text: &str) {
        if self.copy.is_empty() && !text.is_empty() {
            self.copy.reserve(self.chunk.len() + text.len());
            self.copy.extend_from_slice(&core::mem::take(&mut self.slice));
        }
        self.copy.extend_from_slice(text.as_bytes());
    }

    fn into_bytes(self) -> Option<Bytes> {
        let text = if self.copy.is_empty() { self.slice } else { self.copy.freeze() };
        (!text.is_empty()).then_some(text)
    }
}
