//! Fields that are not true any more once the body was changed.

use http::HeaderMap;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, ETAG};

/// Digests of the body: RFC 9530, its forerunner RFC 3230, and RFC 1864.
const DIGESTS: [&str; 4] = ["content-digest", "repr-digest", "digest", "content-md5"];

pub(crate) fn remove_digests(fields: &mut HeaderMap) {
    for name in DIGESTS {
        fields.remove(name);
    }
}

/// Removes what a change of the bytes makes untrue: digests, a strong `ETag` (RFC 9110 §8.8.1), and the offer of
/// ranges, whose bytes would be counted otherwise than here.
pub(crate) fn bytes_change(headers: &mut HeaderMap) {
    remove_digests(headers);
    headers.remove(ACCEPT_RANGES);
    if headers.get(ETAG).is_some_and(|tag| !tag.as_bytes().starts_with(b"W/")) {
        headers.remove(ETAG);
    }
}

/// Removes the length too.
pub(crate) fn length_changes(headers: &mut HeaderMap) {
    bytes_change(headers);
    headers.remove(CONTENT_LENGTH);
}
