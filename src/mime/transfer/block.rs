//! Decoded bytes, and where each of them came from.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Bytes of a block: enough that what happens once for a block costs nothing, little enough for the nearest cache.
const OCTETS: usize = 4096;
const RUNS: usize = 512;

/// How the bytes of a run stood in the encoded body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stride {
    /// One for one.
    Verbatim,
    /// `=XX`, one after the other.
    Escapes,
    /// Whole groups of four symbols.
    Groups,
}

impl Stride {
    /// How far after the start of its run the byte at `index` begins.
    const fn distance(self, index: usize) -> usize {
        match self {
            Self::Verbatim => index,
            Self::Escapes => index * 3,
            Self::Groups => index / 3 * 4 + index % 3,
        }
    }

    /// How many bytes of a run begin in its first `distance` encoded ones.
    const fn bytes(self, distance: usize) -> usize {
        match self {
            Self::Verbatim => distance,
            Self::Escapes => distance.div_ceil(3),
            Self::Groups => distance / 4 * 3 + if distance % 4 < 3 { distance % 4 } else { 3 },
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where it starts in the encoded body.
    encoded: u64,
    /// Where it starts in the block.
    start: u32,
    stride: Stride,
}

/// Where the bytes of a piece came from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Runs<'p> {
    /// All of them are one run, whose place in the encoded body this is.
    Verbatim(u64),
    Listed(List<'p>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct List<'p>(&'p [Run]);

impl Runs<'_> {
    pub(super) const fn verbatim(encoded: u64) -> Self {
        Self::Verbatim(encoded)
    }

    pub(super) fn encoded_offset(&self, index: usize) -> u64 {
        match self {
            Self::Verbatim(encoded) => encoded + index as u64,
            Self::Listed(List(runs)) => {
                let after = runs.partition_point(|run| run.start as usize <= index);
                // The first run starts at 0, so one is found for every byte there is.
                after.checked_sub(1).map_or(0, |i| {
                    let run = &runs[i];
                    run.encoded + run.stride.distance(index - run.start as usize) as u64
                })
            }
        }
    }
}

/// A buffer that is filled, lent and cleared.
#[derive(Clone, Debug)]
pub(super) struct Block {
    bytes: Box<[u8]>,
    len: usize,
    runs: Vec<Run>,
}

impl Block {
    /// A block for a machine that needs none.
    pub(super) fn none() -> Self {
        Self { bytes: Box::default(), len: 0, runs: Vec::new() }
    }

    pub(super) fn new() -> Self {
        Self { bytes: vec![0; OCTETS].into(), len: 0, runs: Vec::with_capacity(RUNS) }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.runs.clear();
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(super) fn runs(&self) -> Runs<'_> {
        Runs::Listed(List(&self.runs))
    }

    /// Which byte came from `encoded`, or is the first one from after it; as many as there are if none is.
    pub(super) fn index_of(&self, encoded: u64) -> usize {
        let after = self.runs.partition_point(|run| run.encoded <= encoded);
        let end = self.runs.get(after).map_or(self.len, |run| run.start as usize);
        let Some(run) = after.checked_sub(1).map(|i| &self.runs[i]) else { return 0 };
        let distance = usize::try_from(encoded - run.encoded).unwrap_or(usize::MAX);
        end.min((run.start as usize).saturating_add(run.stride.bytes(distance)))
    }

    /// Bytes that there is room for.
    pub(super) fn room(&self) -> usize {
        self.bytes.len() - self.len
    }

    /// Whether it should be lent before more is decoded into it, so that `bytes` in four runs have room.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        self.room() < bytes || RUNS - self.runs.len() < 4
    }

    /// Bytes that stood at `encoded` as they are. There is room for them.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8], encoded: u64) {
        self.begin(encoded, Stride::Verbatim);
        let end = self.len + bytes.len();
        self.bytes[self.len..end].copy_from_slice(bytes);
        self.len = end;
    }

    /// The byte of an escape that stood at `encoded`. There is room for it.
    #[inline]
    pub(super) fn push_escaped(&mut self, byte: u8, encoded: u64) {
        self.begin(encoded, Stride::Escapes);
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Where the groups that stand at `encoded` may be decoded to; [`advance`](Self::advance) says how many were.
    #[inline]
    pub(super) fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.len..]
    }

    /// Takes over `bytes` of the space as a run of whole groups.
    #[inline]
    pub(super) fn advance(&mut self, bytes: usize, encoded: u64) {
        self.begin(encoded, Stride::Groups);
        self.len += bytes;
    }

    /// What is pushed next stood at `encoded`: it goes on with the last run, or starts one.
    #[inline]
    fn begin(&mut self, encoded: u64, stride: Stride) {
        if let Some(run) = self.runs.last()
            && run.stride == stride
            && run.encoded + stride.distance(self.len - run.start as usize) as u64 == encoded
        {
            return;
        }
        self.runs.push(Run { encoded, start: self.len as u32, stride });
    }
}
