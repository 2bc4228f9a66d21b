//! The tables of a schema: which fields of a message are strings, and which are messages.

use std::boxed::Box;
use std::vec::Vec;

/// The number of a message in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageId(pub(super) u32);

impl MessageId {
    /// The message without known fields, which stands for an unknown group.
    pub(super) const UNKNOWN: Self = Self(0);
}

/// What the value of a field is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FieldKind {
    /// It has no text that is checked.
    #[default]
    Skipped,
    /// `string` of proto3, or with `utf8_validation = VERIFY`.
    String,
    /// `string` of proto2, or with `utf8_validation = NONE`.
    UnverifiedString,
    Message(MessageId),
    /// A message between two tags: a `group` of proto2, or a field with `message_encoding = DELIMITED`.
    Group(MessageId),
}

#[derive(Debug, Default)]
pub(super) struct Tables {
    /// The first one is [`MessageId::UNKNOWN`].
    pub(super) messages: Vec<Message>,
    /// The full names of the messages, sorted.
    pub(super) names: Vec<(Box<str>, MessageId)>,
    /// `package.Service/Method`, sorted, with the types of the request and of the response.
    pub(super) methods: Vec<(Box<str>, [Box<str>; 2])>,
}

/// The fields of a message that are strings or messages.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// The kinds of the fields with small numbers, by number.
    direct: Box<[FieldKind]>,
    /// The other fields, sorted by number.
    others: Box<[(u32, FieldKind)]>,
    /// The names of all fields, sorted by number.
    names: Box<[(u32, Box<str>)]>,
}

/// Returns the limit below which field numbers are used as indexes, in a message with that many fields. It keeps the
/// size of the table at most proportional to the descriptor.
const fn direct_below(fields: usize) -> u32 {
    if fields < 14 { 8 + 4 * fields as u32 } else { 64 }
}

/// A field with its number, kind and name.
pub(super) type Entry = (u32, FieldKind, Box<str>);

impl Tables {
    pub(super) fn find(&self, name: &str) -> Option<MessageId> {
        let at = self.names.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        Some(self.names[at].1)
    }

    #[inline(always)]
    pub(super) fn kind(&self, message: MessageId, number: u32) -> FieldKind {
        let Some(message) = self.messages.get(message.0 as usize) else { return FieldKind::Skipped };
        match message.direct.get(number as usize) {
            Some(kind) => *kind,
            None if message.others.is_empty() => FieldKind::Skipped,
            None => find(&message.others, number).copied().unwrap_or_default(),
        }
    }

    /// Returns the name of a field that is a string or a message.
    pub(super) fn field_name(&self, message: MessageId, number: u32) -> Option<&str> {
        let message = self.messages.get(message.0 as usize)?;
        find(&message.names, number).map(|name| &**name)
    }

    /// Returns the message that a field contains.
    pub(super) fn child(&self, message: MessageId, number: u32) -> MessageId {
        match self.kind(message, number) {
            FieldKind::Message(child) | FieldKind::Group(child) => child,
            _ => MessageId::UNKNOWN,
        }
    }
}

impl Message {
    /// Creates the table of a message from its fields that are not skipped.
    pub(super) fn new(mut fields: Vec<Entry>) -> Self {
        fields.sort_by_key(|(number, ..)| *number);
        let below = direct_below(fields.len());
        let direct = fields.iter().map(|(number, ..)| *number).filter(|number| *number < below).max();
        let mut direct = std::vec![FieldKind::Skipped; direct.map_or(0, |number| number as usize + 1)];
        let mut others = Vec::new();
        for (number, kind, _) in &fields {
            match direct.get_mut(*number as usize) {
                Some(entry) => *entry = *kind,
                None => others.push((*number, *kind)),
            }
        }
        let names = fields.into_iter().map(|(number, _, name)| (number, name)).collect();
        Self { direct: direct.into(), others: others.into(), names }
    }
}

fn find<T>(table: &[(u32, T)], number: u32) -> Option<&T> {
    table.binary_search_by_key(&number, |(known, _)| *known).ok().map(|at| &table[at].1)
}
