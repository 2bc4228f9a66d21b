//! Mail: transfer encodings and whole messages.

use core::hint::black_box;

use utf8_codec_mail::{BodyDecoder, MessageValidator, MimeSettings, TransferDecoder, TransferEncoding};

use crate::inputs::*;
use crate::row::{Row, sink};

const ENCODINGS: [TransferEncoding; 5] = [
    TransferEncoding::SevenBit,
    TransferEncoding::EightBit,
    TransferEncoding::Binary,
    TransferEncoding::QuotedPrintable,
    TransferEncoding::Base64,
];

const BODIES: [Input; 15] = [
    ASCII,
    FF,
    LF,
    CR,
    CRLF,
    FF_CRLF,
    THREE_BYTE_LEADS,
    QP_ESCAPES,
    EQUALS,
    SOFT_BREAKS,
    SPACES,
    SPACES_LF,
    SPACES_THEN_A,
    ZEROS,
    CYRILLIC,
];

const MESSAGES: [Input; 22] = [
    ASCII,
    FF,
    LF,
    CR,
    CRLF,
    LINES,
    DELIMITERS,
    DELIMITER_LINES,
    FINAL_DELIMITERS,
    DASHES,
    DASH_LINES,
    FIELDS,
    FOLDS,
    COLONS,
    COMMENTS,
    SEMICOLONS,
    CONTINUED_PARAMETERS,
    EXTENDED_PARAMETERS,
    ENCODED_WORDS,
    ENCODED_WORD_STARTS,
    OTHER_WORD_STARTS,
    SPACES,
];

/// The start of the message, before the input.
const STARTS: [(&str, &str); 9] = [
    ("header", ""),
    ("Subject", "Subject:"),
    ("Content-Type", "Content-Type: text/plain"),
    ("Content-Disposition", "Content-Disposition: a"),
    ("text", "Content-Type: text/plain; charset=utf-8\r\n\r\n"),
    ("base64", "Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n"),
    ("quoted-printable", "Content-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"),
    ("multipart", "Content-Type: multipart/mixed; boundary=b\r\n\r\n"),
    ("part", "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n"),
];

/// Nested multiparts. Each boundary is a prefix of the next one.
const NESTED: Input = Input {
    name: "nested multiparts",
    bytes: |size| {
        let mut message = Vec::new();
        for depth in 1.. {
            let boundary = "b".repeat(1 + depth % 60);
            message.extend(
                format!("Content-Type: multipart/mixed; boundary={boundary}\r\n\r\n--{boundary}\r\n").bytes(),
            );
            if message.len() >= size {
                break;
            }
        }
        message
    },
};

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for encoding in ENCODINGS {
        rows.push(Row::new(
            format!("TransferDecoder, {encoding:?}, lenient"),
            BODIES,
            move |bytes, chunk| {
                let mut decoder = TransferDecoder::new(encoding).with_lenient(true);
                bytes.chunks(chunk).for_each(|chunk| decoder.feed_with(chunk, |piece| sink(piece)));
                decoder.finish_with(|piece| sink(piece));
            },
        ));
        rows.push(Row::new(format!("BodyDecoder, {encoding:?}"), BODIES, move |bytes, chunk| {
            let mut decoder = BodyDecoder::new(encoding);
            bytes.chunks(chunk).for_each(|chunk| decoder.feed_with(chunk, |piece| sink(piece)));
            decoder.finish_with(|piece| sink(piece));
        }));
    }
    for (name, start) in STARTS {
        rows.push(Row::new(format!("MessageValidator, {name}"), MESSAGES, move |bytes, chunk| {
            validate(&[start.as_bytes(), bytes].concat(), chunk);
        }));
    }
    rows.push(Row::new("MessageValidator", [NESTED], validate));
    rows
}

fn validate(message: &[u8], chunk: usize) {
    // A limit would end the work early and hide its growth.
    let mut settings = MimeSettings::default();
    settings.max_parts = usize::MAX;
    settings.max_header_length = usize::MAX;
    settings.max_line_length = usize::MAX;
    let mut validator = MessageValidator::with_settings(settings);
    message.chunks(chunk).for_each(|chunk| validator.push(chunk));
    black_box(validator.finish());
}
