//! A pool of buffers for each thread.
//!
//! A direction of a connection takes a buffer from the pool for a read, and returns the buffer when there is nothing to
//! read. An idle connection has no buffer.

use core::cell::RefCell;
use core::ops::{Deref, DerefMut};

/// Space before the bytes that are read. Pending bytes of a character are put there, so that one write sends both.
pub(super) const HEADROOM: usize = 4;

/// The size of a buffer, which is also the maximum length of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// 16 KiB.
    Small,
    /// 64 KiB, used after a read that filled a small buffer and contained few errors.
    Big,
}

impl Size {
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Small => 16 * 1024,
            Self::Big => 64 * 1024,
        }
    }

    /// Returns the maximum number of free buffers in the pool of a thread: 512 KiB of each size.
    const fn kept(self) -> usize {
        512 * 1024 / self.bytes()
    }
}

thread_local! {
    static FREE: [RefCell<Vec<Box<[u8]>>>; 2] = const { [RefCell::new(Vec::new()), RefCell::new(Vec::new())] };
}

/// A buffer of [`HEADROOM`] bytes plus its size. It returns to the pool when it is dropped.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Box<[u8]>,
    size: Size,
}

impl Buffer {
    pub(super) fn take(size: Size) -> Self {
        let free = FREE.try_with(|free| free[size as usize].borrow_mut().pop());
        let bytes = match free {
            Ok(Some(bytes)) => bytes,
            _ => vec![0; HEADROOM + size.bytes()].into(),
        };
        Self { bytes, size }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = core::mem::take(&mut self.bytes);
        // If the thread is ending, its pool no longer exists, and the memory is freed.
        let _ = FREE.try_with(|free| {
            let mut free = free[self.size as usize].borrow_mut();
            if free.len() < self.size.kept() {
                free.push(bytes);
            }
        });
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returned_buffer_is_reused_and_the_pool_is_bounded() {
        let mut taken: Vec<_> = (0..100).map(|_| Buffer::take(Size::Big)).collect();
        assert!(taken.iter().all(|buffer| buffer.len() == HEADROOM + 64 * 1024));
        taken.iter_mut().for_each(|buffer| buffer[0] = b'x');
        drop(taken);
        FREE.with(|free| assert_eq!(free[Size::Big as usize].borrow().len(), 8));
        assert_eq!(Buffer::take(Size::Big)[0], b'x', "a new buffer is zero");
        assert_eq!(Buffer::take(Size::Small).len(), HEADROOM + 16 * 1024);
    }
}
