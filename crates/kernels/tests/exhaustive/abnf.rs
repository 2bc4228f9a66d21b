//! A reader of the part of ABNF (RFC 5234) that the grammar of UTF-8 has.

use core::ops::RangeInclusive;

/// RFC 3629 section 4, as printed there.
pub(crate) const UTF_8: &str = "
   UTF8-char   = UTF8-1 / UTF8-2 / UTF8-3 / UTF8-4
   UTF8-1      = %x00-7F
   UTF8-2      = %xC2-DF UTF8-tail
   UTF8-3      = %xE0 %xA0-BF UTF8-tail / %xE1-EC 2( UTF8-tail ) /
                 %xED %x80-9F UTF8-tail / %xEE-EF 2( UTF8-tail )
   UTF8-4      = %xF0 %x90-BF 2( UTF8-tail ) / %xF1-F3 3( UTF8-tail ) /
                 %xF4 %x80-8F 2( UTF8-tail )
   UTF8-tail   = %x80-BF
";

/// An alternative: a range for each byte.
pub(crate) type Row = Vec<RangeInclusive<u8>>;

/// Returns all alternatives of a rule.
pub(crate) fn rows(rules: &str, name: &str) -> Vec<Row> {
    let rules = rules.replace('(', " ( ").replace(')', " ) ");
    Rules(rules.split_whitespace().collect()).rule(name)
}

/// The rules as tokens.
struct Rules<'r>(Vec<&'r str>);

impl Rules<'_> {
    fn rule(&self, name: &str) -> Vec<Row> {
        let at = self.0.windows(2).position(|pair| pair == [name, "="]);
        let mut rest = &self.0[at.unwrap_or_else(|| panic!("no rule {name}")) + 2..];
        self.alternation(&mut rest)
    }

    fn alternation(&self, rest: &mut &[&str]) -> Vec<Row> {
        let mut found = self.concatenation(rest);
        while let ["/", after @ ..] = *rest {
            *rest = after;
            found.extend(self.concatenation(rest));
        }
        found
    }

    fn concatenation(&self, rest: &mut &[&str]) -> Vec<Row> {
        let mut found = vec![Row::new()];
        // A name before `=` begins the next rule.
        while !matches!(**rest, [] | ["/" | ")", ..] | [_, "=", ..]) {
            let element = self.repetition(rest);
            let with_each = |front: &Row| element.iter().map(|back| [&front[..], back].concat()).collect();
            found = found.iter().flat_map::<Vec<Row>, _>(with_each).collect();
        }
        found
    }

    fn repetition(&self, rest: &mut &[&str]) -> Vec<Row> {
        let Ok(count) = rest[0].parse() else { return self.element(rest) };
        *rest = &rest[1..];
        let [row] = &self.element(rest)[..] else { panic!("alternatives are repeated") };
        vec![vec![row.clone(); count].concat()]
    }

    fn element(&self, rest: &mut &[&str]) -> Vec<Row> {
        let token = rest[0];
        *rest = &rest[1..];
        if token == "(" {
            let found = self.alternation(rest);
            *rest = rest.strip_prefix(&[")"]).expect("a group has an end");
            return found;
        }
        let Some(range) = token.strip_prefix("%x") else { return self.rule(token) };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [first, last] = [first, last].map(|hex| u8::from_str_radix(hex, 16).expect("a hexadecimal byte"));
        vec![vec![first..=last]]
    }
}
