//! Parameters in sections and in percent-encoding (RFC 2231 §3, §4).

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::percent;

/// The name and the unquoted value of a parameter.
pub(super) type Parameter<'h> = (&'h str, Cow<'h, [u8]>);

/// The name of a parameter: `base ["*" section] ["*"]`.
struct Name<'h> {
    base: &'h str,
    section: Option<usize>,
    extended: bool,
}

impl<'h> Name<'h> {
    /// Returns `None` for an ordinary name. An ordinary name contains no `*`, starts with `*`, or has a section that is
    /// not a number.
    fn of(name: &'h str) -> Option<Self> {
        let (rest, extended) = name.strip_suffix('*').map_or((name, false), |rest| (rest, true));
        if rest.is_empty() || rest.starts_with('*') {
            return None;
        }
        if let Some((base, digits)) = rest.split_once('*') {
            // A number with leading zeros or a sign is not a section (RFC 2231 §7), so the name is an ordinary one.
            let section =
                digits.parse().ok().filter(|_| digits.len() == 1 || !digits.starts_with(['0', '+']))?;
            return Some(Self { base, section: Some(section), extended });
        }
        extended.then_some(Self { base: rest, section: None, extended })
    }
}

/// Whether a parameter with this name may have an empty unquoted value: a later section in percent-encoding
/// (`extended-other-values`, RFC 2231 §7), or a `charset`, which mail programs write without a value.
pub(super) fn may_be_empty(name: &str) -> bool {
    name.eq_ignore_ascii_case("charset")
        || Name::of(name).is_some_and(|name| name.extended && name.section.is_some_and(|section| section > 0))
}

/// Joins the sections of each parameter in numerical order and decodes percent-encoding.
///
/// Sections after a gap are ignored, as in other programs. A section that occurs twice becomes a separate parameter, so
/// that it conflicts with the joined one. The sections are sorted, because a search for each of them would be
/// quadratic, and a header may have thousands.
pub(super) fn join(parameters: Vec<Parameter<'_>>) -> Vec<Parameter<'_>> {
    let mut joined = Vec::with_capacity(parameters.len());
    let mut sections = Vec::new();
    for (name, value) in parameters {
        match Name::of(name) {
            None => joined.push((name, value)),
            Some(Name { base, section: None, .. }) => {
                joined.push((base, Cow::Owned(percent::decoded(without_charset(&value)).collect())));
            }
            Some(Name { base, section: Some(section), extended }) => {
                sections.push((base, section, extended, value));
            }
        }
    }
    sections.sort_by(|one, two| in_any_case(one.0).cmp(in_any_case(two.0)).then(one.1.cmp(&two.1)));
    for sections in sections.chunk_by(|one, two| one.0.eq_ignore_ascii_case(two.0)) {
        let mut whole = Vec::new();
        let mut next = 0;
        for (base, section, extended, value) in sections {
            let value = if *extended && *section == 0 { without_charset(value) } else { value };
            let value = if *extended { percent::decoded(value).collect() } else { value.to_vec() };
            if *section == next {
                whole.extend(value);
                next += 1;
            } else if *section < next {
                joined.push((base, Cow::Owned(value)));
            } else {
                break;
            }
        }
        if next > 0 {
            joined.push((sections[0].0, Cow::Owned(whole)));
        }
    }
    joined
}

fn in_any_case(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().map(|byte| byte.to_ascii_lowercase())
}

/// Returns the part after `charset'language'`.
pub(super) fn without_charset(value: &[u8]) -> &[u8] {
    value.splitn(3, |&byte| byte == b'\'').nth(2).unwrap_or(value)
}
