//! Text outside the body: header values, the path and the query.

use http::request::Parts;
use http::{HeaderMap, Uri};

use super::refusal::Reason;
use crate::decoder::Utf8Decoder;
use crate::error::Utf8Error;

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
            for (name, value) in headers {
                check(value.as_bytes().iter().copied())
                    .map_err(|error| Reason::Header(name.clone(), error))?;
            }
        }
        Ok(())
    }

    fn check_uri(self, uri: &Uri) -> Result<(), Reason> {
        if self.path {
            check(percent_decoded(uri.path().as_bytes())).map_err(Reason::Path)?;
        }
        if self.query {
            check(percent_decoded(uri.query().unwrap_or_default().as_bytes())).map_err(Reason::Query)?;
        }
        Ok(())
    }
}

fn check(bytes: impl Iterator<Item = u8>) -> Result<(), Utf8Error> {
    let mut decoder = Utf8Decoder::new();
    for byte in bytes {
        decoder.validate(&[byte])?;
    }
    decoder.finish()
}

/// The bytes that a percent-encoded text stands for (RFC 3986 §2.1). A `%` without two digits stands for itself, as
/// in the WHATWG URL Standard.
fn percent_decoded(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let (byte, len) = match *rest {
            [b'%', high, low, ..] => match (digit(high), digit(low)) {
                (Some(high), Some(low)) => (high << 4 | low, 3),
                _ => (b'%', 1),
            },
            [byte, ..] => (byte, 1),
            [] => return None,
        };
        rest = &rest[len..];
        Some(byte)
    })
}
