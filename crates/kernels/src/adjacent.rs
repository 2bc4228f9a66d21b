//! Two texts that are adjacent parts of a chunk.

/// Returns two texts as one, if they are adjacent parts of the chunk, or if the first is empty.
///
/// The borrows of `first` and `second` prove that their bytes are still those of the chunk.
#[inline]
pub fn join_adjacent<'c>(chunk: &'c [u8], first: &'c str, second: &'c str) -> Option<&'c str> {
    if first.is_empty() {
        return Some(second);
    }
    let start = first.as_ptr().addr().checked_sub(chunk.as_ptr().addr())?;
    let both = chunk.get(start..start.checked_add(first.len() + second.len())?)?;
    let are_adjacent = first.as_bytes().as_ptr_range().end == second.as_ptr();
    // SAFETY: the bytes are those of `first` followed by those of `second`.
    are_adjacent.then(|| unsafe { core::str::from_utf8_unchecked(both) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_adjacent_parts_of_the_chunk_are_joined() {
        let text = String::from("ab\u{E9}cd");
        let chunk = text.as_bytes();
        assert_eq!(join_adjacent(chunk, &text[..2], &text[2..4]), Some("ab\u{E9}"));
        assert_eq!(join_adjacent(chunk, &text[..2], &text[4..]), None);
        assert_eq!(join_adjacent(chunk, &text[2..4], &text[..2]), None);
        assert_eq!(join_adjacent(chunk, "", &text[2..4]), Some("\u{E9}"));
        let other = text.clone();
        assert_eq!(join_adjacent(chunk, &other[..2], &other[2..]), None);
        assert_eq!(join_adjacent(&chunk[..3], &text[..2], &text[2..4]), None);
    }
}
