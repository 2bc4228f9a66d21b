//! Where characters begin: UTF-8 synchronises itself (RFC 3629 §1), so the boundary next to any place is found by
//! looking at three bytes, whatever came before.

use crate::encoding::{Sequence, UTF_8, is_continuation};

/// Bytes of a character that do not start it: three at most.
const MAX_CONTINUATIONS: usize = 3;

/// The last place at or before `index` where `bytes` can be cut without cutting a character. `index` counts bytes;
/// after the end it stands for the end.
///
/// Looks at three bytes at most. Where the bytes are ill-formed it gives some place, never more than three bytes
/// back.
///
/// ```
/// let text = "a🦀b".as_bytes();
/// assert_eq!([0, 1, 2, 3, 4, 5, 9].map(|index| utf8_codec::boundary::floor_boundary(text, index)), [0, 1, 1, 1, 1, 5, 6]);
/// ```
pub fn floor_boundary(bytes: &[u8], index: usize) -> usize {
    let index = index.min(bytes.len());
    let inside = (0..MAX_CONTINUATIONS).take_while(|&back| {
        let byte = index.checked_sub(back).and_then(|at| bytes.get(at));
        byte.is_some_and(|&byte| is_continuation(byte))
    });
    index.saturating_sub(inside.count())
}

/// The first place at or after `index` where `bytes` can be cut without cutting a character. `index` counts bytes;
/// after the end it stands for the end.
///
/// Looks at three bytes at most. Where the bytes are ill-formed it gives some place, never more than three bytes
/// on.
///
/// ```
/// let text = "a🦀b".as_bytes();
/// assert_eq!([0, 1, 2, 3, 4, 5, 9].map(|index| utf8_codec::boundary::ceil_boundary(text, index)), [0, 1, 5, 5, 5, 5, 6]);
/// ```
pub fn ceil_boundary(bytes: &[u8], index: usize) -> usize {
    let index = index.min(bytes.len());
    index + leading_continuations(&bytes[index..])
}

/// How many bytes at the end of `bytes` start a character that is not whole: none to three. What they are held back
/// for, a [`Utf8Decoder`](crate::Utf8Decoder) does by itself; this is for those who only have a buffer to cut.
///
/// ```
/// assert_eq!(utf8_codec::boundary::unfinished_len(b"caf\xC3"), 1);
/// assert_eq!(utf8_codec::boundary::unfinished_len("café".as_bytes()), 0);
/// ```
pub fn unfinished_len(bytes: &[u8]) -> usize {
    let start = floor_boundary(bytes, bytes.len().saturating_sub(1));
    let last = &bytes[start..];
    if UTF_8.sequence(last) == Sequence::Unfinished { last.len() } else { 0 }
}

/// The longest beginning of `text` that is at most `max` bytes long and ends between characters.
///
/// For protocols with room for so many bytes: a WebSocket close reason (123), a syslog message, an IRC line (510).
///
/// ```
/// assert_eq!(utf8_codec::boundary::truncate("na\u{EF}ve", 3), "na");
/// assert_eq!(utf8_codec::boundary::truncate("na\u{EF}ve", 4), "na\u{EF}");
/// ```
pub fn truncate(text: &str, max: usize) -> &str {
    &text[..floor_boundary(text.as_bytes(), max)]
}

/// [`truncate`] for text that comes in chunks: lets `max` bytes through, whole characters only, and then nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncator {
    left: usize,
}

impl Truncator {
    /// Lets `max` bytes through.
    pub const fn new(max: usize) -> Self {
        Self { left: max }
    }

    /// What of the next chunk is let through. After a character that had no room it is nothing for good, so that the
    /// result is a beginning of the whole text however it was cut.
    pub fn feed<'t>(&mut self, chunk: &'t str) -> &'t str {
        let kept = truncate(chunk, self.left);
        self.left = if kept.len() == chunk.len() { self.left - kept.len() } else { 0 };
        kept
    }
}

/// Splits text that comes in chunks into messages of at most so many bytes, each of whole characters and as long as
/// it can be. Where it splits depends on the text alone, not on the chunks.
///
/// ```
/// use utf8_codec::boundary::Splitter;
///
/// let mut splitter = Splitter::new(4).expect("four bytes hold any character");
/// let mut messages: Vec<String> = Vec::new();
/// for chunk in ["gr\u{FC}", "n u", "nd blau"] {
///     for part in splitter.feed(chunk) {
///         if part.starts_message {
///             messages.push(String::new());
///         }
///         messages.last_mut().expect("the first part starts a message").push_str(part.text);
///     }
/// }
/// assert_eq!(messages, ["gr\u{FC}", "n un", "d bl", "au"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splitter {
    max: usize,
    /// Room in the message that was begun.
    left: usize,
}

impl Splitter {
    /// Messages of at most `max` bytes; `None` below four, where some characters fit nowhere.
    pub const fn new(max: usize) -> Option<Self> {
        if max > MAX_CONTINUATIONS { Some(Self { max, left: 0 }) } else { None }
    }

    /// Splits the next chunk.
    #[must_use = "the chunk is only split as the parts are taken"]
    pub fn feed<'s, 't>(&'s mut self, chunk: &'t str) -> Parts<'s, 't> {
        Parts { splitter: self, rest: chunk }
    }

    /// Ends the message that was begun: the next part starts one.
    pub const fn end_message(&mut self) {
        self.left = 0;
    }
}

/// The parts of a chunk, by [`Splitter::feed`]. What is not taken of it is not split.
#[derive(Debug)]
pub struct Parts<'s, 't> {
    splitter: &'s mut Splitter,
    rest: &'t str,
}

/// A part of a chunk that lies in one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'t> {
    /// Whether it starts a message; else it goes on with the one before.
    pub starts_message: bool,
    /// Never empty.
    pub text: &'t str,
}

impl<'t> Iterator for Parts<'_, 't> {
    type Item = Part<'t>;

    fn next(&mut self) -> Option<Part<'t>> {
        if self.rest.is_empty() {
            return None;
        }
        let going_on = truncate(self.rest, self.splitter.left);
        let starts_message = going_on.is_empty();
        if starts_message {
            self.splitter.left = self.splitter.max;
        }
        let text = if starts_message { truncate(self.rest, self.splitter.max) } else { going_on };
        self.rest = &self.rest[text.len()..];
        // A character that has no room ends the message, though some room is left.
        self.splitter.left = if self.rest.is_empty() { self.splitter.left - text.len() } else { 0 };
        Some(Part { starts_message, text })
    }
}

impl core::iter::FusedIterator for Parts<'_, '_> {}

/// Starts in the middle of a stream: a ring buffer that has gone round, a `Content-Range`, a rotated log.
///
/// The stream may have been cut inside a character. Then what is left of it, at most three bytes, is no error but
/// the price of coming late: they are skipped, and told. Everything after them is judged as ever.
///
/// ```
/// use utf8_codec::Utf8Decoder;
/// use utf8_codec::boundary::Resync;
///
/// let tail = "🦀 lives".as_bytes().split_at(2).1;
/// let mut resync = Resync::new();
/// let mut decoder = Utf8Decoder::at(1_000_002);
/// for chunk in tail.chunks(1) {
///     let (skipped, text) = resync.feed(chunk);
///     decoder = Utf8Decoder::at(decoder.offset() + skipped.len() as u64);
///     decoder.validate(text)?;
/// }
/// assert_eq!(resync.skipped(), 2);
/// assert_eq!(decoder.offset(), 1_000_010);
/// # Ok::<(), utf8_codec::Utf8Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resync {
    skipped: u8,
    done: bool,
}

impl Resync {
    /// At the first byte that there is.
    pub const fn new() -> Self {
        Self { skipped: 0, done: false }
    }

    /// The next chunk: what of it is left of a character that began before the stream, and what a decoder is fed.
    pub fn feed<'c>(&mut self, chunk: &'c [u8]) -> (&'c [u8], &'c [u8]) {
        if self.done {
            return chunk.split_at(0);
        }
        let missing = MAX_CONTINUATIONS - usize::from(self.skipped);
        let skipped = leading_continuations(chunk).min(missing);
        self.skipped += skipped as u8;
        self.done = skipped == missing || skipped < chunk.len();
        chunk.split_at(skipped)
    }

    /// Bytes skipped so far: none to three.
    pub const fn skipped(&self) -> usize {
        self.skipped as usize
    }
}

/// Up to three bytes that start no character.
fn leading_continuations(bytes: &[u8]) -> usize {
    bytes.iter().take(MAX_CONTINUATIONS).take_while(|&&byte| is_continuation(byte)).count()
}
