//! Code that the tests of hostile callers share. This file does not use the rest of `support`, because Miri compiles
//! these tests with few dependencies.
#![allow(dead_code, unreachable_pub)]

use core::cell::Cell;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

pub use crate::Rng;
use utf8_codec::{ErrorPolicy, Subset, TextDecoder};

/// Asserts that a `str` is well-formed. The bytes are tested, because the compiler may assume this of a `str`.
#[track_caller]
pub fn assert_text(text: &str) {
    let bytes = core::hint::black_box(text.as_bytes());
    assert!(core::str::from_utf8(bytes).is_ok(), "ill-formed text: {bytes:02X?}");
}

/// Random input of an attack.
pub trait RngExt {
    fn bytes(&mut self) -> Vec<u8>;
}

impl RngExt for Rng {
    /// Returns parts of characters, whole characters, ill-formed bytes and line breaks in random order.
    fn bytes(&mut self) -> Vec<u8> {
        const PARTS: [&[u8]; 16] = [
            b"a",
            b"plain ASCII text",
            b"\n",
            b"\r\n",
            b"\xC3",
            b"\xA9",
            "\u{E9}".as_bytes(),
            b"\xE2",
            b"\x82\xAC",
            "\u{20AC}".as_bytes(),
            b"\xF0\x9F",
            b"\x92\xA9",
            "\u{1F4A9}".as_bytes(),
            b"\xFF",
            b"\xED\xA0\x80",
            b"data: \n\n",
        ];
        (0..self.below(6)).flat_map(|_| PARTS[self.below(PARTS.len())].to_vec()).collect()
    }
}

/// The number of attempts of an attack.
pub const ROUNDS: u64 = if cfg!(miri) { 6 } else { 2000 };

pub fn each_round(mut attack: impl FnMut(&mut Rng)) {
    (0..ROUNDS).for_each(|seed| attack(&mut Rng(seed)));
}

pub fn decoders() -> [TextDecoder; 4] {
    let new = TextDecoder::new();
    [
        new.clone(),
        new.clone().with_error_policy(ErrorPolicy::Replace),
        new.clone().with_error_policy(ErrorPolicy::Escape),
        new.with_subset(&Subset::ASCII),
    ]
}

pub fn any_decoder(rng: &mut Rng) -> TextDecoder {
    decoders()[rng.below(4)].clone()
}

/// Runs an operation that may panic, without the message of the panic.
pub fn may_panic<T>(operation: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(operation)).ok()
}

/// Panics without a message at some of the calls.
#[derive(Debug)]
pub struct Panics {
    pub calls: Cell<usize>,
    pub at: usize,
}

impl Panics {
    pub fn at(call: usize) -> Self {
        Self { calls: Cell::new(0), at: call }
    }

    pub fn call(&self) {
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() == self.at {
            std::panic::resume_unwind(Box::new("an attack"));
        }
    }
}
