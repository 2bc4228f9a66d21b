//! Types that are text, and XML that declares its encoding (RFC 7303 §3).

use utf8_codec_mail::{MessageValidator, PartKind};

use crate::support::messages::{summary, validate, validate_chunks};

#[test]
fn bodies_of_text_types_are_checked() {
    for content_type in
        ["application/xml", "application/x-ndjson", "image/svg+xml", "application/yaml", "text/xml"]
    {
        let head = format!("Content-Type: {content_type}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n");
        let verdict = validate([head.as_bytes(), b"\xFF"].concat());
        assert_eq!(summary(&verdict), format!("1 {content_type} InvalidLead@{}", head.len()));
        assert!(validate(format!("{head}caf\u{e9}")).is_ok(), "{content_type}");
    }
}

/// RFC 7303 section 3: a BOM, the charset, and the declaration of the document, in this order.
#[test]
fn xml_is_checked_unless_it_declares_another_encoding() {
    let latin1 = b"<?xml version='1.0' encoding='iso-8859-1'?><a>\xE9</a>\n";
    let utf16: Vec<u8> = "\u{feff}<a>\u{e9}</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (content_type, body, kind, is_ok) in [
        ("text/xml", &latin1[..], PartKind::OtherText, true),
        ("application/xml", latin1, PartKind::OtherText, true),
        ("image/svg+xml", latin1, PartKind::OtherText, true),
        ("application/xml; charset=utf-8", latin1, PartKind::Text, false),
        ("text/plain", latin1, PartKind::Text, false),
        ("application/xml", &utf16, PartKind::OtherText, true),
        ("application/xml", b"<?xml version='1.0' encoding='UTF-8'?>\xE9", PartKind::Text, false),
        ("application/xml", b"<?xml version='1.0' encoding='us-ascii'?>\xE9", PartKind::Text, false),
        ("application/xml", b"<?xml version='1.0' encoding='utf-16'?>\xE9", PartKind::Text, false),
        ("application/xml", b"<?xml version='1.0'?>\xE9", PartKind::Text, false),
        ("application/xml", b"<?xml version='1.0' enc", PartKind::Text, true),
        ("application/xml", b"<?xml version='1.0' enc\xE9", PartKind::Text, false),
        ("application/xml", b"", PartKind::Text, true),
        ("application/xml", b"\xEF", PartKind::Text, false),
        ("application/xml", b"\xEF\xBB\xBF<a/>", PartKind::Text, true),
    ] {
        let shown = body.escape_ascii();
        let head = |encoding: &str| {
            format!("Content-Type: {content_type}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n")
                .into_bytes()
        };
        let quoted: String = body.iter().map(|byte| format!("={byte:02X}=\r\n")).collect();
        for message in
            [[&head("binary")[..], body].concat(), [&head("quoted-printable"), quoted.as_bytes()].concat()]
        {
            let verdict = validate(&message);
            let part = &verdict.parts[0];
            assert_eq!((part.kind, verdict.is_ok()), (kind, is_ok), "{content_type} {shown}");
            assert_eq!(part.decoded_bytes, body.len() as u64, "{shown}");
            assert_eq!(part.characters.is_some(), kind == PartKind::Text, "{shown}");
        }
    }
    // In a multipart the next part has its own encoding.
    let xml = "Content-Type: application/xml\r\nContent-Transfer-Encoding: 8bit\r\n\r\n";
    let head = format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n{xml}");
    let next = format!("\r\n--b\r\n{xml}<?xml");
    let message = [head.as_bytes(), latin1, next.as_bytes(), b" \xE9\r\n--b--\r\n"].concat();
    let verdict = validate(&message);
    assert_eq!(verdict.parts[1].kind, PartKind::OtherText);
    assert_eq!((verdict.parts[1].is_ok(), verdict.parts[2].is_ok()), (true, false));
    // The start of an encoded document that never comes is bounded: 16 KiB.
    let breaks = "=\r\n".repeat(6000);
    let head = "Content-Type: text/xml\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<?xml";
    let late = format!("{head}{breaks} encoding=3D'iso-8859-1'?>=E9");
    let validator = MessageValidator::new();
    let whole = validate_chunks(&validator, &[late.as_bytes()]);
    assert_eq!((whole.parts[0].kind, whole.is_ok()), (PartKind::Text, false));
    for len in [1, 7, 1000, 16 * 1024] {
        assert_eq!(validate_chunks(&validator, &late.as_bytes().chunks(len).collect::<Vec<_>>()), whole);
    }
    // The raw body is text for a reader that ends the header before the type.
    let spaced = [b"A : b\r\nContent-Type: text/xml\r\n\r\n", &latin1[..]].concat();
    assert_eq!(summary(&validate(spaced)), "1 text/xml AmbiguousHeader@1 SpaceBeforeColon@1");
}
