//! What HTTP and mail share: media types, multipart delimiters, percent-encoding, and the encodings that documents declare.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod content_type;
pub mod declared;
pub mod delimiter;
pub mod percent;
