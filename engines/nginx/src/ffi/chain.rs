//! Chains of buffers: reading them, and passing on a changed one.
//!
//! The buffers of a caller are passed on, with an earlier end if the last bytes are held or dropped. The caller takes them
//! back when they are empty. What is inserted is in buffers of this module. The links of a chain belong to the caller, so
//! a changed chain has links of its own.

use core::ptr;
use std::collections::VecDeque;

use ngx::ffi::{ngx_alloc_chain_link, ngx_buf_t, ngx_chain_t, ngx_pcalloc, ngx_pool_t};
use utf8_codec_engines::plan::Outcome;

/// Buffers with bytes of this module that a later filter may still write.
#[derive(Debug, Default)]
pub(crate) struct Inserted(VecDeque<Box<Owned>>);

#[derive(Debug)]
struct Owned {
    buf: ngx_buf_t,
    /// What `buf` points to.
    _data: Vec<u8>,
}

impl Inserted {
    fn add(&mut self, mut data: Vec<u8>) -> *mut ngx_buf_t {
        // SAFETY: zero is a valid value of the pointers, numbers and bits of a buffer.
        let mut buf: ngx_buf_t = unsafe { core::mem::zeroed() };
        let range = data.as_mut_ptr_range();
        (buf.start, buf.pos, buf.last, buf.end) = (range.start, range.start, range.end, range.end);
        buf.set_temporary(1);
        self.0.push_back(Box::new(Owned { buf, _data: data }));
        self.0.back_mut().map_or(ptr::null_mut(), |owned| ptr::from_mut(&mut owned.buf))
    }

    /// Releases the buffers that were written: by the convention of nginx, those that are empty.
    pub(crate) fn release_written(&mut self) {
        while self.0.front().is_some_and(|owned| owned.buf.pos == owned.buf.last) {
            self.0.pop_front();
        }
    }

    /// Releases all buffers, of which nginx has no pointer any more.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What was read from a chain.
#[derive(Debug, Default)]
pub(crate) struct Slices<'c> {
    pub(crate) slices: Vec<&'c [u8]>,
    /// The last buffer of the whole response or stream.
    pub(crate) has_last: bool,
    /// The last buffer of a request or of a subrequest.
    pub(crate) has_last_in_chain: bool,
    /// Whether a buffer has its bytes in a file.
    pub(crate) has_file: bool,
}

/// Iterates over the buffers of a chain.
///
/// # Safety
///
/// `chain` is null or a chain, and stays valid during the iteration.
unsafe fn buffers(mut chain: *mut ngx_chain_t) -> impl Iterator<Item = *mut ngx_buf_t> {
    core::iter::from_fn(move || {
        // SAFETY: the caller passes a chain, whose links end with a null pointer.
        let link = unsafe { chain.as_ref()? };
        chain = link.next;
        Some(link.buf)
    })
}

fn is_in_memory(buf: &ngx_buf_t) -> bool {
    buf.temporary() != 0 || buf.memory() != 0 || buf.mmap() != 0
}

/// Reads the buffers of a chain.
///
/// # Safety
///
/// `chain` is null or a chain, and its bytes do not change during `'c`.
pub(crate) unsafe fn slices<'c>(chain: *mut ngx_chain_t) -> Slices<'c> {
    let mut read = Slices::default();
    // SAFETY: the buffers of a chain are valid. One in memory has its bytes from `pos` to `last`.
    unsafe {
        for buf in buffers(chain) {
            let buf = &*buf;
            read.has_last |= buf.last_buf() != 0;
            read.has_last_in_chain |= buf.last_in_chain() != 0;
            if is_in_memory(buf) {
                let len = buf.last.offset_from(buf.pos).max(0) as usize;
                if len > 0 {
                    read.slices.push(core::slice::from_raw_parts(buf.pos, len));
                }
            } else {
                read.has_file |= buf.in_file() != 0;
            }
        }
    }
    read
}

/// Empties the buffers of a chain, so that its owner takes them back.
///
/// # Safety
///
/// `chain` is null or a chain.
pub(crate) unsafe fn consume(chain: *mut ngx_chain_t) {
    // SAFETY: the buffers of a chain are valid, and a filter may take their bytes.
    unsafe {
        for buf in buffers(chain) {
            (*buf).pos = (*buf).last;
            (*buf).file_pos = (*buf).file_last;
        }
    }
}

/// A chain of this module, whose links go back to the pool.
pub(crate) struct Chain {
    pool: *mut ngx_pool_t,
    first: *mut ngx_chain_t,
    last: *mut ngx_chain_t,
}

impl Chain {
    /// Creates an empty chain.
    ///
    /// # Safety
    ///
    /// `pool` is a pool, which outlives the chain.
    pub(crate) const unsafe fn new(pool: *mut ngx_pool_t) -> Self {
        Self { pool, first: ptr::null_mut(), last: ptr::null_mut() }
    }

    pub(crate) const fn first(&self) -> *mut ngx_chain_t {
        self.first
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Appends a buffer. Returns `None` without memory.
    fn push(&mut self, buf: *mut ngx_buf_t) -> Option<()> {
        // SAFETY: the pool outlives the chain, which `new` requires, and `last` is a link of it.
        unsafe {
            let link = ngx_alloc_chain_link(self.pool);
            link.as_mut()?.buf = buf;
            (*link).next = ptr::null_mut();
            match self.last.as_mut() {
                Some(last) => last.next = link,
                None => self.first = link,
            }
            self.last = link;
        }
        Some(())
    }

    /// Appends a buffer of the caller unchanged. Returns `None` without memory.
    ///
    /// # Safety
    ///
    /// The buffer is valid.
    pub(crate) unsafe fn pass(&mut self, buf: *mut ngx_buf_t) -> Option<()> {
        self.push(buf)
    }

    /// Appends bytes. Returns `None` without memory.
    pub(crate) fn insert(&mut self, inserted: &mut Inserted, data: Vec<u8>) -> Option<()> {
        if data.is_empty() { Some(()) } else { self.push(inserted.add(data)) }
    }

    /// Makes sure that there is a buffer for a mark. Returns `None` without memory.
    fn push_if_empty(&mut self) -> Option<()> {
        if !self.is_empty() {
            return Some(());
        }
        // SAFETY: the pool outlives the chain. The buffer is zero, so it has no bytes.
        let buf: *mut ngx_buf_t = unsafe { ngx_pcalloc(self.pool, size_of::<ngx_buf_t>()).cast() };
        // SAFETY: `ngx_pcalloc` returns zeros or a null pointer.
        unsafe { buf.as_mut()?.set_sync(1) };
        self.push(buf)
    }

    /// Marks the end of the response, request or stream. Returns `None` without memory.
    pub(crate) fn end(&mut self, is_last: bool, is_last_in_chain: bool) -> Option<()> {
        if !is_last && !is_last_in_chain {
            return Some(());
        }
        self.push_if_empty()?;
        // SAFETY: the chain has a last link, and its buffer is valid.
        unsafe {
            let buf = (*self.last).buf;
            (*buf).set_last_buf(is_last.into());
            (*buf).set_last_in_chain(is_last_in_chain.into());
        }
        Some(())
    }

    /// Removes the mark of the end.
    pub(crate) fn unmark_end(&mut self) {
        // SAFETY: `last` is null or a link of this chain, with a valid buffer.
        if let Some(last) = unsafe { self.last.as_mut() } {
            // SAFETY: as above.
            unsafe {
                (*last.buf).set_last_buf(0);
                (*last.buf).set_last_in_chain(0);
            }
        }
    }

    /// Makes the next filter write at once.
    pub(crate) fn flush(&mut self) {
        // SAFETY: `last` is null or a link of this chain, with a valid buffer.
        if let Some(last) = unsafe { self.last.as_mut() } {
            // SAFETY: as above.
            unsafe { (*last.buf).set_flush(1) };
        }
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        // SAFETY: the links are those of the pool, and no filter keeps a link of a chain that it received.
        unsafe {
            while let Some(link) = self.first.as_mut() {
                self.first = link.next;
                link.next = (*self.pool).chain;
                (*self.pool).chain = link;
            }
        }
    }
}

/// Appends the content of a chain after the changes of an outcome. Returns `None` without memory.
///
/// # Safety
///
/// `from` is the chain whose slices were checked.
pub(crate) unsafe fn rewrite(
    to: &mut Chain,
    from: *mut ngx_chain_t,
    outcome: &Outcome,
    inserted: &mut Inserted,
) -> Option<()> {
    to.insert(inserted, outcome.head.as_slice().to_vec())?;
    let mut left = outcome.kept;
    let mut is_last = false;
    let mut is_last_in_chain = false;
    let mut flushes = false;
    // SAFETY: the caller passes a chain, and a filter may change the end of a buffer that it passes on.
    unsafe {
        for pointer in buffers(from) {
            let buf = &mut *pointer;
            is_last |= buf.last_buf() != 0;
            is_last_in_chain |= buf.last_in_chain() != 0;
            flushes |= buf.flush() != 0;
            if !is_in_memory(buf) {
                continue;
            }
            let len = buf.last.offset_from(buf.pos).max(0) as usize;
            let kept = len.min(left);
            left -= kept;
            buf.last = buf.pos.add(kept);
            if buf.in_file() != 0 {
                buf.file_last -= (len - kept) as i64;
            }
            buf.set_last_buf(0);
            buf.set_last_in_chain(0);
            if kept > 0 {
                to.push(pointer)?;
            }
        }
    }
    to.insert(inserted, outcome.tail.clone())?;
    if flushes {
        // Also if all bytes are held: a later filter may have some of earlier ones.
        to.push_if_empty()?;
        to.flush();
    }
    to.end(is_last, is_last_in_chain)
}
