//! Cases from reports on lines, frames and server-sent events. Each is decoded whole, byte by byte and in other chunks.

use core::fmt::Display;

use bytes::BytesMut;
use tokio_util::codec::Decoder;
use utf8_codec::codec::framing::{ContentLengthCodec, JsonSequenceCodec, OctetCountingCodec};
use utf8_codec::codec::sse::Event;
use utf8_codec::codec::{SseCodec, Utf8FramesCodec, Utf8LinesCodec};
use utf8_codec::{ErrorPolicy, TextDecoder};

use crate::support::some_partitions;

/// An item of a codec, as it is written in the tables.
trait Item {
    fn shown(&self) -> String;
}

impl Item for bytestring::ByteString {
    fn shown(&self) -> String {
        format!("<{self}>")
    }
}

impl Item for Event {
    fn shown(&self) -> String {
        format!("<{}>", self.data)
    }
}

/// Returns the items of a codec before the end of the stream, and all of them. An error is its text between `!` and `!`.
fn decode<C, I, E>(mut codec: C, chunks: &[&[u8]]) -> (String, String)
where
    C: Decoder<Item = Result<I, E>, Error: Display>,
    I: Item,
    E: Display,
{
    let (mut items, mut buffer) = (String::new(), BytesMut::new());
    let shown = |item: Result<C::Item, C::Error>| match item {
        Ok(Ok(item)) => item.shown(),
        Ok(Err(error)) => format!("!{error}!"),
        Err(error) => format!("!{error}!"),
    };
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(item) = codec.decode(&mut buffer).transpose() {
            items += &shown(item);
        }
    }
    let before_end = items.clone();
    while let Some(item) = codec.decode_eof(&mut buffer).transpose() {
        items += &shown(item);
    }
    (before_end, items)
}

/// The name of a case, the stream, and the items that are expected: those before the end of the stream, and after `|`
/// those that its end completes.
type Case<'c> = (&'c str, &'c [u8], &'c str);

fn check<C, I, E>(codec: impl Fn() -> C, cases: &[Case<'_>])
where
    C: Decoder<Item = Result<I, E>, Error: Display>,
    I: Item,
    E: Display,
{
    for (name, stream, expected) in cases {
        let (before_end, at_end) = expected.split_once('|').unwrap_or((expected, ""));
        some_partitions(stream, 20, |chunks| {
            let found = decode(codec(), chunks);
            assert_eq!(
                found,
                (before_end.to_owned(), [before_end, at_end].concat()),
                "{name}: {chunks:02X?}"
            );
        });
    }
}

#[test]
fn lines() {
    check(
        Utf8LinesCodec::new,
        &[
            ("mautic 5408", b"a,b\rc,d\r", "|<a,b\rc,d\r>"),
            ("a CR before CRLF", b"a\r\r\nb", "<a\r>|<b>"),
            ("CRLF at the end", b"a\r\n", "<a>"),
        ],
    );
    let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    check(
        || Utf8LinesCodec::with_decoder(replace.clone()).with_max_length(9).with_max_text_length(9),
        &[
            ("ircu2 111: 3 replacements", b"\xFF\xFF\xFF\n", "<\u{FFFD}\u{FFFD}\u{FFFD}>"),
            ("ircu2 111: 4", b"\xFF\xFF\xFF\xFF\na\n", "!line 1 at byte 0 is longer than 9 bytes!<a>"),
            ("ircu2 111: 4 at the end", b"\xFF\xFF\xFF\xFF", "|!line 1 at byte 0 is longer than 9 bytes!"),
        ],
    );
    // kimi-cli 831, inspect_ai 4280, opensquilla 953, qwen-code 9298
    let result = format!("{{\"result\":\"{}\"}}", "\u{65E5}".repeat(33_000));
    let stream = format!("{result}\n{{}}\n");
    let chunks: Vec<_> = stream.as_bytes().chunks(4096).collect();
    assert_eq!(decode(Utf8LinesCodec::ndjson(), &chunks).0, format!("<{result}><{{}}>"));
}

#[test]
fn syslog() {
    let both: &[Case<'_>] = &[
        ("journalpump 193", b"5 hello\n5 world\n", "<hello><world>"),
        ("CRLF after a count", b"2 <1\r\n2 <2\r\n", "<<1><<2>"),
        ("NUL after a count", b"3 <1>\x003 <2>\0", "<<1>><<2>>"),
        ("an LF that is counted", b"4 <1>\n\n3 <2>", "<<1>\n><<2>>"),
    ];
    let counted = || Utf8FramesCodec::new(OctetCountingCodec::new());
    let or_lines = || Utf8FramesCodec::new(OctetCountingCodec::new().with_line_frames(true));
    check(counted, both);
    check(or_lines, both);
    check(
        or_lines,
        &[
            ("journalpump 193", b"7 <13>abc\n7 <13>def\n", "<<13>abc><<13>def>"),
            ("RFC 6587 section 3.4.2", b"<13>a\r\n<13>b\r\n", "<<13>a><<13>b>"),
            ("python-syslogssl 1", b"<13>a\0<13>b\0", "<<13>a><<13>b>"),
            ("NUL and LF", b"<13>a\0\n<13>b\0\n", "<<13>a><<13>b>"),
            ("a CR inside", b"<13>a\rb\n", "<<13>a\rb>"),
            ("no trailer at the end", b"<13>a\n<13>b\r", "<<13>a>|<<13>b>"),
        ],
    );
}

#[test]
fn language_servers() {
    let twice = |line_break: &str| format!("Content-Length: 2\r\n\r\n{{}}{line_break}").repeat(2);
    let codec = || Utf8FramesCodec::new(ContentLengthCodec::new());
    check(
        codec,
        &[
            (
                "vim-lsp 1594",
                b"Content-Length: 2\n\n{}Content-Length: 2\n\n[]",
                "!invalid frame header at byte 0!",
            ),
            ("zed 41277, lite-xl-lsp 100", twice("\r\n").as_bytes(), "<{}><{}>"),
            ("println of the payload", twice("\n").as_bytes(), "<{}><{}>"),
            ("JSON in lines", b"{\"id\":1}\n{\"id\":2}\n", "!invalid frame header at byte 0!"),
        ],
    );
}

/// RFC 7464 section 2.4.
#[test]
fn json_sequences() {
    check(
        || Utf8FramesCodec::new(JsonSequenceCodec::new()),
        &[
            ("succinctly 2998", b"\x1E{}\x1Etrue\n", "<{}><true>"),
            ("succinctly 2998", b"\x1E[1]\x1E\"a\"\x1E{}\n", "<[1]><\"a\"><{}>"),
            ("succinctly 1723", b"\x1E1 \x1E2\n", "<1 ><2>"),
            ("json-stream 5", b"\x1E{\"a\":1}\n", "<{\"a\":1}>"),
            ("a number at the end", b"\x1E12", "|!the frame at byte 1 is cut off!"),
            ("a literal", b"\x1Etru\x1Enull\n", "!the frame at byte 1 is cut off!<null>"),
            ("an object at the end", b"\x1E{\"a\":\"}\"}", "|<{\"a\":\"}\"}>"),
            ("an object that is cut", b"\x1E{\"a\":\n\x1E1\n", "!the frame at byte 1 is cut off!<1>"),
        ],
    );
}

#[test]
fn server_sent_events() {
    let usage: &[u8] = b"data: a\n\ndata: {\"usage\":1}\n";
    check(SseCodec::new, &[("the standard", usage, "<a>")]);
    check(
        || SseCodec::new().with_dispatch_at_end(true),
        &[
            ("openai-node 2725, opencode 40454", usage, "<a>|<{\"usage\":1}>"),
            ("gemini-cli 29059, req_llm 462", b"data: a\n\ndata: b", "<a>|<b>"),
            ("an empty line", b"data: a\n\n", "<a>"),
        ],
    );
    // goclaw 1348, magec 45, openai-go 368, opencode 3531: an image in base64.
    let image = |mib| format!("data: {{\"b64_json\":\"{}\"}}\n\ndata: [DONE]\n\n", "A".repeat(mib << 20));
    for (codec, mib) in [(SseCodec::new(), 3), (SseCodec::new().with_max_line_length(20 << 20), 19)] {
        let stream = image(mib);
        let chunks: Vec<_> = stream.as_bytes().chunks(16 << 10).collect();
        let (before_end, _) = decode(codec, &chunks);
        assert_eq!(before_end.len(), (mib << 20) + "<{\"b64_json\":\"\"}><[DONE]>".len());
    }
}
