//! Characters that are written in hexadecimal: `U+00E9`, `u{e9}`, `\xe9` and `0xE9`, or the bytes `c3a9`, `C3 A9`, `%C3%A9`
//! and `\xC3\xA9`.

/// Returns where a line may have a code point or bytes of UTF-8: the position of `+`, `{` or `x`, or of the second byte.
pub(super) fn places(line: &[u8]) -> Vec<usize> {
    (0..line.len()).filter(|&at| is_place(line, at)).collect()
}

fn is_place(line: &[u8], at: usize) -> bool {
    let before = &line[..at];
    match line[at] {
        b'+' | b'{' => matches!(before, [.., b'u' | b'U']),
        b'x' | b'X' => matches!(before, [.., b'\\' | b'0']),
        // The second byte is 80 to BF.
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => {
            let first = before.strip_suffix(b" ").or(before.strip_suffix(b"%")).unwrap_or(before);
            matches!(first, [.., b'c'..=b'f' | b'C'..=b'F', last] if last.is_ascii_hexdigit())
        }
        _ => false,
    }
}

/// Whether a character, which is not ASCII, is written at one of the [`places`] of a line.
pub(super) fn is_at(line: &[u8], at: usize, character: char) -> bool {
    let before = &line[..at];
    let after = &line[at + 1..];
    let point = u32::from(character);
    let digits = (u32::BITS - point.leading_zeros()).div_ceil(4) as usize;
    match line[at] {
        b'+' => after_hex(after, point, digits.max(4)).is_some(),
        b'{' => after_hex(after, point, digits).is_some_and(|after| after.starts_with(b"}")),
        b'x' | b'X' => {
            after_hex(after, point, digits).is_some()
                || before.ends_with(b"\\") && are_bytes(&before[..at - 1], b"\\x", after, character)
        }
        _ => {
            let second = &line[at..];
            match before {
                [before @ .., b' '] => are_bytes(before, b" ", second, character),
                [before @ .., b'%'] => are_bytes(before, b"%", second, character),
                _ => are_bytes(before, b"", second, character),
            }
        }
    }
}

/// Whether the first byte of a character is at the end of a text, and the others are at the start of another one.
fn are_bytes(before: &[u8], between: &[u8], mut after: &[u8], character: char) -> bool {
    let mut buffer = [0; 4];
    let bytes = character.encode_utf8(&mut buffer).as_bytes();
    let first = &before[before.len().saturating_sub(2)..];
    if after_hex(first, bytes[0].into(), 2).is_none() {
        return false;
    }
    for (number, &byte) in bytes[1..].iter().enumerate() {
        if number > 0 {
            let Some(next) = after.get(between.len()..) else { return false };
            if !after[..between.len()].eq_ignore_ascii_case(between) {
                return false;
            }
            after = next;
        }
        let Some(next) = after_hex(after, byte.into(), 2) else { return false };
        after = next;
    }
    true
}

/// Returns what follows this number of digits at the start of a text.
fn after_hex(text: &[u8], number: u32, digits: usize) -> Option<&[u8]> {
    let (own, after) = text.split_at_checked(digits)?;
    let is_number = own
        .iter()
        .enumerate()
        .all(|(at, &byte)| char::from(byte).to_digit(16) == Some(number >> (4 * (digits - 1 - at)) & 0xF));
    is_number.then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_found() {
        let has = |line: &str, character| {
            places(line.as_bytes()).iter().any(|&at| is_at(line.as_bytes(), at, character))
        };
        for line in ["U+00E9", "u{e9}", "\\xE9", "0xe9", "c3a9", "x C3 A9", "%C3%A9", "\\xc3\\xA9", "u+00e9a"]
        {
            assert!(has(line, '\u{E9}'), "{line}");
        }
        for line in ["e282ac", "E2 82 AC", "%e2%82%ac", "\\xE2\\x82\\xac", "U+20AC", "0x20ac!"] {
            assert!(has(line, '\u{20AC}'), "{line}");
        }
        assert!(has("U+1F600", '\u{1F600}') && has("f09f9880", '\u{1F600}'));
        for line in
            ["", "U+E9", "u{e9", "c3-a9", "c3a8", "a9", " a9", "%a9", "c3", "U+00E", "\\xa9", "0xc3a9"]
        {
            assert_eq!(has(line, '\u{E9}'), line == "0xc3a9", "{line}");
        }
        assert!(!has("E2 82", '\u{20AC}') && !has("E282 AC", '\u{20AC}'));
    }
}
