//! A delimiter or header is an error in the structure if and only if mail readers parse it differently.
//!
//! One test for each rule. `crates/integration/mail_readers` compares the readers on generated messages.

use utf8_codec_mail::{MessageValidator, MessageVerdict, MimeErrorKind};

use crate::support::some_partitions;

fn validate(message: &str) -> MessageVerdict {
    validate_bytes(message.as_bytes())
}

/// Returns the verdict on a message. Asserts that it is the same for every partition.
fn validate_bytes(message: &[u8]) -> MessageVerdict {
    let validate = |chunks: &[&[u8]]| {
        let mut validator = MessageValidator::new();
        chunks.iter().for_each(|chunk| validator.push(chunk));
        validator.finish()
    };
    let whole = validate(&[message]);
    some_partitions(message, 20, |chunks| assert_eq!(validate(chunks), whole, "{}", message.escape_ascii()));
    for at in 0..message.len() {
        let (start, end) = message.split_at(at);
        assert_eq!(validate(&[start, end]), whole, "{} | {}", start.escape_ascii(), end.escape_ascii());
    }
    whole
}

/// Returns the paths of the text parts.
fn leaves(verdict: &MessageVerdict) -> Vec<String> {
    let leaves = verdict.parts.iter().filter(|part| part.is_text());
    leaves.map(|part| part.path.to_string()).collect()
}

/// Path, kind and offset of each error in the structure.
fn structure(verdict: &MessageVerdict) -> Vec<(String, &'static str, u64)> {
    let errors = verdict.parts.iter().flat_map(|part| part.errors().iter().map(move |error| (part, error)));
    errors
        .filter_map(|(part, error)| match error.kind {
            MimeErrorKind::Structure(kind) => Some((part.path.to_string(), kind.as_str(), error.offset)),
            _ => None,
        })
        .collect()
}

/// Returns a multipart message with this boundary and body. Its line breaks are LF.
fn multipart(boundary: &str, body: &str) -> String {
    format!("Content-Type: multipart/mixed; boundary=\"{boundary}\"\n\n{body}")
}

#[test]
fn an_outer_delimiter_is_recognized_at_any_level() {
    let inner = multipart("a", "--a\n\none\n--a--\nepilogue\n\n\u{0}");
    let message = multipart("a--", &format!("--a--\n{inner}\n--a--\n\n@\n--a----\n"));
    // The second `--a--` starts a part of the outer multipart. It ends no multipart.
    let bytes: Vec<_> = message.bytes().map(|byte| if byte == b'@' { 0xFF } else { byte }).collect();
    let verdict = validate_bytes(&bytes);
    let at = message.find('@').unwrap() as u64;
    let bad: Vec<_> =
        verdict.parts.iter().flat_map(|part| part.errors()).filter(|error| error.offset == at).collect();
    assert_eq!(bad.len(), 1, "the byte FF is an error: {verdict:#?}");
    assert!(structure(&verdict).iter().any(|(_, kind, _)| *kind == "AmbiguousDelimiter"));

    // An unambiguous case: the outer multipart is closed, the inner one is not.
    let inner = multipart("inner", "--inner\n\none\n");
    let verdict = validate(&multipart("outer", &format!("--outer\n{inner}--outer\n\ntwo\n--outer--\n")));
    assert_eq!(leaves(&verdict), ["1.1", "2"]);
    let [(path, kind, _)] = &structure(&verdict)[..] else { panic!("{verdict:#?}") };
    assert_eq!((path.as_str(), *kind), ("1", "MissingFinalBoundary"));
}

#[test]
fn only_spaces_and_tabs_may_follow_a_delimiter_on_its_line() {
    for padding in ["", " ", "\t", " \t  "] {
        let verdict =
            validate(&multipart("b", &format!("--b{padding}\n\none\n--b{padding}\n\ntwo\n--b--{padding}\n")));
        assert_eq!(
            (leaves(&verdict), structure(&verdict)),
            (vec!["1".to_owned(), "2".to_owned()], vec![]),
            "{padding:?}"
        );
    }
    let start = multipart("b", "--b\n\none\n");
    for after in
        ["\u{c}", "\u{b}", "\u{0}", "x", " x", "-", "--x", "---", "\r\r", "\u{1c}", "\u{85}", "\u{a0}"]
    {
        let verdict = validate(&format!("{start}--b{after}\n\ntwo\n--b--\n"));
        assert_eq!(leaves(&verdict), ["1"], "{after:?}: the line is content");
        let at = start.len() as u64;
        assert_eq!(structure(&verdict), [("0".to_owned(), "AmbiguousDelimiter", at)], "{after:?}");
    }
    // The line has the maximum length, or one byte more.
    for line_break in ["\n", "\r\n"] {
        for (len, expected) in [(998, &["1", "2"][..]), (999, &["1"])] {
            let (part, close) = (format!("{:len$}", "--b"), format!("{:len$}", "--b--"));
            let body = format!("--b\n\none\n{part}\n\ntwo\n{close}").replace('\n', line_break);
            let verdict = validate(&multipart("b", &body));
            assert_eq!(leaves(&verdict), expected, "{len} {line_break:?}");
            assert_eq!(structure(&verdict).is_empty(), len == 998, "{len} {line_break:?}");
        }
    }
    // The first 1000 bytes of a line that is too long are not searched again.
    let verdict = validate(&format!("{start}{:1000}--b\n--b--\n", "--b"));
    let at = start.len() as u64;
    let expected = [at, at + 1_000].map(|at| ("0".to_owned(), "AmbiguousDelimiter", at));
    assert_eq!(structure(&verdict), expected);
}

#[test]
fn a_line_like_a_delimiter_leaves_its_line_break() {
    for line_break in ["\n", "\r\n"] {
        let body = "--b\n\n--bx\n--b--\n".replace('\n', line_break);
        let message = multipart("b", &body);
        let verdict = validate(&message);
        let at = message.find("--bx").unwrap() as u64;
        assert_eq!(structure(&verdict), [("0".to_owned(), "AmbiguousDelimiter", at)], "{line_break:?}");
        assert_eq!(verdict.parts[1].bytes, 4, "{line_break:?}");
    }
}

#[test]
fn a_boundary_outside_of_its_delimiter_is_ambiguous() {
    let start = multipart("b", "--b\nContent-Type: image/png\n\none\n");
    for before in ["x", " ", "\r", "\n\r", "-", "\u{b}", "\u{c}", "> ", "one\r"] {
        for after in ["\n", "--\n", "x"] {
            let verdict = validate(&format!("{start}{before}--b{after}\n--b--\n"));
            let at = (start.len() + before.len()) as u64;
            assert_eq!(
                structure(&verdict),
                [("0".to_owned(), "AmbiguousDelimiter", at)],
                "{before:?} {after:?}"
            );
        }
    }
    // The boundary follows three hyphens.
    let start = multipart("--x", "----x\n\n");
    let verdict = validate(&format!("{start}-----x\n----x--\n"));
    assert_eq!(structure(&verdict), [("0".to_owned(), "AmbiguousDelimiter", start.len() as u64 + 1)]);
    for good in ["--", "-----", "--x", "---x", "----", "----y", "\n----\n", "a ---x\r---x"] {
        assert_eq!(structure(&validate(&format!("{start}{good}\n----x--\n"))), [], "{good:?}");
    }
}

#[test]
fn no_delimiter_contains_the_boundary_of_another_multipart() {
    for (outer, inner) in [("b", "b"), ("b", "bb"), ("b", "x--b"), ("b--", "b"), ("b", "b--")] {
        let body = multipart(inner, &format!("--{inner}\n\ntext\n--{inner}--\n"));
        let verdict = validate(&multipart(outer, &format!("--{outer}\n{body}\n--{outer}--\n")));
        assert!(
            structure(&verdict).iter().any(|(_, kind, _)| *kind == "AmbiguousDelimiter"),
            "{outer:?} {inner:?}: {verdict:#?}"
        );
    }
    // Boundaries as mail programs write them.
    for (outer, inner) in [
        ("=_1", "=_2"),
        ("----=_Part_0_1.2", "----=_Part_1_1.2"),
        ("000000000000a", "000000000000b"),
        ("bb", "b"),
    ] {
        let body = multipart(inner, &format!("--{inner}\n\ntext\n--{inner}--\n"));
        let verdict = validate(&multipart(outer, &format!("--{outer}\n{body}\n--{outer}--\n")));
        assert_eq!(structure(&verdict), [], "{outer:?} {inner:?}");
    }
}

#[test]
fn a_delimiter_with_another_line_break_is_ambiguous() {
    let header = "Content-Type: multipart/mixed; boundary=b\r\n\r\npreamble\r\n";
    let cases = [
        ("--b\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\n", None),
        ("--b\n\r\none\n--b\n\r\ntwo\n--b--\n", None),
        ("--b\r\n\r\none\r\n--b--", None),
        ("--b\r\n\r\none\n--b\r\n\r\ntwo\r\n--b--\r\n", Some("--b\r\n\r\ntwo")),
        ("--b\r\n\r\none\r\n--b\n\r\ntwo\r\n--b--\r\n", Some("--b\n")),
        ("--b\n\r\none\r\n--b\n\r\ntwo\n--b--\n", Some("--b\n\r\ntwo")),
        ("--b\r\n\r\none\r\n--b--\n", Some("--b--")),
        // The line break before a delimiter may end a header.
        ("--b\r\nA: b\r\n\n--b--\r\n", Some("--b--")),
    ];
    for (body, expected) in cases {
        let verdict = validate(&format!("{header}{body}"));
        let at = expected.map(|line| (header.len() + body.rfind(line).unwrap()) as u64);
        let found: Vec<_> = structure(&verdict).into_iter().map(|(_, kind, at)| (kind, at)).collect();
        assert_eq!(found, Vec::from_iter(at.map(|at| ("AmbiguousDelimiter", at))), "{body:?}");
        // The line break of a delimiter is part of it, and no line of the header that follows.
        let bytes = if body.contains("one") { 3 } else { 0 };
        assert!(verdict.parts[1..].iter().all(|part| part.bytes == bytes), "{body:?}: {verdict:#?}");
    }
}

#[test]
fn parts_after_a_header_without_an_end_are_read() {
    // The empty message in part 1 is reported as part 1.1.
    let message = multipart("a", "--a\nContent-Type: message/rfc822\n--a--");
    let verdict = validate(&message);
    assert_eq!(leaves(&verdict), ["1.1"]);
    let at = (message.len() - 5) as u64;
    let expected = |path: &str| (path.to_owned(), "MissingHeaderEnd", at);
    assert_eq!(structure(&verdict), [expected("1"), expected("1.1")]);

    let message = multipart("a", "--a\n--a\n\ntext\n--a--");
    let verdict = validate(&message);
    assert_eq!(leaves(&verdict), ["1", "2"]);
    let at = message.find("--a\n\n").unwrap() as u64;
    assert_eq!(structure(&verdict), [("1".to_owned(), "MissingHeaderEnd", at)]);

    // A message may be only a header, but not inside another message, and not with an incomplete last line.
    assert_eq!(structure(&validate("Subject: x\n")), []);
    for (message, path) in [("Subject: x", "1"), ("Content-Type: message/rfc822\n\nSubject: x\n", "1.1")] {
        assert_eq!(
            structure(&validate(message)),
            [(path.to_owned(), "MissingHeaderEnd", message.len() as u64)]
        );
    }
}

#[test]
fn fields_that_only_some_readers_can_parse_are_ambiguous() {
    for (value, expected) in [
        ("multipart/mixed; boundary=b", None),
        ("Multipart/Mixed;\n\tBoundary=\"b\" ;", None),
        ("multipart/mixed; name*0*=utf-8''x; name*1*=y; boundary=b", None),
        ("multipart/mixed; name=\"a; boundary=c\"; boundary=b", None),
        ("multipart/mixed (a comment); boundary=b", Some("AmbiguousHeader")),
        ("multipart/mixed; boundary=b (a comment)", Some("AmbiguousHeader")),
        ("multipart/mixed; boundary*=us-ascii''b", Some("AmbiguousHeader")),
        ("multipart/mixed; boundary*0=b; boundary*1=\"\"", Some("AmbiguousHeader")),
        ("multipart/mixed; name=\"a\\\";boundary=c\"; boundary=b", None),
        ("multipart/mixed; boundary*0=\"b\"", Some("AmbiguousHeader")),
        ("multipart / mixed; boundary=b", Some("AmbiguousHeader")),
        ("multipart/mixed; boundary=\"\\b\"", Some("AmbiguousHeader")),
        ("multipart/mixed; boundary=\"b \"", Some("InvalidBoundary")),
        ("multipart/mixed; boundary=b; boundary=c", Some("InvalidBoundary")),
        ("multipart/mixed; boundary=b\u{c}", Some("MalformedContentType")),
    ] {
        let verdict = validate(&format!("Content-Type: {value}\n\n--b\n\ntext\n--b--\n"));
        let kinds: Vec<_> = structure(&verdict).into_iter().map(|(_, kind, _)| kind).collect();
        assert_eq!(kinds, Vec::from_iter(expected), "{value}");
    }
    for (header, expected) in [
        ("Content-Transfer-Encoding: base64 \t", None),
        ("Content-Transfer-Encoding: base64 (a comment)", Some("AmbiguousHeader")),
        ("Content-Type: text/plain (a comment)", None),
        ("Content-Type: text/plain; charset=utf-8 (a comment)", Some("AmbiguousHeader")),
        ("Content-Type: text/plain; charset*=''utf-8", Some("AmbiguousHeader")),
        ("Content-Type: text/plain; charset=\"utf\\-8\"", Some("AmbiguousHeader")),
        ("Content-Type:  TEXT/plain ; Charset = \"utf-8\"; charset=utf-8", None),
        ("Content-Type: text / plain", Some("AmbiguousHeader")),
        ("Content-Type: message/delivery-status", None),
        ("Content-Type: message/x-unknown", Some("AmbiguousHeader")),
        (": no name", Some("MalformedHeader")),
    ] {
        let kinds: Vec<_> =
            structure(&validate(&format!("{header}\n\n"))).into_iter().map(|(_, kind, _)| kind).collect();
        assert_eq!(kinds, Vec::from_iter(expected), "{header}");
    }
    // The message is the whole body of another message, which is itself attached.
    let inner = "Content-Type: message/rfc822\n\nSubject: x\n\ntext\n";
    assert_eq!(structure(&validate(inner)), []);
    assert_eq!(
        structure(&validate(&format!("Content-Type: message/rfc822\n\n{inner}"))),
        [("1.1".to_owned(), "NestedMessage", 43)]
    );
}
