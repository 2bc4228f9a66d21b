//! Lines with a dot before a dot.

use kernels::Positions;

/// Removes the dot that a sender adds to each line that starts with one, and finds the line with a single dot, which ends
/// the data (RFC 5321 §4.5.2, RFC 1939 §3, RFC 3977 §3.1.1).
///
/// Only CRLF is a line break. Programs that also take a single CR or LF for one find another end and another message
/// (CVE-2023-51764): see [`first_bare_break`](Self::first_bare_break).
///
/// ```
/// use utf8_codec_mail::unwrap::DotUnstuffer;
///
/// let (mut dots, mut text) = (DotUnstuffer::new(), Vec::new());
/// let mut push = |_: u64, bytes: &[u8]| text.extend_from_slice(bytes);
/// assert_eq!(dots.feed_with(b"a\r\n..b\r\n.\r", &mut push), None);
/// // The end of the data, and the next command.
/// assert_eq!(dots.feed_with(b"\nQUIT\r\n", &mut push), Some(1));
/// assert_eq!(text, b"a\r\n.b\r\n");
/// assert_eq!(dots.first_bare_break(), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotUnstuffer {
    /// The number of bytes taken.
    offset: u64,
    state: State,
    bare: Option<u64>,
    /// Whether the data has ended. `bare` then still refers to the data that has ended.
    has_ended: bool,
}

/// The last bytes that were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    LineStart,
    /// A dot at the start of a line. It is never text.
    Dot,
    /// This dot and a CR, which is held.
    DotCr,
    Text,
    /// A CR, which is text.
    Cr,
}

impl DotUnstuffer {
    /// Creates an unstuffer at the start of the data.
    pub const fn new() -> Self {
        Self { offset: 0, state: State::LineStart, bare: None, has_ended: false }
    }

    /// Removes the added dots from the next chunk. Calls `f` with each part of it that is text, never empty, and its offset
    /// in the stream.
    ///
    /// At the end of the data, returns the number of bytes of the chunk up to it. The unstuffer can then be used for the
    /// next data; its offset continues. If the connection closes earlier, the data was cut off.
    pub fn feed_with(&mut self, chunk: &[u8], mut f: impl FnMut(u64, &[u8])) -> Option<usize> {
        if !chunk.is_empty() && core::mem::take(&mut self.has_ended) {
            self.bare = None;
        }
        // The position after a dot at the start of a line.
        let mut after_dot: Option<usize> = match (self.state, chunk) {
            (_, []) => return None,
            (State::LineStart, [b'.', ..]) => Some(1),
            (State::Dot, _) => Some(0),
            (State::DotCr, [b'\n', ..]) => return self.end(&chunk[..1], None),
            (State::DotCr, _) => {
                f(self.offset.wrapping_sub(1), b"\r");
                None
            }
            _ => None,
        };
        // The start of the text that was not passed on, and the first LF that is not part of a line break.
        let mut start = 0;
        let mut bare_lf = None;
        let mut positions = Positions::START;
        let state = loop {
            if let Some(after) = after_dot {
                if start + 1 < after {
                    f(self.offset.wrapping_add(start as u64), &chunk[start..after - 1]);
                }
                start = after;
                match chunk[after..] {
                    [b'\r', b'\n', ..] => {
                        return self.end(&chunk[..after + 2], bare_lf);
                    }
                    [b'\r'] => {
                        start = chunk.len();
                        break State::DotCr;
                    }
                    [] => break State::Dot,
                    _ => {}
                }
            }
            let Some(lf) = positions.next(chunk, b'\n') else {
                break if chunk.ends_with(b"\r") { State::Cr } else { State::Text };
            };
            let is_line_break =
                lf.checked_sub(1).map_or(self.state == State::Cr, |before| chunk[before] == b'\r');
            after_dot = (is_line_break && chunk.get(lf + 1) == Some(&b'.')).then_some(lf + 2);
            if !is_line_break {
                bare_lf = bare_lf.or(Some(lf));
            } else if lf + 1 == chunk.len() {
                break State::LineStart;
            }
        };
        if start < chunk.len() {
            f(self.offset.wrapping_add(start as u64), &chunk[start..]);
        }
        self.take(chunk, state, bare_lf);
        None
    }

    /// Ends the data after these bytes. Returns their number.
    fn end(&mut self, bytes: &[u8], bare_lf: Option<usize>) -> Option<usize> {
        self.take(bytes, State::LineStart, bare_lf);
        self.has_ended = true;
        Some(bytes.len())
    }

    /// Records the state after these bytes. `bare_lf` is the first LF among them that is not part of a line break.
    fn take(&mut self, bytes: &[u8], state: State, bare_lf: Option<usize>) {
        if self.bare.is_none() {
            let mut positions = Positions::START;
            let mut crs =
                core::iter::from_fn(|| positions.next(&bytes[..bare_lf.unwrap_or(bytes.len())], b'\r'));
            self.bare = if matches!(self.state, State::Cr | State::DotCr) && is_bare_cr(bytes) {
                Some(self.offset.wrapping_sub(1))
            } else {
                let bare = crs.find(|&cr| is_bare_cr(&bytes[cr + 1..])).or(bare_lf);
                bare.map(|at| self.offset.wrapping_add(at as u64))
            };
        }
        self.offset = self.offset.wrapping_add(bytes.len() as u64);
        self.state = state;
    }

    /// Returns the offset of the first CR without an LF after it or LF without a CR before it, in the data that is being read
    /// or that has just ended: the first byte of the next data resets it. A server that forwards the text should reject the
    /// message.
    pub const fn first_bare_break(&self) -> Option<u64> {
        self.bare
    }

    /// Returns the offset in the stream: the number of bytes taken.
    pub const fn offset(&self) -> u64 {
        self.offset
    }
}

/// Whether these bytes after a CR show that it is not part of a line break. A CR at the end of a chunk is not known yet.
fn is_bare_cr(after: &[u8]) -> bool {
    after.first().is_some_and(|&next| next != b'\n')
}
