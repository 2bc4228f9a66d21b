//! The decoder for a body in any transfer encoding.

use super::base64::Base64;
use super::block::{Block, Runs};
use super::encoding::TransferEncoding;
use super::error::{TransferError, WireError};
use super::identity::Identity;
use super::quoted_printable::QuotedPrintable;

/// A piece of a body. Pieces are in stream order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TransferPiece<'p> {
    /// Decoded bytes; never empty.
    Bytes(Decoded<'p>),
    /// An error. The decoder is positioned after it.
    Error(TransferError),
}

/// Decoded bytes with their positions in the encoded body.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'p> {
    bytes: &'p [u8],
    offset: u64,
    runs: Runs<'p>,
}

impl<'p> Decoded<'p> {
    /// Returns the bytes.
    pub const fn bytes(&self) -> &'p [u8] {
        self.bytes
    }

    /// Returns the offset of the first byte in the decoded body.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the offset in the encoded body of the byte at `index`. This is the offset of the byte itself, of its
    /// escape, or of the base64 symbol with its first bits.
    ///
    /// `index` is a position in [`bytes`](Self::bytes). The cost is a binary search in the runs of a block of at most 4
    /// KiB.
    pub fn encoded_offset(&self, index: usize) -> u64 {
        self.runs.encoded_offset(index)
    }
}

/// Decodes one body, in chunks of any size.
///
/// Bytes, errors and their order do not depend on how the body is split into chunks. Memory is constant: about 13 KiB
/// for `quoted-printable` and `base64`. The other encodings need none, because their bytes are borrowed from the chunk.
///
/// The decoder is strict by default; [`with_lenient`](Self::with_lenient) changes that. After every error it continues
/// with the bytes that follow.
///
/// ```
/// use utf8_codec_mail::{TransferDecoder, TransferEncoding, TransferErrorKind, TransferPiece};
///
/// let mut decoder = TransferDecoder::new(TransferEncoding::QuotedPrintable);
/// let (mut bytes, mut errors) = (Vec::new(), Vec::new());
/// let mut keep = |piece: TransferPiece<'_>| match piece {
///     TransferPiece::Bytes(decoded) => bytes.extend_from_slice(decoded.bytes()),
///     TransferPiece::Error(error) => errors.push((error.offset, error.kind)),
///     _ => {}
/// };
/// for chunk in [&b"caf=C"[..], b"3=\r", b"\n=A9 =Z"] {
///     decoder.feed_with(chunk, &mut keep);
/// }
/// decoder.finish_with(&mut keep);
/// assert_eq!(bytes, "café =Z".as_bytes());
/// assert_eq!(errors, [(13, TransferErrorKind::InvalidEscape)]);
/// ```
#[derive(Clone, Debug)]
pub struct TransferDecoder {
    encoding: TransferEncoding,
    machine: Machine,
    block: Block,
    offset: u64,
    decoded: u64,
}

#[derive(Clone, Debug)]
enum Machine {
    Identity(Identity),
    QuotedPrintable(QuotedPrintable),
    Base64(Base64),
}

impl TransferDecoder {
    /// Creates a strict decoder at the start of a body.
    pub fn new(encoding: TransferEncoding) -> Self {
        Self::with_offset(encoding, 0)
    }

    /// Creates a strict decoder for a body that starts `offset` bytes into a stream. Encoded offsets are relative to
    /// the start of the stream, decoded ones to the start of the body.
    pub fn with_offset(encoding: TransferEncoding, offset: u64) -> Self {
        let (machine, block) = match encoding {
            TransferEncoding::SevenBit | TransferEncoding::EightBit | TransferEncoding::Binary => {
                (Machine::Identity(Identity::new(encoding)), Block::none())
            }
            TransferEncoding::QuotedPrintable => {
                (Machine::QuotedPrintable(QuotedPrintable::new()), Block::new())
            }
            TransferEncoding::Base64 => (Machine::Base64(Base64::new()), Block::new()),
        };
        Self { encoding, machine, block, offset, decoded: 0 }
    }

    /// Sets whether errors in `base64` are accepted that most readers accept: missing padding, unused bits that are not
    /// zero, and data after the padding, which occurs if several encoded bodies were concatenated.
    #[must_use]
    pub fn with_lenient(mut self, lenient: bool) -> Self {
        if let Machine::Base64(machine) = &mut self.machine {
            machine.set_lenient(lenient);
        }
        self
    }

    /// Sets the maximum length of a line in bytes, without the line break. A longer line is an error
    /// ([`LineTooLong`](super::TransferErrorKind::LineTooLong)). The default is 998. Call it before the first byte.
    ///
    /// `binary` and `base64` have no such limit.
    #[must_use]
    pub fn with_max_line_length(mut self, bytes: usize) -> Self {
        match &mut self.machine {
            Machine::Identity(machine) => machine.set_max_line(bytes),
            Machine::QuotedPrintable(machine) => machine.set_max_line(bytes),
            Machine::Base64(_) => {}
        }
        self
    }

    /// Starts another body in the same encoding, `offset` bytes into the stream, after the end of a body.
    pub(crate) const fn restart(&mut self, offset: u64) {
        self.offset = offset;
        self.decoded = 0;
    }

    /// Returns the encoding.
    pub const fn encoding(&self) -> TransferEncoding {
        self.encoding
    }

    /// Returns the offset of the next byte of the encoded body.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of bytes decoded so far.
    pub const fn decoded_offset(&self) -> u64 {
        self.decoded
    }

    /// Decodes the next chunk and calls `each` with its pieces in stream order.
    ///
    /// A piece borrows from the chunk or from the decoder.
    pub fn feed_with(&mut self, chunk: &[u8], mut each: impl FnMut(TransferPiece<'_>)) {
        let mut rest = chunk;
        while !rest.is_empty() {
            self.block.clear();
            let at = self.offset;
            let decoded = self.decoded;
            let (taken, error) = match &mut self.machine {
                Machine::Identity(machine) => {
                    let (taken, error) = machine.decode(rest, at);
                    self.decoded = call_with(&rest[..taken], Runs::verbatim(at), decoded, &mut each);
                    if let Some(error) = error {
                        each(TransferPiece::Error(error.at(decoded + (error.offset - at))));
                    }
                    (taken, None)
                }
                Machine::QuotedPrintable(machine) => machine.decode(rest, at, &mut self.block),
                Machine::Base64(machine) => machine.decode(rest, at, &mut self.block),
            };
            self.offset += taken as u64;
            rest = &rest[taken..];
            self.flush(error, &mut each);
        }
    }

    /// Ends the body. Calls `each` with the pending bytes, and with the errors of a body that ended too early. The
    /// decoder is then reset, except for its offsets.
    pub fn finish_with(&mut self, mut each: impl FnMut(TransferPiece<'_>)) {
        loop {
            self.block.clear();
            let error = match &mut self.machine {
                Machine::Identity(machine) => {
                    machine.finish();
                    None
                }
                Machine::QuotedPrintable(machine) => machine.finish(self.offset, &mut self.block),
                Machine::Base64(machine) => machine.finish(self.offset),
            };
            self.flush(error, &mut each);
            if error.is_none() {
                return;
            }
        }
    }

    /// Calls `each` with the block, and then with the error after it.
    fn flush(&mut self, error: Option<WireError>, each: &mut impl FnMut(TransferPiece<'_>)) {
        let start = self.decoded;
        self.decoded = call_with(self.block.bytes(), self.block.runs(), start, each);
        if let Some(error) = error {
            each(TransferPiece::Error(error.at(start + self.block.index_of(error.offset) as u64)));
        }
    }
}

/// Calls `each` with bytes that start at `offset` of the decoded body, unless there are none. Returns the offset of
/// their end.
fn call_with(bytes: &[u8], runs: Runs<'_>, offset: u64, each: &mut impl FnMut(TransferPiece<'_>)) -> u64 {
    if !bytes.is_empty() {
        each(TransferPiece::Bytes(Decoded { bytes, offset, runs }));
    }
    offset + bytes.len() as u64
}
