//! The field of a form in which an error is.

use utf8_codec::Utf8Error;
use utf8_codec_media::percent;

use crate::error::FormField;
use crate::reason::RejectReason;

/// The maximum number of bytes of a name that are stored.
const NAME_LIMIT: usize = 64;

/// Returns the start of a name, or `None` if it is empty or ill-formed.
pub(super) fn shown(name: &[u8]) -> Option<Box<str>> {
    let start = &name[..name.len().min(NAME_LIMIT)];
    let text = match core::str::from_utf8(start) {
        Ok(text) => text,
        // The limit is inside a character.
        Err(error) if error.error_len().is_none() && start.len() < name.len() => {
            core::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return None,
    };
    (!text.is_empty()).then(|| text.into())
}

/// Returns the error of a field. `offset` is its position in the field.
pub(super) const fn error_in(name: Option<Box<str>>, offset: u64, error: Utf8Error) -> RejectReason {
    RejectReason::Field(FormField { name, offset }, error)
}

/// The field that contains the next byte of a urlencoded form.
#[derive(Debug, Default)]
pub(super) struct UrlEncodedField {
    /// The start of its name, percent-encoded.
    name: Vec<u8>,
    /// Whether its `=` was read.
    is_value: bool,
    /// The offset in the body of its value, or of its name if no `=` was read.
    start: u64,
}

impl UrlEncodedField {
    /// Reads the next bytes of the form, whose first one has this offset.
    pub(super) fn read(&mut self, bytes: &[u8], offset: u64) {
        let at = memchr::memrchr(b'&', bytes).map_or(0, |separator| separator + 1);
        if at > 0 {
            self.name.clear();
            (self.is_value, self.start) = (false, offset + at as u64);
        }
        if self.is_value {
            return;
        }
        let rest = &bytes[at..];
        let equals = memchr::memchr(b'=', rest);
        // One byte of a name has up to 3 bytes. One byte more shows that the name is longer.
        let space = (3 * NAME_LIMIT + 3).saturating_sub(self.name.len());
        let name = &rest[..equals.unwrap_or(rest.len())];
        self.name.extend_from_slice(&name[..name.len().min(space)]);
        if let Some(equals) = equals {
            (self.is_value, self.start) = (true, offset + (at + equals + 1) as u64);
        }
    }

    /// Returns an error in the field.
    pub(super) fn error(&self, error: Utf8Error) -> RejectReason {
        let name = if self.is_value { self.name() } else { None };
        error_in(name, error.offset.saturating_sub(self.start), error)
    }

    fn name(&self) -> Option<Box<str>> {
        let spaces = self.name.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte });
        shown(&percent::decoded(&spaces.collect::<Vec<_>>()).collect::<Vec<_>>())
    }
}
