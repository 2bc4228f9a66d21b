//! What is accepted in the strings of JSON.

use crate::subset::Subset;

/// Which escapes are accepted in the strings of JSON, and what happens to the others.
///
/// ```
/// use utf8_codec::Subset;
/// use utf8_codec::json::{EscapePolicy, JsonStrings};
///
/// // Text of `jsonb` in PostgreSQL: without U+0000 and unpaired surrogates.
/// const JSONB: JsonStrings =
///     JsonStrings::new().with_subset(&Subset::NO_NUL).with_escape_policy(EscapePolicy::Replace);
/// assert_eq!(JSONB.escape_policy().to_string(), "replace");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonStrings {
    policy: EscapePolicy,
    subset: Option<&'static Subset>,
}

impl JsonStrings {
    /// Accepts every escape of a character, and rejects the others.
    #[inline]
    pub const fn new() -> Self {
        Self { policy: EscapePolicy::Strict, subset: None }
    }

    /// Sets what happens to escapes that are not accepted.
    #[must_use]
    #[inline]
    pub const fn with_escape_policy(self, policy: EscapePolicy) -> Self {
        Self { policy, ..self }
    }

    /// Sets the characters that are accepted as `\uXXXX`, for example [`Subset::NO_NUL`], [`Subset::I_JSON`] or
    /// [`Subset::NO_CONTROLS`]. Characters that are not escaped are compared with the
    /// [subset of the decoder](crate::TextDecoder::with_subset) instead, which must contain the white space of JSON.
    #[must_use]
    #[inline]
    pub const fn with_subset(self, subset: &'static Subset) -> Self {
        Self { subset: Some(subset), ..self }
    }

    /// Returns what happens to escapes that are not accepted.
    #[inline]
    pub const fn escape_policy(&self) -> EscapePolicy {
        self.policy
    }

    #[inline]
    pub(super) const fn subset(&self) -> Option<&'static Subset> {
        self.subset
    }
}

choices! {
    "policy for escapes":
    /// What happens to an escape that is not accepted. Only `Drop` changes the length of the text.
    ///
    /// `Display` and `FromStr` use the names `strict`, `replace`, `drop` and `keep`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum EscapePolicy {
        /// The text ends with an error before the escape.
        #[default]
        Strict = "strict",
        /// Six bytes become `\uFFFD`, and the twelve bytes of a pair `\uFFFD\uFFFD`. Each byte of a `\u` without four digits
        /// becomes `?`, because no escape is as short. An error is returned when the escape is complete.
        Replace = "replace",
        /// The bytes of the escape are removed, for databases that store neither U+0000 nor U+FFFD in its place. An error is
        /// returned when the escape is complete. As with [`ErrorPolicy::Skip`](crate::ErrorPolicy::Skip), characters that
        /// were separate for a filter upstream can become adjacent (UTR #36).
        Drop = "drop",
        /// The escape is left as it is, and is reported.
        Keep = "keep",
    }
}

impl EscapePolicy {
    /// Whether the policy keeps the length of the text. All policies except `Drop` do.
    #[inline]
    pub const fn keeps_len(self) -> bool {
        !matches!(self, Self::Drop)
    }

    /// Whether the policy changes escapes that are not accepted.
    #[inline]
    pub const fn repairs(self) -> bool {
        matches!(self, Self::Replace | Self::Drop)
    }
}
