//! The errors of a serialized message, and the path of a field.

use core::fmt;
use std::boxed::Box;
use std::string::{String, ToString};

use utf8_codec::inflate::InflateError;
use utf8_codec::{ErrorKind, Utf8Error};

use super::tables::{MessageId, Tables};

/// The kind of an error in a serialized message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProtobufErrorKind {
    /// A string is not well-formed, or has a character outside the adopted subset.
    Text(ErrorKind),
    /// A tag with the field number 0 or one above 2^29 - 1, or with one of the wire types 6 and 7, which do not exist.
    InvalidTag,
    /// A field that the schema knows as a string or message has another wire type.
    WireType,
    /// A length, even of a gRPC message, is above 2^31 - 1, or a field does not end inside its message.
    InvalidLength,
    /// A varint of more than 10 bytes, or above 2^64 - 1.
    VarintTooLong,
    /// A group ends that did not start, or a message ends inside a group.
    UnpairedGroup,
    /// A message or group is nested in more than 100 others, the limit of other readers.
    TooDeep,
    /// The input ends inside a field, or inside the prefix of a message.
    Truncated,
    /// The flag before a message of gRPC is not one of its [protocol](super::GrpcProtocol), or follows the last frame.
    InvalidFlag,
    /// A compressed gRPC message, which cannot be checked, if such messages are rejected.
    Compressed,
    /// A compressed message of gRPC that cannot be inflated, or not within the limits.
    Inflate(InflateError),
    /// A byte in `application/grpc-web-text` that is not allowed in base64.
    InvalidBase64,
}

/// An error in a serialized message. It contains no bytes of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProtobufError {
    /// The offset on the wire: of the ill-formed sequence in a string, otherwise of the byte that shows the error. If
    /// the input is truncated, it is the length of the input. In a compressed message of gRPC, it is the offset of its
    /// frame.
    pub offset: u64,
    /// In a compressed message of gRPC, the offset in the inflated message.
    pub inflated_offset: Option<u64>,
    /// The kind.
    pub kind: ProtobufErrorKind,
    /// The length of the ill-formed sequence, in bytes. `0` if the message is malformed.
    pub len: u8,
    path: Box<[u32]>,
    names: Box<str>,
}

/// The path of the field that is being read, from the outermost message.
///
/// `Display` writes the names of the schema, separated by dots, and the number of a field that the schema does not know.
#[derive(Clone, Copy)]
pub struct FieldPath<'v> {
    pub(super) tables: &'v Tables,
    pub(super) root: MessageId,
    pub(super) frames: &'v [Frame],
    /// The field in the innermost message. `0` between two fields.
    pub(super) field: u32,
}

/// A message that contains the next byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// The offset of its end. The end of a group is not known, so this is the end of the message around it.
    pub(super) end: u64,
    pub(super) message: MessageId,
    /// The field of the message around it.
    pub(super) field: u32,
    pub(super) is_group: bool,
}

impl ProtobufErrorKind {
    /// Returns the name of the kind, for logs and protocols.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text(kind) => kind.as_str(),
            Self::InvalidTag => "InvalidTag",
            Self::WireType => "WireType",
            Self::InvalidLength => "InvalidLength",
            Self::VarintTooLong => "VarintTooLong",
            Self::UnpairedGroup => "UnpairedGroup",
            Self::TooDeep => "TooDeep",
            Self::Truncated => "Truncated",
            Self::InvalidFlag => "InvalidFlag",
            Self::Compressed => "Compressed",
            Self::Inflate(InflateError::Truncated) => "InflateTruncated",
            Self::Inflate(InflateError::TooLong(_)) => "InflateTooLong",
            Self::Inflate(InflateError::Ratio(_)) => "InflateRatio",
            Self::Inflate(_) => "InflateCorrupt",
            Self::InvalidBase64 => "InvalidBase64",
        }
    }
}

impl fmt::Display for ProtobufErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ProtobufError {
    #[cold]
    pub(super) fn new(offset: u64, kind: ProtobufErrorKind, len: u8, path: FieldPath<'_>) -> Self {
        let names = path.to_string().into();
        Self { offset, inflated_offset: None, kind, len, path: path.numbers().collect(), names }
    }

    /// Changes the error in an inflated message, whose frame starts at this offset.
    pub(super) fn in_compressed(self, start: u64) -> Self {
        Self { offset: start, inflated_offset: Some(self.offset), ..self }
    }

    /// Returns the numbers of the fields from the outermost message to the field with the error. If a tag does not
    /// belong to a field, as for an unpaired group, they end with the message or group around it.
    pub fn path(&self) -> &[u32] {
        &self.path
    }

    /// Returns the names of these fields in the schema, separated by dots, as [`FieldPath`] displays them.
    pub fn names(&self) -> &str {
        &self.names
    }

    /// Returns the error of ill-formed text, if this is one.
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self.kind {
            ProtobufErrorKind::Text(kind) => Some(Utf8Error::new(self.offset, kind, self.len)),
            _ => None,
        }
    }
}

impl fmt::Display for ProtobufError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.inflated_offset.unwrap_or(self.offset);
        match self.kind {
            ProtobufErrorKind::Text(kind) => Utf8Error::new(offset, kind, self.len).fmt(f)?,
            ProtobufErrorKind::Inflate(error) => write!(f, "{error} at byte {offset}")?,
            kind => write!(f, "malformed protobuf message at byte {offset} ({kind})")?,
        }
        if !self.names.is_empty() {
            write!(f, " in {}", self.names)?;
        }
        match self.inflated_offset {
            Some(_) => write!(f, ", in the compressed message at byte {}", self.offset),
            None => Ok(()),
        }
    }
}

impl core::error::Error for ProtobufError {}

/// Creates an error of kind [`InvalidData`](std::io::ErrorKind::InvalidData) that wraps the error.
impl From<ProtobufError> for std::io::Error {
    fn from(error: ProtobufError) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}

impl<'v> FieldPath<'v> {
    /// Returns the numbers of the fields.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + 'v {
        let inner = Some(self.field).filter(|field| *field > 0);
        self.frames.iter().map(|frame| frame.field).chain(inner)
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut message = self.root;
        for (index, number) in self.numbers().enumerate() {
            let separator = if index > 0 { "." } else { "" };
            match self.tables.field_name(message, number) {
                Some(name) => write!(f, "{separator}{name}")?,
                None => write!(f, "{separator}{number}")?,
            }
            message = self.tables.child(message, number);
        }
        Ok(())
    }
}

impl fmt::Debug for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error for a name that the schema does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMessage(pub(super) String);

impl fmt::Display for UnknownMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the schema has no message {}", self.0)
    }
}

impl core::error::Error for UnknownMessage {}
