//! `TransferDecoder` on quoted-printable: long bodies, of which most is decoded in bulk, against decoding byte by byte
//! and against a naive decoder.

use utf8_codec_mail::TransferEncoding::QuotedPrintable;
use utf8_codec_mail::{
    BodyDecoder, BodyPiece, MimeErrorKind, TransferDecoder, TransferErrorKind, TransferPiece,
};

use crate::support::transfer::{Decoded, decode, naive_quoted_printable, quoted};
use crate::support::{Rng, oracle};

/// Lines that an encoder writes, at least `len` bytes of them.
fn good_lines(len: usize) -> Vec<u8> {
    let lines =
        b"Plain words, =C3=A9t=C3=A9, 1 =3D 1, =\r\n=D0=B2=D1=81=D1=91 and more words.\r\n\tindented =20\r\n";
    lines.repeat(len.div_ceil(lines.len()))
}

fn byte_by_byte(body: &[u8]) -> Decoded {
    decode(QuotedPrintable, false, &body.chunks(1).collect::<Vec<_>>())
}

#[test]
fn every_byte_at_every_position_of_a_long_body() {
    let plain = good_lines(170);
    for position in 0..150 {
        // At each position a part of the bytes without a meaning.
        let is_tested = |byte: &u8| matches!(byte, b'\t'..=b'G') || usize::from(*byte) % 5 == position % 5;
        for byte in (0..=u8::MAX).filter(is_tested) {
            let mut body = plain.clone();
            body[position] = byte;
            assert_eq!(
                decode(QuotedPrintable, false, &[&body]),
                byte_by_byte(&body),
                "{byte:02X} at {position}"
            );
        }
    }
}

#[test]
fn every_special_sequence_at_every_position_of_a_long_body() {
    let plain = good_lines(170);
    for inserted in [
        &b" \r\n"[..],
        b"\t\n",
        b"   ",
        b"    \r\n",
        b"=  \r\n",
        b"=\r",
        b"\r\r\n",
        b"=",
        b"=C",
        b"=C\r\n",
        b"==41",
        b"=\r\n=\r\n",
        b"=\n\n",
        b"\xC3\xA9",
        &[b'x'; 70],
        &[b' '; 70],
        &[b' '; 1_100],
        &[b'x'; 1_100],
    ] {
        for position in 0..110 {
            let mut body = plain.clone();
            body.splice(position..position, inserted.iter().copied());
            let expected = byte_by_byte(&body);
            assert_eq!(
                decode(QuotedPrintable, false, &[&body]),
                expected,
                "{} at {position}",
                inserted.escape_ascii()
            );
            let cut = position + inserted.len() / 2;
            assert_eq!(decode(QuotedPrintable, false, &[&body[..cut], &body[cut..]]), expected);
        }
    }
}

#[test]
fn lines_of_every_length_near_the_limit_at_every_position() {
    for before in 0..70 {
        for len in 74..=79 {
            for line_break in [&b"\r\n"[..], b"\n", b"=\r\n", b"=\n"] {
                let mut body = vec![b'a'; before];
                body.extend_from_slice(b"\r\n");
                let text_len = if line_break[0] == b'=' { len - 1 } else { len };
                body.extend(core::iter::repeat_n(b'b', text_len));
                body.extend_from_slice(line_break);
                body.extend(good_lines(130));
                let whole = decode(QuotedPrintable, false, &[&body]);
                assert_eq!(whole, byte_by_byte(&body), "{before} {len} {}", line_break.escape_ascii());
                let expected = (len > 76).then_some(TransferErrorKind::LongLine);
                assert_eq!(whole.errors.first().map(|error| error.2), expected, "{before} {len}");
            }
            // An escape that crosses the limit.
            let body = [&vec![b'a'; len - 2][..], b"=41\r\n", &good_lines(130)].concat();
            assert_eq!(decode(QuotedPrintable, false, &[&body]), byte_by_byte(&body));
        }
    }
}

#[test]
fn long_bodies_agree_with_the_naive_decoder() {
    let mut rng = Rng::new(2050);
    for round in 0..40 {
        let text = rng.dirty_text(5_000 + 300 * round);
        let body = quoted(&mut rng, &text);
        let expected = naive_quoted_printable(&body);
        let whole = decode(QuotedPrintable, false, &[&body]);
        assert_eq!(whole.errors, []);
        assert_eq!((&whole.bytes, &whole.offsets), (&expected.0, &expected.1));
        let size = 1 + rng.below(400);
        assert_eq!(decode(QuotedPrintable, false, &body.chunks(size).collect::<Vec<_>>()), whole, "{size}");
        // One byte of the body is replaced, so that there are errors of each layer.
        let mut body = body;
        let at = rng.below(body.len());
        body[at] = b"=\r\n \t\x01\xFFg"[rng.below(8)];
        assert_eq!(decode(QuotedPrintable, false, &[&body]), byte_by_byte(&body));
    }
}

#[test]
fn errors_in_a_long_body_have_the_offset_of_the_escape() {
    let mut rng = Rng::new(2051);
    for _ in 0..40 {
        let text = rng.dirty_text(9_000);
        let body = quoted(&mut rng, &text);
        let (decoded, offsets) = naive_quoted_printable(&body);
        let expected: Vec<_> = oracle::decode(&decoded)
            .1
            .into_iter()
            .map(|(at, kind, len)| (offsets[at as usize], Some(at), MimeErrorKind::Text(kind), len))
            .collect();
        let (mut decoder, mut errors) = (BodyDecoder::new(QuotedPrintable), Vec::new());
        let size = 70 + rng.below(4_000);
        for chunk in body.chunks(size) {
            decoder.feed_with(chunk, |piece| {
                if let BodyPiece::Error(error) = piece {
                    errors.push((error.offset, error.decoded_offset, error.kind, error.len));
                }
            });
        }
        assert_eq!(errors[..expected.len().min(errors.len())], expected[..errors.len()]);
        assert!(expected.len() - errors.len() <= 1, "only an error at the end is reported by `finish`");
    }
}

/// What is pending before the first byte that is too long for a line is text, and has an error of its own, if that byte
/// shows it.
#[test]
fn pending_white_space_counts_towards_the_limit_of_a_line() {
    for pending in ["", " ", "  ", " \t ", "=", "=4", "= ", "=\t ", "=\r", "\r"] {
        for next in ["x", "=41", " x", "  x", "\t\ty", "=\r\n", "\r\n", " \n", "\u{E9}", "\x01", "1"] {
            // A line of 48 bytes and the longest line together are two segments of the kernel.
            for (start, len) in
                (70..=78).flat_map(|len| [(String::new(), len), ("a".repeat(46) + "\r\n", len)])
            {
                let mut body = start.into_bytes();
                let before = body.len() + len;
                body.resize(before, b'a');
                body.extend_from_slice(pending.as_bytes());
                body.extend_from_slice(next.as_bytes());
                body.extend(good_lines(130));
                let whole = decode(QuotedPrintable, false, &[&body]);
                assert_eq!(whole, byte_by_byte(&body), "{before} {pending:?} {next:?}");
                for &(offset, decoded, kind, _) in &whole.errors {
                    // White space, a CR and a digit may be part of what is pending.
                    let byte = body[offset as usize];
                    if kind == TransferErrorKind::LongLine && !b" \t\r14".contains(&byte) {
                        assert!(whole.errors.is_sorted_by_key(|error| error.0), "{:?}", whole.errors);
                        let index = whole.offsets.iter().position(|&at| at >= offset).unwrap();
                        assert_eq!(decoded, index as u64, "{before} {pending:?} {next:?}");
                    }
                }
                for cut in before..=before + pending.len() + next.len() {
                    assert_eq!(decode(QuotedPrintable, false, &[&body[..cut], &body[cut..]]), whole);
                }
            }
        }
    }
}

/// White space is pending until the byte after it, and at most 998 bytes of it.
#[test]
fn white_space_above_the_limit_of_a_line_is_text() {
    let decoded = |body: &str| {
        let whole = decode(QuotedPrintable, false, &[body.as_bytes()]);
        (whole.bytes, whole.errors.iter().any(|error| error.2 == TransferErrorKind::InvalidEscape))
    };
    let spaces = |count| " ".repeat(count);
    assert_eq!(decoded(&(spaces(998) + "\nb")), (b"\nb".to_vec(), false));
    assert_eq!(decoded(&(spaces(999) + "\nb")), ((spaces(999) + "\nb").into_bytes(), false));
    // A soft break, and a `=` that is not one.
    assert_eq!(decoded(&format!("a={}\nb", spaces(997))), (b"ab".to_vec(), false));
    assert_eq!(decoded(&format!("a={}\nb", spaces(998))), (b"a=\nb".to_vec(), true));
}

#[test]
fn the_bytes_of_an_invalid_soft_break_have_their_own_offsets() {
    for body in [&b"ab= \rx"[..], b"ab=\rx", b"ab= \r", b"ab=\r"] {
        let whole = decode(QuotedPrintable, false, &[body]);
        assert_eq!(whole.bytes, body);
        assert!(whole.offsets.iter().copied().eq(0..body.len() as u64), "{:?}", whole.offsets);
    }
}

#[test]
fn a_body_after_another_one_is_decoded_in_the_same_way() {
    let body = [&good_lines(150)[..], b"x \r\n", &good_lines(150)].concat();
    let expected = naive_quoted_printable(&body).0;
    let mut decoder = TransferDecoder::new(QuotedPrintable);
    for _ in 0..3 {
        let mut bytes = Vec::new();
        let mut keep = |piece: TransferPiece<'_>| {
            if let TransferPiece::Bytes(decoded) = piece {
                bytes.extend_from_slice(decoded.bytes());
            }
        };
        decoder.feed_with(&body, &mut keep);
        decoder.finish_with(&mut keep);
        assert_eq!(bytes, expected);
    }
}
