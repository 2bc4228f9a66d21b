//! Removes line folding and dot stuffing before decoding.
//!
//! For calendars and contacts, mail and news servers. Without this step a character that a fold splits is ill-formed,
//! and offsets are wrong.
//!
//! | bytes | use |
//! |---|---|
//! | folded lines of iCalendar (RFC 5545 §3.1) and vCard (RFC 6350 §3.2) | [`Unfolder`] |
//! | the data of SMTP and LMTP (RFC 5321 §4.5.2), POP3 (RFC 1939 §3) and NNTP (RFC 3977 §3.1.1), whose lines have a dot before a dot | [`DotUnstuffer`] |
//!
//! ```
//! use utf8_codec_mail::unwrap::Unfolder;
//! use utf8_codec::{Piece, Utf8Decoder};
//!
//! // A fold between the two bytes of the é, and a chunk that ends inside it.
//! let (mut unfolder, mut decoder, mut text) = (Unfolder::new(), Utf8Decoder::new(), String::new());
//! let mut decode = |bytes: &[u8]| {
//!     for piece in decoder.feed(bytes) {
//!         match piece {
//!             Piece::Text(part) => text.push_str(part),
//!             Piece::Seam(character) => text.push(character),
//!             Piece::IllFormed(error) => panic!("{error}"),
//!         }
//!     }
//! };
//! for chunk in [&b"SUMMARY:Caf\xC3\r\n"[..], b" \xA9\r\n"] {
//!     unfolder.feed_with(chunk, |_, bytes| decode(bytes));
//! }
//! unfolder.finish_with(|_, bytes| decode(bytes));
//! assert_eq!(text, "SUMMARY:Café\r\n");
//! ```
//!
//! The bytes that remain are passed to a function, in slices of the chunk, each with its offset on the wire. They are the
//! same for every partition of a stream. An error that starts in a slice has an offset in the decoded text. For its offset
//! on the wire, add the offset of the slice and subtract the offset of the decoder before the slice.
//!
//! # Limits
//!
//! At most 2 bytes of a line break are held. No length is limited: limit the length of lines after this step.
//!
//! # Cost
//!
//! A kernel searches for line breaks, 64 bytes at a time, CR and LF separately. Nothing is copied or allocated.

mod dots;
mod folds;

pub use dots::DotUnstuffer;
pub use folds::Unfolder;
