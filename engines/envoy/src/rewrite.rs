//! The change of an engine's buffer if bytes are removed from its end or inserted at its start.
//!
//! Envoy has no callback that removes bytes from the end of a buffer. All bytes that are kept are therefore copied: the
//! copies are appended, and the old bytes are drained from the start. Two properties of the order of these calls matter for
//! speed.
//!
//! - A buffer that may be full never becomes longer than it was, except by the bytes that are inserted. Above its limit
//!   Envoy stops reading from the connection, which costs three system calls. Each piece is then drained before its copy is
//!   appended, so it is copied twice.
//! - The copies do not start at the start of a page. Linux copies the data of a `writev` with `rep movsb`. On AMD Zen 3 and
//!   4 that needs 14 to 20 times as long if the destination is 1 to 31 bytes after the source, modulo the size of a page.
//!   The destination is at the start of a page if the socket has no unsent data, and Envoy reads to the start of a page. A
//!   `writev` that begins with the held bytes of a character and continues with such a slice is in that case for all of
//!   its bytes. Padding, which is drained before the hook returns, moves the copies away from the start of the page.

use core::cell::Cell;
use core::ops::Range;

/// The length of the padding.
const PADDING: usize = 64;
/// The size of a page. Envoy rounds the capacity of a slice up to a multiple of it.
const PAGE: usize = 4096;
/// The maximum length of a piece that is drained at once: the size of the slices to which Envoy reads.
pub(crate) const PIECE: usize = 16 * 1024;
/// The number of bytes that are appended only after everything is drained. They make room for the padding and the head.
const RESERVE: usize = PADDING + 16;

thread_local! {
    /// The copies of bytes that are drained and not yet appended, at most about 20 KiB.
    static COPY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A buffer of Envoy. Drained bytes of a slice are not read again.
pub(crate) trait Target: Copy {
    /// Appends a copy.
    fn append(self, data: &[u8]);
    /// Removes bytes from the start.
    fn drain(self, len: usize);
}

/// Replaces the content of a buffer, which is these slices, by `head`, at most 16 bytes, and the bytes of the slices in
/// `range`. If `range` does not start at 0, the next filter has already received 64 bytes, and there is no head. If
/// `has_room` is set, the buffer may temporarily be longer by [`PIECE`].
pub(crate) fn rewrite(
    target: impl Target,
    slices: &[&[u8]],
    head: &[u8],
    range: Range<usize>,
    has_room: bool,
) {
    let len: usize = slices.iter().map(|slice| slice.len()).sum();
    // For short content, the position in the page does not matter.
    let padding = if range.start == 0 && range.end >= 2 * PAGE { PADDING } else { 0 };
    if has_room {
        target.append(&[0; PADDING][..padding]);
        target.append(head);
        target.drain(range.start);
        for piece in within(slices, range.clone()).flat_map(|part| part.chunks(PIECE)) {
            target.append(piece);
            target.drain(piece.len());
        }
        target.drain(len - range.end + padding);
        return;
    }
    let mut copy = COPY.take();
    copy.clear();
    copy.resize(padding, 0);
    copy.extend_from_slice(head);
    let mut has_appended = false;
    target.drain(range.start);
    let mut left = range.len();
    for piece in within(slices, range.clone()).flat_map(|part| part.chunks(PIECE)) {
        copy.extend_from_slice(piece);
        target.drain(piece.len());
        left -= piece.len();
        if left > 0 && copy.len() >= PAGE + RESERVE {
            let ready = copy.len() - RESERVE;
            target.append(&copy[..ready]);
            copy.drain(..ready);
            has_appended = true;
        }
    }
    target.drain(len - range.end);
    if padding > 0 && !has_appended {
        target.append(&copy[..PAGE]);
        copy.drain(..PAGE);
    }
    // Only copies are left, and the padding is the first of them.
    target.drain(padding);
    target.append(&copy);
    COPY.set(copy);
}

/// Returns the parts of the slices whose positions in their concatenation are in `range`.
pub(crate) fn within<'s>(slices: &[&'s [u8]], range: Range<usize>) -> impl Iterator<Item = &'s [u8]> {
    slices.iter().scan(0, move |start, slice| {
        let from = range.start.saturating_sub(*start).min(slice.len());
        let to = range.end.saturating_sub(*start).min(slice.len());
        *start += slice.len();
        Some(&slice[from..to])
    })
}

#[cfg(test)]
mod tests {
    use core::cell::RefCell;
    use std::collections::VecDeque;

    use super::*;

    /// A slice of Envoy: its data is at `start..end` of its memory, and more data fits after `end`.
    struct Slice {
        memory: Vec<u8>,
        start: usize,
        capacity: usize,
    }

    /// A model of Envoy's `Buffer::OwnedImpl`.
    struct Model {
        slices: VecDeque<Slice>,
        len: usize,
        longest: usize,
    }

    impl Model {
        fn new(slices: &[&[u8]]) -> Self {
            let len = slices.concat().len();
            let slice = |data: &&[u8]| Slice { memory: data.to_vec(), start: 0, capacity: data.len() };
            Self { slices: slices.iter().map(slice).collect(), len, longest: len }
        }

        fn content(&self) -> Vec<u8> {
            self.slices.iter().flat_map(|slice| &slice.memory[slice.start..]).copied().collect()
        }
    }

    impl Target for &RefCell<Model> {
        fn append(self, mut data: &[u8]) {
            let mut model = self.borrow_mut();
            model.len += data.len();
            model.longest = model.longest.max(model.len);
            if let Some(last) = model.slices.back_mut() {
                let (fits, rest) = data.split_at((last.capacity - last.memory.len()).min(data.len()));
                last.memory.extend_from_slice(fits);
                data = rest;
            }
            if !data.is_empty() {
                let capacity = data.len().next_multiple_of(PAGE);
                model.slices.push_back(Slice { memory: data.to_vec(), start: 0, capacity });
            }
        }

        fn drain(self, mut len: usize) {
            let mut model = self.borrow_mut();
            model.len -= len;
            while len > 0 {
                let first = &mut model.slices[0];
                let now = len.min(first.memory.len() - first.start);
                first.start += now;
                len -= now;
                if first.start == first.memory.len() {
                    model.slices.pop_front();
                }
            }
        }
    }

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|index| (index * 7 + index / 251) as u8).collect()
    }

    #[test]
    fn the_content_is_the_head_and_the_range_and_the_buffer_grows_only_by_the_head() {
        let lens: [&[usize]; 12] = [
            &[],
            &[1],
            &[3, 5],
            &[1000],
            &[4096],
            &[8192],
            &[8195, 1],
            &[16384],
            &[16384, 16384],
            &[5, 16384, 100, 3],
            &[16384, 16384, 16384, 700],
            &[100_000, 16384],
        ];
        for lens in lens {
            let all = bytes(lens.iter().sum());
            let mut rest = &all[..];
            let slices: Vec<&[u8]> = lens.iter().map(|&len| rest.split_off(..len).unwrap()).collect();
            for held in 0..4.min(all.len() + 1) {
                for head in [&b""[..], b"1", b"12", b"123", b"12345678", b"1234567890123456"] {
                    for start in [0, 64 - head.len()] {
                        let range = start..all.len() - held;
                        if start > 0 && range.len() < PAGE {
                            continue;
                        }
                        let head = if start > 0 { b"" } else { head };
                        let expected = [head, &all[range.clone()]].concat();
                        let rewritten = |has_room| {
                            let model = RefCell::new(Model::new(&slices));
                            rewrite(&model, &slices, head, range.clone(), has_room);
                            let model = model.into_inner();
                            assert!(model.content() == expected, "{lens:?} {held} {head:?} {start}");
                            assert_eq!(model.len, expected.len());
                            model.longest
                        };
                        assert!(rewritten(true) <= all.len() + PADDING + head.len() + PIECE);
                        assert_eq!(
                            rewritten(false),
                            all.len().max(expected.len()),
                            "{lens:?} {held} {head:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn no_copy_is_shortly_before_its_position_in_the_output() {
        for len in [PAGE * 2 + 8, 10_000, PIECE, PIECE + 1, PIECE * 2, PIECE * 2 + 2000, PIECE * 8] {
            let all = bytes(len);
            let slices: Vec<&[u8]> = all.chunks(PIECE).collect();
            let cases = [(&b""[..], 0, 0), (b"12", 0, 0), (b"", 61, 64)];
            for ((head, start, passed), has_room) in
                cases.into_iter().flat_map(|case| [(case, false), (case, true)])
            {
                let model = RefCell::new(Model::new(&slices));
                rewrite(&model, &slices, head, start..len - 1, has_room);
                // The output may begin up to 3 bytes earlier or later: bytes that were held before.
                for shift in 0..7 {
                    let mut output = PAGE + passed + shift - 3;
                    for slice in &model.borrow().slices {
                        let distance = (output + PAGE * 100 - slice.start) % PAGE;
                        let slice_len = slice.memory.len() - slice.start;
                        assert!(slice_len < PADDING * 2 || !(1..32).contains(&distance), "{len} {shift}");
                        output += slice_len;
                    }
                }
            }
        }
    }
}
