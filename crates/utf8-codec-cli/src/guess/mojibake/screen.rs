//! Tells most correct lines apart by their bytes: no character is decoded, and nothing is allocated.

/// The number of bytes that are looked at together.
const CHUNK: usize = 64;

/// Returns the length of the lines at the start of a text that have no sequence, and no rest of one.
pub(super) fn clean_len(text: &str) -> usize {
    match suspect(text.as_bytes()) {
        Some(at) => memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |end| end + 1),
        None => text.len(),
    }
}

/// Whether a character that is not ASCII shows that the text around it was not encoded twice.
pub(super) const fn is_correct(character: char) -> bool {
    !matches!(character, char::REPLACEMENT_CHARACTER | '\u{FEFF}')
}

/// The same for a text of which some is not ASCII.
pub(super) fn has_correct(text: &str) -> bool {
    // Both of them start with EF.
    memchr::memchr(0xEF, text.as_bytes()).is_none()
        || text.chars().any(|each| !each.is_ascii() && is_correct(each))
}

/// Returns the position of the first character that may start a sequence, or be the rest of one. A sequence starts with
/// U+00C2 to U+00F4, which are C3 82 to C3 B4, and each character after it is one of windows-1252, or a space in place
/// of a no-break space.
pub(super) fn suspect(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(window) = text[at..].first_chunk() {
        if may_have_suspect(window) {
            let found = first_suspect(&text[at..], CHUNK);
            if found.is_some() {
                return found.map(|found| at + found);
            }
        }
        at += CHUNK;
    }
    first_suspect(&text[at..], text.len() - at).map(|found| at + found)
}

/// Returns the first of the first `len` bytes at which there is one.
fn first_suspect(text: &[u8], len: usize) -> Option<usize> {
    memchr::memchr2_iter(0xC2, 0xC3, &text[..len]).find(|&at| is_suspect(&text[at..]))
}

/// Whether there may be one in a chunk. The last three bytes are after it. The compiler vectorizes this.
fn may_have_suspect(window: &[u8; CHUNK + 3]) -> bool {
    let mut any = false;
    for at in 0..CHUNK {
        let [first, second, third, fourth] = [window[at], window[at + 1], window[at + 2], window[at + 3]];
        let is_space = (third == b' ') & ((fourth >= 0x80) | (second == 0x85));
        let is_after = (third < b' ') | (third >= 0x80) & (third != 0xC3) | is_space;
        any |= (first == 0xC3) & (is_after | (second < 0x84)) | (first == 0xC2) & (second < 0xA0);
    }
    any
}

fn is_suspect(text: &[u8]) -> bool {
    match *text {
        // Where there are bytes that windows-1252 does not define, each space may be a no-break space.
        [0xC2, second, ..] => second < 0xA0,
        // Â and Ã are rare.
        [0xC3, 0x82 | 0x83, ..] => true,
        [0xC3, second @ 0x84..=0xB4, ref after @ ..] => match *after {
            // The rest of a sequence at the end of the line.
            [] | [b'\r' | b'\n', ..] => second < 0x9F || second == 0xA2,
            [b' ', ref after @ ..] => second == 0x85 || after.first().is_some_and(|byte| !byte.is_ascii()),
            // The first bytes of the characters of 80 to BF, and of U+FFFD.
            [third, ..] => matches!(third, 0xC2 | 0xC5 | 0xC6 | 0xCB | 0xE2 | 0xEF),
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sequences::Sequences;
    use super::*;

    #[test]
    fn a_clean_line_has_no_sequences() {
        let characters: Vec<char> = "aZ 5\n\u{81}\u{A0}ÂÃÄÅßàâé™\u{FFFD}Я".chars().collect();
        for number in 0..characters.len().pow(3) {
            let digit = |at: u32| number / characters.len().pow(at) % characters.len();
            let line: String = (0..3).map(|at| characters[digit(at)]).collect();
            let far = "x".repeat(CHUNK - 2) + &line + &"x".repeat(CHUNK);
            for line in ["aa".to_owned() + &line, line, far] {
                if suspect(line.as_bytes()).is_some() {
                    continue;
                }
                let Sequences { list, damaged, lost, has_others, has_correct, .. } = Sequences::of(&line);
                assert!(list.is_empty() && damaged.is_empty() && lost.is_empty(), "{line:?}");
                assert_eq!(has_others, !line.is_ascii(), "{line:?}");
                assert_eq!(has_correct, has_others && super::has_correct(&line), "{line:?}");
            }
        }
        assert_eq!(suspect("où l’été naît, déjà vu, créée".as_bytes()), None);
        assert_eq!(suspect("un cafÃ©".as_bytes()), Some("un caf".len()));
        assert_eq!(clean_len("où\nl’été\ncafÃ©\nà"), "où\nl’été\n".len());
    }
}
