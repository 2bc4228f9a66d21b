//! `MessageValidator`: text in headers, and syntax that readers must accept, for every partition.

use utf8_codec_mail::{MessageValidator, MimeErrorKind, MimeSettings, PartKind};

use crate::support::messages::{summary, validate, validate_with};

/// Returns the summary of a message that consists of a subject.
fn subject(text: &str) -> String {
    summary(&validate(format!("Subject: {text}\r\n\r\nx")))
}

#[test]
fn encoded_words_with_folds_in_them_are_checked() {
    for text in [
        "=?utf-8?Q?a\r\n =C3=A9?=",
        "=?utf-8?Q?\r\n\ta_\r\n b?=",
        "=?utf-8?B?w6\r\n k=?=",
        "=?utf-8?B?\r\n w6k=\r\n ?=",
        "=?utf-8\r\n ?Q?=C3=A9?=",
        "=?iso-8859-1?Q?a\r\n =FF?=",
        // These are not words.
        "=?utf-8?\r\n Q?=FF?=",
        "=?utf-8?Q?=FF?\r\n =",
        "=?utf-8?Q?=FF",
    ] {
        assert_eq!(subject(text), "1 text/plain", "{}", text.escape_debug());
    }
    for (text, kind, at) in [
        ("=?utf-8?Q?a\r\n =FF?=", "InvalidLead", "=FF"),
        ("=?utf-8?Q?\r\n =FF?=", "InvalidLead", "=FF"),
        ("=?utf-8?Q?=FF\r\n ?=", "InvalidLead", "=FF"),
        ("=?utf-8?Q?=C3\r\n ?=", "MissingContinuation", "=C3"),
        // A word contains whole characters, and white space is part of it.
        ("=?utf-8?Q?=C3\r\n =A9?=", "MissingContinuation", "=C3"),
        ("=?utf-8?Q?=C\r\n 3?=", "InvalidEscape", "=C\r"),
        ("=?utf-8\r\n ?Q?=FF?=", "InvalidLead", "=FF"),
        ("=?utf\r\n -8?Q?=FF?=", "InvalidLead", "=FF"),
        ("=?us-ascii?Q?a\r\n =FF?=", "InvalidLead", "=FF"),
        ("=?utf-8?B?/\r\n w==?=", "InvalidLead", "/\r"),
    ] {
        let first = subject(text);
        let at = "Subject: ".len() + text.find(at).unwrap();
        assert!(first.starts_with(&format!("1 text/plain {kind}@{at}")), "{}: {first}", text.escape_debug());
    }
    // The line break is not part of the text.
    let verdict = validate("Subject: =?utf-8?Q?a\r\n =FF?=\r\n\r\nx");
    assert_eq!(verdict.parts[0].errors()[0].decoded_offset, Some(2));
}

#[test]
fn a_word_inside_a_word_in_another_charset_is_checked() {
    let text = "=?x?q? =?iso-8859-1?Q?a\r\n =?utf-8?q?=FF?= =?utf-8?q?=FE?=";
    let at = |needle| 9 + text.find(needle).unwrap();
    assert_eq!(subject(text), format!("1 text/plain InvalidLead@{} InvalidLead@{}", at("=FF"), at("=FE")));
    assert_eq!(subject("=?iso-8859-1?B?YQ==?==?utf-8?q?=C3=A9?="), "1 text/plain");
}

#[test]
fn labels_of_utf_8_and_us_ascii_are_checked() {
    for label in ["us-ascii", "ASCII", "646", "utf-8", "UTF 8", "cp65001"] {
        let word = format!("=?{label}?Q?caf=FF?=");
        let at = 9 + word.find("=FF").unwrap();
        assert_eq!(subject(&word), format!("1 text/plain InvalidLead@{at}"));
        let body = validate(format!(
            "Content-Type: text/plain; charset=\"{label}\"\r\nContent-Transfer-Encoding: base64\r\n\r\n/w==\r\n"
        ));
        assert_eq!((body.parts[0].kind, body.is_ok()), (PartKind::Text, false), "{label}");
    }
    for label in ["utf-7", "utf-16", "iso-8859-1", "x-user-defined"] {
        assert_eq!(subject(&format!("=?{label}?Q?caf=FF?=")), "1 text/plain");
    }
    let verdict = validate("Content-Type: text/plain; charset=UTF_8\r\n\r\nx");
    assert_eq!(verdict.parts[0].charset.as_deref(), Some("utf-8"));
}

#[test]
fn extended_values_of_parameters_are_checked() {
    let check = |field: &str, value: &str| {
        let verdict = validate(format!("{field}: {value}\r\n\r\n"));
        let errors: Vec<_> = verdict.parts[0]
            .errors()
            .iter()
            .filter(|error| matches!(error.kind, MimeErrorKind::Text(_)))
            .map(|error| (error.kind.as_str(), error.offset as usize - field.len() - 2, error.decoded_offset))
            .collect();
        errors
    };
    for value in [
        "attachment; filename*=UTF-8''caf%C3%A9.pdf",
        "attachment; filename*=\"UTF-8''caf%C3%A9.pdf\"",
        "attachment; filename*=iso-8859-1'fr'caf%E9.pdf",
        "attachment; filename*0*=iso-8859-1''caf%E9; filename*1*=%E9.pdf",
        // The sections of a value are joined (RFC 2231 section 3).
        "attachment; filename*0*=UTF-8''caf%C3 ;\r\n filename*1*=%A9.pdf",
        "attachment; filename*1*=%A9.pdf; FileName*0*=UTF-8''caf%C3",
        // Only sections that end in `*` are in percent-encoding.
        "attachment; filename*0*=UTF-8''a; filename*1=%FF",
        "attachment; filename=UTF-8''%FF; name=\"x*=%FF\"",
        "attachment; filename*x=%FF; *=%FF; =%FF; filename*=%zz%",
    ] {
        for field in ["Content-Disposition", "Content-Type"] {
            assert_eq!(check(field, value), [], "{field}: {value}");
        }
    }
    for (value, needle, decoded) in [
        ("attachment; filename*=UTF-8''caf%FF.pdf", "%FF", 3),
        ("attachment; filename*=\"UTF-8'en'caf%FF.pdf\"", "%FF", 3),
        ("attachment; filename* = utf_8''%FF", "%FF", 0),
        ("attachment; filename*=us-ascii''caf%FF.pdf", "%FF", 3),
        // Without a charset the text is in US-ASCII.
        ("attachment; filename*=''%FF", "%FF", 0),
        ("attachment; filename*=caf%FF.pdf", "%FF", 3),
        ("attachment; filename*0=\"UTF-8''\"; filename*1*=%FF", "%FF", 7),
        ("attachment; filename*0*=UTF-8''caf;\r\n\tfilename*1*=%FF.pdf", "%FF", 3),
        ("attachment; filename*1*=%FF.pdf; filename*0*=UTF-8''caf", "%FF", 3),
        ("attachment; filename*0*=\"UTF-8''a\"; filename*1=\"b\\\"\"; filename*2*=\"%FF\"", "%FF", 3),
        ("attachment; filename*00*=UTF-8''%FF", "%FF", 0),
        // Without its first section, and with a gap.
        ("attachment; filename*1*=%FF", "%FF", 0),
        ("attachment; filename*0*=UTF-8''a; filename*2*=%FF", "%FF", 1),
        // Twice, in one of two charsets.
        ("attachment; filename*0*=UTF-8''a; filename*0*=UTF-8''%FF", "%FF", 1),
        ("attachment; filename*0*=iso-8859-1''a; filename*0*=UTF-8''%FF", "%FF", 0),
        // In fields that are malformed in other places.
        ("filename*=UTF-8''%FF", "%FF", 0),
        ("attachment; foo; filename*=UTF-8''a@b%FF [1]", "%FF", 3),
        ("attachment (it's \"; filename*=UTF-8''%FF", "%FF", 0),
        ("attachment; name=\"; filename*=UTF-8''%FF", "%FF", 0),
    ] {
        for field in ["Content-Disposition", "content-type"] {
            let at = value.find(needle).unwrap();
            assert_eq!(check(field, value), [("InvalidLead", at, Some(decoded))], "{field}: {value}");
        }
    }
    let value = "attachment; filename*0*=UTF-8''%C3; filename*1=x; filename*1*=%A9; filename*=UTF-8''%C3";
    let kinds: Vec<_> = check("Content-Disposition", value).iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, ["Truncated", "Truncated", "UnexpectedContinuation"]);
    // A byte that is not encoded is reported once, with the header.
    let verdict = validate(b"Content-Disposition: a; filename*=UTF-8''\xFF%41\r\n\r\n");
    assert_eq!((verdict.parts[0].error_count(), verdict.parts[0].errors()[0].decoded_offset), (1, None));
    assert!(check("Subject", "a; filename*=UTF-8''%FF").is_empty());
}

#[test]
fn a_bom_before_the_header_is_a_warning() {
    let bom = "\u{feff}";
    for (message, expected) in [
        ("Content-Type: text/html\n\nx", "1 text/html ByteOrderMark@0"),
        ("From me\nContent-Type: text/html\n\nx", "1 text/html ByteOrderMark@0"),
        ("\nx", "1 text/plain ByteOrderMark@0"),
        ("", "1 text/plain ByteOrderMark@0"),
        ("no field\n", "1 text/plain MalformedHeader@3 ByteOrderMark@0"),
        (" A: b\nContent-Type: text/html\n\nx", "1 text/html MalformedHeader@3 ByteOrderMark@0"),
        ("A: b\n c\nB\r: d\n\nx", "1 text/plain MalformedHeader@11 ByteOrderMark@0"),
    ] {
        let verdict = validate(format!("{bom}{message}"));
        assert_eq!(summary(&verdict), expected, "{message:?}");
    }
    let body = validate(format!("{bom}Subject: x\n\nbody"));
    assert_eq!((body.parts[0].offset, body.parts[0].bytes, body.is_ok()), (15, 4, true));
    // Only at the start of the message, and only one.
    assert!(!validate(format!("A: b\n{bom}B: c\n\nx")).is_ok());
    assert!(!validate(format!("{bom}{bom}A: b\n\nx")).is_ok());
    let part = format!("Content-Type: multipart/mixed; boundary=b\n\n--b\n{bom}A: b\n\nx\n--b--\n");
    assert!(!validate(part).is_ok());
    let mut settings = MimeSettings::default();
    settings.max_header_length = 8;
    let verdict = validate_with(&MessageValidator::with_settings(settings), "\u{feff}A: b\n\nx".as_bytes());
    assert_eq!(summary(&verdict), "1 text/plain HeaderTooLarge@8 ByteOrderMark@0");
}

#[test]
fn white_space_before_a_colon_is_a_warning() {
    let message = "Content-Type \t: text/html\nContent-Transfer-Encoding :base64\n\nw6k=\n";
    assert_eq!(summary(&validate(message)), "1 text/html SpaceBeforeColon@12 SpaceBeforeColon@51");
    assert_eq!(validate(message).parts[0].characters, Some(1));
    assert_eq!(summary(&validate("From : me\nA: b\n\nx")), "1 text/plain SpaceBeforeColon@4");
    assert_eq!(
        summary(&validate("Content-Disposition : a; x*=''%FF\n\n")),
        "1 text/plain InvalidLead@30 SpaceBeforeColon@19"
    );
    for line in ["A B: c", " : a", ": a", "A\u{a0}: b", "A\n : b"] {
        assert!(!validate(format!("{line}\n\nx")).is_ok(), "{line}");
    }
}

#[test]
fn half_a_type_or_an_empty_charset_is_read_as_missing() {
    for (value, content_type) in [
        ("text", "text/plain"),
        ("TEXT ; format=flowed", "text/plain"),
        ("text/", "text/plain"),
        ("html", "text/plain"),
        ("", "text/plain"),
        ("text; charset=utf-8", "text/plain"),
        ("text/html; charset=\"\"", "text/html"),
        ("text/html; charset=\" \"", "text/html"),
        ("text/html; charset=", "text/html"),
        ("text/html; charset=; format=flowed", "text/html"),
    ] {
        let head = format!("Content-Type: {value}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n");
        let verdict = validate([head.as_bytes(), b"caf\xC3\xA9"].concat());
        assert_eq!(summary(&verdict), format!("1 {content_type} IncompleteContentType@13"), "{value}");
        assert_eq!(
            (verdict.parts[0].kind, verdict.parts[0].characters),
            (PartKind::Text, Some(4)),
            "{value}"
        );
        assert!(!validate([head.as_bytes(), b"caf\xE9"].concat()).is_ok(), "{value}");
    }
    let verdict = validate("Content-Type: text/html; charset=\"\"\r\n\r\nx");
    assert_eq!(verdict.parts[0].charset, None);
    let verdict = validate(b"Content-Type: text; charset=iso-8859-1\r\n\r\n\xE9");
    assert_eq!((verdict.parts[0].kind, verdict.is_ok()), (PartKind::OtherText, true));
    let verdict = validate(b"Content-Type: application/pdf; charset=\"\"\r\n\r\n\xE9");
    assert_eq!((verdict.parts[0].kind, verdict.is_ok()), (PartKind::Other, true));
    // Readers differ in whether these have parts or a charset.
    for value in [
        "multipart; boundary=b",
        "message",
        "multipart/",
        "; charset=utf-8",
        "text plain",
        "/plain",
        "text (; boundary=b",
    ] {
        let verdict = validate(format!("Content-Type: {value}\r\n\r\nx"));
        assert!(summary(&verdict).contains("MalformedContentType@"), "{value}");
    }
    let digest = "Content-Type: multipart/digest; boundary=b\n\n--b\nContent-Type: text\n\nx\n--b--\n";
    assert!(summary(&validate(digest)).contains("MalformedContentType@"));
}
