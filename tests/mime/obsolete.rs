//! Headers that some readers end early, after a BOM or a field with white space before the colon (RFC 5322 §4.5).

use std::io::Write;
use std::process::{Command, Stdio};

use utf8_codec::mime::MessageValidator;

use crate::support::Rng;
use crate::support::messages::{summary, validate, validate_chunks};

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

/// Prints for each message whether a part of type `text` in UTF-8 or US-ASCII, or without a charset, is ill-formed.
const PYTHON: &str = r#"
import email, email.policy, json, sys
def is_ill_formed(part):
    if part.get_content_maintype() != "text" or part.get_content_charset("utf-8") not in ("utf-8", "us-ascii"):
        return False
    try:
        part.get_payload(decode=True).decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False
for line in sys.stdin:
    message = email.message_from_bytes(bytes.fromhex(line), policy=email.policy.default)
    print(any(is_ill_formed(part) for part in message.walk() if not part.is_multipart()))
"#;

#[test]
fn a_message_that_is_ok_has_no_ill_formed_text_for_python() {
    const LINES: [&str; 24] = [
        "A: b\n",
        "A : b\n",
        "A : =FF\n",
        "From : me\n",
        "--b: x\n",
        "Content-Type: text/plain; charset=utf-8\n",
        "Content-Type : text/plain; charset=utf-8\n",
        "Content-Type: text/plain; charset=iso-8859-1\n",
        "Content-Type : text/plain; charset=iso-8859-1\n",
        "Content-Type: image/png\n",
        "Content-Type : image/png\n",
        "Content-Type: application/xml\n",
        "Content-Type: text/xml\n",
        "Content-Type: message/rfc822\n",
        "Content-Type : message/rfc822\n",
        "Content-Type: multipart/mixed; boundary=b\n",
        "Content-Type : multipart/mixed; boundary=b\n",
        "Content-Type: multipart/digest; boundary=\"b\"\n",
        "Content-Type: multipart/mixed; boundary=\"b:\"\n",
        "Content-Transfer-Encoding: base64\n",
        "Content-Transfer-Encoding : base64\n",
        "Content-Transfer-Encoding: quoted-printable\n",
        "Content-Transfer-Encoding : quoted-printable\n",
        "Content-Transfer-Encoding: 8bit\n",
    ];
    const BODIES: [&str; 10] =
        ["x", "\u{e9}", "FF", "/w==", "w6k=", "=FF", "=C3=A9", "=\n", "<?xml?>", "x FF"];
    let mut rng = Rng::new(5322);
    let mut pick = |from: &[&'static str]| from[rng.below(from.len())];
    let mut head = || {
        let count = pick(&["1", "2", "3", "4"]).parse().unwrap();
        let mut text: String = (0..count).map(|_: usize| pick(&LINES)).collect();
        text += pick(&["\n", "\n", "\n", ""]);
        text += pick(&BODIES);
        text + "\n"
    };
    let messages: Vec<Vec<u8>> = (0..messages_to_compare())
        .map(|i| {
            let bom = if i % 4 == 0 { "BOM" } else { "" };
            let (whole, one, two) = (head(), head(), head());
            let parts = if i % 3 == 0 { format!("--b\n{one}--b\n{two}--b--\n{one}") } else { String::new() };
            message(&format!("{bom}{whole}{parts}"))
        })
        .collect();
    let Some(ill_formed) = python(&messages) else { return };
    let (mut ok, mut found) = (0, 0);
    for (message, is_ill_formed) in messages.iter().zip(ill_formed) {
        let verdict = validate_chunks(&MessageValidator::new(), &[message]);
        assert!(!(is_ill_formed && verdict.is_ok()), "{}", message.escape_ascii());
        ok += usize::from(verdict.is_ok());
        found += usize::from(is_ill_formed);
    }
    assert!(ok * 20 > messages.len() && found * 20 > messages.len(), "{ok} {found}");
}

/// The number of messages that are compared with Python: `UTF8_CODEC_MESSAGES`, or 4,000.
fn messages_to_compare() -> usize {
    std::env::var("UTF8_CODEC_MESSAGES").map_or(4_000, |count| count.parse().expect("a number"))
}

/// Returns the output of [`PYTHON`]. Without Python it prints a message.
fn python(messages: &[Vec<u8>]) -> Option<Vec<bool>> {
    let mut command = Command::new("python3");
    let child = command.args(["-c", PYTHON]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            eprintln!("skipped: python3 does not start: {error}");
            return None;
        }
    };
    let mut lines = String::new();
    for message in messages {
        message.iter().for_each(|byte| lines += &format!("{byte:02x}"));
        lines.push('\n');
    }
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let output = String::from_utf8(output.stdout).unwrap();
    Some(output.lines().map(|line| line == "True").collect())
}
