//! `TransferDecoder`: the same bytes, errors and offsets for every partition.

use utf8_codec_mail::TransferEncoding::{Base64, Binary, EightBit, QuotedPrintable, SevenBit};
use utf8_codec_mail::{TransferDecoder, TransferEncoding, TransferErrorKind, TransferPiece};

use crate::support::transfer::{bytes, decode, fold, naive_quoted_printable, quoted};
use crate::support::{Rng, every_partition, some_partitions};

/// Returns the errors of a body. Asserts that they are the same for every partition.
fn errors(encoding: TransferEncoding, lenient: bool, body: &[u8]) -> Vec<(u64, TransferErrorKind, u8)> {
    let whole = decode(encoding, lenient, &[body]);
    let check = |chunks: &[&[u8]]| assert_eq!(decode(encoding, lenient, chunks), whole, "{chunks:02X?}");
    if body.len() <= 10 {
        every_partition(body, check)
    } else {
        some_partitions(body, 20, check)
    }
    whole.errors.into_iter().map(|(offset, _, kind, len)| (offset, kind, len)).collect()
}

/// The naive oracle for base64 without padding errors: collects the symbols with their offsets, then joins
/// their bits.
fn naive_base64(body: &[u8]) -> (Vec<u8>, Vec<u64>) {
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut offsets, mut bits, mut count, mut last) = (Vec::new(), Vec::new(), 0_u32, 0, 0);
    for (position, &symbol) in body.iter().enumerate() {
        let Some(value) = alphabet.find(char::from(symbol)) else { continue };
        (bits, count) = (bits << 6 | value as u32, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            offsets.push(last);
        }
        last = position as u64;
    }
    (bytes, offsets)
}

/// 1 to 8 random bytes of an alphabet.
fn any_of(rng: &mut Rng, alphabet: &[u8]) -> Vec<u8> {
    (0..1 + rng.below(8)).map(|_| alphabet[rng.below(alphabet.len())]).collect()
}

fn has_bare_lf(body: &[u8]) -> bool {
    body.iter().enumerate().any(|(i, &byte)| byte == b'\n' && (i == 0 || body[i - 1] != b'\r'))
}

#[test]
fn base64_agrees_with_data_encoding_and_the_oracle() {
    let mut rng = Rng::new(2045);
    for round in 0..400 {
        let text = rng.dirty_text(1 + round * 7 % 300);
        let body = fold(&mut rng, &data_encoding::BASE64.encode(&text));
        let whole = decode(Base64, false, &[&body]);
        assert_eq!(whole.bytes, text);
        assert_eq!((whole.bytes.clone(), whole.offsets.clone()), naive_base64(&body));
        assert!(whole.errors.iter().all(|error| error.2.is_warning()), "{:?}", whole.errors);
        for _ in 0..20 {
            let cut = rng.below(body.len() + 1);
            assert_eq!(decode(Base64, false, &[&body[..cut], &body[cut..]]), whole);
        }
        assert_eq!(decode(Base64, false, &body.chunks(1).collect::<Vec<_>>()), whole);
    }
}

/// Lines of one form are decoded together. Here one of them has another form, or a byte that is not a symbol.
#[test]
fn base64_in_lines_of_one_form_with_one_line_that_differs() {
    let mut rng = Rng::new(2047);
    let text = rng.dirty_text(6_000);
    let encoded = data_encoding::BASE64.encode(&text);
    for (width, line_break) in [(76, "\r\n"), (64, "\n"), (72, "\r\n"), (4, "\n"), (60, "\r\n"), (77, "\n")] {
        let lines: Vec<&str> =
            encoded.as_bytes().chunks(width).map(|line| str::from_utf8(line).unwrap()).collect();
        let plain = lines.join(line_break).into_bytes();
        for other in ["", " ", "\r\n", "\n", "=", "\u{E9}", "!", "AAAA", "A"] {
            let mut body = plain.clone();
            let at = rng.below(body.len());
            body.splice(at..at, other.bytes());
            let whole = decode(Base64, true, &[&body]);
            if other.trim_ascii().is_empty() {
                assert_eq!(
                    (whole.bytes.clone(), whole.offsets.clone()),
                    naive_base64(&body),
                    "{width} {other:?}"
                );
            }
            assert_eq!(decode(Base64, true, &body.chunks(1).collect::<Vec<_>>()), whole, "{width} {other:?}");
            for _ in 0..30 {
                let cut = rng.below(body.len() + 1);
                assert_eq!(
                    decode(Base64, true, &[&body[..cut], &body[cut..]]),
                    whole,
                    "{width} {other:?} {cut}"
                );
            }
            let piece = 1 + rng.below(200);
            assert_eq!(
                decode(Base64, true, &body.chunks(piece).collect::<Vec<_>>()),
                whole,
                "{width} {other:?}"
            );
        }
    }
}

/// Every kind of byte after text, white space, escapes and line breaks, near the limits of the length of a line.
#[test]
fn dense_escapes_are_the_same_for_every_partition() {
    let mut rng = Rng::new(2048);
    let parts: [&[u8]; 16] = [
        b"a",
        b" ",
        b"\t",
        b"text of words",
        b"=C3=A9",
        b"=",
        b"=\r\n",
        b"=\n",
        b"\r\n",
        b"\n",
        b"\r",
        b"\xE9",
        b"\x01",
        b"=Z",
        b"= \r\n",
        &[b'x'; 70],
    ];
    let mut errors = 0;
    for _ in 0..600 {
        let body: Vec<u8> = (0..60).flat_map(|_| parts[rng.below(parts.len())]).copied().collect();
        let bytewise = decode(QuotedPrintable, false, &body.chunks(1).collect::<Vec<_>>());
        errors += bytewise.errors.len();
        assert_eq!(decode(QuotedPrintable, false, &[&body]), bytewise);
        for _ in 0..5 {
            let cut = rng.below(body.len() + 1);
            assert_eq!(decode(QuotedPrintable, false, &[&body[..cut], &body[cut..]]), bytewise);
        }
    }
    assert!(errors > 1_000);
}

#[test]
fn quoted_printable_agrees_with_the_oracle_and_a_crate() {
    let mut rng = Rng::new(2046);
    for round in 0..400 {
        let text = rng.dirty_text(1 + round * 7 % 300);
        let body = quoted(&mut rng, &text);
        let whole = decode(QuotedPrintable, false, &[&body]);
        assert_eq!((whole.bytes.clone(), whole.offsets.clone()), naive_quoted_printable(&body));
        assert_eq!(whole.errors, []);
        assert_eq!(decode(QuotedPrintable, false, &body.chunks(1).collect::<Vec<_>>()), whole);
        for cut in 0..body.len().min(100) {
            assert_eq!(decode(QuotedPrintable, false, &[&body[..cut], &body[cut..]]), whole);
        }
        // The crate requires CRLF and upper case, and allows no white space after a soft break.
        let strict = quoted_printable::encode(&text);
        assert_eq!(
            bytes(QuotedPrintable, &strict),
            quoted_printable::decode(&strict, quoted_printable::ParseMode::Strict).unwrap()
        );
    }
}

#[test]
fn input_that_strict_crates_reject_is_an_error() {
    let mut rng = Rng::new(2047);
    let mut rejected = 0;
    for _ in 0..20_000 {
        let body = any_of(&mut rng, b"=ABab09 \tzZ\x01\x80\r\n");
        let strict = quoted_printable::decode(&body, quoted_printable::ParseMode::Strict);
        let ours = decode(QuotedPrintable, false, &[&body]);
        match strict {
            Ok(bytes) => assert_eq!((ours.bytes, ours.errors), (bytes, vec![]), "{body:02X?}"),
            // RFC 2045 advises readers to accept lower case.
            Err(quoted_printable::QuotedPrintableError::LowercaseHexOctet) => {}
            // Line breaks in files may be bare LF, and a soft break may end the body.
            Err(_) if has_bare_lf(&body) || body.trim_ascii_end().ends_with(b"=") => {}
            Err(error) => {
                rejected += 1;
                assert_ne!(ours.errors, [], "{error:?} {body:02X?}");
            }
        }
    }
    assert!(rejected > 1_000);

    for _ in 0..20_000 {
        let body = any_of(&mut rng, b"AQgw/+9==");
        let ours = decode(Base64, false, &[&body]);
        match data_encoding::BASE64.decode(&body) {
            // `data_encoding` accepts concatenated data, which this crate reports.
            Ok(bytes) => assert_eq!(ours.bytes, bytes),
            Err(_) => assert_ne!(ours.errors, [], "{}", String::from_utf8_lossy(&body)),
        }
    }
}

#[test]
fn every_partition_of_short_bodies_agrees() {
    let mut rng = Rng::new(2048);
    for round in 0..3_000 {
        let encoding = [SevenBit, EightBit, Binary, QuotedPrintable, Base64][round % 5];
        let body = any_of(&mut rng, b"=Cc3 \t\r\n=QUzK\x00\x80\xC3\xA9");
        for lenient in [false, true] {
            errors(encoding, lenient, &body);
        }
    }
}

#[test]
fn errors_of_quoted_printable() {
    use TransferErrorKind::*;
    let errors = |body: &[u8]| errors(QuotedPrintable, false, body);
    assert_eq!(errors(b"a=C3=a9=\r\n=\n= \t\r\nb="), []);
    assert_eq!(errors(b"a=Z"), [(1, InvalidEscape, 1)]);
    assert_eq!(errors(b"a=CZ"), [(1, InvalidEscape, 2)]);
    assert_eq!(errors(b"a= z"), [(1, InvalidEscape, 1)]);
    assert_eq!(errors(b"a=\rz"), [(1, InvalidEscape, 1), (2, ControlCharacter, 1)]);
    assert_eq!(errors(b"a=C"), [(1, Truncated, 2)]);
    // A CR without LF at the end of the body, and in the middle.
    assert_eq!(errors(b"a\r"), [(1, ControlCharacter, 1)]);
    assert_eq!(errors(b"a=\r"), [(1, InvalidEscape, 1), (2, ControlCharacter, 1)]);
    assert_eq!(errors(b"a= \t\r"), [(1, InvalidEscape, 1), (4, ControlCharacter, 1)]);
    assert_eq!(bytes(QuotedPrintable, b"a= \r"), b"a= \r");
    assert_eq!(errors(b"a\xC3\xA9"), [(1, EightBit, 1), (2, EightBit, 1)]);
    assert_eq!(errors(b"=\xC3"), [(0, InvalidEscape, 1), (1, EightBit, 1)]);
    assert_eq!(errors(b"a\x00b \rc"), [(1, ControlCharacter, 1), (4, ControlCharacter, 1)]);
    assert_eq!(bytes(QuotedPrintable, b"a=Zb=CZ \x80= z \rc \t\r\nd \t"), b"a=Zb=CZ \x80= z \rc\r\nd");
    for ending in [&b"\r\n"[..], b"\n", b""] {
        let line = |len: usize| [vec![b'x'; len], ending.to_vec(), b"y".to_vec()].concat();
        let after = if ending.is_empty() { 1 } else { 0 };
        assert_eq!(errors(&line(76 - after)), []);
        assert_eq!(errors(&line(77 - after)), [(76, LongLine, 1)]);
        assert_eq!(errors(&line(999 - after)), [(76, LongLine, 1), (998, LineTooLong, 1)]);
    }
    let spaces = [b"x".to_vec(), vec![b' '; 5_000], b"\n".to_vec()].concat();
    assert!(
        bytes(QuotedPrintable, &spaces).len() < 5_002,
        "pending white space is limited to the length of a line"
    );
}

#[test]
fn errors_of_base64() {
    use TransferErrorKind::*;
    let strict = |body: &[u8]| errors(Base64, false, body);
    let lenient = |body: &[u8]| errors(Base64, true, body);
    assert_eq!(strict(b"Q U\r\nJD\tRA=\n=\n"), []);
    assert_eq!(strict(b"QUJDRA"), [(6, MissingPadding, 0)]);
    assert_eq!(strict(b"QUJDRA="), [(7, MissingPadding, 0)]);
    assert_eq!(strict(b"QUJDR"), [(4, Truncated, 1)]);
    assert_eq!(strict(b"QUJDRB=="), [(6, NonZeroBits, 1)]);
    assert_eq!(strict(b"QUJDRUZ="), [(7, NonZeroBits, 1)]);
    assert_eq!(strict(b"RA==RA=="), [(4, DataAfterPadding, 1)]);
    assert_eq!(strict(b"RA=RA=="), [(3, MissingPadding, 1)]);
    assert_eq!(strict(b"RA==="), [(4, UnexpectedPadding, 1)]);
    assert_eq!(strict(b"="), [(0, UnexpectedPadding, 1)]);
    assert_eq!(strict(b"QU-JD\x80"), [(2, InvalidSymbol, 1), (5, EightBit, 1)]);
    assert_eq!(lenient(b"QUJDRA"), []);
    assert_eq!(lenient(b"QUJDRB=="), []);
    assert_eq!(lenient(b"RA==RA=="), []);
    assert_eq!(lenient(b"QU-JDR"), [(2, InvalidSymbol, 1), (5, Truncated, 1)]);
    assert_eq!(bytes(Base64, b"RA==RA=="), b"DD");
    assert_eq!(bytes(Base64, b"QU-JDRA"), b"ABCD");
    assert_eq!(strict(&[b'A'; 80]), [(76, LongLine, 1)]);
    // An inserted line break changes nothing.
    assert_eq!(strict(&[b'A'; 1_000]), [(76, LongLine, 1)]);
}

#[test]
fn errors_of_7bit_8bit_and_binary() {
    use TransferErrorKind::{LineTooLong, Nul};
    let body = b"caf\xC3\xA9\0\r\n";
    assert_eq!(
        errors(SevenBit, false, body),
        [(3, TransferErrorKind::EightBit, 1), (4, TransferErrorKind::EightBit, 1), (5, Nul, 1)]
    );
    assert_eq!(errors(EightBit, false, body), [(5, Nul, 1)]);
    assert_eq!(errors(Binary, false, body), []);
    for encoding in [SevenBit, EightBit, Binary] {
        assert_eq!(bytes(encoding, body), body);
    }
    let lines = [vec![b'a'; 998], b"\r\n".to_vec(), vec![b'b'; 999], b"\n".to_vec()].concat();
    assert_eq!(errors(EightBit, false, &lines), [(1998, LineTooLong, 1)]);
    assert_eq!(errors(Binary, false, &lines), []);
    let nul_beyond = [vec![b'a'; 998], b"\0".to_vec()].concat();
    assert_eq!(errors(EightBit, false, &nul_beyond), [(998, LineTooLong, 1), (998, Nul, 1)]);
}

/// The offsets of the bytes that make a line longer than `max`, found byte by byte.
fn naive_long_lines(body: &[u8], max: usize) -> Vec<u64> {
    let (mut long, mut len, mut is_reported) = (Vec::new(), 0, false);
    for (i, &byte) in body.iter().enumerate() {
        let is_of_break = byte == b'\n' || (byte == b'\r' && len == max);
        if len >= max && !is_of_break && !is_reported {
            long.push(i as u64);
            is_reported = true;
        }
        len += 1;
        if byte == b'\n' {
            (len, is_reported) = (0, false);
        }
    }
    long
}

#[test]
fn lines_near_the_limit_agree_with_the_naive_count() {
    let mut rng = Rng::new(2052);
    let mut total = 0;
    for round in 0..3_000 {
        let max = 1 + rng.below(12);
        let body: Vec<u8> = (0..rng.below(80)).map(|_| b"aaaaaaaaa\n\n\r"[rng.below(12)]).collect();
        let expected = naive_long_lines(&body, max);
        total += expected.len();
        let encoding = [SevenBit, EightBit][round % 2];
        let sizes = [body.len().max(1), 1, 1 + rng.below(9), 1 + rng.below(40)];
        for size in sizes {
            let (mut decoder, mut errors) =
                (TransferDecoder::new(encoding).with_max_line_length(max), Vec::new());
            for chunk in body.chunks(size) {
                decoder.feed_with(chunk, |piece| {
                    if let TransferPiece::Error(error) = piece {
                        assert_eq!(error.kind, TransferErrorKind::LineTooLong);
                        errors.push(error.offset);
                    }
                });
            }
            assert_eq!(errors, expected, "{max} {}", body.escape_ascii());
        }
    }
    assert!(total > 1_000, "{total}");
}

#[test]
fn a_decoder_can_be_fed_again_after_its_end() {
    let mut decoder = TransferDecoder::with_offset(Base64, 100);
    let mut bytes = Vec::new();
    for body in [&b"QQ=="[..], b"QUI", b"QUJD"] {
        let mut keep = |piece: TransferPiece<'_>| {
            if let TransferPiece::Bytes(decoded) = piece {
                bytes.extend_from_slice(decoded.bytes());
            }
        };
        decoder.feed_with(body, &mut keep);
        decoder.finish_with(&mut keep);
    }
    assert_eq!(bytes, b"AABABC");
    assert_eq!((decoder.offset(), decoder.decoded_offset()), (111, 6));
}

#[test]
fn an_error_has_an_offset_in_the_decoded_body() {
    for (encoding, body, expected) in [
        (EightBit, &b"ab\0c\0"[..], &[(2, 2), (4, 4)][..]),
        (SevenBit, b"a\xC3\0", &[(1, 1), (2, 2)]),
        (QuotedPrintable, b"=41=\n=42\xFFa=Z=4", &[(8, 2), (10, 4), (12, 6)]),
        (QuotedPrintable, b"= \rx a\rb", &[(0, 0), (2, 2), (6, 6)]),
        // A skipped byte has the decoded offset of the next byte.
        (Base64, b"QU*JD-REVG\n*Q=Q=", &[(2, 1), (5, 3), (11, 6), (13, 6), (14, 6), (15, 6)]),
        // After several lines of the same form and a part of a group.
        (Base64, b"QUJD\r\nQUJD\r\nQUJD\r\nQUJD\r\nQUJD\r\nQ*UJD", &[(31, 15)]),
    ] {
        let offsets = decode(encoding, false, &[body]).errors;
        let offsets: Vec<_> = offsets.iter().map(|&(offset, decoded, ..)| (offset, decoded)).collect();
        assert_eq!(offsets, expected, "{encoding} {}", body.escape_ascii());
        errors(encoding, false, body);
    }
}

/// Returns the bytes and the errors of a body with a longest line: encoded offset, decoded offset, kind.
fn with_longest_line(
    encoding: TransferEncoding,
    max: usize,
    chunks: &[&[u8]],
) -> (Vec<u8>, Vec<(u64, u64, TransferErrorKind)>) {
    let (mut decoder, mut bytes, mut errors) =
        (TransferDecoder::new(encoding).with_max_line_length(max), Vec::new(), Vec::new());
    let mut keep = |piece: TransferPiece<'_>| match piece {
        TransferPiece::Bytes(decoded) => bytes.extend_from_slice(decoded.bytes()),
        TransferPiece::Error(error) => errors.push((error.offset, error.decoded_offset, error.kind)),
        piece => panic!("{piece:?}"),
    };
    chunks.iter().for_each(|chunk| decoder.feed_with(chunk, &mut keep));
    decoder.finish_with(&mut keep);
    (bytes, errors)
}

#[test]
fn a_line_that_is_too_long_has_a_decoded_offset() {
    for prefix in 0..4 {
        let body = ["a".repeat(prefix), "x=41".repeat(40)].concat();
        for max in prefix + 4..76 {
            // The number of bytes decoded before the limit, which is not inside an escape.
            let decoded = match (max - prefix) % 4 {
                rest @ 0..=1 => prefix + (max - prefix) / 4 * 2 + rest,
                _ => continue,
            };
            let (bytes, errors) = with_longest_line(QuotedPrintable, max, &[body.as_bytes()]);
            assert_eq!(bytes.len(), prefix + 80);
            let expected = (max as u64, decoded as u64, TransferErrorKind::LineTooLong);
            assert_eq!(errors, [expected], "{prefix} {max}");
        }
    }
}

#[test]
fn a_long_line_of_base64_is_reported_if_a_chunk_ends_inside_it() {
    let body = ["A".repeat(76), "A".repeat(80), "A".repeat(76)].join("\r\n");
    let expected = vec![(78 + 76, 57 + 57, TransferErrorKind::LongLine)];
    for cut in 0..body.len() {
        let (first, second) = body.as_bytes().split_at(cut);
        let (bytes, errors) = with_longest_line(Base64, 998, &[first, second]);
        assert_eq!((bytes.len(), &errors), ((76 + 80 + 76) / 4 * 3, &expected), "{cut}");
    }
}

/// Decoded bytes are collected in a block of 4 KiB. Here the rest of a long line fills it up to its end.
#[test]
fn a_long_line_fits_into_the_block_with_what_is_pending() {
    for escapes in 3_080..3_110 {
        for rest in ["b".repeat(4_096 - escapes), " ".repeat(998) + "x"] {
            let body = ["a".repeat(77), "=41".repeat(escapes), rest.clone()].concat() + "\r\n";
            let (bytes, errors) = with_longest_line(QuotedPrintable, 100_000, &[body.as_bytes()]);
            let expected = ["a".repeat(77), "A".repeat(escapes), rest].concat() + "\r\n";
            assert!(bytes == expected.as_bytes(), "{escapes}");
            assert_eq!(errors, [(76, 76, TransferErrorKind::LongLine)]);
        }
    }
}

#[test]
fn a_body_of_only_errors_is_decoded_in_linear_time() {
    // Reading kibibytes again after each error would take minutes for a message of 20 MB.
    for (encoding, bytes) in [
        (QuotedPrintable, &b"\xFF"[..]),
        (QuotedPrintable, b"\0"),
        (QuotedPrintable, b"=a"),
        (SevenBit, b"\0"),
        (SevenBit, b"\xFF"),
        (EightBit, b"a\0"),
        (Base64, b"="),
        (Base64, b"*"),
    ] {
        let body = bytes.repeat(400_000);
        let (mut decoder, mut errors) = (TransferDecoder::new(encoding), 0);
        decoder.feed_with(&body, |piece| errors += usize::from(matches!(piece, TransferPiece::Error(_))));
        assert!(errors >= 400_000, "{encoding}: {errors}");
    }
}

#[test]
fn the_longest_line_can_be_set() {
    for (encoding, expected) in [
        (SevenBit, vec![(60, TransferErrorKind::LineTooLong)]),
        (QuotedPrintable, vec![(60, TransferErrorKind::LineTooLong)]),
        (Base64, vec![(76, TransferErrorKind::LongLine)]),
        (Binary, vec![]),
    ] {
        let (mut decoder, mut errors) = (TransferDecoder::new(encoding).with_max_line_length(60), Vec::new());
        for _ in 0..50 {
            decoder.feed_with(b"abcd", |piece| {
                if let TransferPiece::Error(error) = piece {
                    errors.push((error.offset, error.kind));
                }
            });
        }
        assert_eq!(errors, expected, "{encoding}");
    }
}

#[test]
fn the_longest_line_can_be_longer_than_by_default() {
    let line = "a".repeat(1_500);
    for (encoding, expected) in [
        (SevenBit, vec![]),
        (EightBit, vec![]),
        (QuotedPrintable, vec![(76, 76, TransferErrorKind::LongLine)]),
    ] {
        let (bytes, errors) = with_longest_line(encoding, 2_000, &[line.as_bytes()]);
        assert_eq!((bytes.len(), errors), (1_500, expected), "{encoding}");
    }
}

#[test]
fn names_are_read_in_any_case() {
    assert_eq!(TransferEncoding::for_name(b" Quoted-Printable\t"), Some(QuotedPrintable));
    assert_eq!(TransferEncoding::for_name(b"BASE64"), Some(Base64));
    assert_eq!(TransferEncoding::for_name(b"7-bit"), None);
    assert_eq!(SevenBit.to_string(), "7bit");
}
