//! Header fields that are no longer correct after a body was changed.

use http::{HeaderMap, HeaderName};

/// The difference between the forwarded body and the received one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Nothing,
    /// The bytes may differ, but the length does not.
    Bytes,
    Length,
}

/// Digests of the body: RFC 9530, its predecessor RFC 3230, and RFC 1864.
const DIGESTS: [&str; 4] = ["content-digest", "repr-digest", "digest", "content-md5"];

/// Whether the change invalidates a field. A change of bytes invalidates digests, a strong `ETag` (RFC 9110 §8.8.1) and
/// `Accept-Ranges`, because ranges of the changed body are not those of the original. A change of the length also
/// invalidates `Content-Length`.
pub(crate) fn invalidates(name: &str, value: &[u8], change: Change) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    match change {
        Change::Nothing => false,
        Change::Length if is("content-length") => true,
        Change::Bytes | Change::Length => {
            DIGESTS.into_iter().any(is) || is("accept-ranges") || is("etag") && !value.starts_with(b"W/")
        }
    }
}

pub(crate) fn remove_invalidated(headers: &mut HeaderMap, change: Change) {
    let untrue = |(name, value): (&HeaderName, &http::HeaderValue)| {
        invalidates(name.as_str(), value.as_bytes(), change).then(|| name.clone())
    };
    if change != Change::Nothing {
        let names: Vec<_> = headers.iter().filter_map(untrue).collect();
        names.into_iter().for_each(|name| drop(headers.remove(name)));
    }
}
