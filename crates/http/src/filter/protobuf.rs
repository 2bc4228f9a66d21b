//! Serialized protobuf: one message, or the messages of gRPC, gRPC-Web and Connect with their lengths.

use bytes::Bytes;

use super::frames::FrameQueue;
use super::kind::{KindFilter, repaired};
use crate::protobuf::{ProtobufError, StringEdit};
use crate::protobuf_types::Protobuf;
use crate::reason::RejectReason;

/// The number of bytes that are read before their output is returned, if they may inflate. Deflate makes at most 1032 of one.
const PIECE: usize = 1024;

/// Filters the strings of a message. Its policy keeps the length, except that of compressed messages, and unless the caller
/// holds the body and has it repaired at its end.
///
/// The last byte that was fed is held while the message is not complete. A reader that counts bytes would otherwise not
/// see the error of a truncated message.
#[derive(Debug)]
pub(super) struct ProtobufFilter {
    filter: Protobuf,
    is_held: bool,
    /// The bytes that were not read yet.
    rest: Bytes,
    offset: u64,
    /// The offset at which the message or stream of messages starts.
    start: u64,
    out: FrameQueue,
    /// The last byte, if it is held.
    last: Vec<u8>,
    error: Option<ProtobufError>,
}

impl ProtobufFilter {
    pub(super) fn new(filter: Protobuf) -> Self {
        Self {
            filter,
            is_held: false,
            rest: Bytes::new(),
            offset: 0,
            start: 0,
            out: FrameQueue::new(),
            last: Vec::new(),
            error: None,
        }
    }

    /// Changes the filter to return the bytes of the body as they are, for [`repair_held`](Self::repair_held).
    #[cfg(feature = "tower")]
    pub(super) const fn hold(&mut self) {
        self.is_held = true;
    }

    /// Repairs the bytes of a complete body, whose length may change. Returns `None` if it would be too long.
    #[cfg(feature = "tower")]
    pub(super) fn repair_held(&self, body: Bytes) -> Option<Bytes> {
        let repaired = match &self.filter {
            Protobuf::Message(filter) => filter.repair(&body).ok()?.into_owned(),
            Protobuf::Grpc(filter) => filter.repair(&body).ok()?.into_owned(),
            Protobuf::GrpcWebText(filter) => filter.repair(&body).ok()?,
        };
        Some(repaired.into())
    }

    fn set_error(&mut self, result: Result<(), ProtobufError>) {
        self.error = result.err();
        if let Some(error) = &mut self.error {
            error.offset += self.start;
        }
    }

    fn is_complete(&self) -> bool {
        match &self.filter {
            Protobuf::Message(filter) => filter.is_complete(),
            Protobuf::Grpc(filter) => filter.is_complete(),
            Protobuf::GrpcWebText(filter) => filter.is_complete(),
        }
    }
}

impl ProtobufFilter {
    fn read(&mut self, chunk: Bytes) {
        let out = &mut self.out;
        out.copy(&chunk, &self.last);
        self.last.clear();
        let is_held = self.is_held;
        if is_held {
            out.span(&chunk, 0..chunk.len());
        }
        let edit = |edit: StringEdit<'_>| match edit {
            _ if is_held => {}
            StringEdit::Pass(range) => out.span(&chunk, range),
            StringEdit::Insert(bytes) => out.copy(&chunk, bytes),
            StringEdit::IllFormed(..) => {}
        };
        let result = match &mut self.filter {
            Protobuf::Message(filter) => filter.feed_with(&chunk, edit),
            Protobuf::Grpc(filter) => filter.feed_with(&chunk, edit),
            Protobuf::GrpcWebText(filter) => filter.feed_with(&chunk, edit),
        };
        self.set_error(result);
        self.out.end_chunk(&chunk);
        if self.error.is_none() && !self.is_complete() {
            self.out.take_last(false, &mut self.last);
        }
    }
}

impl KindFilter for ProtobufFilter {
    fn feed(&mut self, chunk: Bytes) {
        self.offset += chunk.len() as u64;
        if self.filter.may_change_length() && !self.is_held {
            self.rest = chunk;
        } else {
            self.read(chunk);
        }
    }

    fn next(&mut self) -> Option<Result<Bytes, RejectReason>> {
        while self.out.is_empty() && self.error.is_none() && !self.rest.is_empty() {
            let piece = self.rest.split_to(PIECE.min(self.rest.len()));
            self.read(piece);
        }
        match self.out.pop() {
            Some(frame) => Some(Ok(frame)),
            None => self.error.take().map(|error| Err(error.into())),
        }
    }

    fn finish(&mut self) {
        let result = match &mut self.filter {
            Protobuf::Message(filter) => filter.finish(),
            Protobuf::Grpc(filter) => filter.finish(),
            Protobuf::GrpcWebText(filter) => filter.finish(),
        };
        self.set_error(result);
        self.start = self.offset;
    }

    fn is_clean(&self) -> bool {
        self.is_complete() && self.out.is_empty() && self.error.is_none() && self.rest.is_empty()
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn repaired(&self) -> u64 {
        repaired(self.filter.decoder())
    }

    fn held(&self) -> u64 {
        let pending = match &self.filter {
            _ if self.is_held => 0,
            Protobuf::GrpcWebText(filter) => filter.held(),
            Protobuf::Grpc(filter) => filter.held() + filter.decoder().pending().len(),
            Protobuf::Message(filter) => filter.decoder().pending().len(),
        };
        (pending + self.last.len() + self.rest.len()) as u64
    }

    fn min_output(&self, bytes: u64) -> u64 {
        if self.filter.may_change_length() && !self.is_held { 0 } else { bytes }
    }

    fn max_output(&self, bytes: u64) -> Option<u64> {
        (!self.filter.may_change_length() || self.is_held).then_some(bytes)
    }

    fn queued(&self) -> (u64, bool) {
        (self.out.queued(), self.error.is_some())
    }
}
