//! `MessageValidator`: parts, errors and offsets, for every partition.

use utf8_codec_mail::{MessageValidator, MimeSettings, PartKind};

use crate::support::Rng;
use crate::support::messages::{summary, validate, validate_chunks, validate_with};

/// Replaces LF by CRLF.
fn crlf(message: &str) -> String {
    message.replace('\n', "\r\n")
}

#[test]
fn a_message_that_is_not_multipart_has_only_part_1() {
    let verdict = validate("Subject: x\r\n\r\ncaf\u{e9}\r\n\r\nend");
    let [part] = &verdict.parts[..] else { panic!("{verdict:?}") };
    assert_eq!((part.path.to_string().as_str(), part.content_type.as_str()), ("1", "text/plain"));
    assert_eq!((part.charset.as_deref(), part.encoding.unwrap().as_str()), (None, "7bit"));
    assert_eq!((part.offset, part.bytes, part.decoded_bytes), (14, 12, 12));
    assert_eq!((part.lines, part.characters, part.kind), (3, Some(11), PartKind::Text));
    assert!(part.is_ok());
    // The message does not declare bytes above 7F.
    assert_eq!(summary(&verdict), "1 text/plain UndeclaredEightBit@14");
    assert_eq!(validate(b"\na\n\xFF").parts[0].lines, 2, "an ill-formed sequence is a line");
    assert_eq!(summary(&validate("")), "1 text/plain");
    assert_eq!(summary(&validate("\r\n")), "1 text/plain");
    assert_eq!(validate(b"Content-Type: image/png\r\n\r\n\xFF").parts[0].kind, PartKind::Other);
}

#[test]
fn a_body_is_text_by_its_type_or_if_it_has_a_charset() {
    for (content_type, kind) in [
        ("application/geo+json", PartKind::Text),
        ("application/sql; charset=utf-8", PartKind::Text),
        ("application/pdf; charset=utf-8", PartKind::Text),
        ("application/sql", PartKind::Text),
        ("application/x-ndjson", PartKind::Text),
        ("application/xml", PartKind::Text),
        ("image/svg+xml", PartKind::Text),
        ("application/yaml", PartKind::Text),
        ("application/openapi+yaml", PartKind::Text),
        ("application/grpc+json", PartKind::Other),
        ("application/pdf", PartKind::Other),
        ("message/delivery-status", PartKind::Text),
        ("message/partial", PartKind::Other),
    ] {
        assert_eq!(
            validate(format!("Content-Type: {content_type}\r\n\r\n")).parts[0].kind,
            kind,
            "{content_type}"
        );
    }
}

#[test]
fn only_a_message_may_start_with_an_envelope_line() {
    let envelope = "From a@b.example Sun Nov 22 10:00:00 2026\n";
    assert_eq!(summary(&validate(format!("{envelope}Subject: x\n\ntext\n"))), "1 text/plain");
    let head = "Content-Type: multipart/mixed; boundary=b\n\n--b\n";
    let verdict = validate(format!("{head}{envelope}\n\ntext\n--b--\n"));
    assert_eq!(summary(&verdict), format!("1 text/plain MalformedHeader@{}", head.len()));
}

#[test]
fn parts_are_numbered_as_imap_does() {
    let message = "Content-Type: multipart/mixed; boundary=a\n\npreamble\n--a\n\none\n--a\n\
        Content-Type: multipart/alternative; boundary=\"b b\"\n\n--b b\n\ntwo.one\n--b b  \n\
        Content-Type: text/html\n\ntwo.two\n--b b--\nepilogue\n--a\n\
        Content-Type: message/rfc822\n\nSubject: inner\n\nthree.one\n--a\n\
        Content-Type: message/rfc822\n\nContent-Type: multipart/digest; boundary=c\n\n--c\n\n\
        Subject: digest\n\nfour.one.one\n--c--\n--a--\nepilogue\n";
    for message in [message.to_owned(), crlf(message)] {
        let verdict = validate(&message);
        assert!(verdict.is_ok(), "{}", summary(&verdict));
        let paths: Vec<_> =
            verdict.parts.iter().map(|part| format!("{} {}", part.path, part.content_type)).collect();
        assert_eq!(
            paths,
            [
                "0 multipart/mixed",
                "1 text/plain",
                "2 multipart/alternative",
                "2.1 text/plain",
                "2.2 text/html",
                "3 message/rfc822",
                "3.1 text/plain",
                "4 message/rfc822",
                "4 multipart/digest",
                "4.1 message/rfc822",
                "4.1.1 text/plain",
            ]
        );
        let texts: Vec<_> = verdict.notable().map(|part| part.characters.unwrap()).collect();
        assert_eq!(texts, [3, 7, 7, 9, 12]);
        assert_eq!([0, 1, 4].map(|part| verdict.parts[part].path.numbers()), [&[][..], &[1], &[2, 2]]);
    }
}

#[test]
fn the_line_break_before_a_delimiter_is_not_text() {
    for line_break in ["\n", "\r\n"] {
        let message =
            "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n\n--x\n\n--b\n\n--b\n\n\n--b\nA: b\n\n--b--"
                .replace('\n', line_break);
        let verdict = validate(&message);
        assert!(verdict.is_ok(), "{}", summary(&verdict));
        let bytes: Vec<_> = verdict.notable().map(|part| part.bytes as usize).collect();
        let end = line_break.len();
        assert_eq!(bytes, [2 * end + 3, 0, 0, 0]);
    }
}

#[test]
fn errors_have_their_part_and_both_offsets() {
    let message = crlf(
        "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; charset=UTF8\n\
         Content-Transfer-Encoding: base64\n\n77u/7a\nCA\n--b\n\
         Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n\
         caf=C3=A9 =C3=\n=28 =ZZ\n--b\nContent-Type: text/plain\nContent-Transfer-Encoding: 8bit\n\ngood\n--b--\n",
    );
    let verdict = validate(&message);
    let offset = |needle: &str| message.find(needle).unwrap();
    // `ED A0 80` is three maximal subparts.
    assert_eq!(
        summary(&verdict),
        format!(
            "1 text/plain Surrogate@{} UnexpectedContinuation@{} UnexpectedContinuation@{}\n\
             2 text/plain MissingContinuation@{} InvalidEscape@{}\n3 text/plain",
            offset("7a\r\n"),
            offset("a\r\nCA"),
            offset("CA\r\n--b"),
            offset("=C3=\r\n"),
            offset("=ZZ")
        )
    );
    let first = &verdict.parts[1].errors()[0];
    assert_eq!((first.decoded_offset, first.len, first.kind.layer().as_str()), (Some(3), 1, "text"));
    assert_eq!(verdict.parts[3].characters, Some(4));
    assert_eq!(verdict.first_error().unwrap().0.path.to_string(), "1");
}

#[test]
fn other_charsets_are_counted_and_not_checked() {
    let message =
        b"Content-Type: text/plain; charset=ISO-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n\
        caf=E9\n=FF=Z";
    let verdict = validate(message);
    let part = &verdict.parts[0];
    assert_eq!((part.kind, part.charset.as_deref()), (PartKind::OtherText, Some("iso-8859-1")));
    assert_eq!((part.bytes, part.decoded_bytes, part.lines, part.characters), (12, 8, 1, None));
    // The transfer encoding is still checked.
    assert_eq!(summary(&verdict), "1 text/plain InvalidEscape@100");
    let verdict = validate("Content-Transfer-Encoding: x-uuencode\n\na\nb\n");
    let part = &verdict.parts[0];
    assert_eq!((part.bytes, part.decoded_bytes, part.lines, part.characters), (4, 0, 0, None));
    let verdict = validate("Content-Type: text/plain; charset=UTF8\n\n");
    assert_eq!(verdict.parts[0].charset.as_deref(), Some("utf-8"));
    for (label, ok) in [("unicode-1-1-utf-8", false), ("us-ascii", false), ("utf-16", true)] {
        let message =
            format!("Content-Type: text/plain; charset={label}\nContent-Transfer-Encoding: base64\n\n/w==");
        assert_eq!(validate(message).is_ok(), ok, "{label}");
    }
}

#[test]
fn headers_that_readers_parse_differently_are_errors() {
    for (header, expected) in [
        ("Content-Type: text/plain; charset=utf-8; charset=latin1\n", "ConflictingCharset@13"),
        ("Content-Type: text/plain; charset*=''utf-8; charset=latin1\n", "ConflictingCharset@13"),
        ("Content-Type: text/plain\nContent-Type: text/html\n", "ConflictingHeader@25"),
        ("Content-Transfer-Encoding: 8bit\ncontent-transfer-encoding: base64\n", "ConflictingHeader@32"),
        (
            "Content-Type: multipart/mixed; boundary=b\nContent-Type: multipart/mixed; boundary=B\n",
            "ConflictingHeader@42",
        ),
        ("Content-Type: text/plain; charset\n", "MalformedContentType@33"),
        ("Content-Type: text plain\n", "MalformedContentType@19"),
        ("Content-Type: multipart; boundary=b\n", "MalformedContentType@23"),
        ("Content-Transfer-Encoding: x-uuencode\n", "UnknownEncoding@26"),
        ("no field\n", "MalformedHeader@0"),
        ("A: b\nno field\n", "MalformedHeader@5"),
        (" A: b\n", "MalformedHeader@0"),
        ("A: b\rContent-Type: text/html\n", "HeaderControl@4"),
        ("A: b\r\n c\r\r\n", "HeaderControl@8"),
        ("A: b\n c\0\0\n", "HeaderControl@7"),
        ("Content-Type: multipart/mixed\n", "InvalidBoundary@13"),
        ("Content-Type: multipart/mixed; boundary=\"\"\n", "InvalidBoundary@13"),
        (
            "Content-Type: multipart/mixed; boundary=b\nContent-Transfer-Encoding: base64\n",
            "EncodedStructure@68",
        ),
    ] {
        for ending in ["\n", "\r\n"] {
            let message = format!("{header}\ntext\n").replace('\n', ending);
            let offset = if header.matches('\n').count() > 1 && ending == "\r\n" { 1 } else { 0 };
            let (name, at) = expected.split_once('@').unwrap();
            let expected = format!("{name}@{}", at.parse::<usize>().unwrap() + offset);
            let verdict = validate(&message);
            assert!(summary(&verdict).contains(&expected), "{message:?}: {}", summary(&verdict));
        }
    }
    // The line that readers skip does not end the header.
    assert_eq!(summary(&validate(" A: b\nContent-Type: text/html\n\nx")), "1 text/html MalformedHeader@0");
    // Repeating the same value is not an error.
    assert!(validate("Content-Type: text/plain\nContent-Type: Text/plain \n\nx").is_ok());
    assert!(validate("Content-Type: text/plain (really); charset=utf-8; charset=UTF8\n\nx").is_ok());
}

#[test]
fn missing_boundaries_are_reported() {
    let open = "Content-Type: multipart/mixed; boundary=a\n\n";
    let inner = "--a\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n";
    let message = format!("{open}text");
    assert_eq!(
        summary(&validate(&message)),
        format!("0 multipart/mixed MissingFirstBoundary@{}", message.len())
    );
    let message = format!("{open}--a\n\ntext\n--a-\n--ab\n");
    assert_eq!(
        summary(&validate(&message)),
        format!(
            "0 multipart/mixed AmbiguousDelimiter@{} AmbiguousDelimiter@{} MissingFinalBoundary@{}\n1 text/plain",
            message.len() - 10,
            message.len() - 5,
            message.len()
        )
    );
    assert_eq!(validate(&message).parts[1].bytes, 15, "lines that only look like delimiters are text");
    let message = format!("{open}{inner}--a--");
    assert_eq!(
        summary(&validate(&message)),
        format!("1 multipart/mixed MissingFinalBoundary@{}\n1.1 text/plain", message.len() - 5)
    );
    assert!(validate(format!("{open}--a\n\ntext\n--a--")).is_ok());
    // A header without an empty line that ends at the first delimiter of its body.
    let message = "Content-Type: multipart/mixed; boundary=a\n--a\n\ntext\n--a--\n";
    assert_eq!(summary(&validate(message)), "0 multipart/mixed MalformedHeader@42\n1 text/plain");
    assert_eq!(
        summary(&validate("Content-Type: multipart/mixed; boundary=a\n--a--")),
        "0 multipart/mixed MalformedHeader@42 MissingFirstBoundary@42"
    );
}

#[test]
fn the_last_line_is_checked_even_if_it_ends_several_headers() {
    let open = "Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: message/rfc822\n";
    for line in ["--x", "no field", "--", "--a\n--x", "--a\nContent-Type: message/rfc822\n--x"] {
        let verdict = validate([open.as_bytes(), line.as_bytes(), b"\xFF"].concat());
        let end = open.len() + line.len();
        assert!(summary(&verdict).contains(&format!("InvalidLead@{end}")), "{line}: {}", summary(&verdict));
    }
}

#[test]
fn a_part_without_a_body_is_at_its_next_delimiter() {
    let message = "Content-Type: multipart/mixed; boundary=b\n\n--b\nA: b\n--b--\n";
    let verdict = validate(message);
    let end = message.find("--b--").unwrap() as u64;
    assert_eq!((verdict.parts[1].offset, verdict.parts[1].bytes), (end, 0));
    assert_eq!(verdict.parts[1].errors()[0].offset, end);
}

#[test]
fn the_first_field_of_a_part_may_start_like_a_delimiter() {
    let message = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n-A: \xFF\n\nx\n--b--\n";
    assert_eq!(summary(&validate(message)), "1 text/plain InvalidLead@51");
}

#[test]
fn headers_are_checked() {
    let validate = |field: &str| summary(&validate(format!("{field}\n\nx")));
    assert_eq!(validate("Subject: caf\u{e9}, =?utf-8?q?caf=C3=A9_?= =?UTF-8*fr?B?w6k=?="), "1 text/plain");
    assert_eq!(validate("Subject: =?iso-8859-1?q?caf=E9?= =?utf-8?x?=FF?= =?utf-8?q?=FF"), "1 text/plain");
    // Each encoded word must contain whole characters.
    assert_eq!(
        validate("Subject: =?utf-8?q?=C3?=\n =?utf-8?b?qQ==?="),
        "1 text/plain Truncated@19 UnexpectedContinuation@36"
    );
    assert_eq!(
        validate("Subject: =?utf-8?q?caf=ED=A0=80?="),
        format!("1 text/plain Surrogate@22 UnexpectedContinuation@25 UnexpectedContinuation@28")
    );
    assert_eq!(validate("Subject: =?utf-8?q?=C3=28?="), "1 text/plain MissingContinuation@19");
    assert_eq!(validate("Subject: =?utf-8?q?a=zz?="), "1 text/plain InvalidEscape@20");
    assert_eq!(validate("Subject: =?utf-8?b?*w6k=?="), "1 text/plain InvalidSymbol@19");
    for (text, expected) in [("a=4z", "InvalidEscape@20"), ("a=z4", "InvalidEscape@20")] {
        assert_eq!(validate(&format!("Subject: =?utf-8?q?{text}?=")), format!("1 text/plain {expected}"));
    }
    // These have no charset, so they do not contain the start of the next word.
    for start in ["=??q?", "=?a b?q?"] {
        let field = format!("Subject: {start}=?utf-8?q?=FF?=");
        let at = field.find("=FF").unwrap();
        assert_eq!(validate(&field), format!("1 text/plain InvalidLead@{at}"));
    }
    // A word has at most 75 bytes.
    for (start, len, is_long) in [("q", 63, false), ("q", 64, true), ("b", 60, false), ("b", 100, true)] {
        let field = format!("Subject: =?utf-8?{start}?{}?=", &"YWFh".repeat(25)[..len]);
        let warning = if is_long { " LongEncodedWord@9" } else { "" };
        assert_eq!(validate(&field), format!("1 text/plain{warning}"));
    }

    let verdict = validate_with(&MessageValidator::new(), b"A: b\nSubject: \xFF\n c\xED\xA0\n\nx");
    assert_eq!(summary(&verdict), "1 text/plain InvalidLead@14 Surrogate@18 UnexpectedContinuation@19");
    assert_eq!(verdict.parts[0].errors()[0].decoded_offset, None);
    let verdict = validate_with(&MessageValidator::new(), b"Subject: caf\xE2\x82");
    assert_eq!(summary(&verdict), "1 text/plain MissingHeaderEnd@14 Truncated@12");
}

#[test]
fn limits_are_enforced_and_reported() {
    let with = |change: fn(&mut MimeSettings)| {
        let mut settings = MimeSettings::default();
        change(&mut settings);
        MessageValidator::with_settings(settings)
    };
    let level = |i: usize| format!("Content-Type: multipart/mixed; boundary={i}\n\n--{i}\n");
    let nested: String = (0..5).map(level).collect();
    assert_eq!(
        summary(&validate_with(&with(|settings| settings.max_depth = 2), nested.as_bytes()))
            .lines()
            .last()
            .unwrap(),
        format!("1.1 multipart/mixed TooDeep@{}", 2 * level(0).len() + 13)
    );
    let many = format!("Content-Type: multipart/mixed; boundary=b\n\n{}--b--", "--b\n\n\n".repeat(5));
    assert_eq!(
        summary(&validate_with(&with(|settings| settings.max_parts = 3), many.as_bytes())),
        format!("0 multipart/mixed TooManyParts@{}\n1 text/plain\n2 text/plain", 43 + 2 * 6)
    );
    let message = b"Content-Type: message/rfc822\n\nA: b\n\nx";
    assert_eq!(
        summary(&validate_with(&with(|settings| settings.max_parts = 1), message)),
        "1 message/rfc822 TooManyParts@30"
    );
    let large = format!("A: {}\nSubject: \u{e9}\n\n{}\n", "x".repeat(90), "y".repeat(100));
    let verdict = validate_with(&with(|settings| settings.max_header_length = 100), large.as_bytes());
    assert_eq!(summary(&verdict), "1 text/plain HeaderTooLarge@100");
    assert_eq!(verdict.parts[0].bytes, large.len() as u64 - 100);
    // The line break after the unread rest of the header belongs to the delimiter, for every partition.
    let large = format!("Content-Type: multipart/mixed; boundary=b\n\n--b\nA: {}\n--b--\n", "x".repeat(44));
    let verdict = validate_with(&with(|settings| settings.max_header_length = 43), large.as_bytes());
    assert_eq!((summary(&verdict).as_str(), verdict.parts[1].bytes), ("1 text/plain HeaderTooLarge@90", 4));
    let line = format!("A: b\nB: {}\n\n\n", "x".repeat(96));
    assert_eq!(
        summary(&validate_with(&with(|settings| settings.max_line_length = 98), line.as_bytes())),
        "1 text/plain HeaderLineTooLong@103"
    );
    let line = format!("A: b\nB: {}\n\n\n", "x".repeat(95));
    assert_eq!(
        summary(&validate_with(&with(|settings| settings.max_line_length = 98), line.as_bytes())),
        "1 text/plain"
    );
    let line = "Content-Transfer-Encoding: 8bit\n\n12345678901234567890123456789012345\n";
    assert_eq!(
        summary(&validate_with(&with(|settings| settings.max_line_length = 33), line.as_bytes())),
        "1 text/plain LineTooLong@66"
    );
    let flood = [&b"Content-Type: text/plain; charset=utf-8\n\n"[..], &[0xFF; 900]].concat();
    let verdict = validate_chunks(&with(|settings| settings.max_errors = 3), &[&flood]);
    assert_eq!((verdict.parts[0].errors().len(), verdict.parts[0].error_count()), (3, 900));
    let words = format!("Subject: {}\n\n", format!("=?utf-8?q?{}?= ", "a".repeat(64)).repeat(5));
    let verdict = validate_with(&with(|settings| settings.max_errors = 3), words.as_bytes());
    assert_eq!((verdict.parts[0].warnings().len(), verdict.parts[0].warning_count()), (3, 5));
}

#[test]
fn a_lenient_validator_accepts_base64_without_padding() {
    let mut settings = MimeSettings::default();
    settings.max_line_length = 38;
    settings.lenient = true;
    let mut lenient = MessageValidator::with_settings(settings);
    for charset in ["utf-8", "iso-8859-1"] {
        let message =
            format!("Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64\n\nYQ\n");
        assert!(summary(&validate(&message)).starts_with("1 text/plain MissingPadding@"), "{charset}");
        lenient.push(message.as_bytes());
        assert_eq!(summary(&lenient.finish()), "1 text/plain HeaderLineTooLong@38", "{charset}");
    }
}

#[test]
fn a_validator_can_be_fed_again_after_its_end() {
    let mut validator = MessageValidator::new();
    validator.push(b"From me\nContent-Type: text/plain; charset=utf-8\n\n\xFF");
    assert!(!validator.is_ok());
    assert_eq!(validator.offset(), 50);
    assert!(!validator.finish().is_ok());
    assert!(validator.is_ok());
    assert_eq!(validator.offset(), 0);
    validator.push(b"A: b\n\nc");
    let verdict = validator.finish();
    assert_eq!((verdict.bytes, verdict.parts[0].offset, verdict.is_ok()), (7, 6, true));
}

#[test]
fn the_verdict_on_any_bytes_is_the_same_for_every_partition() {
    const PARTS: &[&str] = &[
        "Content-Type: multipart/mixed; boundary=b\n",
        "Content-Type: text/plain; charset=utf-8\n",
        "Content-Type: multipart/digest; boundary=bb\r\n",
        "Content-Type: message/rfc822\n",
        "Content-Transfer-Encoding: base64\r\n",
        "Content-Transfer-Encoding: quoted-printable\n",
        "Subject: =?utf-8?q?=C3?=\n",
        "A: b\n",
        " c\n",
        "\n",
        "\n",
        "\r\n",
        "--b\n",
        "--b\r\n",
        "\n--b\n",
        "--b--\n",
        "--bb\n",
        "--bb--\r\n",
        "--b\t \n",
        "--b x\n",
        "--b",
        "\r--b--",
        "x--bb",
        "-b",
        "--",
        "-",
        "\r",
        "text",
        "=C3=A9",
        "=",
        "w6k=",
        "caf\u{e9}",
        "no field\n",
    ];
    let mut rng = Rng::new(5322);
    for round in 0..600 {
        let mut message = Vec::new();
        for _ in 0..2 + round % 20 {
            message.extend_from_slice(PARTS[rng.below(PARTS.len())].as_bytes());
            if rng.below(12) == 0 {
                message.extend(rng.dirty_text(3));
            }
        }
        validate(&message);
        let mut settings = MimeSettings::default();
        (settings.max_header_length, settings.max_line_length) = (rng.below(150), rng.below(80));
        (settings.max_parts, settings.max_depth) = (rng.below(6), rng.below(6));
        validate_with(&MessageValidator::with_settings(settings), &message);
    }
}
