//! The names of the policies.

use utf8_codec::{BomPolicy, ErrorPolicy};

/// The tables for users have a row for each policy.
#[test]
fn every_policy_is_in_the_tables_of_the_documentation() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/README.md");
    let readme = std::fs::read_to_string(readme).expect("docs/README.md");
    let rustdoc = include_str!("../../src/policy/on_error.rs")
        .split("pub enum ErrorPolicy")
        .next()
        .expect("documentation");
    for policy in ErrorPolicy::ALL {
        let debug = format!("{policy:?}");
        let variant = debug.split('(').next().expect("a name");
        assert!(readme.contains(&format!("`{variant}`")), "docs/README.md does not name {variant}");
        let is_row = |line: &str| line.starts_with("/// | `") && line[6..].contains(variant);
        assert!(rustdoc.lines().any(is_row), "the documentation of ErrorPolicy has no row for {variant}");
    }
}

#[test]
fn names_are_parsed() {
    for policy in ErrorPolicy::ALL {
        assert_eq!(policy.to_string().parse(), Ok(*policy));
        assert_eq!(policy.name().parse(), Ok(*policy));
    }
    for policy in BomPolicy::ALL {
        assert_eq!(policy.to_string().parse(), Ok(*policy));
    }
    for unknown in ["", "Strict", "strict=", "substitute=é", "substitute=ab", "replace-with=", "=?"] {
        assert!(unknown.parse::<ErrorPolicy>().is_err(), "{unknown}");
    }
    let error = "no".parse::<BomPolicy>().expect_err("not a policy");
    assert_eq!(error.to_string(), "unknown policy; known are keep, strip, require, reject");
}
