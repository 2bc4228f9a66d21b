//! `TranscodeReader` and `TranscodeWriter`: the text and the errors of the transcoder, under std, tokio and futures-io.

use std::io::{self, BufRead, Read};

#[cfg(any(feature = "futures-io", feature = "tokio-io"))]
use futures::executor::block_on;
use utf8_codec::ErrorPolicy;
use utf8_codec_encodings::io::{TranscodeReader, TranscodeWriter};
use utf8_codec_encodings::{Encoding, TranscodeError, Transcoder};

use crate::support::hostile::{HostileReader, HostileWriter, again, steps};
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
        let check = |out: Vec<u8>, error: Option<io::Error>| {
            assert_eq!(String::from_utf8(out).unwrap(), text, "{encoding}");
            assert_eq!(error.map(|error| TranscodeError::find(&error).unwrap().offset), offset, "{encoding}");
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
            #[cfg(feature = "tokio-io")]
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
    use std::io::Write;
    let text = "Жук ".repeat(20_000);
    let input: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let transcoder =
        Transcoder::new(Encoding::Utf16Le, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace);
    let mut out = String::new();
    TranscodeReader::with_transcoder(&input[..], transcoder).read_to_string(&mut out).unwrap();
    assert!(out == text);
    let mut writer = TranscodeWriter::new(HostileWriter::new(5000), Encoding::Utf16Le);
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        rest = &rest[again(|| writer.write(rest)).unwrap()..];
    }
    again(|| writer.finish()).unwrap();
    assert!(writer.into_inner().written == input);
}

/// Writes the chunks and ends the text. Returns the output, and the offset of the first error.
fn written(transcoder: Transcoder, at_most: usize, chunks: &[&[u8]]) -> (Vec<u8>, Option<u64>) {
    use std::io::Write;
    let mut writer = TranscodeWriter::with_transcoder(HostileWriter::new(at_most), transcoder);
    let mut write = |mut rest: &[u8]| {
        while !rest.is_empty() {
            rest = &rest[again(|| writer.write(rest))?..];
        }
        io::Result::Ok(())
    };
    let failed = chunks.iter().try_for_each(|chunk| write(chunk)).err();
    let again_failed = failed.is_some().then(|| write(b"x").unwrap_err());
    let ended = again(|| writer.finish()).err();
    assert_eq!(again(|| writer.write(b"x")).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert!(again(|| writer.finish()).is_ok(), "reported once");
    let offset = |error: &io::Error| TranscodeError::find(error).unwrap().offset;
    assert_eq!(again_failed.as_ref().map(offset), failed.as_ref().map(offset), "returned again");
    (writer.into_inner().written, failed.or(ended).as_ref().map(offset))
}

#[cfg(feature = "tokio-io")]
fn written_by_tokio(transcoder: Transcoder, at_most: usize, chunks: &[&[u8]]) -> (Vec<u8>, Option<u64>) {
    use tokio::io::AsyncWriteExt;
    let mut writer = TranscodeWriter::with_transcoder(HostileWriter::new(at_most), transcoder);
    let mut error = None;
    block_on(async {
        for chunk in chunks {
            error = error.take().or(writer.write_all(chunk).await.err());
        }
        error = error.take().or(writer.shutdown().await.err());
    });
    assert!(writer.get_ref().closed);
    (writer.into_inner().written, error.map(|error| TranscodeError::find(&error).unwrap().offset))
}

#[cfg(feature = "futures-io")]
fn written_by_futures(transcoder: Transcoder, at_most: usize, chunks: &[&[u8]]) -> (Vec<u8>, Option<u64>) {
    use futures::io::AsyncWriteExt;
    let mut writer = TranscodeWriter::with_transcoder(HostileWriter::new(at_most), transcoder);
    let mut error = None;
    block_on(async {
        for chunk in chunks {
            error = error.take().or(writer.write_all(chunk).await.err());
        }
        error = error.take().or(writer.close().await.err());
    });
    assert!(writer.get_ref().closed);
    (writer.into_inner().written, error.map(|error| TranscodeError::find(&error).unwrap().offset))
}

#[test]
fn a_late_error_of_the_inner_writer_is_returned() {
    use std::io::Write;
    let mut writer = TranscodeWriter::new(HostileWriter::new(100).fails_at(0), Encoding::Utf16Be);
    assert!(Write::flush(writer.get_mut()).is_err(), "every other operation is not ready");
    assert_eq!(writer.write(b"a").unwrap(), 1);
    assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::TimedOut);
    again(|| writer.finish()).unwrap();
    assert_eq!(writer.into_inner().written, b"\0a");
}

#[cfg(feature = "tokio-io")]
#[test]
fn the_end_returns_the_error_of_a_write_that_was_dropped() {
    use futures::FutureExt;
    use tokio::io::AsyncWriteExt;
    let mut writer = TranscodeWriter::new(HostileWriter::new(100), Encoding::Utf16Be);
    assert!(writer.write(b"a\xFF").now_or_never().is_none(), "the inner writer is pending");
    let error = block_on(writer.shutdown()).unwrap_err();
    assert_eq!(TranscodeError::find(&error).map(|error| error.offset), Some(1));
    assert_eq!(writer.into_inner().written, b"\0a");
}

#[test]
fn all_families_of_traits_write_the_text_and_return_the_error() {
    for (from, to, input, output, offset) in [
        (Encoding::Utf8, Encoding::Utf16Be, "né💩".as_bytes(), &b"\0n\0\xE9\xD8\x3D\xDC\xA9"[..], None),
        (Encoding::Utf8, Encoding::Latin1, b"ab\xC3\xA9\xE2\x82\xACz", b"ab\xE9", Some(4)),
        (Encoding::Utf8, Encoding::Utf8, b"ab\xE2\x82", b"ab", Some(2)),
        (Encoding::Utf16Le, Encoding::Utf8, b"\xE9\0\x3D\xD8", "é".as_bytes(), Some(2)),
        (Encoding::Utf8, Encoding::Iso2022Jp, "a日".as_bytes(), b"a\x1B$BF|\x1B(B", None),
    ] {
        let expected = (output.to_vec(), offset);
        some_partitions(input, 6, |chunks| {
            for at_most in [1, 4, 100] {
                let transcoder = Transcoder::new(from, to);
                assert_eq!(written(transcoder.clone(), at_most, chunks), expected, "{to} {chunks:02X?}");
                #[cfg(feature = "tokio-io")]
                assert_eq!(
                    written_by_tokio(transcoder.clone(), at_most, chunks),
                    expected,
                    "{to} {chunks:02X?}"
                );
                #[cfg(feature = "futures-io")]
                assert_eq!(written_by_futures(transcoder, at_most, chunks), expected, "{to} {chunks:02X?}");
            }
        });
    }
}
