//! The fast path of the walk.

use utf8_codec::from_utf8;

use super::super::error::Frame;
use super::super::tables::FieldKind;
use super::super::varint::MAX_LEN;
use super::state::State;
use super::{MAX_NESTING, StringFilter};

impl StringFilter {
    /// Returns the position after the fields that are whole in the chunk, have tags and lengths of at most 2 bytes, and no
    /// error. Enters messages. The position is that of a tag, or of what the last slice ended in.
    #[inline(always)]
    pub(super) fn skip_whole_fields(&mut self, chunk: &[u8], base: u64, position: usize) -> usize {
        if !matches!(self.state, State::Tag) || self.varint.is_begun() || self.decoder.has_subset() {
            return position;
        }
        let is_unverified_checked = self.checks_unverified;
        let mut at = position;
        'messages: loop {
            let (message, end) = self.top();
            let left = end.wrapping_sub(base.wrapping_add(at as u64));
            let Some(rest) = chunk.get(at..) else { return at };
            let limit = at + usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
            let inside = &chunk[..limit];
            while let Some((tag, start)) = short_varint(inside, at) {
                let number = tag >> 3;
                let after = match (tag & 7, self.tables.kind(message, number)) {
                    _ if number == 0 => return at,
                    (0, FieldKind::Skipped) => {
                        let value = inside[start..].iter().take(MAX_LEN.into());
                        let Some(last) = value.copied().position(|byte| byte < 0x80) else { return at };
                        let after = start + last + 1;
                        if last + 1 == usize::from(MAX_LEN) && inside[after - 1] > 1 {
                            return at;
                        }
                        after
                    }
                    (1, FieldKind::Skipped) => start + 8,
                    (5, FieldKind::Skipped) => start + 4,
                    (2, kind) => {
                        let Some((len, start)) = short_varint(inside, start) else { return at };
                        let after = start + len as usize;
                        match kind {
                            FieldKind::UnverifiedString if !is_unverified_checked => {}
                            FieldKind::String | FieldKind::UnverifiedString => {
                                if inside.get(start..after).is_none_or(|text| from_utf8(text).is_err()) {
                                    return at;
                                }
                            }
                            FieldKind::Message(message) => {
                                let left = end.wrapping_sub(base.wrapping_add(start as u64));
                                if u64::from(len) > left || self.frames.len() == MAX_NESTING {
                                    return at;
                                }
                                let end = base.wrapping_add(after as u64);
                                self.frames.push(Frame { end, message, field: number, is_group: false });
                                at = start;
                                continue 'messages;
                            }
                            FieldKind::Skipped => {}
                            FieldKind::Group(_) => return at,
                        }
                        after
                    }
                    _ => return at,
                };
                if after > limit {
                    return at;
                }
                at = after;
            }
            // This is the end of a message, unless it is the end of the chunk, or a tag that is cut or long.
            let is_end =
                end == base.wrapping_add(at as u64) && self.frames.last().is_some_and(|top| !top.is_group);
            if !is_end {
                return at;
            }
            self.frames.pop();
        }
    }
}

/// Reads a varint of 1 or 2 bytes. Returns it and the position after it.
#[inline(always)]
fn short_varint(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    match *bytes.get(at..)? {
        [byte @ ..0x80, ..] => Some((u32::from(byte), at + 1)),
        [low, high @ ..0x80, ..] => Some((u32::from(low & 0x7F) | u32::from(high) << 7, at + 2)),
        _ => None,
    }
}
