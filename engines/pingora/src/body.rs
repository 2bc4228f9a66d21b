//! Checks one body in the hooks of Pingora.

use bytes::Bytes;
use utf8_codec::http::Reason;
use utf8_codec_envoy::plan::{Check, Verdict};

/// The state of one body.
#[derive(Debug)]
pub(crate) struct Body {
    check: Check,
    /// The limit of a body that is held until it has been checked.
    limit: Option<usize>,
    held: Vec<u8>,
    has_ended: bool,
}

/// The result for a chunk.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// The bytes to forward.
    pub(crate) data: Bytes,
    /// The number of ill-formed sequences that were repaired in the chunk.
    pub(crate) repaired: u64,
    /// The first error of a body that is only reported.
    pub(crate) reported: Option<Reason>,
    /// The reason to end the body after `data`.
    pub(crate) rejected: Option<Reason>,
}

impl Body {
    /// Creates the state. With a limit, the body is held until all of it has been checked.
    pub(crate) const fn new(check: Check, limit: Option<usize>) -> Self {
        Self { check, limit, held: Vec::new(), has_ended: false }
    }

    /// Checks the next chunk. `end` may be set for the last chunk or for an empty one. Later chunks are ignored.
    pub(crate) fn feed(&mut self, chunk: Bytes, end: bool) -> Checked {
        if self.has_ended {
            return Checked::default();
        }
        self.has_ended = end;
        if self.check.is_passing() {
            return Checked { data: chunk, ..Checked::default() };
        }
        let slices = [&*chunk];
        let outcome = self.check.feed(if chunk.is_empty() { &[] } else { &slices }, end);
        let (head, tail) = (outcome.head.as_slice(), &outcome.tail);
        let data = if head.is_empty() && tail.is_empty() {
            chunk.slice(..outcome.kept)
        } else {
            [head, &chunk[..outcome.kept], tail].concat().into()
        };
        let mut checked = Checked { data, repaired: outcome.repaired, ..Checked::default() };
        match outcome.verdict {
            Verdict::Pass => {}
            Verdict::Reported(reason) => checked.reported = Some(reason),
            Verdict::Rejected(reason) => {
                self.has_ended = true;
                checked.rejected = Some(reason);
            }
        }
        match self.limit {
            Some(limit) => self.hold(checked, limit, end),
            None => checked,
        }
    }

    fn hold(&mut self, mut checked: Checked, limit: usize, end: bool) -> Checked {
        if checked.rejected.is_some() {
            return Checked { data: Bytes::new(), ..checked };
        }
        if checked.data.len() > limit - self.held.len() {
            self.has_ended = true;
            return Checked { data: Bytes::new(), rejected: Some(Reason::TooLong { limit }), ..checked };
        }
        if end && self.held.is_empty() {
            return checked;
        }
        self.held.extend_from_slice(&checked.data);
        checked.data = if end { core::mem::take(&mut self.held).into() } else { Bytes::new() };
        checked
    }
}

#[cfg(test)]
mod tests {
    use utf8_codec::TextDecoder;

    use super::*;

    fn body(limit: Option<usize>) -> Body {
        Body::new(Check::text(TextDecoder::new(), false), limit)
    }

    #[test]
    fn a_body_that_is_held_is_forwarded_whole_or_not_at_all() {
        let mut good = body(Some(8));
        assert!(good.feed(Bytes::from_static(b"na\xC3"), false).data.is_empty());
        let checked = good.feed(Bytes::from_static(b"\xAFve"), true);
        assert_eq!((checked.data, checked.rejected), (Bytes::from("naïve"), None));

        let mut bad = body(Some(8));
        assert!(bad.feed(Bytes::from_static(b"good"), false).data.is_empty());
        let checked = bad.feed(Bytes::from_static(b"\xFF"), false);
        assert!(checked.data.is_empty() && matches!(checked.rejected, Some(Reason::Body(_))));

        let mut long = body(Some(8));
        assert!(long.feed(Bytes::from_static(b"12345678"), false).rejected.is_none());
        let checked = long.feed(Bytes::from_static(b"9"), true);
        assert_eq!(checked.rejected, Some(Reason::TooLong { limit: 8 }));
        assert!(checked.data.is_empty());
    }

    #[test]
    fn a_chunk_without_changes_is_not_copied() {
        let chunk = Bytes::from_static("naïve".as_bytes());
        let checked = body(None).feed(chunk.clone(), true);
        assert_eq!(checked.data.as_ptr(), chunk.as_ptr());
        assert_eq!(checked.data, chunk);
    }
}
