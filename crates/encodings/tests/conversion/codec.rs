//! `TranscodeCodec`: any encoding over a socket.

use std::io;

use bytes::BytesMut;
use futures::StreamExt;
use tokio_test::io::Builder;
use tokio_util::codec::{Decoder, Encoder, FramedRead};
use utf8_codec::codec::CodecError;
use utf8_codec::{ErrorKind, ErrorPolicy};
use utf8_codec_encodings::codec::TranscodeCodec;
use utf8_codec_encodings::{Encoding, Switches, TranscodeError, Transcoder};

use crate::support::encodings::{OWN, encoded};
use crate::support::{Rng, every_partition};

/// A codec whose transcoders have other settings.
pub(crate) fn codec_with(encoding: Encoding, with: impl Fn(Transcoder) -> Transcoder) -> TranscodeCodec {
    let [reading, writing] = [(encoding, Encoding::Utf8), (Encoding::Utf8, encoding)];
    let transcoder = |(source, target)| with(Transcoder::new(source, target));
    TranscodeCodec::with_transcoders(transcoder(reading), transcoder(writing))
}

type Reported = (u64, ErrorKind, Vec<u8>);

/// Reads these chunks from a socket. Returns the text and the errors.
async fn read(codec: TranscodeCodec, chunks: &[&[u8]]) -> (String, Vec<Reported>) {
    let mut socket = Builder::new();
    for chunk in chunks {
        socket.read(chunk);
    }
    let mut items = FramedRead::new(socket.build(), codec);
    let (mut text, mut errors) = (String::new(), Vec::new());
    while let Some(item) = items.next().await {
        match item.expect("no error of the transport") {
            Ok(part) => {
                assert!(!part.is_empty());
                text.push_str(&part);
            }
            Err(CodecError::IllFormed { error, rejected, .. }) => {
                assert_eq!(usize::from(error.len), rejected.bytes.len());
                errors.push((error.offset, error.kind, rejected.bytes.to_vec()));
            }
            Err(other) => panic!("{other}"),
        }
    }
    (text, errors)
}

#[tokio::test]
async fn every_encoding_is_read_the_same_for_every_partition() {
    for &encoding in OWN {
        let bytes = encoded(encoding, "aé💩");
        let expected =
            if matches!(encoding, Encoding::Latin1 | Encoding::Windows1252) { "aé" } else { "aé💩" };
        for cut in 1..bytes.len() {
            let chunks = [&bytes[..cut], &bytes[cut..]];
            assert_eq!(
                read(TranscodeCodec::new(encoding), &chunks).await,
                (expected.to_owned(), vec![]),
                "{encoding}"
            );
        }
        let singly: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(
            read(TranscodeCodec::new(encoding), &singly).await,
            (expected.to_owned(), vec![]),
            "{encoding}"
        );
    }
}

#[tokio::test]
async fn errors_are_in_order_with_their_bytes() {
    // An unpaired low surrogate, and an odd byte at the end.
    let bytes = b"\0a\xDC\0\0b\xD8\0\0c\0";
    let expected = vec![
        (2, ErrorKind::UnpairedSurrogate, b"\xDC\0".to_vec()),
        (6, ErrorKind::UnpairedSurrogate, b"\xD8\0".to_vec()),
        (10, ErrorKind::Truncated, b"\0".to_vec()),
    ];
    for cut in 1..bytes.len() {
        let chunks = [&bytes[..cut], &bytes[cut..]];
        let codec = TranscodeCodec::new(Encoding::Utf16Be);
        assert_eq!(read(codec, &chunks).await, ("abc".to_owned(), expected.clone()), "cut at {cut}");
        let codec =
            codec_with(Encoding::Utf16Be, |transcoder| transcoder.with_error_policy(ErrorPolicy::Replace));
        assert_eq!(read(codec, &chunks).await.0, "a\u{FFFD}b\u{FFFD}c\u{FFFD}");
    }
}

#[tokio::test]
async fn a_bom_selects_the_encoding_and_is_removed() {
    for (bytes, text) in
        [(&b"\xFF\xFEa\0"[..], "a"), (b"\xFE\xFF\0a", "a"), (b"\xEF\xBB\xBFa", "a"), (b"a", "a")]
    {
        for cut in 1..=bytes.len() {
            let chunks: Vec<&[u8]> =
                [&bytes[..cut], &bytes[cut..]].into_iter().filter(|it| !it.is_empty()).collect();
            let codec = codec_with(Encoding::Utf8, |transcoder| transcoder.with_sniffing(true));
            assert_eq!(read(codec, &chunks).await, (text.to_owned(), vec![]), "{bytes:02X?} cut at {cut}");
        }
    }
}

#[test]
fn unfinished_sequences_stay_in_the_buffer() {
    every_partition(b"\xED\xA0\xBD\xED\xB2\xA9", |chunks| {
        let mut codec = TranscodeCodec::new(Encoding::Cesu8);
        let (mut buffer, mut fed) = (BytesMut::new(), Vec::new());
        for chunk in chunks {
            buffer.extend_from_slice(chunk);
            fed.extend_from_slice(chunk);
            match codec.decode(&mut buffer).expect("no error of the transport") {
                Some(text) => {
                    let text = text.expect("well-formed");
                    assert_eq!(text, "💩");
                    assert!(buffer.is_empty());
                }
                None => assert_eq!((&buffer[..], codec.offset()), (&fed[..], 0)),
            }
        }
    });
}

/// An unfinished sequence may have several errors, and the stream may resume after each.
#[test]
fn a_resumed_stream_starts_with_a_code_unit() {
    let surrogates = Switches::STRICT.with_surrogates(true);
    let report = |item: Option<Result<_, CodecError<TranscodeError>>>| {
        let Some(Err(CodecError::IllFormed { error, rejected, .. })) = item else { panic!("{item:?}") };
        (error.offset, error.kind, rejected.bytes.to_vec())
    };
    let mut codec = codec_with(Encoding::Utf16Le, |transcoder| transcoder.with_switches(surrogates));
    let mut buffer = BytesMut::from(&b"a\0\x3D\xD8b"[..]);
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "a");
    let errors = [(2, ErrorKind::Unmappable, b"\x3D\xD8".to_vec()), (4, ErrorKind::Truncated, b"b".to_vec())];
    for error in errors {
        assert_eq!(report(codec.decode_eof(&mut buffer).unwrap()), error);
    }
    assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(b"c\0");
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "c");
    assert_eq!(codec.offset(), 7);
}

/// `FF FE 00 00` may be the BOM of UTF-32LE, so the text after it is decoded at the end.
#[test]
fn the_end_takes_all_of_an_undecided_bom() {
    let mut codec = codec_with(Encoding::Utf8, |transcoder| transcoder.with_sniffing(true));
    let mut buffer = BytesMut::from(&b"\xFF\xFE\0\0\0\xDC\x01"[..]);
    assert!(codec.decode(&mut buffer).unwrap().is_none());
    assert_eq!(codec.decode_eof(&mut buffer).unwrap().unwrap().unwrap(), "\0");
    for offset in [4, 6] {
        let error = codec.decode_eof(&mut buffer).unwrap().unwrap().unwrap_err();
        assert!(matches!(error, CodecError::IllFormed { error, .. } if error.offset == offset));
    }
    assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
    assert!(buffer.is_empty());
}

#[test]
fn text_is_written_whole_or_not_at_all() {
    for &encoding in OWN {
        let (mut codec, mut dst) = (TranscodeCodec::new(encoding), BytesMut::from(&b"before"[..]));
        codec.encode("aé", &mut dst).expect("Latin-1");
        assert_eq!(dst, [b"before", &encoded(encoding, "aé")[..]].concat(), "{encoding}");
    }
    let (mut codec, mut dst) = (TranscodeCodec::new(Encoding::Latin1), BytesMut::from(&b"before"[..]));
    let rejected = |error: io::Error| match error.downcast() {
        Ok(CodecError::<TranscodeError>::IllFormed { error, rejected, .. }) => (error, rejected.bytes),
        other => panic!("{other:?}"),
    };
    let error = codec.encode("aж", &mut dst).expect_err("Cyrillic is not in Latin-1");
    let (error, _) = rejected(error);
    assert_eq!((error.offset, error.kind, error.len), (1, ErrorKind::Unmappable, 2));
    assert_eq!(dst, "before");
    let error = codec.encode("abcж!", &mut dst).expect_err("Cyrillic is not in Latin-1");
    assert_eq!(rejected(error).1, "ж");
}

#[test]
fn text_that_becomes_much_longer_is_written_whole() {
    let text = "abc".repeat(1_000);
    for &encoding in OWN {
        let mut dst = BytesMut::from(&b"before"[..]);
        TranscodeCodec::new(encoding).encode(&text, &mut dst).expect("ASCII");
        assert_eq!(dst, [b"before", &encoded(encoding, &text)[..]].concat(), "{encoding}");
    }
}

#[cfg(feature = "stream")]
#[tokio::test]
async fn utf8_stream_reads_the_output_of_a_transcode_codec() {
    use futures::TryStreamExt;
    use utf8_codec::codec::FailFast;
    use utf8_codec::stream::Utf8Stream;

    let socket = Builder::new().read(b"a\0\x3D").read(b"\xD8\xA9\xDC").build();
    let codec = FailFast::new(TranscodeCodec::new(Encoding::Utf16Le));
    let chunks = FramedRead::new(socket, codec).map_ok(|text| text.into_bytes());
    let text: Vec<_> = Utf8Stream::new(chunks).map(|part| part.expect("UTF-8").to_string()).collect().await;
    assert_eq!(text.concat(), "a💩");
}

#[cfg(feature = "tokio-io")]
#[tokio::test]
async fn utf8_reader_reads_the_output_of_a_transcode_codec() {
    use bytestring::ByteString;
    use futures::TryStreamExt;
    use tokio::io::{AsyncBufReadExt, AsyncReadExt};
    use tokio_util::io::StreamReader;
    use utf8_codec::codec::FailFast;
    use utf8_codec::io::Utf8Reader;

    let under = |bytes: &[u8], cut: usize| {
        let socket = Builder::new().read(&bytes[..cut]).read(&bytes[cut..]).build();
        let codec = FailFast::new(TranscodeCodec::new(Encoding::Utf16Be));
        let text = FramedRead::new(socket, codec).map_ok(ByteString::into_bytes);
        Utf8Reader::new(StreamReader::new(text))
    };
    let bytes = b"\0a\xD8\x3D\xDC\xA9\0\n\0b";
    for cut in 1..bytes.len() {
        let mut text = String::new();
        under(bytes, cut).read_to_string(&mut text).await.expect("UTF-16");
        assert_eq!(text, "a💩\nb");
    }
    // The reader returns the error of the codec after the text before it.
    let bytes = b"\0a\0\n\xDC\0";
    for cut in 1..bytes.len() {
        let mut lines = under(bytes, cut).lines();
        assert_eq!(lines.next_line().await.expect("a line").as_deref(), Some("a"));
        let error = lines.next_line().await.expect_err("an unpaired surrogate");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let error: CodecError<TranscodeError> = error.downcast().expect("the error of the codec");
        let CodecError::IllFormed { error, .. } = error else { panic!("{error:?}") };
        assert_eq!((error.offset, error.kind, error.len), (4, ErrorKind::UnpairedSurrogate, 2));
        assert_eq!(error.to_string(), "ill-formed UTF-16BE at byte 4 (UnpairedSurrogate, 2 bytes)");
    }
}

#[test]
fn texts_are_read_as_they_were_written_in_any_grouping() {
    // Of each encoding at least one of these scripts.
    const WORDS: [&str; 12] = [
        "",
        "a",
        "\n",
        "\u{4E9C}",
        "\u{3042}",
        "\u{FF71}",
        "\u{A5}",
        "\u{E9}",
        "\u{431}",
        "\u{3B1}",
        "\u{5D0}",
        "\u{1F4A9}",
    ];
    let mut rng = Rng::new(2022);
    for &encoding in Encoding::ALL {
        // Characters that the encoders of the Encoding Standard write as another one (§12).
        let changed = match encoding.name() {
            "euc-jp" | "shift_jis" => "\u{A5}",
            "iso-2022-jp" => "\u{FF71}",
            _ => "-",
        };
        let words: Vec<_> = WORDS.into_iter().filter(|word| *word != changed).collect();
        let (mut texts, mut longest) = (0, 0);
        for _ in 0..100 {
            let (mut codec, mut wire) = (TranscodeCodec::new(encoding), BytesMut::new());
            let (mut expected, mut lines) = (String::new(), String::new());
            let (mut line_codec, mut line_wire) =
                (TranscodeCodec::new(encoding).into_lines(), BytesMut::new());
            for _ in 0..8 {
                let text: String = (0..rng.below(4)).map(|_| rng.pick(&words)).collect();
                let before = wire.len();
                // A text with a character that the encoding does not have is not written, and changes nothing.
                match codec.encode(&text, &mut wire) {
                    Ok(()) => expected.push_str(&text),
                    Err(_) => assert_eq!(wire.len(), before),
                }
                if line_codec.encode(&text, &mut line_wire).is_ok() {
                    lines.push_str(&text);
                    lines.push('\n');
                }
                texts += 1;
            }
            longest = longest.max(expected.len());
            let (mut decoded, mut reader) = (String::new(), TranscodeCodec::new(encoding));
            while let Some(text) = reader.decode_eof(&mut wire).expect("what was written") {
                decoded.push_str(&text.expect("well-formed"));
            }
            assert_eq!(decoded, expected, "{encoding}");
            let (mut decoded, mut reader) = (String::new(), TranscodeCodec::new(encoding).into_lines());
            while let Some(line) = reader.decode_eof(&mut line_wire).expect("what was written") {
                decoded.push_str(&line.expect("well-formed"));
                decoded.push('\n');
            }
            assert_eq!(decoded, lines, "{encoding}");
        }
        assert!(texts == 800 && longest > 1, "{encoding}");
    }
}

#[test]
fn a_stream_of_texts_has_no_escape_sequence_after_another() {
    let (mut codec, mut wire) = (TranscodeCodec::new(Encoding::Iso2022Jp), BytesMut::new());
    for text in ["\u{4E9C}", "", "\u{3042}", "a"] {
        codec.encode(text, &mut wire).unwrap();
    }
    assert_eq!(wire, &b"\x1B$B\x30\x21\x24\x22\x1B(Ba"[..]);
    // A rejected line leaves the state as it was.
    let (mut lines, mut wire) = (codec.into_lines(), BytesMut::new());
    assert!(lines.encode("\u{4E9C}\n", &mut wire).is_err() && wire.is_empty());
    lines.encode("\u{4E9C}", &mut wire).unwrap();
    assert_eq!(wire, &b"\x1B$B\x30\x21\x1B(B\n"[..]);
}
