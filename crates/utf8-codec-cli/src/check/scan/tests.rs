//! The report for every partition of the input into reads.

use utf8_codec::transcode::Encoding;

use super::*;
use crate::check::rules::Rule;

/// Returns the chunks one by one, one in each read.
struct Chunks<'c>(Vec<&'c [u8]>);

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(first) = self.0.first_mut() else { return Ok(0) };
        let len = first.read(buffer)?;
        if first.is_empty() {
            self.0.remove(0);
        }
        Ok(len)
    }
}

#[test]
fn the_report_does_not_depend_on_where_reads_end() {
    let checks = Checks {
        rules: vec![Rule::Control],
        wants_context: true,
        wants_counts: true,
        ..Checks::new(Encoding::Utf8.into())
    };
    let run = |chunks: Vec<&[u8]>| {
        let mut found = Vec::new();
        let report = &mut |diagnostic| found.push(format!("{diagnostic:?}"));
        let summary = scan(&mut Chunks(chunks), &checks, false, report).expect("no error");
        found.push(format!("{summary:?}"));
        found
    };
    let start = "text\n".repeat(PREFIX / 5);
    // In the third one, the bytes after the first line are examined for the guess of the encoding.
    for end in [
        &b"a\xFF\nmore text after it\n"[..],
        b"\x01\n\x02\n\x03\n",
        b"\xED\xA0\n\xED\xB0\x80\n",
        b"\xC3\n\x80",
    ] {
        let input = [start.as_bytes(), end].concat();
        let whole = run(vec![&input]);
        for cut in start.len() - 20..=input.len() {
            assert_eq!(run(vec![&input[..cut], &input[cut..]]), whole, "{cut}");
        }
    }
}
