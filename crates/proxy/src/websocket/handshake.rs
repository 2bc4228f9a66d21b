//! Extensions in the handshake (RFC 6455 §9.1).

use alloc::string::String;

/// Whether a client and a server may compress messages through a filter (`permessage-deflate`, RFC 7692).
///
/// A filter does not decompress, so it does not look at the text of a compressed message.
///
/// Other extensions may change the payload in other ways, so they are removed under both policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompressionPolicy {
    /// The offer is removed from the handshake. A compressed message is then an error, because RSV1 is a reserved bit.
    #[default]
    Remove,
    /// The offer passes. **Compressed messages are forwarded unchecked.**
    Pass,
}

const DEFLATE: &str = "permessage-deflate";

impl CompressionPolicy {
    /// Edits the value of a field `Sec-WebSocket-Extensions`, in the request and in the response. Returns `None` if nothing
    /// is left of it: remove the field. If the message has several fields, edit each.
    ///
    /// An element with a quoted string that has no end is removed with the rest of the value: recipients differ in where it
    /// ends.
    ///
    /// ```
    /// use utf8_codec_proxy::websocket::CompressionPolicy;
    ///
    /// let offer = "permessage-deflate; client_max_window_bits, x-mux; max=\"1,2\", permessage-deflate";
    /// assert_eq!(CompressionPolicy::Remove.edit(offer), None);
    /// let kept = CompressionPolicy::Pass.edit(offer);
    /// assert_eq!(kept.as_deref(), Some("permessage-deflate; client_max_window_bits, permessage-deflate"));
    /// ```
    pub fn edit(self, extensions: &str) -> Option<String> {
        let mut kept = String::new();
        for extension in self.passed(extensions) {
            if !kept.is_empty() {
                kept.push_str(", ");
            }
            kept.push_str(extension);
        }
        (!kept.is_empty()).then_some(kept)
    }

    /// Returns the policy for a connection, if `extensions` is the value that the server returned in the handshake:
    /// [`Pass`](Self::Pass) if this is `Pass` and the server accepted compression.
    #[must_use]
    pub fn negotiated(self, extensions: &str) -> Self {
        if self.passed(extensions).next().is_some() { Self::Pass } else { Self::Remove }
    }

    /// Returns the elements that pass.
    fn passed(self, extensions: &str) -> impl Iterator<Item = &str> {
        let is_passed = move |extension: &&str| self == Self::Pass && is_deflate(extension);
        elements(extensions).filter(is_passed).filter(|extension| !has_open_quote(extension))
    }
}

fn is_deflate(extension: &str) -> bool {
    let name = extension.split(';').next().unwrap_or_default();
    name.trim_ascii().eq_ignore_ascii_case(DEFLATE)
}

/// The position in a list with quoted strings (RFC 9110 §5.6.4).
#[derive(Clone, Copy, Debug, Default)]
struct Quotes {
    is_quoted: bool,
    is_escaped: bool,
}

impl Quotes {
    /// Moves after a character.
    fn advance(&mut self, character: char) {
        let is_escaped = core::mem::take(&mut self.is_escaped);
        match character {
            '\\' if self.is_quoted => self.is_escaped = !is_escaped,
            '"' if !is_escaped => self.is_quoted = !self.is_quoted,
            _ => {}
        }
    }
}

/// Whether an element ends inside a quoted string.
fn has_open_quote(extension: &str) -> bool {
    let mut quotes = Quotes::default();
    extension.chars().for_each(|character| quotes.advance(character));
    quotes.is_quoted
}

/// Splits a list at its commas that are not inside a quoted string.
fn elements(list: &str) -> impl Iterator<Item = &str> {
    let mut quotes = Quotes::default();
    list.split(move |character| {
        quotes.advance(character);
        character == ',' && !quotes.is_quoted
    })
    .map(str::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_permessage_deflate_is_kept_and_only_if_it_passes() {
        for (value, kept) in [
            ("permessage-deflate", Some("permessage-deflate")),
            (" Permessage-Deflate ; a=\"x,\\\", y\" ,b", Some("Permessage-Deflate ; a=\"x,\\\", y\"")),
            ("x; a=\"permessage-deflate\"", None),
            ("x; a=\", permessage-deflate, \"", None),
            ("permessage-deflate-2, x-webkit-deflate-frame", None),
            ("", None),
            (",, ,", None),
            ("permessage-deflate, x; a=\"b, permessage-deflate", Some("permessage-deflate")),
            ("permessage-deflate; a=b\", x-mux", None),
            ("permessage-deflate; a=\"b\\\", x-mux", None),
            ("x; a=\"b\", permessage-deflate", Some("permessage-deflate")),
        ] {
            assert_eq!(CompressionPolicy::Pass.edit(value).as_deref(), kept, "{value}");
            let negotiated = CompressionPolicy::Pass.negotiated(value);
            assert_eq!(negotiated == CompressionPolicy::Pass, kept.is_some(), "{value}");
            assert_eq!(CompressionPolicy::Remove.edit(value), None, "{value}");
            assert_eq!(CompressionPolicy::Remove.negotiated(value), CompressionPolicy::Remove, "{value}");
        }
    }
}
