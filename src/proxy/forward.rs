//! What is forwarded of a character that is not complete.

use core::fmt;
use core::str::FromStr;

use crate::error::UnknownName;

/// What a [`Filter`](crate::proxy::Filter) forwards of a character that is not complete.
///
/// The verdicts, the errors and their offsets are the same. What was forwarded before an error is defined by the policy and
/// does not depend on how the stream is split into slices.
///
/// `Display` and `FromStr` use the names `characters` and `bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ForwardPolicy {
    /// Nothing before the character is complete. Before an error all complete characters are forwarded.
    #[default]
    Characters,
    /// Its bytes as they arrive. Before an error all bytes are forwarded that precede the first byte that is part of no
    /// character there: the complete characters, and at most 3 bytes of the character that is ill-formed or truncated. For
    /// streams that are reset after an error, and for receivers that check the end of the text themselves.
    ///
    /// It has an effect only if nothing that is held could change: with [`ErrorPolicy::Strict`](crate::ErrorPolicy) and
    /// [`BomPolicy::Keep`](crate::BomPolicy), and without a [`Subset`](crate::Subset) and the escapes of
    /// [JSON](crate::json). Otherwise characters are forwarded.
    Bytes,
}

impl ForwardPolicy {
    /// Every policy.
    pub const ALL: &'static [Self] = &[Self::Characters, Self::Bytes];

    /// Returns the name of the policy.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Characters => "characters",
            Self::Bytes => "bytes",
        }
    }
}

impl fmt::Display for ForwardPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ForwardPolicy {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        const NAMES: [&str; 2] = [ForwardPolicy::Characters.name(), ForwardPolicy::Bytes.name()];
        let known = Self::ALL.iter().copied().find(|policy| policy.name() == name);
        known.ok_or(UnknownName::new("forward policy", &NAMES))
    }
}
