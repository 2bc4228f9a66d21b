//! The readers, and the parts that each of them finds in a message.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use mail_parser::{Message, MimeHeaders, PartType};
use mailparse::{MailHeaderMap, MailParseError, ParsedMail};
use serde_json::Value;
use utf8_codec_mail::{
    MessageValidator, MimeErrorKind, MimeSettings, PartKind, StructureErrorKind, TransferErrorKind,
};
use utf8_codec_media::content_type::is_utf8_label;

/// The result of a reader: the leaves in order, and the error if it did not read the whole message.
#[derive(Debug, Default)]
pub struct Seen {
    pub leaves: Vec<Leaf>,
    pub error: Option<String>,
}

/// A part without subparts: values of its header, and its body in the transfer encoding.
#[derive(Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The media type in lower case.
    pub content_type: String,
    /// The charset in lower case, and `utf-8` for every label of UTF-8. Empty if none is declared or the part is not
    /// text.
    pub charset: String,
    /// `base64`, `quoted-printable` or empty.
    pub encoding: &'static str,
    pub body: Vec<u8>,
}

impl Leaf {
    /// Removes the line breaks at the end of the body. Readers differ in whether they are part of it.
    fn new(content_type: &str, charset: &str, encoding: &str, body: &[u8]) -> Self {
        let end = body.len() - body.iter().rev().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        // Some readers do not remove a comment from the type.
        let content_type = content_type.split([' ', '(']).next().unwrap_or_default().to_ascii_lowercase();
        // A type without a subtype is `text/plain` (RFC 2045 section 5.2). Some readers return it as it is.
        let content_type = match content_type.split_once('/') {
            Some((top, subtype)) if !top.is_empty() && !subtype.is_empty() => content_type,
            _ => "text/plain".to_owned(),
        };
        let charset = if !content_type.starts_with("text/") {
            String::new()
        } else if is_utf8_label(charset.trim_matches(|other: char| !other.is_ascii_alphanumeric()).as_bytes())
        {
            // Some readers ignore punctuation around a label when they decode the text.
            "utf-8".into()
        } else {
            charset.to_ascii_lowercase()
        };
        // A reader that does not trim white space would not decode the body. It would show the encoded body, which is ASCII.
        let encoding = encoding.trim_matches([' ', '\t', '\r', '\n']);
        let encoding =
            ["base64", "quoted-printable"].into_iter().find(|known| encoding.eq_ignore_ascii_case(known));
        Self { content_type, charset, encoding: encoding.unwrap_or_default(), body: body[..end].to_vec() }
    }
}

/// Reads messages. Returns `None` if the reader is not installed.
pub type Reader = fn(&[Vec<u8>]) -> Option<Vec<Seen>>;

pub const READERS: [(&str, Reader); 5] = [
    ("Python email", python),
    ("Go mime/multipart", go),
    ("mail-parser 0.11", |messages| Some(messages.iter().map(|message| mail_parser(message)).collect())),
    ("mail-parser 1", mail_parser_1),
    ("mailparse", |messages| Some(messages.iter().map(|message| mailparse(message)).collect())),
];

/// The result of this crate.
pub struct Ours {
    pub seen: Seen,
    /// Whether the structure has an error, or one of the warnings after which some readers find no field, or a part has
    /// an unknown transfer encoding.
    pub is_malformed: bool,
}

pub fn ours(message: &[u8]) -> Ours {
    let mut settings = MimeSettings::default();
    settings.max_errors = usize::MAX;
    let mut validator = MessageValidator::with_settings(settings);
    validator.push(message);
    let verdict = validator.finish();
    let mut seen = Seen::default();
    for part in &verdict.parts {
        if !matches!(part.kind, PartKind::Multipart | PartKind::Message) {
            let start = part.offset as usize;
            seen.leaves.push(Leaf::new(
                &part.content_type,
                part.charset.as_deref().unwrap_or_default(),
                part.encoding.map_or("", |encoding| encoding.as_str()),
                &message[start..start + part.bytes as usize],
            ));
        }
    }
    let mut reports = verdict.parts.iter().flat_map(|part| part.errors().iter().chain(part.warnings()));
    let is_malformed = reports.any(|report| match report.kind {
        MimeErrorKind::Structure(
            StructureErrorKind::ByteOrderMark | StructureErrorKind::SpaceBeforeColon,
        ) => true,
        MimeErrorKind::Structure(kind) => !kind.is_warning(),
        kind => kind == MimeErrorKind::Transfer(TransferErrorKind::UnknownEncoding),
    });
    Ours { seen, is_malformed }
}

fn python(messages: &[Vec<u8>]) -> Option<Vec<Seen>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("readers");
    Command::new("python3").arg("--version").stdout(Stdio::null()).status().ok()?;
    Some(child(Command::new("python3").arg(folder.join("python.py")), messages))
}

fn go(messages: &[Vec<u8>]) -> Option<Vec<Seen>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("readers");
    Command::new("go").arg("version").stdout(Stdio::null()).status().ok()?;
    Some(child(Command::new("go").arg("run").arg(folder.join("reader.go")), messages))
}

/// Runs a reader that is another program. Each input line is a message in hexadecimal, each output line its parts in
/// JSON.
fn child(command: &mut Command, messages: &[Vec<u8>]) -> Vec<Seen> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program that starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut lines = String::new();
    for message in messages {
        message.iter().for_each(|byte| lines += &format!("{byte:02x}"));
        lines.push('\n');
    }
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("a program that ends");
    writer.join().expect("no panic").expect("a program that reads all");
    assert!(output.status.success(), "{}", output.status);
    let seen: Vec<_> = str::from_utf8(&output.stdout)
        .expect("JSON")
        .lines()
        .map(|line| {
            let found: Value = serde_json::from_str(line).expect("JSON");
            let leaf = |leaf: &Value| {
                let text = |i: usize| leaf[i].as_str().expect("text");
                Leaf::new(text(0), text(1), text(2), &unhex(text(3)))
            };
            Seen {
                leaves: found["leaves"].as_array().expect("a list").iter().map(leaf).collect(),
                error: found["error"].as_str().map(str::to_owned),
            }
        })
        .collect();
    assert_eq!(seen.len(), messages.len());
    seen
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hexadecimal")).collect()
}

fn mail_parser(message: &[u8]) -> Seen {
    fn leaves(message: &Message<'_>, id: u32, seen: &mut Vec<Leaf>) {
        let part = &message.parts[id as usize];
        match &part.body {
            // A multipart that the parser cannot read may contain itself as a child.
            PartType::Multipart(children) => {
                children.iter().filter(|&&child| child > id).for_each(|&child| leaves(message, child, seen));
            }
            PartType::Message(inner) => leaves(inner, 0, seen),
            _ => {
                let content_type = part.content_type().map_or("text/plain".into(), |given| {
                    format!("{}/{}", given.ctype(), given.subtype().unwrap_or_default())
                });
                let charset =
                    part.content_type().and_then(|given| given.attribute("charset")).unwrap_or_default();
                let encoding = part.content_transfer_encoding().unwrap_or_default();
                let body = message.raw_message.get(part.offset_body as usize..part.offset_end as usize);
                seen.push(Leaf::new(&content_type, charset, encoding, body.unwrap_or_default()));
            }
        }
    }
    let mut seen = Seen::default();
    match mail_parser::MessageParser::default().parse(message) {
        Some(message) => leaves(&message, 0, &mut seen.leaves),
        None => seen.error = Some("no message".into()),
    }
    seen
}

#[cfg(not(feature = "mail-parser-1"))]
fn mail_parser_1(_: &[Vec<u8>]) -> Option<Vec<Seen>> {
    None
}

#[cfg(feature = "mail-parser-1")]
fn mail_parser_1(messages: &[Vec<u8>]) -> Option<Vec<Seen>> {
    use mail_parser_1::{MessageParser, MessagePart, PartKind};

    fn leaves(part: &MessagePart<'_>, seen: &mut Vec<Leaf>) {
        match part.kind() {
            PartKind::Multipart => part.children().for_each(|child| leaves(&child, seen)),
            PartKind::Message(inner) => leaves(&inner.root_part(), seen),
            _ => {
                let content_type = part.content_type().map_or("text/plain".into(), |given| {
                    format!("{}/{}", given.ctype(), given.subtype().unwrap_or_default())
                });
                let charset =
                    part.content_type().and_then(|given| given.attribute("charset")).unwrap_or_default();
                let encoding = part.content_transfer_encoding().unwrap_or_default();
                seen.push(Leaf::new(&content_type, charset, encoding, part.raw_body()));
            }
        }
    }
    let read = |message: &Vec<u8>| {
        let mut seen = Seen::default();
        match MessageParser::default().parse(message) {
            Some(message) => leaves(&message.root().root_part(), &mut seen.leaves),
            None => seen.error = Some("no message".into()),
        }
        seen
    };
    Some(messages.iter().map(read).collect())
}

fn mailparse(message: &[u8]) -> Seen {
    fn leaves(part: &ParsedMail<'_>, seen: &mut Vec<Leaf>) -> Result<(), MailParseError> {
        let body = &part.raw_bytes[mailparse::parse_headers(part.raw_bytes)?.1..];
        if !part.subparts.is_empty() {
            part.subparts.iter().try_for_each(|child| leaves(child, seen))
        } else if matches!(&part.ctype.mimetype[..], "message/rfc822" | "message/global") {
            // mailparse returns an attached message as a leaf. A mail program would parse it.
            leaves(&mailparse::parse_mail(body)?, seen)
        } else {
            let charset = part.ctype.params.get("charset").map(String::as_str).unwrap_or_default();
            let encoding = part.headers.get_first_value("Content-Transfer-Encoding").unwrap_or_default();
            seen.push(Leaf::new(&part.ctype.mimetype, charset, &encoding, body));
            Ok(())
        }
    }
    let mut seen = Seen::default();
    if let Err(error) = mailparse::parse_mail(message).and_then(|mail| leaves(&mail, &mut seen.leaves)) {
        seen.error = Some(error.to_string());
    }
    seen
}
