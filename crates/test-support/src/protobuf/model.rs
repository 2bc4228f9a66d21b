//! Random schemas and messages, and a model of the validator that walks a whole message by recursion.

use utf8_codec_http::protobuf::ProtobufErrorKind;

use super::super::{Rng, oracle};
use super::encoder::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    String,
    Bytes,
    Number,
    Message(usize),
    Group(usize),
}

/// A schema: the fields of each message by number. Message `i` is `test.M<i>`.
#[derive(Clone, Debug)]
pub struct Model {
    pub messages: Vec<Vec<(u32, Kind)>>,
}

/// What the walk found: the errors in strings, each with its path, and why the message is malformed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub texts: Vec<(Vec<u32>, u64, ProtobufErrorKind, u8)>,
    pub malformed: Option<(Vec<u32>, u64, ProtobufErrorKind)>,
    /// The message with `?` for each byte of these errors.
    pub substituted: Vec<u8>,
}

impl Model {
    pub fn random(rng: &mut Rng) -> Self {
        let count = 1 + rng.below(4);
        let mut fields = || {
            let mut numbers =
                [1, 2, 3, 15, 16, 63, 64, 2047, 2048, (1 << 29) - 1].map(|number| (rng.next(), number));
            numbers.sort_unstable();
            let kind = |rng: &mut Rng| match rng.below(7) {
                0..=2 => Kind::String,
                3 => Kind::Bytes,
                4 => Kind::Number,
                5 => Kind::Group(rng.below(count)),
                _ => Kind::Message(rng.below(count)),
            };
            let many = 1 + rng.below(8);
            numbers[..many].iter().map(|(_, number)| (*number, kind(rng))).collect()
        };
        Self { messages: (0..count).map(|_| fields()).collect() }
    }

    pub fn file(&self) -> Vec<u8> {
        let field = |&(number, kind): &(u32, Kind)| {
            let (code, type_name) = match kind {
                Kind::String => (STRING, String::new()),
                Kind::Bytes => (BYTES, String::new()),
                Kind::Number => (INT32, String::new()),
                Kind::Message(index) => (MESSAGE, format!(".test.M{index}")),
                Kind::Group(index) => (GROUP, format!(".test.M{index}")),
            };
            field(&format!("f{number}"), number, code, &type_name)
        };
        let of = |(index, fields): (usize, &Vec<_>)| {
            descriptor(&format!("M{index}"), &fields.iter().map(field).collect::<Vec<_>>())
        };
        file("proto3", "test", &self.messages.iter().enumerate().map(of).collect::<Vec<_>>())
    }

    /// A serialized message of about `size` bytes. Each string is ill-formed with a chance of 1 to `ill_formed`.
    pub fn message(&self, rng: &mut Rng, index: usize, size: usize, ill_formed: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while out.len() < size {
            let (field, kind) = rng.pick(&self.messages[index]);
            let left = size - out.len();
            match (rng.below(12), kind) {
                (0, _) => bytes(&mut out, 77, b"\xFF unknown"),
                (1, _) => {
                    tag(&mut out, 78, 3);
                    number(&mut out, 3, rng.next() >> rng.below(64));
                    tag(&mut out, 78, 4);
                }
                (2, _) => {
                    tag(&mut out, 79, 5);
                    out.extend([0xFF; 4]);
                }
                (_, Kind::String) => {
                    let text = rng.dirty_text(rng.clone().below(left + 8));
                    let text =
                        if rng.below(ill_formed) == 0 { text } else { oracle::decode(&text).0.into_bytes() };
                    bytes(&mut out, field, text);
                }
                (_, Kind::Bytes) => bytes(&mut out, field, [0x80; 3]),
                (_, Kind::Number) => number(&mut out, field, rng.next() >> rng.below(64)),
                (_, Kind::Message(inner)) => {
                    let inner = self.message(rng, inner, left / 2, ill_formed);
                    bytes(&mut out, field, inner);
                }
                (_, Kind::Group(inner)) => {
                    tag(&mut out, field, 3);
                    out.extend(self.message(rng, inner, left / 2, ill_formed));
                    tag(&mut out, field, 4);
                }
            }
        }
        out
    }

    /// A valid message of a type, encoded again with other strings. Reads up to the end of its group.
    pub fn with_strings(
        &self,
        index: Option<usize>,
        rest: &mut &[u8],
        text: &dyn Fn(&[u8]) -> String,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        while !rest.is_empty() {
            let read = take_varint(rest);
            let (field, wire_type) = ((read >> 3) as u32, read as u8 & 7);
            let known = index.and_then(|index| self.messages[index].iter().find(|known| known.0 == field));
            match (wire_type, known.map(|known| known.1)) {
                (0, _) => number(&mut out, field, take_varint(rest)),
                (2, kind) => {
                    let len = take_varint(rest) as usize;
                    let mut value = take(rest, len);
                    match kind {
                        Some(Kind::String) => bytes(&mut out, field, text(value)),
                        Some(Kind::Message(inner)) => {
                            bytes(&mut out, field, self.with_strings(Some(inner), &mut value, text));
                        }
                        _ => bytes(&mut out, field, value),
                    }
                }
                (3, kind) => {
                    let inner = if let Some(Kind::Group(inner)) = kind { Some(inner) } else { None };
                    tag(&mut out, field, 3);
                    out.extend(self.with_strings(inner, rest, text));
                    tag(&mut out, field, 4);
                }
                (4, _) => break,
                _ => {
                    tag(&mut out, field, wire_type);
                    out.extend(take(rest, if wire_type == 1 { 8 } else { 4 }));
                }
            }
        }
        out
    }

    /// Walks a whole message of the first type.
    pub fn walk(&self, bytes: &[u8]) -> Found {
        let found = Found { substituted: bytes.to_vec(), ..Found::default() };
        let mut walk = Walk { model: self, bytes, at: 0, path: Vec::new(), found };
        if let Err((offset, kind)) = walk.message(Some(0), usize::MAX, None) {
            walk.found.malformed = Some((walk.path, offset as u64, kind));
        }
        walk.found
    }
}

fn take<'b>(rest: &mut &'b [u8], len: usize) -> &'b [u8] {
    let (taken, after) = rest.split_at(len);
    *rest = after;
    taken
}

fn take_varint(rest: &mut &[u8]) -> u64 {
    let len = 1 + rest.iter().position(|byte| *byte < 0x80).unwrap();
    let bytes = take(rest, len);
    bytes.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7F))
}

/// The maximum nesting (<https://protobuf.dev/programming-guides/proto-limits/>).
const LEVELS: usize = 100;

struct Walk<'a> {
    model: &'a Model,
    bytes: &'a [u8],
    at: usize,
    path: Vec<u32>,
    found: Found,
}

type Malformed = (usize, ProtobufErrorKind);

impl Walk<'_> {
    /// Walks a message up to `end`, or to the end of its group. The path stays at the error.
    fn message(&mut self, index: Option<usize>, end: usize, group: Option<u32>) -> Result<(), Malformed> {
        use ProtobufErrorKind::*;
        loop {
            if self.at == end {
                return if group.is_some() { Err((end, UnpairedGroup)) } else { Ok(()) };
            }
            if self.at == self.bytes.len() {
                return if self.path.is_empty() { Ok(()) } else { Err((self.at, Truncated)) };
            }
            let tag = self.varint(end, &|tag, bits, _| match (tag & 7, group) {
                (6 | 7, _) => Some(InvalidTag),
                (4, Some(number)) if u128::from(number << 3 | 4) % (1 << bits) == u128::from(tag) => None,
                (4, _) => Some(UnpairedGroup),
                _ => (tag >> 3 >= 1 << 29).then_some(InvalidTag),
            })?;
            let last = self.at - 1;
            let number = (tag >> 3) as u32;
            if number == 0 {
                return Err((last, InvalidTag));
            }
            let field =
                index.and_then(|index| self.model.messages[index].iter().find(|field| field.0 == number));
            let kind = field.map_or(Kind::Bytes, |field| field.1);
            if tag & 7 == 4 {
                return if group == Some(number) { Ok(()) } else { Err((last, UnpairedGroup)) };
            }
            self.path.push(number);
            let needed = match (tag & 7, kind) {
                (2, Kind::Group(_)) => return Err((last, WireType)),
                (0 | 1 | 5, Kind::String | Kind::Message(_) | Kind::Group(_))
                | (3, Kind::String | Kind::Message(_)) => {
                    return Err((last, WireType));
                }
                (1, _) => 8,
                (5, _) => 4,
                (3, _) => 0,
                _ => 1,
            };
            if end - self.at < needed {
                return Err((last, InvalidLength));
            }
            match (tag & 7, kind) {
                (0, _) => drop(self.varint(end, &|_, _, _| None)?),
                (1 | 5, _) => self.skip(needed)?,
                (3, kind) => {
                    if self.path.len() > LEVELS {
                        return Err((last, TooDeep));
                    }
                    self.message(
                        if let Kind::Group(inner) = kind { Some(inner) } else { None },
                        end,
                        Some(number),
                    )?;
                }
                (_, kind) => {
                    let len = self.varint(end, &|len, _, at| {
                        (len > i32::MAX as u64 || len as usize > end - at).then_some(InvalidLength)
                    })?;
                    let last = self.at - 1;
                    match kind {
                        Kind::Message(_) if self.path.len() > LEVELS => return Err((last, TooDeep)),
                        Kind::Message(inner) => self.message(Some(inner), self.at + len as usize, None)?,
                        Kind::String => self.string(len as usize)?,
                        _ => self.skip(len as usize)?,
                    }
                }
            }
            self.path.pop();
        }
    }

    /// Reads a varint. `wrong` gets the bits after each byte, their number, and the position after it.
    fn varint(
        &mut self,
        end: usize,
        wrong: &dyn Fn(u64, u32, usize) -> Option<ProtobufErrorKind>,
    ) -> Result<u64, Malformed> {
        let mut value = 0_u128;
        for bits in (7..=70).step_by(7) {
            if self.at == end {
                return Err((end - 1, ProtobufErrorKind::InvalidLength));
            }
            let byte = *self.bytes.get(self.at).ok_or((self.at, ProtobufErrorKind::Truncated))?;
            value |= u128::from(byte & 0x7F) << (bits - 7);
            let value = u64::try_from(value).ok().filter(|_| bits < 70 || byte < 0x80);
            let Some(value) = value else { return Err((self.at, ProtobufErrorKind::VarintTooLong)) };
            if let Some(kind) = wrong(value, bits, self.at + 1) {
                return Err((self.at, kind));
            }
            self.at += 1;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        unreachable!("the tenth byte ends it")
    }

    fn skip(&mut self, len: usize) -> Result<(), Malformed> {
        let left = self.bytes.len() - self.at;
        self.at += len.min(left);
        if len > left { Err((self.at, ProtobufErrorKind::Truncated)) } else { Ok(()) }
    }

    fn string(&mut self, len: usize) -> Result<(), Malformed> {
        let start = self.at;
        let end = start.saturating_add(len).min(self.bytes.len());
        let is_cut = end - start < len;
        for (position, kind, len) in oracle::decode(&self.bytes[start..end]).1 {
            if is_cut && kind == utf8_codec::ErrorKind::Truncated {
                continue;
            }
            let at = start + position as usize;
            self.found.texts.push((self.path.clone(), at as u64, ProtobufErrorKind::Text(kind), len));
            self.found.substituted[at..at + usize::from(len)].fill(b'?');
        }
        self.at = end;
        if is_cut { Err((end, ProtobufErrorKind::Truncated)) } else { Ok(()) }
    }
}
