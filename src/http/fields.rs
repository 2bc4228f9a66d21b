//! Text outside the body: header values, the path and the query.

use http::request::Parts;
use http::{HeaderMap, HeaderName, Uri};

use super::refusal::Reason;
use crate::decoder::Utf8Decoder;
use crate::error::Utf8Error;
use crate::percent;

/// Which text outside the body is checked; by default none.
///
/// HTTP itself does not say that these are UTF-8: a header value may hold any byte above `7F`, and `%FF` is a fine
/// URI. But whoever makes a `str` of them either fails or puts U+FFFD in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Fields {
    pub(crate) headers: bool,
    pub(crate) path: bool,
    pub(crate) query: bool,
}

impl Fields {
    pub(crate) fn check_request(self, request: &Parts) -> Result<(), Reason> {
        self.check_uri(&request.uri)?;
        self.check_headers(&request.headers)
    }

    pub(crate) fn check_headers(self, headers: &HeaderMap) -> Result<(), Reason> {
        if self.headers {
            check_values(headers).map_err(|(name, error)| Reason::Header(name, error))?;
        }
        Ok(())
    }

    fn check_uri(self, uri: &Uri) -> Result<(), Reason> {
        if self.path {
            check(percent::decoded(uri.path().as_bytes())).map_err(Reason::Path)?;
        }
        if self.query {
            check(percent::decoded(uri.query().unwrap_or_default().as_bytes())).map_err(Reason::Query)?;
        }
        Ok(())
    }
}

/// Checks the values of all fields: the name of the first that is ill-formed, and where it is.
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

fn check(bytes: impl Iterator<Item = u8>) -> Result<(), Utf8Error> {
    let mut decoder = Utf8Decoder::new();
    for byte in bytes {
        decoder.validate(&[byte])?;
    }
    decoder.finish()
}
