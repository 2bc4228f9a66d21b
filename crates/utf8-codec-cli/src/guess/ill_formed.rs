//! Finds the ill-formed sequences of bytes, 64 bytes at a time and without a branch for each of them.
//!
//! A file in another encoding has an error every few bytes. A decoder that returns the errors one by one spends most of
//! its time on the steps from one to the next.

use super::utf8_evidence::ascii_len;

/// The number of bytes that are classified together.
pub(crate) const STEP: usize = 64;

/// The number of bytes after a step on which the classes of its bytes depend.
const AHEAD: usize = 3;

/// What the bytes of a step are, as sets of positions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// The first bytes of ill-formed sequences.
    pub(crate) errors: u64,
    /// The first bytes of characters beyond ASCII, and of those with four bytes.
    pub(crate) characters: u64,
    pub(crate) wide: u64,
    /// All other bytes of sequences, well-formed or not.
    pub(crate) inside: u64,
    /// The bytes above 7F, and those from 80 to 9F.
    pub(crate) high: u64,
    pub(crate) low: u64,
    /// The errors that are C0 to FF before 80 to BF: overlong encodings, surrogates, and code points above 10FFFF.
    pub(crate) impossible: u64,
    /// The first bytes of sequences to which a second byte belongs, and a third one.
    has_second: u64,
    has_third: u64,
    /// The bytes of the next step that belong to a sequence of this one.
    carry: u64,
}

impl Step {
    /// Classifies the first [`STEP`] of these bytes. `carry` is that of the step before.
    fn of(bytes: &[u8; STEP + AHEAD], carry: u64) -> Self {
        let [high, six, five, four, has_second] = planes(&classes(bytes));
        let trails = high & !six;
        let ahead = |at: usize| u64::from(bytes[STEP + at] & 0xC0 == 0x80) << at;
        let ahead = ahead(0) | ahead(1) | ahead(2);
        // A third byte is part of the sequence if the first one is E0 to F4, and a fourth one if it is F0 to F4.
        let has_third = has_second & five & (trails >> 2 | ahead << 62);
        let wide = has_third & four & (trails >> 3 | ahead << 61);
        let characters = has_second & !five | has_third & !four | wide;
        let inside = carry | has_second << 1 | has_third << 2 | wide << 3;
        Self {
            errors: high & !inside & !characters,
            characters,
            wide,
            inside,
            high,
            low: trails & !five,
            impossible: six & !has_second & (trails >> 1 | ahead << 63),
            has_second,
            has_third,
            carry: has_second >> 63 | has_third >> 62 | wide >> 61,
        }
    }

    /// Returns the length of the ill-formed sequence at a position.
    pub(crate) fn len(&self, at: u32) -> usize {
        1 + (self.has_second >> at & 1) as usize + (self.has_third >> at & 1) as usize
    }
}

/// Returns the upper half of each byte, with bit 0 set if a sequence of UTF-8 starts with this byte and the next one.
/// Without branches, so that the compiler vectorizes it.
fn classes(bytes: &[u8; STEP + AHEAD]) -> [u8; STEP] {
    let mut classes = [0; STEP];
    for (at, class) in classes.iter_mut().enumerate() {
        let (first, second) = (bytes[at], bytes[at + 1]);
        // The second bytes that are 80 to BF and not in table 3-7 of the Unicode Standard: E0 80 to E0 9F and ED A0 to ED BF,
        // F0 80 to F0 8F and F4 90 to F4 BF.
        let odd_of_three = if second & 0x20 == 0 { 0xE0 } else { 0xED };
        let odd_of_four = if second & 0x30 == 0 { 0xF0 } else { 0xF4 };
        let is_odd = (first == odd_of_three) | (first == odd_of_four);
        let is_lead = first.wrapping_sub(0xC2) <= 0xF4 - 0xC2;
        let has_second = is_lead & (second & 0xC0 == 0x80) & !is_odd;
        *class = first & 0xF0 | u8::from(has_second);
    }
    classes
}

/// Returns the positions at which each of the bits 7, 6, 5, 4 and 0 is set.
fn planes(classes: &[u8; STEP]) -> [u64; 5] {
    let mut planes = [0; 5];
    let (words, _) = classes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        for (plane, bit) in planes.iter_mut().zip([7, 6, 5, 4, 0]) {
            let ones = word >> bit & 0x0101_0101_0101_0101;
            // The highest byte of the product has a bit for each byte.
            *plane |= ones.wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * number);
        }
    }
    planes
}

/// Returns the positions in a set.
pub(crate) fn positions(mut set: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let at = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (at < u64::BITS).then_some(at)
    })
}

/// Returns the length of `bytes` without a sequence at the end that more bytes could continue.
pub(crate) fn complete_len(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(AHEAD);
    bytes[last..].iter().rposition(|&byte| byte >= 0xC0).map_or(bytes.len(), |at| last + at)
}

/// Calls `each` with the position of each step of `bytes` and with its classes. ASCII between steps is skipped. `bytes`
/// start and end between sequences.
#[inline]
pub(crate) fn steps(bytes: &[u8], mut each: impl FnMut(usize, &Step)) {
    let mut at = 0;
    let mut carry = 0;
    loop {
        if carry == 0 {
            at += ascii_len(&bytes[at..]);
        }
        let rest = &bytes[at..];
        if rest.is_empty() {
            return;
        }
        let mut padded = [0; STEP + AHEAD];
        let window = rest.first_chunk().unwrap_or_else(|| {
            padded[..rest.len()].copy_from_slice(rest);
            &padded
        });
        let step = Step::of(window, carry);
        carry = step.carry;
        each(at, &step);
        at += rest.len().min(STEP);
    }
}

/// Returns the number of characters in `bytes`. An ill-formed sequence counts as one.
pub(crate) fn characters(bytes: &[u8]) -> u64 {
    let mut inside = 0;
    steps(bytes, |_, step| inside += u64::from(step.inside.count_ones()));
    bytes.len() as u64 - inside
}

#[cfg(test)]
mod tests {
    use test_support::Rng;

    use super::*;

    #[test]
    fn steps_have_the_sequences_that_the_standard_library_has() {
        let borders =
            b"A\n\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF4\xF5\xFF";
        let mut rng = Rng::new(64);
        let mut next = |below: usize| rng.next() as usize % below;
        for _ in 0..20_000 {
            // Of few different bytes, so that there are long runs of each kind.
            let few: Vec<u8> = (0..=next(8)).map(|_| borders[next(borders.len())]).collect();
            let bytes: Vec<u8> = (0..next(200)).map(|_| few[next(few.len())]).collect();
            let bytes = &bytes[..complete_len(&bytes)];
            let (mut found, mut beyond, mut wide) = (Vec::new(), 0, 0);
            steps(bytes, |at, step| {
                found.extend(positions(step.errors).map(|error| (at + error as usize, step.len(error))));
                beyond += step.characters.count_ones();
                wide += step.wide.count_ones();
            });
            let mut expected = Vec::new();
            let mut at = 0;
            for chunk in bytes.utf8_chunks() {
                at += chunk.valid().len();
                if !chunk.invalid().is_empty() {
                    expected.push((at, chunk.invalid().len()));
                }
                at += chunk.invalid().len();
            }
            assert_eq!(found, expected, "{}", bytes.escape_ascii());
            let text = String::from_utf8_lossy(bytes);
            let count = |is: fn(char) -> bool| text.chars().filter(|&each| is(each)).count();
            assert_eq!(characters(bytes), count(|_| true) as u64, "{}", bytes.escape_ascii());
            assert_eq!(
                beyond as usize + found.len(),
                count(|each| !each.is_ascii()),
                "{}",
                bytes.escape_ascii()
            );
            assert_eq!(wide as usize, count(|each| each > '\u{FFFF}'), "{}", bytes.escape_ascii());
        }
    }
}
