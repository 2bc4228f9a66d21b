//! Text in the buffers of the crate `bytes`.
//!
//! Each function calls `f` with the bytes of a buffer. `f` returns the part that it validated. The function checks that
//! this part lies at the expected address in the buffer. It is then the buffer's memory, which cannot change while it
//! is borrowed, so it is split off without a copy and without a second validation. Text at any other address is
//! rejected.

use bytes::{Buf, Bytes, BytesMut};
use bytestring::ByteString;

/// Removes the text that `f` returns from the front of a buffer.
#[inline(always)]
pub fn take_front(
    src: &mut BytesMut,
    f: impl for<'b> FnOnce(&'b [u8]) -> Option<&'b str>,
) -> Option<ByteString> {
    let len = len_at_front(src, f(src)?)?;
    if len == 0 {
        // `split_to` would allocate.
        return Some(ByteString::new());
    }
    let text = src.split_to(len).freeze();
    // SAFETY: `len_at_front` has found that these bytes are those of a `str`.
    Some(unsafe { text_of(text) })
}

/// Removes the line that `f` returns with its terminator from the front of a buffer. Returns it without the first
/// `skipped` bytes and without its terminator, whose length `terminator` returns.
#[inline(always)]
pub fn take_line(
    src: &mut BytesMut,
    skipped: usize,
    terminator: impl FnOnce(&[u8]) -> usize,
    f: impl for<'b> FnOnce(&'b [u8]) -> Option<&'b str>,
) -> Option<ByteString> {
    let line = f(src)?;
    let len = len_at_front(src, line)?;
    let end = len.checked_sub(terminator(line.as_bytes()))?;
    let content = line.get(skipped..end)?.len();
    if skipped > 0 {
        src.advance(skipped);
    }
    // `truncate` does not change the reference count, unlike a second `split_to`.
    let mut line = src.split_to(len - skipped);
    line.truncate(content);
    // SAFETY: `len_at_front` has found that these bytes are those of a `str`, which was cut at character boundaries.
    Some(unsafe { text_of(line.freeze()) })
}

/// Returns the first `len` bytes of a frame as text, if `f` returns the whole frame. Otherwise returns the frame.
///
/// # Errors
///
/// Returns the frame if `f` does not return it, or if `len` is inside a character.
#[inline]
pub fn whole(
    mut frame: Bytes,
    len: usize,
    f: impl for<'b> FnOnce(&'b [u8]) -> Option<&'b str>,
) -> Result<ByteString, Bytes> {
    let is_text = f(&frame)
        .is_some_and(|text| len_at_front(&frame, text) == Some(frame.len()) && text.is_char_boundary(len));
    if !is_text {
        return Err(frame);
    }
    frame.truncate(len);
    // SAFETY: `len_at_front` has found that the bytes of the frame are those of a `str`, which was cut at a character
    // boundary.
    Ok(unsafe { text_of(frame) })
}

/// What `f` of [`take_piece`] returns: a text, the number of bytes that it took, and anything else.
pub type Taken<'b, R> = (Option<&'b str>, usize, R);

/// Removes the bytes that `f` took from the front of a chunk, and returns its text and the rest of its result. If the
/// text is the whole chunk, the reference count does not change. A text from elsewhere is dropped; the bytes are still
/// removed.
#[inline]
pub fn take_piece<R>(
    chunk: &mut Bytes,
    f: impl for<'b> FnOnce(&'b [u8]) -> Taken<'b, R>,
) -> (Option<ByteString>, R) {
    let (text, taken, result) = f(chunk);
    let taken = taken.min(chunk.len());
    let Some(text) = text else {
        chunk.advance(taken);
        return (None, result);
    };
    let start = text.as_ptr().addr().wrapping_sub(chunk.as_ptr().addr());
    let len = text.len();
    let is_part = chunk.len().checked_sub(len).is_some_and(|last| start <= last);
    if !is_part {
        chunk.advance(taken);
        return (None, result);
    }
    let text = if start == 0 && taken == chunk.len() {
        let mut whole = core::mem::take(chunk);
        whole.truncate(len);
        whole
    } else {
        let text = chunk.slice(start..start + len);
        drop(chunk.split_to(taken));
        text
    };
    // SAFETY: these are the bytes of a `str` that `f` returned: its address is inside the chunk.
    (Some(unsafe { text_of(text) }), result)
}

/// Returns the length of a text if it is at the front of the bytes.
#[inline(always)]
fn len_at_front(bytes: &[u8], text: &str) -> Option<usize> {
    (text.as_ptr() == bytes.as_ptr() && text.len() <= bytes.len()).then_some(text.len())
}

/// Converts bytes to text without validation.
///
/// # Safety
///
/// - `bytes` is well-formed UTF-8.
#[inline(always)]
unsafe fn text_of(bytes: Bytes) -> ByteString {
    // At `opt-level = 0` the caller has just validated the bytes with the same function, so this check is omitted.
    debug_assert!(cfg!(utf8_codec_unoptimized) || core::str::from_utf8(&bytes).is_ok());
    // SAFETY: the caller guarantees well-formed UTF-8.
    unsafe { ByteString::from_bytes_unchecked(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Option<&str> {
        crate::text(bytes)
    }

    #[test]
    fn the_front_of_a_buffer_is_taken_up_to_the_end_of_the_text() {
        let mut src = BytesMut::from("gr\u{FC}n \u{20AC}".as_bytes());
        let taken = take_front(&mut src, |bytes| text(&bytes[..4]));
        assert_eq!(taken.as_deref(), Some("gr\u{FC}"));
        assert_eq!(take_front(&mut src, |_| Some("")).as_deref(), None);
        assert_eq!(take_front(&mut src, |bytes| text(&bytes[..0])).as_deref(), Some(""));
        assert_eq!(src, "n \u{20AC}");
    }

    #[test]
    fn a_line_is_cut_only_between_characters() {
        let take = |skipped, terminator: usize| {
            let mut src = BytesMut::from("\u{E9}a\u{E9}\r\nb".as_bytes());
            take_line(&mut src, skipped, |_| terminator, |bytes| text(&bytes[..7])).map(|line| (line, src))
        };
        let (line, rest) = take(0, 2).expect("a line");
        assert_eq!((&*line, &*rest), ("\u{E9}a\u{E9}", &b"b"[..]));
        assert_eq!(&*take(2, 2).expect("a line").0, "a\u{E9}");
        for (skipped, terminator) in [(1, 2), (0, 3), (0, 8), (6, 2), (9, 0)] {
            assert!(take(skipped, terminator).is_none(), "{skipped} {terminator}");
        }
    }

    #[test]
    fn a_frame_is_text_only_as_a_whole() {
        // Not static: the literals below would have the same address.
        let frame = || Bytes::copy_from_slice("\u{E9}\u{E9}\n".as_bytes());
        assert_eq!(whole(frame(), 4, text).as_deref(), Ok("\u{E9}\u{E9}"));
        assert!(whole(frame(), 3, text).is_err());
        assert!(whole(frame(), 9, text).is_err());
        assert!(whole(frame(), 4, |bytes| text(&bytes[..4])).is_err());
        assert!(whole(frame(), 4, |_| Some("\u{E9}\u{E9}\n")).is_err());
        assert!(whole(frame(), 4, |_| None).is_err());
    }

    #[test]
    fn a_piece_is_a_slice_of_its_chunk() {
        let mut chunk = Bytes::from("abc\u{20AC}d");
        let start = chunk.as_ptr();
        let (piece, ()) = take_piece(&mut chunk, |bytes| (text(&bytes[1..3]), 3, ()));
        assert_eq!(piece.as_deref(), Some("bc"));
        assert_eq!(chunk, "\u{20AC}d");
        // A text from elsewhere, and more bytes than there are.
        assert_eq!(take_piece(&mut chunk.clone(), |_| (Some("elsewhere"), 0, 1)), (None, 1));
        let (all, ()) = take_piece(&mut chunk, |bytes| (text(bytes), 99, ()));
        assert_eq!(all.as_deref(), Some("\u{20AC}d"));
        assert_eq!(all.expect("text").as_ptr(), start.wrapping_add(3));
        assert!(chunk.is_empty());
    }
}
