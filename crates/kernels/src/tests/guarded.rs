//! Memory whose end, or start, cannot be crossed: an access outside a slice ends the test.

#[cfg(not(all(unix, feature = "memchr", not(miri))))]
pub(crate) use exact::Guarded;
#[cfg(all(unix, feature = "memchr", not(miri)))]
pub(crate) use pages::Guarded;

/// Slices between two pages that cannot be accessed.
#[cfg(all(unix, feature = "memchr", not(miri)))]
mod pages {
    use core::{ptr, slice};

    /// The pages of a slice, and a page before and after them.
    pub(crate) struct Guarded {
        pages: *mut u8,
        page: usize,
        len: usize,
    }

    impl Guarded {
        /// Reserves at least `len` bytes.
        pub(crate) fn new(len: usize) -> Self {
            // SAFETY: the call has no requirements.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            let len = len.next_multiple_of(page);
            // SAFETY: new pages do not overlap with other memory. Those between the first and the last one become
            // accessible.
            unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
                let map = libc::mmap(ptr::null_mut(), len + 2 * page, libc::PROT_NONE, flags, -1, 0);
                assert!(map != libc::MAP_FAILED, "there are no pages");
                let pages = map.cast::<u8>().add(page);
                assert_eq!(libc::mprotect(pages.cast(), len, libc::PROT_READ | libc::PROT_WRITE), 0);
                Self { pages, page, len }
            }
        }

        /// Returns the last `len` bytes before the page that cannot be accessed, or the first bytes after one.
        pub(crate) fn slice(&mut self, len: usize, at_end: bool) -> &mut [u8] {
            assert!(len <= self.len);
            let start = if at_end { self.len - len } else { 0 };
            // SAFETY: the pages are accessible, initialized with zeros and borrowed with `self`.
            unsafe { slice::from_raw_parts_mut(self.pages.add(start), len) }
        }
    }

    impl Drop for Guarded {
        fn drop(&mut self) {
            // SAFETY: the pages were reserved together, and no slice borrows them any more.
            unsafe {
                libc::munmap(self.pages.sub(self.page).cast(), self.len + 2 * self.page);
            }
        }
    }
}

/// Allocations of exactly the length of a slice. Miri ends the test at any access outside.
#[cfg(not(all(unix, feature = "memchr", not(miri))))]
mod exact {
    pub(crate) struct Guarded(Box<[u8]>);

    impl Guarded {
        pub(crate) fn new(_: usize) -> Self {
            Self(Box::default())
        }

        pub(crate) fn slice(&mut self, len: usize, _: bool) -> &mut [u8] {
            self.0 = vec![0; len].into();
            &mut self.0
        }
    }
}
