//! Events that compile to nothing without the feature `tracing`, so that no call site needs a `cfg`.
//!
//! `debug!` once for each ill-formed sequence, `trace!` for each step; numbers and names only, never payload.

#[cfg(feature = "tracing")]
macro_rules! debug {
    ($($event:tt)*) => { ::tracing::debug!($($event)*) };
}

#[cfg(feature = "tracing")]
#[allow(unused_macros)]
macro_rules! trace {
    ($($event:tt)*) => { ::tracing::trace!($($event)*) };
}

#[cfg(not(feature = "tracing"))]
macro_rules! debug {
    ($($event:tt)*) => {};
}

#[cfg(not(feature = "tracing"))]
#[allow(unused_macros)]
macro_rules! trace {
    ($($event:tt)*) => {};
}
