//! The schema: which fields of a message are strings, and which are messages.

use core::fmt;
use std::boxed::Box;
use std::sync::Arc;

use super::descriptor::{self, SchemaError};
use super::tables::Tables;

/// The messages and services of a descriptor set, compiled to tables.
///
/// A clone shares the tables. What is not needed to find strings is left out: enumerations, options, comments, and fields
/// of other types.
///
/// ```
/// # // message M { string s = 1; } in a file with the syntax proto3
/// # let bytes = b"\x0A\x1B\x0A\x01f\x22\x0E\x0A\x01M\x12\x09\x0A\x01s\x18\x01\x20\x01\x28\x09b\x06proto3";
/// use utf8_codec_http::protobuf::Schema;
///
/// // protoc --include_imports --descriptor_set_out=schema.bin m.proto
/// let schema = Schema::from_descriptor_set(bytes)?;
/// assert!(schema.has_message("M"));
/// # Ok::<(), utf8_codec_http::protobuf::SchemaError>(())
/// ```
#[derive(Clone)]
pub struct Schema {
    tables: Arc<Tables>,
}

/// The types of a method, by their full names. [`Schema::method`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrpcMethod<'s> {
    types: &'s [Box<str>; 2],
}

impl Schema {
    /// The maximum length of a descriptor set, in bytes: 64 MiB.
    pub const MAX_LENGTH: usize = descriptor::MAX_LENGTH;

    /// Compiles a serialized `google.protobuf.FileDescriptorSet`, as `protoc --include_imports --descriptor_set_out`
    /// writes it, or several of them one after the other. A file that occurs again with the same bytes is skipped.
    ///
    /// The features of an edition are read from the file and from the field: `utf8_validation` and `message_encoding` can
    /// only be set there (`targets` in descriptor.proto).
    ///
    /// # Errors
    ///
    /// Returns the reason why the set cannot be used.
    pub fn from_descriptor_set(bytes: &[u8]) -> Result<Self, SchemaError> {
        Ok(Self { tables: Arc::new(descriptor::compile(bytes)?) })
    }

    /// Whether there is a message with this full name, such as `package.Outer.Inner`.
    pub fn has_message(&self, name: &str) -> bool {
        self.tables.find(name).is_some()
    }

    /// Finds the method of a request by the path of its target (gRPC over HTTP/2, "Requests"), such as
    /// `/package.Service/Method`.
    pub fn method(&self, path: &str) -> Option<GrpcMethod<'_>> {
        let path = path.strip_prefix('/')?;
        let at = self.tables.methods.binary_search_by(|(known, _)| (**known).cmp(path)).ok()?;
        Some(GrpcMethod { types: &self.tables.methods[at].1 })
    }

    pub(super) const fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("messages", &self.tables.names.len()).finish_non_exhaustive()
    }
}

impl<'s> GrpcMethod<'s> {
    /// Returns the full name of the type of a request message.
    pub fn request(&self) -> &'s str {
        &self.types[0]
    }

    /// Returns the full name of the type of a response message.
    pub fn response(&self) -> &'s str {
        &self.types[1]
    }
}
