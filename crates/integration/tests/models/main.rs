//! Random sequences of operations on every adapter, compared with a model. `PROPTEST_CASES=10000` tries more sequences.
#![allow(missing_docs, unreachable_pub)]

mod memory;
mod model;
mod transport;
