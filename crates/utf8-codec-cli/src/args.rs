//! Argument types that several subcommands share.

use core::num::NonZeroUsize;
use core::str::FromStr;
use core::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use utf8_codec::json::EscapePolicy;
use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};

/// The policies for ill-formed input and for the BOM. They are flattened into `convert` and `serve`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct PolicyArgs {
    /// What to do with ill-formed sequences
    #[arg(long, value_name = "POLICY", default_value = "strict", value_parser = error_policy())]
    on_error: ErrorPolicy,
    /// What to do with a BOM at the start of a stream [default: keep]
    #[arg(long, value_name = "POLICY", value_parser = bom_policy())]
    bom: Option<BomPolicy>,
}

impl PolicyArgs {
    pub(super) fn on_error(self) -> ErrorPolicy {
        self.on_error
    }

    /// Returns the policy on the command line, if any.
    pub(super) fn bom(self) -> Option<BomPolicy> {
        self.bom
    }

    /// Creates a decoder with these policies.
    pub(super) fn decoder(self) -> TextDecoder {
        TextDecoder::new().with_error_policy(self.on_error).with_bom_policy(self.bom().unwrap_or_default())
    }
}

/// Parses the name of an [`ErrorPolicy`]. The names and their descriptions are those of the library. A character of the
/// user's choice is not an option, because U+FFFD is what readers of the output know.
pub(super) fn error_policy() -> impl TypedValueParser<Value = ErrorPolicy> {
    let policies = ErrorPolicy::ALL.iter().filter(|policy| !matches!(policy, ErrorPolicy::ReplaceWith(_)));
    let names = policies.map(|policy| PossibleValue::new(policy.name()).help(policy.summary()));
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

/// Parses the name of a [`BomPolicy`].
pub(super) fn bom_policy() -> impl TypedValueParser<Value = BomPolicy> {
    let names = BomPolicy::ALL.iter().map(|policy| PossibleValue::new(policy.name()).help(policy.summary()));
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

/// Parses the name of an [`EscapePolicy`].
pub(super) fn escape_policy() -> impl TypedValueParser<Value = EscapePolicy> {
    let names = EscapePolicy::ALL.iter().map(|policy| PossibleValue::new(policy.name()));
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

/// Parses a number of seconds, which may have decimals.
pub(super) fn seconds(value: &str) -> Result<Duration, &'static str> {
    let seconds: f64 = value.parse().map_err(|_| "not a number of seconds")?;
    if seconds.is_nan() {
        return Err("not a number of seconds");
    }
    if seconds < 0.0 {
        return Err("a time cannot be negative");
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| "the time is too long")
}

/// Parses a number above 0.
pub(super) fn at_least_one(value: &str) -> Result<NonZeroUsize, &'static str> {
    match value.parse::<usize>().map(NonZeroUsize::new) {
        Ok(Some(number)) => Ok(number),
        Ok(None) => Err("must be at least 1"),
        Err(_) if value.parse::<i64>().is_ok() => Err("must be at least 1"),
        Err(_) => Err("not a number"),
    }
}

/// Parses a number, which may be 0.
pub(super) fn whole_number<T: FromStr>(value: &str) -> Result<T, &'static str> {
    value.parse().map_err(|_| match value.parse::<i64>() {
        Ok(..0) => "cannot be negative",
        Ok(_) => "the number is too large",
        Err(_) => "not a number",
    })
}

/// Parses a file mode in octal, 0 to 777.
pub(super) fn file_mode(value: &str) -> Result<u32, &'static str> {
    match u32::from_str_radix(value, 8) {
        Ok(mode @ 0..=0o777) => Ok(mode),
        _ => Err("expected an octal number, such as 660"),
    }
}

/// Checks that a value has the form `HOST:PORT`.
pub(super) fn host_port(value: &str) -> Result<String, &'static str> {
    let (host, port) = value.rsplit_once(':').ok_or("expected HOST:PORT, but there is no port")?;
    if host.is_empty() {
        return Err("expected HOST:PORT, but there is no host; 0.0.0.0 means all addresses of this machine");
    }
    if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
        return Err("expected HOST:PORT; an IPv6 address must be in brackets: [::1]:7000");
    }
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("expected HOST:PORT, but the port is not a number");
    }
    port.parse::<u16>().map_err(|_| "the port is out of range: 0 to 65535")?;
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_invalid_part_of_an_address() {
        for valid in ["127.0.0.1:0", "localhost:65535", "[::1]:80"] {
            assert_eq!(host_port(valid).as_deref(), Ok(valid));
        }
        for (invalid, why) in [
            ("nonsense", "there is no port"),
            (":80", "there is no host"),
            ("::1:80", "brackets"),
            ("::1", "brackets"),
            ("host:", "the port is not a number"),
            ("host:http", "the port is not a number"),
            ("host:+1", "the port is not a number"),
            ("127.0.0.1:65536", "the port is out of range: 0 to 65535"),
            ("127.0.0.1:99999999999999999999", "out of range"),
        ] {
            assert!(host_port(invalid).is_err_and(|error| error.contains(why)), "{invalid}");
        }
    }

    #[test]
    fn the_error_says_why_a_number_is_invalid() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("soon"), Err("not a number of seconds"));
        assert_eq!(seconds("NaN"), Err("not a number of seconds"));
        assert_eq!(seconds("-1"), Err("a time cannot be negative"));
        assert_eq!(seconds("1e300"), Err("the time is too long"));
        assert_eq!(at_least_one("0"), Err("must be at least 1"));
        assert_eq!(at_least_one("-1"), Err("must be at least 1"));
        assert_eq!(at_least_one("many"), Err("not a number"));
        assert_eq!(whole_number("0"), Ok(0_u32));
        assert_eq!(whole_number::<u32>("-1"), Err("cannot be negative"));
        assert_eq!(whole_number::<u32>("4294967296"), Err("the number is too large"));
        assert_eq!(whole_number::<u32>("1.5"), Err("not a number"));
        assert_eq!(file_mode("0660"), Ok(0o660));
        assert!(file_mode("rw-rw----").is_err() && file_mode("668").is_err() && file_mode("1777").is_err());
    }
}
