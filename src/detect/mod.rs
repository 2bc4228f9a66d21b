//! What octets are: by their signature, by a designation, by themselves.

mod signature;

pub(crate) use signature::sniff;
pub use signature::{SignatureSniffer, Sniff};
