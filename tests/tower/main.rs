//! The layers for services, and the responses to what they reject.
#![allow(missing_docs)]

mod drain;
mod gateway;
mod grpc;
mod rejection;
mod reports;
mod request;
mod response;
mod reverse_proxy;

#[path = "../support/mod.rs"]
mod support;
