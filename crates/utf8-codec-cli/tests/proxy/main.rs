//! The commands `proxy` and `serve`.
#![cfg(unix)]
#![allow(missing_docs)]

mod activation;
mod admin;
#[cfg(target_os = "linux")]
mod faults;
mod operating;
mod proxy_protocol;
mod reference;
mod traffic;
mod unix_sockets;

#[path = "../support/mod.rs"]
mod support;
