//! Surrogate pairs whose halves are in two strings.

use alloc::borrow::Cow;
use alloc::string::String;

use kernels::{Positions, count};

use super::escape::{self, Escape};
use super::strings::EscapePolicy;

/// The length of `\uD83D`.
const HALF_LEN: usize = 6;

/// Joins a surrogate pair whose halves are the end of one string of JSON and the start of the next one.
///
/// Servers that cut text between UTF-16 code units write `"\ud83d"` in one event and `"\ude00"` in the next one, and a
/// parser rejects both. [`join`](Self::join) holds the first half back and puts it before the second one. Use one carry
/// for each text that is streamed: for each choice, field or tool call of a model's answer. A carry has 6 bytes and
/// does not allocate.
///
/// It reads strings as they are in the document, in quotes, as `serde_json::value::RawValue::get` returns them:
///
/// ```
/// use utf8_codec::json::SurrogateCarry;
///
/// let (mut carry, mut text) = (SurrogateCarry::new(), String::new());
/// for delta in [r#""gr\u00fcn \ud83d""#, r#""\ude00!""#] {
///     text += &serde_json::from_str::<String>(&carry.join(delta))?;
/// }
/// assert_eq!(text, "grün \u{1F600}!");
/// assert_eq!(carry.finish(), None);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// An unpaired half is left as it is, unless a [policy](Self::with_escape_policy) replaces or removes it.
#[derive(Clone, Debug)]
pub struct SurrogateCarry {
    /// The digits of the first half at the end of the last string.
    half: Option<[u8; 4]>,
    policy: EscapePolicy,
}

default_is_new!(SurrogateCarry);

impl SurrogateCarry {
    /// Creates a carry that leaves an unpaired half as it is. A parser rejects it.
    #[inline]
    pub const fn new() -> Self {
        Self { half: None, policy: EscapePolicy::Keep }
    }

    /// Sets what happens to an unpaired half: `Replace` writes `\uFFFD`, `Drop` writes nothing, and the others write the half.
    #[must_use]
    #[inline]
    pub const fn with_escape_policy(self, policy: EscapePolicy) -> Self {
        Self { policy, ..self }
    }

    /// Returns the next string, in quotes, after the half that was held back, and without a first half at its end. A value
    /// that is not a string, such as `null`, is returned as it is and ends no pair.
    ///
    /// Borrows if the string is returned as it is.
    pub fn join<'s>(&mut self, string: &'s str) -> Cow<'s, str> {
        let Some(text) = string.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
            return Cow::Borrowed(string);
        };
        // Most strings have no escape, and are shorter than what `Positions` has to prepare.
        if text.is_empty() || self.half.is_none() && count::byte(text.as_bytes(), b'\\') == 0 {
            return Cow::Borrowed(string);
        }
        let mut joined = Joined { text, copied: 0, out: String::new() };
        let mut searched = 0;
        if let Some(half) = self.half.take() {
            joined.out.push('"');
            if starts_with_second_half(half, text) {
                push_escape(&mut joined.out, half);
                searched = HALF_LEN;
            } else {
                self.push_single(&mut joined.out, half);
            }
        }
        let bytes = text.as_bytes();
        let mut backslashes = Positions::after(searched);
        while let Some(at) = backslashes.next(bytes, b'\\') {
            if at < searched {
                continue;
            }
            let rest = bytes.get(at..).unwrap_or_default();
            match escape::read(rest, None, true) {
                Escape::Whole(len) => searched = at + len,
                Escape::Wrong(_, HALF_LEN) => {
                    searched = at + HALF_LEN;
                    if let (true, Some(half)) = (self.policy.repairs(), digits(rest)) {
                        self.push_single(joined.up_to(at, searched), half);
                    }
                }
                Escape::Wrong(_, len) => searched = at + len,
                Escape::Unfinished => {
                    if rest.len() == HALF_LEN {
                        self.half = digits(rest);
                        joined.up_to(at, bytes.len());
                    }
                    break;
                }
            }
        }
        joined.finish(string)
    }

    /// Ends the text. Returns the half that was held back, in quotes, if the policy does not drop it. The carry can be used
    /// for another text.
    pub fn finish(&mut self) -> Option<String> {
        let half = self.half.take()?;
        if self.policy == EscapePolicy::Drop {
            return None;
        }
        let mut string = String::from("\"");
        self.push_single(&mut string, half);
        string.push('"');
        Some(string)
    }

    /// Appends an unpaired half as the policy requires.
    fn push_single(&self, out: &mut String, half: [u8; 4]) {
        match self.policy {
            EscapePolicy::Replace => out.push_str(r"\uFFFD"),
            EscapePolicy::Drop => {}
            EscapePolicy::Strict | EscapePolicy::Keep => push_escape(out, half),
        }
    }
}

/// A string of which parts are replaced. Nothing is copied before the first of them.
struct Joined<'s> {
    text: &'s str,
    /// The number of bytes of `text` that are in `out` or were left out.
    copied: usize,
    out: String,
}

impl Joined<'_> {
    /// Copies the text before `at`, leaves out the bytes before `next`, and returns the output.
    fn up_to(&mut self, at: usize, next: usize) -> &mut String {
        if self.out.is_empty() {
            self.out.push('"');
        }
        self.out.push_str(self.text.get(self.copied..at).unwrap_or_default());
        self.copied = next;
        &mut self.out
    }

    fn finish(mut self, string: &str) -> Cow<'_, str> {
        if self.out.is_empty() {
            return Cow::Borrowed(string);
        }
        let end = self.text.len();
        self.up_to(end, end).push('"');
        Cow::Owned(self.out)
    }
}

fn push_escape(out: &mut String, half: [u8; 4]) {
    out.push_str(r"\u");
    out.extend(half.map(char::from));
}

/// Returns the digits of the escape at the start of `bytes`.
fn digits(bytes: &[u8]) -> Option<[u8; 4]> {
    bytes.get(2..HALF_LEN)?.try_into().ok()
}

/// Whether the text continues the pair of this first half.
fn starts_with_second_half(half: [u8; 4], text: &str) -> bool {
    let mut pair = [b'\\', b'u', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    pair[2..HALF_LEN].copy_from_slice(&half);
    let Some(next) = text.as_bytes().get(..HALF_LEN) else { return false };
    pair[HALF_LEN..].copy_from_slice(next);
    escape::read(&pair, None, true) == Escape::Whole(pair.len())
}
