//! What happens to the bytes of a body: four filters with one interface.

use bytes::{Bytes, BytesMut};
use http_body::SizeHint;

use super::error::Utf8BodyError;
use super::multipart::Multipart;
use super::transcode::Transcoder;
use super::urlencoded::UrlEncoded;
use crate::chunks::TextChunks;
use crate::policy::{BomPolicy, ErrorPolicy};
use crate::text::TextDecoder;

/// Feed a chunk, take what comes of it until there is nothing more, finish at the end.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the common one is not worth an allocation for each body")]
pub(crate) enum Filter {
    Text(TextFilter),
    Multipart(Box<Multipart>),
    UrlEncoded(Box<UrlEncoded>),
    Transcode(Box<Transcoder>),
}

impl Filter {
    pub(crate) const fn text(decoder: TextDecoder) -> Self {
        Self::Text(TextFilter { chunks: TextChunks::new(decoder), next: None })
    }

    /// Gives it the next chunk, once all that came of the one before has been taken.
    #[inline]
    pub(crate) fn feed(&mut self, chunk: Bytes) {
        match self {
            Self::Text(filter) => drop(filter.chunks.feed(chunk)),
            Self::Multipart(filter) => filter.feed(&chunk),
            Self::UrlEncoded(filter) => filter.feed(&chunk),
            Self::Transcode(filter) => filter.feed(chunk),
        }
    }

    /// What comes of the chunk, never empty. `None` asks for the next chunk.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        match self {
            Self::Text(filter) => filter.next(),
            Self::Multipart(filter) => filter.next(),
            Self::UrlEncoded(filter) => filter.next(),
            Self::Transcode(filter) => filter.next(),
        }
    }

    /// Ends the body. What comes of that is taken with [`next`](Self::next).
    pub(crate) fn finish(&mut self) {
        match self {
            Self::Text(filter) => {
                filter.next = filter.chunks.finish().map(|end| Ok(end?.into_bytes()));
            }
            Self::Multipart(filter) => filter.finish(),
            Self::UrlEncoded(filter) => filter.finish(),
            Self::Transcode(filter) => filter.finish(),
        }
    }

    /// Whether there is nothing to take, once it was finished.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Self::Text(filter) => filter.next.is_none(),
            Self::Multipart(filter) => filter.is_idle(),
            Self::UrlEncoded(filter) => filter.is_idle(),
            Self::Transcode(filter) => filter.is_clean(),
        }
    }

    /// Whether there is nothing to take, and [`finish`](Self::finish) would give nothing either.
    pub(crate) fn is_clean(&self) -> bool {
        match self {
            Self::Text(filter) => {
                let mut probe = *filter.chunks.decoder();
                filter.next.is_none() && probe.finish().is_none()
            }
            Self::Multipart(filter) => filter.is_clean(),
            Self::UrlEncoded(filter) => filter.is_clean(),
            Self::Transcode(filter) => filter.is_clean(),
        }
    }

    /// Bytes taken so far.
    pub(crate) fn offset(&self) -> u64 {
        match self {
            Self::Text(filter) => filter.chunks.decoder().offset(),
            Self::Multipart(filter) => filter.offset(),
            Self::UrlEncoded(filter) => filter.offset(),
            Self::Transcode(filter) => filter.offset(),
        }
    }

    /// Sequences repaired so far.
    #[inline]
    pub(crate) fn repaired(&self) -> u64 {
        match self {
            Self::Text(filter) => repaired(filter.chunks.decoder()),
            Self::Multipart(filter) => filter.repaired(),
            Self::UrlEncoded(filter) => repaired(filter.decoder()),
            Self::Transcode(filter) => filter.repaired(),
        }
    }

    /// Whether what has come out may differ from what went in.
    pub(crate) fn has_changed(&self) -> bool {
        let strips =
            |decoder: &TextDecoder| matches!(decoder.bom_policy(), BomPolicy::Strip | BomPolicy::Require);
        self.repaired() > 0 || self.decoder().is_none_or(strips)
    }

    /// Whether what comes in is in another charset.
    pub(crate) const fn is_transcoding(&self) -> bool {
        matches!(self, Self::Transcode(_))
    }

    /// Bytes that were taken and neither handed on nor refused; of another charset, the most that may be.
    fn held(&self) -> u64 {
        match self {
            Self::Text(filter) => filter.chunks.decoder().pending().len() as u64,
            Self::Multipart(filter) => filter.held(),
            Self::UrlEncoded(filter) => filter.held(),
            Self::Transcode(filter) => filter.held(),
        }
    }

    /// How much will come out, if `untaken` bytes of a chunk and then `coming` come in.
    pub(crate) fn size_hint(&self, untaken: u64, coming: &SizeHint) -> SizeHint {
        let (told, is_fault) = match self {
            Self::Text(TextFilter { next: Some(Ok(text)), .. }) => (text.len() as u64, false),
            Self::Text(TextFilter { next, .. }) => (0, next.is_some()),
            Self::Multipart(filter) => filter.queued(),
            Self::UrlEncoded(filter) => filter.queued(),
            Self::Transcode(filter) => filter.queued(),
        };
        let held = self.held() + untaken;
        let least = self.least(coming.lower().saturating_add(held)).saturating_add(told);
        let most = coming.upper().and_then(|upper| self.most(upper.checked_add(held)?)?.checked_add(told));
        let mut hint = SizeHint::new();
        if is_fault {
            return hint;
        }
        hint.set_lower(least);
        match most {
            // Nothing comes but an error: a body of which that is known would not be asked for it.
            Some(0) if !self.is_clean() => {}
            Some(most) => hint.set_upper(most),
            None => {}
        }
        hint
    }

    /// The fewest bytes that may come of so many.
    fn least(&self, bytes: u64) -> u64 {
        let Some(decoder) = self.decoder() else { return 0 };
        let text = match (decoder.bom_policy(), self) {
            // Every field may have a BOM.
            (BomPolicy::Strip | BomPolicy::Require, Self::Multipart(_)) => 0,
            (BomPolicy::Strip | BomPolicy::Require, _) => bytes.saturating_sub(3),
            _ => bytes,
        };
        match decoder.error_policy() {
            // A repair may be longer than what it replaces, and shorter.
            policy if matches!(self, Self::UrlEncoded(_)) && policy != ErrorPolicy::Strict => 0,
            policy => policy.min_output_len(text),
        }
    }

    /// The most bytes that may come of so many.
    fn most(&self, bytes: u64) -> Option<u64> {
        let most = match self.decoder() {
            Some(decoder) => decoder.error_policy().max_output_len(bytes),
            // Another charset: one byte becomes one character of the first plane at most, or U+FFFD.
            None => bytes.checked_mul(4),
        };
        match self {
            Self::UrlEncoded(filter) if filter.decoder().error_policy() != ErrorPolicy::Strict => {
                most?.checked_mul(3)
            }
            _ => most,
        }
    }

    /// The decoder whose policies apply; none if the body is transcoded.
    fn decoder(&self) -> Option<&TextDecoder> {
        match self {
            Self::Text(filter) => Some(filter.chunks.decoder()),
            Self::Multipart(filter) => Some(filter.decoder()),
            Self::UrlEncoded(filter) => Some(filter.decoder()),
            Self::Transcode(_) => None,
        }
    }
}

/// Sequences that a decoder repaired so far.
pub(crate) fn repaired(decoder: &TextDecoder) -> u64 {
    match decoder.error_policy() {
        ErrorPolicy::Strict => 0,
        _ => decoder.counters().total(),
    }
}

/// Whether every body has as many bytes after the decoder as before it.
pub(crate) fn keeps_length(decoder: &TextDecoder) -> bool {
    decoder.error_policy().keeps_len() && matches!(decoder.bom_policy(), BomPolicy::Keep | BomPolicy::Reject)
}

/// Whether every body has the same bytes after the decoder, or an error.
pub(crate) fn keeps_bytes(decoder: &TextDecoder) -> bool {
    decoder.error_policy() == ErrorPolicy::Strict && keeps_length(decoder)
}

/// Text through a [`TextDecoder`].
#[derive(Debug)]
pub(crate) struct TextFilter {
    chunks: TextChunks,
    /// Taken from the chunk, not yet told.
    next: Option<Result<Bytes, Utf8BodyError>>,
}

/// Spans shorter than this are joined with their neighbours: a frame of its own costs more than their copy.
pub(crate) const SHORT: usize = 256;

impl TextFilter {
    fn take(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        self.next.take().or_else(|| self.chunks.next().map(|text| Ok(text?.into_bytes())))
    }

    #[inline]
    fn next(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        // Between two chunks, where every body is asked once more.
        if self.next.is_none() && self.chunks.is_empty() { None } else { self.next_of_chunk() }
    }

    fn next_of_chunk(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        let first = match self.take()? {
            Ok(text) if text.len() < SHORT => text,
            other => return Some(other),
        };
        // A short chunk that is good as a whole, which is the common case, needs no copy either.
        let mut joined = match self.take() {
            Some(Ok(text)) if text.len() < SHORT => {
                let mut joined = BytesMut::with_capacity(2 * SHORT);
                joined.extend_from_slice(&first);
                joined.extend_from_slice(&text);
                joined
            }
            other => {
                self.next = other;
                return Some(Ok(first));
            }
        };
        loop {
            match self.take() {
                Some(Ok(text)) if text.len() < SHORT => joined.extend_from_slice(&text),
                other => {
                    self.next = other;
                    return Some(Ok(joined.freeze()));
                }
            }
        }
    }
}
