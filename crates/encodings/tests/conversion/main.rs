//! Conversion between encodings, their detection, and the adapters.
#![allow(missing_docs)]

mod bom;
#[cfg(feature = "codec")]
mod codec;
#[cfg(feature = "codec")]
mod codec_lines;
mod detector;
mod encodings;
mod fallback;
#[cfg(feature = "std")]
mod io;
mod legacy;
mod reports;
mod rows;
mod shifts;
#[cfg(feature = "stream")]
mod stream;
mod surrogates;
mod transcoder;
mod utf_16;

use test_support as support;
