//! The text of a syslog message.

use core::ops::Range;

/// The text of a syslog message, returned by [`syslog_msg`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyslogMsg {
    /// Whether the text starts with a BOM, and so must be UTF-8. Without it the encoding is unknown.
    pub has_bom: bool,
    /// Where the text is in the message, without the BOM. It may be empty.
    pub text: Range<usize>,
}

/// Finds the text (`MSG`) of a complete syslog message (RFC 5424 §6), after the header and the structured data. Its BOM
/// (§6.4) is in the middle of the message, where [`BomPolicy`](utf8_codec::BomPolicy) does not apply. Decode the text alone, from
/// the offset `text.start`.
///
/// Returns `None` if the message is not RFC 5424 (for example, RFC 3164).
///
/// ```
/// use utf8_codec_mail::unwrap::syslog_msg;
///
/// let message = b"<34>1 2003-10-11T22:14:15Z host su - ID47 [id@1 eventID=\"1\"] \xEF\xBB\xBFna\xC3\xAFve";
/// let msg = syslog_msg(message).expect("RFC 5424");
/// assert!(msg.has_bom);
/// assert_eq!(utf8_codec::from_utf8(&message[msg.text]), Ok("naïve"));
/// assert_eq!(syslog_msg(b"<34>Oct 11 22:14:15 host su: text"), None);
/// ```
pub fn syslog_msg(message: &[u8]) -> Option<SyslogMsg> {
    let version = message.strip_prefix(b"<")?.iter().position(|&byte| byte == b'>')? + 2;
    // VERSION TIMESTAMP HOSTNAME APP-NAME PROCID MSGID, each with a space after it.
    let is_version = |field: &[u8]| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let priority = &message[1..version - 1];
    let mut at = version;
    for field in 0..6 {
        let len = message[at..].iter().position(|&byte| byte == b' ')?;
        if len == 0 || field == 0 && !(is_version(&message[at..at + len]) && is_version(priority)) {
            return None;
        }
        at += len + 1;
    }
    at = match message.get(at)? {
        b'-' => at + 1,
        b'[' => structured_data(message, at)?,
        _ => return None,
    };
    let start = match message.get(at) {
        None => at,
        Some(b' ') => at + 1,
        Some(_) => return None,
    };
    let has_bom = message[start..].starts_with(b"\xEF\xBB\xBF");
    Some(SyslogMsg { has_bom, text: start + if has_bom { 3 } else { 0 }..message.len() })
}

/// Returns the position after the elements of structured data. In a quoted value `]` and `"` have a backslash before them
/// (RFC 5424 §6.3.3).
fn structured_data(message: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut is_quoted) = (start, false);
    loop {
        match message.get(at)? {
            b'\\' if is_quoted => at += 1,
            b'"' => is_quoted = !is_quoted,
            b']' if !is_quoted && message.get(at + 1) != Some(&b'[') => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
}
