//! Server-sent events (WHATWG HTML §9.2) from a stream of byte chunks: the codec reads the lines, and a small parser
//! reads the fields. An ill-formed line does not end the stream.

use std::io;

use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use tokio_util::codec::FramedRead;
use tokio_util::io::StreamReader;
use utf8_codec::codec::{CodecError, ErrorsAsItems, LineEnding, Utf8LinesCodec};
use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};

#[derive(Debug, Default, PartialEq, Eq)]
struct Event {
    name: String,
    data: String,
}

/// Collects the lines of an event until an empty line ends it.
#[derive(Default)]
struct Parser {
    event: Event,
    id: String,
}

impl Parser {
    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let mut event = core::mem::take(&mut self.event);
            // Each `data` line added an LF; the last one is not part of the data. An event without data is discarded.
            event.data.pop()?;
            return Some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                self.event.data.push_str(value);
                self.event.data.push('\n');
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            // A comment has no field name. Unknown fields are ignored.
            _ => {}
        }
        None
    }
}

/// The events of a response, and the errors of ill-formed lines.
fn events<S>(response: S, policy: ErrorPolicy) -> impl Stream<Item = Result<Event, CodecError>>
where
    S: Stream<Item = io::Result<Bytes>> + Unpin,
{
    // The standard strips one BOM and has 3 line terminators. It sets no limit for a line; this example does.
    let text = TextDecoder::new().on_error(policy).bom(BomPolicy::Strip);
    let lines = Utf8LinesCodec::with_decoder(text).ending(LineEnding::Any).max_length(1 << 20);
    let lines = FramedRead::new(StreamReader::new(response), ErrorsAsItems::new(lines));
    let mut parser = Parser::default();
    lines.filter_map(move |line| {
        core::future::ready(match line {
            Ok(Ok(line)) => parser.line(&line).map(Ok),
            Ok(Err(error)) | Err(error) => Some(Err(error)),
        })
    })
}

/// Every line terminator, a comment, a BOM at the start, a BOM that is text, a Unicode separator that does not end a
/// line, and an ill-formed byte.
const RESPONSE: &[u8] = b"\xEF\xBB\xBF: connected\r\n\
    event: token\r\ndata: Stra\xC3\x9Fe \xF0\x9F\xA6\x80\r\n\r\n\
    data: two\xE2\x80\xA8not three\rdata: lines\r\r\
    data: b\xFFd\n\n\
    data:\xEF\xBB\xBFkept\nid: 7\n\n";

fn event(name: &str, data: &str) -> Event {
    Event { name: name.into(), data: data.into() }
}

/// The response as the network cuts it: inside characters, inside the BOM, between CR and LF.
fn response(size: usize) -> impl Stream<Item = io::Result<Bytes>> + Unpin {
    stream::iter(RESPONSE.chunks(size)).map(|chunk| Ok(Bytes::from_static(chunk)))
}

#[tokio::main]
async fn main() -> Result<(), CodecError> {
    let expected = [
        event("token", "Stra\u{DF}e \u{1F980}"),
        event("", "two\u{2028}not three\nlines"),
        event("", "b\u{FFFD}d"),
        event("", "\u{FEFF}kept"),
    ];
    for size in 1..=RESPONSE.len() {
        // As the standard requires: ill-formed sequences are replaced.
        let got: Vec<_> = events(response(size), ErrorPolicy::Replace).try_collect().await?;
        assert_eq!(got, expected, "chunks of {size}");

        // Strictly: the ill-formed line is reported with its offset, and the event after it is returned.
        let got: Vec<_> = events(response(size), ErrorPolicy::Strict).collect().await;
        assert_eq!(got.len(), expected.len());
        let error = got[2].as_ref().expect_err("an ill-formed line").utf8_error().expect("ill-formed");
        assert_eq!(RESPONSE[error.offset as usize], 0xFF, "chunks of {size}");
        assert_eq!(got[3].as_ref().ok(), Some(&expected[3]));
    }
    println!("{} bytes, in chunks of every size: the same {} events", RESPONSE.len(), expected.len());
    Ok(())
}
