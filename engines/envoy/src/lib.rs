//! A dynamic module for Envoy with a network filter and an HTTP filter, based on `utf8-codec`.
//!
//! The settings and the check of slices are those of all engines (`engines/core`). This crate has the hooks that Envoy
//! calls, over [abi.h] of Envoy 1.40. The tests are compiled without them, because only Envoy has the functions that
//! they call.
//!
//! [abi.h]: https://github.com/envoyproxy/envoy/blob/v1.40.0/source/extensions/dynamic_modules/abi/abi.h

#[cfg(not(test))]
#[allow(unsafe_code)]
mod abi;
#[cfg(not(test))]
mod counters;
#[cfg(not(test))]
#[allow(unsafe_code)]
mod host;
#[cfg(not(test))]
#[allow(unsafe_code)]
mod http;
#[cfg(not(test))]
mod linger;
#[cfg(not(test))]
#[allow(unsafe_code)]
mod network;
#[cfg(not(test))]
#[allow(unsafe_code)]
mod objects;
mod rewrite;
