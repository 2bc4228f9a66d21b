//! Extensions in the handshake (RFC 6455 §9.1).

use alloc::string::String;

use super::header::FrameSender;

/// Whether a client and a server may compress messages through a filter (`permessage-deflate`, RFC 7692).
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
    /// The offer passes. Compressed messages are inflated and checked, by a filter that has an
    /// [inflater](super::FrameFilter::with_inflater).
    Inflate,
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

    /// Returns the policy for a connection, if `extensions` is the value that the server returned in the handshake: this one
    /// if the server accepted compression and it passes.
    #[must_use]
    pub fn negotiated(self, extensions: &str) -> Self {
        if self.passed(extensions).next().is_some() { self } else { Self::Remove }
    }

    /// Returns the elements that pass.
    fn passed(self, extensions: &str) -> impl Iterator<Item = &str> {
        parts(extensions, ',').filter(move |extension| {
            self != Self::Remove && is_deflate(extension) && !has_open_quote(extension)
        })
    }
}

impl FrameSender {
    /// Whether a compressed message of this sender may refer to its earlier ones, if `extensions` is the value that the server
    /// returned in the handshake: `permessage-deflate` without `client_no_context_takeover` or `server_no_context_takeover`.
    ///
    /// ```
    /// use utf8_codec_proxy::websocket::FrameSender;
    ///
    /// let accepted = "permessage-deflate; client_no_context_takeover; server_max_window_bits=12";
    /// assert!(!FrameSender::Client.has_context_takeover(accepted));
    /// assert!(FrameSender::Server.has_context_takeover(accepted));
    /// ```
    pub fn has_context_takeover(self, extensions: &str) -> bool {
        let parameter = match self {
            Self::Client => "client_no_context_takeover",
            Self::Server => "server_no_context_takeover",
        };
        !parts(extensions, ',').any(|extension| is_deflate(extension) && has_parameter(extension, parameter))
    }
}

fn is_deflate(extension: &str) -> bool {
    let name = extension.split(';').next().unwrap_or_default();
    name.trim_ascii().eq_ignore_ascii_case(DEFLATE)
}

fn has_parameter(extension: &str, parameter: &str) -> bool {
    parts(extension, ';').skip(1).any(|part| part.eq_ignore_ascii_case(parameter))
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

/// Splits a list at each separator that is not inside a quoted string.
fn parts(list: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quotes = Quotes::default();
    list.split(move |character| {
        quotes.advance(character);
        character == separator && !quotes.is_quoted
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
            for policy in [CompressionPolicy::Pass, CompressionPolicy::Inflate] {
                assert_eq!(policy.edit(value).as_deref(), kept, "{value}");
                assert_eq!(policy.negotiated(value) == policy, kept.is_some(), "{value}");
            }
            assert_eq!(CompressionPolicy::Remove.edit(value), None, "{value}");
            assert_eq!(CompressionPolicy::Remove.negotiated(value), CompressionPolicy::Remove, "{value}");
        }
    }

    #[test]
    fn only_a_parameter_of_permessage_deflate_ends_the_takeover() {
        for (value, client, server) in [
            ("permessage-deflate", true, true),
            ("permessage-deflate;CLIENT_NO_CONTEXT_TAKEOVER ;server_max_window_bits=9", false, true),
            ("x; client_no_context_takeover, permessage-deflate; server_no_context_takeover", true, false),
            ("permessage-deflate; a=\"; client_no_context_takeover\"", true, true),
            ("permessage-deflate; client_no_context_takeovers", true, true),
        ] {
            assert_eq!(FrameSender::Client.has_context_takeover(value), client, "{value}");
            assert_eq!(FrameSender::Server.has_context_takeover(value), server, "{value}");
        }
    }
}
