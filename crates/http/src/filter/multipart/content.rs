//! The parts of a form: their header fields and the check of their content.

use bytes::Bytes;
use utf8_codec::json::JsonPieces;
use utf8_codec::{BomPolicy, ErrorPolicy, TextPiece, Utf8Error};
use utf8_codec_media::content_type::Charset;

use super::{FormFilter, Position, Run};
use crate::error::MultipartError;
use crate::filter::field::{error_in, shown};
use crate::filter::kind::{append, repaired, repaired_json};
use crate::filter::part::{FormPart, LABEL_LIMIT, PartHeaders, PartHeadersError};
use crate::reason::RejectReason;
use crate::rules::decision::FieldCheck;

impl FormFilter {
    /// Checks the header fields at the offset `start`. They determine how the content is checked. They are parsed as they
    /// are returned, because a repair may change what a reader finds.
    pub(super) fn start_part(&mut self, chunk: &Bytes, fields: &[u8], start: u64) {
        let content = start + fields.len() as u64;
        // A repair may have made the fields longer.
        let malformed = |at: usize| MultipartError::Malformed { offset: content.min(start + at as u64) };
        let mut decoder = self.decoder().clone().with_bom_policy(BomPolicy::Keep);
        let text = match decoder.decode_chunk(fields) {
            Ok(text) => text,
            Err(failed) => {
                self.out.copy(chunk, failed.text.as_bytes());
                self.error = Some(failed.error.with_offset(start + failed.error.offset).into());
                return;
            }
        };
        self.repaired += repaired(&decoder);
        // If the fields are not accepted, their last character is not returned, so a reader that counts to
        // `Content-Length` does not miss the error.
        let (before, last) = text.split_at(text.char_indices().next_back().map_or(0, |(at, _)| at));
        self.out.copy(chunk, before.as_bytes());
        let fields = match PartHeaders::parse(text.as_bytes(), &self.search) {
            Ok(fields) => fields,
            Err(PartHeadersError::Malformed(at)) => return self.fail(malformed(at)),
            Err(PartHeadersError::IllFormed(error)) => {
                let offset = content.min(start + error.offset);
                self.error = Some(error.with_offset(offset).into());
                return;
            }
        };
        self.part = FormPart::Untouched;
        self.position = Position::Content { matched: 2, lacks_crlf: true };
        if self.rules.is_field(fields.content_type.as_ref(), fields.file_name.as_deref()) {
            let content_type = fields.content_type.as_ref();
            let default = self.default_charset.as_deref().map_or(Charset::Missing, Charset::for_label);
            match (self.rules.field_check(content_type, default), fields.encoded) {
                (FieldCheck::Text(_), Some(at)) => return self.fail(malformed(at)),
                (FieldCheck::Text(decoder), None) => {
                    let name = fields.name.as_deref().and_then(shown);
                    let strings = content_type.and_then(|given| self.rules.json_strings_of(given));
                    self.part = FormPart::field(decoder, content, name, strings, fields.is_charset());
                }
                (FieldCheck::Pass, _) => {}
                (FieldCheck::Reject, _) => return self.fail(MultipartError::Charset { offset: content }),
            }
        }
        if let Some(offset) = self.missed.filter(|_| !self.part.is_text()) {
            return self.fail(MultipartError::Malformed { offset });
        }
        self.out.copy(chunk, last.as_bytes());
    }

    /// Checks bytes of the current part and queues them. A span starts at the offset of the filter, other bytes end there.
    /// They have no whole `--boundary`, but may complete one.
    pub(super) fn check(&mut self, chunk: &Bytes, bytes: Run<'_>) {
        let (bytes, span, start) = match bytes {
            Run::Span(span) => (&chunk[span.clone()], Some(span), self.offset),
            Run::Others(bytes) => (bytes, None, self.offset - bytes.len() as u64),
        };
        let dashed = self.search.find_across(&mut self.matched, bytes);
        let fields = match &mut self.part {
            FormPart::Text { fields: Some(fields), .. } => fields.find(bytes),
            _ => None,
        };
        let malformed = match (dashed, fields) {
            (Some(end), _) if fields.is_none_or(|fields| end < fields) => {
                Some((end, start + end as u64 + 1 - self.search.dashed().len() as u64))
            }
            // The empty line.
            (_, Some(end)) => Some((end, start + end as u64 - 1)),
            (_, None) => None,
        };
        self.check_text(
            chunk,
            &bytes[..malformed.map_or(bytes.len(), |(end, _)| end)],
            span.map(|span| span.start),
        );
        if let Some((_, offset)) = malformed
            && self.error.is_none()
        {
            self.fail(MultipartError::Malformed { offset });
        }
    }

    /// Checks bytes of the current part and queues them. They are `chunk[at..]` if there is an `at`.
    fn check_text(&mut self, chunk: &Bytes, bytes: &[u8], at: Option<usize>) {
        let out = &mut self.out;
        let mut put = |text: &[u8], is_borrowed: bool| match at {
            Some(at) if is_borrowed => {
                let start = at + (text.as_ptr() as usize - bytes.as_ptr() as usize);
                out.span(chunk, start..start + text.len());
            }
            _ => out.copy(chunk, text),
        };
        let FormPart::Text { decoder, start, field, escapes, label, .. } = &mut self.part else {
            return put(bytes, true);
        };
        let changes = decoder.error_policy() != ErrorPolicy::Strict
            || matches!(decoder.bom_policy(), BomPolicy::Strip | BomPolicy::Require)
            || escapes.as_deref().is_some_and(|escapes| escapes.strings().escape_policy().repairs());
        let take = |piece: TextPiece<'_>| -> Option<RejectReason> {
            if let TextPiece::Repaired(_, error) = piece {
                self.made.repair = *start + error.offset;
            }
            let text = match piece.text() {
                Ok(text) => text.as_bytes(),
                Err(error) => return Some(in_part(*start, field.take(), error)),
            };
            let is_borrowed = matches!(piece, TextPiece::Text(_));
            if changes && let Some(end) = self.search.find_across(&mut self.made.matched, text) {
                put(&text[..end], is_borrowed);
                return Some(MultipartError::Malformed { offset: self.made.repair.max(*start) }.into());
            }
            put(text, is_borrowed);
            if let Some(label) = label {
                label.extend_from_slice(text);
                label.truncate(LABEL_LIMIT);
            }
            None
        };
        self.error = match escapes {
            Some(escapes) => JsonPieces::new(decoder, escapes, bytes, false).find_map(take),
            None => decoder.feed(bytes).find_map(take),
        };
    }

    /// Ends the part. An unfinished character is an error or is repaired. The text of the field `_charset_` is stored.
    pub(super) fn end_part(&mut self, chunk: &Bytes) {
        // After an error nothing is added to the output, for example for a character that the error left unfinished.
        if self.error.is_some() {
            return;
        }
        self.repaired += self.part.repaired();
        self.matched = 0;
        let mut made = core::mem::take(&mut self.made);
        let part = core::mem::replace(&mut self.part, FormPart::Untouched);
        let FormPart::Text { mut decoder, start, field, mut escapes, label, .. } = part else { return };
        if let Some(label) = label {
            self.default_charset = Some(label);
        }
        let before = repaired_json(&decoder, escapes.as_deref());
        let repair = start + decoder.offset() - decoder.pending().len() as u64;
        let mut end = Vec::new();
        let error = match &mut escapes {
            Some(escapes) => JsonPieces::new(&mut decoder, escapes, &[], true)
                .find_map(|piece| append(&mut end, &piece).err()),
            None => decoder.finish().and_then(|piece| append(&mut end, &piece).err()),
        };
        if self.search.find_across(&mut made.matched, &end).is_some() {
            return self.fail(MultipartError::Malformed { offset: repair });
        }
        self.repaired += repaired_json(&decoder, escapes.as_deref()) - before;
        self.out.copy(chunk, &end);
        self.error = error.map(|error| in_part(start, field, error));
    }
}

/// Returns the error of a text that starts at the offset `start`. `field` is the name of the field, if it is one.
fn in_part(start: u64, field: Option<Option<Box<str>>>, error: Utf8Error) -> RejectReason {
    let in_body = error.with_offset(start + error.offset);
    match field {
        Some(name) => error_in(name, error.offset, in_body),
        None => in_body.into(),
    }
}
