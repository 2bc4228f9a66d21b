//! The rules of the encodings.

/// RFC 3629 section 4, as printed there.
pub const UTF_8: &str = "
   UTF8-char   = UTF8-1 / UTF8-2 / UTF8-3 / UTF8-4
   UTF8-1      = %x00-7F
   UTF8-2      = %xC2-DF UTF8-tail
   UTF8-3      = %xE0 %xA0-BF UTF8-tail / %xE1-EC 2( UTF8-tail ) /
                 %xED %x80-9F UTF8-tail / %xEE-EF 2( UTF8-tail )
   UTF8-4      = %xF0 %x90-BF 2( UTF8-tail ) / %xF1-F3 3( UTF8-tail ) /
                 %xF4 %x80-8F 2( UTF8-tail )
   UTF8-tail   = %x80-BF
";

/// RFC 2279 section 2 and ISO/IEC 10646-1 Annex R: the table of bit patterns, each value in its shortest form (Annex R,
/// Table 4), without surrogates (Note 3).
pub const RFC_2279: &str = "
   UTF8-char   = %x00-7F / %xC2-DF tail / UTF8-3 / UTF8-4 / UTF8-5 / UTF8-6
   UTF8-3      = %xE0 %xA0-BF tail / %xE1-EC 2tail / %xED %x80-9F tail / %xEE-EF 2tail
   UTF8-4      = %xF0 %x90-BF 2tail / %xF1-F7 3tail   ; 11110xxx, 00010000 and more
   UTF8-5      = %xF8 %x88-BF 3tail / %xF9-FB 4tail   ; 111110xx, 00200000 and more
   UTF8-6      = %xFC %x84-BF 4tail / %xFD 5tail      ; 1111110x, 04000000 and more
   tail        = %x80-BF
";

/// Unicode Technical Report #26 section 2: a supplementary character is a pair of surrogates of 3 bytes each.
pub const CESU_8: &str = "
   char        = %x00-7F / %xC2-DF tail / three / high low / lone
   three       = %xE0 %xA0-BF tail / %xE1-EC 2tail / %xED %x80-9F tail / %xEE-EF 2tail
   high        = %xED %xA0-AF tail
   low         = %xED %xB0-BF tail
   lone        = low              ; no character: an error of 3 bytes
   tail        = %x80-BF
";

/// Java's `DataInput`: same as CESU-8, but U+0000 is `C0 80`.
pub const MODIFIED_UTF_8: &str = "
   char        = %xC0.80 / %x01-7F / %xC2-DF tail / three / high low / lone
   three       = %xE0 %xA0-BF tail / %xE1-EC 2tail / %xED %x80-9F tail / %xEE-EF 2tail
   high        = %xED %xA0-AF tail
   low         = %xED %xB0-BF tail
   lone        = low              ; no character: an error of 3 bytes
   tail        = %x80-BF
";

/// The WTF-8 encoding, section 3.2, "generalized UTF-8": a surrogate may be unpaired. A stream is a concatenation, in
/// which two consecutive halves become one character (section 3.3).
pub const WTF_8: &str = "
   char        = %x00-7F / %xC2-DF tail / three / four
   three       = %xE0 %xA0-BF tail / %xE1-EF 2tail
   four        = %xF0 %x90-BF 2tail / %xF1-F3 3tail / %xF4 %x80-8F 2tail
   tail        = %x80-BF
";

/// UTF-8B: each ill-formed byte is represented by a surrogate.
pub const UTF_8B: &str = "
   char        = %x00-FF
";
