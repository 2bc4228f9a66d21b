//! No byte outside a slice is read: every length up to 1024 bytes, directly before and directly after an unreadable
//! page.
#![cfg(unix)]

use std::ptr;

use utf8_codec::locate::Locator;
use utf8_codec::mime::{TransferDecoder, TransferEncoding, TransferPiece};
use utf8_codec::transcode::{Encoding, Transcoder};
use utf8_codec::{ErrorPolicy, TextDecoder, Utf8Decoder, from_utf8};

const LONGEST: usize = 1024;

/// A page of memory between two unreadable pages.
struct Guarded {
    start: *mut u8,
    page: usize,
}

impl Guarded {
    fn new() -> Self {
        // SAFETY: new pages are allocated at any address; the outer two are then made inaccessible.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let all = libc::mmap(
                ptr::null_mut(),
                3 * page,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON,
                -1,
                0,
            );
            assert_ne!(all, libc::MAP_FAILED);
            let start = all.cast::<u8>().add(page);
            assert_eq!(libc::mprotect(all, page, libc::PROT_NONE), 0);
            assert_eq!(libc::mprotect(start.add(page).cast(), page, libc::PROT_NONE), 0);
            Self { start, page }
        }
    }

    /// Calls `check` with the bytes at the start and at the end of the page.
    fn both(&mut self, bytes: &[u8], mut check: impl FnMut(&mut [u8])) {
        for at in [0, self.page - bytes.len()] {
            // SAFETY: the range is inside the page, which is only accessed through `self`.
            let placed = unsafe { std::slice::from_raw_parts_mut(self.start.add(at), bytes.len()) };
            placed.copy_from_slice(bytes);
            check(placed);
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: these are the pages that `new` allocated.
        unsafe { libc::munmap(self.start.sub(self.page).cast(), 3 * self.page) };
    }
}

fn texts(len: usize) -> impl Iterator<Item = Vec<u8>> {
    ["a", "é", "€", "𝄞", "abcdefgh\n é€𝄞\r\n"].into_iter().flat_map(move |fill| {
        let text: Vec<u8> = fill.bytes().cycle().take(len).collect();
        let mut bad = text.clone();
        if let Some(last) = bad.last_mut() {
            *last = 0xFF;
        }
        [text, bad]
    })
}

#[test]
fn validation_and_decoding_read_only_the_slice() {
    let mut pages = Guarded::new();
    for len in 0..=LONGEST {
        for text in texts(len) {
            pages.both(&text, |chunk| {
                assert_eq!(from_utf8(chunk).is_ok(), std::str::from_utf8(chunk).is_ok());
                for before in [&b""[..], b"\xE2\x82", b"\xF0"] {
                    let mut decoder = Utf8Decoder::new();
                    assert!(decoder.validate(before).is_ok());
                    let _ = decoder.validate(chunk);
                    let mut decoder = Utf8Decoder::new();
                    assert_eq!(decoder.feed(before).count(), 0);
                    decoder.feed(chunk).for_each(drop);
                }
                let mut replaced = String::new();
                let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
                decoder.feed_into(chunk, &mut replaced).expect("repaired");
                if let Ok(text) = std::str::from_utf8(chunk) {
                    let mut locator = Locator::new();
                    locator.push(text);
                }
            });
        }
    }
}

#[test]
fn conversions_read_and_write_only_their_slices() {
    let (mut pages, mut outputs) = (Guarded::new(), Guarded::new());
    let pairs = [
        (Encoding::Utf8, Encoding::Utf16Le),
        (Encoding::Utf8, Encoding::Utf16Be),
        (Encoding::Utf16Le, Encoding::Utf8),
        (Encoding::Utf16Be, Encoding::Utf8),
        (Encoding::Utf8, Encoding::Utf8),
        (Encoding::Latin1, Encoding::Utf8),
        (Encoding::Utf8, Encoding::Latin1),
    ];
    for len in (0..=300).chain((301..=LONGEST).step_by(13)) {
        for text in texts(len) {
            for (from, to) in pairs {
                pages.both(&text, |chunk| {
                    for room in [0, 1, len / 2, len, 3 * len] {
                        outputs.both(&vec![0; room], |output| {
                            let mut transcoder =
                                Transcoder::new(from, to).with_error_policy(ErrorPolicy::Replace);
                            let _ = transcoder.feed_into_slice(chunk, output);
                        });
                    }
                });
            }
        }
    }
}

#[test]
fn conversions_of_utf_32_read_and_write_only_their_slices() {
    use Encoding::{Utf8, Utf16Be, Utf16Le, Utf32Be, Utf32Le};
    let (mut pages, mut outputs) = (Guarded::new(), Guarded::new());
    let pairs = [
        (Utf8, Utf32Le),
        (Utf8, Utf32Be),
        (Utf32Le, Utf8),
        (Utf32Be, Utf8),
        (Utf16Le, Utf32Le),
        (Utf16Be, Utf32Be),
        (Utf16Be, Utf32Le),
        (Utf32Le, Utf16Le),
        (Utf32Be, Utf16Be),
        (Utf32Le, Utf16Be),
    ];
    for len in (0..=150).chain((151..=LONGEST / 2).step_by(13)) {
        for text in texts(len) {
            for (from, to) in pairs {
                let mut input = Vec::new();
                let mut transcoder = Transcoder::new(Utf8, from).with_error_policy(ErrorPolicy::Replace);
                transcoder.feed_into(&text, &mut input).expect("repaired");
                // Units at every address, the last one unfinished.
                input.truncate(input.len().saturating_sub(len % 4));
                pages.both(&input, |chunk| {
                    for room in [0, 3, len, 2 * len, 4 * len] {
                        outputs.both(&vec![0; room], |output| {
                            let mut transcoder =
                                Transcoder::new(from, to).with_error_policy(ErrorPolicy::Replace);
                            let _ = transcoder.feed_into_slice(chunk, output);
                        });
                    }
                });
            }
        }
    }
}

#[test]
fn base64_reads_only_its_slice() {
    let mut pages = Guarded::new();
    for len in 0..=LONGEST {
        let symbols: Vec<u8> = (0..len).map(|i| b"QUJDRA+/"[i % 8]).collect();
        pages.both(&symbols, |chunk| {
            let mut bytes = 0;
            let mut decoder = TransferDecoder::new(TransferEncoding::Base64).with_max_line_length(usize::MAX);
            decoder.feed_with(chunk, |piece| {
                if let TransferPiece::Bytes(decoded) = piece {
                    bytes += decoded.bytes().len();
                }
            });
            assert_eq!(bytes, len * 3 / 4, "{len} symbols");
        });
    }
}
