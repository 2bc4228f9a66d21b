//! The fields of a complete serialized message: of a descriptor set, or of one that was validated.

use super::varint::MAX_LEN;

/// A slice of the message, and its position in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slice<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) position: usize,
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'b> {
    Varint(u64),
    Bytes(Slice<'b>),
    /// A number of fixed length, or a group. Descriptors have none.
    Other,
}

/// The position at which the message cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) usize);

/// The fields of a message, without those in its groups.
#[derive(Clone, Debug)]
pub(super) struct Fields<'b> {
    rest: Slice<'b>,
    groups: usize,
}

impl<'b> Slice<'b> {
    pub(super) const fn fields(self) -> Fields<'b> {
        Fields { rest: self, groups: 0 }
    }

    pub(super) fn text(self) -> Result<&'b str, Malformed> {
        utf8_codec::from_utf8(self.bytes).map_err(|error| Malformed(self.position + error.offset as usize))
    }

    pub(super) fn take(&mut self, len: u64) -> Result<Self, Malformed> {
        let len = usize::try_from(len).ok().filter(|len| *len <= self.bytes.len());
        let (taken, rest) = self.bytes.split_at(len.ok_or(Malformed(self.position))?);
        let taken = Self { bytes: taken, position: self.position };
        *self = Self { bytes: rest, position: self.position + taken.bytes.len() };
        Ok(taken)
    }

    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let len = self
            .bytes
            .iter()
            .take(MAX_LEN.into())
            .position(|byte| *byte < 0x80)
            .ok_or(Malformed(self.position))?;
        let Self { bytes, position } = self.take(len as u64 + 1)?;
        if bytes.len() == usize::from(MAX_LEN) && !bytes.ends_with(&[1]) && !bytes.ends_with(&[0]) {
            return Err(Malformed(position));
        }
        Ok(bytes.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7F)))
    }
}

impl<'b> Fields<'b> {
    fn next_field(&mut self) -> Result<(u32, Value<'b>), Malformed> {
        let start = self.rest.position;
        let tag = self.rest.varint()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.rest.varint()?),
            1 => self.rest.take(8).map(|_| Value::Other)?,
            2 => {
                let len = self.rest.varint()?;
                Value::Bytes(self.rest.take(len)?)
            }
            3 => {
                self.groups += 1;
                Value::Other
            }
            4 if self.groups > 0 => {
                self.groups -= 1;
                Value::Other
            }
            5 => self.rest.take(4).map(|_| Value::Other)?,
            _ => return Err(Malformed(start)),
        };
        match u32::try_from(tag >> 3) {
            Ok(number @ 1..=super::MAX_FIELD_NUMBER) => Ok((number, value)),
            _ => Err(Malformed(start)),
        }
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = Result<(u32, Value<'b>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.rest.bytes.is_empty() {
                let unterminated = core::mem::take(&mut self.groups) > 0;
                return unterminated.then_some(Err(Malformed(self.rest.position)));
            }
            let is_inside_group = self.groups > 0;
            let field = self.next_field();
            match field {
                Ok((_, Value::Other)) => {}
                Ok(_) if is_inside_group => {}
                Ok(_) => return Some(field),
                Err(_) => {
                    (self.rest.bytes, self.groups) = (&[], 0);
                    return Some(field);
                }
            }
        }
    }
}
