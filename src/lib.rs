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

pub mod boundary;
#[cfg(any(feature = "codec", feature = "http", feature = "stream"))]
mod chunks;
#[cfg(feature = "codec")]
#[cfg_attr(docsrs, doc(cfg(feature = "codec")))]
pub mod codec;
#[cfg(feature = "alloc")]
#[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
pub mod content_type;
mod decoder;
#[cfg(feature = "transcode")]
#[cfg_attr(docsrs, doc(cfg(feature = "transcode")))]
pub mod detect;
mod encoding;
mod error;
// Whoever applies the rules by hand needs a part of it, the layers need all.
#[cfg(feature = "http")]
#[cfg_attr(docsrs, doc(cfg(feature = "http")))]
#[cfg_attr(not(feature = "tower"), allow(dead_code))]
pub mod http;
#[cfg(any(feature = "io", feature = "futures-io"))]
#[cfg_attr(docsrs, doc(cfg(any(feature = "io", feature = "futures-io"))))]
pub mod io;
#[cfg(feature = "mime")]
#[cfg_attr(docsrs, doc(cfg(feature = "mime")))]
pub mod mime;
mod policy;
#[cfg(feature = "proxy")]
#[cfg_attr(docsrs, doc(cfg(feature = "proxy")))]
pub mod proxy;
#[allow(unsafe_code)]
mod scan;
#[cfg(feature = "stream")]
#[cfg_attr(docsrs, doc(cfg(feature = "stream")))]
pub mod stream;
mod subset;
mod text;
#[cfg(feature = "tower")]
#[cfg_attr(docsrs, doc(cfg(feature = "tower")))]
pub mod tower;
#[cfg(feature = "transcode")]
#[cfg_attr(docsrs, doc(cfg(feature = "transcode")))]
pub mod transcode;
pub mod validator;

pub use decoder::{Piece, Pieces, Utf8Decoder, from_utf8};
pub use error::{ErrorKind, Utf8Error};
pub use policy::{Ascii, BomPolicy, ErrorPolicy, ShortStr};
#[cfg(utf8_codec_kernel = "choice")]
#[doc(hidden)]
pub use scan::Kernel;
pub use subset::Subset;
pub use text::{Counters, TextDecoder, TextPiece, TextPieces};
