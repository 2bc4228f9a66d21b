//! The names of the policies: for options and configuration files, and for documentation.

use core::fmt;
use core::str::FromStr;

use super::on_error::{Ascii, BomPolicy, ErrorPolicy};
use crate::error::UnknownName;

impl ErrorPolicy {
    /// A policy of each kind, in the order in which the documentation lists them. The parameter of a policy that takes
    /// one is `?`.
    pub const ALL: &'static [Self] = &[
        Self::Strict,
        Self::Replace,
        Self::ReplaceWith('?'),
        Self::ReplaceAsJava,
        Self::Substitute(Ascii::QUESTION_MARK),
        Self::Escape,
        Self::Latin1,
        Self::Windows1252,
        Self::Skip,
    ];

    /// Returns the name of the policy, without its parameter.
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Replace => "replace",
            Self::ReplaceWith(_) => "replace-with",
            Self::ReplaceAsJava => "replace-as-java",
            Self::Substitute(_) => "substitute",
            Self::Escape => "escape",
            Self::Latin1 => "latin1",
            Self::Windows1252 => "windows-1252",
            Self::Skip => "skip",
        }
    }

    /// Returns what the policy does, in one sentence for the help of an option.
    #[inline]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Strict => "Reject them, and report an error",
            Self::Replace => "Replace each ill-formed sequence by U+FFFD",
            Self::ReplaceWith(_) => "Replace each ill-formed sequence by a character",
            Self::ReplaceAsJava => "Replace each ill-formed sequence by U+FFFD, a surrogate by one",
            Self::Substitute(_) => "Replace each byte by an ASCII byte; the length does not change",
            Self::Escape => "Replace each byte by `\\xNN`",
            Self::Latin1 => "Decode each byte as ISO 8859-1",
            Self::Windows1252 => "Decode each byte as windows-1252",
            Self::Skip => "Discard the bytes. Dangerous: this joins the text before and after them",
        }
    }
}

impl BomPolicy {
    /// Returns what the policy does, in one sentence for the help of an option.
    #[inline]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Keep => "Keep the BOM as text",
            Self::Strip => "Discard the BOM",
            Self::Require => "Discard the BOM; a stream without a BOM is an error",
            Self::Reject => "A stream with a BOM is an error",
        }
    }
}

impl fmt::Display for ErrorPolicy {
    /// Writes the name, and the parameter after `=`: `substitute=?`. [`FromStr`] parses it.
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ReplaceWith(character) => write!(f, "{}={character}", self.name()),
            Self::Substitute(ascii) => write!(f, "{}={}", self.name(), char::from(ascii.get())),
            _ => f.pad(self.name()),
        }
    }
}

/// The names of all policies for ill-formed input.
const ERROR_POLICIES: [&str; ErrorPolicy::ALL.len()] = names_of!(ErrorPolicy, name);

impl FromStr for ErrorPolicy {
    type Err = UnknownName;

    /// Parses a name in lowercase, with the parameter after `=`. Without a parameter, `replace-with` and `substitute`
    /// have `?`.
    ///
    /// ```
    /// use utf8_codec::{Ascii, ErrorPolicy};
    ///
    /// assert_eq!("windows-1252".parse(), Ok(ErrorPolicy::Windows1252));
    /// assert_eq!("substitute".parse(), Ok(ErrorPolicy::Substitute(Ascii::QUESTION_MARK)));
    /// assert_eq!("replace-with=#".parse(), Ok(ErrorPolicy::ReplaceWith('#')));
    /// assert!("strict=1".parse::<ErrorPolicy>().is_err());
    /// ```
    #[inline]
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let unknown = UnknownName::new("policy", &ERROR_POLICIES);
        let (name, parameter) = text.split_once('=').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let policy = *Self::ALL.iter().find(|policy| policy.name() == name).ok_or(unknown)?;
        let Some(parameter) = parameter else { return Ok(policy) };
        let mut characters = parameter.chars();
        match (policy, characters.next(), characters.next()) {
            (Self::ReplaceWith(_), Some(character), None) => Ok(Self::ReplaceWith(character)),
            (Self::Substitute(_), Some(character), None) => {
                let ascii = u8::try_from(character).ok().and_then(Ascii::new).ok_or(unknown)?;
                Ok(Self::Substitute(ascii))
            }
            _ => Err(unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_listed() {
        // This does not compile if a policy is added, as a reminder that `ALL` must contain it, too.
        let index = |policy| match policy {
            ErrorPolicy::Strict => 0,
            ErrorPolicy::Replace => 1,
            ErrorPolicy::ReplaceWith(_) => 2,
            ErrorPolicy::ReplaceAsJava => 3,
            ErrorPolicy::Substitute(_) => 4,
            ErrorPolicy::Escape => 5,
            ErrorPolicy::Latin1 => 6,
            ErrorPolicy::Windows1252 => 7,
            ErrorPolicy::Skip => 8,
        };
        assert!(ErrorPolicy::ALL.iter().map(|&policy| index(policy)).eq(0..9));
    }
}
