//! The logs of containers: the lines are those of a naive reader for every partition, and their limits.

use std::io;

use bytes::BytesMut;
use tokio_util::codec::Decoder;
use utf8_codec::codec::Utf8FramesCodec;
use utf8_codec::codec::framing::{BlockingFrames, CriCodec, CriLine, CriStream, FramingError};

use crate::support::{Rng, every_partition, some_partitions};

/// The time, the stream, the text, the offset, and whether the line is whole; or the message of an error.
type Item = Result<(String, CriStream, Vec<u8>, u64, bool), String>;

fn item(decoded: Result<CriLine, FramingError>) -> Item {
    let line = decoded.map_err(|error| error.to_string())?;
    Ok((line.time().to_owned(), line.stream(), line.text().to_vec(), line.offset(), line.is_whole()))
}

fn is_error(decoded: io::Result<Option<Result<CriLine, FramingError>>>) -> bool {
    matches!(decoded, Ok(Some(Err(_))))
}

fn decode(mut codec: CriCodec, chunks: &[&[u8]]) -> Vec<Item> {
    let mut buffer = BytesMut::new();
    let mut items = Vec::new();
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(decoded) = codec.decode(&mut buffer).expect("no I/O") {
            items.push(item(decoded));
        }
    }
    while let Some(decoded) = codec.decode_eof(&mut buffer).expect("no I/O") {
        items.push(item(decoded));
    }
    assert!(buffer.is_empty(), "everything is consumed");
    assert_eq!(codec.offset(), chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    items
}

/// The offset, the time and the text of an unfinished line, `None` if it is too long.
type Unfinished = Option<(u64, String, Vec<u8>)>;

/// Reads a whole file.
fn naive(log: &[u8], limit: usize) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = 0;
    let mut unfinished: [Option<Unfinished>; 2] = [None, None];
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        let offset = at;
        at += line.len() as u64;
        let has_end = line.ends_with(b"\n");
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let fields: Vec<&[u8]> = line.splitn(4, |byte| *byte == b' ').collect();
        let record = match fields[..] {
            [time, stream @ (b"stdout" | b"stderr"), tags, text]
                if !time.is_empty() && time.is_ascii() && line.len() - text.len() <= 128 =>
            {
                let tag = tags.split(|byte| *byte == b':').next().expect("a tag");
                [b"P", b"F"].iter().position(|it| *it == tag).map(|last| (time, stream, last == 1, text))
            }
            _ => None,
        };
        let Some((time, stream, is_last, text)) = record else {
            items.push(Err(format!("invalid record at byte {offset}")));
            continue;
        };
        let is_last = is_last && has_end;
        let place = &mut unfinished[usize::from(stream == b"stderr")];
        let time = String::from_utf8(time.to_vec()).expect("ASCII");
        let joined = place.take().unwrap_or(Some((offset, time, Vec::new())));
        let Some((start, time, mut joined)) = joined else {
            *place = if is_last { None } else { Some(None) };
            continue;
        };
        joined.extend(text);
        if joined.len() > limit {
            items.push(Err(format!("the frame at byte {start} is longer than {limit} bytes")));
            *place = if is_last { None } else { Some(None) };
        } else if is_last {
            let stream = if stream == b"stdout" { CriStream::Stdout } else { CriStream::Stderr };
            items.push(Ok((time, stream, joined, start, true)));
        } else {
            *place = Some(Some((start, time, joined)));
        }
    }
    for (place, stream) in unfinished.into_iter().zip([CriStream::Stdout, CriStream::Stderr]) {
        if let Some(Some((start, time, joined))) = place {
            items.push(Ok((time, stream, joined, start, false)));
        }
    }
    items
}

fn dirty(rng: &mut Rng, len: usize) -> Vec<u8> {
    const PARTS: [&[u8]; 20] = [
        b"t stdout F a\n",
        b"t stdout P \xC3",
        b"\n",
        b"t stderr P b\n",
        b"t stderr F \xA9\n",
        b"t stdout F ",
        b"abcdefgh",
        b" ",
        b"P",
        b"F",
        b":x",
        b"stdout",
        b"stderr ",
        b"t",
        b"\nt stdout F:x y\n",
        b"t stdout P\n",
        b" stdout F a\n",
        b"t\x80 stdout F a\n",
        b"t stdout FP a\n",
        b"t stdin F a\n",
    ];
    let mut out = Vec::new();
    while out.len() < len {
        out.extend(rng.pick(&PARTS));
    }
    out.truncate(len);
    out
}

#[test]
fn lines_are_those_of_the_definition_in_every_partition() {
    let mut rng = Rng::new(16_384);
    for round in 0..600 {
        let log = dirty(&mut rng, 5 + round % 90);
        let limit = [3, 5, 100][round % 3];
        let expected = naive(&log, limit);
        some_partitions(&log, 6, |chunks| {
            let codec = CriCodec::new().with_max_length(limit);
            assert_eq!(decode(codec, chunks), expected, "{:?}", String::from_utf8_lossy(&log));
        });
        let blocking = BlockingFrames::new(&log[..], CriCodec::new().with_max_length(limit));
        assert_eq!(blocking.map(|decoded| item(decoded.expect("no I/O"))).collect::<Vec<_>>(), expected);
    }
    every_partition(b"t stdout F\xFF", |chunks| {
        assert_eq!(decode(CriCodec::new(), chunks), naive(chunks.concat().as_slice(), 9))
    });
}

#[test]
fn a_character_that_was_cut_is_whole_again() {
    let text = "ab€".repeat(40_000);
    let mut log = Vec::new();
    let mut parts = text.as_bytes().chunks(16 * 1024).peekable();
    while let Some(part) = parts.next() {
        let tag = if parts.peek().is_some() { "P" } else { "F" };
        log.extend(format!("2026-11-28T20:00:00.000000000Z stdout {tag} ").bytes());
        log.extend(part);
        log.extend(b"\n2026-11-28T20:00:00.000000000Z stderr F \xFF\n");
    }
    some_partitions(&log, 0, |chunks| {
        if chunks.len() > 100 {
            return;
        }
        let mut codec = Utf8FramesCodec::new(CriCodec::new());
        let mut buffer = BytesMut::new();
        let mut lines = Vec::new();
        for chunk in chunks {
            buffer.extend_from_slice(chunk);
            while let Some(line) = codec.decode(&mut buffer).unwrap() {
                lines.push(line.map(|line| line == *text).map_err(|error| error.to_string()));
            }
        }
        assert_eq!(lines.iter().filter(|line| **line == Ok(true)).count(), 1);
        assert!(lines.contains(&Err("frame 0: ill-formed UTF-8 at byte 0 (InvalidLead, 1 byte)".to_owned())));
    });
}

/// A line is reported when its limit is exceeded, and the rest of it is discarded in constant memory.
#[test]
fn endless_lines_take_no_memory() {
    let mut codec = CriCodec::new().with_max_length(1000);
    let mut buffer = BytesMut::from(&b"t stdout F "[..]);
    let mut errors = 0;
    for _ in 0..10_000 {
        buffer.extend_from_slice(&[b'a'; 100]);
        errors += usize::from(is_error(codec.decode(&mut buffer)));
        assert!(buffer.len() <= 1200);
    }
    assert_eq!(errors, 1);
    // The other parts are discarded, too, and those of the other stream are not.
    for _ in 0..10_000 {
        buffer.extend_from_slice(b"\nt stderr P aaaaaaaaaaaaaaaa");
        errors += usize::from(is_error(codec.decode(&mut buffer)));
        assert!(buffer.len() <= 1200);
    }
    assert_eq!(errors, 2);
    buffer.extend_from_slice(b"\nt stderr F \nt stderr F b\nt stdout F c\n");
    for text in ["b", "c"] {
        assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap().text(), text.as_bytes());
    }
    // Without a space there are no fields.
    buffer.extend_from_slice(&[b'a'; 200]);
    assert!(matches!(codec.decode(&mut buffer), Ok(Some(Err(FramingError::InvalidRecord { .. })))));
    assert!(buffer.is_empty());
}

#[test]
fn decoding_continues_after_the_end() {
    let mut codec = CriCodec::new().with_max_length(3);
    let mut buffer = BytesMut::from(&b"t stdout P ab\nt stderr F abcd"[..]);
    assert!(is_error(codec.decode_eof(&mut buffer)), "the line is too long, and ends with the file");
    let cut = codec.decode_eof(&mut buffer).unwrap().unwrap().unwrap();
    assert_eq!((cut.text(), cut.is_whole()), (&b"ab"[..], false));
    assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(b"t stderr F x\n");
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap().text(), b"x");
}

#[test]
fn debug_shows_no_text() {
    let line = CriCodec::new().decode(&mut BytesMut::from("t stdout F secret\n")).unwrap().unwrap().unwrap();
    let shown = "CriLine { time: \"t\", stream: Stdout, text: 6 bytes, offset: 0, is_whole: true }";
    assert_eq!(format!("{line:?}"), shown);
}

#[test]
fn the_default_limit_of_a_line_is_documented() {
    for (length, is_within) in [(1 << 20, true), ((1 << 20) + 1, false)] {
        let mut log = BytesMut::from("t stdout F ");
        log.extend_from_slice(&vec![b'a'; length]);
        assert_eq!(!is_error(CriCodec::new().decode(&mut log)), is_within);
    }
}
