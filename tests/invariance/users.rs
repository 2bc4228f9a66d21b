//! Problems that users reported on GitHub. Each test reproduces the failure with the usual tool and shows that
//! this crate handles the case.

use core::convert::Infallible;
use core::time::Duration;
use std::io;

use bytes::BytesMut;
use futures::executor::block_on;
use futures::{StreamExt, TryStreamExt, stream};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio_util::codec::{Decoder, Encoder, FramedRead, LinesCodec};
use utf8_codec::codec::{FailFast, Utf8Codec, Utf8LinesCodec};
use utf8_codec::io::Utf8Reader;
use utf8_codec::stream::{SseStream, Utf8StreamExt};
use utf8_codec::validator::Utf8Validator;
use utf8_codec::{ErrorKind, ErrorPolicy, LineEnding, TextDecoder, Utf8Error};

use crate::support::hostile::{HostileReader, Step, steps};

/// jeremychone/rust-genai#104 and #181, 0xPlaygrounds/rig#809, librefang#3448, nuphus#41 and others: the response of a
/// model arrives in chunks of 8 KiB, one of which ends inside a character.
#[tokio::test]
async fn a_chunk_of_a_model_stream_ends_inside_a_character() {
    let answer = format!("{}\u{201C}quoted\u{201D}", "x".repeat(8191));
    let chunks: Vec<&[u8]> = answer.as_bytes().chunks(8192).collect();

    let on_its_own = core::str::from_utf8(chunks[0]).unwrap_err();
    assert_eq!(on_its_own.to_string(), "incomplete utf-8 byte sequence from index 8191");
    let lossy: String = chunks.iter().map(|chunk| String::from_utf8_lossy(chunk)).collect();
    assert!(lossy.contains('\u{FFFD}'));

    let response = stream::iter(chunks).map(|chunk| Ok::<_, Infallible>(chunk.to_vec()));
    assert_eq!(response.utf8().try_collect::<Vec<_>>().await.unwrap().concat(), answer);
}

/// tokio-rs/tokio#3976: after an `Err` of its codec `FramedRead` yields `None`, and the loop ends with well-formed
/// lines in the buffer.
#[tokio::test]
async fn lines_after_an_ill_formed_line_are_returned() {
    let socket = &b"good 1\nb\xFFd\ngood 2\n"[..];

    let mut lines = FramedRead::new(socket, LinesCodec::new());
    let mut seen = Vec::new();
    while let Some(Ok(line)) = lines.next().await {
        seen.push(line);
    }
    assert_eq!(seen, ["good 1"]);

    let mut lines = FramedRead::new(socket, Utf8LinesCodec::new());
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    while let Some(line) = lines.next().await {
        match line.unwrap() {
            Ok(line) => good.push(line),
            Err(error) => bad.push(error.utf8_error().unwrap()),
        }
    }
    assert_eq!(good, ["good 1", "good 2"]);
    assert_eq!(bad, [Utf8Error::new(8, ErrorKind::InvalidLead, 1)]);
}

/// tokio-rs/tokio#7011: after invalid UTF-8 at the end of the stream the codec panicked when it was used again.
#[test]
fn the_codec_is_used_again_after_an_error_at_the_end() {
    let mut codec = Utf8LinesCodec::new();
    let mut buffer = BytesMut::from(&b"12345678\xE2\x82"[..]);
    assert!(codec.decode(&mut buffer).unwrap().is_none());
    let error = codec.decode_eof(&mut buffer).unwrap().unwrap().unwrap_err().utf8_error().unwrap();
    assert_eq!(error, Utf8Error::new(8, ErrorKind::Truncated, 2));
    assert!(codec.decode_eof(&mut buffer).unwrap().is_none());

    buffer.extend_from_slice(b"next\nb\xFF\n");
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "next");
    let error = codec.decode(&mut buffer).unwrap().unwrap().unwrap_err().utf8_error().unwrap();
    assert_eq!(error.offset, 16, "offsets continue");
}

/// tokio-rs/tokio#4978: the error "bytes remaining on stream" does not show that the stream ended inside a character.
#[tokio::test]
async fn a_stream_that_ends_inside_a_character_is_an_error() {
    struct Default;
    impl Decoder for Default {
        type Item = String;
        type Error = io::Error;

        fn decode(&mut self, _: &mut BytesMut) -> io::Result<Option<String>> {
            Ok(None)
        }
    }
    let cut = &b"caf\xC3"[..];
    let error = FramedRead::new(cut, Default).next().await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "bytes remaining on stream");

    let mut text = FramedRead::new(cut, Utf8Codec::new());
    assert_eq!(text.next().await.unwrap().unwrap().unwrap(), "caf");
    let error = text.next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 3 (Truncated, 1 byte)");
    for _ in 0..3 {
        assert!(text.next().await.is_none(), "reported once");
    }
}

/// tokio-rs/tokio#8400: an I/O error inside a character made `Lines` panic or return a line that was not in the input.
#[tokio::test]
async fn a_read_that_failed_inside_a_character_is_retried() {
    let line = "gr\u{FC}n\n".as_bytes();
    for cut in 0..=line.len() {
        let inner = HostileReader::new([
            Step::Chunk(line[..cut].to_vec()),
            Step::Fail(io::ErrorKind::TimedOut),
            Step::Chunk(line[cut..].to_vec()),
        ]);
        let mut lines = Utf8Reader::new(inner).lines();
        let (mut got, mut errors) = (Vec::new(), 0);
        loop {
            match lines.next_line().await {
                Ok(Some(line)) => got.push(line),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
                    errors += 1;
                }
            }
        }
        assert_eq!((got, errors), (vec!["gr\u{FC}n".to_owned()], 1), "cut at {cut}");
    }
}

/// mcpls#451, rust-code-agent-sdks#350, comprehensive-rust#713: a read in `select!` or `timeout` is dropped, and the
/// bytes that it had read are lost.
#[tokio::test(start_paused = true)]
async fn a_read_that_a_timeout_drops_loses_no_bytes() {
    let message = "\u{1F980} \u{20AC}\n";
    let (mut peer, socket) = tokio::io::duplex(64);
    let sender = tokio::spawn(async move {
        for byte in message.as_bytes() {
            peer.write_all(&[*byte]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    let mut lines = FramedRead::new(socket, Utf8LinesCodec::new());
    let mut dropped = 0;
    let line = loop {
        match tokio::time::timeout(Duration::from_millis(1), lines.next()).await {
            Ok(line) => break line.unwrap().unwrap().unwrap(),
            Err(_) => dropped += 1,
        }
    };
    assert_eq!(line, message.trim_end());
    assert!(dropped > 0, "nothing was dropped");
    sender.await.unwrap();
}

/// joshrotenberg/tower-mcp#1271, modelcontextprotocol/rust-sdk#833, python-sdk#2302, sysprog21/zhtw-mcp#7: one
/// ill-formed byte ends a JSON-RPC session, or is repaired without a report.
#[tokio::test]
async fn one_ill_formed_byte_does_not_end_a_session() {
    let session = &b"{\"id\":1}\n{\"id\":2,\"x\":\"\xC3\x28\"}\n{\"id\":3}\n"[..];

    let mut lines = BufReader::new(session).lines();
    assert!(lines.next_line().await.is_ok());
    assert!(lines.next_line().await.is_err(), "`next_line()?` ends the session");

    let mut requests = FramedRead::new(session, Utf8LinesCodec::new());
    let mut replies = Vec::new();
    while let Some(request) = requests.next().await {
        replies.push(match request.unwrap() {
            Ok(json) => serde_json::from_str::<serde_json::Value>(&json).unwrap()["id"].to_string(),
            Err(error) => format!("-32700 {error}"),
        });
    }
    assert_eq!(
        replies,
        ["1", "-32700 line 2, column 14: ill-formed UTF-8 at byte 22 (MissingContinuation, 1 byte)", "3"],
        "a parse error for the ill-formed request, and the session continues"
    );
}

/// denoland/fastwebsockets#122 and #123: fragments were validated one by one. Since the fix, a message whose final
/// fragment ends inside a character is accepted without its last bytes.
#[test]
fn a_message_of_fragments_ends_inside_a_character() {
    let mut text = Utf8Validator::new();
    text.validate(b"ab").unwrap();
    text.validate(b"c\xE2\x82").unwrap();
    assert_eq!(text.finish().unwrap_err(), Utf8Error::new(3, ErrorKind::Truncated, 2));
}

/// psf/requests#3980, encode/httpx#2423, httpx-sse#34, tokio-rs/tokio#2657 and #791: a CRLF split across chunks makes
/// an empty line, Unicode separators end lines, a bare CR does not, and a line encoded with a newline inside becomes
/// two lines.
#[test]
fn a_terminator_split_across_chunks_ends_one_line() {
    let bytes = "one\r\ntwo\u{2028}still two\u{85}\rthree\n\nfive".as_bytes();
    let expected = ["one", "two\u{2028}still two\u{85}", "three", "", "five"];
    for size in 1..=bytes.len() {
        let chunks: Vec<_> = bytes.chunks(size).collect();
        let codec = Utf8LinesCodec::new().with_line_ending(LineEnding::Any);
        let lines = FramedRead::new(HostileReader::new(steps(&chunks)), FailFast::new(codec));
        let lines: Vec<_> = block_on(lines.try_collect()).unwrap();
        assert_eq!(lines, expected, "chunks of {size}");
    }

    let mut out = BytesMut::new();
    LinesCodec::new().encode("two\nlines", &mut out).unwrap();
    assert_eq!(&out[..], b"two\nlines\n", "an injected line");
    let rejected = Utf8LinesCodec::new().encode("two\nlines", &mut out).unwrap_err();
    assert_eq!(rejected.to_string(), "line terminator inside the text at byte 3");

    let mut text = String::new();
    block_on(Utf8Reader::new(bytes).read_to_string(&mut text)).unwrap();
    assert_eq!(text.as_bytes(), bytes, "as plain text nothing is changed");
}

/// eventsource-stream 0.2.3: after an ill-formed byte it returns no event, only an error at the end of the stream.
#[tokio::test]
async fn an_ill_formed_byte_hides_the_events_after_it() {
    use eventsource_stream::Eventsource;

    let response = [&b"data: 1\n\n"[..], b": \xFF\n", b"data: 2\n\n", b"data: 3\n\n"];
    let chunks = || stream::iter(response).map(Ok::<_, Infallible>);
    let theirs: Vec<_> =
        chunks().eventsource().map(|event| event.map(|event| event.data).ok()).collect().await;
    assert_eq!(theirs, [Some("1".to_owned()), None]);

    let ours: Vec<_> = SseStream::new(chunks()).map(|event| event.unwrap().data).collect().await;
    assert_eq!(ours, ["1", "2", "3"]);
}

/// dsh-tauri-desk#197, rtk-ai/rtk#2049: a UTF-8 error ends the reading of a child's output. The pipe closes, the child
/// fails with EPIPE, and the rest of the output is lost.
#[tokio::test]
#[cfg_attr(not(unix), ignore = "there is no sh")]
async fn the_whole_output_of_a_child_is_read() {
    const SCRIPT: &str = r"printf 'start\n\377\376\nprogress 10%%\rprogress 100%%\rdone\n'";
    use futures::TryStreamExt;
    let child =
        tokio::process::Command::new("sh").args(["-c", SCRIPT]).stdout(std::process::Stdio::piped()).spawn();
    let mut child = child.expect("sh starts");
    let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    let codec = Utf8LinesCodec::with_decoder(replace).with_line_ending(LineEnding::Any);
    let output = FramedRead::new(child.stdout.take().unwrap(), FailFast::new(codec));
    let lines: Vec<_> = output.try_collect().await.unwrap();
    assert_eq!(lines, ["start", "\u{FFFD}\u{FFFD}", "progress 10%", "progress 100%", "done"]);
    assert!(child.wait().await.unwrap().success(), "the child wrote everything");
}
