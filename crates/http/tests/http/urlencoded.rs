//! `application/x-www-form-urlencoded` bodies: checked after percent-decoding, for every partition.

use bytes::Bytes;
use futures::executor::block_on;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use http_body::Body as _;
use http_body_util::BodyExt;
use utf8_codec::{Ascii, BomPolicy, ErrorKind, ErrorPolicy, Subset, TextDecoder};
use utf8_codec_http::{BodyRules, MessageKind, RejectReason, Rejection, Utf8Body};

use crate::support::bodies::{EndHint, Script, drain};
use crate::support::{Rng, every_partition, oracle, policies, some_partitions};

fn rules(decoder: TextDecoder) -> BodyRules {
    BodyRules::new().with_decoder(decoder)
}

fn form(chunks: &[&[u8]], end_hint: EndHint, rules: &BodyRules) -> Utf8Body<Script> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    rules.apply(MessageKind::Request, &mut headers, Script::of(chunks, end_hint)).expect("a form is text")
}

/// Returns the bytes of a checked form, and offset, kind and length of its error.
fn check(chunks: &[&[u8]], end_hint: EndHint, rules: &BodyRules) -> (Vec<u8>, Option<(u64, ErrorKind, u8)>) {
    let (data, _, error) = drain(form(chunks, end_hint, rules));
    let error = error.map(|error| error.utf8_error().expect("ill-formed text"));
    (data, error.map(|error| (error.offset, error.kind, error.len)))
}

/// A naive percent-decoder, independent of the crate. Returns the decoded bytes, and the offset after the
/// encoding of each.
fn decoded(sent: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut ends, mut at) = (Vec::new(), vec![0], 0);
    while at < sent.len() {
        let escape = sent.get(at + 1..at + 3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        match escape.filter(|_| sent[at] == b'%') {
            Some(digits) => {
                bytes.push(u8::from_str_radix(core::str::from_utf8(digits).unwrap(), 16).unwrap());
                at += 3;
            }
            None => {
                bytes.push(sent[at]);
                at += 1;
            }
        }
        ends.push(at);
    }
    (bytes, ends)
}

/// Returns the first character of which some bytes are escaped and others are not.
fn partly_escaped(bytes: &[u8], ends: &[usize]) -> Option<(u64, ErrorKind, u8)> {
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let len = character.len_utf8();
            let sent = ends[at + len] - ends[at];
            if len > 1 && sent != len && sent != 3 * len {
                return Some((ends[at] as u64, ErrorKind::PartlyEscaped, len as u8));
            }
            at += len;
        }
        at += chunk.invalid().len();
    }
    None
}

fn check_strict(sent: &[u8], chunks: &[&[u8]]) {
    let (bytes, ends) = decoded(sent);
    let first =
        oracle::decode(&bytes).1.first().map(|&(at, kind, len)| (ends[at as usize] as u64, kind, len));
    let first = first.into_iter().chain(partly_escaped(&bytes, &ends)).min_by_key(|(offset, ..)| *offset);
    let good = &sent[..first.map_or(sent.len(), |(offset, ..)| offset as usize)];
    for end_hint in EndHint::ALL {
        let (data, error) = check(chunks, end_hint, &BodyRules::new());
        let what = || format!("{} {end_hint:?}", sent.escape_ascii());
        assert_eq!(
            (data.escape_ascii().to_string(), error),
            (good.escape_ascii().to_string(), first),
            "{}",
            what()
        );
    }
}

/// Percent-decoding a repaired form returns the same text as repairing the percent-decoded form.
fn check_repair(sent: &[u8], chunks: &[&[u8]], decoder: TextDecoder) {
    let (bytes, _) = decoded(sent);
    let (mut whole, mut expected) = (decoder.clone(), String::new());
    whole.feed(&bytes).for_each(|piece| expected.push_str(piece.text().unwrap()));
    whole.finish().iter().for_each(|piece| expected.push_str(piece.text().unwrap()));
    for end_hint in EndHint::ALL {
        let (data, error) = check(chunks, end_hint, &rules(decoder.clone()));
        assert_eq!(error, None);
        let text = String::from_utf8(decoded(&data).0);
        let what = || format!("{} {decoder:?}", sent.escape_ascii());
        assert_eq!(text.as_deref(), Ok(&expected[..]), "{}", what());
    }
}

/// Partly ill-formed text. Some bytes are escaped, with digits in either case, and some escapes are broken.
fn dirty_form(rng: &mut Rng, len: usize) -> Vec<u8> {
    let mut form = Vec::new();
    for byte in rng.dirty_text(len) {
        match rng.below(8) {
            0 => form.extend_from_slice([&b"%"[..], b"%4", b"&a=", b"%zz", b"%%", b"+"][rng.below(6)]),
            1..=3 => form.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            4..=5 => form.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            _ => form.push(byte),
        }
    }
    form
}

#[test]
fn a_form_ends_after_its_last_frame() {
    let mut body = form(&[b"a=b%C3%A9"], EndHint::EndStream, &BodyRules::new());
    assert!(!body.is_end_stream());
    assert_eq!(block_on(body.frame()).unwrap().unwrap().into_data().unwrap(), "a=b%C3%A9");
    assert!(body.is_end_stream());
}

#[test]
fn an_escape_of_ill_formed_bytes_is_an_error_at_its_offset() {
    for (sent, expected) in [
        (&b"a=%E9"[..], (2, ErrorKind::Truncated, 1)),
        (b"a=%e9&b=c", (2, ErrorKind::MissingContinuation, 1)),
        (b"a=%C3%A9&b=%FF", (11, ErrorKind::InvalidLead, 1)),
        (b"%ED%A0%80", (0, ErrorKind::Surrogate, 1)),
        (b"x\xE2%82&y", (1, ErrorKind::MissingContinuation, 2)),
        (b"x%E2\x82", (1, ErrorKind::Truncated, 2)),
        (b"%zz%C0%AF", (3, ErrorKind::Overlong, 1)),
        (b"a=\xE9", (2, ErrorKind::Truncated, 1)),
        (b"a=%C3%", (2, ErrorKind::MissingContinuation, 1)),
    ] {
        some_partitions(sent, 5, |chunks| {
            let (data, error) = check(chunks, EndHint::EndStream, &BodyRules::new());
            assert_eq!((&data[..], error), (&sent[..expected.0 as usize], Some(expected)));
        });
    }
    for good in ["", "a=%C3%A9&%e2%82%ac=+", "100%", "%", "%4", "%zz%", "é=%F0%9F%A6%80", "%EF%BB%BFa=b"] {
        some_partitions(good.as_bytes(), 5, |chunks| {
            let (data, error) = check(chunks, EndHint::Size, &BodyRules::new());
            assert_eq!((&data[..], error), (good.as_bytes(), None));
        });
    }
}

#[test]
fn bytes_and_errors_of_a_form_are_the_same_for_every_partition() {
    let mut rng = Rng::new(1866);
    for round in 0..60 {
        let mut sent = dirty_form(&mut rng, 1 + round % 5);
        sent.truncate(10);
        every_partition(&sent, |chunks| check_strict(&sent, chunks));
    }
    for round in 0..30 {
        let mut sent = dirty_form(&mut rng, 1 + round % 4);
        sent.truncate(8);
        for policy in policies().into_iter().filter(|policy| *policy != ErrorPolicy::Strict) {
            every_partition(&sent, |chunks| {
                check_repair(&sent, chunks, TextDecoder::new().with_error_policy(policy));
            });
        }
    }
    // The forms are longer than a block and have long runs without an escape.
    for round in 0..6 {
        let mut sent = dirty_form(&mut rng, 400);
        sent.extend(b"run".repeat(200 * round));
        sent.extend("%E2%82%AC\u{E9}".repeat(150).into_bytes());
        sent.extend(dirty_form(&mut rng, 100));
        let good: Vec<u8> = {
            // The ill-formed bytes are removed, so that the check reaches the end of the form.
            let (bytes, ends) = decoded(&sent);
            let bad: Vec<_> = oracle::decode(&bytes).1;
            let is_bad = |at: usize| {
                bad.iter().any(|&(start, _, len)| (start..start + u64::from(len)).contains(&(at as u64)))
            };
            (0..bytes.len())
                .filter(|&at| !is_bad(at))
                // Every byte above ASCII is escaped.
                .flat_map(|at| match bytes[at] {
                    byte @ 0x80.. => format!("%{byte:02X}").into_bytes(),
                    _ => sent[ends[at]..ends[at + 1]].to_vec(),
                })
                .collect()
        };
        for sent in [sent, good] {
            let mut cuts = Rng::new(round as u64);
            for most in [1, 7, 300, 4_000] {
                let (mut chunks, mut rest) = (Vec::new(), &sent[..]);
                while !rest.is_empty() {
                    let (chunk, after) = rest.split_at(1 + cuts.below(rest.len().min(most)));
                    chunks.push(chunk);
                    rest = after;
                }
                check_strict(&sent, &chunks);
                let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
                check_repair(&sent, &chunks, replace.clone());
                check_repair(&sent, &chunks, replace.with_subset(&Subset::ASCII));
            }
        }
    }
}

#[test]
fn a_replacement_is_percent_encoded() {
    let ampersand = rules(TextDecoder::new().with_error_policy(ErrorPolicy::ReplaceWith('&')));
    let (data, _) = check(&[b"a=%FF\xFF&b"], EndHint::Nothing, &ampersand);
    assert_eq!(data.escape_ascii().to_string(), "a=%26%26&b", "no new field");
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(3));
    let body = Script::of(&[b"\xFF"], EndHint::Size);
    ampersand.apply(MessageKind::Request, &mut headers, body).expect("text");
    assert!(!headers.contains_key(CONTENT_LENGTH), "one byte becomes three");
}

/// What a policy removes or inserts after a literal `%` does not make an escape.
#[test]
fn a_repair_does_not_make_an_escape() {
    static NO_FOUR: Subset = Subset::new(&[0..=0x33, 0x35..=0x10_FFFF]);
    for sent in [
        &b"a=%\xFFE9"[..],
        b"%E\xFF9",
        b"%\xFFE\xFF9",
        b"%\xFF%45%39",
        b"%E%FF9",
        b"%\xFF",
        b"%E\xFF",
        b"%\xC3E9",
        b"%%341",
        b"%\xFF\xC3\xA9E9",
    ] {
        let given = [ErrorPolicy::ReplaceWith('9'), ErrorPolicy::Substitute(Ascii::new(b'0').unwrap())];
        for policy in policies().into_iter().chain(given).filter(|policy| *policy != ErrorPolicy::Strict) {
            let decoder = TextDecoder::new().with_error_policy(policy);
            every_partition(sent, |chunks| {
                check_repair(sent, chunks, decoder.clone());
                check_repair(sent, chunks, decoder.clone().with_subset(&NO_FOUR));
            });
        }
    }
}

#[test]
fn size_hints_of_a_form_count_escapes_that_become_shorter() {
    let sent = b"%F0%9F%A6".repeat(9);
    for policy in policies().into_iter().chain([ErrorPolicy::ReplaceWith('x')]) {
        let rules = rules(TextDecoder::new().with_error_policy(policy));
        // `drain` checks the hints.
        drain(form(&[&sent], EndHint::Size, &rules));
    }
    let strict = form(&[b"a=%C3%A9"], EndHint::Size, &rules(TextDecoder::new()));
    assert_eq!(strict.size_hint().lower(), 8);
}

#[test]
fn a_form_has_no_bom_and_one_charset() {
    for bom in [BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject] {
        let rules = rules(TextDecoder::new().with_bom_policy(bom));
        for sent in [&b"%EF%BB%BFa=b"[..], b"\xEF\xBB\xBFa=b", b"a=b"] {
            assert_eq!(check(&[sent], EndHint::Nothing, &rules), (sent.to_vec(), None), "{bom:?}");
        }
    }
    {
        // Transcoding would leave the percent-encoded bytes in the other charset.
        let transcoding = BodyRules::new().with_transcoding();
        let mut headers = HeaderMap::new();
        let latin1 = HeaderValue::from_static("application/x-www-form-urlencoded; charset=latin1");
        headers.insert(CONTENT_TYPE, latin1);
        let body = Script::of(&[b"a=%E9"], EndHint::Size);
        let rejection = transcoding.apply(MessageKind::Request, &mut headers, body).expect_err("a rejection");
        assert_eq!(rejection.reason, RejectReason::UnsupportedCharset);
    }
}

#[test]
fn a_form_without_escapes_is_not_copied() {
    let text = Bytes::from("name=caf\u{E9}&".repeat(100));
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    let body = http_body_util::Full::new(text.clone());
    let mut body = BodyRules::new().apply(MessageKind::Request, &mut headers, body).expect("text");
    let frame = block_on(body.frame());
    let data = frame.expect("a frame").expect("good").into_data().expect("data");
    assert_eq!((data.as_ptr(), data.len()), (text.as_ptr(), text.len()));
    let escaped = Bytes::from("name=caf%C3%A9&".repeat(1_000));
    let body = http_body_util::Full::new(escaped.clone());
    let mut body = BodyRules::new().apply(MessageKind::Request, &mut headers, body).expect("text");
    let mut copied = 0;
    while let Some(frame) = block_on(body.frame()) {
        let data = frame.expect("good").into_data().expect("data");
        copied += if escaped.as_ptr_range().contains(&data.as_ptr()) { 0 } else { data.len() };
    }
    assert!(copied < escaped.len() / 2, "{copied} of {} bytes are copied", escaped.len());
}

#[test]
fn the_error_of_a_form_contains_no_payload() {
    let (_, _, error) = drain(form(&[b"secret=%FF"], EndHint::Nothing, &BodyRules::new()));
    let Some(error @ RejectReason::Field(..)) = error else { panic!() };
    assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 7 (InvalidLead, 1 byte)");
    let body = form(&[b"secret"], EndHint::Nothing, &BodyRules::new());
    assert!(!format!("{body:?}").contains("secret"));
}

/// A reader that decodes the text before its escapes finds ill-formed bytes.
#[test]
fn a_partly_escaped_character_is_an_error_of_its_own() {
    for (sent, expected) in [
        (&b"\xE6%97\xA5"[..], (0, ErrorKind::PartlyEscaped, 3)),
        (b"a=%C3\xA9", (2, ErrorKind::PartlyEscaped, 2)),
        (b"\xC3\xA9\xC3%A9", (2, ErrorKind::PartlyEscaped, 2)),
        (b"%C3%A9\xC3%A9", (6, ErrorKind::PartlyEscaped, 2)),
        (b"\xF0%9F%A6%80", (0, ErrorKind::PartlyEscaped, 4)),
        // The character is ill-formed for all readers.
        (b"\xE6%97&", (0, ErrorKind::MissingContinuation, 2)),
    ] {
        every_partition(sent, |chunks| {
            let (data, error) = check(chunks, EndHint::EndStream, &BodyRules::new());
            assert_eq!((&data[..], error), (&sent[..expected.0 as usize], Some(expected)), "{chunks:02X?}");
        });
    }
    some_partitions(b"a=%41&city=x\xC3%A9", 10, |chunks| {
        let (_, _, error) = drain(form(chunks, EndHint::Nothing, &BodyRules::new()));
        let Some(RejectReason::Field(field, error)) = error else { panic!("{error:?}") };
        assert_eq!((field.name.as_deref(), field.offset, error.offset), (Some("city"), 1, 12));
    });
    // A repair escapes the other bytes too, and the text stays the same.
    let replace = rules(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    every_partition(b"a\xE6%97\xA5b\xC3%A9", |chunks| {
        let mut body = form(chunks, EndHint::Nothing, &replace);
        let mut data = Vec::new();
        while let Some(frame) = block_on(body.frame()) {
            data.extend_from_slice(&frame.unwrap().into_data().unwrap());
        }
        assert_eq!(data.escape_ascii().to_string(), "a%E6%97%A5b%C3%A9");
        assert_eq!(body.repaired(), 2);
    });
}

#[test]
fn the_problem_of_a_urlencoded_form_names_the_field() {
    let long = format!("{}=%FF", "n%C3%A9".repeat(30));
    let start = "n\u{E9}".repeat(21);
    for (sent, name, offset, field_offset) in [
        (&b"city=Paris&name=Ren\xE9&x=y"[..], Some("name"), 19, 3),
        (b"city=Paris&first+na%6De=%C3%A9%FF", Some("first name"), 30, 6),
        (b"a=b=c%26d=%FF", Some("a"), 10, 8),
        (b"%3Cb%3e=\xC3", Some("\\u003cb\\u003e"), 8, 0),
        (long.as_bytes(), Some(&*format!("{start}n")), long.len() as u64 - 3, 0),
        (b"a=b&na%FFme=c", None, 6, 2),
        (b"\xFF", None, 0, 0),
        (b"a=b&=%FF", None, 5, 0),
    ] {
        some_partitions(sent, 10, |chunks| {
            let (_, _, error) = drain(form(chunks, EndHint::Nothing, &BodyRules::new()));
            let problem = Rejection::from_error(&error.unwrap()).expect("a rejection").problem_json();
            let name = name.map(|name| format!(r#""field":"{name}","#)).unwrap_or_default();
            let end = format!(r#""len":1,{name}"field_offset":{field_offset}}}"#);
            assert!(problem.contains(&format!(r#""offset":{offset},"#)), "{problem}");
            assert!(problem.ends_with(&end), "{problem}\n{end}");
        });
    }
}
