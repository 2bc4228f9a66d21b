//! A sequence of characters that is one character if it is read back, and the bytes of its characters.

use core::ops::Range;

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// In the text of the line.
    #[default]
    Text,
    /// Between ASCII quotation marks or backquotes, with other text. It is an example or data.
    Literal,
    /// Between quotation marks that are correct or have only one broken character between them, or beside what it was.
    Example,
}

/// Characters beside each other that are read back.
#[derive(Clone, Debug)]
pub(super) struct ReadBack<'t> {
    /// The range in the line.
    pub(super) range: Range<usize>,
    pub(super) original: &'t str,
}

/// Characters that are well-formed UTF-8 of one character if they are read back.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// The range in the text.
    pub(super) range: Range<usize>,
    /// The character that the sequence is read back as.
    pub(super) original: char,
    pub(super) bytes: [u8; 4],
    /// Whether no correct text contains the sequence in this context.
    pub(super) is_strong: bool,
    /// Whether a single encoding decodes the bytes of the whole run to its characters. Otherwise, a fix could not be
    /// undone.
    pub(super) is_reversible: bool,
    /// Whether a character of the sequence is a control character U+0080 to U+009F.
    pub(super) has_control: bool,
    /// Whether a space is in place of its no-break space.
    pub(super) is_lossy: bool,
    pub(super) place: Place,
}

impl Sequence {
    /// The first character of the sequence, as a bit of a set.
    pub(super) fn lead(&self) -> u64 {
        1 << (self.bytes[0] & 0x3F)
    }

    /// The bytes after the first.
    pub(super) fn trails(&self) -> &[u8] {
        &self.bytes[1..self.original.len_utf8()]
    }
}

/// The control characters that windows-1252 decoders return for the bytes that it does not define.
pub(super) const UNDEFINED: [char; 5] = ['\u{81}', '\u{8D}', '\u{8F}', '\u{90}', '\u{9D}'];

/// Returns the byte that this character was decoded from: in windows-1252, or in ISO 8859-1 for a control character.
pub(super) fn byte_of(character: char) -> Option<u8> {
    Some(match character {
        '\u{80}'..='\u{FF}' => character as u8,
        '€' => 0x80,
        '‚' => 0x82,
        'ƒ' => 0x83,
        '„' => 0x84,
        '…' => 0x85,
        '†' => 0x86,
        '‡' => 0x87,
        'ˆ' => 0x88,
        '‰' => 0x89,
        'Š' => 0x8A,
        '‹' => 0x8B,
        'Œ' => 0x8C,
        'Ž' => 0x8E,
        '‘' => 0x91,
        '’' => 0x92,
        '“' => 0x93,
        '”' => 0x94,
        '•' => 0x95,
        '–' => 0x96,
        '—' => 0x97,
        '˜' => 0x98,
        '™' => 0x99,
        'š' => 0x9A,
        '›' => 0x9B,
        'œ' => 0x9C,
        'ž' => 0x9E,
        'Ÿ' => 0x9F,
        _ => return None,
    })
}
