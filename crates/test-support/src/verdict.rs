//! The verdict of `Utf8Validator` on a message.

use utf8_codec::Utf8Error;
use utf8_codec::validator::Utf8Validator;

/// The number of bytes fed when the error was reported, or 0 if the verdict was returned at the end of the message.
pub type Verdict = (u64, Result<(), Utf8Error>);

pub fn verdict_of<'c>(chunks: impl Iterator<Item = &'c [u8]>) -> Verdict {
    let mut validator = Utf8Validator::new();
    let mut seen = 0;
    for chunk in chunks {
        seen += chunk.len() as u64;
        let snapshot = validator.clone();
        if let Err(error) = validator.validate(chunk) {
            assert_eq!(validator.validate(b"more"), Err(error), "a failed message stays failed");
            assert_eq!(validator.finish(), Err(error));
            assert_eq!(validator, Utf8Validator::new(), "the next message starts with a new validator");
            validator = snapshot;
            assert_eq!(validator.validate(chunk), Err(error), "a snapshot is restored by assignment");
            return (seen, Err(error));
        }
    }
    (0, validator.finish())
}
