//! `TranscodeReader`: the text and the errors of the transcoder, under std, tokio and futures-io.

use std::io::{BufRead, Read};

use futures::executor::block_on;
use utf8_codec::io::TranscodeReader;
use utf8_codec::transcode::{Encoding, Transcoder};
use utf8_codec::{ErrorPolicy, Utf8Error};

use crate::support::hostile::{HostileReader, again, steps};
use crate::support::some_partitions;

/// Inputs, with the text and the offset of the error after it.
const INPUTS: [(Encoding, &[u8], &str, Option<u64>); 3] = [
    (Encoding::Utf16Le, b"\x3D\xD8\xA9\xDCa\0\n\0\xE9\0", "💩a\né", None),
    (Encoding::Utf16Be, b"\0a\0\n\xD8\x3D\0b", "a\n", Some(4)),
    (Encoding::Windows1252, b"\x80 5", "€ 5", None),
];

fn reader(encoding: Encoding, chunks: &[&[u8]]) -> TranscodeReader<HostileReader> {
    TranscodeReader::new(HostileReader::new(steps(chunks)), encoding)
}

#[test]
fn all_families_of_traits_return_the_text_and_the_error() {
    for (encoding, input, text, offset) in INPUTS {
        let check = |out: Vec<u8>, error: Option<std::io::Error>| {
            assert_eq!(String::from_utf8(out).unwrap(), text, "{encoding}");
            assert_eq!(error.map(|error| Utf8Error::find(&error).unwrap().offset), offset, "{encoding}");
        };
        some_partitions(input, 4, |chunks| {
            for room in [1, 3, 100] {
                let (mut reader, mut out, mut buffer) = (reader(encoding, chunks), Vec::new(), vec![0; room]);
                let error = loop {
                    match again(|| reader.read(&mut buffer)) {
                        Ok(0) => break None,
                        Ok(read) => out.extend_from_slice(&buffer[..read]),
                        Err(error) => break Some(error),
                    }
                };
                assert_eq!(again(|| reader.read(&mut buffer)).unwrap(), 0, "the end is final");
                check(out, error);
            }
            #[cfg(feature = "io")]
            {
                let (mut reader, mut out) = (reader(encoding, chunks), Vec::new());
                let read = tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut out);
                let error = block_on(read).err();
                check(out, error);
            }
            #[cfg(feature = "futures-io")]
            {
                let (mut reader, mut out) = (reader(encoding, chunks), Vec::new());
                let read = futures::io::AsyncReadExt::read_to_end(&mut reader, &mut out);
                let error = block_on(read).err();
                check(out, error);
            }
        });
    }
}

#[test]
fn lines_are_read_from_the_buffer_of_the_reader() {
    let input: Vec<u8> = "one\ntwo ü\r\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    let lines = TranscodeReader::new(&input[..], Encoding::Utf16Be).lines();
    assert_eq!(lines.collect::<Result<Vec<_>, _>>().unwrap(), ["one", "two ü"]);
    let mut bounded = TranscodeReader::new(&input[..], Encoding::Utf16Be).into_bounded_lines(4);
    assert_eq!(bounded.next().unwrap().unwrap(), "one");
    assert_eq!(bounded.next().unwrap().unwrap_err().to_string(), "line 2 is longer than 4 bytes");
    assert!(bounded.next().is_none());
}

/// The output is larger than the buffer, and so is the input.
#[test]
fn long_text_is_converted_in_parts() {
    let text = "Жук ".repeat(20_000);
    let input: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let transcoder =
        Transcoder::new(Encoding::Utf16Le, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace);
    let mut out = String::new();
    TranscodeReader::with_transcoder(&input[..], transcoder).read_to_string(&mut out).unwrap();
    assert!(out == text);
}
