//! Bytes as arrays. The standard library has these functions from Rust 1.88, as `<[T]>::as_chunks` and `as_chunks_mut`.

use core::slice;

/// Splits bytes into arrays and a rest that is shorter than an array.
#[inline(always)]
pub(crate) fn as_chunks<const N: usize>(bytes: &[u8]) -> (&[[u8; N]], &[u8]) {
    let count = bytes.len() / N;
    let (arrays, rest) = bytes.split_at(count * N);
    // SAFETY: `arrays` has the bytes of `count` arrays, which need no alignment.
    (unsafe { slice::from_raw_parts(arrays.as_ptr().cast(), count) }, rest)
}

/// [`as_chunks`] of bytes that can be changed.
#[cfg(any(feature = "base64", feature = "transcode"))]
#[inline(always)]
pub(crate) fn as_chunks_mut<const N: usize>(bytes: &mut [u8]) -> (&mut [[u8; N]], &mut [u8]) {
    let count = bytes.len() / N;
    let (arrays, rest) = bytes.split_at_mut(count * N);
    // SAFETY: `arrays` has the bytes of `count` arrays, which need no alignment.
    (unsafe { slice::from_raw_parts_mut(arrays.as_mut_ptr().cast(), count) }, rest)
}
