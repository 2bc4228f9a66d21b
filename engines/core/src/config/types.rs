//! Which media types are text.

use utf8_codec_media::content_type::ContentType;

use super::error::ConfigError;

/// Which media types are text: `type/subtype`, `type/*`, `*/*`, or `+suffix`.
#[derive(Clone, Debug)]
pub(super) enum TypePattern {
    Any,
    Top(String),
    Type(String, String),
    Suffix(String),
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
}

impl TypePattern {
    pub(super) fn parse(pattern: &str) -> Result<Self, ConfigError> {
        match (pattern.strip_prefix('+'), pattern.split_once('/')) {
            (Some(suffix), None) if is_token(suffix) => Ok(Self::Suffix(suffix.to_owned())),
            (None, Some(("*", "*"))) => Ok(Self::Any),
            (None, Some((top, "*"))) if is_token(top) => Ok(Self::Top(top.to_owned())),
            (None, Some((top, subtype))) if is_token(top) && is_token(subtype) => {
                Ok(Self::Type(top.to_owned(), subtype.to_owned()))
            }
            _ => Err(ConfigError(
                "`content_types` has an entry that is not `type/subtype`, `type/*`, `*/*` or `+suffix`"
                    .into(),
            )),
        }
    }

    pub(super) fn matches(&self, given: &ContentType<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::Top(top) => given.top().eq_ignore_ascii_case(top),
            Self::Type(top, subtype) => given.is(top, subtype),
            Self::Suffix(suffix) => given.suffix().is_some_and(|given| given.eq_ignore_ascii_case(suffix)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_are_types_ranges_and_suffixes() {
        let given = |text: &'static str| ContentType::parse(text.as_bytes()).unwrap();
        let matches = |pattern: &str, text| TypePattern::parse(pattern).unwrap().matches(&given(text));
        assert!(matches("text/*", "TEXT/plain") && !matches("text/*", "image/png"));
        assert!(
            matches("application/json", "application/JSON; a=b") && !matches("application/json", "text/json")
        );
        assert!(matches("+json", "application/problem+json") && !matches("+json", "application/json"));
        assert!(matches("*/*", "image/png"));
    }
}
