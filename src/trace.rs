//! Macros for `tracing` events. Without the feature `tracing` they compile to nothing, so that no call site needs a
//! `cfg`.
//!
//! `debug!` is used once for each ill-formed sequence, `trace!` for each step. The events contain numbers and names,
//! never payload.

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
