//! Labels of UTF-8 and of US-ASCII, in mail and in HTTP: those that IANA's registry, the WHATWG Encoding Standard, Python's
//! `codecs` or .NET's `Encoding` list, because some readers decode the text as UTF-8 or as US-ASCII.

/// The names and aliases of US-ASCII in IANA's registry and in Python, and `ascii` (WHATWG).
#[rustfmt::skip]
const ASCII: [&str; 12] = [
    "646", "ansi_x3_4_1968", "ansi_x3_4_1986", "ascii", "cp367", "csascii", "ibm367", "iso646_us",
    "iso_646_irv_1991", "iso_ir_6", "us", "us_ascii",
];

/// The names and aliases of UTF-8 in IANA's registry, in Python, and in .NET, where they start with `unicode` or
/// `x_unicode`. [`WHATWG_UTF_8`] has the labels of WHATWG.
#[rustfmt::skip]
const UTF_8: [&str; 11] = [
    "cp65001", "csutf8", "u8", "unicode_2_0_utf_8", "utf", "utf8_ucs2", "utf8_ucs4", "utf_8", "utf_8_sig",
    "x_unicode_1_1_utf_8", "x_unicode_2_0_utf_8",
];

/// The labels of UTF-8 in the WHATWG Encoding Standard, which are compared with their punctuation.
const WHATWG_UTF_8: [&str; 6] =
    ["utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"];

/// The names and aliases of UTF-16, UTF-32, UCS-2 and UCS-4 in IANA's registry, in the WHATWG Encoding Standard and in
/// .NET.
#[rustfmt::skip]
const WIDE: [&str; 21] = [
    "utf-16", "utf-16le", "utf-16be", "csutf16", "csutf16le", "csutf16be", "utf-32", "utf-32le", "utf-32be",
    "csutf32", "csutf32le", "csutf32be", "iso-10646-ucs-2", "ucs-2", "csunicode", "unicode", "unicodefeff",
    "unicodefffe", "iso-10646-ucs-4", "ucs-4", "csucs4",
];

/// Whether a label names US-ASCII.
pub fn is_ascii(label: &[u8]) -> bool {
    is_one_of(label, &ASCII)
}

/// Whether a reader reads a label as UTF-8.
pub fn is_utf8(label: &[u8]) -> bool {
    is_whatwg_utf8(label) || is_one_of(label, &UTF_8)
}

/// Whether a label means an encoding of 2 or 4 bytes for each character.
pub fn is_wide(label: &[u8]) -> bool {
    WIDE.iter().any(|known| label.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether a label means UTF-8 in the WHATWG Encoding Standard.
pub(super) fn is_whatwg_utf8(label: &[u8]) -> bool {
    let label = label.trim_ascii();
    WHATWG_UTF_8.iter().any(|known| label.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether text with this label in mail is checked: whether a reader reads it as UTF-8 or as US-ASCII.
pub fn is_checked(label: &[u8]) -> bool {
    is_utf8(label) || is_ascii(label)
}

/// Whether a label consists of the words of a known one, ignoring case and the punctuation around and between them, as
/// Python does.
fn is_one_of(label: &[u8], known: &[&str]) -> bool {
    known.iter().any(|known| {
        let mut words = label.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        known
            .split('_')
            .all(|known| words.next().is_some_and(|word| word.eq_ignore_ascii_case(known.as_bytes())))
            && words.next().is_none()
    })
}
