//! `Content-Disposition` and similar header fields.

use alloc::vec::Vec;

use super::error::ContentTypeError;
use super::grammar::{Cursor, Dialect, is_token};
use super::rfc2231::Parameter;

/// Parses a value that is a token with parameters, such as `Content-Disposition` (RFC 7578 §4.2).
pub(crate) fn token_and_parameters(value: &[u8]) -> Result<(&str, Vec<Parameter<'_>>), ContentTypeError> {
    let mut cursor = Cursor::new(value, Dialect::Http);
    cursor.white_space();
    let (token, mut parameters) = (cursor.token(is_token)?, Vec::new());
    cursor.parameters(&mut parameters)?;
    Ok((token, parameters))
}
