//! Comparisons with other programs: Python, Java, Perl, Node, a shell.
#![allow(missing_docs)]

mod child_process;
mod mail;
mod mail_headers;
mod mail_obsolete;
mod smtplib;
mod transcode;

#[path = "../support/mod.rs"]
mod support;
