//! A parser for the part of ABNF (RFC 5234) that grammars of bytes use.

use std::collections::HashMap;
use std::ops::RangeInclusive;

/// An alternative: a range for each byte.
pub type Row = Vec<RangeInclusive<u8>>;

/// Returns all alternatives of a rule. The rules must not contain unbounded repetition.
pub fn rows(text: &str, name: &str) -> Vec<Row> {
    let mut rules: HashMap<String, String> = HashMap::new();
    let mut current = String::new();
    for line in text.lines() {
        let line = line.split(';').next().unwrap_or_default();
        if let Some((rule, elements)) = line.split_once('=') {
            current = rule.trim().to_ascii_lowercase();
            assert!(
                rules.insert(current.clone(), elements.to_owned()).is_none(),
                "{current} is defined twice"
            );
        } else if !line.trim().is_empty() {
            rules.get_mut(&current).expect("a rule before its continuation").push_str(line);
        }
    }
    Reader { rules: &rules, rest: "" }.rule(name)
}

struct Reader<'r> {
    rules: &'r HashMap<String, String>,
    rest: &'r str,
}

impl Reader<'_> {
    fn rule(&self, name: &str) -> Vec<Row> {
        let elements = self.rules.get(&name.to_ascii_lowercase()).unwrap_or_else(|| panic!("no rule {name}"));
        let mut reader = Reader { rules: self.rules, rest: elements };
        let found = reader.alternation();
        assert!(reader.rest.trim().is_empty(), "not understood in {name}: {}", reader.rest);
        found
    }

    fn alternation(&mut self) -> Vec<Row> {
        let mut found = self.concatenation();
        while self.take("/") {
            found.extend(self.concatenation());
        }
        found
    }

    fn concatenation(&mut self) -> Vec<Row> {
        let mut found: Vec<Row> = vec![Vec::new()];
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() || self.rest.starts_with(['/', ')']) {
                return found;
            }
            let element = self.repetition();
            found = found
                .iter()
                .flat_map(|front| element.iter().map(move |back| [&front[..], back].concat()))
                .collect();
        }
    }

    fn repetition(&mut self) -> Vec<Row> {
        let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (count, rest) = self.rest.split_at(digits);
        self.rest = rest;
        let count = if count.is_empty() { 1 } else { count.parse().expect("a number") };
        let element = self.element();
        let mut found: Vec<Row> = vec![Vec::new()];
        for _ in 0..count {
            found = found
                .iter()
                .flat_map(|front| element.iter().map(move |back| [&front[..], back].concat()))
                .collect();
        }
        found
    }

    fn element(&mut self) -> Vec<Row> {
        if self.take("(") {
            let found = self.alternation();
            assert!(self.take(")"), "no ) before {}", self.rest);
            return found;
        }
        if self.take("%x") {
            let first = self.hex();
            if self.take("-") {
                return vec![vec![first..=self.hex()]];
            }
            let mut row = vec![first..=first];
            while self.take(".") {
                let byte = self.hex();
                row.push(byte..=byte);
            }
            return vec![row];
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(self.rest.len());
        assert!(end > 0, "not understood: {}", self.rest);
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.rule(name)
    }

    fn hex(&mut self) -> u8 {
        let (digits, rest) = self.rest.split_at(2);
        self.rest = rest;
        u8::from_str_radix(digits, 16).expect("two hexadecimal digits")
    }

    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start();
        // `%x00-7F` and `%x00.00` have no space inside.
        let rest = if matches!(token, "-" | ".") { self.rest } else { rest };
        match rest.strip_prefix(token) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }
}
