//! Content-Transfer-Encoding (RFC 2045 §6): from the bytes on the wire to those that were meant.
//!
//! ```text
//!  encoded bytes ──> machine (identity | quoted-printable | base64) ──> block of decoded bytes ──> pieces
//!                        │                                                 and its runs
//!                        └──> faults, each after the bytes before it
//! ```
//!
//! A machine decodes in bulk into a block of bounded size, and remembers for every run of it where the run stood in
//! the encoded body, so that any decoded byte can be found again on the wire.

mod base64;
mod block;
mod identity;
mod lines;
mod quoted_printable;

use core::fmt;

use super::plain::trim_blanks;
use crate::error::ByteCount;

use base64::Base64;
use block::{Block, Runs};
use identity::Identity;
use quoted_printable::QuotedPrintable;

/// The transfer encodings of RFC 2045 §6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransferEncoding {
    /// Lines of at most 998 ASCII bytes (§2.7); what holds where nothing is said (§6.1).
    #[default]
    SevenBit,
    /// Lines of at most 998 bytes (§2.8).
    EightBit,
    /// Any bytes (§2.9).
    Binary,
    /// §6.7.
    QuotedPrintable,
    /// §6.8.
    Base64,
}

impl TransferEncoding {
    /// The encoding of this name, in any case and with the white space and line breaks of a field around it.
    pub fn of_name(name: &[u8]) -> Option<Self> {
        let name = trim_blanks(name);
        [Self::SevenBit, Self::EightBit, Self::Binary, Self::QuotedPrintable, Self::Base64]
            .into_iter()
            .find(|encoding| name.eq_ignore_ascii_case(encoding.as_str().as_bytes()))
    }

    /// Whether bytes stand for themselves: what may hold parts (RFC 2045 §6.4).
    pub const fn is_identity(self) -> bool {
        matches!(self, Self::SevenBit | Self::EightBit | Self::Binary)
    }

    /// The name, as it stands in a header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SevenBit => "7bit",
            Self::EightBit => "8bit",
            Self::Binary => "binary",
            Self::QuotedPrintable => "quoted-printable",
            Self::Base64 => "base64",
        }
    }
}

impl fmt::Display for TransferEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is wrong with an encoded body, apart from the text that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TransferErrorKind {
    /// A byte above `7F` in `7bit`, `quoted-printable` or `base64`. It is decoded as itself, but in base64.
    EightBit,
    /// A NUL in `7bit` or `8bit` (RFC 2045 §2.7, §2.8).
    Nul,
    /// A line of more than 998 bytes, without its line break (RFC 5322 §2.1.1): in `7bit`, `8bit` and
    /// `quoted-printable`, where the line break that a transport puts in becomes text.
    LineTooLong,
    /// A warning: a line of more than 76 bytes in `quoted-printable` or `base64`.
    LongLine,
    /// `quoted-printable`: a `=` before neither two hexadecimal digits nor a line break. It is decoded as itself.
    InvalidEscape,
    /// `quoted-printable`: a control that is neither a tab nor part of a line break (RFC 2045 §6.7). It is decoded as
    /// itself.
    ControlCharacter,
    /// `base64`: a byte that is neither of the alphabet nor white space. It is skipped, as RFC 2045 §6.8 asks.
    InvalidSymbol,
    /// `base64`: a group of two or three symbols that is not filled up with `=`.
    MissingPadding,
    /// `base64`: a `=` where no group is to be filled up.
    UnexpectedPadding,
    /// `base64`: symbols after the padding that ends the data. They are decoded as new data; other readers stop.
    DataAfterPadding,
    /// `base64`: bits of the last symbol that stand for nothing are not zero (RFC 4648 §3.5).
    NonZeroBits,
    /// The body ended inside an escape or with a single symbol of a group.
    Truncated,
    /// The body has a transfer encoding that is none of RFC 2045: nobody knows what text it holds.
    UnknownEncoding,
}

impl TransferErrorKind {
    /// The name of the variant, for logs and protocols.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EightBit => "EightBit",
            Self::Nul => "Nul",
            Self::LineTooLong => "LineTooLong",
            Self::LongLine => "LongLine",
            Self::InvalidEscape => "InvalidEscape",
            Self::ControlCharacter => "ControlCharacter",
            Self::InvalidSymbol => "InvalidSymbol",
            Self::MissingPadding => "MissingPadding",
            Self::UnexpectedPadding => "UnexpectedPadding",
            Self::DataAfterPadding => "DataAfterPadding",
            Self::NonZeroBits => "NonZeroBits",
            Self::Truncated => "Truncated",
            Self::UnknownEncoding => "UnknownEncoding",
        }
    }

    /// Whether it breaks a rule for writers that costs no reader its text.
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::LongLine)
    }
}

impl fmt::Display for TransferErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A fault of the transfer layer. It never holds bytes of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TransferError {
    /// Position of the first byte of the fault in the encoded body.
    pub offset: u64,
    /// Position in the decoded body: of the byte that it was decoded as, or, if it was skipped, of the next one.
    pub decoded_offset: u64,
    /// What is wrong.
    pub kind: TransferErrorKind,
    /// Encoded bytes of the fault; `0` where something is missing.
    pub len: u8,
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "bad transfer encoding at byte {} ({}, {})",
            self.offset,
            self.kind,
            ByteCount(self.len.into())
        )
    }
}

impl core::error::Error for TransferError {}

/// A fault as a machine finds it.
#[derive(Clone, Copy, Debug)]
struct Fault {
    offset: u64,
    kind: TransferErrorKind,
    len: u8,
}

impl Fault {
    const fn at(self, decoded_offset: u64) -> TransferError {
        let Self { offset, kind, len } = self;
        TransferError { offset, decoded_offset, kind, len }
    }
}

/// What a body holds, in its order, by [`TransferDecoder::feed`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TransferPiece<'p> {
    /// Bytes that were decoded; never empty.
    Bytes(Decoded<'p>),
    /// A fault. The decoder has gone past it.
    Fault(TransferError),
}

/// Decoded bytes that know where they came from.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'p> {
    bytes: &'p [u8],
    offset: u64,
    runs: Runs<'p>,
}

impl<'p> Decoded<'p> {
    /// The bytes.
    pub const fn bytes(&self) -> &'p [u8] {
        self.bytes
    }

    /// Position of the first of them in the decoded body.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Position in the encoded body where the byte at `index` begins: its character, its escape, or the base64
    /// symbol that holds its first bits.
    pub fn encoded_offset(&self, index: usize) -> u64 {
        self.runs.encoded_offset(index)
    }
}

/// A decoder for one body, which takes it in chunks of any size.
///
/// The same body gives the same bytes and the same faults in the same order, however it is cut. Memory is constant:
/// a block of a few kibibytes for `quoted-printable` and `base64`, none for the others, whose bytes are lent from
/// the chunk.
///
/// It is strict: see [`lenient`](Self::lenient). Whatever the fault, it goes on after it.
///
/// ```
/// use utf8_codec::mime::{TransferDecoder, TransferEncoding, TransferErrorKind, TransferPiece};
///
/// let mut decoder = TransferDecoder::new(TransferEncoding::QuotedPrintable);
/// let (mut bytes, mut faults) = (Vec::new(), Vec::new());
/// let mut keep = |piece: TransferPiece<'_>| match piece {
///     TransferPiece::Bytes(decoded) => bytes.extend_from_slice(decoded.bytes()),
///     TransferPiece::Fault(error) => faults.push((error.offset, error.kind)),
///     _ => {}
/// };
/// for chunk in [&b"caf=C"[..], b"3=\r", b"\n=A9 =Z"] {
///     decoder.feed(chunk, &mut keep);
/// }
/// decoder.finish(&mut keep);
/// assert_eq!(bytes, "café =Z".as_bytes());
/// assert_eq!(faults, [(13, TransferErrorKind::InvalidEscape)]);
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
    /// A strict decoder at the start of a body.
    pub fn new(encoding: TransferEncoding) -> Self {
        Self::at(encoding, 0)
    }

    /// A strict decoder for a body that starts `offset` bytes into a stream: encoded offsets count from the start
    /// of the stream, decoded ones from the start of the body.
    pub fn at(encoding: TransferEncoding, offset: u64) -> Self {
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

    /// Overlooks what most readers overlook: in `base64` padding that is missing, bits that are not zero, and data
    /// that goes on after padding, as where several encodings were put one after the other.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        if let Machine::Base64(machine) = &mut self.machine {
            machine.be_lenient();
        }
        self
    }

    /// Sets how many bytes a line may have, without its line break, before it is
    /// [`TransferErrorKind::LineTooLong`]; 998 unless said otherwise. To be called before the first byte.
    #[must_use]
    pub fn max_line(mut self, bytes: usize) -> Self {
        match &mut self.machine {
            Machine::Identity(machine) => machine.set_max_line(bytes),
            Machine::QuotedPrintable(machine) => machine.set_max_line(bytes),
            Machine::Base64(_) => {}
        }
        self
    }

    /// Starts another body under the same encoding, after the end of one, `offset` bytes into the stream.
    pub(super) const fn restart(&mut self, offset: u64) {
        (self.offset, self.decoded) = (offset, 0);
    }

    /// The encoding.
    pub const fn encoding(&self) -> TransferEncoding {
        self.encoding
    }

    /// Bytes of the encoded body taken so far, and those before it.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes decoded so far.
    pub const fn decoded_offset(&self) -> u64 {
        self.decoded
    }

    /// Takes the next chunk and lends its pieces to `each`, in the order of the stream.
    pub fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(TransferPiece<'_>)) {
        let mut rest = chunk;
        while !rest.is_empty() {
            self.block.clear();
            let (at, decoded) = (self.offset, self.decoded);
            let (taken, fault) = match &mut self.machine {
                Machine::Identity(machine) => {
                    let (taken, fault) = machine.decode(rest, at);
                    self.decoded = lend(&rest[..taken], Runs::verbatim(at), decoded, &mut each);
                    if let Some(fault) = fault {
                        each(TransferPiece::Fault(fault.at(decoded + (fault.offset - at))));
                    }
                    (taken, None)
                }
                Machine::QuotedPrintable(machine) => machine.decode(rest, at, &mut self.block),
                Machine::Base64(machine) => machine.decode(rest, at, &mut self.block),
            };
            self.offset += taken as u64;
            rest = &rest[taken..];
            self.tell(fault, &mut each);
        }
    }

    /// Ends the body: what was held back, and the fault of a body that was cut short. The decoder is then as new,
    /// but for its offsets, which go on counting.
    pub fn finish(&mut self, mut each: impl FnMut(TransferPiece<'_>)) {
        self.block.clear();
        let fault = match &mut self.machine {
            Machine::Identity(machine) => {
                machine.finish();
                None
            }
            Machine::QuotedPrintable(machine) => machine.finish(self.offset, &mut self.block),
            Machine::Base64(machine) => machine.finish(self.offset),
        };
        self.tell(fault, &mut each);
    }

    /// Lends the block, then the fault after it.
    fn tell(&mut self, fault: Option<Fault>, each: &mut impl FnMut(TransferPiece<'_>)) {
        let start = self.decoded;
        self.decoded = lend(self.block.bytes(), self.block.runs(), start, each);
        if let Some(fault) = fault {
            each(TransferPiece::Fault(fault.at(start + self.block.index_of(fault.offset) as u64)));
        }
    }
}

/// Lends bytes that start at `offset` of the decoded body, and says where they end.
fn lend(bytes: &[u8], runs: Runs<'_>, offset: u64, each: &mut impl FnMut(TransferPiece<'_>)) -> u64 {
    if !bytes.is_empty() {
        each(TransferPiece::Bytes(Decoded { bytes, offset, runs }));
    }
    offset + bytes.len() as u64
}
