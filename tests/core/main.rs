//! Floor 1: the decoder, its errors, the validator, boundaries.
#![allow(missing_docs)]

mod boundary;
mod decoder;
mod many;
mod rows;
mod standards;
mod validator;

use test_support as support;
