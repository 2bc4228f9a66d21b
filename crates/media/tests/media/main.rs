//! Media types and the encodings that documents declare.
#![allow(missing_docs)]

mod content_type;
mod declared;
