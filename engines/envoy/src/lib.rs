//! A dynamic module for Envoy with a network filter and an HTTP filter, based on `utf8-codec`.
//!
//! - [`config`] reads the settings of a filter from JSON.
//! - [`plan`] checks one direction of a connection or message, slice by slice, and returns the changes to the buffer.
//! - [`websocket`] checks the frames of a WebSocket connection in the same way.
//! - [`shift`] makes the changes in a copy of the buffer.
//!   All are independent of Envoy. Other engines can use them with `default-features = false`.
//! - The feature `module` (default) adds the hooks that Envoy calls, over [abi.h] of Envoy 1.40.
//!
//! [abi.h]: https://github.com/envoyproxy/envoy/blob/v1.40.0/source/extensions/dynamic_modules/abi/abi.h

#[cfg(feature = "module")]
#[allow(unsafe_code)]
mod abi;
pub mod config;
#[cfg(feature = "module")]
mod counters;
#[cfg(feature = "module")]
#[allow(unsafe_code)]
mod host;
#[cfg(feature = "module")]
#[allow(unsafe_code)]
mod http;
#[cfg(feature = "module")]
mod linger;
#[cfg(feature = "module")]
#[allow(unsafe_code)]
mod network;
#[cfg(feature = "module")]
#[allow(unsafe_code)]
mod objects;
mod outcome;
pub mod plan;
#[cfg(any(feature = "module", test))]
mod rewrite;
pub mod shift;
pub mod websocket;
