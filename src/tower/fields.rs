//! Text outside the body: header values, the path and the query.

use http::request::Parts;
use http::{HeaderMap, Uri};

use crate::decoder::Utf8Decoder;
use crate::error::Utf8Error;
use crate::http::fields::check_values;
use crate::http::rejection::Reason;
use crate::percent;

/// Which text outside the body is checked. By default none is.
///
/// HTTP does not require this text to be UTF-8: a header value may contain any byte above `7F`, and a URI may contain
/// `%FF`. A program that converts such text to a `str` either fails or inserts U+FFFD.
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
            check_decoded(uri.path()).map_err(Reason::Path)?;
        }
        if self.query {
            check_decoded(uri.query().unwrap_or_default()).map_err(Reason::Query)?;
        }
        Ok(())
    }
}

fn check_decoded(text: &str) -> Result<(), Utf8Error> {
    let mut decoder = Utf8Decoder::new();
    for byte in percent::decoded(text.as_bytes()) {
        decoder.validate(&[byte])?;
    }
    decoder.finish()
}
