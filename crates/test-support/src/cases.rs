//! Inputs that decoders of UTF-8 are known to treat differently, made by rule: the limits of each length, bytes without
//! their sequence, sequences without their last bytes, longer forms, surrogates, noncharacters, and the BOM.

use super::Rng;

/// Returns a value in the bits of a sequence of `len` bytes as in RFC 2279, even if a shorter sequence has it, or if no
/// sequence of UTF-8 does.
pub fn unchecked(value: u32, len: usize) -> Vec<u8> {
    if len == 1 {
        return vec![value as u8];
    }
    let mut bytes: Vec<u8> = (0..len).rev().map(|place| 0x80 | (value >> (6 * place) & 0x3F) as u8).collect();
    let lead = 0xFF_u8 << (8 - len);
    bytes[0] = lead | (value >> (6 * (len - 1))) as u8;
    bytes
}

/// The greatest value of each length, from one byte.
pub const GREATEST: [u32; 6] = [0x7F, 0x7FF, 0xFFFF, 0x1F_FFFF, 0x3FF_FFFF, 0x7FFF_FFFF];

/// Returns the least length that has the value.
pub fn length(value: u32) -> usize {
    1 + GREATEST.iter().position(|greatest| value <= *greatest).expect("31 bits")
}

const HIGH: [u32; 4] = [0xD800, 0xDB7F, 0xDB80, 0xDBFF];
const LOW: [u32; 4] = [0xDC00, 0xDC80, 0xDF80, 0xDFFF];

/// Returns the inputs of every class, each alone.
#[rustfmt::skip]
fn classes() -> Vec<Vec<u8>> {
    let mut cases: Vec<Vec<u8>> = Vec::new();
    let sequence = |value| unchecked(value, length(value));

    // The least and the greatest value of each length, and the values next to a limit of Unicode.
    let limits: Vec<u32> = [0, 0x2F, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFD, 0x10_FFFF, 0x11_0000].into_iter()
        .chain(GREATEST).chain(GREATEST[..5].iter().map(|greatest| greatest + 1)).collect();
    cases.extend(limits.iter().map(|value| sequence(*value)));
    // Each of them in every longer form.
    cases.extend(limits.iter().flat_map(|value| (length(*value) + 1..=6).map(|len| unchecked(*value, len))));

    // Continuation bytes without a lead: runs, and each of them.
    cases.extend((1..=7).map(|len| [0x80, 0xBF].repeat(4)[..len].to_vec()));
    cases.push((0x80..=0xBF).collect());
    // Leads without continuation bytes: each before a space, each before the next one, and each at the end.
    cases.extend([0xC0..=0xDF, 0xE0..=0xEF, 0xF0..=0xF7, 0xF8..=0xFB, 0xFC..=0xFD, 0xFE..=0xFF_u8].into_iter()
        .flat_map(|leads| [leads.clone().flat_map(|lead| [lead, b' ']).collect(), leads.collect::<Vec<u8>>()]));
    cases.extend((0x80..=0xFF).map(|byte| vec![byte]));

    // Sequences without their last bytes: each of them, and all in a row.
    let whole = (2..=6).flat_map(|len| [unchecked(0, len), unchecked(GREATEST[len - 1], len)]);
    let cut: Vec<_> = whole.flat_map(|bytes| (1..bytes.len()).map(move |len| bytes[..len].to_vec())).collect();
    cases.push(cut.concat());
    cases.extend(cut);

    // Surrogates alone and in pairs, in either order, and a half of a pair.
    let (high, low) = (HIGH.map(sequence), LOW.map(sequence));
    cases.extend(high.iter().chain(&low).cloned());
    for (first, second) in high.iter().flat_map(|first| low.iter().map(move |second| (first, second))) {
        cases.extend([[&first[..], second].concat(), [&second[..], first].concat()]);
        cases.push([&first[..], &second[..2]].concat());
    }

    // Noncharacters are characters of UTF-8.
    cases.push((0xFDD0..=0xFDEF).flat_map(sequence).collect());
    cases.push((0..=16).flat_map(|plane| [plane << 16 | 0xFFFE, plane << 16 | 0xFFFF]).flat_map(sequence).collect());

    // The BOM: twice, inside, cut, changed in each byte; and the BOM of UTF-16.
    cases.extend([
        &b"\xEF\xBB\xBF"[..], b"\xEF\xBB\xBF\xEF\xBB\xBF", b"\xEF\xBB\xBFtext", b"text\xEF\xBB\xBFtext", b"\xEF\xBB\xBF\xFF",
        b"\xEF\xBB", b"\xEF", b"\xEF\xBB\xBE", b"\xEF\xBC\xBF", b"\xEE\xBB\xBF", b"\xEF\xBBtext", b"\xEFtext", b"\xEF\xBF\xBE",
        b"\xFE\xFF\0a", b"\xFF\xFEa\0",
    ].map(<[u8]>::to_vec));

    // Text in several alphabets, and no text.
    cases.extend(["", "text", "κόσμε", "Ещё", "日本語", "🦀💩", "A\u{2262}\u{391}.", "\0\u{7F}\u{80}"].map(|text| text.as_bytes().to_vec()));
    cases
}

/// Returns every class alone, between ASCII, between other characters, and after an error.
pub fn cases() -> Vec<Vec<u8>> {
    let around: [(&[u8], &[u8]); 4] =
        [(b"", b""), (b"a", b"Z"), ("é€".as_bytes(), "🦀".as_bytes()), (b"\xFF", b"\x80\xC3")];
    let classes = classes();
    around
        .iter()
        .flat_map(|(before, after)| classes.iter().map(move |case| [before, &case[..], after].concat()))
        .collect()
}

/// Returns long inputs: all classes in a row, with text of a growing length between them, and random bytes.
pub fn long_cases() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(3629);
    let filler = "ASCII that is longer than a block of any kernel, and other text: Ещё немного, 日本語, 🦀. "
        .repeat(4);
    let mut cases = Vec::new();
    for step in [1, 7] {
        let mut case = Vec::new();
        for (index, class) in classes().iter().enumerate() {
            case.extend_from_slice(class);
            let end = (index * step % 140..).find(|end| filler.is_char_boundary(*end)).expect("an end");
            case.extend_from_slice(&filler.as_bytes()[..end]);
        }
        cases.push(case);
    }
    cases.extend((0..20).map(|round| rng.dirty_text(100 + 60 * round)));
    cases
}
