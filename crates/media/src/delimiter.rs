//! The delimiter lines of a multipart body (RFC 2046 §5.1.1), in mail and in HTTP.
//!
//! ```text
//! delimiter line = "--" boundary [ "--" ] *( SP / HTAB ) line break
//! ```
//!
//! The line break before the line belongs to the delimiter. [`Boundary`] holds the start of the line: `--` and the
//! parameter. [`DelimiterTail`] reads the rest of the line one byte at a time, so a line may be split into any number of chunks.

use alloc::vec::Vec;

use crate::content_type::{ContentType, is_or_extends};

/// The maximum length of a boundary in bytes.
pub const MAX_BOUNDARY: usize = 70;

/// The `boundary` parameter of a multipart body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    dashed: Vec<u8>,
}

impl Boundary {
    /// Returns the boundary that a media type declares.
    ///
    /// Returns `None` if it declares none, an invalid one, or several that differ, because programs differ in which one
    /// they use.
    pub fn of(content_type: &ContentType<'_>) -> Option<Self> {
        let mut declared = content_type
            .parameters()
            .filter(|(name, _)| is_or_extends(name, "boundary"))
            .map(|(_, value)| value);
        let first = declared.next()?;
        if declared.all(|other| other == first) { Self::new(first) } else { None }
    }

    /// Creates a boundary from the unquoted value of the parameter: 1 to 70 bytes of printable ASCII, not ending with a
    /// space.
    ///
    /// RFC 2046 allows fewer characters (`bchars`). Mailers also use other printable characters, and all programs
    /// interpret these in the same way.
    pub fn new(value: &[u8]) -> Option<Self> {
        let is_valid = (1..=MAX_BOUNDARY).contains(&value.len())
            && value.iter().all(|byte| matches!(byte, b' '..=b'~'))
            && !value.ends_with(b" ");
        is_valid.then(|| Self { dashed: [b"--", value].concat() })
    }

    /// Returns `--boundary`, the start of a delimiter line.
    pub fn dashed(&self) -> &[u8] {
        &self.dashed
    }

    /// Parses a whole line without its line break. Returns `None` if it is not a delimiter of this boundary.
    pub fn delimiter(&self, line: &[u8]) -> Option<Delimiter> {
        let rest = line.strip_prefix(&self.dashed[..])?;
        let mut tail = DelimiterTail::Boundary;
        for &byte in rest {
            tail = match tail.step(byte) {
                DelimiterStep::More(next) => next,
                DelimiterStep::Line(..) | DelimiterStep::Malformed => return None,
            };
        }
        tail.end()
    }
}

/// The meaning of a delimiter line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// A part starts after it.
    Part,
    /// The multipart ends with it.
    Close,
}

/// The line break that ends a delimiter line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineBreak {
    /// LF.
    Lf,
    /// CRLF.
    CrLf,
}

/// The state of a delimiter line after `--boundary`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelimiterTail {
    /// Nothing was read yet.
    Boundary,
    /// After one hyphen.
    Hyphen,
    /// After the second hyphen or padding: more padding or the line break may follow.
    Padding(Delimiter),
    /// After a CR: only LF may follow.
    Cr(Delimiter),
}

/// The result of reading a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelimiterStep {
    /// The line continues.
    More(DelimiterTail),
    /// The byte is the last one of a delimiter line.
    Line(Delimiter, LineBreak),
    /// The line is not a delimiter.
    Malformed,
}

impl DelimiterTail {
    /// Reads one byte.
    pub const fn step(self, byte: u8) -> DelimiterStep {
        let so_far = match self {
            Self::Cr(delimiter) => {
                return if byte == b'\n' {
                    DelimiterStep::Line(delimiter, LineBreak::CrLf)
                } else {
                    DelimiterStep::Malformed
                };
            }
            Self::Hyphen => {
                return if byte == b'-' {
                    DelimiterStep::More(Self::Padding(Delimiter::Close))
                } else {
                    DelimiterStep::Malformed
                };
            }
            Self::Boundary => Delimiter::Part,
            Self::Padding(delimiter) => delimiter,
        };
        match byte {
            b'-' if matches!(self, Self::Boundary) => DelimiterStep::More(Self::Hyphen),
            b' ' | b'\t' => DelimiterStep::More(Self::Padding(so_far)),
            b'\r' => DelimiterStep::More(Self::Cr(so_far)),
            b'\n' => DelimiterStep::Line(so_far, LineBreak::Lf),
            _ => DelimiterStep::Malformed,
        }
    }

    /// Returns the delimiter if the line ends here without a line break. Returns `None` after a single hyphen or a CR.
    pub const fn end(self) -> Option<Delimiter> {
        match self {
            Self::Boundary => Some(Delimiter::Part),
            Self::Padding(delimiter) => Some(delimiter),
            Self::Hyphen | Self::Cr(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_that_differ_are_none() {
        for (value, expected) in [
            (&b"multipart/mixed; boundary=b"[..], true),
            (b"multipart/mixed; boundary=b; Boundary=\"b\"", true),
            (b"multipart/mixed; boundary=b; boundary=c", false),
            (b"multipart/mixed; boundary=b; boundary*=''c", false),
            (b"multipart/mixed", false),
        ] {
            let content_type = ContentType::parse(value).unwrap();
            assert_eq!(Boundary::of(&content_type).is_some(), expected, "{}", value.escape_ascii());
        }
    }

    #[test]
    fn a_delimiter_line_ends_with_padding_and_a_line_break() {
        let read = |line: &[u8]| {
            let mut tail = DelimiterTail::Boundary;
            for (i, &byte) in line.iter().enumerate() {
                match tail.step(byte) {
                    DelimiterStep::More(next) => tail = next,
                    DelimiterStep::Line(delimiter, line_break) => {
                        assert_eq!(i + 1, line.len());
                        return Some((delimiter, line_break));
                    }
                    DelimiterStep::Malformed => return None,
                }
            }
            None
        };
        assert_eq!(read(b"\n"), Some((Delimiter::Part, LineBreak::Lf)));
        assert_eq!(read(b" \t\r\n"), Some((Delimiter::Part, LineBreak::CrLf)));
        assert_eq!(read(b"--\r\n"), Some((Delimiter::Close, LineBreak::CrLf)));
        assert_eq!(read(b"--\t \n"), Some((Delimiter::Close, LineBreak::Lf)));
        for invalid in ["-\n", "--x\n", "x\n", " --\n", "\x0C\n", "\x0B\n", "\r\r\n", "\r", "---\n", "\0\n"] {
            assert_eq!(read(invalid.as_bytes()), None, "{invalid:?}");
        }
    }
}
