//! The pools of buffers: of small ones for each thread, of big ones for the process.
//!
//! A direction of a connection takes a buffer from a pool for a read, and returns the buffer when there is nothing to
//! read. An idle connection has no buffer.

use core::cell::RefCell;
use core::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Space before the bytes that are read. Pending bytes of a character are put there, so that one write sends both.
pub(super) const HEADROOM: usize = 4;

/// The size of a buffer, which is also the maximum length of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// 16 KiB.
    Small,
    /// 256 KiB, used after a read that filled a small buffer and contained few errors. It takes as much as the kernel
    /// has queued, so that the window of the sender does not close.
    Big,
}

impl Size {
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Small => 16 * 1024,
            Self::Big => 256 * 1024,
        }
    }

    fn allocate(self) -> Box<[u8]> {
        vec![0; HEADROOM + self.bytes()].into()
    }
}

/// The maximum number of free small buffers in the pool of a thread: 512 KiB.
const KEPT_SMALL: usize = 32;

/// The maximum number of big buffers that are in use in the process: 16 MiB. If all are, a read uses a small one.
const MAX_BIG: usize = 64;

/// The number of free big buffers that are kept when none is in use: 1 MiB.
const KEPT_BIG: usize = 4;

thread_local! {
    static SMALL: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

static BIG: Mutex<BigBuffers> = Mutex::new(BigBuffers::new());

fn big() -> MutexGuard<'static, BigBuffers> {
    BIG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The big buffers.
struct BigBuffers {
    free: Vec<Box<[u8]>>,
    used: usize,
}

impl BigBuffers {
    const fn new() -> Self {
        Self { free: Vec::new(), used: 0 }
    }

    /// Returns a buffer if fewer than [`MAX_BIG`] are in use.
    fn take(&mut self) -> Option<Box<[u8]>> {
        if self.used == MAX_BIG {
            return None;
        }
        self.used += 1;
        Some(self.free.pop().unwrap_or_else(|| Size::Big.allocate()))
    }

    fn put_back(&mut self, bytes: Box<[u8]>) {
        self.used -= 1;
        self.free.push(bytes);
        // Connections at full speed return their buffer before each wait. Fewer free buffers would be allocated each time.
        self.free.truncate(self.used.max(KEPT_BIG));
    }
}

/// A buffer of [`HEADROOM`] bytes plus its size. It returns to its pool when it is dropped.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Box<[u8]>,
    size: Size,
}

impl Buffer {
    /// Takes a buffer of this size, or a small one if too many big ones are in use.
    pub(super) fn take(size: Size) -> Self {
        if size == Size::Big {
            if let Some(bytes) = big().take() {
                return Self { bytes, size };
            }
        }
        let free = SMALL.try_with(|free| free.borrow_mut().pop());
        let bytes = free.ok().flatten().unwrap_or_else(|| Size::Small.allocate());
        Self { bytes, size: Size::Small }
    }

    pub(super) const fn size(&self) -> Size {
        self.size
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = core::mem::take(&mut self.bytes);
        if self.size == Size::Big {
            return big().put_back(bytes);
        }
        // If the thread is ending, its pool no longer exists, and the memory is freed.
        let _ = SMALL.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < KEPT_SMALL {
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
        let mut taken: Vec<_> = (0..100).map(|_| Buffer::take(Size::Small)).collect();
        assert!(taken.iter().all(|buffer| buffer.len() == HEADROOM + 16 * 1024));
        taken.iter_mut().for_each(|buffer| buffer[0] = b'x');
        drop(taken);
        SMALL.with(|free| assert_eq!(free.borrow().len(), KEPT_SMALL));
        assert_eq!(Buffer::take(Size::Small)[0], b'x', "a new buffer is zero");
    }

    #[test]
    fn big_buffers_are_limited_and_the_free_ones_are_freed_with_the_use() {
        let mut pool = BigBuffers::new();
        let mut taken: Vec<_> = (0..MAX_BIG).filter_map(|_| pool.take()).collect();
        assert_eq!(taken.len(), MAX_BIG);
        assert!(taken.iter().all(|bytes| bytes.len() == HEADROOM + 256 * 1024));
        assert!(pool.take().is_none());
        pool.put_back(taken.swap_remove(0));
        assert!(pool.take().is_some(), "one is free again");
        pool.used -= 1;
        while let Some(bytes) = taken.pop() {
            pool.put_back(bytes);
            assert!(pool.free.len() <= taken.len().max(KEPT_BIG), "{}", pool.free.len());
        }
        assert_eq!((pool.used, pool.free.len()), (0, KEPT_BIG));
    }
}
