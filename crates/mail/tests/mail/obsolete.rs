//! Headers that some readers end early, after a BOM or a field with white space before the colon (RFC 5322 §4.5).
use crate::support::messages::{summary, validate};

/// Replaces `BOM`, `\n` and `FF`.
fn message(text: &str) -> Vec<u8> {
    let text = text.replace("BOM", "\u{feff}").replace('\n', "\r\n");
    text.split("FF").map(str::as_bytes).collect::<Vec<_>>().join(&b"\xFF"[..])
}

#[test]
fn a_raw_body_that_some_readers_show_is_checked() {
    for (text, expected) in [
        (
            "Content-Type : text/plain; charset=iso-8859-1\n\nFF",
            "1 text/plain AmbiguousHeader@12 SpaceBeforeColon@12",
        ),
        ("Content-Type : text/plain; charset=iso-8859-1\n\nx", "1 text/plain SpaceBeforeColon@12"),
        ("Content-Type : image/png\n\nFF", "1 image/png AmbiguousHeader@12 SpaceBeforeColon@12"),
        ("BOMContent-Type: image/png\n\nFF", "1 image/png AmbiguousHeader@0 ByteOrderMark@0"),
        ("BOMContent-Type: image/png\n\nx", "1 image/png ByteOrderMark@0"),
        ("BOMA: b\nContent-Type: image/png\n\nFF", "1 image/png AmbiguousHeader@0 ByteOrderMark@0"),
        ("A : b\nContent-Type: image/png\n\nFF", "1 image/png AmbiguousHeader@1 SpaceBeforeColon@1"),
        // A sequence that ends in the next part.
        ("A : b\nContent-Type: image/png\n\n\u{e9}", "1 image/png SpaceBeforeColon@1"),
        // The body is encoded, so that the raw body is ASCII.
        (
            "BOMA: b\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\n/w==",
            "1 image/png ByteOrderMark@0",
        ),
        // Text is checked in any case.
        (
            "BOMContent-Type: text/html\n\nFF",
            "1 text/html InvalidLead@30 ByteOrderMark@0 UndeclaredEightBit@30",
        ),
    ] {
        assert_eq!(summary(&validate(message(text))), expected, "{text}");
    }
}

#[test]
fn the_raw_parts_that_some_readers_show_are_checked() {
    let parts = "Content-Type: image/png\n\n@\n--b\n\nx\n--b--\nepilogue @\n";
    let mixed = |head: &str, at: &str, end: &str| {
        let parts = parts.replacen('@', at, 1).replacen('@', end, 1);
        message(&format!("{head}\n\npreamble\n--b\n{parts}"))
    };
    let multipart = "multipart/mixed; boundary=b";
    for head in [
        format!("Content-Type : {multipart}"),
        format!("BOMContent-Type: {multipart}"),
        format!("BOMA: b\nContent-Type: {multipart}"),
        format!("A : b\nContent-Type: {multipart}"),
    ] {
        assert!(validate(mixed(&head, "\u{e9}", "\u{e9}")).is_ok(), "{head}");
        for (at, end) in [("FF", "x"), ("x", "FF")] {
            let verdict = validate(mixed(&head, at, end));
            let (part, error) = verdict.first_error().expect("an error");
            assert_eq!(
                (part.content_type.as_str(), error.kind.as_str()),
                ("multipart/mixed", "AmbiguousHeader")
            );
        }
    }
    // All readers find the parts, and none shows the image as text.
    let head = format!("Content-Type: {multipart}\nA : b");
    assert!(validate(mixed(&head, "FF", "x")).is_ok());
    // A field that is a delimiter for the readers that end the header before.
    let head = "Content-Type: multipart/mixed; boundary=\"b:\"\nA : b\n--b:\n\n\n--b:\n\nx\n--b:--\n";
    assert!(!validate(message(head)).is_ok());

    // Only the part with the field is checked, up to the delimiter of the multipart that contains it.
    let nested = "Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: image/png\n\nFF\n--a\n\
                  A : b\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: image/png\n\n@\n--b--\n#\n\
                  --a\nContent-Type: image/png\n\nFF\n--a--\nFF\n";
    let nested = |at: &str, end: &str| validate(message(&nested.replace('@', at).replace('#', end)));
    assert!(nested("x", "x").is_ok());
    assert!(!nested("FF", "x").is_ok() && !nested("x", "FF").is_ok());
    let attached = "Content-Type : message/rfc822\n\nContent-Type: image/png\n\n";
    assert!(validate(message(&format!("{attached}x"))).is_ok());
    assert!(!validate(message(&format!("{attached}FF"))).is_ok());
    // Half a character at the end of a body is not completed by the next part.
    let halves = "A : b\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: image/png\n\n@\n--b\n\
                  Content-Type: image/png\n\n#\n--b--\n";
    let (one, two) = halves.split_once('@').unwrap();
    let (two, three) = two.split_once('#').unwrap();
    assert!(
        !validate([&message(one)[..], b"\xC3", &message(two), b"\xA9", &message(three)].concat()).is_ok()
    );
}

#[test]
fn a_body_that_some_readers_decode_otherwise_is_an_error() {
    let utf8 = "Content-Type: text/plain; charset=utf-8\n";
    let base64 = "Content-Transfer-Encoding: base64\n";
    for text in [
        // The line is decoded with the body.
        format!("{utf8}{base64}A : b\n\nw6k="),
        format!("{base64}A : b\n{utf8}\nw6k="),
        // A reader that does not find the type decodes text.
        format!("Content-Type : image/png\n{base64}\n/w=="),
        format!("BOMContent-Type: text/plain; charset=iso-8859-1\n{base64}\n/w=="),
    ] {
        assert!(summary(&validate(message(&text))).contains(" AmbiguousHeader@"), "{text}");
    }
    for text in [
        format!("A : b\n{utf8}{base64}\nw6k="),
        format!("{utf8}A : b\n{base64}\nw6k="),
        format!("BOM{utf8}{base64}\nw6k="),
        format!("BOMA: b\n{utf8}{base64}\nw6k="),
        "Content-Type : image/png\nContent-Transfer-Encoding : base64\n\n/w==".into(),
        "Content-Type: image/png\nContent-Transfer-Encoding : base64\n\n/w==".into(),
        format!("Content-Type: image/png\n{base64}Content-Disposition : attachment\n\n/w=="),
    ] {
        assert!(validate(message(&text)).is_ok(), "{text}");
    }
    let digest = "Content-Type: multipart/digest; boundary=b\n\n--b\nContent-Type : text/plain\n\nx\n--b--\n";
    assert!(!validate(message(digest)).is_ok());
}
