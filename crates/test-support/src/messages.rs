//! Verdicts on messages, for every partition.

use super::some_partitions;
use utf8_codec_mail::{MessageValidator, MessageVerdict, PartVerdict};

pub fn validate_chunks(validator: &MessageValidator, chunks: &[&[u8]]) -> MessageVerdict {
    let mut validator = validator.clone();
    for chunk in chunks {
        validator.push(chunk);
    }
    validator.finish()
}

/// Returns the verdict on a message. Asserts that it is the same for every partition.
pub fn validate_with(validator: &MessageValidator, message: &[u8]) -> MessageVerdict {
    let whole = validate_chunks(validator, &[message]);
    some_partitions(message, 30, |chunks| {
        assert_eq!(validate_chunks(validator, chunks), whole, "{:?}", String::from_utf8_lossy(message));
    });
    assert_eq!(whole.bytes, message.len() as u64);
    whole
}

pub fn validate(message: impl AsRef<[u8]>) -> MessageVerdict {
    validate_with(&MessageValidator::new(), message.as_ref())
}

/// Returns a line `path type kind@offset kind@offset` for each notable part.
pub fn summary(verdict: &MessageVerdict) -> String {
    let part = |part: &PartVerdict| {
        let mut line = format!("{} {}", part.path, part.content_type);
        for error in part.errors().iter().chain(part.warnings()) {
            line += &format!(" {}@{}", error.kind, error.offset);
        }
        line
    };
    verdict.notable().map(part).collect::<Vec<_>>().join("\n")
}
