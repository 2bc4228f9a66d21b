//! Decoders, codecs, the filter and the transcoder.

use crate::model::Operation::{self, Finish, Poll, Restore, Snapshot, Swap};
use crate::model::{Adapter, FEED, FEED_PIECES, HOLD, Machine, Model, Outcome, models};
use bytes::BytesMut;
use std::io;
use tokio_util::codec::Decoder;
use utf8_codec::codec::{CodecError, Utf8Codec, Utf8LineBatchesCodec, Utf8LinesCodec};
use utf8_codec::{ErrorPolicy, Piece, TextDecoder, TextPiece, Utf8Decoder};
use utf8_codec_encodings::{Encoding, TranscodeStatus, Transcoder};
use utf8_codec_proxy::{Edit, Filter};

models! {
    text_decoder: Text,
    utf8_decoder: Bytes,
    utf8_codec: Codec,
    lines_codec: Lines,
    line_batches_codec: Batches,
    proxy_filter: Filtered,
    transcoder: Transcoded,
}

#[derive(Clone, Debug)]
struct State<D> {
    decoder: D,
    outcome: Outcome,
}

/// An adapter that can be copied.
#[derive(Debug)]
struct Copied<D> {
    now: State<D>,
    snapshot: State<D>,
}

impl<D: Clone> Copied<D> {
    fn new(decoder: D) -> Self {
        let now = State { decoder, outcome: Outcome::default() };
        Self { snapshot: now.clone(), now }
    }

    fn copy(&mut self, operation: &Operation) {
        match operation {
            Snapshot => self.snapshot = self.now.clone(),
            Restore => self.now = self.snapshot.clone(),
            other => unreachable!("{other:?}"),
        }
    }
}

type Text = Copied<TextDecoder>;

fn note(outcome: &mut Outcome, piece: &TextPiece<'_>) {
    match piece {
        TextPiece::Text(text) => outcome.text.push_str(text),
        TextPiece::Seam(text) => outcome.text.push_str(text),
        TextPiece::Repaired(text, error) => {
            outcome.text.push_str(text);
            outcome.errors.push((error.offset, error.len));
        }
        TextPiece::IllFormed(error) => outcome.errors.push((error.offset, error.len)),
    }
}

impl Adapter for Text {
    const OPERATIONS: &'static [Operation] = &[FEED, FEED_PIECES, Finish, Snapshot, Restore];

    fn new(policy: ErrorPolicy) -> Self {
        Self::new(TextDecoder::new().with_error_policy(policy))
    }

    fn apply(&mut self, operation: &Operation) {
        let State { decoder, outcome } = &mut self.now;
        match operation {
            Operation::Feed(bytes) => decoder.feed(bytes).for_each(|piece| note(outcome, &piece)),
            Operation::FeedPieces(bytes) => {
                let start = decoder.offset();
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    decoder.feed(rest).next().iter().for_each(|piece| note(outcome, piece));
                    rest = &bytes[(decoder.offset() - start) as usize..];
                }
            }
            Finish => decoder.finish().iter().for_each(|piece| note(outcome, piece)),
            other => self.copy(other),
        }
    }

    fn check(&self, model: &Model) {
        let (outcome, pending) = model.outcome();
        let State { decoder, outcome: found } = &self.now;
        assert_eq!(*found, outcome);
        assert_eq!(decoder.pending(), pending);
        assert_eq!(decoder.offset(), model.offset());
        assert_eq!(decoder.counters().total(), outcome.errors.len() as u64);
    }
}

/// `Utf8Decoder`, under every policy of the model. The test applies the policy.
#[derive(Debug)]
struct Bytes(Copied<Utf8Decoder>, ErrorPolicy);

impl Adapter for Bytes {
    const OPERATIONS: &'static [Operation] = &[FEED, FEED_PIECES, Finish, Snapshot, Restore];

    fn new(policy: ErrorPolicy) -> Self {
        Self(Copied::new(Utf8Decoder::new()), policy)
    }

    fn apply(&mut self, operation: &Operation) {
        let State { decoder, outcome } = &mut self.0.now;
        let policy = self.1;
        let mut note = |piece: Option<Piece<'_>>, rejected: &[u8]| match piece {
            Some(Piece::Text(text)) => outcome.text.push_str(text),
            Some(Piece::Seam(character)) => outcome.text.push(character),
            Some(Piece::IllFormed(error)) => {
                assert_eq!(rejected.len(), usize::from(error.len));
                outcome.text.push_str(&crate::model::repair(policy, rejected));
                outcome.errors.push((error.offset, error.len));
            }
            None => {}
        };
        match operation {
            Operation::Feed(bytes) => {
                let mut pieces = decoder.feed(bytes);
                while let Some(piece) = pieces.next() {
                    note(Some(piece), pieces.rejected());
                }
            }
            Operation::FeedPieces(bytes) => {
                let (start, mut rest) = (decoder.offset(), &bytes[..]);
                while !rest.is_empty() {
                    let mut pieces = decoder.feed(rest);
                    let piece = pieces.next();
                    note(piece, pieces.rejected());
                    rest = &bytes[(decoder.offset() - start) as usize..];
                }
            }
            Finish => {
                let pending = decoder.pending().to_vec();
                note(decoder.finish().err().map(Piece::IllFormed), &pending);
            }
            other => self.0.copy(other),
        }
    }

    fn check(&self, model: &Model) {
        let (outcome, pending) = model.outcome();
        let State { decoder, outcome: found } = &self.0.now;
        assert_eq!(*found, outcome);
        assert_eq!(decoder.pending(), pending);
        assert_eq!(decoder.offset(), model.offset());
        assert_eq!(decoder.valid_up_to(), model.offset() - pending.len() as u64);
    }
}

/// The items of a codec over a read buffer.
#[derive(Debug)]
struct Framed<C: Decoder> {
    codec: C,
    buffer: BytesMut,
    items: Vec<C::Item>,
    policy: ErrorPolicy,
}

impl<C: Decoder<Error = io::Error>> Framed<C> {
    const OPERATIONS: &'static [Operation] = &[FEED, HOLD, Finish, Poll, Swap];

    fn new(codec: C, policy: ErrorPolicy) -> Self {
        Self { codec, buffer: BytesMut::new(), items: Vec::new(), policy }
    }

    fn apply(&mut self, operation: &Operation) {
        if let Operation::Feed(bytes) | Operation::Hold(bytes) = operation {
            self.buffer.extend_from_slice(bytes);
        }
        match operation {
            Operation::Feed(_) | Poll => {
                while let Some(item) = self.codec.decode(&mut self.buffer).unwrap() {
                    self.items.push(item);
                }
            }
            Finish => {
                while let Some(item) = self.codec.decode_eof(&mut self.buffer).unwrap() {
                    self.items.push(item);
                }
                assert!(self.buffer.is_empty());
            }
            Swap => self.buffer = BytesMut::from(&self.buffer[..]),
            _ => {}
        }
    }
}

/// Text and rejected sequences. A codec only counts repaired sequences and does not report them.
type Codec = Framed<Utf8Codec>;

impl Adapter for Codec {
    const OPERATIONS: &'static [Operation] = Self::OPERATIONS;

    fn new(policy: ErrorPolicy) -> Self {
        Self::new(Utf8Codec::with_decoder(TextDecoder::new().with_error_policy(policy)), policy)
    }

    fn apply(&mut self, operation: &Operation) {
        Self::apply(self, operation);
    }

    fn check(&self, model: &Model) {
        let (mut outcome, pending) = model.outcome();
        assert_eq!(self.codec.counters().total(), outcome.errors.len() as u64);
        if self.policy != ErrorPolicy::Strict {
            outcome.errors.clear();
        }
        let mut found = Outcome::default();
        for item in &self.items {
            match item {
                Ok(text) => found.text.push_str(text),
                Err(error) => {
                    let error = error.utf8_error().expect("ill-formed");
                    found.errors.push((error.offset, error.len));
                }
            }
        }
        assert_eq!(found, outcome);
        assert_eq!(self.buffer, [pending, model.streams.held.clone()].concat());
        assert_eq!(
            self.codec.offset() + self.buffer.len() as u64,
            model.offset() + model.streams.held.len() as u64
        );
    }
}

/// Returns the lines that the model expects, each decoded separately: the text, or the offset of the first error.
fn expected_lines(model: &Model) -> Vec<Result<String, u64>> {
    let (mut lines, mut offset) = (Vec::new(), 0);
    let streams =
        model.streams.ended.iter().map(|stream| (stream, true)).chain([(&model.streams.current, false)]);
    for (stream, has_ended) in streams {
        for line in stream.split_inclusive(|&byte| byte == b'\n') {
            if line.ends_with(b"\n") || has_ended {
                let content =
                    line.strip_suffix(b"\n").map_or(line, |line| line.strip_suffix(b"\r").unwrap_or(line));
                let mut alone = model.clone();
                (alone.streams.ended, alone.streams.current) = (vec![content.to_vec()], Vec::new());
                let (outcome, _) = alone.outcome();
                lines.push(match outcome.errors.first() {
                    Some(error) if model.policy == ErrorPolicy::Strict => Err(offset + error.0),
                    _ => Ok(outcome.text),
                });
            }
            offset += line.len() as u64;
        }
    }
    lines
}

fn found_line(error: &CodecError) -> Result<String, u64> {
    Err(error.utf8_error().expect("ill-formed").offset)
}

type Lines = Framed<Utf8LinesCodec>;

impl Adapter for Lines {
    const OPERATIONS: &'static [Operation] = Self::OPERATIONS;

    fn new(policy: ErrorPolicy) -> Self {
        Self::new(Utf8LinesCodec::with_decoder(TextDecoder::new().with_error_policy(policy)), policy)
    }

    fn apply(&mut self, operation: &Operation) {
        Self::apply(self, operation);
    }

    fn check(&self, model: &Model) {
        let lines =
            self.items.iter().map(|item| item.as_ref().map_or_else(found_line, |line| Ok(line.to_string())));
        assert_eq!(lines.collect::<Vec<_>>(), expected_lines(model));
        assert_eq!(
            self.codec.offset() + self.buffer.len() as u64,
            model.offset() + model.streams.held.len() as u64
        );
    }
}

type Batches = Framed<Utf8LineBatchesCodec>;

impl Adapter for Batches {
    const OPERATIONS: &'static [Operation] = Self::OPERATIONS;

    fn new(policy: ErrorPolicy) -> Self {
        let lines = Utf8LinesCodec::with_decoder(TextDecoder::new().with_error_policy(policy));
        Self::new(lines.into_batches(), policy)
    }

    fn apply(&mut self, operation: &Operation) {
        Self::apply(self, operation);
    }

    fn check(&self, model: &Model) {
        let lines = self.items.iter().flat_map(|item| match item {
            Ok(batch) => batch.iter().map(|line| Ok(line.to_string())).collect(),
            Err(error) => vec![found_line(error)],
        });
        assert_eq!(lines.collect::<Vec<_>>(), expected_lines(model));
    }
}

/// `Filter`. After a rejection every slice is rejected with the same error.
#[derive(Debug)]
struct Filtered(Copied<Filter>);

impl Adapter for Filtered {
    const OPERATIONS: &'static [Operation] = &[FEED, Finish, Snapshot, Restore];

    fn new(policy: ErrorPolicy) -> Self {
        Self(Copied::new(Filter::with_decoder(TextDecoder::new().with_error_policy(policy))))
    }

    fn apply(&mut self, operation: &Operation) {
        let State { decoder: filter, outcome } = &mut self.0.now;
        let mut forwarded = Vec::new();
        let slice = if let Operation::Feed(bytes) = operation { &bytes[..] } else { &[] };
        let edit = |edit: Edit<'_>| match edit {
            Edit::Pass(range) => forwarded.extend_from_slice(&slice[range]),
            Edit::Insert(bytes) => forwarded.extend_from_slice(bytes),
            Edit::IllFormed(error) => outcome.errors.push((error.offset, error.len)),
            other => unreachable!("{other:?}"),
        };
        let result = match operation {
            Operation::Feed(_) => filter.feed_with(slice, edit),
            Finish => filter.finish_with(edit),
            other => return self.0.copy(other),
        };
        outcome.text.push_str(core::str::from_utf8(&forwarded).expect("whole characters"));
        if let Err(error) = result {
            assert_eq!(outcome.errors, [(error.offset, error.len)]);
        }
    }

    fn check(&self, model: &Model) {
        let State { decoder: filter, outcome } = &self.0.now;
        assert_eq!(*outcome, model.outcome_until_error());
        if model.policy != ErrorPolicy::Strict || outcome.errors.is_empty() {
            assert_eq!(filter.pending(), model.outcome().1);
            assert_eq!(filter.offset(), model.offset());
        }
    }
}

/// UTF-8 to UTF-16LE, through a buffer of 7 bytes.
#[derive(Debug)]
struct Transcoded(Copied<Transcoder>, Vec<u8>, Vec<u8>);

impl Adapter for Transcoded {
    const OPERATIONS: &'static [Operation] = &[FEED, Finish, Snapshot, Restore];

    fn new(policy: ErrorPolicy) -> Self {
        let transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf16Le).with_error_policy(policy);
        Self(Copied::new(transcoder), Vec::new(), Vec::new())
    }

    fn apply(&mut self, operation: &Operation) {
        let Self(Copied { now: State { decoder, outcome }, .. }, out, kept) = self;
        let mut rest: &[u8] = if let Operation::Feed(bytes) = operation { bytes } else { &[] };
        match operation {
            Snapshot => kept.clone_from(out),
            Restore => out.clone_from(kept),
            _ => {}
        }
        if matches!(operation, Snapshot | Restore) {
            return self.0.copy(operation);
        }
        let mut buffer = [0; 7];
        loop {
            let progress = match operation {
                Finish => decoder.finish_into_slice(&mut buffer),
                _ => decoder.feed_into_slice(rest, &mut buffer),
            };
            out.extend_from_slice(&buffer[..progress.written]);
            rest = &rest[progress.read..];
            match progress.status {
                TranscodeStatus::InputEmpty => break,
                TranscodeStatus::OutputFull => assert!(progress.written > 0),
                TranscodeStatus::IllFormed(error) => outcome.errors.push((error.offset, error.len)),
            }
        }
        assert!(rest.is_empty());
    }

    fn check(&self, model: &Model) {
        let (outcome, pending) = model.outcome();
        let units: Vec<u8> = outcome.text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(self.1, units);
        let State { decoder, outcome: found } = &self.0.now;
        assert_eq!(decoder.counters().total(), outcome.errors.len() as u64);
        if model.policy == ErrorPolicy::Strict {
            assert_eq!(found.errors, outcome.errors);
        }
        assert_eq!(decoder.pending(), pending);
        assert_eq!(decoder.offset(), model.offset());
    }
}
