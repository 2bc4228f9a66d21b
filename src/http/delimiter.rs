//! The grammar of a multipart boundary (RFC 2046 §5.1.1).

/// Whether the value of a `boundary` parameter is in the grammar: 1 to 70 characters, the last of them not a space.
///
/// All printable ASCII is allowed, which is more than `bchars`: browsers use other characters too.
pub(crate) fn is_boundary(value: &[u8]) -> bool {
    (1..=70).contains(&value.len())
        && value.last() != Some(&b' ')
        && value.iter().all(|byte| matches!(byte, b' '..=b'~'))
}
