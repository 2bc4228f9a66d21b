//! `Utf8Validator` rejects a message at its first ill-formed byte, for every partition into frames.

use utf8_codec::validator::{Mask, Utf8Validator};
use utf8_codec::{ErrorKind, Utf8Error};

use crate::support::conformance::cases;
use crate::support::{Rng, every_partition, oracle};

/// The number of bytes fed when the error was reported, or 0 if the verdict was returned at the end of the message.
type Verdict = (u64, Result<(), Utf8Error>);

fn judge<'c>(chops: impl Iterator<Item = &'c [u8]>) -> Verdict {
    let mut text = Utf8Validator::new();
    let mut seen = 0;
    for chop in chops {
        seen += chop.len() as u64;
        let snapshot = text;
        if let Err(error) = text.validate(chop) {
            assert_eq!(text.validate(b"more"), Err(error), "a failed message stays failed");
            assert_eq!(text.finish(), Err(error));
            assert_eq!(text, Utf8Validator::new(), "the next message starts with a new validator");
            text = snapshot;
            assert_eq!(text.validate(chop), Err(error), "a snapshot is restored by assignment");
            return (seen, Err(error));
        }
    }
    (0, text.finish())
}

#[test]
fn every_partition_has_the_verdict_of_the_oracle() {
    let mut rng = Rng::new(1007);
    for round in 0..3_000 {
        let input = rng.dirty_text(1 + round % 8);
        let expected = oracle::decode(&input).1.first().map(|&(at, kind, len)| Utf8Error::new(at, kind, len));
        every_partition(&input, |chunks| {
            assert_eq!(judge(chunks.iter().copied()).1.err(), expected, "{chunks:02X?}");
        });
    }
}

#[test]
fn autobahn_cases_have_one_verdict_however_split() {
    let Some(cases) = cases(|name| name == "autobahn.jsonl") else { return };
    let (mut section_6, mut section_7) = (0, 0);
    for case in cases {
        section_6 += usize::from(case.id.starts_with("autobahn/6."));
        section_7 += usize::from(case.id.starts_with("autobahn/7.5.1"));
        let message = case.chunks.concat();
        let (byte, verdict) = judge(message.chunks(1));
        assert_eq!(verdict.is_ok(), case.expect()["ok"], "{}", case.id);

        // The suite has the exact byte, or the latest frame in which the error must be reported.
        if let Some(at) = case.json["invalid_at_byte"].as_u64() {
            assert_eq!(byte, at + 1, "{}", case.id);
        }
        if let Some(chunk) = case.json["fail_by_chunk"].as_u64() {
            let frames = &case.chunks[..=chunk as usize];
            let latest: usize = frames.iter().map(Vec::len).sum();
            assert!(verdict.is_err() && byte <= latest as u64, "{}", case.id);
            // A truncated last character is only known at the end of the message.
            assert!(byte > 0 || frames.len() == case.chunks.len(), "{}", case.id);
        }

        let (frame, same) = judge(case.slices().into_iter());
        assert_eq!(same, verdict, "{}", case.id);
        assert!(frame >= byte && (byte > 0 || frame == 0), "{}", case.id);
        for size in 2..=9 {
            let chops = case.chunks.iter().flat_map(|frame| frame.chunks(size));
            let (chop, same) = judge(chops);
            assert_eq!(same, verdict, "{} in chops of {size}", case.id);
            assert!(byte <= chop && chop < byte + size as u64, "{} in chops of {size}", case.id);
        }
    }
    assert!(section_6 >= 145, "{section_6} cases of section 6");
    assert_eq!(section_7, 1);
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
        let verdict = judge([&payload[..]].into_iter()).1;
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
