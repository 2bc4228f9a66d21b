//! The values of header and trailer fields.

use http::{HeaderMap, HeaderName};

use crate::decoder::Utf8Decoder;
use crate::error::Utf8Error;

/// Checks the values of all fields. Returns the name of the first ill-formed one, and its error.
pub(crate) fn check_values(fields: &HeaderMap) -> Result<(), (HeaderName, Utf8Error)> {
    for (name, value) in fields {
        let mut decoder = Utf8Decoder::new();
        decoder
            .validate(value.as_bytes())
            .and_then(|()| decoder.finish())
            .map_err(|error| (name.clone(), error))?;
    }
    Ok(())
}
