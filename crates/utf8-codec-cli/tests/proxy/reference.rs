//! `docs/operating.md` and the program have the same flags, with the same defaults, and the same metrics.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::program::{program, run, stdout};
use crate::support::server::{Server, get};

const REFERENCE: &str = include_str!("../linked/operating.md");

/// Returns the cells of the table below this heading, without the header row and the line below it.
fn table(heading: &str) -> Vec<Vec<String>> {
    let (_, section) = REFERENCE.split_once(&format!("\n{heading}\n")).expect(heading);
    let lines = section.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    let cells = |row: &str| {
        let row = row.replace("\\|", "\u{0}");
        row.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
    };
    rows.map(cells).collect()
}

/// Returns the texts between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Returns the flags of a subcommand, each with its default.
fn flags(subcommand: &str) -> BTreeMap<String, Option<String>> {
    let help = stdout(&run(&mut program(&[subcommand, "--help"]), b""));
    let (_, options) = help.split_once("\nOptions:\n").expect("a list of options");
    let mut flags = BTreeMap::new();
    let mut flag = None;
    for line in options.lines() {
        let words = line.trim_start();
        let name = words.split([' ', '.']).find(|word| word.starts_with("--"));
        if line.starts_with("  ") && !line.starts_with("          ") && words.starts_with('-') {
            flag = name.map(str::to_owned);
            flags.insert(flag.clone().expect("a long name"), None);
        }
        let default = words.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
        if let (Some(flag), Some((default, _))) = (&flag, default) {
            flags.insert(flag.clone(), Some(default.to_owned()));
        }
    }
    for known in ["--help", "--verbose"] {
        assert!(flags.remove(known).is_some(), "{known}");
    }
    flags
}

#[test]
fn every_flag_has_a_row_with_its_default() {
    let rows = table("## Flags");
    let documented: BTreeSet<_> = rows
        .iter()
        .flat_map(|row| quoted(&row[0]))
        .filter(|flag| flag.starts_with("--"))
        .map(|flag| flag.split(' ').next().unwrap().to_owned())
        .collect();
    let flags = flags("proxy");
    assert_eq!(documented, flags.keys().cloned().collect());
    assert!(flags.len() > 20, "{flags:?}");
    for (flag, default) in &flags {
        let of_flag = |row: &&Vec<String>| quoted(&row[0]).any(|name| name.split(' ').next() == Some(flag));
        let row = rows.iter().find(of_flag).unwrap();
        // A row with several flags has their defaults in the same order.
        let at = quoted(&row[0]).position(|name| name.split(' ').next() == Some(flag)).unwrap();
        let documented = row[1].split(", ").nth(at).unwrap_or_default().trim_matches('`');
        match default {
            // The text after a comma is an explanation.
            Some(default) => assert_eq!(Some(documented), default.split(',').next(), "{flag}"),
            // If the program prints no default, the row describes it in words.
            None => {
                assert!(!documented.is_empty() && documented.parse::<f64>().is_err(), "{flag}: {documented}")
            }
        }
    }
    // Every flag of `serve` is also a flag of `proxy`.
    let serve: BTreeSet<_> = self::flags("serve").into_keys().collect();
    let missing: Vec<_> = serve.iter().filter(|flag| !documented.contains(*flag)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_metric_has_a_row_with_its_labels() {
    let admin = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let proxy = Server::start(&["proxy", "--admin", &admin, "--linger", "0.5"]);
    // A metric with labels is printed from its first sample on.
    proxy.ask_and_be_reset(&[b"\xFF"]);
    let (_, text) = get(&admin, "/metrics");
    let mut metrics = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, _) = line.split_once(' ').unwrap();
        // A metric without samples has no labels.
        let sample = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('{'));
        let labels = sample.map(|sample| {
            let labels = sample.split('}').next().unwrap().split(',');
            labels.map(|label| label.split('=').next().unwrap().to_owned()).collect::<Vec<_>>()
        });
        metrics.insert(name.to_owned(), labels);
    }
    let rows = table("## Metrics");
    let documented: BTreeSet<_> = rows.iter().flat_map(|row| quoted(&row[0])).map(str::to_owned).collect();
    assert_eq!(documented, metrics.keys().cloned().collect());
    for (name, labels) in metrics {
        let row = rows.iter().find(|row| quoted(&row[0]).any(|cell| cell == name)).unwrap();
        if let Some(labels) = labels {
            assert_eq!(quoted(&row[1]).collect::<Vec<_>>(), labels, "{name}");
        }
    }
}
