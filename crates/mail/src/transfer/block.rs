//! Decoded bytes, with the position of each of them in the encoded body.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use kernels::base64::LineForm;

/// The maximum number of bytes in a block. It is large, so that the fixed cost of a block is small for each byte, but
/// the block still fits in the L1 cache.
const BYTES: usize = 4096;
/// The maximum number of runs in a block. A run is a sequence of bytes that are adjacent in the encoded body and
/// encoded in the same way.
const RUNS: usize = 340;

/// How the bytes of a run are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stride {
    /// Each byte is encoded as itself.
    Verbatim,
    /// Each byte is encoded as `=XX`.
    Escapes,
    /// Every three bytes are encoded as a group of four symbols.
    Groups,
    /// Lines of groups of four symbols, from the start of a line.
    Lines(LineForm),
}

#[derive(Clone, Copy, Debug)]
struct Run {
    /// The offset of the run in the encoded body.
    encoded: u64,
    /// The position of the run in the block.
    start: u32,
    stride: Stride,
}

impl Run {
    /// Returns the number of encoded bytes before the byte at `index` of the run.
    const fn distance(&self, index: usize) -> usize {
        match self.stride {
            Stride::Verbatim => index,
            Stride::Escapes => index * 3,
            Stride::Groups => distance_in_groups(index),
            Stride::Lines(form) => {
                index / form.decoded() * form.encoded() + distance_in_groups(index % form.decoded())
            }
        }
    }

    /// Returns the number of bytes of the run that start within its first `distance` encoded bytes.
    const fn bytes(&self, distance: usize) -> usize {
        match self.stride {
            Stride::Verbatim => distance,
            Stride::Escapes => distance.div_ceil(3),
            Stride::Groups => bytes_of_groups(distance),
            Stride::Lines(form) => {
                let groups = bytes_of_groups(distance % form.encoded());
                let groups = if groups < form.decoded() { groups } else { form.decoded() };
                distance / form.encoded() * form.decoded() + groups
            }
        }
    }
}

/// Returns the number of symbols before the one with the first bits of the byte at `index`.
const fn distance_in_groups(index: usize) -> usize {
    index / 3 * 4 + index % 3
}

/// Returns the number of bytes whose first bits are in the first `symbols` symbols.
const fn bytes_of_groups(symbols: usize) -> usize {
    symbols / 4 * 3 + if symbols % 4 < 3 { symbols % 4 } else { 3 }
}

/// The positions of the bytes of a piece in the encoded body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Runs<'p> {
    /// All bytes are encoded as themselves, from this offset of the encoded body on.
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
                // The first run starts at 0, so every byte is in a run.
                after.checked_sub(1).map_or(0, |i| {
                    let run = &runs[i];
                    run.encoded + run.distance(index - run.start as usize) as u64
                })
            }
        }
    }
}

/// A buffer of decoded bytes that is filled, flushed and cleared.
#[derive(Clone, Debug)]
pub(super) struct Block {
    bytes: Box<[u8]>,
    len: usize,
    runs: Vec<Run>,
}

impl Block {
    /// Creates a block without memory, for a machine that does not use it.
    pub(super) fn none() -> Self {
        Self { bytes: Box::default(), len: 0, runs: Vec::new() }
    }

    pub(super) fn new() -> Self {
        Self { bytes: vec![0; BYTES].into(), len: 0, runs: Vec::with_capacity(RUNS) }
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

    /// Returns the position of the byte that is encoded at the offset `encoded` or, if there is none, of the first byte
    /// after it. Returns the length of the block if there is none either.
    pub(super) fn index_of(&self, encoded: u64) -> usize {
        let after = self.runs.partition_point(|run| run.encoded <= encoded);
        let end = self.runs.get(after).map_or(self.len, |run| run.start as usize);
        let Some(run) = after.checked_sub(1).map(|i| &self.runs[i]) else { return 0 };
        let distance = usize::try_from(encoded - run.encoded).unwrap_or(usize::MAX);
        end.min((run.start as usize).saturating_add(run.bytes(distance)))
    }

    /// Returns the number of bytes that fit.
    pub(super) fn room(&self) -> usize {
        self.bytes.len() - self.len
    }

    /// Whether the block must be flushed before `bytes` more bytes in four runs are pushed.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        self.room() < bytes || RUNS - self.runs.len() < 4
    }

    /// Appends bytes that are encoded as themselves at the offset `encoded`. They must fit.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8], encoded: u64) {
        self.begin(encoded, Stride::Verbatim);
        let end = self.len + bytes.len();
        self.bytes[self.len..end].copy_from_slice(bytes);
        self.len = end;
    }

    /// Appends the byte of an escape at the offset `encoded`. It must fit.
    #[inline]
    pub(super) fn push_escaped(&mut self, byte: u8, encoded: u64) {
        self.begin(encoded, Stride::Escapes);
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Returns the free space. Bytes that are written to its start are appended by [`advance`](Self::advance).
    #[inline]
    pub(super) fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.len..]
    }

    /// Appends the first `bytes` bytes of the space. They are encoded with this stride from the offset `encoded` on.
    #[inline]
    pub(super) fn advance(&mut self, bytes: usize, encoded: u64, stride: Stride) {
        if bytes > 0 {
            self.begin(encoded, stride);
            self.len += bytes;
        }
    }

    /// Continues the last run or starts a new one, with bytes at the offset `encoded`.
    #[inline]
    fn begin(&mut self, encoded: u64, stride: Stride) {
        if let Some(run) = self.runs.last()
            && run.stride == stride
            && run.encoded + run.distance(self.len - run.start as usize) as u64 == encoded
        {
            return;
        }
        self.runs.push(Run { encoded, start: self.len as u32, stride });
    }
}
