//! Events that vanish without the feature `tracing`, so that no call site needs a `cfg`.

#[cfg(feature = "tracing")]
macro_rules! debug {
    ($($event:tt)*) => { ::tracing::debug!($($event)*) };
}

#[cfg(not(feature = "tracing"))]
macro_rules! debug {
    ($($event:tt)*) => {};
}
