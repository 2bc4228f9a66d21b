//! The options of the rules.

/// What happens to a body without a `Content-Type`.
///
/// An empty body needs no type: it passes under every setting. The layers of [`tower`](crate::tower) wait for its end if its
/// length is not announced; [`BodyRules::apply`](super::BodyRules::apply) does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissingContentType {
    /// The body is checked as UTF-8. RFC 9110 §8.3 allows recipients to guess the type, and some frameworks assume
    /// text.
    #[default]
    Check,
    /// The body passes without a check.
    Pass,
    /// The message is rejected with `415`.
    Reject,
}

/// What happens to text without a `charset`. Types that are UTF-8 without it are checked under every setting: JSON (RFC 8259
/// §11), event streams, YAML, forms and [others](super::BodyRules#charset).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissingCharset {
    /// The text is checked as UTF-8, which is the default of XML and of new text types (RFC 6657).
    #[default]
    Utf8,
    /// The text passes without a check.
    Pass,
    /// The message is rejected with `415`.
    Reject,
}

/// What happens to content that cannot be checked: text in another charset, in a content coding or in a range, a
/// compressed message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Uncheckable {
    /// The message is rejected.
    #[default]
    Reject,
    /// It passes without a check. The program that reads it must itself process what prevents the check, such as a
    /// header field.
    Pass,
}
