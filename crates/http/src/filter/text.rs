//! Filter for text in UTF-8.

use bytes::Bytes;
use utf8_codec::internal::{Escapes, Frame, Joiner, Part, Run};
use utf8_codec::json::JsonPieces;
use utf8_codec::json::JsonStrings;
use utf8_codec::{TextDecoder, TextPiece, Utf8Error};

use super::frames::SHORT;
use super::kind::{KindFilter, append, min_text_output, repaired_json};
use crate::reason::RejectReason;

/// Filters text with a [`TextDecoder`], and the escapes of JSON.
#[derive(Debug)]
pub(super) struct TextFilter {
    decoder: TextDecoder,
    escapes: Option<Box<Escapes>>,
    chunk: Bytes,
    /// The number of bytes of the chunk that were decoded.
    taken: usize,
    joiner: Joiner,
    /// Allocated after the first error that was repaired.
    run: Option<Box<Run>>,
    /// The replacement of a character that was truncated by the end of the body.
    end: Bytes,
    /// The error after the text decoded so far.
    error: Option<Utf8Error>,
}

impl TextFilter {
    pub(super) const fn new(decoder: TextDecoder) -> Self {
        Self {
            decoder,
            escapes: None,
            chunk: Bytes::new(),
            taken: 0,
            joiner: Joiner::new(SHORT),
            run: None,
            end: Bytes::new(),
            error: None,
        }
    }

    pub(super) fn with_json_strings(self, strings: JsonStrings) -> Self {
        Self { escapes: Some(Box::new(Escapes::new(strings))), ..self }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.chunk.is_empty() && self.end.is_empty() && self.error.is_none()
    }

    /// Returns the decoder, unless the text is JSON.
    pub(super) fn text_decoder(&self) -> Option<TextDecoder> {
        if self.escapes.is_some() { None } else { Some(self.decoder.clone()) }
    }

    /// Returns the bytes of an unfinished escape.
    fn held_escape(&self) -> &[u8] {
        self.escapes.as_deref().map_or(&[], Escapes::pending)
    }

    /// Whether escapes that are not accepted are removed.
    fn drops_escapes(&self) -> bool {
        self.escapes.as_deref().is_some_and(|escapes| !escapes.strings().escape_policy().keeps_len())
    }

    /// Returns the length of the text that waits for the end of an escape, and whether an error follows.
    fn waiting(&self) -> (usize, bool) {
        self.escapes.as_deref().map_or((0, false), Escapes::waiting_output)
    }

    /// Whether the escapes have a piece that was not returned yet.
    fn has_waiting_piece(&self) -> bool {
        self.escapes.as_deref().is_some_and(Escapes::is_waiting)
    }

    /// Decodes up to the end of the next frame, and returns it or the error after it.
    fn next_of_chunk(&mut self) -> Option<Result<Bytes, RejectReason>> {
        while self.error.is_none() && (self.taken < self.chunk.len() || self.has_waiting_piece()) {
            let before = self.decoder.offset();
            let chunk = &self.chunk[..];
            let rest = &chunk[self.taken..];
            let joiner = &mut self.joiner;
            let run = &mut self.run;
            let next = match &mut self.escapes {
                // One iterator for all parts, because a new one would validate the text after an escape again.
                Some(escapes) => {
                    let mut pieces = JsonPieces::new(&mut self.decoder, escapes, rest, false);
                    loop {
                        let part = match run {
                            Some(run) => pieces.next_part(run),
                            None => pieces.next().map(Part::Piece),
                        };
                        let Some(part) = part else { break None };
                        if let Some(next) = add(chunk, joiner, run, part) {
                            break Some(next);
                        }
                    }
                }
                None => {
                    let part = match run {
                        Some(run) => self.decoder.take_run(rest, run).0,
                        None => self.decoder.take_piece(rest).0.map(Part::Piece),
                    };
                    part.and_then(|part| add(chunk, joiner, run, part))
                }
            };
            self.taken += self.decoder.offset().wrapping_sub(before) as usize;
            match next {
                Some(Ok(frame)) => return Some(Ok(frame.of(&self.chunk))),
                Some(Err(error)) => self.error = Some(error),
                None => {}
            }
        }
        // After an error the rest of the chunk is dropped.
        self.taken = 0;
        let chunk = core::mem::take(&mut self.chunk);
        if let Some(frame) = self.joiner.end() {
            return Some(Ok(frame.of_last(chunk)));
        }
        if !self.end.is_empty() {
            return Some(Ok(core::mem::take(&mut self.end)));
        }
        self.error.take().map(|error| Err(error.into()))
    }
}

/// Adds a part of the text to the output. Returns the frame before it, or its error.
fn add(
    chunk: &[u8],
    joiner: &mut Joiner,
    run: &mut Option<Box<Run>>,
    part: Part<'_>,
) -> Option<Result<Frame, Utf8Error>> {
    match part {
        Part::Piece(TextPiece::Text(text)) => {
            let start = text.as_ptr().addr() - chunk.as_ptr().addr();
            joiner.span(chunk, start..start + text.len()).map(Ok)
        }
        Part::Piece(TextPiece::Seam(text)) => joiner.copy(chunk, text.as_bytes()).map(Ok),
        Part::Piece(TextPiece::Repaired(text, _)) => {
            run.get_or_insert_with(|| Box::new(Run::after_error()));
            joiner.copy(chunk, text.as_bytes()).map(Ok)
        }
        Part::Piece(TextPiece::IllFormed(error)) => Some(Err(error)),
        Part::Run => joiner.copy(chunk, run.as_ref()?.text().as_bytes()).map(Ok),
    }
}

impl KindFilter for TextFilter {
    #[inline]
    fn feed(&mut self, chunk: Bytes) {
        debug_assert!(self.is_idle(), "the previous chunk was not read to its end");
        self.chunk = chunk;
    }

    #[inline]
    fn next(&mut self) -> Option<Result<Bytes, RejectReason>> {
        // After the last text of a chunk, the most frequent case, nothing is left. This test is inlined.
        if self.is_idle() { None } else { self.next_of_chunk() }
    }

    fn finish(&mut self) {
        if let Some(escapes) = &mut self.escapes {
            let mut end = Vec::new();
            let mut pieces = JsonPieces::new(&mut self.decoder, escapes, &[], true);
            self.error = pieces.find_map(|piece| append(&mut end, &piece).err());
            self.end = end.into();
            return;
        }
        match self.decoder.finish().map(|end| end.text().map(|text| Bytes::copy_from_slice(text.as_bytes())))
        {
            Some(Ok(text)) => self.end = text,
            Some(Err(error)) => self.error = Some(error),
            None => {}
        }
    }

    fn is_clean(&self) -> bool {
        let mut probe = self.decoder.clone();
        self.is_idle() && self.held_escape().is_empty() && probe.finish().is_none()
    }

    fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    #[inline]
    fn repaired(&self) -> u64 {
        repaired_json(&self.decoder, self.escapes.as_deref())
    }

    fn held(&self) -> u64 {
        let waiting = if self.drops_escapes() { self.waiting().0 } else { 0 };
        (self.held_escape().len() + self.decoder.pending().len() + waiting) as u64
    }

    fn queued(&self) -> (u64, bool) {
        let (waiting, is_failing) = self.waiting();
        // The waiting text may be part of an escape that is dropped.
        let waiting = if self.drops_escapes() { 0 } else { waiting };
        let bytes = self.joiner.held() + self.end.len() + waiting;
        (bytes as u64, self.error.is_some() || is_failing)
    }

    fn min_output(&self, bytes: u64) -> u64 {
        if self.drops_escapes() { 0 } else { min_text_output(&self.decoder, bytes) }
    }

    fn max_output(&self, bytes: u64) -> Option<u64> {
        self.decoder.error_policy().max_output_len(bytes)
    }
}
