//! Text in the header fields of mail, as Python's `email` shows it.

use std::process::Command;

use utf8_codec::mime::MessageValidator;

use crate::run;
use crate::support::Rng;
use crate::support::messages::validate_chunks;

/// Subjects and filenames with a replacement character for Python's `email`.
const PYTHON: &str = r#"
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
    for (field, is_replaced) in fields.iter().zip(python(&fields)) {
        let message = format!("{field}\r\n\r\nx");
        let verdict = validate_chunks(&MessageValidator::new(), &[message.as_bytes()]);
        assert!(!is_replaced || !verdict.is_ok(), "{}", field.escape_debug());
        replaced += usize::from(is_replaced);
    }
    assert!(replaced >= 50, "{replaced}");
}

/// Returns whether Python shows each field with a replacement character.
fn python(fields: &[String]) -> Vec<bool> {
    let fields = serde_json::to_string(fields).unwrap();
    serde_json::from_str(&run(Command::new("python3").args(["-c", PYTHON]), fields)).unwrap()
}
