//! Parameters in pieces and in percent-encoding (RFC 2231 §3, §4).

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::Parameter;

/// A parameter by the rules of its name: `base *( "*" section ) ["*"]`.
struct Name<'h> {
    base: &'h str,
    section: Option<usize>,
    extended: bool,
}

impl<'h> Name<'h> {
    /// `None` for a name that uses none of the rules.
    fn of(name: &'h str) -> Option<Self> {
        let (rest, extended) = name.strip_suffix('*').map_or((name, false), |rest| (rest, true));
        if let Some((base, digits)) = rest.split_once('*') {
            // No leading zeroes, no gaps: what the RFC does not write is an ordinary name.
            let section =
                digits.parse().ok().filter(|_| digits.len() == 1 || !digits.starts_with(['0', '+']))?;
            return Some(Self { base, section: Some(section), extended });
        }
        extended.then_some(Self { base: rest, section: None, extended })
    }
}

/// Puts the sections of a parameter together in their order, and undoes percent-encoding. Sections behind a gap are
/// left out, as the RFC's readers do.
pub(super) fn join(parameters: Vec<Parameter<'_>>) -> Vec<Parameter<'_>> {
    let mut joined: Vec<Parameter<'_>> = Vec::with_capacity(parameters.len());
    for (name, value) in &parameters {
        match Name::of(name) {
            None => joined.push((name, value.clone())),
            Some(Name { base, section: None, .. }) => {
                joined.push((base, Cow::Owned(unescape(without_charset(value)))));
            }
            Some(Name { base, section: Some(0), .. }) => {
                joined.push((base, Cow::Owned(sections(base, &parameters))));
            }
            Some(_) => {}
        }
    }
    joined
}

/// The sections of a parameter, one behind the other.
fn sections(base: &str, parameters: &[Parameter<'_>]) -> Vec<u8> {
    let mut listed: Vec<_> = parameters
        .iter()
        .filter_map(|(name, value)| Some((Name::of(name)?, value)))
        .filter(|(name, _)| name.base.eq_ignore_ascii_case(base))
        .filter_map(|(name, value)| Some((name.section?, name.extended, value)))
        .collect();
    listed.sort_by_key(|(section, ..)| *section);
    let mut whole = Vec::new();
    for (next, (section, extended, value)) in listed.into_iter().enumerate() {
        if section != next {
            break;
        }
        let value = if extended && section == 0 { without_charset(value) } else { value };
        if extended {
            whole.extend(unescape(value));
        } else {
            whole.extend_from_slice(value);
        }
    }
    whole
}

/// What stands behind `charset'language'`.
fn without_charset(value: &[u8]) -> &[u8] {
    value.splitn(3, |&octet| octet == b'\'').nth(2).unwrap_or(value)
}

/// Undoes `%XX`; a `%` that starts none is itself.
fn unescape(value: &[u8]) -> Vec<u8> {
    let digit = |octet: &u8| char::from(*octet).to_digit(16);
    let (mut out, mut rest) = (Vec::with_capacity(value.len()), value);
    while let [first, behind @ ..] = rest {
        match behind {
            [high, low, next @ ..] if *first == b'%' => {
                if let (Some(high), Some(low)) = (digit(high), digit(low)) {
                    out.push((high << 4 | low) as u8);
                    rest = next;
                    continue;
                }
                out.push(*first);
            }
            _ => out.push(*first),
        }
        rest = behind;
    }
    out
}
