//! Checks one body in the hooks of Pingora.

use bytes::Bytes;
use utf8_codec_engines::plan::{Check, Outcome, Verdict};
use utf8_codec_engines::{MessageReason, Reason};

/// The state of one body.
#[derive(Debug)]
pub(crate) struct Body {
    check: Check,
    /// The limit of a body that is held until it has been checked.
    limit: Option<usize>,
    /// Empty while `check` passes everything.
    held: Vec<u8>,
    has_ended: bool,
    is_rejected: bool,
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
        Self { check, limit, held: Vec::new(), has_ended: false, is_rejected: false }
    }

    /// Whether the end of the text is missing, without which its last bytes cannot be forwarded.
    pub(crate) const fn is_incomplete(&self) -> bool {
        !self.has_ended && !self.check.is_passing()
    }

    /// Checks the next chunk. `end` may be set for the last chunk or for an empty one.
    ///
    /// Chunks after a rejection, and after the end of a text, are dropped. Bytes that are not checked are forwarded even
    /// after the end: Pingora ends the empty body of a request before the connection switches protocols.
    pub(crate) fn feed(&mut self, chunk: Bytes, end: bool) -> Checked {
        if self.is_rejected {
            return Checked::default();
        }
        if self.check.is_passing() {
            self.has_ended |= end;
            return Checked { data: chunk, ..Checked::default() };
        }
        if self.has_ended {
            return Checked::default();
        }
        self.has_ended = end;
        let slices = [&*chunk];
        let outcome = self.check.feed(if chunk.is_empty() { &[] } else { &slices }, end);
        let mut checked =
            Checked { data: changed(&chunk, &outcome), repaired: outcome.repaired, ..Checked::default() };
        match outcome.verdict {
            Verdict::Pass => {}
            Verdict::Reported(reason) => checked.reported = Some(reason),
            Verdict::Rejected(reason) => {
                self.is_rejected = true;
                checked.rejected = Some(reason);
            }
        }
        match self.limit {
            Some(limit) => self.hold(checked, limit, end),
            None => checked,
        }
    }

    fn hold(&mut self, mut checked: Checked, limit: usize, end: bool) -> Checked {
        // After a reported error nothing is checked anymore.
        let releases = end || self.check.is_passing();
        if checked.rejected.is_some() {
            return Checked { data: Bytes::new(), ..checked };
        }
        if checked.data.len() > limit - self.held.len() {
            self.is_rejected = true;
            let reason = MessageReason::TooLong { limit }.into();
            return Checked { data: Bytes::new(), rejected: Some(reason), ..checked };
        }
        if releases && self.held.is_empty() {
            return checked;
        }
        self.held.extend_from_slice(&checked.data);
        checked.data = if releases { core::mem::take(&mut self.held).into() } else { Bytes::new() };
        checked
    }
}

/// Returns the new content of a chunk, which is only copied if something is inserted.
pub(crate) fn changed(chunk: &Bytes, outcome: &Outcome) -> Bytes {
    let head = outcome.head.as_slice();
    let tail = &outcome.tail;
    if head.is_empty() && tail.is_empty() {
        chunk.slice(..outcome.kept)
    } else {
        [head, &chunk[..outcome.kept], tail].concat().into()
    }
}

#[cfg(test)]
mod tests {
    use utf8_codec_engines::TextDecoder;

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
        assert!(checked.data.is_empty());
        assert!(matches!(checked.rejected, Some(Reason::Message(MessageReason::Body(_)))));

        let mut long = body(Some(8));
        assert!(long.feed(Bytes::from_static(b"12345678"), false).rejected.is_none());
        let checked = long.feed(Bytes::from_static(b"9"), true);
        assert_eq!(checked.rejected, Some(MessageReason::TooLong { limit: 8 }.into()));
        assert!(checked.data.is_empty());
    }

    #[test]
    fn a_body_that_is_held_is_released_at_a_reported_error() {
        let mut body = Body::new(Check::text(TextDecoder::new(), true), Some(16));
        assert!(body.feed(Bytes::from_static(b"good "), false).data.is_empty());
        let checked = body.feed(Bytes::from_static(b"\xFFx "), false);
        assert!(checked.reported.is_some() && checked.rejected.is_none());
        assert_eq!(checked.data, &b"good \xFFx "[..]);
        // The limit is for bytes that are held.
        let rest = Bytes::from_static(b"more than sixteen bytes");
        let checked = body.feed(rest.clone(), true);
        assert_eq!((checked.data, checked.rejected), (rest, None));
    }

    #[test]
    fn bytes_that_are_not_checked_pass_after_the_end() {
        let mut body = Body::new(Check::pass(), None);
        assert!(body.feed(Bytes::new(), true).data.is_empty());
        assert!(!body.is_incomplete());
        let chunk = Bytes::from_static(b"\xFF");
        assert_eq!(body.feed(chunk.clone(), false).data, chunk);
        assert_eq!(body.feed(chunk.clone(), true).data, chunk);
    }

    #[test]
    fn nothing_passes_after_a_rejection_or_after_the_end_of_a_text() {
        for limit in [None, Some(8)] {
            let mut rejected = body(limit);
            assert!(rejected.feed(Bytes::from_static(b"\xFF"), false).rejected.is_some());
            let mut ended = body(limit);
            assert!(ended.is_incomplete());
            assert_eq!(ended.feed(Bytes::from_static(b"a"), true).data, "a");
            assert!(!ended.is_incomplete());
            for body in [&mut rejected, &mut ended] {
                let checked = body.feed(Bytes::from_static(b"late"), true);
                assert!(checked.data.is_empty() && checked.rejected.is_none());
            }
        }
        let mut long = body(Some(3));
        assert!(long.feed(Bytes::from_static(b"good"), false).rejected.is_some());
        assert!(long.feed(Bytes::from_static(b"a"), true).data.is_empty());
    }

    #[test]
    fn a_chunk_without_changes_is_not_copied() {
        let chunk = Bytes::from_static("naïve".as_bytes());
        let checked = body(None).feed(chunk.clone(), true);
        assert_eq!(checked.data.as_ptr(), chunk.as_ptr());
        assert_eq!(checked.data, chunk);
    }
}
