//! Copies a line and searches it for a terminator in one pass, for encoders.
//!
//! Most lines are short and contain no terminator. A call of `memchr` and one of `memcpy`, each with its branches on the
//! length, would take longer than the work of both. Here blocks of 16 bytes are compared while they are copied. The code
//! uses only vectors that every CPU of the target has, so there is no call of a kernel.

use bytes::BytesMut;

#[cfg(target_arch = "x86_64")]
use self::sse2::Found;
#[cfg(not(target_arch = "x86_64"))]
use self::words::Found;

/// The length of a block in bytes.
const BLOCK: usize = 16;
/// The maximum length that is copied in one pass. In longer lines, calls are faster.
const MAX: usize = 2048;

/// Appends `line` and `byte`, and returns `true`. If `byte` is in the line, if the line is long, or if the capacity is too
/// small, returns `false`, and the content of `dst` is the same as before.
#[inline(always)]
pub fn append_line(line: &[u8], byte: u8, dst: &mut BytesMut) -> bool {
    let len = line.len();
    let spare = dst.spare_capacity_mut();
    if len > MAX || spare.len() <= len {
        return false;
    }
    let to = spare.as_mut_ptr().cast::<u8>();
    // SAFETY:
    // - The spare capacity is writable for `len + 1` bytes. It does not overlap the line, because `dst` is borrowed mutably.
    // - If the length is set, these bytes were written.
    unsafe {
        let is_none = copy(line, to, byte);
        if is_none {
            to.add(len).write(byte);
            dst.set_len(dst.len() + len + 1);
        }
        is_none
    }
}

impl Found {
    /// Copies and searches `count` blocks.
    ///
    /// # Safety
    ///
    /// - `from` must be readable and `to` writable for these blocks.
    #[inline(always)]
    unsafe fn blocks(&mut self, from: *const u8, to: *mut u8, count: usize) {
        for at in (0..count).map(|block| block * BLOCK) {
            // SAFETY: the caller upholds the contract.
            unsafe { self.block(from.add(at), to.add(at)) };
        }
    }
}

/// Copies a line. Returns whether `byte` is not in it. If it is, not all of the line may have been copied.
///
/// # Safety
///
/// - `to` must be writable for the length of the line, and must not overlap it.
#[inline(always)]
unsafe fn copy(line: &[u8], to: *mut u8, byte: u8) -> bool {
    let from = line.as_ptr();
    let len = line.len();
    let mut found = Found::new(byte);
    // SAFETY: each block is inside the line, because it ends at `len` or before it.
    unsafe {
        match len {
            0..4 => {
                return line.iter().enumerate().fold(true, |all, (at, &other)| {
                    to.add(at).write(other);
                    all & (other != byte)
                });
            }
            4..8 => {
                let first = from.cast::<u32>();
                let last = from.add(len - 4).cast::<u32>();
                let first = first.read_unaligned();
                let last = last.read_unaligned();
                to.cast::<u32>().write_unaligned(first);
                to.add(len - 4).cast::<u32>().write_unaligned(last);
                found.long(u64::from(first) | u64::from(last) << 32);
            }
            8..BLOCK => {
                for at in [0, len - 8] {
                    let long = from.add(at).cast::<u64>().read_unaligned();
                    to.add(at).cast::<u64>().write_unaligned(long);
                    found.long(long);
                }
            }
            BLOCK.. => {
                let mut at = 0;
                while len - at > 4 * BLOCK {
                    found.blocks(from.add(at), to.add(at), 4);
                    at += 4 * BLOCK;
                }
                if len - at > 2 * BLOCK {
                    found.blocks(from.add(at), to.add(at), 2);
                }
                for at in [len.saturating_sub(2 * BLOCK), len - BLOCK] {
                    found.blocks(from.add(at), to.add(at), 1);
                }
            }
        }
    }
    found.is_none()
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use core::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cvtsi64_si128, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8, _mm_setzero_si128, _mm_storeu_si128, _mm_unpacklo_epi64,
    };

    /// Whether a byte was found.
    pub(crate) struct Found {
        byte: __m128i,
        any: __m128i,
    }

    impl Found {
        #[inline(always)]
        pub(crate) fn new(byte: u8) -> Self {
            // SAFETY: every CPU of this architecture has SSE2.
            unsafe { Self { byte: _mm_set1_epi8(byte as i8), any: _mm_setzero_si128() } }
        }

        #[inline(always)]
        fn search(&mut self, block: __m128i) {
            // SAFETY: every CPU of this architecture has SSE2.
            self.any = unsafe { _mm_or_si128(self.any, _mm_cmpeq_epi8(block, self.byte)) };
        }

        /// Searches 8 bytes.
        #[inline(always)]
        pub(crate) fn long(&mut self, long: u64) {
            // SAFETY: every CPU of this architecture has SSE2.
            let block = unsafe { _mm_cvtsi64_si128(long as i64) };
            // SAFETY: same as above.
            self.search(unsafe { _mm_unpacklo_epi64(block, block) });
        }

        /// Copies and searches 16 bytes.
        ///
        /// # Safety
        ///
        /// - `from` must be readable and `to` writable for 16 bytes.
        #[inline(always)]
        pub(crate) unsafe fn block(&mut self, from: *const u8, to: *mut u8) {
            // SAFETY: the caller upholds the contract.
            let block = unsafe {
                let block = _mm_loadu_si128(from.cast());
                _mm_storeu_si128(to.cast(), block);
                block
            };
            self.search(block);
        }

        #[inline(always)]
        pub(crate) fn is_none(&self) -> bool {
            // SAFETY: every CPU of this architecture has SSE2.
            unsafe { _mm_movemask_epi8(self.any) == 0 }
        }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod words {
    const ONES: u64 = u64::MAX / 0xFF;

    /// Whether a byte was found. Bit 7 of a byte of `any` is set where it was, and perhaps after it in the same word.
    pub(crate) struct Found {
        byte: u64,
        any: u64,
    }

    impl Found {
        #[inline(always)]
        pub(crate) fn new(byte: u8) -> Self {
            Self { byte: ONES * u64::from(byte), any: 0 }
        }

        /// Searches 8 bytes.
        #[inline(always)]
        pub(crate) fn long(&mut self, long: u64) {
            let difference = long ^ self.byte;
            self.any |= difference.wrapping_sub(ONES) & !difference;
        }

        /// Copies and searches 16 bytes.
        ///
        /// # Safety
        ///
        /// - `from` must be readable and `to` writable for 16 bytes.
        #[inline(always)]
        pub(crate) unsafe fn block(&mut self, from: *const u8, to: *mut u8) {
            // SAFETY: the caller upholds the contract.
            let longs = unsafe {
                let longs = from.cast::<[u64; 2]>().read_unaligned();
                to.cast::<[u64; 2]>().write_unaligned(longs);
                longs
            };
            longs.into_iter().for_each(|long| self.long(long));
        }

        #[inline(always)]
        pub(crate) fn is_none(&self) -> bool {
            self.any & (ONES << 7) == 0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_appended_unless_it_contains_the_byte() {
        // Miri would take minutes.
        let (lens, long) = if cfg!(miri) { (0..=40, 170) } else { (0..=300, MAX) };
        for len in lens.chain([long]) {
            for filler in [b'a', b'\n' ^ 1, b'\n' ^ 0x80, 0] {
                // Boxed without spare capacity, so that Miri finds an access after the end.
                let mut line = vec![filler; len].into_boxed_slice();
                let expected = [b"before", &line[..], b"\n"].concat();
                let mut dst = BytesMut::with_capacity(expected.len());
                dst.extend_from_slice(b"before");
                assert!(append_line(&line, b'\n', &mut dst), "{len}");
                assert_eq!(dst, expected);
                for at in (0..len).step_by(if cfg!(miri) { 7 } else { 1 }) {
                    dst.truncate(b"before".len());
                    line[at] = b'\n';
                    assert!(!append_line(&line, b'\n', &mut dst), "{len} {at}");
                    assert_eq!(dst, "before");
                    line[at] = filler;
                }
            }
        }
    }

    #[test]
    fn words_without_vectors_find_every_byte() {
        for at in 0..BLOCK {
            for other in 0..=u8::MAX {
                let mut block = [b'a'; BLOCK];
                let mut copy = [0; BLOCK];
                block[at] = other;
                let mut found = words::Found::new(b'\n');
                // SAFETY: both arrays have the length of a block.
                unsafe { found.block(block.as_ptr(), copy.as_mut_ptr()) };
                assert_eq!((found.is_none(), copy), (other != b'\n', block), "{other:02X} {at}");
            }
        }
    }
}
