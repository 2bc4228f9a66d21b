//! Header fields of mail, and headers that some readers end early, as Python's `email` reads them.

use std::process::Command;

use utf8_codec_mail::MessageValidator;

use crate::run;
use crate::support::messages::validate_chunks;
use crate::support::{Rng, hex};

/// Subjects and filenames with a replacement character for Python's `email`.
const SHOWN: &str = r#"
import email, email.policy, json, sys
fields = json.loads(sys.stdin.read())
def shown(field):
    message = email.message_from_string(field + "\r\n\r\nx", policy=email.policy.default)
    try:
        return str(message["Subject"]) + str(message.get_filename())
    except Exception:
        # `email` documents no exceptions, but raises some.
        return ""
print(json.dumps(["\ufffd" in shown(field) for field in fields]))
"#;

#[test]
#[cfg_attr(not(has_python3), ignore = "python3 is not installed")]
fn what_python_shows_with_replacement_characters_has_an_error() {
    const PIECES: &[&str] = &[
        "=?utf-8?Q?",
        "=?utf_8?q?",
        "=?us-ascii?B?",
        "=?utf-8?B?",
        "=?",
        "?=",
        "?= ",
        "=FF",
        "=C3=A9",
        "w6k=",
        "/w==",
        "a",
        "_",
        "\r\n ",
        " ",
        "\r\n\t",
        "?",
    ];
    // An unknown charset is not checked, but Python shows it as US-ASCII.
    const PARAMETERS: &[&str] = &[
        "; filename*=",
        "; filename*=UTF-8''",
        "; filename*=\"us-ascii''%FF\"",
        "; filename*0*=utf_8'en'",
        "; filename*0*=\"csUTF8''a%C3\"",
        "; filename*1*=",
        "; filename*1*=\"%A9\"",
        ";\r\n filename*1=",
        ";",
        "%FF",
        "%C3",
        "%A9",
        "a",
        ".pdf",
        " ",
    ];
    let mut rng = Rng::new(2231);
    let fields: Vec<String> = (0..4_000)
        .map(|i| {
            // A word without an end is not one, but Python decodes it if it starts with an escape.
            let (head, pieces, end) = match i % 2 {
                0 => ("Subject: ", PIECES, "?="),
                _ => ("Content-Disposition: a", PARAMETERS, ""),
            };
            let rest: String = (0..2 + rng.below(8)).map(|_| pieces[rng.below(pieces.len())]).collect();
            // A line of only white space ends the header for Python.
            let field = format!("{head}{rest}{end}");
            field.split("\r\n").filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\r\n")
        })
        .collect();
    let mut replaced = 0;
    for (field, is_replaced) in fields.iter().zip(is_replaced_by_python(&fields)) {
        let message = format!("{field}\r\n\r\nx");
        let verdict = validate_chunks(&MessageValidator::new(), &[message.as_bytes()]);
        assert!(!is_replaced || !verdict.is_ok(), "{}", field.escape_debug());
        replaced += usize::from(is_replaced);
    }
    assert!(replaced >= 50, "{replaced}");
}

/// Returns whether Python shows each field with a replacement character.
fn is_replaced_by_python(fields: &[String]) -> Vec<bool> {
    let fields = serde_json::to_string(fields).unwrap();
    serde_json::from_str(&run(Command::new("python3").args(["-c", SHOWN]), fields)).unwrap()
}

/// Replaces `BOM`, `\n` and `FF`.
fn message(text: &str) -> Vec<u8> {
    let text = text.replace("BOM", "\u{feff}").replace('\n', "\r\n");
    text.split("FF").map(str::as_bytes).collect::<Vec<_>>().join(&b"\xFF"[..])
}

/// Prints for each message whether a part of type `text` in UTF-8 or US-ASCII, or without a charset, is ill-formed.
const ILL_FORMED: &str = r#"
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
#[cfg_attr(not(has_python3), ignore = "python3 is not installed")]
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
    let (mut ok, mut found) = (0, 0);
    for (message, is_ill_formed) in messages.iter().zip(is_ill_formed_for_python(&messages)) {
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

/// Returns the output of [`ILL_FORMED`].
fn is_ill_formed_for_python(messages: &[Vec<u8>]) -> Vec<bool> {
    let lines = messages.iter().map(|message| hex(message) + "\n").collect();
    let output = run(Command::new("python3").args(["-c", ILL_FORMED]), lines);
    output.lines().map(|line| line == "True").collect()
}
