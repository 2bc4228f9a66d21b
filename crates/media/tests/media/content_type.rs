//! `Content-Type` and its charset.

use utf8_codec_media::content_type::{Charset, ContentType, is_ascii_label, is_utf8_label};

fn charset(value: &str) -> String {
    match ContentType::parse(value.as_bytes()).expect(value).charset() {
        Charset::Other(label) => format!("Other({})", String::from_utf8_lossy(label)),
        charset => format!("{charset:?}"),
    }
}

#[test]
fn every_label_of_utf_8_is_recognized() {
    for label in ["utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"] {
        assert!(is_utf8_label(label.as_bytes()));
        assert!(is_utf8_label(format!("\t{label} ").as_bytes()));
        let escaped = label.replace('u', "\\u").replace('-', "\\-");
        for written in
            [label.to_owned(), label.to_uppercase(), format!("\"{label}\""), format!("\"{escaped}\"")]
        {
            assert_eq!(charset(&format!("text/plain;CharSet={written}")), "Utf8", "{written}");
        }
    }
    for label in ["", "utf-7", "utf_8", "utf-8x", "xutf-8", "utf 8", "utf-16", "us-ascii"] {
        assert!(!is_utf8_label(label.as_bytes()), "{label}");
    }
}

/// The IANA registry of character sets, the WHATWG Encoding Standard, `Encoding` of .NET, and `encodings/aliases.py` of
/// Python, which ignores case and punctuation.
#[test]
fn the_labels_of_iana_python_and_dotnet_are_recognized() {
    for label in [
        "utf_8",
        "csUTF8",
        "cp65001",
        "U8",
        "UTF",
        "utf-8-sig",
        "utf8_ucs4",
        "X-unicode20utf8",
        "unicode-1-1-utf-8",
        "unicode-2-0-utf-8",
        "x-unicode-1-1-utf-8",
        "x-unicode-2-0-utf-8",
    ] {
        assert_eq!(Charset::for_label(label.as_bytes()), Charset::Utf8, "{label}");
        let value = format!("text/plain; charset={label}");
        for parse in [ContentType::parse, ContentType::parse_mail] {
            assert_eq!(parse(value.as_bytes()).unwrap().charset(), Charset::Utf8, "{label}");
        }
        assert!(!is_ascii_label(label.as_bytes()), "{label}");
    }
    for label in [" UTF8 ", "utf 8", "'utf-8'", "utf-8;", "utf\r\n -8"] {
        assert_eq!(Charset::for_label(label.as_bytes()), Charset::Utf8, "{label}");
    }
    for label in
        "646 ansi_x3_4_1968 ANSI_X3.4-1968 ANSI_X3.4-1986 us-ascii us_ascii US_ASCII us ASCII iso-ir-6 \
        ISO_646.irv:1991 ISO646-US IBM367 cp367 csASCII"
            .split(' ')
            .chain(["us ascii"])
    {
        assert!(is_ascii_label(label.as_bytes()), "{label}");
        assert_eq!(Charset::for_label(label.as_bytes()), Charset::Other(label.as_bytes()));
    }
    for label in [
        "",
        " ",
        "-",
        "utf-7",
        "utf-16",
        "u-8",
        "utf-8-x",
        "x-utf-8",
        "iso-8859-1",
        "ascii-8",
        "us-646",
        "u\u{fc}8",
    ] {
        assert!(!is_ascii_label(label.as_bytes()), "{label}");
        assert_eq!(Charset::for_label(label.as_bytes()), Charset::Other(label.as_bytes()));
    }
}

#[test]
fn all_charset_parameters_are_read() {
    assert_eq!(charset("text/plain"), "Missing");
    assert_eq!(charset("text/plain; format=flowed"), "Missing");
    assert_eq!(charset("text/plain; charset=latin1"), "Other(latin1)");
    assert_eq!(charset("text/plain; charset=latin1; charset=\"LATIN1\""), "Other(latin1)");
    assert_eq!(charset("text/plain; charset=utf-8; charset=UTF8"), "Utf8");
    assert_eq!(charset("text/plain; charset=utf-8; charset=latin1"), "Conflicting");
    assert_eq!(charset("text/plain; charset=latin1; charset=utf-8"), "Conflicting");
    for mail in ["charset*=utf-8''utf-16", "Charset*0=utf-16", "charset*0*=''utf-16; charset=utf-8"] {
        assert_eq!(
            charset(&format!("text/plain; {mail}")),
            "Conflicting",
            "some readers of HTTP decode them too"
        );
    }
    assert_eq!(charset("text/plain; charset*1=utf-16; charset**=a; x-charset*=b"), "Missing");
    assert_eq!(charset("text/plain; charset=utf-8; a=b; CHARSET=x; charset=utf-8"), "Conflicting");
    assert_eq!(charset("text/plain; charset=\"\""), "Other()");
    assert_eq!(charset("text/plain; xcharset=latin1; charset=utf-8"), "Utf8");
}

#[test]
fn types_and_parameters_are_parsed() {
    let value = b" Multipart/Form-Data ;; boundary=\"a \\\"b\\\\c\xC3\xA9\"\t;\tx=y!; ";
    let form = ContentType::parse(value).expect("a media type");
    assert!(form.is("multipart", "form-data"));
    assert_eq!((form.top(), form.subtype(), form.suffix()), ("Multipart", "Form-Data", None));
    assert_eq!(form.parameter("Boundary"), Some("a \"b\\cé".as_bytes()));
    assert_eq!(form.parameter("x"), Some(&b"y!"[..]));
    assert_eq!(form.parameter("y"), None);
    assert_eq!(form.parameters().count(), 2);
    let atom = ContentType::parse(b"application/vnd.x+y+XML").expect("a media type");
    assert_eq!(atom.suffix(), Some("XML"));
}

#[test]
fn a_value_outside_the_grammar_is_an_error_at_its_position() {
    for (value, position) in [
        (&b""[..], 0),
        (b"text", 4),
        (b"text/", 5),
        (b"/plain", 0),
        (b"text /plain", 4),
        (b"text/ plain", 5),
        (b"text/plain charset=utf-8", 11),
        (b"text/plain, text/html", 10),
        (b"text/plain; charset", 19),
        (b"text/plain; charset=", 20),
        (b"text/plain; charset =utf-8", 19),
        (b"text/plain; charset= utf-8", 20),
        (b"text/plain; charset=\"utf-8", 26),
        (b"text/plain; charset=\"utf-8\\", 27),
        (b"text/plain; charset=\"utf-8\"x", 27),
        (b"text/plain; charset=\"a\0\"", 22),
        (b"text/plain; charset=\"a\\\0\"", 23),
        (b"text/plain; charset=utf-8(comment)", 25),
        // A field value contains no line break (RFC 9110 section 5.5), and a token contains no braces (section 5.6.2).
        (b"\r\ntext/plain", 0),
        (b"text/plain\r\n", 10),
        (b"text/plain;\r\n charset=utf-8", 11),
        (b"text/plain;\ncharset=utf-8", 11),
        (b"text/plain;\x0Ccharset=utf-8", 11),
        (b"text/plain; charset=\"utf\r\n -8\"", 24),
        (b"text/plain; x={y}", 14),
        (b"text/plain; x=y}", 15),
        (b"text/{plain", 5),
        (b"{/plain", 0),
        (b"te\xC3\xA9xt/plain", 2),
    ] {
        let error = ContentType::parse(value).expect_err(&String::from_utf8_lossy(value));
        assert_eq!(error.position, position, "{}", String::from_utf8_lossy(value));
        assert_eq!(error.to_string(), format!("malformed media type at byte {position}"));
    }
}

#[test]
fn mail_allows_comments_folded_lines_and_parameter_sections() {
    let mail = |value: &'static str| ContentType::parse_mail(value.as_bytes()).expect(value);
    for value in [
        "text/plain; charset=utf-8",
        " (a (nested \\) one)) text (b) / (c) plain (d) ; (e) charset (f) = (g) utf-8 (h) ",
        "text/plain;\r\n\tcharset\r\n =\r\n \"utf-8\"",
        "text/plain; charset*0=ut; charset*1=\"f-8\"",
        "text/plain; charset*1=f-8; CHARSET*0=ut",
        "text/plain; charset*=us-ascii'en'utf%2d8",
        "text/plain; charset*0*=''u%74; charset*1=f; charset*2*=%2D8",
        "text/plain; charset=utf-8; charset*=''UTF8",
    ] {
        let read = mail(value);
        assert!(read.is("text", "plain"), "{value}");
        assert_eq!(read.charset(), Charset::Utf8, "{value}");
    }
    assert_eq!(mail("text/plain; charset=utf-8; charset*=''latin1").charset(), Charset::Conflicting);
    assert_eq!(mail("text/plain; charset*0=utf-8; charset*0=latin1").charset(), Charset::Conflicting);
    assert_eq!(
        mail("text/plain; charset*0=utf; charset*1=-8; charset*1=-16").charset(),
        Charset::Conflicting
    );
    // Only a later percent-encoded section may be empty (RFC 2231 section 7).
    assert_eq!(mail("a/b; x*0*=''1; x*1*=; x*2*=2").parameter("x"), Some(&b"12"[..]));
    assert_eq!(mail("a/b; x*0*=''1; x*1*=").parameter("x"), Some(&b"1"[..]));
    assert_eq!(mail("a/b; x*0=1; x*1*= (empty) ; x*2=2").parameter("x"), Some(&b"12"[..]));
    for (value, position) in
        [("a/b; x*1=", 9), ("a/b; x*=", 8), ("a/b; x*0*=", 10), ("a/b; x=; y=1", 7), ("a/b; x*1*=,", 10)]
    {
        assert_eq!(ContentType::parse_mail(value.as_bytes()).expect_err(value).position, position, "{value}");
    }
    // Some mail programs write braces in boundaries, as RFC 2045 section 5.1 allows.
    assert_eq!(mail("a/b; boundary={1}").parameter("boundary"), Some(&b"{1}"[..]));
    // A parameter starts with section 0 and ends before the first missing section.
    assert_eq!(mail("a/b; x*0=1; x*2=3").parameter("x"), Some(&b"1"[..]));
    assert_eq!(mail("a/b; x*1=1").parameter("x"), None);
    // Only the first section has a charset and a language, and only in percent-encoding.
    assert_eq!(mail("a/b; x*0=\"a'b'c\"").parameter("x"), Some(&b"a'b'c"[..]));
    assert_eq!(mail("a/b; x*0*=a'b'c; x*1*=d'e'f").parameter("x"), Some(&b"cd'e'f"[..]));
    // No parameter has an empty name: a name that starts with `*` is an ordinary one.
    let star = ContentType::parse_mail(b"a/b; *0=x; *1*=y; **=z; *=w").expect("tokens");
    let names: Vec<_> = star.parameters().map(|(name, _)| name).collect();
    assert_eq!(names, ["*0", "*1*", "**", "*"]);
    // A name outside the grammar of RFC 2231 is an ordinary name. A `%` without two hexadecimal digits is kept.
    assert_eq!(mail("a/b; x*01=1").parameter("x*01"), Some(&b"1"[..]));
    assert_eq!(mail("a/b; x*=a'b'%4%zz%41").parameter("x"), Some(&b"%4%zzA"[..]));
    assert_eq!(mail("a/b; boundary=----=_Part/1:2").parameter("boundary"), Some(&b"----=_Part/1:2"[..]));
    assert_eq!(mail("a/b; x=\"1\r\n 2\"").parameter("x"), Some(&b"1 2"[..]));

    for (value, position) in [
        ("text/plain (", 12),
        ("text/plain (\\", 13),
        ("text", 4),
        ("text/plain; a", 13),
        ("text/plain b", 11),
    ] {
        assert_eq!(ContentType::parse_mail(value.as_bytes()).expect_err(value).position, position, "{value}");
    }
    // HTTP allows none of these.
    for value in ["text/plain (a)", "text /plain", "text/plain; charset =utf-8", "a/b; x=a/b", "a/b; x*1*="] {
        assert!(ContentType::parse(value.as_bytes()).is_err(), "{value}");
    }
    assert_eq!(ContentType::parse(b"a/b; x*=''1").expect("a media type").parameter("x"), None);
}
