//! All adapters, with the same streams.

mod io;
mod steady;

#[path = "../../support/repeat.rs"]
mod repeat;
