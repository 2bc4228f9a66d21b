//! Evidence that a file that declares another encoding is UTF-8, or that some of its lines are.

use utf8_codec_encodings::Encoding;

/// The number of continuation bytes in a line without errors from which on the line is UTF-8: two or three letters of
/// East Asian scripts, six of others. In a million lines of translations and manual pages in legacy encodings, in
/// lower case and in upper case, there were at most five.
const ENOUGH: u64 = 6;

/// The well-formed UTF-8 of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Utf8Evidence {
    /// The number of characters beyond ASCII, and of those with at least three bytes.
    characters: u64,
    long: u64,
    has_line: bool,
    line: Line,
}

/// The line so far.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    continuations: u64,
    has_error: bool,
}

impl Utf8Evidence {
    /// Records well-formed text.
    pub(super) fn text(&mut self, text: &str) {
        if text.is_ascii() {
            if text.contains('\n') {
                self.end_line();
            }
            return;
        }
        // Each character beyond ASCII has one of these bytes.
        self.characters += count(text.as_bytes(), |byte| byte >= 0xC0);
        self.long += count(text.as_bytes(), |byte| byte >= 0xE0);
        if self.has_line {
            return;
        }
        let bytes = text.as_bytes();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            self.line.continuations += continuations(&bytes[start..end]);
            self.end_line();
            start = end + 1;
        }
        self.line.continuations += continuations(&bytes[start..]);
    }

    /// Records an ill-formed sequence.
    pub(super) fn error(&mut self) {
        self.line.has_error = true;
    }

    /// Ends the last line.
    pub(super) fn end_line(&mut self) {
        let line = core::mem::take(&mut self.line);
        self.has_line |= line.continuations >= ENOUGH && !line.has_error;
    }

    /// Whether a line of the file is UTF-8, or most of the file, which has this number of errors and declares this
    /// encoding.
    pub(super) fn contradicts(&self, declared: Option<Encoding>, errors: u64) -> bool {
        // In these encodings one letter of five is a well-formed sequence of two bytes by chance.
        let has_pairs_by_chance = matches!(
            declared,
            Some(
                Encoding::Gbk
                    | Encoding::Gb18030
                    | Encoding::Big5
                    | Encoding::EucJp
                    | Encoding::EucKr
                    | Encoding::ShiftJis
                    | Encoding::Windows874
            )
        );
        let characters = if has_pairs_by_chance { self.long } else { self.characters };
        self.has_line || characters * 4 > errors
    }
}

/// Whether a line that is well-formed UTF-8 is that, and not text in an encoding of two bytes for each character. `is_mostly`
/// is whether most of the file is UTF-8.
pub(crate) fn is_utf_8(line: &str, is_mostly: bool) -> bool {
    continuations(line.as_bytes()) >= if is_mostly { 1 } else { ENOUGH }
}

fn continuations(line: &[u8]) -> u64 {
    count(line, |byte| matches!(byte, 0x80..=0xBF))
}

/// Returns the length of the ASCII at the start.
pub(crate) fn ascii_len(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    match words.iter().position(|word| high_bits(*word) != 0) {
        Some(at) => at * 8 + high_bits(words[at]).trailing_zeros() as usize / 8,
        None => words.len() * 8 + rest.iter().position(|byte| !byte.is_ascii()).unwrap_or(rest.len()),
    }
}

const fn high_bits(word: [u8; 8]) -> u64 {
    u64::from_le_bytes(word) & 0x8080_8080_8080_8080
}

/// Counts the bytes for which `is_counted` holds. The sum of a part is a `u8`, so that the compiler vectorizes it.
pub(crate) fn count(bytes: &[u8], is_counted: impl Fn(u8) -> bool) -> u64 {
    bytes
        .chunks(u8::MAX.into())
        .map(|part| u64::from(part.iter().map(|&byte| u8::from(is_counted(byte))).sum::<u8>()))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_ascii_is_found() {
        for len in 0..40 {
            let text = "a".repeat(len);
            assert_eq!((ascii_len(text.as_bytes()), ascii_len((text + "é a").as_bytes())), (len, len));
        }
    }
}
