//! The report for every partition of the input into reads.

use core::num::NonZeroUsize;
use std::collections::HashMap;

use test_support::Rng;
use utf8_codec_encodings::Encoding;

use super::*;
use crate::check::diagnostic::{ILL_FORMED, Problem};
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

/// Errors above the limit are only counted. What is reported, and where it is, is the same as if all were reported.
#[test]
fn errors_that_are_not_reported_change_nothing_else() {
    let run = |input: &[u8], max_errors: Option<usize>, wants_counts: bool| {
        let checks = Checks {
            rules: vec![Rule::Control, Rule::Invisible, Rule::Bidi],
            max_errors: max_errors.and_then(NonZeroUsize::new),
            wants_counts,
            ..Checks::new(Encoding::Utf8.into())
        };
        let mut found = Vec::new();
        let summary = scan(&mut &input[..], &checks, false, &mut |diagnostic| found.push(diagnostic))
            .expect("no error");
        (found, summary)
    };
    let pieces: [&[u8]; 14] = [
        b"a",
        b"word ",
        "\u{E9}".as_bytes(),
        "\u{20AC}".as_bytes(),
        "\u{1F980}".as_bytes(),
        b"\xFF",
        b"\xE2\x82",
        b"\xF0\x9F\xA6",
        b"\xED\xA0\x80",
        b"\xC3",
        &[0x80; 40],
        b"\x1B",
        "\u{200B}".as_bytes(),
        "\u{202E}".as_bytes(),
    ];
    let mut rng = Rng::new(53);
    let lists = [(&pieces[..], 9), (&pieces[..], 500), (&pieces[..11], usize::MAX), (&pieces[2..], 40)];
    // In the first of them a sequence ends where the next one starts, also at the end of a block.
    for (pieces, lines) in [(&pieces[5..10], 30); 8].into_iter().chain(lists) {
        let mut input = "text\n".repeat(PREFIX / 5).into_bytes();
        while input.len() < PREFIX + BLOCK + 3000 {
            let random = rng.next() as usize;
            let is_end = lines < usize::MAX && random.is_multiple_of(lines);
            input.extend_from_slice(if is_end { b"\n" } else { pieces[random / 1024 % pieces.len()] });
        }
        let (all, counted) = run(&input, None, true);
        // Where blocks end changes no error.
        let mut decoder = Utf8Decoder::new();
        let errors = decoder.feed(&input).filter_map(|piece| match piece {
            Piece::IllFormed(error) => Some((error.offset, error.kind, u64::from(error.len))),
            _ => None,
        });
        let mut errors: Vec<_> = errors.collect();
        errors.extend(decoder.finish().err().map(|error| (error.offset, error.kind, error.len.into())));
        let found = all.iter().filter_map(|diagnostic| match diagnostic.problem {
            Problem::IllFormed(kind) => Some((diagnostic.location.offset, kind, diagnostic.len)),
            _ => None,
        });
        assert!(found.eq(errors));
        for max_errors in [1, 700] {
            for wants_counts in [false, true] {
                let (found, summary) = run(&input, Some(max_errors), wants_counts);
                let mut shown = HashMap::new();
                let expected = all.iter().filter(|diagnostic| {
                    let shown = shown.entry(diagnostic.problem.name()).or_insert(0);
                    *shown += 1;
                    *shown <= max_errors
                });
                assert_eq!(format!("{found:?}"), format!("{:?}", expected.collect::<Vec<_>>()));
                let numbers = |summary: &Summary| {
                    (summary.errors, summary.lines, summary.bytes, format!("{:?}", summary.guess))
                };
                assert_eq!(numbers(&summary), numbers(&counted));
                assert!(
                    !wants_counts
                        || (summary.characters, summary.longest_line)
                            == (counted.characters, counted.longest_line)
                );
            }
        }
        // Another decoder counts the same.
        let text = String::from_utf8_lossy(&input);
        let control = text.chars().filter(|character| *character == '\u{1B}').count() as u64;
        assert_eq!((counted.number("control"), counted.characters), (control, text.chars().count() as u64));
        assert_eq!(
            counted.longest_line,
            text.lines().map(|line| line.chars().count() as u64).max().unwrap_or(0)
        );
        assert_eq!(counted.number(ILL_FORMED), text.matches('\u{FFFD}').count() as u64);
    }
}
