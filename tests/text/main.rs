//! Floor 2: `TextDecoder` and its policies, subsets, positions in lines and columns, declared encodings.
#![allow(missing_docs)]

#[cfg(feature = "alloc")]
mod collect;
#[cfg(feature = "alloc")]
mod cow;
mod decoder;
#[cfg(feature = "std")]
mod json;
mod locate;
#[cfg(feature = "alloc")]
mod lossy;
#[cfg(feature = "alloc")]
mod many;
mod names;
#[cfg(feature = "alloc")]
mod runs;
mod subset;

use test_support as support;
