//! The policy for the BOM.

/// What happens to `EF BB BF` at the start of a stream (RFC 3629 §6). After the start it is U+FEFF, a character like
/// any other. Offsets always count its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BomPolicy {
    /// It is text.
    #[default]
    Keep,
    /// It is removed.
    Strip,
    /// A stream without it is an error ([`ErrorKind::MissingBom`](crate::ErrorKind)) under every
    /// [`ErrorPolicy`](crate::ErrorPolicy); if present, it is removed.
    Require,
    /// A stream with it is an error ([`ErrorKind::UnexpectedBom`](crate::ErrorKind)) under every
    /// [`ErrorPolicy`](crate::ErrorPolicy).
    Reject,
}
