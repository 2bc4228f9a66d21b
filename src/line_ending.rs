//! Line terminators, and the search for them.

use core::fmt;
use core::str::FromStr;

#[cfg(feature = "codec")]
use bytes::BytesMut;
#[cfg(feature = "bytes")]
use kernels::count;
#[cfg(feature = "codec")]
use kernels::{append_line, find_byte};
#[cfg(all(feature = "bytes", not(feature = "codec")))]
use memchr::memchr as find_byte;
#[cfg(feature = "bytes")]
use memchr::{memchr2, memrchr, memrchr2};

use crate::error::UnknownName;
use crate::policy::Ascii;

/// The terminator of a line: of a codec, a filter or a locator. The Unicode separators U+0085, U+2028 and U+2029 never end
/// a line.
///
/// A terminator of two bytes is one terminator, however the stream is split into chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LineEnding {
    /// LF or CRLF, as in `str::lines`. Written as LF. A CR without LF belongs to the line that is read, even at the end of
    /// the stream, where `LinesCodec` of tokio-util removes it.
    #[default]
    LfOrCrLf,
    /// Only LF, as in POSIX tools, compilers and GitHub. A CR before it belongs to the line.
    Lf,
    /// Only CRLF, as in SMTP. A CR or an LF alone belongs to the line that is read; in a line to be written it is an
    /// error.
    CrLf,
    /// LF, CRLF or CR, as in server-sent events and the Language Server Protocol. A CR ends its line at once. An LF
    /// after it, in this read or in a later one, is part of the same terminator. Written as LF.
    Any,
    /// Only this byte, for NUL-terminated text, records that end with RS, or lines that end with CR. It is ASCII, so it is
    /// never inside a character.
    Ascii(Ascii),
}

/// The length of the longest terminator in bytes.
#[cfg(feature = "codec")]
pub(crate) const MAX_TERMINATOR: usize = 2;

const NAMES: [&str; LineEnding::ALL.len()] = names_of!(LineEnding, name);

impl LineEnding {
    /// A terminator of each kind, in declaration order. The byte of [`Ascii`](Self::Ascii) is NUL.
    pub const ALL: &'static [Self] =
        &[Self::LfOrCrLf, Self::Lf, Self::CrLf, Self::Any, Self::Ascii(Ascii::NUL)];

    /// Returns the name of the kind, for options and configuration files.
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LfOrCrLf => "lf-or-crlf",
            Self::Lf => "lf",
            Self::CrLf => "crlf",
            Self::Any => "any",
            Self::Ascii(_) => "byte",
        }
    }

    /// Returns the last byte of every terminator, except of a CR under [`LineEnding::Any`].
    #[inline(always)]
    #[doc(hidden)]
    pub const fn last_byte(self) -> u8 {
        match self {
            Self::Ascii(byte) => byte.get(),
            _ => b'\n',
        }
    }
}

impl fmt::Display for LineEnding {
    /// Writes the name, and the byte in hexadecimal after `=`: `byte=1E`. [`FromStr`] parses it.
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascii(byte) => write!(f, "{}={:02X}", self.name(), byte.get()),
            _ => f.pad(self.name()),
        }
    }
}

impl FromStr for LineEnding {
    type Err = UnknownName;

    /// Parses a name in lowercase, with the byte in two hexadecimal digits after `=`.
    ///
    /// ```
    /// use utf8_codec::{Ascii, LineEnding};
    ///
    /// assert_eq!("crlf".parse(), Ok(LineEnding::CrLf));
    /// assert_eq!("byte=1e".parse(), Ok(LineEnding::Ascii(Ascii::RECORD_SEPARATOR)));
    /// ```
    #[inline]
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let unknown = UnknownName::new("line ending", &NAMES);
        if let Some(digits) = text.strip_prefix("byte=") {
            if digits.len() != 2 || digits.starts_with('+') {
                return Err(unknown);
            }
            let byte = u8::from_str_radix(digits, 16).ok().and_then(Ascii::new);
            return byte.map(Self::Ascii).ok_or(unknown);
        }
        match Self::ALL.iter().find(|ending| ending.name() == text) {
            None | Some(Self::Ascii(_)) => Err(unknown),
            Some(ending) => Ok(*ending),
        }
    }
}

#[cfg(feature = "bytes")]
impl LineEnding {
    /// Returns the position and the length of the first terminator in `src`. No terminator starts in the first
    /// `searched` bytes.
    #[doc(hidden)]
    #[inline(always)]
    pub fn find(self, src: &[u8], searched: usize) -> Option<(usize, usize)> {
        let mut from = searched;
        loop {
            let rest = src.get(from..)?;
            let found = match self {
                Self::Any => memchr2(b'\n', b'\r', rest),
                _ => find_byte(self.last_byte(), rest),
            };
            let at = from + found?;
            let after_cr = at > 0 && src[at - 1] == b'\r';
            match self {
                Self::LfOrCrLf | Self::CrLf if after_cr => return Some((at - 1, 2)),
                Self::CrLf => from = at + 1,
                Self::Any if src[at] == b'\r' && src.get(at + 1) == Some(&b'\n') => return Some((at, 2)),
                _ => return Some((at, 1)),
            }
        }
    }

    /// Returns the end of the last terminator in `src`.
    #[doc(hidden)]
    #[inline]
    pub fn find_last(self, src: &[u8]) -> Option<usize> {
        let at = match self {
            Self::Any => memrchr2(b'\n', b'\r', src),
            _ => memrchr(self.last_byte(), src),
        }?;
        if self != Self::CrLf || src[..at].ends_with(b"\r") {
            return Some(at + 1);
        }
        // Byte by byte, because one call of `memrchr` for each LF would be slower if a peer sends only LFs.
        src[..at].windows(2).rposition(|pair| pair == b"\r\n").map(|at| at + 2)
    }

    /// Returns the number of terminators in `lines`.
    #[doc(hidden)]
    #[inline]
    pub fn count(self, lines: &[u8]) -> usize {
        match self {
            Self::Lf | Self::LfOrCrLf | Self::Ascii(_) => count::byte(lines, self.last_byte()),
            Self::CrLf => count::pair(lines, b'\r', b'\n'),
            Self::Any => {
                count::byte(lines, b'\n') + count::byte(lines, b'\r') - count::pair(lines, b'\r', b'\n')
            }
        }
    }
}

#[cfg(feature = "codec")]
impl LineEnding {
    /// Returns the length of the terminator at the end of a line that has one.
    #[inline(always)]
    pub(crate) fn len_at_end_of(self, line: &[u8]) -> usize {
        match self {
            Self::Lf | Self::Ascii(_) => 1,
            Self::LfOrCrLf | Self::CrLf | Self::Any => 1 + usize::from(line.ends_with(b"\r\n")),
        }
    }

    /// Returns the number of bytes at the end of `src` that may start a terminator. `src` contains no complete
    /// terminator.
    #[inline]
    pub(crate) fn may_start(self, src: &[u8]) -> usize {
        match self {
            Self::LfOrCrLf | Self::CrLf => usize::from(src.ends_with(b"\r")),
            Self::Lf | Self::Any | Self::Ascii(_) => 0,
        }
    }

    /// Returns the position of a terminator that a peer would find inside `line`, or at its end together with the
    /// terminator that [`write`](Self::write) appends.
    #[doc(hidden)]
    #[inline(always)]
    pub fn embedded(self, line: &[u8]) -> Option<usize> {
        match self {
            Self::Lf | Self::Ascii(_) => find_byte(self.last_byte(), line),
            Self::LfOrCrLf => match find_byte(b'\n', line) {
                None if matches!(line, [.., b'\r']) => Some(line.len() - 1),
                found => found,
            },
            // Implementations differ in whether a single CR or LF ends a line (SMTP smuggling).
            Self::CrLf | Self::Any => memchr2(b'\n', b'\r', line),
        }
    }

    /// Appends a line and its terminator. If a peer would read more than one line, nothing is appended, and the error
    /// is the position where the first line would end.
    #[inline]
    pub(crate) fn write(self, line: &[u8], dst: &mut BytesMut) -> Result<(), usize> {
        if let Some(at) = self.embedded(line) {
            return Err(at);
        }
        dst.reserve(line.len() + MAX_TERMINATOR);
        dst.extend_from_slice(line);
        match self {
            Self::CrLf => dst.extend_from_slice(b"\r\n"),
            _ => dst.extend_from_slice(&[self.last_byte()]),
        }
        Ok(())
    }

    /// A faster [`write`](Self::write) for most lines. Returns `false` and appends nothing for all others.
    #[inline(always)]
    pub(crate) fn write_short(self, line: &[u8], dst: &mut BytesMut) -> bool {
        let ends_with_cr = line.ends_with(b"\r") && matches!(self, Self::LfOrCrLf);
        let is_one_byte = !matches!(self, Self::CrLf | Self::Any) && !kernels::IS_UNOPTIMIZED;
        is_one_byte && !ends_with_cr && append_line(line, self.last_byte(), dst)
    }
}

#[cfg(test)]
mod names {
    use std::string::ToString;

    use super::*;

    #[test]
    fn every_name_is_parsed() {
        // This does not compile if a terminator is added, as a reminder that `ALL` must contain it, too.
        let indices = LineEnding::ALL.iter().map(|ending| match ending {
            LineEnding::LfOrCrLf => 0,
            LineEnding::Lf => 1,
            LineEnding::CrLf => 2,
            LineEnding::Any => 3,
            LineEnding::Ascii(_) => 4,
        });
        assert!(indices.eq(0..5));
        let every_byte = (0..0x80).filter_map(Ascii::new).map(LineEnding::Ascii);
        for ending in LineEnding::ALL.iter().copied().chain(every_byte) {
            assert_eq!(ending.to_string().parse(), Ok(ending));
        }
        for unknown in
            ["", "LF", "byte", "byte=", "byte=80", "byte=1", "byte=+1", "byte=0 ", "byte=é", "lf=0A"]
        {
            assert!(unknown.parse::<LineEnding>().is_err(), "{unknown}");
        }
        let error = "cr".parse::<LineEnding>().expect_err("no name");
        assert_eq!(error.to_string(), "unknown line ending; known are lf-or-crlf, lf, crlf, any, byte");
    }
}

#[cfg(all(test, feature = "codec"))]
mod tests {
    use super::*;
    use test_support::Rng;

    #[test]
    fn a_line_is_written_unless_a_terminator_is_embedded() {
        let mut rng = Rng::new(4);
        for len in 0..300 {
            let line: Vec<u8> =
                (0..len).map(|_| if rng.below(200) == 0 { b"\r\n\0"[rng.below(3)] } else { b'a' }).collect();
            for &ending in LineEnding::ALL {
                let mut dst = BytesMut::with_capacity(6 + rng.below(2 * len + 1));
                dst.extend_from_slice(b"before");
                let written =
                    if ending.write_short(&line, &mut dst) { Ok(()) } else { ending.write(&line, &mut dst) };
                assert_eq!(written, ending.embedded(&line).map_or(Ok(()), Err), "{ending:?} {line:?}");
                let end: &[u8] = if ending == LineEnding::CrLf { b"\r\n" } else { &[ending.last_byte()] };
                let expected =
                    if written.is_ok() { [b"before", &line[..], end].concat() } else { b"before".to_vec() };
                assert_eq!(dst, expected, "{ending:?}");
            }
        }
    }

    #[test]
    fn terminators_are_counted_as_they_are_found() {
        let endings = [
            LineEnding::LfOrCrLf,
            LineEnding::Lf,
            LineEnding::CrLf,
            LineEnding::Any,
            LineEnding::Ascii(Ascii::NUL),
        ];
        let mut rng = Rng::new(3);
        for len in 0..200 {
            let bytes: Vec<u8> = (0..len).map(|_| b"\r\n\0a"[rng.below(4)]).collect();
            for ending in endings {
                let mut at = 0;
                let mut count = 0;
                while let Some((start, terminator)) = ending.find(&bytes[at..], 0) {
                    at += start + terminator;
                    count += 1;
                }
                assert_eq!(ending.count(&bytes), count, "{ending:?} {bytes:?}");
                assert_eq!(ending.find_last(&bytes).unwrap_or(0), at, "{ending:?} {bytes:?}");
            }
        }
    }
}
