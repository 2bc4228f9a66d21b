//! The change of an engine's buffer if bytes are removed from its end or inserted at its start.
//!
//! For engines that copy their buffer to a module and back (WebAssembly). They have no call that removes bytes from the
//! end of a buffer. The bytes that are kept are therefore moved toward the end, and the superfluous bytes at the start
//! are drained. Nothing is allocated.
//!
//! Bytes that do not fit into the slices are appended. There are always some if the content is moved to 64 bytes after
//! the start ([`GAP`]), because of the copy that follows. Linux copies the data of a `writev` with `rep movsb`. On AMD
//! Zen 3 and 4 that needs 14 to 20 times as long if the destination is 1 to 31 bytes after the source, modulo the size
//! of a page. Envoy reads to the start of a page. The destination is at the start of a page too, or, if the socket has
//! unsent data, a few bytes before or after it: as many as were held or inserted earlier. Inserting held bytes at the
//! start of the buffer, which needs no move, would cause the slow copy for all of the buffer.

/// The distance from the start of the buffer to which long content is moved, so that a copy of it by Linux is fast.
pub const GAP: usize = 64;
/// The size of a page. The position of shorter content in its page does not matter.
const PAGE: usize = 4096;

/// A few bytes.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    bytes: [u8; GAP + 16],
    len: usize,
}

impl Rest {
    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// The changes of the buffer that remain after its bytes were moved.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Remaining {
    /// The number of bytes to drain from the start.
    pub drain: usize,
    /// The bytes to append.
    pub append: Rest,
}

/// Changes the content of a buffer, which is these slices, to `head` and the first `kept` bytes of the slices, except for
/// the changes that it returns. `head` has at most 16 bytes. Long content starts after `gap` bytes, at most [`GAP`], which
/// are drained.
pub fn shift(slices: &mut [&mut [u8]], head: &[u8], kept: usize, gap: usize) -> Remaining {
    let len: usize = slices.iter().map(|slice| slice.len()).sum();
    let mut append = Rest { bytes: [0; GAP + 16], len: 0 };
    if head.is_empty() && kept == len {
        return Remaining { drain: 0, append };
    }
    let new_len = head.len() + kept;
    let gap = if new_len >= 2 * PAGE { gap } else { 0 };
    let drain = len.saturating_sub(new_len).max(gap);
    let (head, head_after) = head.split_at(head.len().min(len - drain));
    append.push(head_after);
    let fits = kept.min(len - drain - head.len());
    let mut start = 0;
    for slice in &*slices {
        let from = fits.saturating_sub(start).min(slice.len());
        let to = kept.saturating_sub(start).min(slice.len());
        append.push(&slice[from..to]);
        start += slice.len();
    }
    move_right(slices, fits, drain + head.len());
    for (position, &byte) in (drain + 1..).zip(head) {
        let (index, end) = find(slices, position);
        slices[index][end - 1] = byte;
    }
    Remaining { drain, append }
}

/// Moves the first `len` bytes by `distance`.
fn move_right(slices: &mut [&mut [u8]], mut len: usize, distance: usize) {
    if distance == 0 {
        return;
    }
    // The ends of the bytes that are not moved yet, and of the places for them: a slice and a position in it.
    let (mut from, mut from_end) = find(slices, len);
    let (mut to, mut to_end) = find(slices, len + distance);
    while len > 0 {
        while from_end == 0 {
            from -= 1;
            from_end = slices[from].len();
        }
        while to_end == 0 {
            to -= 1;
            to_end = slices[to].len();
        }
        let now = len.min(from_end).min(to_end);
        (from_end, to_end, len) = (from_end - now, to_end - now, len - now);
        let source = from_end..from_end + now;
        if from == to {
            slices[to].copy_within(source, to_end);
        } else {
            let (before, after) = slices.split_at_mut(to);
            after[0][to_end..to_end + now].copy_from_slice(&before[from][source]);
        }
    }
}

/// Returns the slice that contains the byte before `position`, and the position in this slice.
fn find(slices: &[&mut [u8]], mut position: usize) -> (usize, usize) {
    for (index, slice) in slices.iter().enumerate() {
        if position <= slice.len() {
            return (index, position);
        }
        position -= slice.len();
    }
    (slices.len(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|index| (index * 7 + index / 251) as u8).collect()
    }

    /// Returns the content after the move, and what remains of the changes.
    fn shifted(all: &[u8], lens: &[usize], head: &[u8], kept: usize, gap: usize) -> (Vec<u8>, Remaining) {
        let mut all = all.to_vec();
        let mut rest = &mut all[..];
        let mut slices: Vec<&mut [u8]> = lens.iter().map(|&len| rest.split_off_mut(..len).unwrap()).collect();
        let remaining = shift(&mut slices, head, kept, gap);
        (all, remaining)
    }

    #[test]
    fn the_content_is_the_head_and_the_kept_bytes() {
        let lens: [&[usize]; 14] = [
            &[],
            &[0],
            &[1],
            &[2],
            &[3, 5],
            &[1, 1, 1, 1, 1, 1],
            &[0, 2, 0, 0, 1, 0],
            &[20, 0, 1, 7, 0],
            &[4096],
            &[8195, 1],
            &[16384, 16384],
            &[5, 16384, 100, 3],
            &[1, 0, 16384, 2, 700],
            &[1000, 16384],
        ];
        for lens in lens {
            let all = bytes(lens.iter().sum());
            let some = [all.len() / 2, all.len() / 3, 0];
            let ends = (0..12).map(|removed| all.len().saturating_sub(removed));
            for kept in ends.chain(some) {
                for head_len in 0..=16 {
                    let head = &b"1234567890123456"[..head_len];
                    for gap in [0, GAP] {
                        let (content, remaining) = shifted(&all, lens, head, kept, gap);
                        let rest = remaining.append.as_slice();
                        assert!(gap > 0 || remaining.drain == 0 || rest.is_empty());
                        let found = [&content[remaining.drain..], rest].concat();
                        assert!(found == [head, &all[..kept]].concat(), "{lens:?} {head_len} {kept}");
                    }
                }
            }
        }
    }

    #[test]
    fn long_content_is_not_shortly_before_its_position_in_the_output() {
        const SLICE: usize = 16 * 1024;
        for len in [PAGE * 2 + 8, 10_000, SLICE, SLICE + 1, SLICE * 2, SLICE * 2 + 2000, SLICE * 8] {
            let all = bytes(len);
            let lens: Vec<usize> = all.chunks(SLICE).map(<[u8]>::len).collect();
            for (head, kept) in [("", len - 1), ("", len - 3), ("1", len), ("12", len - 1), ("123", len)] {
                let (_, remaining) = shifted(&all, &lens, head.as_bytes(), kept, GAP);
                // A filter that passes the first 64 bytes before the others does not change this.
                for passed in [0, 64] {
                    // The output may begin up to 3 bytes earlier or later: bytes that were held before.
                    for shift in 0..7 {
                        let mut output = PAGE + passed + shift - 3;
                        let mut start = remaining.drain + passed;
                        for slice_len in &lens {
                            let distance = (output + PAGE * 100 - start) % PAGE;
                            let in_slice = slice_len - start;
                            assert!(in_slice < 128 || !(1..32).contains(&distance), "{len} {head} {kept}");
                            output += in_slice;
                            start = 0;
                        }
                    }
                }
            }
        }
    }
}
