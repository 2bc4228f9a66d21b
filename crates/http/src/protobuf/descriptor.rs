//! Compiles a descriptor set to the tables of a schema. The field numbers are those of descriptor.proto.

use core::fmt;
use std::boxed::Box;
use std::collections::{BTreeMap, BTreeSet};
use std::format;
use std::vec::Vec;

use super::tables::{Entry, FieldKind, Message, MessageId, Tables};
use super::wire::{Malformed, Slice, Value};

/// Why a descriptor set cannot be used. [`Schema::from_descriptor_set`](super::Schema::from_descriptor_set) returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaError {
    /// The set is not a serialized `FileDescriptorSet`, or has a descriptor without a number, a type or a name that is
    /// an identifier.
    Malformed {
        /// The position in the set, in bytes.
        offset: u64,
    },
    /// The set, or the sum of the full names of its messages and methods, is longer than
    /// [`Schema::MAX_LENGTH`](super::Schema::MAX_LENGTH).
    TooLarge,
    /// A message is nested in more than 100 others.
    TooDeep,
    /// Two files define a message with this full name.
    Duplicate(Box<str>),
    /// The set lacks the message with this full name, which it uses: it was written without `--include_imports`.
    Missing(Box<str>),
}

impl From<Malformed> for SchemaError {
    fn from(Malformed(position): Malformed) -> Self {
        Self::Malformed { offset: position as u64 }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { offset } => write!(f, "malformed descriptor set at byte {offset}"),
            Self::TooLarge => write!(f, "the descriptor set or its full names exceed {MAX_LENGTH} bytes"),
            Self::TooDeep => write!(f, "the descriptor set has more than {MAX_NESTING} levels of messages"),
            Self::Duplicate(name) => write!(f, "the descriptor set defines {name} twice"),
            Self::Missing(name) => write!(f, "the descriptor set lacks {name}; use --include_imports"),
        }
    }
}

impl core::error::Error for SchemaError {}

/// The maximum length of a set, in bytes, and of all full names: each one contains the package and the messages around it,
/// so they can be longer than the set.
pub(super) const MAX_LENGTH: usize = 64 << 20;

const MAX_NESTING: usize = 100;

/// The maximum number of an extension of a message with `message_set_wire_format`.
const MAX_SET_NUMBER: u32 = i32::MAX as u32;

/// What a field inherits from its file.
#[derive(Clone, Copy)]
struct Features {
    verifies: bool,
    /// Whether Java verifies the strings, if others do not.
    java_verifies: bool,
    is_delimited: bool,
}

impl Features {
    /// Applies a `FeatureSet`.
    fn apply(&mut self, set: Slice<'_>) -> Result<(), Malformed> {
        for field in set.fields() {
            match field? {
                // `utf8_validation`: VERIFY is 2, NONE is 3.
                (4, Value::Varint(value)) => self.verifies = value == 2,
                // `message_encoding`: LENGTH_PREFIXED is 1, DELIMITED is 2.
                (5, Value::Varint(value)) => self.is_delimited = value == 2,
                // `pb.java`, an extension.
                (1001, Value::Bytes(java)) => self.apply_java(java)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Applies a `pb.JavaFeatures`.
    fn apply_java(&mut self, features: Slice<'_>) -> Result<(), Malformed> {
        for field in features.fields() {
            // `utf8_validation`: DEFAULT is 1, VERIFY is 2.
            if let (2, Value::Varint(value)) = field? {
                self.java_verifies = value == 2;
            }
        }
        Ok(())
    }

    /// Applies the field `number` of the options, which is a `FeatureSet`.
    fn apply_options(&mut self, options: Slice<'_>, number: u32) -> Result<(), Malformed> {
        for field in options.fields() {
            match field? {
                (found, Value::Bytes(set)) if found == number => self.apply(set)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// A field of a message, or an extension of one.
struct Field<'b> {
    descriptor: Slice<'b>,
    features: Features,
    /// The message that has the field. `None` if it is an extension, which names it.
    message: Option<MessageId>,
}

#[derive(Default)]
struct Collector<'b> {
    files: BTreeMap<&'b str, &'b [u8]>,
    names: BTreeMap<Box<str>, MessageId>,
    /// The number of bytes of all full names.
    names_len: usize,
    /// The messages that are the entries of maps.
    entries: BTreeSet<MessageId>,
    fields: Vec<Field<'b>>,
    /// The path of each method, its descriptor, and the types of its request and response.
    methods: Vec<(Box<str>, Slice<'b>, [&'b str; 2])>,
}

pub(super) fn compile(bytes: &[u8]) -> Result<Tables, SchemaError> {
    if bytes.len() > MAX_LENGTH {
        return Err(SchemaError::TooLarge);
    }
    let mut collector = Collector::default();
    for field in (Slice { bytes, position: 0 }).fields() {
        if let (1, Value::Bytes(file)) = field? {
            collector.file(file)?;
        }
    }
    collector.tables()
}

impl<'b> Collector<'b> {
    fn file(&mut self, file: Slice<'b>) -> Result<(), SchemaError> {
        let mut name = "";
        let mut package = "";
        let mut syntax = "";
        let mut edition = 0;
        for field in file.fields() {
            match field? {
                (1, Value::Bytes(text)) => name = text.text()?,
                (2, Value::Bytes(text)) => package = text.text()?,
                (12, Value::Bytes(text)) => syntax = text.text()?,
                (14, Value::Varint(value)) => edition = value,
                _ => {}
            }
        }
        if self.files.insert(name, file.bytes) == Some(file.bytes) {
            return Ok(());
        }
        // EDITION_PROTO3 is 999, EDITION_2023 is 1000. Older compilers write only `syntax`.
        let verifies = syntax == "proto3" || edition >= 999;
        let mut features = Features { verifies, java_verifies: false, is_delimited: false };
        for field in file.fields() {
            if let (8, Value::Bytes(options)) = field? {
                features.java_verifies |= is_set(options, 27)?; // `java_string_check_utf8`
                features.apply_options(options, 50)?;
            }
        }
        for field in file.fields() {
            match field? {
                (4, Value::Bytes(message)) => self.message(message, package, features, 0)?,
                (6, Value::Bytes(service)) => self.service(service, package)?,
                (7, Value::Bytes(descriptor)) => {
                    self.fields.push(Field { descriptor, features, message: None });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn message(
        &mut self,
        message: Slice<'b>,
        scope: &str,
        features: Features,
        depth: usize,
    ) -> Result<(), SchemaError> {
        if depth > MAX_NESTING {
            return Err(SchemaError::TooDeep);
        }
        let name = self.full_name(scope, ".", name(message)?)?;
        // The first number is reserved for the unknown message.
        let id = MessageId(self.names.len() as u32 + 1);
        if self.names.insert(name.clone(), id).is_some() {
            return Err(SchemaError::Duplicate(name));
        }
        for field in message.fields() {
            match field? {
                (2, Value::Bytes(descriptor)) => {
                    self.fields.push(Field { descriptor, features, message: Some(id) });
                }
                (3, Value::Bytes(nested)) => self.message(nested, &name, features, depth + 1)?,
                (6, Value::Bytes(descriptor)) => {
                    self.fields.push(Field { descriptor, features, message: None });
                }
                // `map_entry`.
                (7, Value::Bytes(options)) if is_set(options, 7)? => {
                    self.entries.insert(id);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn service(&mut self, service: Slice<'b>, package: &str) -> Result<(), SchemaError> {
        let service_name = self.full_name(package, ".", name(service)?)?;
        for field in service.fields() {
            let (2, Value::Bytes(method)) = field? else { continue };
            let mut types = [""; 2];
            for field in method.fields() {
                match field? {
                    (2, Value::Bytes(text)) => types[0] = text.text()?,
                    (3, Value::Bytes(text)) => types[1] = text.text()?,
                    _ => {}
                }
            }
            let path = self.full_name(&service_name, "/", name(method)?)?;
            self.methods.push((path, method, types));
        }
        Ok(())
    }

    fn full_name(&mut self, scope: &str, separator: &str, name: &str) -> Result<Box<str>, SchemaError> {
        self.names_len += scope.len() + separator.len() + name.len();
        if self.names_len > MAX_LENGTH {
            return Err(SchemaError::TooLarge);
        }
        Ok(if scope.is_empty() { name.into() } else { format!("{scope}{separator}{name}").into() })
    }

    fn tables(self) -> Result<Tables, SchemaError> {
        let mut fields: Vec<Vec<_>> = Vec::new();
        fields.resize_with(self.names.len() + 1, Vec::new);
        let mut tables = Tables { names: self.names.into_iter().collect(), ..Tables::default() };
        for field in &self.fields {
            let (message, compiled) = field.compile(&tables, &self.entries)?;
            if compiled.1 != FieldKind::Skipped {
                fields[message.0 as usize].push(compiled);
            }
        }
        tables.messages = fields.into_iter().map(Message::new).collect();
        for (path, descriptor, types) in self.methods {
            for name in types {
                resolve(&tables, descriptor, name)?;
            }
            tables.methods.push((path, types.map(|name| name.trim_start_matches('.').into())));
        }
        tables.methods.sort();
        Ok(tables)
    }
}

impl Field<'_> {
    /// Returns the message that has the field, and the field with its number, kind and name.
    fn compile(
        &self,
        tables: &Tables,
        entries: &BTreeSet<MessageId>,
    ) -> Result<(MessageId, Entry), SchemaError> {
        let descriptor = self.descriptor;
        let mut features = self.features;
        let mut number = 0;
        let mut kind = 0;
        let mut type_name = "";
        let mut extendee = "";
        for field in descriptor.fields() {
            match field? {
                (2, Value::Bytes(text)) => extendee = text.text()?,
                (3, Value::Varint(value)) => number = value,
                (5, Value::Varint(value)) => kind = value,
                (6, Value::Bytes(text)) => type_name = text.text()?,
                (8, Value::Bytes(options)) => features.apply_options(options, 21)?,
                _ => {}
            }
        }
        let kind = match kind {
            0 => return Err(malformed(descriptor)),
            9 if features.verifies || features.java_verifies => FieldKind::String,
            9 => FieldKind::UnverifiedString,
            10 => FieldKind::Group(resolve(tables, descriptor, type_name)?),
            11 => match resolve(tables, descriptor, type_name)? {
                // A map and its values are never delimited, even if the file says so.
                id if features.is_delimited
                    && !entries.contains(&id)
                    && self.message.is_none_or(|message| !entries.contains(&message)) =>
                {
                    FieldKind::Group(id)
                }
                id => FieldKind::Message(id),
            },
            _ => FieldKind::Skipped,
        };
        let message = match self.message {
            Some(message) => message,
            None => resolve(tables, descriptor, extendee)?,
        };
        match u32::try_from(number) {
            Ok(number @ 1..=super::MAX_FIELD_NUMBER) => {
                Ok((message, (number, kind, name(descriptor)?.into())))
            }
            // An extension of a `MessageSet`, which is not a field on the wire.
            Ok(number @ ..=MAX_SET_NUMBER) if number > 0 && self.message.is_none() => {
                Ok((message, (number, FieldKind::Skipped, name(descriptor)?.into())))
            }
            _ => Err(malformed(descriptor)),
        }
    }
}

/// Finds a type by its full name after a dot, the form in which `protoc` writes all of them.
fn resolve(tables: &Tables, user: Slice<'_>, name: &str) -> Result<MessageId, SchemaError> {
    let name = name.strip_prefix('.').ok_or_else(|| malformed(user))?;
    tables.find(name).ok_or_else(|| SchemaError::Missing(name.into()))
}

const fn malformed(descriptor: Slice<'_>) -> SchemaError {
    SchemaError::Malformed { offset: descriptor.position as u64 }
}

/// Returns the name of a descriptor, which is field 1 of all of them.
fn name<'b>(descriptor: Slice<'b>) -> Result<&'b str, SchemaError> {
    let mut name = "";
    for field in descriptor.fields() {
        if let (1, Value::Bytes(text)) = field? {
            name = text.text()?;
        }
    }
    // "Protocol Buffers Language Specification", "Identifiers". Names are displayed as they are.
    let is_identifier = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_identifier && !name.is_empty() { Ok(name) } else { Err(malformed(descriptor)) }
}

/// Whether the field `number` of the options, a `bool`, is set.
fn is_set(options: Slice<'_>, number: u32) -> Result<bool, Malformed> {
    let mut is_set = false;
    for field in options.fields() {
        match field? {
            (found, Value::Varint(value)) if found == number => is_set = value != 0,
            _ => {}
        }
    }
    Ok(is_set)
}
