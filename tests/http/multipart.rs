//! `multipart/form-data`: text fields are checked and files are not, for every partition.

use bytes::Bytes;
use futures::executor::block_on;
use http_body::Body as _;
use http_body_util::BodyExt;
use utf8_codec::http::{
    BodyFilter, BodyRules, MissingCharset, MultipartError, OtherCharset, Reason, Rejection, Utf8Body,
    Utf8BodyError,
};
use utf8_codec::{Ascii, BomPolicy, ErrorKind, ErrorPolicy, Subset, TextDecoder};

use crate::support::bodies::{EndHint, Script, drain};
use crate::support::{Rng, every_partition, some_partitions};

const BOUNDARY: &[u8] = b"--=_b--";

/// A part: the parameters after `form-data` in its `Content-Disposition`, its other fields, its content.
type Part<'p> = (&'p str, &'p str, &'p [u8]);

fn form(parts: &[Part<'_>]) -> Vec<u8> {
    let mut form = Vec::new();
    for (parameters, fields, content) in parts {
        form.extend_from_slice(&[b"--", BOUNDARY, b"\r\n"].concat());
        form.extend_from_slice(
            format!("Content-Disposition: form-data{parameters}\r\n{fields}\r\n").as_bytes(),
        );
        form.extend_from_slice(content);
        form.extend_from_slice(b"\r\n");
    }
    form.extend_from_slice(&[b"--", BOUNDARY, b"--\r\n"].concat());
    form
}

/// Returns the bytes before the end or the error, and the error.
fn check(chunks: &[&[u8]], end_hint: EndHint, rules: &BodyRules) -> (Vec<u8>, Option<Utf8BodyError>) {
    let mut body = Utf8Body::form_data(Script::of(chunks, end_hint), BOUNDARY, rules).expect("a boundary");
    let (mut out, mut hints) = (Vec::new(), Vec::new());
    loop {
        hints.push((out.len(), body.size_hint()));
        let ended = body.is_end_stream();
        let Some(frame) = block_on(body.frame()) else { break };
        assert!(!ended, "a frame after the end");
        match frame {
            Ok(frame) => out.extend_from_slice(&frame.into_data().expect("data")),
            Err(error) => {
                assert!(block_on(body.frame()).is_none(), "the body is fused");
                return (out, Some(error));
            }
        }
    }
    for (before, hint) in hints {
        let len = (out.len() - before) as u64;
        assert!(hint.lower() <= len && hint.upper().is_none_or(|upper| len <= upper), "{hint:?} for {len}");
    }
    (out, None)
}

/// Same as [`check`], and asserts that the result is the same for every partition.
fn check_all(form: &[u8], rules: &BodyRules) -> (Vec<u8>, Option<Utf8BodyError>) {
    let whole = check(&[form], EndHint::Nothing, rules);
    let mut end_hints = EndHint::ALL.into_iter().cycle();
    some_partitions(form, 10, |chunks| {
        let end_hint = end_hints.next().expect("there is always one more");
        let cut = check(chunks, end_hint, rules);
        let ways = || format!("{} chunks, the first of {}, {end_hint:?}", chunks.len(), chunks[0].len());
        assert_eq!(format!("{:?}", cut.1), format!("{:?}", whole.1), "{}", ways());
        assert!(cut.0 == whole.0, "{}:\n{}\n{}", ways(), cut.0.escape_ascii(), whole.0.escape_ascii());
    });
    whole
}

fn passes(form: &[u8], rules: &BodyRules) {
    let (out, error) = check_all(form, rules);
    assert!(error.is_none(), "{error:?}");
    assert!(out == form, "a well-formed form is unchanged");
}

/// Returns the offset of `needle` in `form`.
fn find(form: &[u8], needle: &[u8]) -> u64 {
    form.windows(needle.len()).position(|window| window == needle).expect("it is there") as u64
}

#[test]
fn text_fields_are_checked_and_files_pass() {
    let file = b"\x89PNG\r\n\x1A\n\xFF\xFE\r\n--=_\r\n--\r\r\n-\xED\xA0\x80";
    let parts = [
        ("; name=\"a\"", "", "naïve €\r\n--=_b\r\n\r".as_bytes()),
        ("; name=\"f\"; filename=\"é.png\"", "Content-Type: image/png\r\n", &file[..]),
        ("; name=\"g\"; FileName=x; filename*=UTF-8''x", "Content-Type: text/plain\r\n", &file[..]),
        ("; name=\"bin\"; filename=x", "Content-Type: application/octet-stream\r\n", &file[..]),
        ("; name=\"e\"", "", b""),
        ("; name=\"s\"; filename*=UTF-8''x", "", "no file by RFC 7578: \u{E9}".as_bytes()),
        ("; name=\"j\"", "content-type: application/json; charset=UTF8\r\n", "{\"é\": 1}".as_bytes()),
    ];
    let good = form(&parts);
    passes(&good, &BodyRules::new());
    passes(
        &["pr\u{E9}ambule\r\n".as_bytes(), &good[..], "\u{E9}pilogue".as_bytes()].concat(),
        &BodyRules::new(),
    );

    for (broken, kind, len) in [
        (&b"abc \xED\xA0\x80"[..], ErrorKind::Surrogate, 1),
        (b"abc \xE2\x82", ErrorKind::Truncated, 2),
        (b"abc \xE2\x82\r\n--=_b", ErrorKind::MissingContinuation, 2),
        (b"abc \xFF", ErrorKind::InvalidLead, 1),
    ] {
        for place in [0, 5, 6] {
            let mut parts = parts;
            parts[place].2 = broken;
            let form = form(&parts);
            let (out, error) = check_all(&form, &BodyRules::new());
            let error = error.and_then(|error| error.utf8_error()).expect("ill-formed text");
            let offset = find(&form, b"abc ") + 4;
            assert_eq!((error.offset, error.kind, error.len), (offset, kind, len));
            assert!(out == form[..offset as usize], "the text before it is forwarded");
        }
    }
}

#[test]
fn a_field_is_checked_if_its_charset_is_utf8() {
    let latin1: &[u8] = b"caf\xE9!";
    let field = |fields| form(&[("; name=\"x\"", fields, latin1)]);
    let pass = BodyRules::new().with_other_charset(OtherCharset::Pass);
    passes(&field("Content-Type: text/plain; charset=latin1\r\n"), &pass);
    passes(&field(""), &BodyRules::new().with_missing_charset(MissingCharset::Pass));
    for fields in
        ["Content-Type: text/plain; charset=latin1\r\n", "Content-Type: text/plain; charset=a; charset=b\r\n"]
    {
        let form = field(fields);
        let offset = find(&form, latin1);
        let (_, error) = check_all(&form, &BodyRules::new());
        assert!(
            matches!(error, Some(Utf8BodyError::Multipart(MultipartError::Charset { offset: at })) if at == offset)
        );
    }
    let charset =
        |label: &'static [u8]| form(&[("; name=\"_charset_\"", "", label), ("; name=x", "", latin1)]);
    passes(&charset(b"iso-8859-1"), &pass);
    for utf8 in [&b"UTF-8"[..], b""] {
        let form = charset(utf8);
        let (_, error) = check_all(&form, &pass);
        let at = error.and_then(|error| error.utf8_error()).map(|error| error.offset);
        // An empty label is not a label of UTF-8.
        assert_eq!(at, (!utf8.is_empty()).then(|| find(&form, b"\xE9!")));
    }
    let (_, error) = check_all(&charset(b"iso-8859-1"), &BodyRules::new());
    assert!(matches!(error, Some(Utf8BodyError::Multipart(MultipartError::Charset { .. }))));
}

#[test]
fn names_are_checked() {
    let form = form(&[("; name=\"a\"; filename=\"\u{E9}\"", "", b"\xFF")]);
    passes(&form, &BodyRules::new());
    let bad: Vec<u8> = form.iter().copied().filter(|byte| *byte != 0xA9).collect();
    let error =
        check_all(&bad, &BodyRules::new()).1.and_then(|error| error.utf8_error()).expect("ill-formed");
    assert_eq!((error.offset, error.kind), (find(&bad, b"\xC3"), ErrorKind::MissingContinuation));
}

#[test]
fn a_replacement_does_not_cross_the_end_of_its_field() {
    let rules = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let file = ("; name=f; filename=x", "", &b"\xFF\xE2\x82"[..]);
    let bad = form(&[("; name=a", "", b"a\xFFb\xE2\x82"), file, ("; name=b", "", b"\xC3")]);
    let good = form(&[
        ("; name=a", "", "a\u{FFFD}b\u{FFFD}".as_bytes()),
        file,
        ("; name=b", "", "\u{FFFD}".as_bytes()),
    ]);
    let (out, error) = check_all(&bad, &rules);
    assert!(error.is_none());
    assert!(out == good, "{}", out.escape_ascii());

    let mut body =
        Utf8Body::form_data(Script::of(&[&bad], EndHint::Nothing), BOUNDARY, &rules).expect("a boundary");
    while block_on(body.frame()).is_some() {}
    assert_eq!(body.repaired(), 3);
}

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
            assert!(matches!(whole, Utf8BodyError::Multipart(_)), "{what}: {whole:?}");
            let single: Vec<&[u8]> = form.chunks(1).collect();
            let cut = check(&single, end_hint, &BodyRules::new()).1;
            assert_eq!(format!("{cut:?}"), format!("{:?}", Some(whole)), "{what}");
        }
    }
    for boundary in [&b""[..], b"a\r\n", b"a ", "é".as_bytes(), &[b'a'; 71]] {
        let body = Script::of(&[], EndHint::Nothing);
        assert_eq!(
            Utf8Body::form_data(body, boundary, &BodyRules::new()).err(),
            Some(MultipartError::Boundary)
        );
    }
}

#[test]
fn the_fields_of_a_part_have_at_most_16_kib() {
    let rest = "Content-Disposition: form-data; name=a\r\nA: \r\n\r\n".len();
    for (len, is_within) in [(16_384, true), (16_385, false)] {
        let fields = format!("A: {}\r\n", "a".repeat(len - rest));
        let error = check_all(&form(&[("; name=a", &fields, b"text")]), &BodyRules::new()).1;
        let is_too_long = |error: &Utf8BodyError| {
            matches!(error, Utf8BodyError::Multipart(MultipartError::HeadersTooLong { .. }))
        };
        assert_eq!(error.is_none(), is_within, "{len}: {error:?}");
        assert!(error.iter().all(is_too_long), "{len}: {error:?}");
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
        let Some(Utf8BodyError::Multipart(MultipartError::Unterminated { .. })) = error else { panic!() };
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
fn malformed_at(form: &[u8], inner: core::ops::Range<usize>, offset: usize, end: usize) {
    for policy in [ErrorPolicy::Strict, ErrorPolicy::Replace] {
        let rules = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(policy));
        let run = |chunks: &[&[u8]]| {
            let script = Script::of(chunks, EndHint::Nothing);
            let (data, _, error) = drain(Utf8Body::form_data(script, b"b", &rules).unwrap());
            let expected = Utf8BodyError::Multipart(MultipartError::Malformed { offset: offset as u64 });
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
    let pass = BodyRules::new().with_other_charset(OtherCharset::Pass);
    let latin1 =
        ("; name=a", "Content-Type: text/plain; charset=latin1\r\n", &[b"\xE9\n--", BOUNDARY].concat()[..]);
    let error = check_all(&form(&[latin1]), &pass).1;
    assert!(matches!(error, Some(Utf8BodyError::Multipart(MultipartError::Malformed { .. }))), "{error:?}");
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
                matches!(error, Utf8BodyError::Multipart(MultipartError::Malformed { offset: at }) if at == offset),
                "{content} {error:?}"
            );
        };
        every_partition(content.as_bytes(), |chunks| {
            run(&[&[start.as_bytes()], chunks, &[&form.as_bytes()[start.len() + content.len()..]]].concat());
        });
    }
}

/// Django reads the bytes around the parts as parts.
#[test]
fn header_fields_around_the_parts_are_malformed() {
    let fields = b"A: form-data\r\nC: base64\r\n\r\n";
    let part = b"--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--";
    for start in [&b""[..], &[&part[..], b"\r\n"].concat(), &[&part[..], b"\n\r\n"].concat()] {
        let form = [start, fields, b"/w==\r\n", part].concat();
        let end = start.len() + fields.len();
        malformed_at(&form, end - 7..end, end - 2, end - 1);
    }
    for passed in [
        [b"multi-part message\r\n\r\nA: b\r\n\r\n", &part[..]].concat(),
        [b"A: b\r\n", &part[..]].concat(),
        [b"\r\n\r\nA: b\r\n\r\n", &part[..]].concat(),
        [&part[..], b"\r\n\r\nA: b\r\n\r\n"].concat(),
        [&part[..], b"\r\nA: b\r\n"].concat(),
    ] {
        some_partitions(&passed, 30, |chunks| {
            let script = Script::of(chunks, EndHint::Nothing);
            let (data, _, error) = drain(Utf8Body::form_data(script, b"b", &BodyRules::new()).unwrap());
            assert!(error.is_none() && data == passed, "{error:?}");
        });
    }
}

#[test]
fn the_bom_policy_applies_to_each_field() {
    let field = ("; name=a", "", "\u{FEFF}a".as_bytes());
    let without = ("; name=a", "", &b"a"[..]);
    let rules = |bom| BodyRules::new().with_decoder(TextDecoder::new().with_bom_policy(bom));
    for policy in [BomPolicy::Strip, BomPolicy::Require] {
        let (out, error) = check_all(&form(&[field, field, field]), &rules(policy));
        assert!(error.is_none(), "{policy:?}: {error:?}");
        assert!(out == form(&[without, without, without]));
    }
    let (_, error) = check_all(&form(&[without]), &rules(BomPolicy::Require));
    let error = error.and_then(|error| error.utf8_error()).expect("a BOM is missing");
    assert_eq!((error.offset, error.kind), (find(&form(&[without]), b"a\r\n--"), ErrorKind::MissingBom));
}

#[test]
fn random_forms_have_the_same_result_for_random_partitions() {
    let mut rng = Rng::new(7578);
    for _ in 0..30 {
        let contents: Vec<_> = (0..1 + rng.below(4)).map(|_| rng.below(60)).collect();
        let contents: Vec<_> = contents.into_iter().map(|len| rng.dirty_text(len)).collect();
        let kinds = ["; name=a", "; name=a; filename=b"];
        let parts: Vec<_> = contents.iter().map(|text| (kinds[rng.below(2)], "", &text[..])).collect();
        let form = form(&parts);
        let is_good =
            parts.iter().all(|(kind, _, text)| kind.contains("file") || str::from_utf8(text).is_ok());
        let (out, error) = check_all(&form, &BodyRules::new());
        assert_eq!(error.is_none(), is_good);
        let offset =
            error.and_then(|error| error.utf8_error()).map_or(form.len() as u64, |error| error.offset);
        assert!(out == form[..offset as usize]);
    }
}

#[test]
fn a_file_passes_without_a_copy() {
    let file = vec![0xFF; 100_000];
    let form = Bytes::from(form(&[("; name=f; filename=x", "", &file)]));
    let body = http_body_util::Full::new(form.clone());
    let mut body = Utf8Body::form_data(body, BOUNDARY, &BodyRules::new()).expect("a boundary");
    let mut is_slice = false;
    while let Some(frame) = block_on(body.frame()) {
        let data = frame.expect("good").into_data().expect("data");
        is_slice |= data.len() > 100_000 && form.as_ptr_range().contains(&data.as_ptr());
    }
    assert!(is_slice);
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
        if let Utf8BodyError::Multipart(MultipartError::Unterminated { offset }) = error {
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

#[test]
fn nothing_follows_the_error_of_a_missing_bom() {
    let rules = BodyRules::new().with_decoder(
        TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(BomPolicy::Require),
    );
    let form = form(&[("; name=a", "", "\u{E9}".as_bytes())]);
    let start = form.len() - 2 - b"\r\n--\r\n--".len() - BOUNDARY.len();
    // The character is split, and the delimiter is in the second chunk.
    let chunks = [&form[..=start], &form[start + 1..]];
    assert_eq!(chunks[0].last(), Some(&0xC3));
    for chunks in [&[&form[..]][..], &chunks] {
        let (out, error) = check(chunks, EndHint::Nothing, &rules);
        assert_eq!(out.escape_ascii().to_string(), form[..start].escape_ascii().to_string());
        let error = error.and_then(|error| error.utf8_error()).expect("an error");
        assert_eq!((error.offset, error.kind), (start as u64, ErrorKind::MissingBom));
    }
}

#[test]
fn a_chunk_is_released_although_its_last_byte_is_pending() {
    for parameters in ["; name=a", "; name=f; filename=f"] {
        let whole = form(&[(parameters, "", &[b'x'; 5000])]);
        let chunk = Bytes::copy_from_slice(&whole[..4000]);
        let mut filter = BodyFilter::form_data(BOUNDARY, &BodyRules::new()).expect("a boundary");
        filter.push(chunk.clone());
        let mut len = 0;
        while let Some(data) = filter.next() {
            len += data.expect("good").len();
        }
        assert_eq!(len, 3999);
        assert!(chunk.is_unique(), "{parameters}");
    }
}

#[test]
fn rejected_fields_hold_their_last_byte() {
    let start = [b"--", BOUNDARY, b"\r\nContent-Disposition: form-data; name=a\r\n"].concat();
    for fields in ["Content-Type: text/plain; charset=latin1\r\n\r\n", "no colon\r\n\r\n"] {
        let cut = [&start[..], fields.as_bytes()].concat();
        let (out, error) = check_all(&cut, &BodyRules::new());
        assert!(matches!(error, Some(Utf8BodyError::Multipart(_))), "{error:?}");
        assert_eq!(out, cut[..cut.len() - 1], "a reader that counts bytes would miss the error");
    }
}

#[test]
fn the_offset_of_invalid_fields_is_that_of_the_invalid_line() {
    for (fields, invalid) in [
        ("no colon\r\n", "no colon"),
        ("Content-Type: a/b\r\ncontent-type: a/b\r\n", "content-type"),
        ("content-disposition: form-data\r\n", "content-disposition"),
    ] {
        let form = form(&[("; name=a", fields, b"")]);
        match check_all(&form, &BodyRules::new()).1 {
            Some(Utf8BodyError::Multipart(MultipartError::Malformed { offset })) => {
                assert_eq!(offset, find(&form, invalid.as_bytes()), "{fields}");
            }
            error => panic!("{fields}: {error:?}"),
        }
    }
}

#[test]
fn a_text_field_that_some_readers_decode_is_rejected() {
    let encoded = |parameters, encoding: &str| {
        let fields = format!("Content-Transfer-Encoding: {encoding}\r\n");
        let form = form(&[(parameters, &fields, b"a=FF")]);
        let offset = find(&form, b"Content-Transfer");
        (check_all(&form, &BodyRules::new()).1, offset)
    };
    for encoding in ["quoted-printable", "Base64", "x-uuencode", "", "8bit, base64"] {
        match encoded("; name=a", encoding) {
            (Some(Utf8BodyError::Multipart(MultipartError::Malformed { offset })), expected) => {
                assert_eq!(offset, expected);
            }
            (error, _) => panic!("{encoding}: {error:?}"),
        }
        assert!(encoded("; name=f; filename=f", encoding).0.is_none(), "files are not checked");
    }
    for encoding in ["7bit", "8BIT", " binary\t"] {
        assert!(encoded("; name=a", encoding).0.is_none(), "{encoding}");
    }
}

#[test]
fn a_part_with_an_empty_file_name_is_a_field() {
    let bad = |parameters, fields| check_all(&form(&[(parameters, fields, b"\xFF")]), &BodyRules::new()).1;
    for name in ["; name=a; filename=\"\"", "; FileName=\"\"; name=a"] {
        // Browsers send the second type for an input without a file.
        for fields in ["", "Content-Type: application/octet-stream\r\n", "Content-Type: image/png\r\n"] {
            let error = bad(name, fields).and_then(|error| error.utf8_error()).expect("the field is checked");
            assert_eq!(error.kind, ErrorKind::InvalidLead, "{name} {fields}");
            passes(&form(&[(name, fields, b"")]), &BodyRules::new());
        }
    }
    let twice = bad("; filename=\"\"; filename=x", "");
    assert!(matches!(twice, Some(Utf8BodyError::Multipart(MultipartError::Malformed { .. }))), "{twice:?}");
}

/// A reader parses the fields as they are forwarded.
#[test]
fn the_fields_of_a_part_are_parsed_after_they_are_repaired() {
    let with = |policy| BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(policy));
    let form_of = |disposition: &[u8], content: &[u8]| {
        let start = [b"--", BOUNDARY, b"\r\nContent-Disposition: form-data; ", disposition].concat();
        [&start, &b"\r\n\r\n"[..], content, b"\r\n--", BOUNDARY, b"--\r\n"].concat()
    };
    // With an empty `filename` the part is a field.
    let empty = form_of(b"name=a; filename=\"\xFF\"", b"b\xFFc");
    let (data, error) = check_all(&empty, &with(ErrorPolicy::Skip));
    assert_eq!((data, error.is_none()), (form_of(b"name=a; filename=\"\"", b"bc"), true));
    // With another character it is a file.
    let (data, error) = check_all(&empty, &with(ErrorPolicy::ReplaceWith('x')));
    assert_eq!((data, error.is_none()), (form_of(b"name=a; filename=\"x\"", b"b\xFFc"), true));
    // A replacement that is not a token.
    let (_, error) = check_all(&form_of(b"name=\xFF", b""), &with(ErrorPolicy::ReplaceWith('"')));
    assert!(matches!(error, Some(Utf8BodyError::Multipart(MultipartError::Malformed { .. }))), "{error:?}");
    let (_, error) =
        check_all(&form_of(b"name=\"\xFF; filename=x\"", b"\xFF"), &with(ErrorPolicy::ReplaceWith('"')));
    assert!(matches!(error, Some(Utf8BodyError::Multipart(MultipartError::Malformed { .. }))), "{error:?}");
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
                    Utf8BodyError::Multipart(MultipartError::Malformed { offset }) => offset,
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
    let is_malformed = |error: &Utf8BodyError| matches!(error, Utf8BodyError::Multipart(MultipartError::Malformed { offset }) if *offset == expected);
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
            let is_at = |error: &Utf8BodyError| matches!(error, Utf8BodyError::Multipart(MultipartError::Malformed { offset }) if *offset == expected);
            assert!(error.as_ref().is_some_and(is_at), "{line} {error:?}");
        });
    }
}

/// undici, Werkzeug and the WHATWG algorithm decode a part without `filename` as text.
#[test]
fn a_field_is_checked_whatever_its_type() {
    for fields in ["image/png", "application/octet-stream", "application/json", "multipart/mixed; boundary=c"]
    {
        let fields = format!("Content-Type: {fields}\r\n");
        let bad = form(&[("; name=a", &fields, b"a\xFF")]);
        let strict = BodyRules::new().with_text_types(|_| false);
        let error = check_all(&bad, &strict).1.and_then(|error| error.utf8_error()).expect("ill-formed");
        assert_eq!((error.offset, error.kind), (find(&bad, b"\xFF"), ErrorKind::InvalidLead), "{fields}");
        passes(&form(&[("; name=a", &fields, "\u{E9}".as_bytes())]), &BodyRules::new());
        passes(
            &form(&[("; name=a; filename=b", &fields, b"a\xFF")]),
            &BodyRules::new().with_text_types(|_| true),
        );
    }
    // The exception is a setting of its own.
    let excluded = BodyRules::new().with_field_types(|given| given.top() != "image");
    let part = |content_type| form(&[("; name=a", content_type, b"a\xFF")]);
    passes(&part("Content-Type: image/png\r\n"), &excluded);
    for checked in ["Content-Type: application/octet-stream\r\n", ""] {
        assert!(check_all(&part(checked), &excluded).1.is_some(), "{checked}");
    }
}

#[test]
fn a_field_in_ascii_is_checked() {
    let field = |label: &str, content: &[u8]| {
        let fields =
            format!("Content-Type: text/plain; charset={label}\r\nContent-Transfer-Encoding: 8bit\r\n");
        form(&[("; name=a", &fields, content)])
    };
    let facts = |form: &[u8], rules: &BodyRules| {
        let error = check_all(form, rules).1.and_then(|error| error.utf8_error());
        error.map(|error| (error.offset, error.kind, error.len))
    };
    for label in ["US-ASCII", "ascii", "ANSI_X3.4-1968", "iso646-us", "\"cp367\""] {
        passes(&field(label, b"x"), &BodyRules::new());
        for (content, kind, len) in [
            (&b"a\xFF"[..], ErrorKind::InvalidLead, 1),
            (b"a\xE9", ErrorKind::Truncated, 1),
            ("a\u{E9}".as_bytes(), ErrorKind::OutsideSubset, 2),
        ] {
            let form = field(label, content);
            let expected = Some((find(&form, &content[1..]), kind, len));
            assert_eq!(facts(&form, &BodyRules::new()), expected, "{label}");
            // A repair would not be ASCII.
            let replace =
                BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
            assert_eq!(facts(&form, &replace), expected, "{label}");
        }
    }
    passes(&field("us-ascii", b"\xFF"), &BodyRules::new().with_other_charset(OtherCharset::Pass));
    let default = form(&[("; name=\"_charset_\"", "", b"us-ascii"), ("; name=b", "", "\u{E9}".as_bytes())]);
    assert!(matches!(facts(&default, &BodyRules::new()), Some((_, ErrorKind::OutsideSubset, 2))));
    // Two subsets cannot be combined.
    let own = BodyRules::new().with_decoder(TextDecoder::new().with_subset(&Subset::NO_NUL));
    let error = check_all(&field("us-ascii", b"x"), &own).1;
    assert!(matches!(error, Some(Utf8BodyError::Multipart(MultipartError::Charset { .. }))), "{error:?}");
}

/// `body-part = MIME-part-headers [CRLF *OCTET]` (RFC 2046 section 5.1.1).
#[test]
fn a_part_without_a_body_is_accepted() {
    let part = |parameters: &str, body: &str| {
        let boundary = String::from_utf8_lossy(BOUNDARY);
        format!("--{boundary}\r\nContent-Disposition: form-data; {parameters}\r\n\r\n{body}").into_bytes()
    };
    let close = [b"--", BOUNDARY, b"--\r\n"].concat();
    let (text, file) = (part("name=a", ""), part("name=f; filename=x", ""));
    for parts in [
        vec![text.clone()],
        vec![file.clone()],
        vec![text.clone(), text.clone(), part("name=b", "\u{E9}\r\n")],
        vec![file.clone(), part("name=b", "\u{E9}\r\n")],
        vec![part("name=b", "\u{E9}\r\n"), file.clone()],
        // The next delimiter ends the field for all readers.
        vec![text.clone(), part("name=b", "b\r\n"), file.clone()],
    ] {
        passes(&[&parts.concat()[..], &close].concat(), &BodyRules::new());
    }
    let bad: Vec<u8> = [&text[..], &part("name=b", ""), b"\xFF\r\n", &close].concat();
    let error =
        check_all(&bad, &BodyRules::new()).1.and_then(|error| error.utf8_error()).expect("ill-formed");
    assert_eq!(error.offset, find(&bad, b"\xFF"));
    // For readers that do not find the delimiter, the file is text of the field.
    for hidden in [
        vec![text.clone(), file.clone()],
        vec![text.clone(), text.clone(), part("name=f; filename=x", "\u{FF}\r\n")],
    ] {
        let form = [&hidden.concat()[..], &close].concat();
        let offset = (hidden.len() - 1) * text.len();
        match check_all(&form, &BodyRules::new()).1 {
            Some(Utf8BodyError::Multipart(MultipartError::Malformed { offset: at })) => {
                assert_eq!(at, offset as u64)
            }
            error => panic!("{error:?}"),
        }
    }
}

/// HTML section 4.10.21.8: of the characters of a name, only LF, CR and the quote are escaped.
#[test]
fn a_backslash_is_an_escape_or_the_end_of_a_name() {
    let passes_with = |parameters: &str, content: &[u8]| {
        check_all(&form(&[(parameters, "", content)]), &BodyRules::new()).1.is_none()
    };
    for file in [
        r#"; name="f"; filename="a\""#,
        r#"; name="f"; filename="\""#,
        r#"; name="f"; filename="C:\dir\""#,
        r#"; name="f"; filename="a\"b.txt""#,
        r#"; name="f"; filename="a\\""#,
        r#"; filename="a\"; name="f""#,
    ] {
        assert!(passes_with(file, b"\xFF\xD8"), "{file}");
    }
    for text in [r#"; name="a\""#, r#"; name="a\"b""#, r#"; name="\"""#] {
        assert!(passes_with(text, b"x"), "{text}");
        assert!(!passes_with(text, b"\xFF"), "{text}");
    }
    // One reading finds a file, another one a field. The backslashes of a pair are read differently by Django.
    for parameters in [
        r#"; name="a\"; filename="x""#,
        r#"; x="\" ; y="; filename=z"#,
        r#"; name="a\"; filename=\"x""#,
        r#"; name="\"; filename="""#,
        r#"; name="f\\"; filename="x""#,
        r#"; x="\\"; filename=x; name=f"#,
        r#"; name="f\\"; filename="x"; y="\"; filename=z""#,
    ] {
        let form = form(&[(parameters, "", b"x")]);
        let Some(Utf8BodyError::Multipart(MultipartError::Malformed { offset })) =
            check_all(&form, &BodyRules::new()).1
        else {
            panic!("{parameters}");
        };
        assert_eq!(offset, find(&form, b"\\\""), "{parameters}");
    }
    assert!(!passes_with(r#"; name="a"; filename="b"#, b"x"), "a value without its quote");
}

/// Django ignores `filename` for `filename*` (RFC 8187), and reads a part without a name as a field.
#[test]
fn an_extended_file_name_is_not_empty() {
    let is_malformed = |parameters: &str| {
        let error = check_all(&form(&[(parameters, "", b"x")]), &BodyRules::new()).1;
        matches!(error, Some(Utf8BodyError::Multipart(MultipartError::Malformed { .. })))
    };
    for extended in
        ["*=UTF-8''", "*=utf-8'en'", "*=\"\"", "*0=\"\"", "*0*=UTF-8''a", "*=utf-8-sig''%EF%BB%BF"]
    {
        assert!(is_malformed(&format!("; name=f; filename=x; filename{extended}")), "{extended}");
        assert!(is_malformed(&format!("; name=f; FileName{extended}; filename=x")), "{extended}");
        assert!(!is_malformed(&format!("; name=f; filename{extended}")), "{extended}");
    }
    for extended in ["*=UTF-8''a", "*=iso-8859-1'en'a'b"] {
        assert!(!is_malformed(&format!("; name=f; filename=x; filename{extended}")), "{extended}");
    }
}

/// RFC 7578 section 4.2: a part has a `Content-Disposition`. Werkzeug searches the end of the header fields in the content.
#[test]
fn a_part_without_header_fields_is_malformed() {
    let start = b"--b\r\n";
    let rest = b"\r\nContent-Disposition: form-data; name=g\r\n\r\nx\r\n--b--\r\n";
    let form = [&start[..], rest].concat();
    malformed_at(&form, 0..12, 5, 6);
}

#[test]
fn an_extended_value_in_a_part_is_checked() {
    for (parameters, fields, bad) in [
        ("; name=f; filename*=UTF-8''caf%E9.txt", "", &b"%E9"[..]),
        ("; name=f; filename=x; filename*=\"UTF-8''caf%FF.pdf\"", "", b"%FF"),
        ("; name=f", "Content-Type: text/plain; name*=utf-8''%ED%A0%80\r\n", b"%ED"),
    ] {
        // It is not repaired, as it is not in a trailer field.
        for policy in [ErrorPolicy::Strict, ErrorPolicy::Replace] {
            let rules = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(policy));
            let form = form(&[(parameters, fields, b"x")]);
            let (data, error) = check_all(&form, &rules);
            let error = error.and_then(|error| error.utf8_error()).expect("ill-formed");
            assert_eq!(error.offset, find(&form, bad), "{parameters}");
            assert!(form.starts_with(&data) && data.len() < form.len());
        }
    }
    passes(
        &form(&[("; name=f; filename*=UTF-8''caf%C3%A9.txt; x*=latin1''%E9", "", b"x")]),
        &BodyRules::new(),
    );
}

#[test]
fn the_problem_of_a_form_names_the_field() {
    let long = "n\u{E9}".repeat(30);
    let quoted = format!("; name=\"{long}\"");
    for (parameters, name) in [
        ("; name=city", Some(r#""field":"city","#)),
        ("; name=\"a \\\"b\\\" <c>\"", Some(r#""field":"a \u0022b\u0022 \u003cc\u003e","#)),
        ("; name=\"\u{E9}\u{202E}\u{1F980}\"", Some("\"field\":\"\u{E9}\\u202e\\ud83e\\udd80\",")),
        (&quoted, Some(&*format!("\"field\":\"{}n\",", "n\u{E9}".repeat(21)))),
        ("; x=y", None),
        ("; name=\"\"", None),
    ] {
        let form = form(&[("; name=b", "", b"b"), (parameters, "", b"caf\xFF secret")]);
        let (_, error) = check_all(&form, &BodyRules::new());
        let error = error.expect("ill-formed text");
        let offset = find(&form, b"\xFF");
        assert_eq!(error.to_string(), format!("ill-formed UTF-8 at byte {offset} (InvalidLead, 1 byte)"));
        let rejection = Rejection::from_error(&error).expect("ill-formed text");
        let end = format!(
            "\"kind\":\"InvalidLead\",\"offset\":{offset},\"len\":1,{}\"field_offset\":3}}",
            name.unwrap_or_default()
        );
        assert!(rejection.problem_json().ends_with(&end), "{}\n{end}", rejection.problem_json());
        let Reason::Field(field, _) = rejection.reason else { panic!("{rejection:?}") };
        assert_eq!((field.offset, field.name.is_some()), (3, name.is_some()));
    }
    // An error outside of the fields has no field.
    let bad = form(&[("; name=\"\u{E9}\"", "", b"")])
        .iter()
        .map(|byte| if *byte == 0xC3 { 0xFF } else { *byte })
        .collect::<Vec<_>>();
    let error = check_all(&bad, &BodyRules::new()).1.expect("ill-formed");
    let problem = Rejection::from_error(&error).expect("a rejection").problem_json();
    assert!(problem.ends_with("\"len\":1}"), "{problem}");
}
