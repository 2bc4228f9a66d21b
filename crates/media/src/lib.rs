#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod content_type;
pub mod declared;
pub mod delimiter;
pub mod percent;
