//! The filter of one direction, without I/O.

use alloc::boxed::Box;
use core::ops::Range;

use bytes::Bytes;
use utf8_codec::internal::{Escapes, Joiner, Sink};
use utf8_codec::json::JsonStrings;
use utf8_codec::{BomPolicy, Counters, ErrorPolicy, TextDecoder, Utf8Error};

use crate::edit;
use crate::edit::{Edit, Edits, position};
use crate::forward::ForwardPolicy;

/// A filter for one direction of a proxied stream. The input is slices of an engine's buffer, the output is edits of
/// that buffer.
///
/// A proxy engine owns its buffers, and each engine has its own functions to change them. [`feed_with`](Self::feed_with)
/// therefore only reads a slice and reports [`Edit`]s: which parts are forwarded unchanged, and which bytes are
/// inserted between them. For a slice of well-formed text that starts and ends between characters there is one
/// [`Edit::Pass`] with the whole slice. Nothing is allocated, and no runtime or socket is needed.
///
/// Only whole characters are forwarded, unless [`with_forward_policy`](Self::with_forward_policy) is set. The bytes of an
/// incomplete character, at most 3, are held in the filter ([`pending`](Self::pending)) and inserted before the slice that
/// completes it.
///
/// [`rewrite`](Self::rewrite) applies the edits to a [`Bytes`], for engines whose hooks use that type.
///
/// A policy that repairs can change the length of the stream. Headers that were already sent are then wrong if they
/// contain the length (`Content-Length`) or depend on the bytes (`ETag`, digests).
/// [`ErrorPolicy::Substitute`](utf8_codec::ErrorPolicy::Substitute) keeps the length. The maximum length of a repaired slice
/// is [`ErrorPolicy::max_output_len`](utf8_codec::ErrorPolicy::max_output_len).
///
/// ```
/// use utf8_codec::ErrorKind;
/// use utf8_codec_proxy::{Edit, Filter};
///
/// let mut filter = Filter::new();
/// let mut forwarded = Vec::new();
/// let slices = [&b"caf\xC3"[..], b"\xA9 au", b" \xFF lait"];
/// let results = slices.map(|slice| {
///     filter.feed_with(slice, |edit| match edit {
///         Edit::Pass(range) => forwarded.extend_from_slice(&slice[range]),
///         Edit::Insert(bytes) => forwarded.extend_from_slice(bytes),
///         Edit::IllFormed(error) => assert_eq!((error.offset, error.kind), (9, ErrorKind::InvalidLead)),
///         _ => {}
///     })
/// });
/// assert!(matches!(results, [Ok(()), Ok(()), Err(_)]));
/// assert_eq!(forwarded, "café au ".as_bytes(), "everything before the error");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Filter {
    decoder: TextDecoder,
    escapes: Option<Box<Escapes>>,
    forward: ForwardPolicy,
    rejected: Option<Utf8Error>,
}

impl Filter {
    /// Creates a filter that rejects ill-formed text and keeps the BOM.
    pub const fn new() -> Self {
        Self::with_decoder(TextDecoder::new())
    }

    /// Creates a filter with the policies of this decoder.
    pub const fn with_decoder(decoder: TextDecoder) -> Self {
        Self { decoder, escapes: None, forward: ForwardPolicy::Characters, rejected: None }
    }

    /// Sets which bytes of an incomplete character are forwarded. [`ForwardPolicy::Bytes`] needs no edit where a slice
    /// starts or ends inside a character: a slice of well-formed text passes as a whole.
    ///
    /// Pending bytes of a decoder that was passed to [`with_decoder`](Self::with_decoder) count as forwarded.
    ///
    /// ```
    /// use utf8_codec_proxy::{Edit, Filter, ForwardPolicy};
    ///
    /// let mut filter = Filter::new().with_forward_policy(ForwardPolicy::Bytes);
    /// filter.feed_with(b"caf\xC3", |edit| assert_eq!(edit, Edit::Pass(0..4)))?;
    /// filter.feed_with(b"\xA9 \xE2", |edit| assert_eq!(edit, Edit::Pass(0..3)))?;
    /// // `E2` was forwarded. `28`, which does not continue it, is not.
    /// let error = filter.feed_with(b"(x", |_| {}).unwrap_err();
    /// assert_eq!((error.offset, error.len), (6, 1));
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    #[must_use]
    pub const fn with_forward_policy(mut self, forward: ForwardPolicy) -> Self {
        self.forward = forward;
        self
    }

    /// Also checks the escapes in the strings of [JSON](utf8_codec::json). An unfinished escape, at most 11 bytes, is held.
    /// An escape that is replaced keeps its length. Text passes in ranges of at most 4 KiB.
    ///
    /// ```
    /// use utf8_codec::json::{EscapePolicy, JsonStrings};
    /// use utf8_codec_proxy::Filter;
    ///
    /// let strings = JsonStrings::new().with_escape_policy(EscapePolicy::Replace);
    /// let mut filter = Filter::new().with_json_strings(strings);
    /// let mut body = Some(r#"["\uD83D"]"#.into());
    /// let _ = filter.rewrite(&mut body, true);
    /// assert_eq!(body, Some(r#"["\uFFFD"]"#.into()));
    /// ```
    #[must_use]
    pub fn with_json_strings(self, strings: JsonStrings) -> Self {
        Self { escapes: Some(Box::new(Escapes::new(strings))), ..self }
    }

    /// Filters the next slice of the stream and calls `edit` for each edit.
    ///
    /// The slice may be empty. The text, the errors and the offsets do not depend on how the stream is split into
    /// slices.
    ///
    /// # Errors
    ///
    /// Returns the error that the policy does not repair. The edits before it are valid: forward them, then close the stream.
    /// Every later call returns the same error.
    pub fn feed_with(&mut self, slice: &[u8], edit: impl FnMut(Edit<'_>)) -> Result<(), Utf8Error> {
        if let Some(error) = self.rejected {
            return Err(error);
        }
        let mut edits = PlainEdits { slice, edit };
        let result = if self.forwards_bytes() {
            edit::validate(&mut self.decoder, slice, &mut edits)
        } else {
            edit::decode(&mut self.decoder, self.escapes.as_deref_mut(), slice, 0, &mut edits)
        };
        result.map_err(|error| self.reject(error))
    }

    /// Ends the stream. An incomplete character is ill-formed. `edit` is called only with `IllFormed` and `Insert`.
    ///
    /// # Errors
    ///
    /// Same as for [`feed_with`](Self::feed_with).
    pub fn finish_with(&mut self, edit: impl FnMut(Edit<'_>)) -> Result<(), Utf8Error> {
        if let Some(error) = self.rejected {
            return Err(error);
        }
        let mut edits = PlainEdits { slice: &[], edit };
        let result = edit::finish(&mut self.decoder, self.escapes.as_deref_mut(), &mut edits);
        result.map_err(|error| self.reject(error))
    }

    /// Whether the forward policy is [`ForwardPolicy::Bytes`] and has an effect.
    pub fn forwards_bytes(&self) -> bool {
        let Self { decoder, escapes, forward, .. } = self;
        *forward == ForwardPolicy::Bytes
            && escapes.is_none()
            && decoder.error_policy() == ErrorPolicy::Strict
            && decoder.bom_policy() == BomPolicy::Keep
            && decoder.is_past_start()
    }

    fn reject(&mut self, error: Utf8Error) -> Utf8Error {
        self.rejected = Some(error);
        edit::stop(&mut self.decoder, self.escapes.as_deref_mut(), error);
        error
    }

    /// Replaces the next chunk by the text that can be forwarded. This is [`feed_with`](Self::feed_with) and, at the end,
    /// [`finish_with`](Self::finish_with), for hooks that replace a chunk.
    ///
    /// **`body` becomes `None` only at the end of the stream.** If nothing of a chunk can be forwarded yet, it becomes
    /// an empty `Some`. In pingora's `request_body_filter` a `None` ends the body, and the rest of the request would be
    /// lost. Pingora does not send an empty chunk to the server or to the client.
    ///
    /// A chunk is not copied if all of it is forwarded, or all of it except an incomplete character at its end. Any
    /// other chunk is copied once.
    ///
    /// # Errors
    ///
    /// Same as for [`feed_with`](Self::feed_with). What precedes the error is in `body`.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use utf8_codec_proxy::Filter;
    ///
    /// // `async fn request_body_filter(&self, _, body: &mut Option<Bytes>, end_of_stream: bool, ctx: &mut Filter)`
    /// let mut ctx = Filter::new();
    /// let mut sent = Vec::new();
    /// for (chunk, end_of_stream) in [(&b"na\xF0"[..], false), (b"\x9F", false), (b"\x98\x80x", true)] {
    ///     let mut body = Some(Bytes::copy_from_slice(chunk));
    ///     ctx.rewrite(&mut body, end_of_stream)?; // The hook returns an error, and the engine responds with 400.
    ///     sent.push(body);
    /// }
    /// assert_eq!(sent, [Some("na".into()), Some("".into()), Some("\u{1F600}x".into())]);
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    pub fn rewrite(&mut self, body: &mut Option<Bytes>, end_of_stream: bool) -> Result<(), Utf8Error> {
        self.rewrite_with(body, end_of_stream, |_| {})
    }

    /// Same as [`rewrite`](Self::rewrite), but also calls `report` with every error, repaired or not, in stream order.
    ///
    /// # Errors
    ///
    /// Same as for [`rewrite`](Self::rewrite).
    pub fn rewrite_with(
        &mut self,
        body: &mut Option<Bytes>,
        end_of_stream: bool,
        mut report: impl FnMut(Utf8Error),
    ) -> Result<(), Utf8Error> {
        let chunk = body.take().unwrap_or_default();
        let mut text = Joiner::without_limit();
        let mut edit = |edit: Edit<'_>| match edit {
            Edit::Pass(range) => drop(text.span(&chunk[..], range)),
            Edit::Insert(bytes) => drop(text.copy(&chunk[..], bytes)),
            Edit::IllFormed(error) => report(error),
            Edit::LineRejected(_) => {}
        };
        let mut result = self.feed_with(&chunk, &mut edit);
        if end_of_stream {
            result = self.finish_with(&mut edit);
        }
        let text = text.end().map(|text| text.of_last(chunk)).unwrap_or_default();
        *body = (!end_of_stream || !text.is_empty()).then_some(text);
        result
    }

    /// Returns the number of bytes consumed so far, including held bytes.
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// Returns the bytes of an incomplete character, at most 3. Under [`ForwardPolicy::Bytes`] they were forwarded.
    pub fn pending(&self) -> &[u8] {
        self.decoder.pending()
    }

    /// Returns the number of held bytes: of an incomplete character, and of an unfinished escape.
    #[cfg(feature = "relay")]
    pub(super) fn held(&self) -> usize {
        if self.forwards_bytes() {
            return 0;
        }
        self.pending().len() + self.escapes.as_ref().map_or(0, |escapes| escapes.pending().len())
    }

    /// Returns the number of errors so far, by kind.
    pub const fn counters(&self) -> Counters {
        self.decoder.counters()
    }
}

/// Forwards the edits of a slice to the caller.
struct PlainEdits<'s, F> {
    slice: &'s [u8],
    edit: F,
}

impl<F: FnMut(Edit<'_>)> PlainEdits<'_, F> {
    fn insert(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            (self.edit)(Edit::Insert(bytes));
        }
    }
}

impl<F: FnMut(Edit<'_>)> Edits for PlainEdits<'_, F> {
    fn pass(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            (self.edit)(Edit::Pass(range));
        }
    }

    fn held(&mut self, bytes: &[u8]) {
        self.insert(bytes);
    }
}

impl<F: FnMut(Edit<'_>)> Sink for PlainEdits<'_, F> {
    fn borrowed(&mut self, text: &str) {
        let start = position(self.slice, text);
        self.pass(start..start + text.len());
    }

    fn made(&mut self, text: &str) {
        self.insert(text.as_bytes());
    }

    fn error(&mut self, error: Utf8Error) {
        (self.edit)(Edit::IllFormed(error));
    }
}
