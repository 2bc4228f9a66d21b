//! Text out of readers, and into writers, of any runtime.
//!
//! [`Utf8Reader`] and [`Utf8Writer`] are the same types everywhere: over an inner reader of tokio they are readers of
//! tokio, over one of futures-io they are that. `reading` and `writing` drive both and know no runtime; the modules
//! `tokio` and `futures` only lend them the traits.

#[cfg(feature = "futures-io")]
mod futures;
mod reader;
mod reading;
#[cfg(feature = "io")]
mod tokio;
mod writer;
mod writing;

pub use reader::Utf8Reader;
pub use writer::Utf8Writer;

use crate::policy::ShortStr;

/// A little text of our own, and how much of it is gone.
#[derive(Clone, Copy, Debug)]
struct Short {
    text: ShortStr,
    gone: usize,
}

impl Short {
    const EMPTY: Self = Self { text: ShortStr::EMPTY, gone: 0 };

    const fn new(text: ShortStr) -> Self {
        Self { text, gone: 0 }
    }

    fn left(&self) -> &[u8] {
        &self.text.as_str().as_bytes()[self.gone..]
    }

    fn take(&mut self, bytes: usize) {
        self.gone += bytes.min(self.left().len());
    }
}
