//! The main loop of a transcoder: decode an item, apply the policies, write the result.
//!
//! [`Conversion::run`] alternates between three speeds. All three give the same result, so it does not matter which of
//! them handles an input, or where a chunk or the room of the output ends.
//!
//! - *In bulk* ([`bulk`]): text without errors, by a kernel or a table. It stops before the first sequence that it cannot
//!   convert, and before the end of the chunk if a sequence is cut there.
//! - *In runs* (`repair_in_bulk`): UTF-8 in which errors are a few bytes apart. [`Run`] repairs them into a buffer, which is then
//!   converted in bulk. It stops when several characters in a row had no error.
//! - *One item* ([`Conversion::step`]): everything else: the start of the stream, a BOM, the first error after text, a
//!   character that the target lacks, a sequence that was cut.
//!
//! Between calls a cut sequence is in `carry`, and a replacement that did not fit is in `repair`. While there is a carry, an
//! item is read from a buffer of both, the carry and the start of the chunk, and only the bytes that belong to it are
//! consumed from the chunk.

use kernels::grammar::{Kind, UTF_8};
use utf8_codec::internal::{First, Policies, Run};
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, Utf8Error};

use super::bulk;
use super::carry::{CarriedBytes, NO_SEAM, Replacement, Room};
use super::item::Item;
use super::source::{Source, is_high, is_low};
use super::target::Target;
use super::unmappable::UnmappablePolicy;
use crate::detect::{Sniff, sniff};
use crate::encoding::Encoding;
use crate::error::TranscodeError;

/// The state of a transcoder, without its public interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion {
    pub(super) source: Source,
    pub(super) target: Target,
    pub(super) policies: Policies,
    pub(super) unmappable: UnmappablePolicy,
    /// The number of bytes of input that were consumed, including the carry.
    pub(super) offset: u64,
    pub(super) carry: CarriedBytes,
    /// Replacement text that did not fit in the output.
    repair: Replacement,
    /// Whether a BOM may still replace the source encoding.
    pub(super) sniffing: Sniffing,
    /// Whether the output ends with a high surrogate that a low surrogate would complete to a pair. No low surrogate may
    /// follow: two surrogates that were adjacent in the input were joined, so something between them was skipped.
    pub(super) is_after_high: bool,
}

/// The BOMs that replace the source encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sniffing {
    Off,
    /// Those of UTF-8, UTF-16 and UTF-32.
    All,
    /// Those of UTF-8 and UTF-16, as in the Encoding Standard.
    Web,
}

/// Why a bounded call stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The whole chunk was consumed. For [`finish_into_slice`](super::Transcoder::finish_into_slice): the stream is
    /// finished.
    InputEmpty,
    /// The next code point, or a replacement text, does not fit. Call again with more output space and the rest of the
    /// chunk.
    OutputFull,
    /// An error that the policy does not repair. Its bytes are consumed. To continue, call again with the rest of the
    /// chunk.
    IllFormed(TranscodeError),
}

/// The result of one item. Lengths are in bytes of input.
#[derive(Debug)]
enum Taken {
    /// The item was written, stripped or repaired.
    Bytes(usize),
    /// The item was rejected.
    Error(Utf8Error, usize),
    /// The item does not fit in the output.
    Full,
    Unfinished,
}

const BOM: u32 = 0xFEFF;

impl Conversion {
    pub(super) const fn new(source: Source, target: Target) -> Self {
        Self {
            source,
            target,
            policies: Policies::new(),
            unmappable: UnmappablePolicy::AsIllFormed,
            offset: 0,
            carry: CarriedBytes::EMPTY,
            repair: Replacement::NONE,
            sniffing: Sniffing::Off,
            is_after_high: false,
        }
    }

    /// Converts bytes from the start of `rest` until it is empty or `room` is full. `last` is whether the stream ends
    /// after them.
    pub(super) fn run(&mut self, rest: &mut &[u8], room: &mut Room<'_>, last: bool) -> Status {
        let mut run = None;
        loop {
            if !self.repair.write(&mut self.target, room) {
                return Status::OutputFull;
            }
            let mut seam = NO_SEAM;
            let bytes = if self.carry.is_empty() && self.sniffing == Sniffing::Off && !self.is_after_high {
                let text = self.run_in_bulk(rest, room);
                if self.may_repair_in_bulk(rest) && self.repair_in_bulk(text, rest, room, &mut run) {
                    continue;
                }
                *rest
            } else {
                self.carry.with(rest, &mut seam)
            };
            if bytes.is_empty() {
                return Status::InputEmpty;
            }
            if let Some(status) = self.step(bytes, rest, room, last) {
                return status;
            }
        }
    }

    /// Converts the carry, which `rest` follows. Bytes of `rest` are consumed only if they belong to the sequence.
    #[cfg(feature = "codec")]
    pub(super) fn run_carry(&mut self, rest: &mut &[u8], room: &mut Room<'_>) -> Status {
        loop {
            if !self.repair.write(&mut self.target, room) {
                return Status::OutputFull;
            }
            if self.carry.is_empty() {
                return Status::InputEmpty;
            }
            let mut seam = NO_SEAM;
            let bytes = self.carry.with(rest, &mut seam);
            if let Some(status) = self.step(bytes, rest, room, false) {
                return status;
            }
        }
    }

    /// Converts the item at the start of `bytes`, the carry and the start of `rest`. Returns the status if the call ends
    /// with it.
    #[inline(always)]
    fn step(&mut self, bytes: &[u8], rest: &mut &[u8], room: &mut Room<'_>, last: bool) -> Option<Status> {
        if self.sniffing != Sniffing::Off && !self.detect(bytes, last) {
            return Some(self.keep(bytes, rest));
        }
        let item = match self.source.read(bytes) {
            Item::Unfinished if last => self.source.read_last(bytes),
            item => item,
        };
        match self.take(item, bytes, room) {
            Taken::Unfinished => Some(self.keep(bytes, rest)),
            Taken::Full => Some(Status::OutputFull),
            Taken::Bytes(len) => {
                self.source.advance(&bytes[..len]);
                self.advance(len, rest);
                None
            }
            Taken::Error(error, len) => {
                self.source.advance(&bytes[..len]);
                self.advance(len, rest);
                Some(Status::IllFormed(self.between(error)))
            }
        }
    }

    /// Searches for a BOM, which replaces the source encoding, in the first bytes of the stream. Returns `false` if more
    /// bytes are needed.
    pub(super) fn detect(&mut self, start: &[u8], last: bool) -> bool {
        let sniffed = match (sniff(start, last), self.sniffing) {
            (Sniff::Found(Encoding::Utf32Le), Sniffing::Web) => Sniff::Found(Encoding::Utf16Le),
            (Sniff::Found(Encoding::Utf32Be), Sniffing::Web) => Sniff::Absent,
            (sniffed, _) => sniffed,
        };
        match sniffed {
            Sniff::Undecided => return false,
            // The dialects of UTF-8 have its BOM, so it does not indicate that the stream is UTF-8.
            Sniff::Found(encoding) if encoding.bom() != self.source.encoding().bom() => {
                self.source = Source::new(encoding, self.target.encoding(), self.target.switches())
            }
            Sniff::Found(_) | Sniff::Absent => {}
        }
        self.sniffing = Sniffing::Off;
        true
    }

    /// Returns the error of an empty stream if the policy requires a BOM.
    pub(super) fn missing_bom(&mut self) -> Option<TranscodeError> {
        if !self.policies.misses_bom() {
            return None;
        }
        let error = self.error(ErrorKind::MissingBom, 0);
        let error = self.policies.reject(error);
        Some(self.between(error))
    }

    /// Runs the fast path, unless a BOM has to be checked. Returns the number of bytes consumed.
    #[inline]
    fn run_in_bulk(&mut self, rest: &mut &[u8], room: &mut Room<'_>) -> usize {
        let is_bom_text = self.policies.bom == BomPolicy::Keep || !self.policies.is_at_start();
        if !is_bom_text {
            return 0;
        }
        let (read, written) = match self.policies.subset {
            None => bulk::copy(&self.source, &self.target, rest, room.left()),
            Some(subset) => bulk::copy_within(subset, &self.source, &self.target, rest, room.left()),
        };
        if written > 0 && self.target.has_high_surrogates() {
            self.is_after_high = self.target.ends_with_high_surrogate(&room.left()[..written]);
        }
        self.source.advance(&rest[..read]);
        self.target.advance(&room.left()[..written]);
        room.advance(written);
        self.offset = self.offset.wrapping_add(read as u64);
        *rest = &rest[read..];
        if read > 0 {
            self.policies.pass_start();
        }
        read
    }

    /// Whether the next bytes are an error that [`repair_in_bulk`](Self::repair_in_bulk) repairs, and not the end of the
    /// chunk or of the room.
    #[inline]
    fn may_repair_in_bulk(&self, rest: &[u8]) -> bool {
        self.policies.on_error != ErrorPolicy::Strict
            && self.source.encoding() == Encoding::Utf8
            && !self.policies.is_at_start()
            && (self.policies.subset.is_some()
                || matches!(UTF_8.walk(rest).1, Some(kind) if kind != Kind::Truncated))
    }

    /// Repairs UTF-8 until several characters had no error. `text` is the number of bytes without an error before it.
    /// Returns `false` if nothing was done: the target does not have all characters, or there is too little room.
    #[inline(never)]
    fn repair_in_bulk(
        &mut self,
        text: usize,
        rest: &mut &[u8],
        room: &mut Room<'_>,
        run: &mut Option<Run>,
    ) -> bool {
        let Some(expansion) = self.target.expansion() else { return false };
        let run = run.get_or_insert(Run::EMPTY);
        run.follow(text);
        let mut is_repaired = false;
        while run.is_near_error() {
            let taken = run.fill(&mut self.policies, self.offset, rest, room.left().len() / expansion);
            if taken == 0 {
                break;
            }
            self.offset = self.offset.wrapping_add(taken as u64);
            *rest = &rest[taken..];
            self.write_text(run.text(), room);
            is_repaired = true;
        }
        is_repaired
    }

    /// Writes text for which there is enough room to a target that has all characters.
    fn write_text(&self, text: &str, room: &mut Room<'_>) {
        if self.target.writes_utf_8() {
            room.push(text.as_bytes());
            return;
        }
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            let (mut read, written) = bulk::copy(&self.source, &self.target, rest.as_bytes(), room.left());
            room.advance(written);
            if read == 0 {
                let sequence = self.target.encode(character.into()).unwrap_or_default();
                room.push(sequence.as_slice());
                read = character.len_utf8();
            }
            rest = &rest[read..];
        }
    }

    /// Stores `bytes`, the carry and the rest of the chunk, as the new carry.
    fn keep(&mut self, bytes: &[u8], rest: &mut &[u8]) -> Status {
        self.offset = self.offset.wrapping_add(rest.len() as u64);
        *rest = &[];
        self.carry.set(bytes);
        Status::InputEmpty
    }

    /// Consumes `len` bytes, first from the carry.
    fn advance(&mut self, len: usize, rest: &mut &[u8]) {
        let taken = len - self.carry.drop_first(len);
        *rest = &rest[taken..];
        self.offset = self.offset.wrapping_add(taken as u64);
    }

    /// Applies the policies to the item at the start of `bytes`, and writes it.
    fn take(&mut self, item: Item, bytes: &[u8], room: &mut Room<'_>) -> Taken {
        let (value, second, len) = match item {
            Item::Unfinished => return Taken::Unfinished,
            Item::Escape { len } => return Taken::Bytes(len),
            Item::CodePoint { value, len } => (value, None, len),
            Item::CodePoints { first, second, len } => (first, Some(second), len),
            Item::IllFormed { kind, len } => return self.repair(kind, &bytes[..len], room),
        };
        if self.policies.is_at_start() {
            let (kind, len) =
                match self.policies.first(value == BOM && self.source.encoding().bom().is_some()) {
                    First::Strip => return Taken::Bytes(len),
                    First::UnexpectedBom => (Some(ErrorKind::UnexpectedBom), len),
                    First::MissingBom => (Some(ErrorKind::MissingBom), 0),
                    First::Text => (None, 0),
                };
            if let Some(kind) = kind {
                let error = self.error(kind, len);
                return Taken::Error(self.policies.reject(error), len);
            }
        }
        let is_outside = |value| self.policies.subset.is_some_and(|subset| !subset.contains(value));
        if is_outside(value) || second.is_some_and(is_outside) {
            return self.repair(ErrorKind::OutsideSubset, &bytes[..len], room);
        }
        if second.is_some_and(|value| self.target.encode(value).is_none()) {
            return self.replace([Some(value), second], &bytes[..len], room);
        }
        match self.target.encode(value) {
            Some(_) if self.is_after_high && is_low(value) => {
                self.repair(ErrorKind::Unmappable, &bytes[..len], room)
            }
            None => self.replace([Some(value), second], &bytes[..len], room),
            Some(sequence) if room.push(sequence.as_slice()) => {
                self.is_after_high = is_high(value) && self.target.has_high_surrogates();
                self.target.advance(sequence.as_slice());
                if let Some(second) = second.and_then(char::from_u32) {
                    self.repair = Replacement::new(second.into());
                    self.repair.write(&mut self.target, room);
                }
                Taken::Bytes(len)
            }
            Some(_) => Taken::Full,
        }
    }

    /// Applies the policies to code points that the target does not have, of one sequence.
    fn replace(&mut self, values: [Option<u32>; 2], bytes: &[u8], room: &mut Room<'_>) -> Taken {
        let Some(text) = self.unmappable.replacement(values) else {
            return self.repair(ErrorKind::Unmappable, bytes, room);
        };
        self.policies.count(self.error(ErrorKind::Unmappable, bytes.len()));
        self.is_after_high = false;
        self.repair = Replacement::new(text);
        self.repair.write(&mut self.target, room);
        Taken::Bytes(bytes.len())
    }

    /// Applies the error policy to an ill-formed sequence.
    fn repair(&mut self, kind: ErrorKind, bytes: &[u8], room: &mut Room<'_>) -> Taken {
        let error = self.error(kind, bytes.len());
        match self.policies.repair(error, bytes) {
            Err(error) => Taken::Error(error, bytes.len()),
            Ok(text) => {
                self.is_after_high &= text.is_empty();
                self.repair = Replacement::new(text);
                self.repair.write(&mut self.target, room);
                Taken::Bytes(bytes.len())
            }
        }
    }

    /// Creates an error at the next byte of input.
    pub(super) fn error(&self, kind: ErrorKind, len: usize) -> Utf8Error {
        let offset = self.offset.wrapping_sub(u64::from(self.carry.len()));
        Utf8Error::new(offset, kind, len as u8)
    }

    /// Adds the encodings to an error.
    pub(super) const fn between(&self, error: Utf8Error) -> TranscodeError {
        TranscodeError::new(error, self.source.encoding(), self.target.encoding())
    }
}
