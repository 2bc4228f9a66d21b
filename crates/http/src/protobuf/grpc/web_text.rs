//! gRPC-Web in base64: `application/grpc-web-text`.

use core::fmt;
use core::ops::Range;
use std::collections::VecDeque;
use std::vec::Vec;

use utf8_codec::TextDecoder;

use super::GrpcFilter;
use crate::protobuf::edit::{Edits, StringEdit};
use crate::protobuf::error::{ProtobufError, ProtobufErrorKind};

/// The maximum number of groups that are decoded at a time.
const BLOCK: usize = 64;

/// Validates the body of `application/grpc-web-text`: the body of gRPC-Web in base64, in pieces that may each be padded
/// ("gRPC-Web", Protocol differences). Offsets are positions in the base64.
///
/// A group of four symbols is forwarded once all of its bytes are known to be well-formed. A group with a repaired byte is
/// encoded again; the others keep their symbols.
#[derive(Clone)]
pub(crate) struct WebTextFilter {
    body: GrpcFilter,
    /// The groups of which some bytes were not forwarded: at most a block and an unfinished character.
    groups: VecDeque<Group>,
    /// The bytes for the first of them that are known to be well-formed.
    checked: Vec<u8>,
    /// The offset in the decoded body of the first of them.
    decoded: u64,
    /// The symbols of an unfinished group.
    symbols: [u8; 4],
    len: usize,
    /// The number of symbols read so far.
    offset: u64,
    /// The offset of the current frame in the decoded body, and on the wire.
    frame: (u64, u64),
    failed: Option<ProtobufError>,
}

/// A group of four symbols.
#[derive(Clone)]
struct Group {
    symbols: [u8; 4],
    bytes: [u8; 3],
    /// The number of bytes.
    len: usize,
    offset: u64,
    /// The positions of its symbols that are in the chunk. Symbols before them came in an earlier chunk.
    range: Range<usize>,
}

impl WebTextFilter {
    pub(crate) const fn new(body: GrpcFilter) -> Self {
        Self {
            body,
            groups: VecDeque::new(),
            checked: Vec::new(),
            decoded: 0,
            symbols: [0; 4],
            len: 0,
            offset: 0,
            frame: (0, 0),
            failed: None,
        }
    }

    /// Validates the next bytes, same as [`GrpcFilter::feed_with`]. Ill-formed sequences are not reported.
    pub(crate) fn feed_with(
        &mut self,
        chunk: &[u8],
        edit: impl FnMut(StringEdit<'_>),
    ) -> Result<(), ProtobufError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut edits = Edits::new(chunk, edit);
        let mut at = 0;
        let mut result = Ok(());
        while at < chunk.len() && result.is_ok() {
            let (next, is_valid) = self.read(chunk, at);
            result = self.check(&mut edits);
            at = next;
            if result.is_ok() && !is_valid {
                result = Err(self.body.message.error(self.offset, ProtobufErrorKind::InvalidBase64));
            }
        }
        let held = self.groups.front().map_or(at - self.len.min(at), |group| group.range.start);
        match &result {
            Ok(()) => {
                edits.hold(held..chunk.len());
                edits.end();
            }
            Err(error) => {
                edits.pass_up_to(held);
                self.failed = Some(error.clone());
            }
        }
        self.groups.iter_mut().for_each(|group| group.range = 0..0);
        result
    }

    /// Decodes the groups of a block. Returns the position after them, and whether all of its symbols are valid.
    fn read(&mut self, chunk: &[u8], start: usize) -> (usize, bool) {
        let last = self.groups.len() + BLOCK;
        for (at, &symbol) in chunk.iter().enumerate().skip(start) {
            if self.groups.len() == last {
                return (at, true);
            }
            let is_padding = symbol == b'=' && self.len >= 2;
            let is_after_padding = self.len == 3 && self.symbols[2] == b'=';
            if !is_padding && (is_after_padding || value(symbol).is_none()) {
                return (at, false);
            }
            self.symbols[self.len] = symbol;
            self.len += 1;
            self.offset += 1;
            if self.len == 4 {
                let (bytes, len) = decode(self.symbols);
                let range = (at + 1).saturating_sub(4)..at + 1;
                let group = Group { symbols: self.symbols, bytes, len, offset: self.offset - 4, range };
                self.groups.push_back(group);
                self.len = 0;
            }
        }
        (chunk.len(), true)
    }

    /// Validates the bytes of the last groups, and forwards the groups that are then known to be well-formed.
    fn check<F: FnMut(StringEdit<'_>)>(&mut self, edits: &mut Edits<'_, F>) -> Result<(), ProtobufError> {
        let mut block = [0; 3 * BLOCK];
        let mut len = 0;
        let mut end = self.decoded;
        for group in &self.groups {
            if end >= self.body.offset() {
                block[len..len + group.len].copy_from_slice(&group.bytes[..group.len]);
                len += group.len;
            }
            end += group.len as u64;
        }
        let block = &block[..len];
        let checked = &mut self.checked;
        let result = self.body.feed_with(block, |edit| match edit {
            StringEdit::Pass(range) => checked.extend_from_slice(&block[range]),
            StringEdit::Insert(bytes) => checked.extend_from_slice(bytes),
            StringEdit::IllFormed(..) => {}
        });
        if result.is_ok()
            && let Some(start) = self.body.frame_start().filter(|start| *start != self.frame.0)
        {
            self.frame = (start, self.wire_offset(start));
        }
        let mut taken = 0;
        while let Some(group) = self.groups.front()
            && let Some(bytes) = self.checked.get(taken..taken + group.len)
        {
            let is_same = *bytes == group.bytes[..group.len];
            if !is_same || group.range.len() < 4 {
                let symbols = if is_same { group.symbols } else { encode(bytes) };
                edits.replace(group.range.clone(), &symbols, None);
            }
            taken += group.len;
            self.groups.pop_front();
        }
        self.checked.drain(..taken);
        self.decoded += taken as u64;
        result.map_err(|error| self.on_wire(error))
    }

    /// Returns the error with its offset in the base64.
    fn on_wire(&self, mut error: ProtobufError) -> ProtobufError {
        error.offset = match self.frame {
            // The frame of a compressed message may have been forwarded.
            (start, offset) if error.offset < self.decoded && error.offset == start => offset,
            _ => self.wire_offset(error.offset),
        };
        error
    }

    /// Returns the offset in the base64 of a byte that was not forwarded. The first bits of each byte of a group are in the
    /// symbol at the same position.
    fn wire_offset(&self, offset: u64) -> u64 {
        let mut end = self.decoded;
        let group = self.groups.iter().find(|group| {
            end += group.len as u64;
            offset < end
        });
        match group {
            Some(group) => group.offset + group.len as u64 - (end - offset),
            None => self.offset,
        }
    }

    /// Ends the body, same as [`GrpcFilter::finish`].
    pub(crate) fn finish(&mut self) -> Result<(), ProtobufError> {
        let result = match (self.failed.take(), self.body.finish()) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(self.on_wire(error)),
            (None, Ok(())) if self.len > 0 => {
                Err(self.body.message.error(self.offset, ProtobufErrorKind::Truncated))
            }
            (None, Ok(())) => Ok(()),
        };
        self.restart();
        result
    }

    fn restart(&mut self) {
        self.body.restart();
        self.groups.clear();
        self.checked.clear();
        (self.decoded, self.len, self.offset, self.frame, self.failed) = (0, 0, 0, (0, 0), None);
    }

    /// Repairs a complete body, same as [`GrpcFilter::repair`]. The repaired body is one piece.
    #[cfg(feature = "tower")]
    pub(crate) fn repair(&self, body: &[u8]) -> Result<Vec<u8>, ProtobufError> {
        let mut check = self.clone();
        check.restart();
        // `finish` returns the same error.
        let _ = check.feed_with(body, |_| {});
        check.finish()?;
        let mut decoded = Vec::with_capacity(body.len() / 4 * 3);
        for &symbols in body.as_chunks::<4>().0 {
            let (bytes, len) = decode(symbols);
            decoded.extend_from_slice(&bytes[..len]);
        }
        Ok(check.body.repair(&decoded)?.chunks(3).flat_map(encode).collect())
    }

    pub(crate) const fn decoder(&self) -> &TextDecoder {
        self.body.decoder()
    }

    /// Changes the filter to one that repairs nothing.
    pub(crate) fn into_strict(self) -> Self {
        Self { body: self.body.into_strict(), ..self }
    }

    /// Whether the body may end here.
    pub(crate) const fn is_complete(&self) -> bool {
        self.len == 0 && self.body.is_complete()
    }

    /// Returns the number of symbols that were read but not forwarded.
    pub(crate) fn held(&self) -> usize {
        4 * self.groups.len() + self.len
    }
}

impl fmt::Debug for WebTextFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebTextFilter").field("offset", &self.offset).finish_non_exhaustive()
    }
}

/// Returns the bits of a symbol (RFC 4648 §4). Padding has none.
const fn value(symbol: u8) -> Option<u8> {
    match symbol {
        b'A'..=b'Z' => Some(symbol - b'A'),
        b'a'..=b'z' => Some(symbol - b'a' + 26),
        b'0'..=b'9' => Some(symbol - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Decodes a valid group. Returns its bytes and their number.
fn decode(symbols: [u8; 4]) -> ([u8; 3], usize) {
    let bits = symbols.iter().fold(0, |bits, symbol| bits << 6 | u32::from(value(*symbol).unwrap_or(0)));
    let [_, bytes @ ..] = bits.to_be_bytes();
    (bytes, 3 - symbols.iter().filter(|symbol| **symbol == b'=').count())
}

/// Encodes one to three bytes.
fn encode(bytes: &[u8]) -> [u8; 4] {
    const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(bytes.get(at).copied().unwrap_or(0)));
    core::array::from_fn(|at| match SYMBOLS[(bits >> (18 - 6 * at)) as usize & 63] {
        symbol if at <= bytes.len() => symbol,
        _ => b'=',
    })
}
