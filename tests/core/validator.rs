//! `Utf8Validator` rejects a message at its first ill-formed byte, for every partition into frames.

use utf8_codec::validator::{Mask, Utf8Validator};
use utf8_codec::{ErrorKind, Utf8Error};

use crate::support::cases::cases;
use crate::support::rows::{self, UTF_8};
use crate::support::verdict::verdict_of;
use crate::support::{Rng, every_partition, oracle};

#[test]
fn every_partition_has_the_verdict_of_the_oracle() {
    let mut rng = Rng::new(1007);
    for round in 0..3_000 {
        let input = rng.dirty_text(1 + round % 8);
        let expected = oracle::decode(&input).1.first().map(|&(at, kind, len)| Utf8Error::new(at, kind, len));
        every_partition(&input, |chunks| {
            assert_eq!(verdict_of(chunks.iter().copied()).1.err(), expected, "{chunks:02X?}");
        });
    }
}

/// The WebSocket protocol permits a server to fail a message as soon as it is ill-formed: RFC 6455 section 8.1.
#[test]
fn a_message_fails_at_its_first_impossible_byte() {
    for message in cases() {
        let errors = rows::decode(&UTF_8, &message).errors_of_stream(message.len());
        let expected = errors.first().map(|&(at, kind, len)| Utf8Error::new(at, kind, len));
        let impossible =
            (1..=message.len()).find(|end| !rows::decode(&UTF_8, &message[..*end]).errors.is_empty());
        let byte = impossible.unwrap_or(0) as u64;
        for size in 1..=9 {
            let frames = message.chunks(size).flat_map(|frame| [frame, b""]);
            let (frame, verdict) = verdict_of(frames);
            assert_eq!(verdict.err(), expected, "{message:02X?} in frames of {size}");
            assert!(byte <= frame && frame < byte + size as u64, "{message:02X?} in frames of {size}");
            assert!(byte > 0 || frame == 0, "{message:02X?}: the end is not known before it");
        }
    }
}

#[test]
fn a_truncated_message_does_not_affect_the_next_one() {
    let mut text = Utf8Validator::new();
    text.validate(b"ab\xE2\x82").unwrap();
    assert_eq!((text.offset(), text.pending()), (4, &b"\xE2\x82"[..]));
    assert_eq!(text.finish(), Err(Utf8Error::new(2, ErrorKind::Truncated, 2)));
    text.validate(b"\xC3").unwrap();
    text.validate(b"").unwrap();
    text.validate(b"\xA9").unwrap();
    assert_eq!(text.finish(), Ok(()));
    assert_eq!(Utf8Validator::CLOSE_CODE, 1007);
}

/// Masks a payload as in RFC 6455 section 5.3.
fn masked(bytes: &[u8], key: [u8; 4]) -> Vec<u8> {
    bytes.iter().enumerate().map(|(i, byte)| byte ^ key[i % 4]).collect()
}

#[test]
fn masked_payloads_are_checked_in_any_pieces() {
    let key = [0x37, 0xFA, 0x21, 0x3D];
    assert_eq!(masked(b"Hello", key), [0x7F, 0x9F, 0x4D, 0x51, 0x58], "the example of RFC 6455 §5.7");

    let mut rng = Rng::new(53);
    for round in 0..300 {
        let payload = rng.dirty_text(1 + round * 9);
        let verdict = verdict_of([&payload[..]].into_iter()).1;
        let (mut borrowed, mut in_place) = (Utf8Validator::new(), Utf8Validator::new());
        let (mut borrowed_mask, mut mask) = (Mask::new(key), Mask::new(key));
        let mut bytes = masked(&payload, key);
        let mut rest = &mut bytes[..];
        let mut verdicts = (Ok(()), Ok(()));
        while !rest.is_empty() {
            let (piece, after) = rest.split_at_mut(rng.below(rest.len().min(2_000)) + 1);
            verdicts.0 = verdicts.0.and(borrowed.validate_masked(piece, &mut borrowed_mask));
            verdicts.1 = verdicts.1.and(in_place.unmask(piece, &mut mask));
            rest = after;
        }
        assert_eq!(verdicts.0.and(borrowed.finish()), verdict);
        assert_eq!(verdicts.1.and(in_place.finish()), verdict);
        assert_eq!(bytes, payload, "the payload is unmasked even if it is rejected");
    }
}

#[test]
fn a_long_masked_payload_has_the_verdict_of_its_text() {
    let mut rng = Rng::new(54);
    for round in 0..6_000 {
        let filler =
            rng.pick(&["a", "é", "€", "💩", "абв", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa€"]);
        let mut payload = filler.repeat(4_000 / filler.len()).into_bytes();
        payload.truncate(1_030 + rng.below(2_000));
        if round % 4 > 0 {
            let at = rng.below(payload.len() - 9);
            let other = rng.dirty_text(1 + round % 9);
            payload[at..at + other.len()].copy_from_slice(&other);
        } else if round % 8 > 0 {
            payload.extend(b"\xFF");
        }
        // Placed anywhere in a cache line, after a few bytes of the payload in another piece.
        let (start, key) = (rng.below(64), rng.next().to_le_bytes()[..4].try_into().expect("4 bytes"));
        let bytes = [&vec![0; start][..], &masked(&payload, key)].concat();
        let (mut text, mut plain, mut mask) = (Utf8Validator::new(), Utf8Validator::new(), Mask::new(key));
        let cut = rng.below(9);
        for range in [0..cut, cut..payload.len()] {
            let verdict = plain.validate(&payload[range.clone()]);
            let found = text.validate_masked(&bytes[start + range.start..start + range.end], &mut mask);
            assert_eq!(found, verdict, "{round}: {filler:?} {cut} {start}");
            assert!(found.is_err() || text == plain, "{round}: {filler:?}");
        }
        assert_eq!(text.finish(), plain.finish());
    }
}

#[test]
fn an_empty_payload_after_an_error_returns_the_error() {
    let (mut text, mut mask) = (Utf8Validator::new(), Mask::new(*b"mask"));
    let error = text.validate(b"\xFF").unwrap_err();
    assert_eq!(text.validate(b""), Err(error));
    assert_eq!(text.validate_masked(b"", &mut mask), Err(error));
    assert_eq!(text.unmask(&mut [], &mut mask), Err(error));
    #[cfg(feature = "bytes")]
    assert_eq!(text.validate_buf(&b""[..]), Err(error));
    assert_eq!(text.finish(), Err(error));
}

#[cfg(feature = "bytes")]
#[test]
fn a_payload_in_segments_has_the_verdict_of_the_whole_payload() {
    use bytes::{Buf, Bytes};
    let segments = Bytes::from_static(b"gr\xC3").chain(Bytes::new()).chain(&b"\xBC\xC3\x9Fe \xED"[..]);
    let length = segments.remaining() as u64;
    let mut text = Utf8Validator::new();
    text.validate_buf(segments).unwrap();
    assert_eq!(text.offset(), length);
    let error = text.validate_buf(&mut &b"\xA0"[..]).unwrap_err();
    assert_eq!((error.offset, error.kind), (8, ErrorKind::Surrogate));
}
