//! Headers in which readers find different fields: after a BOM at the start of the message, and from a field with white
//! space before its colon (obsolete syntax, RFC 5322 §4.5).
//!
//! | reader | example | result |
//! |---|---|---|
//! | accepts the field | RFC 5322 §4.5, this module | the verdict |
//! | ends the header before the line | Python's `email` | the rest of the header and the raw body are the body, by the fields before |
//! | reads the BOM or the white space as part of the name | mailparse | the field is unknown, and the header continues |
//!
//! If a `Content-Type` comes before the line, all three agree on the type. Otherwise the second shows the raw body as
//! `text/plain`, and it is checked as UTF-8 ([`RawText`]). The other cases that could show ill-formed text are errors
//! ([`Hidden::reading`]).

use utf8_codec::Utf8Decoder;

use super::verdict::PartKind;

/// The first line of a header that some readers do not accept, and what comes before and after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hidden {
    /// The offset of the BOM or of the white space.
    pub(super) offset: u64,
    /// Whether a `Content-Type` comes before the line.
    pub(super) after_type: bool,
    /// Whether a `Content-Transfer-Encoding` that changes bytes comes before the line.
    pub(super) after_encoding: bool,
    /// Whether a later field starts as a delimiter does.
    pub(super) before_dashes: bool,
}

/// The properties of a part that has such a header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The kind of the part for readers that accept the line.
    pub(super) kind: PartKind,
    /// Whether it is a part of a `multipart/digest`.
    pub(super) in_digest: bool,
    /// Whether only some readers find its `Content-Type`.
    pub(super) has_hidden_type: bool,
    /// Whether all readers that continue the header find a `Content-Transfer-Encoding` that changes bytes.
    pub(super) is_encoded: bool,
}

/// How the other readers read the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherReading {
    /// Not as other text.
    Same,
    /// As raw text.
    Raw,
    /// As text that is not checked.
    Unchecked,
}

impl Hidden {
    /// Returns how the readers that do not accept the line read the body.
    pub(super) const fn reading(self, part: Part) -> OtherReading {
        let is_unchecked = match part.kind {
            // The lines of the header are decoded with the body.
            PartKind::Text if self.after_type => self.after_encoding,
            PartKind::Multipart if self.after_type => self.before_dashes,
            PartKind::Other | PartKind::OtherText if self.after_type => return OtherReading::Same,
            kind => {
                let is_text = matches!(kind, PartKind::Text);
                self.after_encoding || part.has_hidden_type && (part.in_digest || part.is_encoded && !is_text)
            }
        };
        match part.kind {
            _ if is_unchecked => OtherReading::Unchecked,
            PartKind::Multipart if self.after_type => OtherReading::Same,
            _ => OtherReading::Raw,
        }
    }
}

/// Checks the raw bytes of a part that some readers show as text, including the parts in it. Headers and bodies of the kind
/// [`PartKind::Text`] are checked without it: a byte above `7F` in base64 or quoted-printable is an error.
#[derive(Clone, Debug)]
pub(super) struct RawText {
    /// The index of the verdict of the part.
    pub(super) verdict: usize,
    /// The number of multiparts that contain the part.
    pub(super) level: usize,
    /// The offset of the line that some readers do not accept.
    pub(super) offset: u64,
    decoder: Utf8Decoder,
    is_ill_formed: bool,
}

impl RawText {
    pub(super) const fn new(verdict: usize, level: usize, offset: u64) -> Self {
        Self { verdict, level, offset, decoder: Utf8Decoder::new(), is_ill_formed: false }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if !self.is_ill_formed {
            self.is_ill_formed = self.decoder.validate(bytes).is_err();
        }
    }

    /// Ends a run of bytes: a header or a delimiter follows. Returns whether any bytes so far are ill-formed.
    pub(super) fn end_run(&mut self) -> bool {
        self.is_ill_formed |= self.decoder.finish().is_err();
        self.is_ill_formed
    }
}
