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

/// What happens to text in a charset other than UTF-8, declared by the `charset` parameter or by an XML, HTML or CSS
/// document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OtherCharset {
    /// The text passes without a check. The program that reads it must decode its charset.
    Pass,
    /// The message is rejected with `415`.
    #[default]
    Reject,
    /// The text is transcoded to UTF-8, and its `Content-Type` is changed. The declaration in a document is not: the
    /// `charset` parameter has precedence over it. A BOM is removed, whatever the policy for the BOM. Labels that are
    /// not in the WHATWG Encoding Standard, urlencoded forms, and fields of `multipart/form-data` are rejected.
    Transcode,
}

/// What happens to a body that cannot be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UncheckablePolicy {
    /// The message is rejected.
    #[default]
    Reject,
    /// The body passes without a check. The program that reads the body must itself process the header field that
    /// prevents the check.
    Pass,
}

impl OtherCharset {
    pub(crate) const fn transcodes(self) -> bool {
        !matches!(self, Self::Pass | Self::Reject)
    }
}
