//! What protocols add to lines: the same bytes and offsets for every partition, and those of a model of the whole stream.

use utf8_codec_mail::unwrap::{DotUnstuffer, Unfolder};

use crate::support::{Rng, every_partition, some_partitions};

/// Collects parts, and checks that each byte is the one at its offset.
fn collect(wire: &[u8], bytes: &mut Vec<(u64, u8)>, offset: u64, part: &[u8]) {
    assert!(!part.is_empty());
    for (at, &byte) in (offset..).zip(part) {
        assert_eq!(wire[at as usize], byte);
        assert!(bytes.last().is_none_or(|&(before, _)| before < at), "in order");
        bytes.push((at, byte));
    }
}

fn text_of(bytes: &[(u64, u8)]) -> Vec<u8> {
    bytes.iter().map(|&(_, byte)| byte).collect()
}

/// Every input of these bytes up to a length, and random ones of more.
fn inputs(bytes: &[u8], max: u32) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(5545);
    let short = (0..=max).flat_map(|len| {
        (0..bytes.len().pow(len)).map(move |number| {
            (0..len).map(|at| bytes[number / bytes.len().pow(at) % bytes.len()]).collect::<Vec<u8>>()
        })
    });
    let long = (0..300).map(|_| (0..40 + rng.below(200)).map(|_| bytes[rng.below(bytes.len())]).collect());
    short.collect::<Vec<_>>().into_iter().chain(long).collect()
}

fn partitions(input: &[u8], each: impl FnMut(&[&[u8]])) {
    if input.len() < 10 { every_partition(input, each) } else { some_partitions(input, 10, each) }
}

#[test]
fn folds_are_removed_for_every_partition() {
    for input in inputs(b"\xC3\r\n \t", 6) {
        let mut expected = input.clone();
        while let Some(at) = expected.windows(2).position(|two| matches!(two, [b'\n', b' ' | b'\t'])) {
            let start = if at > 0 && expected[at - 1] == b'\r' { at - 1 } else { at };
            // A mark, so that what remains is not a new fold.
            expected.splice(start..at + 2, [0xFF]);
        }
        expected.retain(|&byte| byte != 0xFF);
        partitions(&input, |chunks| {
            let (mut unfolder, mut bytes) = (Unfolder::new(), Vec::new());
            for chunk in chunks {
                unfolder.feed_with(chunk, |offset, part| collect(&input, &mut bytes, offset, part));
            }
            unfolder.finish_with(|offset, part| collect(&input, &mut bytes, offset, part));
            unfolder.finish_with(|_, _| panic!("nothing is held"));
            assert_eq!(text_of(&bytes), expected, "{chunks:?}");
            assert_eq!(unfolder.offset(), input.len() as u64);
        });
    }
}

/// Returns the text, the length of the data with its end, and the first CR or LF that is not in a CRLF.
fn unstuffed(wire: &[u8]) -> (Vec<u8>, Option<usize>, Option<u64>) {
    let with_start = [b"\r\n", wire].concat();
    let end = with_start.windows(5).position(|five| five == b"\r\n.\r\n");
    let data = &wire[..end.unwrap_or(wire.len())];
    let lines: Vec<&[u8]> = data.split_inclusive(|&byte| byte == b'\n').collect();
    let mut text = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_start = at == 0 || lines[at - 1].ends_with(b"\r\n");
        let is_pending = end.is_none() && at + 1 == lines.len() && is_start && matches!(*line, b"." | b".\r");
        text.extend_from_slice(if is_pending {
            b""
        } else {
            line.strip_prefix(b".").filter(|_| is_start).unwrap_or(line)
        });
    }
    let is_bare = |at: &usize| match data[*at] {
        b'\r' => data.get(at + 1).is_some_and(|&next| next != b'\n'),
        b'\n' => *at == 0 || data[at - 1] != b'\r',
        _ => false,
    };
    (text, end.map(|end| end + 3), (0..data.len()).find(is_bare).map(|at| at as u64))
}

#[test]
fn dots_are_removed_for_every_partition() {
    for input in inputs(b".\r\na", 7) {
        let expected = unstuffed(&input);
        partitions(&input, |chunks| {
            let (mut dots, mut bytes, mut end, mut before) = (DotUnstuffer::new(), Vec::new(), None, 0);
            for chunk in chunks {
                let taken = dots.feed_with(chunk, |offset, part| collect(&input, &mut bytes, offset, part));
                end = taken.map(|taken| before + taken);
                before += chunk.len();
                if end.is_some() {
                    break;
                }
            }
            assert_eq!((text_of(&bytes), end, dots.first_bare_break()), expected, "{chunks:?}");
            assert_eq!(dots.offset(), end.unwrap_or(input.len()) as u64);
        });
    }
}

#[test]
fn a_bare_break_is_one_of_its_own_data() {
    let wire = b"a\rb\r\n.\r\nc\r\n.\r\nd\ne\r\n.\r\nf\n";
    partitions(wire, |chunks| {
        let (mut dots, mut found) = (DotUnstuffer::new(), Vec::new());
        for chunk in chunks {
            let mut rest = *chunk;
            while let Some(taken) = dots.feed_with(rest, |_, _| {}) {
                found.push(dots.first_bare_break());
                rest = &rest[taken..];
            }
        }
        assert_eq!(found, [Some(1), None, Some(15)], "{chunks:?}");
        assert_eq!(dots.first_bare_break(), Some(23), "{chunks:?}");
    });
}
