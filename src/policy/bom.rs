//! The policy for the BOM.

/// The policy for `EF BB BF` at the start of a stream (RFC 3629 §6). After the start these bytes are U+FEFF, a normal
/// character. Offsets always include them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BomPolicy {
    /// The BOM is kept as text.
    #[default]
    Keep,
    /// The BOM is removed.
    Strip,
    /// A stream without a BOM is an error ([`ErrorKind::MissingBom`](crate::ErrorKind)) under every
    /// [`ErrorPolicy`](crate::ErrorPolicy). The BOM is removed.
    Require,
    /// A stream with a BOM is an error ([`ErrorKind::UnexpectedBom`](crate::ErrorKind)) under every
    /// [`ErrorPolicy`](crate::ErrorPolicy).
    Reject,
}
