//! `Utf8Reader`, `BoundedLines` and `Utf8Writer` over hostile readers and writers, compared
//! with the decoder for the whole input.
#![no_main]

use futures::executor::block_on;
use libfuzzer_sys::fuzz_target;
use std::io::{self, ErrorKind, Read, Write};
use test_support::hostile::{HostileReader, HostileWriter, steps};
use utf8_codec::Utf8Error;
use utf8_codec::io::{LineTooLong, Utf8Reader, Utf8Writer};
use utf8_codec_fuzz::{Input, decode_until_error};

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (chunks, decoder) = (input.chunks(), input.decoder());
    let (text, error) = decode_until_error(decoder.clone(), input.bytes);
    let at_most = input.pick(5, &[1, 2, 3, 7, 64, usize::MAX]);
    let reader =
        || Utf8Reader::with_decoder(HostileReader::new(steps(&chunks)).at_most(at_most), decoder.clone());
    let found =
        |result: io::Result<usize>| result.err().map(|error| Utf8Error::find(&error).expect("ill-formed"));

    let (mut blocking, mut read) = (reader(), Vec::new());
    let mut buffer = vec![0; input.pick(6, &[1, 2, 5, 100, 9000])];
    let result = loop {
        match retried(|| Read::read(&mut blocking, &mut buffer)) {
            Ok(len @ 1..) => read.extend_from_slice(&buffer[..len]),
            end => break end,
        }
    };
    assert_eq!((read.as_slice(), found(result)), (text.as_bytes(), error));

    read.clear();
    let result = block_on(tokio::io::AsyncReadExt::read_to_end(&mut reader(), &mut read));
    assert_eq!((read.as_slice(), found(result)), (text.as_bytes(), error));

    let max = input.pick(7, &[0, 1, 5, 60, 1000, usize::MAX]);
    let (mut lines, mut found_lines) = (reader().into_bounded_lines(max), Vec::new());
    let end = loop {
        match lines.next() {
            Some(Ok(line)) => found_lines.push(Some(line)),
            Some(Err(error)) if error.kind() == ErrorKind::WouldBlock => {}
            Some(Err(error)) if error.get_ref().is_some_and(|inner| inner.is::<LineTooLong>()) => {
                found_lines.push(None)
            }
            Some(Err(error)) => break Err(error),
            None => break Ok(0),
        }
    };
    let (expected, partial) = naive_lines(&text, max, error.is_none());
    assert_eq!((found_lines, lines.partial(), found(end)), (expected, partial, error));

    let mut writer = Utf8Writer::with_decoder(HostileWriter::new(at_most), decoder);
    let result = chunks.iter().try_for_each(|chunk| {
        let mut rest = *chunk;
        while !rest.is_empty() {
            rest = &rest[retried(|| writer.write(rest))?..];
        }
        Ok(())
    });
    let result = result.and_then(|()| retried(|| writer.finish()));
    assert_eq!((writer.get_ref().written.as_slice(), found(result.map(|()| 0))), (text.as_bytes(), error));
});

/// Returns the lines of a text, `None` for each that is too long, and an unfinished line before an error.
fn naive_lines(text: &str, max: usize, ends: bool) -> (Vec<Option<String>>, &str) {
    let (mut lines, mut partial) = (Vec::new(), "");
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        // A CR at the end of the input belongs to the line. Before an error an LF may follow it.
        let is_last = ends && !line.ends_with('\n');
        let content = content.strip_suffix('\r').filter(|_| !is_last).unwrap_or(content);
        if content.len() > max {
            lines.push(None);
        } else if ends || line.ends_with('\n') {
            lines.push(Some(content.into()));
        } else {
            partial = line;
        }
    }
    (lines, partial)
}

/// Repeats an operation that was interrupted or would block.
fn retried<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            result => return result,
        }
    }
}
