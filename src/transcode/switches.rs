//! Choices that the specifications of the encodings leave open.

/// Choices that the specifications of some encodings leave open. All are off in [`Switches::STRICT`], the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Switches {
    pub(super) surrogates: bool,
    pub(super) refuse_fffe_ffff: bool,
    pub(super) lenient_java: bool,
    pub(super) refuse_pairs: bool,
}

impl Switches {
    /// All off.
    pub const STRICT: Self =
        Self { surrogates: false, refuse_fffe_ffff: false, lenient_java: false, refuse_pairs: false };

    /// Surrogates that are not half of a pair are code points of both encodings, as with Python's `surrogatepass`: in
    /// UTF-16, UTF-32, CESU-8 and Modified UTF-8, and in [`Utf8Ucs4`](crate::transcode::Encoding::Utf8Ucs4), where ISO/IEC 10646-1
    /// Annex R, Note 3, calls their mapping undefined. UTF-8 never holds them, and WTF-8 always does.
    #[must_use]
    pub const fn allow_surrogates(self) -> Self {
        Self { surrogates: true, ..self }
    }

    /// `0000 FFFE` and `0000 FFFF` are ill-formed in [`Utf8Ucs4`](crate::transcode::Encoding::Utf8Ucs4)
    /// ([`Noncharacter`](crate::ErrorKind::Noncharacter)) and not written: by Annex R, Note 3, they "do not occur" in
    /// UCS-4. The tables of the same Annex and RFC 2279 map them, and so does the default.
    #[must_use]
    pub const fn refuse_fffe_ffff(self) -> Self {
        Self { refuse_fffe_ffff: true, ..self }
    }

    /// [`ModifiedUtf8`](crate::transcode::Encoding::ModifiedUtf8) may hold raw `00` and sequences of four bytes, which Java never
    /// writes but other programs do. What is written stays Java's.
    #[must_use]
    pub const fn lenient_java(self) -> Self {
        Self { lenient_java: true, ..self }
    }

    /// A pair of surrogates is ill-formed in [`Wtf8`](crate::transcode::Encoding::Wtf8) ([`Surrogate`](crate::ErrorKind::Surrogate)),
    /// as it is within one string. A stream may be many strings, so it is joined by default.
    #[must_use]
    pub const fn refuse_pairs(self) -> Self {
        Self { refuse_pairs: true, ..self }
    }
}
