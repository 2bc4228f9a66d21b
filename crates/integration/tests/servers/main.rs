//! Checked bodies and layers in servers of hyper and axum, and the examples that are servers.
#![allow(missing_docs)]

mod axum_gateway;
mod body;
mod grpc;
mod reverse_proxy;

mod example;
#[path = "../support/mod.rs"]
mod support;
