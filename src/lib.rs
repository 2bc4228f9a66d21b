#![cfg_attr(not(doctest), doc = include_str!("../README.md"))]
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

// What the README shows is compiled where all that it shows is there.
#[cfg(all(
    doctest,
    feature = "codec",
    feature = "mime",
    feature = "stream",
    feature = "tower",
    feature = "transcode"
))]
#[doc = include_str!("../README.md")]
mod readme {}

#[macro_use]
mod trace;

mod boundary;
#[cfg(any(feature = "codec", feature = "http", feature = "stream"))]
mod chunks;
#[cfg(feature = "codec")]
mod codec;
#[cfg(feature = "alloc")]
mod content_type;
mod decoder;
#[cfg(feature = "transcode")]
mod detect;
mod encoding;
mod error;
// Whoever applies the rules by hand needs a part of it, the layers need all.
#[cfg(feature = "http")]
#[cfg_attr(not(feature = "tower"), allow(dead_code))]
mod http;
#[cfg(any(feature = "io", feature = "futures-io"))]
mod io;
#[cfg(feature = "mime")]
mod mime;
mod policy;
#[cfg(feature = "proxy")]
mod proxy;
#[allow(unsafe_code)]
mod scan;
#[cfg(feature = "stream")]
mod stream;
mod subset;
mod text;
#[cfg(feature = "transcode")]
mod transcode;
mod validator;

pub use boundary::{
    Part, Parts, Resync, Splitter, Truncator, ceil_boundary, floor_boundary, truncate, unfinished_len,
};
#[cfg(all(feature = "codec", feature = "transcode"))]
pub use codec::TranscodeCodec;
#[cfg(feature = "codec")]
pub use codec::{
    CodecError, ErrorsAsItems, Fragment, FrameError, LineEnding, Lines, LinesIter, Recoverable, Utf8Codec,
    Utf8FragmentsCodec, Utf8FramesCodec, Utf8LineBatchesCodec, Utf8LinesCodec,
};
#[cfg(feature = "alloc")]
pub use content_type::{Charset, ContentType, ContentTypeError, is_utf8_label};
pub use decoder::{Piece, Pieces, Utf8Decoder, from_utf8};
#[cfg(feature = "transcode")]
pub use detect::{
    BomSniffer, Designation, DesignationMatch, DesignationMatches, DesignationRecogniser, Detection,
    Detector, Padding, Sniff,
};
#[cfg(all(feature = "transcode", feature = "alloc"))]
pub use detect::{FallbackDecoder, Legacy, Scope, decode_or_legacy};
pub use error::{ErrorKind, Utf8Error};
#[cfg(feature = "http")]
pub use http::{
    BodyRules, BoxError, CheckedBody, ContentCodings, HttpCounters, HttpCounts, Message, MissingCharset,
    MultipartError, OtherCharset, Reason, Refusal, Undecodable, Utf8Body, Utf8BodyError, is_text_type,
};
#[cfg(feature = "tower")]
pub use http::{
    ValidateUtf8Request, ValidateUtf8RequestFuture, ValidateUtf8RequestLayer, ValidateUtf8Response,
    ValidateUtf8ResponseFuture, ValidateUtf8ResponseLayer,
};
#[cfg(any(feature = "io", feature = "futures-io"))]
pub use io::{Utf8Reader, Utf8Writer};
#[cfg(feature = "mime")]
pub use mime::{
    BodyDecoder, BodyPiece, Decoded, MessageValidator, MessageVerdict, MimeError, MimeErrorKind, MimeLayer,
    MimeLimits, PartKind, PartPath, PartVerdict, StructureErrorKind, TransferDecoder, TransferEncoding,
    TransferError, TransferErrorKind, TransferPiece,
};
pub use policy::{Ascii, BomPolicy, ErrorPolicy, ShortStr};
#[cfg(feature = "proxy")]
pub use proxy::{Direction, End, Filter, Flow, Outcome, Relay, Verdict};
#[cfg(utf8_codec_kernel = "choice")]
#[doc(hidden)]
pub use scan::Kernel;
#[cfg(feature = "stream")]
pub use stream::{StreamError, Utf8Stream, Utf8StreamExt};
pub use subset::Subset;
pub use text::{Counters, TextDecoder, TextPiece, TextPieces};
#[cfg(all(feature = "transcode", feature = "alloc"))]
pub use transcode::Output;
#[cfg(feature = "transcode")]
pub use transcode::{Encoding, Progress, Status, Switches, Transcoder, UnknownEncoding};
pub use validator::{Mask, Utf8Validator};
