//! `Utf8Reader` with the traits of std: whole characters after every call, and nothing is lost when a
//! call is interrupted, would block or fails.

use std::io::{self, BufRead, Cursor, ErrorKind, Read};

use utf8_codec::io::{BoundedLines, LineTooLong, Utf8Reader};
use utf8_codec::{BomPolicy, TextDecoder, Utf8Error};

use crate::support::hostile::{HostileReader, Step, again, is_temporary, steps};
use crate::support::outcomes::{CRAB, Outcome, outcomes_under, strict_outcomes, utf8_error, whole};
use crate::support::{Rng, every_partition, policies};

fn by_read(mut reader: impl Read, rooms: &[usize]) -> Outcome {
    let (mut out, mut buffer) = (Vec::new(), [0; 64]);
    let mut error = None;
    for &room in rooms.iter().cycle() {
        match again(|| reader.read(&mut buffer[..room])) {
            Ok(0) => break,
            Ok(read) => {
                if rooms.iter().all(|&room| room >= 4) {
                    whole(&buffer[..read]);
                }
                out.extend_from_slice(&buffer[..read]);
            }
            Err(failed) => {
                error = Some(utf8_error(&failed));
                break;
            }
        }
    }
    assert_eq!(reader.read(&mut buffer).unwrap(), 0, "the end is final, and so is an error");
    (whole(&out).to_owned(), error)
}

/// Consumes the buffer in steps of whole characters and at most `bite` bytes.
fn by_fill(mut reader: impl BufRead, bite: usize) -> Outcome {
    let (mut out, mut error) = (String::new(), None);
    loop {
        let taken = match again(|| reader.fill_buf().map(|filled| whole(filled).to_owned())) {
            Ok(filled) if filled.is_empty() => break,
            Ok(filled) => {
                let taken = utf8_codec::boundary::truncate(&filled, bite.max(4));
                out.push_str(taken);
                taken.len()
            }
            Err(failed) => {
                error = Some(utf8_error(&failed));
                break;
            }
        };
        reader.consume(taken);
    }
    assert!(reader.fill_buf().unwrap().is_empty(), "the end is final, and so is an error");
    (out, error)
}

/// Alternates between `read` and `fill_buf` at random, from a seed.
fn by_both(mut reader: impl BufRead, seed: u64) -> Outcome {
    let mut rng = Rng::new(seed);
    let (mut out, mut buffer) = (Vec::new(), [0; 64]);
    loop {
        let room = 1 + rng.below(9);
        let read = if rng.below(2) == 0 {
            again(|| reader.read(&mut buffer[..room]))
        } else {
            // A caller may consume part of a character.
            again(|| {
                let filled = reader.fill_buf()?;
                let read = filled.len().min(room);
                buffer[..read].copy_from_slice(&filled[..read]);
                reader.consume(read);
                Ok(read)
            })
        };
        match read {
            Ok(0) => return (whole(&out).to_owned(), None),
            Ok(read) => out.extend_from_slice(&buffer[..read]),
            Err(error) => return (whole(&out).to_owned(), Some(utf8_error(&error))),
        }
    }
}

fn by_chunk(mut reader: Utf8Reader<impl Read>) -> Outcome {
    let mut out = String::new();
    loop {
        match reader.read_str_chunk() {
            Ok(Some(text)) => {
                assert!(!text.is_empty());
                out.push_str(text);
            }
            Ok(None) => return (out, None),
            Err(error) if is_temporary(&error) => {
                assert_ne!(error.kind(), ErrorKind::Interrupted, "an interrupted read is repeated");
            }
            Err(error) => {
                assert_eq!(reader.read_str_chunk().unwrap(), None, "an error ends the text");
                return (out, Some(utf8_error(&error)));
            }
        }
    }
}

/// Lines, the partial line at the end, and the error that ends them.
fn by_lines<R: BufRead>(mut lines: BoundedLines<R>) -> (Vec<String>, String, Option<Utf8Error>) {
    let (mut out, mut error) = (Vec::new(), None);
    for line in lines.by_ref() {
        match line {
            Ok(line) => out.push(line),
            Err(failed) if failed.kind() == ErrorKind::WouldBlock => {}
            Err(failed) => error = Some(utf8_error(&failed)),
        }
    }
    assert!(lines.next().is_none());
    (out, lines.partial().to_owned(), error)
}

fn every_way(chunks: &[&[u8]], decoder: TextDecoder, seed: u64, expected: &Outcome) {
    let inner = || HostileReader::new(steps(chunks));
    let own = || Utf8Reader::with_decoder(inner(), decoder.clone());
    let short = || Utf8Reader::with_decoder(inner().at_most(3), decoder.clone());
    for rooms in [&[64][..], &[1], &[4, 2, 7, 3], &[5]] {
        assert_eq!(by_read(own(), rooms), *expected, "{rooms:?} {chunks:02X?}");
        assert_eq!(by_read(short(), rooms), *expected, "{rooms:?} {chunks:02X?}");
    }
    for bite in [64, 4, 5] {
        assert_eq!(by_fill(own(), bite), *expected, "{bite} {chunks:02X?}");
        assert_eq!(by_fill(short(), bite), *expected, "{bite} {chunks:02X?}");
    }
    assert_eq!(by_both(own(), seed), *expected, "{seed} {chunks:02X?}");
    assert_eq!(by_both(short(), seed), *expected, "{seed} {chunks:02X?}");
    assert_eq!(by_chunk(own()), *expected, "{chunks:02X?}");
    assert_eq!(by_chunk(short()), *expected, "{chunks:02X?}");

    let (text, error) = expected;
    let mut lines: Vec<_> =
        text.split_inclusive('\n').map(|line| line.trim_end_matches('\n').to_owned()).collect();
    // The line of the error is not complete.
    let is_partial = error.is_some() && !text.ends_with('\n');
    let partial = if is_partial { lines.pop().unwrap_or_default() } else { String::new() };
    let expected = (lines, partial, *error);
    assert_eq!(by_lines(own().into_bounded_lines(usize::MAX)), expected, "{chunks:02X?}");
    assert_eq!(by_lines(short().into_bounded_lines(1000)), expected, "{chunks:02X?}");
}

#[test]
fn a_reader_returns_the_same_for_every_way_of_reading() {
    strict_outcomes(100, 40, |chunks, seed, expected| every_way(chunks, TextDecoder::new(), seed, expected));
}

#[test]
fn a_reader_applies_every_policy_for_every_partition() {
    for policy in policies() {
        for bom in [BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject] {
            outcomes_under(TextDecoder::new().with_error_policy(policy).with_bom_policy(bom), 12, every_way);
        }
    }
}

#[test]
fn reading_continues_after_an_inner_error_at_every_position() {
    for cut in 0..=CRAB.len() {
        for kind in [ErrorKind::TimedOut, ErrorKind::Interrupted, ErrorKind::WouldBlock] {
            let reader = || {
                Utf8Reader::new(HostileReader::new([
                    Step::Chunk(CRAB.as_bytes()[..cut].to_vec()),
                    Step::Fail(kind),
                    Step::Chunk(CRAB.as_bytes()[cut..].to_vec()),
                ]))
            };
            let expected = (CRAB.to_owned(), None);
            assert_eq!(by_read(reader(), &[64]), expected);
            assert_eq!(by_read(reader(), &[3]), expected);
            assert_eq!(by_fill(reader(), 64), expected);
            assert_eq!(by_fill(reader(), 4), expected);
            assert_eq!(by_chunk(reader()), expected);
        }
    }
}

#[test]
fn an_error_of_the_inner_reader_is_returned_unchanged() {
    let failing = || Utf8Reader::new(HostileReader::new([Step::Fail(ErrorKind::ConnectionReset)]));
    let (mut reader, mut buffered) = (failing(), failing());
    let (mut chunks, mut lines) = (failing(), failing().into_bounded_lines(9));
    let failed = [
        again(|| reader.read(&mut [0; 9]).map(drop)),
        again(|| buffered.fill_buf().map(drop)),
        again(|| chunks.read_str_chunk().map(drop)),
        again(|| lines.next().expect("an error").map(drop)),
    ];
    for error in failed.map(Result::unwrap_err) {
        assert_eq!((error.kind(), error.get_ref().is_none()), (ErrorKind::ConnectionReset, true));
    }
}

#[test]
fn adapters_for_readers_work_on_a_utf8_reader() {
    let text = "eins\r\nzw\u{F6}lf\nend";
    let mut found = String::new();
    assert_eq!(Utf8Reader::new(text.as_bytes()).read_to_string(&mut found).unwrap(), 16);
    assert_eq!(found, text);

    let lines: Vec<_> = Utf8Reader::new(text.as_bytes()).lines().map(Result::unwrap).collect();
    assert_eq!(lines, ["eins", "zw\u{F6}lf", "end"]);

    let mut copy = Vec::new();
    io::copy(&mut Utf8Reader::new(Cursor::new(text)), &mut copy).unwrap();
    assert_eq!(whole(&copy), text);

    // First `read_line`, then `read`, with more bytes in the buffer than one read returns.
    let long = format!("first\n{}", "\u{20AC}".repeat(10_000));
    let mut reader = Utf8Reader::new(long.as_bytes());
    let (mut line, mut rest) = (String::new(), String::new());
    reader.read_line(&mut line).unwrap();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(line + &rest, long);
}

#[test]
fn a_read_into_an_empty_buffer_reads_nothing() {
    let mut reader = Utf8Reader::new(&b"a"[..]);
    assert_eq!(reader.read(&mut []).unwrap(), 0);
    assert_eq!(reader.read(&mut [0; 4]).unwrap(), 1);
}

#[test]
fn the_rest_of_a_character_is_not_returned_as_text() {
    let mut reader = Utf8Reader::new("\u{20AC}uro".as_bytes());
    assert_eq!(reader.read(&mut [0]).unwrap(), 1);
    assert_eq!(reader.read_str_chunk().unwrap_err().kind(), ErrorKind::InvalidInput);
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, &"\u{20AC}uro".as_bytes()[1..], "and it is not lost");

    let mut lines = Utf8Reader::new("\u{20AC}\n1\n".as_bytes()).into_bounded_lines(9);
    lines.get_mut().consume(0);
    assert_eq!(lines.get_mut().read(&mut [0]).unwrap(), 1);
    assert_eq!(lines.next().unwrap().unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(lines.next().unwrap().unwrap(), "1");
}

/// A reader that returns a length greater than that of the buffer, then data.
struct InvalidLength {
    too_long: usize,
}

impl Read for InvalidLength {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.too_long > 0 {
            self.too_long -= 1;
            return Ok(buf.len() + 1);
        }
        buf[..2].copy_from_slice(b"ok");
        Ok(2)
    }
}

#[test]
fn a_length_greater_than_that_of_the_buffer_is_an_error() {
    let mut reader = Utf8Reader::new(InvalidLength { too_long: 2 });
    assert_eq!(reader.fill_buf().unwrap_err().kind(), ErrorKind::Other);
    assert_eq!(reader.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::Other);
    assert_eq!(reader.read_str_chunk().unwrap(), Some("ok"));
}

/// Lines, and the numbers of lines that are too long.
type Lines = Vec<Result<String, u64>>;

/// Returns the lines of `into_bounded_lines`.
fn bounded(input: &[u8], max: usize, chunks: &[&[u8]]) -> Lines {
    let inner = || HostileReader::new(steps(chunks));
    let whole = collect(Utf8Reader::new(inner()).into_bounded_lines(max), max);
    let short = collect(Utf8Reader::new(inner().at_most(1)).into_bounded_lines(max), max);
    assert_eq!(whole, short, "{input:02X?}");
    whole
}

fn collect<R: BufRead>(lines: BoundedLines<R>, max: usize) -> Lines {
    let mut found = Vec::new();
    for line in lines {
        match line {
            Ok(line) => found.push(Ok(line)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidData);
                let too_long: &LineTooLong = error.get_ref().unwrap().downcast_ref().unwrap();
                assert_eq!(too_long.limit, max);
                assert!(too_long.start.len() <= max && !format!("{too_long:?}").contains("start: \""));
                found.push(Err(too_long.number));
            }
        }
    }
    found
}

#[test]
fn a_line_above_the_limit_comes_with_its_start() {
    let line = format!("ab\u{1F980}{}", "c".repeat(2_000));
    for (max, start) in [(0, ""), (1, "a"), (5, "ab"), (6, "ab\u{1F980}"), (1_500, &line[..1024])] {
        let inner = || HostileReader::new(steps(&line.as_bytes().chunks(7).collect::<Vec<_>>()));
        for reader in [Utf8Reader::new(inner()), Utf8Reader::new(inner().at_most(1))] {
            let error = reader
                .into_bounded_lines(max)
                .find_map(|line| line.err().filter(|error| error.kind() == ErrorKind::InvalidData));
            let error: LineTooLong = error.expect("too long").downcast().unwrap();
            assert_eq!(error.start, start, "{max}");
        }
    }
}

#[test]
fn a_line_above_the_limit_is_reported_once_for_every_partition() {
    let ok = |line: &str| Ok(line.to_owned());
    let cases: [(&[u8], usize, Lines); 13] = [
        (b"abc\nd", 3, vec![ok("abc"), ok("d")]),
        (b"abc\r\nd\r", 3, vec![ok("abc"), ok("d\r")]),
        (b"abc\r\nabc\r", 3, vec![ok("abc"), Err(2)]),
        (b"abcd\nd\n", 3, vec![Err(1), ok("d")]),
        (b"ab\ncdefg\nh", 3, vec![ok("ab"), Err(2), ok("h")]),
        (b"abc\rd\ne", 3, vec![Err(1), ok("e")]),
        (b"abc\r\r\n", 3, vec![Err(1)]),
        (b"abcdef", 3, vec![Err(1)]),
        (b"abcdef\n", 0, vec![Err(1)]),
        (b"\n\r\n\r", 0, vec![ok(""), ok(""), Err(3)]),
        (b"", 0, vec![]),
        ("\u{20AC}\n\u{20AC}".as_bytes(), 2, vec![Err(1), Err(2)]),
        ("\u{20AC}\n\u{1F980}".as_bytes(), 4, vec![ok("\u{20AC}"), ok("\u{1F980}")]),
    ];
    for (input, max, expected) in cases {
        every_partition(input, |chunks| {
            assert_eq!(bounded(input, max, chunks), expected, "{max} {chunks:02X?}");
        });
    }
}

#[test]
fn bounded_lines_count_what_the_policy_repaired() {
    let replace = TextDecoder::new().with_error_policy(utf8_codec::ErrorPolicy::Replace);
    let mut lines = Utf8Reader::with_decoder(&b"a\xFF\xFF\nb\xE2\x82"[..], replace).into_bounded_lines(9);
    assert_eq!(lines.counters().total(), 0);
    assert_eq!(lines.by_ref().map(Result::unwrap).collect::<Vec<_>>(), ["a\u{FFFD}\u{FFFD}", "b\u{FFFD}"]);
    let counters = lines.counters();
    assert_eq!((counters.total(), counters.of(utf8_codec::ErrorKind::InvalidLead)), (3, 2));
    let strict = &mut Utf8Reader::new(&b"a\xFF"[..]).into_bounded_lines(9);
    assert!(strict.next().unwrap().is_err());
    assert_eq!(strict.counters().total(), 1);
}

#[test]
fn a_line_without_an_end_is_discarded_in_constant_memory() {
    let endless = io::repeat(b'x').take(50 << 20).chain(&b"\nnext"[..]);
    let mut lines = Utf8Reader::new(endless).into_bounded_lines(1000);
    let error = lines.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "line 1 is longer than 1000 bytes");
    assert_eq!(lines.partial(), "");
    assert_eq!(lines.next().unwrap().unwrap(), "next");
    assert!(lines.next().is_none());
    assert!(lines.get_ref().decoder().offset() > 50 << 20);
}
