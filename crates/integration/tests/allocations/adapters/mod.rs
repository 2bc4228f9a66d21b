//! All adapters, with the same streams.

mod io;
mod steady;

#[path = "../repeat.rs"]
mod repeat;
