//! Filter for text in other charsets, which is transcoded to UTF-8.

use bytes::{Buf, Bytes};
use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};
use utf8_codec_encodings::{Encoding, TranscodeError, TranscodeStatus, Transcoder};

use super::filter::kind::KindFilter;
use super::reason::RejectReason;

/// The maximum number of bytes of text in one output buffer.
const CHUNK: usize = 16 * 1024;

/// A charset of the WHATWG Encoding Standard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceCharset(Encoding);

impl SourceCharset {
    /// Returns the charset of a label, if the standard has one that can be decoded.
    pub(crate) fn for_label(label: &[u8]) -> Option<Self> {
        Encoding::for_label(label).map(Self)
    }
}

/// What happens to text in a charset other than UTF-8, declared by the `charset` parameter or by an XML, HTML or CSS
/// document.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OtherCharset {
    Pass,
    Reject,
    Transcode(NewTranscoding),
}

impl OtherCharset {
    pub(crate) const fn is_pass(self) -> bool {
        matches!(self, Self::Pass)
    }

    pub(crate) const fn is_reject(self) -> bool {
        matches!(self, Self::Reject)
    }

    pub(crate) const fn transcodes(self) -> bool {
        matches!(self, Self::Transcode(_))
    }
}

/// Creates the filter that transcodes from a charset. Rules and plans hold it as a pointer, so that the tables of all
/// encodings are only in programs whose rules transcode.
pub(crate) type NewTranscoding = fn(&SourceCharset, TextDecoder) -> Box<dyn KindFilter + Send + Sync>;

/// The [`NewTranscoding`] of [`BodyRules::with_transcoding`](super::BodyRules::with_transcoding).
pub(crate) fn transcoding(charset: &SourceCharset, text: TextDecoder) -> Box<dyn KindFilter + Send + Sync> {
    Box::new(CharsetDecoder::new(charset, text))
}

/// Filters text in one charset with a [`Transcoder`]. Its output is UTF-8. A BOM of UTF-8 or UTF-16 has precedence over the
/// label, as in browsers ("decode" in the WHATWG Encoding Standard, RFC 7303 §3).
#[derive(Debug)]
struct CharsetDecoder {
    transcoder: Transcoder,
    policy: ErrorPolicy,
    rest: Bytes,
    /// Whether the input is complete and its end is not decoded yet.
    is_ended: bool,
    /// Whether the transcoder has a part of a replacement that did not fit in the output.
    is_full: bool,
    /// The error after the text decoded so far.
    error: Option<TranscodeError>,
}

impl CharsetDecoder {
    fn new(charset: &SourceCharset, text: TextDecoder) -> Self {
        let transcoder = Transcoder::new(charset.0, Encoding::Utf8)
            .with_error_policy(text.error_policy())
            .with_bom_policy(BomPolicy::Strip)
            .with_web_sniffing();
        let transcoder = match text.subset() {
            Some(subset) => transcoder.with_subset(subset),
            None => transcoder,
        };
        Self {
            transcoder,
            policy: text.error_policy(),
            rest: Bytes::new(),
            is_ended: false,
            is_full: false,
            error: None,
        }
    }
}

impl KindFilter for CharsetDecoder {
    fn feed(&mut self, chunk: Bytes) {
        self.rest = chunk;
    }

    fn finish(&mut self) {
        self.is_ended = true;
    }

    fn next(&mut self) -> Option<Result<Bytes, RejectReason>> {
        // The buffer grows and is reused after ill-formed sequences, so that its bytes are zeroed only once.
        let mut text = Vec::new();
        let mut filled = 0;
        while self.error.is_none()
            && filled < CHUNK
            && (!self.rest.is_empty() || self.is_ended || self.is_full)
        {
            if text.len() < filled + Transcoder::MIN_OUTPUT {
                // An estimate: 2 bytes of text for each byte of the chunk.
                let likely = self.rest.len().saturating_mul(2).min(CHUNK);
                text.resize(CHUNK.min(filled + likely).max(filled + Transcoder::MIN_OUTPUT), 0);
            }
            let is_end = self.rest.is_empty() && self.is_ended;
            let progress = match is_end {
                true => self.transcoder.finish_into_slice(&mut text[filled..]),
                false => self.transcoder.feed_into_slice(&self.rest, &mut text[filled..]),
            };
            self.rest.advance(progress.read);
            filled += progress.written;
            self.is_full = progress.status == TranscodeStatus::OutputFull;
            match progress.status {
                TranscodeStatus::InputEmpty if is_end => self.is_ended = false,
                TranscodeStatus::InputEmpty | TranscodeStatus::OutputFull => {}
                TranscodeStatus::IllFormed(error) => self.error = Some(error),
            }
        }
        text.truncate(filled);
        if text.is_empty() {
            return self.error.take().map(|error| Err(error.into()));
        }
        Some(Ok(text.into()))
    }

    fn is_clean(&self) -> bool {
        let is_decoded = self.rest.is_empty() && !self.is_ended && !self.is_full;
        is_decoded && self.error.is_none() && self.held() == 0
    }

    fn held(&self) -> u64 {
        self.transcoder.pending().len() as u64
    }

    fn offset(&self) -> u64 {
        self.transcoder.offset()
    }

    fn repaired(&self) -> u64 {
        match self.policy {
            ErrorPolicy::Strict => 0,
            _ => self.transcoder.counters().repairable(),
        }
    }

    fn queued(&self) -> (u64, bool) {
        (0, self.error.is_some())
    }

    fn min_output(&self, _: u64) -> u64 {
        0
    }

    fn max_output(&self, bytes: u64) -> Option<u64> {
        // One byte becomes at most one character, which may be repaired.
        self.policy.max_output_len(bytes.checked_mul(4)?)
    }
}
