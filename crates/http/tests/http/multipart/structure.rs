//! Delimiters, boundaries, and the end of a form.

use bytes::Bytes;
use futures::executor::block_on;
use http_body::Body as _;
use http_body_util::BodyExt;
use utf8_codec::{Ascii, ErrorKind, ErrorPolicy, TextDecoder};
use utf8_codec_http::{BodyRules, MultipartError, RejectReason, Uncheckable, Utf8Body};

use super::{BOUNDARY, check, check_all, find, form};
use crate::support::bodies::{EndHint, Script, drain};
use crate::support::{every_partition, some_partitions};

#[test]
fn forms_that_readers_parse_differently_are_errors() {
    let delimiter = |end: &str| [b"--", BOUNDARY, end.as_bytes()].concat();
    let head = [&delimiter("\r\n")[..], b"Content-Disposition: form-data; name=x\r\n"].concat();
    let end = delimiter("--\r\n");
    for (what, form) in [
        ("no end", [&head[..], b"\r\ntext"].concat()),
        ("no end of the fields", head.clone()),
        ("no delimiter at all", b"text".to_vec()),
        ("something after a delimiter", [&delimiter("x\r\n")[..], b"\r\n\r\n", &end].concat()),
        ("a bare line feed after a delimiter", [&delimiter("\n")[..], b"\r\n\r\n", &end].concat()),
        ("a form feed after a delimiter", [&delimiter("\x0C\r\n")[..], b"\r\n\r\n", &end].concat()),
        ("something after the end", [&head[..], b"\r\ntext\r\n", &delimiter("--x\r\n")].concat()),
        ("half an end", [&head[..], b"\r\ntext\r\n", &delimiter("-\r\n")].concat()),
        ("a bare line feed", [&head[..], b"a: b\nc: d\r\n\r\n\r\n", &end].concat()),
        ("a bare carriage return", [&head[..], b"a: b\rc: d\r\n\r\n\r\n", &end].concat()),
        ("a folded field", [&head[..], b"a: b\r\n c\r\n\r\n\r\n", &end].concat()),
        ("no colon", [&head[..], b"abc\r\n\r\n\r\n", &end].concat()),
        (
            "two types",
            [&head[..], b"Content-Type: a/b\r\ncontent-type: text/plain\r\n\r\n\r\n", &end].concat(),
        ),
        (
            "two dispositions",
            [&head[..], b"content-disposition: form-data; filename=x\r\n\r\n\r\n", &end].concat(),
        ),
        (
            "two names",
            [&delimiter("\r\n")[..], b"Content-Disposition: form-data; name=x; Name=y\r\n\r\n\r\n", &end]
                .concat(),
        ),
        (
            "two file names",
            [&delimiter("\r\n")[..], b"Content-Disposition: a; filename=x; filename=x\r\n\r\n\r\n", &end]
                .concat(),
        ),
        ("no type", [&head[..], b"content-type: text\r\n\r\n\r\n", &end].concat()),
        ("endless fields", [&head[..], &b"a: b\r\n".repeat(5_000)[..], b"\r\n\r\n", &end].concat()),
    ] {
        let chunks: [&[u8]; 1] = [&form];
        for end_hint in EndHint::ALL {
            let whole = check(&chunks, end_hint, &BodyRules::new()).1.expect(what);
            assert!(matches!(whole, RejectReason::Multipart(_)), "{what}: {whole:?}");
            let single: Vec<&[u8]> = form.chunks(1).collect();
            let cut = check(&single, end_hint, &BodyRules::new()).1;
            assert_eq!(format!("{cut:?}"), format!("{:?}", Some(whole)), "{what}");
        }
    }
    for boundary in [&b""[..], b"a\r\n", b"a ", b"a\t", b"a\0", b"a\rb", "é".as_bytes(), &[b'a'; 71]] {
        let body = Script::of(&[], EndHint::Nothing);
        assert_eq!(
            Utf8Body::form_data(body, boundary, &BodyRules::new()).err(),
            Some(MultipartError::Boundary)
        );
    }
}

#[test]
fn a_form_ends_with_its_last_frame() {
    let text = "\u{E9}".repeat(500);
    let field = ("; name=a", "", text.as_bytes());
    let form = form(&[field, field, field]);
    for end_hint in EndHint::ALL {
        let (out, error) = check(&[&form], end_hint, &BodyRules::new());
        assert!(error.is_none() && out == form);
        let (_, error) = check(&[&form[..form.len() - 11]], end_hint, &BodyRules::new());
        let Some(RejectReason::Multipart(MultipartError::Unterminated { .. })) = error else { panic!() };
    }
}

#[test]
fn the_bytes_around_the_parts_are_checked() {
    let good = form(&[("; name=f; filename=x", "", b"\xFF")]);
    let rules = BodyRules::new();
    for around in [[b"a\xFF\r\n", &good[..]].concat(), [&good[..], b"a\xFF"].concat()] {
        let (out, error) = check_all(&around, &rules);
        let offset = find(&around, b"a\xFF") + 1;
        let error = error.and_then(|error| error.utf8_error()).expect("ill-formed text");
        assert_eq!((error.offset, error.kind), (offset, ErrorKind::InvalidLead));
        assert!(out == around[..offset as usize]);
    }
    let rules = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let (out, error) = check_all(&[&good[..], b"\xE2\x82"].concat(), &rules);
    assert!(error.is_none());
    assert!(out == [&good[..], "\u{FFFD}".as_bytes()].concat());
}

/// Asserts that the form is malformed at an offset and returned up to `end`, for every partition of the bytes of `inner`.
pub(crate) fn malformed_at(form: &[u8], inner: core::ops::Range<usize>, offset: usize, end: usize) {
    for policy in [ErrorPolicy::Strict, ErrorPolicy::Replace] {
        let rules = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(policy));
        let run = |chunks: &[&[u8]]| {
            let script = Script::of(chunks, EndHint::Nothing);
            let (data, _, error) = drain(Utf8Body::form_data(script, b"b", &rules).unwrap());
            let expected = RejectReason::Multipart(MultipartError::Malformed { offset: offset as u64 });
            let shown = || form.escape_ascii().to_string();
            assert_eq!(format!("{error:?}"), format!("{:?}", Some(expected)), "{}", shown());
            assert_eq!(
                data.escape_ascii().to_string(),
                form[..end].escape_ascii().to_string(),
                "{}",
                shown()
            );
        };
        every_partition(&form[inner.clone()], |chunks| {
            run(&[&[&form[..inner.start]], chunks, &[&form[inner.end..]]].concat());
        });
        some_partitions(form, 10, run);
    }
}

/// RFC 2046 section 5.1.1: a part must not contain `--boundary`. Django searches it in the middle of a line too, and also
/// outside of the parts.
#[test]
fn a_boundary_outside_of_a_delimiter_is_malformed() {
    let hidden = b"Content-Disposition: form-data; name=g\r\nContent-Transfer-Encoding: base64\r\n\r\n/w==\r\n--b--\r\n";
    let text = b"--b\r\nContent-Disposition: form-data; name=a\r\n\r\n";
    let file = b"--b\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\n";
    let end = b"\r\n--b--\r\n";
    let closed = [&text[..], b"x", end].concat();
    for (start, inner) in [
        (&text[..], &b"x\n--b"[..]),
        (text, b"x--b"),
        (text, b"\xC3\xA9--b"),
        (text, b"\r\n---b"),
        (text, b"\r\r\n-\n--b"),
        (text, b"---b"),
        (text, b"\n--b"),
        (file, b"AA--b"),
        (file, b"\xFF\r--b"),
        (file, b"---b"),
        (file, b"\r\n-\r\n---b"),
        (b"", b"y--b"),
        (b"", b"\r\n-\n--b"),
        (&closed, b"--b"),
        (&closed, b"\r\n--b"),
        (&closed, b"x\n---b"),
        (&text[..text.len() - 4], b"y--b"),
        (&text[..text.len() - 4], b"\r\nA: --b"),
    ] {
        let form = [start, inner, b"--\r\n", &hidden[..]].concat();
        let at = start.len() + inner.len() - 3;
        let is_header = start.len() == text.len() - 4;
        if is_header {
            // Header fields are returned together.
            let form = [start, inner, b"\r\n\r\n", b"x", end].concat();
            let len = start.len() + inner.len() + 3;
            malformed_at(&form, start.len()..len - 3, at, len);
            continue;
        }
        malformed_at(&form, start.len()..start.len() + inner.len(), at, at + 2);
    }
    // Not the boundary.
    for inner in [&b"-b--c\n--\r\n--\r\n-b--"[..], b"- -b\r\n--\nb"] {
        let form = [inner, b"\r\n", text, inner, b"\r\n", file, inner, end, inner].concat();
        some_partitions(&form, 30, |chunks| {
            let script = Script::of(chunks, EndHint::Nothing);
            let (data, _, error) = drain(Utf8Body::form_data(script, b"b", &BodyRules::new()).unwrap());
            assert!(error.is_none() && data == form, "{error:?}");
        });
    }
    // A field in another charset is not checked, but its end is searched.
    let pass = BodyRules::new().with_other_charset(Uncheckable::Pass);
    let latin1 =
        ("; name=a", "Content-Type: text/plain; charset=latin1\r\n", &[b"\xE9\n--", BOUNDARY].concat()[..]);
    let error = check_all(&form(&[latin1]), &pass).1;
    assert!(matches!(error, Some(RejectReason::Multipart(MultipartError::Malformed { .. }))), "{error:?}");
}

/// A part of the boundary is repeated before it, so a search that does not match must continue inside of what it matched.
#[test]
fn a_boundary_after_a_part_of_itself_is_found() {
    for (boundary, content) in
        [("-", "x----"), ("a--ab", "--a--a--ab"), ("--b", "-\r------b"), ("-a--b", "---a---a--b")]
    {
        let start = format!("--{boundary}\r\nContent-Disposition: form-data; name=a; filename=x\r\n\r\n");
        let form = format!("{start}{content}\r\n--{boundary}--\r\n");
        let offset = (start.len() + content.find(&format!("--{boundary}")).unwrap()) as u64;
        let run = |chunks: &[&[u8]]| {
            let script = Script::of(chunks, EndHint::Nothing);
            let body = Utf8Body::form_data(script, boundary.as_bytes(), &BodyRules::new()).unwrap();
            let error = drain(body).2.expect("malformed");
            assert!(
                matches!(error, RejectReason::Multipart(MultipartError::Malformed { offset: at }) if at == offset),
                "{content} {error:?}"
            );
        };
        every_partition(content.as_bytes(), |chunks| {
            run(&[&[start.as_bytes()], chunks, &[&form.as_bytes()[start.len() + content.len()..]]].concat());
        });
    }
}

#[test]
fn the_remaining_length_and_the_end_of_a_form_are_known() {
    let file = ("; name=f; filename=x", "", &[0xFF; 1000][..]);
    let form = form(&[file, file]);
    let body = http_body_util::Full::new(Bytes::from(form.clone()));
    let mut body = Utf8Body::form_data(body, BOUNDARY, &BodyRules::new()).expect("a boundary");
    let (mut remaining, mut frames) = (form.len() as u64, 0);
    while !body.is_end_stream() {
        assert_eq!(body.size_hint().exact(), Some(remaining));
        let frame = block_on(body.frame()).expect("a frame").expect("good");
        remaining -= frame.into_data().expect("data").len() as u64;
        frames += 1;
    }
    assert_eq!((remaining, body.size_hint().exact()), (0, Some(0)));
    assert!(frames > 1, "frames were queued");
}

#[test]
fn an_unclosed_form_holds_its_last_character() {
    let whole =
        form(&[("; name=a", "", "\u{E9}\r\n-".as_bytes()), ("; name=f; filename=f", "", b"\xFF\xC3\xA9")]);
    let closing = whole.len() - b"--\r\n".len();
    for end in 0..closing {
        let cut = &whole[..end];
        let (out, error) = check_all(cut, &BodyRules::new());
        let error = error.expect("the form has no end");
        assert!(end == 0 || out.len() < end, "a reader that counts bytes would miss {error}");
        assert!(cut.starts_with(&out));
        if let RejectReason::Multipart(MultipartError::Unterminated { offset }) = error {
            assert_eq!(offset, end as u64);
        } else {
            assert_eq!(cut.last(), Some(&0xC3), "{error}");
        }
    }
    // What is missing is a character of a field, and a byte of a file.
    for (last, missing) in [("\u{E9}".as_bytes(), 2), (b"\r\n-", 1), (b"\xFF\xC3\xA9", 1)] {
        let end = find(&whole, last) as usize + last.len();
        assert_eq!(check_all(&whole[..end], &BodyRules::new()).0, whole[..end - missing]);
    }
}

/// The sender of a form chooses the boundary, so a replacement may be a part of it.
#[test]
fn a_repair_does_not_make_a_delimiter() {
    let question = Ascii::QUESTION_MARK;
    for (boundary, policy) in [
        ("ab?c", ErrorPolicy::Substitute(question)),
        ("ab?c", ErrorPolicy::ReplaceWith('?')),
        ("ab?", ErrorPolicy::ReplaceWith('?')),
        (r"ab\xffc", ErrorPolicy::Escape),
        ("abc", ErrorPolicy::Skip),
    ] {
        let rules = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(policy));
        let start = format!("--{boundary}\r\nContent-Disposition: form-data; name=a\r\n\r\n");
        let malformed = |content: &[u8]| {
            let form = [start.as_bytes(), content, b"\r\n--", boundary.as_bytes(), b"--\r\n"].concat();
            let mut results = Vec::new();
            some_partitions(&form, 10, |chunks| {
                let script = Script::of(chunks, EndHint::Nothing);
                let (data, _, error) =
                    drain(Utf8Body::form_data(script, boundary.as_bytes(), &rules).unwrap());
                let offset = error.map(|error| match error {
                    RejectReason::Multipart(MultipartError::Malformed { offset }) => offset,
                    other => panic!("{other}"),
                });
                results.push((offset, data));
            });
            results.dedup();
            assert_eq!(results.len(), 1, "{}", content.escape_ascii());
            results.pop().unwrap()
        };
        let given = format!("--{boundary}");
        let cut = if policy == ErrorPolicy::Skip {
            &["ab", "c"][..]
        } else {
            &["ab", &boundary[boundary.len() - 1..]]
        };
        let last = if boundary.ends_with('?') { "" } else { cut[1] };
        let made = [b"\r\n--ab\xFF", last.as_bytes(), b"\r\nX: y\r\n\r\n"].concat();
        let at = start.len() as u64 + 6;
        let (offset, data) = malformed(&made);
        assert_eq!(offset, Some(at), "{given} {policy:?}");
        assert!(
            !data[4..].windows(given.len()).any(|part| part == given.as_bytes()),
            "{}",
            data.escape_ascii()
        );
        assert_eq!(malformed(&[b"text", &made[..]].concat()).0, Some(at + 4));
        // At the start of the content.
        assert_eq!(malformed(&made[2..]).0, Some(at - 2));
        // After a line that is not one.
        assert_eq!(malformed(&[b"\r\n--a\xFF", &made[..]].concat()).0, Some(at + 6));
        assert_eq!(malformed(b"\r\n--a\xFF c\r\n\xFF--").0, None);
        assert_eq!(malformed(b"--\xFFab\r\n").0, None);
    }
}

/// Django reads what follows the closing delimiter.
#[test]
fn a_repair_does_not_make_a_delimiter_after_the_closing_one() {
    let replace =
        BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::ReplaceWith('b')));
    let mut after = form(&[("; name=a", "", b"")]);
    after.extend_from_slice(&[b"x--", &BOUNDARY[..4], b"\xFF--"].concat());
    let (data, error) = check_all(&after, &replace);
    let expected = find(&after, b"\xFF");
    let is_malformed = |error: &RejectReason| matches!(error, RejectReason::Multipart(MultipartError::Malformed { offset }) if *offset == expected);
    assert!(error.as_ref().is_some_and(is_malformed), "{error:?}");
    assert!(data.len() < after.len() && !data.ends_with(BOUNDARY));
}

#[test]
fn a_delimiter_among_the_fields_of_a_part_is_malformed() {
    for (boundary, line) in [("a:b", "--a:b"), ("a:b", "--a:b--"), ("ab", "--ab: c"), ("ab", "--abc: d")] {
        let form = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=a; filename=b\r\n{line}\r\n\r\n\r\n--{boundary}--\r\n"
        );
        some_partitions(form.as_bytes(), 10, |chunks| {
            let script = Script::of(chunks, EndHint::Nothing);
            let body = Utf8Body::form_data(script, boundary.as_bytes(), &BodyRules::new()).unwrap();
            let error = drain(body).2;
            let expected = form[1..].find(line).unwrap() as u64 + 1;
            let is_at = |error: &RejectReason| matches!(error, RejectReason::Multipart(MultipartError::Malformed { offset }) if *offset == expected);
            assert!(error.as_ref().is_some_and(is_at), "{line} {error:?}");
        });
    }
}
