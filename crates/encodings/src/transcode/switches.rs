//! Options for behavior that the encoding specifications leave open.

/// Options for behavior that some encoding specifications leave open. All are off in [`Switches::STRICT`], the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Switches {
    pub(super) surrogates: bool,
    pub(super) reject_fffe_ffff: bool,
    pub(super) lenient_java: bool,
    pub(super) reject_pairs: bool,
}

impl Switches {
    /// All options are off.
    pub const STRICT: Self =
        Self { surrogates: false, reject_fffe_ffff: false, lenient_java: false, reject_pairs: false };

    /// Allows unpaired surrogates in source and target, like Python's `surrogatepass`: in UTF-16, UTF-32, CESU-8,
    /// Modified UTF-8 and [`Utf8Ucs4`](crate::Encoding::Utf8Ucs4). For `Utf8Ucs4` ISO/IEC 10646-1 Annex R,
    /// Note 3, leaves the mapping of surrogates undefined. UTF-8 never allows unpaired surrogates, and WTF-8 always
    /// does.
    ///
    /// Two surrogates become a pair only if nothing was between them in the input. If the bytes between them are skipped, or if
    /// the caller continues after their error, the second surrogate is [`Unmappable`](utf8_codec::ErrorKind::Unmappable).
    #[must_use]
    pub const fn with_surrogates(self, surrogates: bool) -> Self {
        Self { surrogates, ..self }
    }

    /// Rejects `0000 FFFE` and `0000 FFFF` in [`Utf8Ucs4`](crate::Encoding::Utf8Ucs4)
    /// ([`Noncharacter`](utf8_codec::ErrorKind::Noncharacter)), and does not write them. By Annex R, Note 3, they "do not
    /// occur" in UCS-4. By default they are accepted, as in the tables of the same Annex and in RFC 2279.
    #[must_use]
    pub const fn with_reject_fffe_ffff(self, reject_fffe_ffff: bool) -> Self {
        Self { reject_fffe_ffff, ..self }
    }

    /// Accepts `00` and sequences of four bytes in [`ModifiedUtf8`](crate::Encoding::ModifiedUtf8) input.
    /// Java does not write them, but other programs do. The transcoder never writes them.
    #[must_use]
    pub const fn with_lenient_java(self, lenient_java: bool) -> Self {
        Self { lenient_java, ..self }
    }

    /// Rejects surrogate pairs in [`Wtf8`](crate::Encoding::Wtf8)
    /// ([`Surrogate`](utf8_codec::ErrorKind::Surrogate)). A single well-formed string does not contain them. By default they
    /// are joined, because a stream may be a concatenation of strings.
    #[must_use]
    pub const fn with_reject_pairs(self, reject_pairs: bool) -> Self {
        Self { reject_pairs, ..self }
    }
}
