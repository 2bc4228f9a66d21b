//! Validation of the text of mail: encoded bodies and whole messages, checked while they stream.
//!
//! For mail servers, milters, LMTP and SMTP filters, archives and test suites. The module does no I/O.
//!
//! | input | type | output |
//! |---|---|---|
//! | one body in a transfer encoding | [`TransferDecoder`] | its bytes, each with its offset on the wire, and errors |
//! | one text body in a transfer encoding | [`BodyDecoder`] | `&str` pieces and errors |
//! | a message | [`MessageValidator`] | a [`MessageVerdict`]: kind, size and errors of each part |
//!
//! ```
//! use utf8_codec_mail::{MessageValidator, MimeLayer};
//!
//! let mail = b"Content-Type: text/plain; charset=utf-8\r\n\
//!     Content-Transfer-Encoding: quoted-printable\r\n\r\ncaf=C3=A9 caf=C3\r\n";
//! let mut validator = MessageValidator::new();
//! for chunk in mail.chunks(16) {
//!     validator.push(chunk);
//! }
//! let verdict = validator.finish();
//! let (part, error) = verdict.first_error().expect("half a character");
//! assert_eq!((part.path.to_string().as_str(), error.kind.layer()), ("1", MimeLayer::Text));
//! // The offset on the wire, and the offset in the decoded text.
//! assert_eq!((error.offset, error.decoded_offset), (101, Some(9)));
//! assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 101 (decoded byte 9, MissingContinuation, 1 byte)");
//! ```
//!
//! # Errors
//!
//! A [`MimeError`] belongs to one of three layers: the structure (headers and delimiters), the transfer encoding, and
//! the text. It has an absolute offset on the wire and, if the bytes are encoded, one in the decoded body. It contains
//! no bytes of the message. Decoding continues after every error.
//!
//! | text | checked |
//! |---|---|
//! | a body | of a text type ([`is_text_type`], and the reports of RFC 3464 and others) in UTF-8 or US-ASCII, or without a charset; of any other type with one of these charsets |
//! | XML without a charset | unless a BOM or its declaration names another encoding (RFC 7303 §3); the declarations of HTML and CSS have no effect |
//! | a header | its bytes, which are UTF-8 (RFC 6532) |
//! | an encoded word (RFC 2047) | in UTF-8 or US-ASCII, also with folds in it |
//! | a percent-encoded parameter of `Content-Type` and `Content-Disposition` (RFC 2231 §4), such as `filename*=` | in UTF-8 or US-ASCII, or without a charset; sections are joined first (§3) |
//!
//! UTF-8 and US-ASCII are the labels that IANA, the WHATWG Encoding Standard or Python list (`csUTF8`, `cp65001`,
//! `ANSI_X3.4-1968`, `iso-ir-6`). Text in US-ASCII is checked as UTF-8, of which it is a subset. Lines of
//! `text/calendar` (RFC 5545 §3.1) and `text/vcard` are not unfolded: a fold inside a character is an error. [`Unfolder`](crate::unwrap::Unfolder) unfolds them.
//!
//! Syntax that mail readers parse differently is an error in the structure, even if RFC 2046 allows it, because some
//! readers would show text that was not checked. Examples are a boundary in the middle of a line
//! ([`StructureErrorKind::AmbiguousDelimiter`]), comments in a `Content-Type` ([`StructureErrorKind::AmbiguousHeader`])
//! and a header without an end ([`StructureErrorKind::MissingHeaderEnd`]). The program `mail_readers` of the
//! repository compares the results for generated messages with those of Python's `email`, Go's `mime/multipart`,
//! mail-parser and mailparse.
//!
//! A warning is a violation of a rule for writers after which no reader shows text that was not checked: a long encoded
//! word, a BOM before the header, white space before a colon (RFC 5322 §4.5), an empty charset or a type without a subtype
//! (RFC 2045 §5.2). A message with only warnings is ok.
//!
//! At a BOM, and at the first field with white space before its colon, some readers end the header; others take the BOM
//! or the white space as part of the name. If no `Content-Type` comes before this line, they show the raw body as text.
//! The raw bytes of the body and of the parts in it are then also checked. If they are ill-formed UTF-8, or if these
//! readers would decode the body otherwise, the error is [`StructureErrorKind::AmbiguousHeader`].
//!
//! # Limits
//!
//! [`MimeLimits`] limits the nesting of parts, the number of parts, the bytes of a header and of a line, and the number
//! of errors that are stored. Text in charsets other than UTF-8 and US-ASCII, images and other types are counted but
//! not checked. In a part that is text, a transfer encoding that RFC 2045 does not define is an error.
//! `message/rfc822`, `message/global` and `message/news` are opened, other subtypes of `message` are not.
//!
//! [`is_text_type`]: utf8_codec_media::content_type::is_text_type
//!
//! # Cost
//!
//! Every byte is decoded and checked once. Memory is bounded: the current header field, 13 KiB for an encoded body, 16 KiB
//! for the start of XML, and the verdicts. Work is linear in the length of the message for any content.
//!
//! # Feature
//!
//! `mime`, `no_std` with an allocator.

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod body;
mod charset;
mod encoded_word;
mod error;
mod escaped;
mod extended;
mod headers;
mod kind;
mod message;
mod multipart;
mod obsolete;
mod plain;
mod transfer;
pub mod unwrap;
mod verdict;
mod xml;

pub use body::{BodyDecoder, BodyPiece};
pub use error::{MimeError, MimeErrorKind, MimeLayer, StructureErrorKind};
pub use message::MessageValidator;
pub use transfer::{
    Decoded, TransferDecoder, TransferEncoding, TransferError, TransferErrorKind, TransferPiece,
};
pub use verdict::{MessageVerdict, MimeLimits, PartKind, PartPath, PartVerdict};
