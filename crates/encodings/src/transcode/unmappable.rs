//! The policy for code points that the target encoding does not have.

use utf8_codec::ShortStr;

/// What is written for a code point that the target encoding does not have.
///
/// | policy | U+20AC in ISO-8859-2 becomes |
/// |---|---|
/// | `AsIllFormed` | an error, or what the [`ErrorPolicy`](utf8_codec::ErrorPolicy) writes for ill-formed input |
/// | `Reference` | `&#8364;` |
/// | `QuestionMark` | `?` |
///
/// The code points are counted as [`Unmappable`](utf8_codec::ErrorKind::Unmappable) under every policy. The policy does not
/// apply to ill-formed input, nor to surrogates and values above U+10FFFF, which no reference can represent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnmappablePolicy {
    /// The [`ErrorPolicy`](utf8_codec::ErrorPolicy) applies, as to ill-formed input.
    #[default]
    AsIllFormed,
    /// A decimal numeric character reference, as browsers write into forms (Encoding Standard §4.1, the error mode `html`).
    /// A `&` in the text is not escaped. U+000E, U+000F and U+001B, which are unmappable in ISO-2022-JP because they would
    /// change the meaning of the bytes after them, become `&#65533;`, U+FFFD (Encoding Standard §12.2.2).
    Reference,
    /// `?`.
    QuestionMark,
}

impl UnmappablePolicy {
    /// Returns what replaces the characters of one sequence, or `None` if the error policy applies.
    pub(super) fn replacement(self, values: [Option<u32>; 2]) -> Option<ShortStr> {
        let mut text = ShortStr::EMPTY;
        for value in values.into_iter().flatten() {
            let character = char::from_u32(value)?;
            match self {
                Self::AsIllFormed => return None,
                Self::Reference => push_reference(&mut text, character),
                Self::QuestionMark => text.push('?'),
            }
        }
        Some(text)
    }
}

fn push_reference(text: &mut ShortStr, character: char) {
    let is_shift = matches!(character, '\u{E}' | '\u{F}' | '\u{1B}');
    let value = u32::from(if is_shift { char::REPLACEMENT_CHARACTER } else { character });
    text.push('&');
    text.push('#');
    for digit in (0..value.ilog10() + 1).rev() {
        text.push(char::from(b'0' + (value / 10_u32.pow(digit) % 10) as u8));
    }
    text.push(';');
}
