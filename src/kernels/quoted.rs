//! Quoted-printable (RFC 2045 §6.7) to bytes, in bulk.

use super::dispatch::Kernel;
pub(crate) use super::functions::{Segment, WINDOW};

/// Whether the kernel in use has code for quoted-printable.
pub(crate) fn is_supported() -> bool {
    Kernel::in_use().quoted().is_some()
}

/// Decodes the start of a quoted-printable body as segments without errors and without white space at the end of a
/// line. Writes the bytes of all segments to `out`. Returns the number of segments. Stops where a segment would not be
/// such a one, where fewer than [`WINDOW`] bytes of `encoded` or `out` remain, and at the end of `segments`.
///
/// No segment starts or ends inside of an escape, a soft break, or a CRLF. Bytes of `out` after the decoded ones may be
/// overwritten. A kernel without code for it returns 0.
pub(crate) fn decode_segments(encoded: &[u8], out: &mut [u8], segments: &mut [Segment]) -> usize {
    Kernel::in_use().decode_quoted(encoded, out, segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::guarded::Guarded;
    use crate::rng::Rng;

    /// The number of bytes of a window in which a unit of a segment may start.
    const STARTS: usize = 62;

    fn digit(byte: u8) -> Option<u8> {
        char::from(byte).to_digit(16).map(|value| value as u8)
    }

    fn is_blank(byte: u8) -> bool {
        matches!(byte, b' ' | b'\t')
    }

    /// The segment at the start of a window and its bytes, read one unit at a time.
    fn model(window: &[u8]) -> Option<(Segment, Vec<u8>)> {
        let (mut segment, mut bytes, mut at) = (Segment::default(), Vec::new(), 0);
        let is_blank_or_break = |byte| is_blank(byte) || matches!(byte, b'\r' | b'\n');
        while at < STARTS {
            let (kept, line_break, len) = match window[at..] {
                [b'=', b'\r', b'\n', ..] => (0, Some((1, 2)), 3),
                [b'=', b'\n', ..] => (0, Some((1, 1)), 2),
                [b'=', high, low, ..] => {
                    bytes.push(digit(high)? << 4 | digit(low)?);
                    segment.kept |= 1 << at;
                    (0, None, 3)
                }
                [b'\r', b'\n', ..] => (2, Some((0, 1)), 2),
                [b'\n', ..] => (1, Some((0, 0)), 1),
                [byte, b'\r' | b'\n', ..] if is_blank(byte) => return None,
                [byte, next, last] if is_blank(byte) && is_blank(next) && is_blank_or_break(last) => {
                    return None;
                }
                [b'\t' | b' '..=b'~', ..] => (1, None, 1),
                _ => return None,
            };
            segment.kept |= ((1 << kept) - 1) << at;
            bytes.extend_from_slice(&window[at..at + kept]);
            if let Some((end, feed)) = line_break {
                segment.ends |= 1 << (at + end);
                segment.feeds |= 1 << (at + feed);
            }
            at += len;
        }
        segment.len = at as u8;
        Some((segment, bytes))
    }

    fn pages() -> (Guarded, Guarded) {
        (Guarded::new(4096), Guarded::new(4096))
    }

    /// Compares every kernel with the model, between pages that cannot be accessed. Returns the number of segments.
    fn check(pages: &mut (Guarded, Guarded), encoded: &[u8], room: usize, max: usize) -> usize {
        let (mut expected, mut bytes, mut rest) = (Vec::new(), Vec::new(), encoded);
        while expected.len() < max
            && room - bytes.len() >= WINDOW
            && let Some(window) = rest.first_chunk::<WINDOW>()
            && let Some((segment, more)) = model(window)
        {
            rest = &rest[usize::from(segment.len)..];
            expected.push(segment);
            bytes.extend(more);
        }
        let at_end = encoded.len().is_multiple_of(2);
        for kernel in Kernel::available().filter(|kernel| kernel.quoted().is_some()) {
            let (input, output) = (pages.0.slice(encoded.len(), at_end), pages.1.slice(room, at_end));
            input.copy_from_slice(encoded);
            let mut segments = [Segment::default(); 16];
            let count = kernel.decode_quoted(input, output, &mut segments[..max]);
            assert_eq!(segments[..count], expected, "{kernel:?} {}", encoded.escape_ascii());
            assert_eq!(output[..bytes.len()], bytes, "{kernel:?} {}", encoded.escape_ascii());
        }
        expected.len()
    }

    /// Texts in which every byte, or two bytes, are then replaced: text, escapes, soft breaks and line breaks that start
    /// at each position.
    fn texts() -> impl Iterator<Item = Vec<u8>> {
        let units: [&[u8]; 9] = [b"a", b"=3D", b"=\r\n", b"=\n", b"\r\n", b"\n", b" a", b"\ta", b"ab=c3\r\n"];
        units.into_iter().flat_map(|unit| {
            (0..unit.len()).map(move |shift| {
                let mut text = vec![b'x'; shift];
                while text.len() < 2 * WINDOW {
                    text.extend_from_slice(unit);
                }
                text
            })
        })
    }

    #[test]
    fn every_byte_at_every_position() {
        let mut pages = pages();
        let mut good = 0;
        for text in texts() {
            for position in 0..WINDOW {
                // At each position the limits of the classes, and a part of the other bytes.
                let limits = b"\x08\t\n\x0B\x0C\r\x0E\x1F !/09:<=>@AFG`afg~\x7F\x80\xFF";
                let is_tested = |byte: &u8| limits.contains(byte) || usize::from(*byte) % 5 == position % 5;
                for byte in (0..=u8::MAX).filter(is_tested) {
                    let mut text = text.clone();
                    text[position] = byte;
                    good += check(&mut pages, &text[..WINDOW], 1024, 16);
                }
            }
        }
        assert!(good > 10_000, "{good}");
    }

    #[test]
    fn triples_of_bytes_of_different_classes_at_every_position() {
        let mut pages = pages();
        let bytes = b"=Aaf09Gg \t\r\n\x00\x7F\x80\xB0~!";
        for position in 0..WINDOW - 2 {
            for (i, first) in bytes.iter().enumerate() {
                for second in bytes {
                    // At each position a part of the triples.
                    for third in bytes.iter().skip((i + position) % 5).step_by(5) {
                        let mut text = [b'x'; WINDOW];
                        text[position..position + 3].copy_from_slice(&[*first, *second, *third]);
                        check(&mut pages, &text, WINDOW, 1);
                    }
                }
            }
        }
    }

    #[test]
    fn no_access_at_any_length_room_and_number_of_segments() {
        let mut pages = pages();
        let text = b"words of text, =C3=A9, =\r\nand\r\n more\n".repeat(8);
        assert_eq!(check(&mut pages, &text, 1024, 16), 4);
        for len in (0..text.len()).step_by(if cfg!(miri) { 61 } else { 1 }) {
            check(&mut pages, &text[..len], 1024, 16);
            check(&mut pages, &text[len..], 1024, 16);
        }
        for room in (0..text.len()).step_by(if cfg!(miri) { 61 } else { 1 }) {
            check(&mut pages, &text, room, 16);
        }
        for max in 0..5 {
            assert_eq!(check(&mut pages, &text, 1024, max), max.min(4));
        }
    }

    #[test]
    fn random_units() {
        let mut pages = pages();
        let units: [&[u8]; 12] = [
            b"a",
            b"word ",
            b"=C3=A9",
            b"=d0=BE",
            b"=\r\n",
            b"=\n",
            b"\r\n",
            b"\n",
            b"\tx",
            b"  x",
            b"0123456789",
            b"=20\r\n",
        ];
        let (mut rng, mut good) = (Rng::new(1), 0);
        let mut next = |below| rng.below(below);
        for _ in 0..20_000 {
            let mut text: Vec<u8> = (0..100).flat_map(|_| units[next(units.len())]).copied().collect();
            if next(2) == 0 {
                let at = next(text.len());
                text[at] = b"=\r\n \t\x01\xFFg"[next(8)];
            }
            good += check(&mut pages, &text, 1024, 16);
        }
        assert!(good > 20_000, "{good}");
    }
}
