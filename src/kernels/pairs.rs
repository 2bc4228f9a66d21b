//! The vector code of the conversions between UTF-8 and the encodings with surrogate pairs of 6 bytes. If `MODIFIED`,
//! the encoding is Modified UTF-8, and otherwise CESU-8.

use super::dispatch::Kernel;

/// Converts text. The output must have 2 bytes for each byte of it. Returns the number of bytes read and the number of
/// bytes written, both 0 if the kernel has no vector code.
pub(crate) fn split<const MODIFIED: bool>(text: &str, output: &mut [u8]) -> (usize, usize) {
    split_by::<MODIFIED>(Kernel::in_use(), text, output)
}

fn split_by<const MODIFIED: bool>(kernel: Kernel, text: &str, output: &mut [u8]) -> (usize, usize) {
    match kernel.pairs() {
        Some(pairs) if output.len() / 2 >= text.len() => {
            // SAFETY: this CPU supports every `Kernel`; the output has 2 bytes for each byte.
            unsafe { (pairs.split[usize::from(MODIFIED)])(text, output) }
        }
        _ => (0, 0),
    }
}

/// Converts to UTF-8 and copies the bytes that do not differ, without validation. Stops at a byte that is ill-formed and
/// could be well-formed in UTF-8, at an unfinished pair, and at or shortly before the end of the output. A `LENIENT`
/// input may have `00` and sequences of 4 bytes. Returns the number of bytes read and the number of bytes written, both
/// 0 if the kernel has no vector code.
pub(crate) fn join<const MODIFIED: bool, const LENIENT: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    join_by::<MODIFIED, LENIENT>(Kernel::in_use(), input, output)
}

fn join_by<const MODIFIED: bool, const LENIENT: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let Some(pairs) = kernel.pairs() else { return (0, 0) };
    let variant = usize::from(MODIFIED) + usize::from(MODIFIED && LENIENT);
    // SAFETY: this CPU supports every `Kernel`.
    unsafe { (pairs.join[variant])(input, output) }
}

/// Copies text up to the first character that differs in CESU-8 or Modified UTF-8, or to a byte before it, which may be
/// inside a character. Returns the number of bytes copied, and `None` if the kernel has no vector code for it.
pub(crate) fn same<const MODIFIED: bool>(text: &str, output: &mut [u8]) -> Option<usize> {
    same_by::<MODIFIED>(Kernel::in_use(), text, output)
}

fn same_by<const MODIFIED: bool>(kernel: Kernel, text: &str, output: &mut [u8]) -> Option<usize> {
    let copy = kernel.pairs()?.same?[usize::from(MODIFIED)];
    // SAFETY: this CPU supports every `Kernel`.
    Some(unsafe { copy(text.as_bytes(), output) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::dialects;
    use crate::rng::Rng;

    fn kernels() -> impl Iterator<Item = Kernel> {
        Kernel::available().filter(|kernel| kernel.pairs().is_some())
    }

    /// Returns the text in CESU-8 or Modified UTF-8, computed character by character.
    fn encoded<const MODIFIED: bool>(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for character in text.chars() {
            if MODIFIED && character == '\0' {
                out.extend([0xC0, 0x80]);
                continue;
            }
            for &mut unit in character.encode_utf16(&mut [0; 2]) {
                let mut sequence = [0; 6];
                let len = dialects::encode(unit.into(), &mut sequence);
                out.extend(&sequence[..len]);
            }
        }
        out
    }

    /// The bytes after the output must not be written.
    const GUARD: [u8; 64] = [0xEE; 64];

    /// Converts in both directions.
    fn check<const MODIFIED: bool>(text: &str) {
        let pairs = encoded::<MODIFIED>(text);
        for kernel in kernels() {
            let mut out = vec![0xEE; 2 * text.len() + GUARD.len()];
            let end = 2 * text.len();
            let (read, written) = split_by::<MODIFIED>(kernel, text, &mut out[..end]);
            assert_eq!((read, &out[..written]), (text.len(), &pairs[..]), "{kernel:?} {text:?}");
            assert_eq!(out[end..], GUARD, "{kernel:?} writes after the end");
            check_join::<MODIFIED, false>(kernel, &pairs, pairs.len(), text.as_bytes());
            if MODIFIED {
                check_join::<true, true>(kernel, &pairs, pairs.len(), text.as_bytes());
                check_join::<true, true>(kernel, text.as_bytes(), text.len(), text.as_bytes());
            }
        }
    }

    /// Converts to UTF-8, with an output of exactly the length of the text and with one of the length of the input.
    fn check_join<const MODIFIED: bool, const LENIENT: bool>(
        kernel: Kernel,
        input: &[u8],
        stop: usize,
        expected: &[u8],
    ) {
        for room in [expected.len(), input.len()] {
            let mut out = vec![0xEE; room + GUARD.len()];
            let (read, written) = join_by::<MODIFIED, LENIENT>(kernel, input, &mut out[..room]);
            if room < expected.len() {
                continue;
            }
            let context = format!("{kernel:?} {room} {input:02X?}");
            if room == input.len() {
                assert_eq!((read, written), (stop, expected.len()), "{context}");
            }
            assert_eq!(out[..written], expected[..written], "{context}");
            assert_eq!(out[room..], GUARD, "{context}");
        }
    }

    #[test]
    fn every_supplementary_character_is_converted() {
        let all: Vec<char> = (0x1_0000..=0x10_FFFF).filter_map(char::from_u32).collect();
        for some in all.chunks(10_000) {
            let text: String = some.iter().collect();
            check::<false>(&text);
            check::<true>(&text);
        }
    }

    #[test]
    fn characters_that_change_are_converted_at_every_position() {
        for filler in ["a", "é", "的", "힣", "，"] {
            for special in ["💩", "\0", "💩💩", "\0\0", "a\0💩é\0\0💩", "\u{10FFFF}퟿\u{10000}"] {
                for before in 0..70 {
                    for after in [0, 3, 30, 65, 300] {
                        let text = [&filler.repeat(before), special, &filler.repeat(after)].concat();
                        check::<false>(&text);
                        check::<true>(&text);
                    }
                }
            }
        }
    }

    #[test]
    fn texts_of_every_length_and_density_are_converted() {
        let mut rng = Rng::new(5);
        let mut next = |bound| rng.below(bound);
        for one_in in [1, 2, 3, 10, 100] {
            for count in (0..100).chain([300, 1000, 5000]) {
                let text: String = (0..count)
                    .map(|_| {
                        let changes = ['💩', '\0', '\u{10000}', '\u{10FFFF}'];
                        let same = ['a', 'é', '的', '\u{D7FF}', '\u{E000}', '\u{FFFF}'];
                        if next(one_in) == 0 { changes[next(4)] } else { same[next(6)] }
                    })
                    .collect();
                check::<false>(&text);
                check::<true>(&text);
            }
        }
    }

    #[test]
    fn an_output_of_every_length_is_not_exceeded() {
        let parts = ["💩a\u{10000}é\0的\u{10FFFF}\0\0", "힣a💩", "\0", "plain text 的是 "];
        for (part, repeats) in parts.into_iter().zip([14, 30, 140, 16]) {
            let text = part.repeat(repeats);
            room::<false>(&text);
            room::<true>(&text);
        }
    }

    /// Converts to UTF-8 with every output length, at several addresses.
    fn room<const MODIFIED: bool>(text: &str) {
        let pairs = encoded::<MODIFIED>(text);
        for kernel in kernels() {
            for room in 0..=pairs.len() {
                let mut out = vec![0xEE; room + GUARD.len()];
                let start = room % 32;
                let (read, written) =
                    join_by::<MODIFIED, false>(kernel, &pairs, &mut out[start..start + room]);
                let (before, rest) = out.split_at(start);
                let context = format!("{kernel:?} {room}: {read} {written}");
                assert!(read <= pairs.len() && written <= room.min(text.len()), "{context}");
                assert_eq!(rest[..written], text.as_bytes()[..written], "{context}");
                // The vectors end anywhere, but not inside a pair.
                let tail = &text.as_bytes()[written..];
                let start = tail.iter().position(|byte| byte & 0xC0 != 0x80).unwrap_or(tail.len());
                let tail = str::from_utf8(&tail[start..]).expect("text");
                assert_eq!(pairs.len() - read - start, encoded::<MODIFIED>(tail).len(), "{context}");
                assert!(rest[room..].iter().chain(before).all(|&byte| byte == 0xEE), "{context}");
            }
        }
    }

    #[test]
    fn text_that_is_the_same_is_copied_up_to_the_group_of_the_first_other_character() {
        for filler in ["a", "é", "的", "힣"] {
            for special in ["💩", "\0", "\u{10FFFF}", ""] {
                for before in 0..200 {
                    let text = [&filler.repeat(before), special, &filler.repeat(300)].concat();
                    copied::<false>(&text);
                    copied::<true>(&text);
                }
            }
        }
    }

    fn copied<const MODIFIED: bool>(text: &str) {
        let differs = |c: char| c > '\u{FFFF}' || MODIFIED && c == '\0';
        let same = text.find(differs).unwrap_or(text.len());
        for kernel in kernels() {
            for room in [text.len(), text.len() + 9, text.len() - 5, same] {
                let mut out = vec![0xEE; room + GUARD.len()];
                let start = same % 32;
                let Some(copied) = same_by::<MODIFIED>(kernel, text, &mut out[start..start + room]) else {
                    break;
                };
                let context = format!("{kernel:?} {room} {same}: {copied}");
                let end = same.min(room);
                let group = if kernel.name() == "avx512" { 256 } else { 128 };
                assert!(copied <= end && (end < group || end - copied < group), "{context}");
                assert_eq!(out[start..start + copied], text.as_bytes()[..copied], "{context}");
                let others = out[..start].iter().chain(&out[start + copied..]);
                assert!(others.copied().all(|byte| byte == 0xEE), "{context}");
            }
        }
    }

    #[test]
    fn ill_formed_bytes_stop_the_conversion_at_every_position() {
        // Each is ill-formed in CESU-8, and some are well-formed in UTF-8 or would be after the conversion.
        let pairs: [&[u8]; 12] = [
            b"\xF0\x9F\x92\xA9",
            b"\xFF",
            b"\xED\xA0\x80",
            b"\xED\xB0\x80",
            b"\xED\xA0\x80\xED\xA0\x80",
            b"\xED\xB0\x80\xED\xA0\x80",
            b"\xED\xA0\xED\xB0\x80",
            b"\xED\xA0\x80\xED\xB0",
            b"\xED\xA0\x80\xED\xB0a",
            b"\xED\xA0a\xED\xB0\x80",
            b"\xED\xA0\x80a\xED\xB0\x80",
            b"\xED\xA0",
        ];
        let of_modified: [&[u8]; 4] = [b"\0", b"\xC0", b"\xC0\x81", b"\xC0\xC0\x80"];
        for (prefix, text) in [(&b"a"[..], "a"), (b"\xED\xA0\xBD\xED\xB2\xA9", "💩"), (b"\xC0\x80", "\0")] {
            for before in 0..70 {
                for after in [0, 1, 300] {
                    let (start, expected) = (prefix.repeat(before), text.repeat(before));
                    let whole = |bytes: &[u8]| [&start[..], bytes, &b"a".repeat(after)].concat();
                    for kernel in kernels() {
                        for bytes in pairs {
                            if text != "\0" {
                                check_join::<false, false>(
                                    kernel,
                                    &whole(bytes),
                                    start.len(),
                                    expected.as_bytes(),
                                );
                            }
                            check_join::<true, false>(
                                kernel,
                                &whole(bytes),
                                start.len(),
                                expected.as_bytes(),
                            );
                            if bytes[0] < 0xF0 {
                                check_join::<true, true>(
                                    kernel,
                                    &whole(bytes),
                                    start.len(),
                                    expected.as_bytes(),
                                );
                            }
                        }
                        for bytes in of_modified {
                            check_join::<true, false>(
                                kernel,
                                &whole(bytes),
                                start.len(),
                                expected.as_bytes(),
                            );
                            if bytes != b"\0" {
                                check_join::<true, true>(
                                    kernel,
                                    &whole(bytes),
                                    start.len(),
                                    expected.as_bytes(),
                                );
                            }
                        }
                    }
                }
            }
        }
    }
    #[test]
    #[cfg(all(unix, feature = "codec"))]
    fn no_access_outside_the_input_and_the_output() {
        use crate::kernels::tests::guarded::{Guarded, slices};
        let (mut from, mut to) = (Guarded::new(4096), Guarded::new(4096));
        for kernel in kernels() {
            for part in ["💩", "a", "é\0的💩\0\0", "힣"] {
                for (count, at_end) in slices(150) {
                    let text = part.repeat(count);
                    guarded::<false>(kernel, &text, at_end, &mut from, &mut to);
                    guarded::<true>(kernel, &text, at_end, &mut from, &mut to);
                }
            }
        }

        fn guarded<const MODIFIED: bool>(
            kernel: Kernel,
            text: &str,
            at_end: bool,
            from: &mut Guarded,
            to: &mut Guarded,
        ) {
            let pairs = encoded::<MODIFIED>(text);
            let input = from.slice(text.len(), at_end);
            input.copy_from_slice(text.as_bytes());
            let input = str::from_utf8(input).expect("text");
            let output = to.slice(2 * text.len(), at_end);
            let (_, written) = split_by::<MODIFIED>(kernel, input, output);
            assert_eq!(output[..written], pairs[..], "{kernel:?} {text:?}");
            let output = to.slice(text.len(), at_end);
            if let Some(copied) = same_by::<MODIFIED>(kernel, input, output) {
                assert_eq!(output[..copied], text.as_bytes()[..copied], "{kernel:?} {text:?}");
            }
            let input = from.slice(pairs.len(), at_end);
            input.copy_from_slice(&pairs);
            for room in [pairs.len(), text.len(), text.len() / 2] {
                let output = to.slice(room, at_end);
                let (_, written) = join_by::<MODIFIED, false>(kernel, input, output);
                assert_eq!(output[..written], text.as_bytes()[..written], "{kernel:?} {text:?}");
            }
        }
    }
}
