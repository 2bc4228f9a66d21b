#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

#[cfg(feature = "codec")]
pub mod codec;
pub mod detect;
mod encoding;
mod error;
#[cfg(feature = "std")]
pub mod io;
#[cfg(feature = "stream")]
pub mod stream;
mod transcode;

pub use encoding::{Encoding, UnknownEncoding, is_label};
pub use error::TranscodeError;
pub use transcode::{Output, Switches, Transcoder, UnmappablePolicy};
pub use transcode::{Progress as TranscodeProgress, Status as TranscodeStatus};
