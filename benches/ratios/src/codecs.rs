//! Codecs: lines, text as it arrives, and server-sent events, with `FramedRead` and with hand-written code.

use std::convert::Infallible;
use std::hint::black_box;
use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use eventsource_stream::Eventsource;
use futures::executor::block_on;
use futures::{Stream, StreamExt, stream};
use sse_stream::SseByteStream;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_util::codec::{Decoder, Encoder, FramedRead, LinesCodec};
use utf8_codec::codec::framing::CriCodec;
use utf8_codec::codec::{Utf8Codec, Utf8LinesCodec};
use utf8_codec::json::SurrogateCarry;
use utf8_codec::stream::SseStream;
use utf8_codec::{TextDecoder, from_utf8};
use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::codec::FallbackLinesCodec;
use utf8_codec_encodings::detect::{FallbackDecoder, Scope};

use crate::corpora::{Corpus, lines};
use crate::measure::{Contender, Effort};
use crate::table::{Bench, goal};

const CAPACITY: usize = 64 * 1024;

/// A text codec around simdutf8. It returns the well-formed prefix, and keeps an unfinished sequence in the buffer.
struct WholeTexts;

impl Decoder for WholeTexts {
    type Item = Bytes;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        let good = match simdutf8::compat::from_utf8(buffer) {
            Ok(text) => text.len(),
            Err(error) if buffer.len() - error.valid_up_to() < 4 => error.valid_up_to(),
            Err(_) => return Err(io::ErrorKind::InvalidData.into()),
        };
        Ok((good > 0).then(|| buffer.split_to(good).freeze()))
    }
}

/// Returns the number of bytes in all frames.
async fn frames<S: AsyncRead + Unpin, D: Decoder<Error: core::fmt::Debug>>(
    mut framed: FramedRead<S, D>,
    mut len: impl FnMut(D::Item) -> usize,
) -> u64 {
    let mut bytes = 0;
    while let Some(frame) = framed.next().await {
        bytes += len(frame.expect("the text is good")) as u64;
    }
    bytes
}

fn reader<D: Decoder>(data: &[u8], codec: D) -> FramedRead<&[u8], D> {
    FramedRead::with_capacity(data, codec, CAPACITY)
}

/// Hand-written code with memchr for the line and simdutf8 for the text, without allocations.
async fn lines_by_hand(mut source: impl AsyncRead + Unpin) -> u64 {
    let mut buffer = BytesMut::with_capacity(CAPACITY);
    let mut bytes = 0;
    loop {
        buffer.reserve(CAPACITY / 2);
        if source.read_buf(&mut buffer).await.expect("it can be read") == 0 {
            return bytes;
        }
        let mut start = 0;
        while let Some(len) = memchr::memchr(b'\n', &buffer[start..]) {
            let line = simdutf8::basic::from_utf8(&buffer[start..start + len]).expect("the text is good");
            bytes += black_box(line).len() as u64;
            start += len + 1;
        }
        let _ = buffer.split_to(start);
    }
}

/// Returns an item that has no error.
fn good<T, E: core::fmt::Debug>(item: Result<T, E>) -> T {
    item.expect("the text is good")
}

/// Encodes all lines into the buffer, which has enough capacity for them.
fn encoded<'a, E: Encoder<&'a str, Error: core::fmt::Debug>>(
    mut codec: E,
    lines: &'a [String],
    buffer: &mut BytesMut,
) -> u64 {
    buffer.clear();
    for line in lines {
        codec.encode(black_box(line), buffer).expect("there is no limit");
    }
    black_box(&buffer[..]).len() as u64
}

/// The lines of a text as they are.
fn plain_lines<'t>(runtime: &'t Runtime, text: &'t str) -> Contender<'t> {
    Contender::new("`Utf8LinesCodec`", move || {
        runtime.block_on(frames(reader(text.as_bytes(), Utf8LinesCodec::new()), |line| good(line).len()))
    })
}

impl Bench {
    pub fn codecs(&self) {
        self.framed();
        self.containers();
        self.lines_of_others();
        self.loopback();
        self.encoder();
        self.events();
    }

    /// Inputs in the L2 cache, so that neither memory bandwidth nor a socket is measured.
    fn framed(&self) {
        let runtime = &self.runtime;
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic] {
            let mut text = corpus.text(1 << 20);
            text.push('\n');
            let (data, name, bytes) = (text.as_bytes(), corpus.name(), text.len());
            let scenario = "`FramedRead`, text as it arrives";
            if self.is_wanted(scenario) {
                let contenders = vec![
                    Contender::new("ours", move || {
                        runtime.block_on(frames(reader(data, Utf8Codec::new()), |text| good(text).len()))
                    }),
                    Contender::new("a codec over simdutf8", move || {
                        runtime.block_on(frames(reader(data, WholeTexts), |text| text.len()))
                    }),
                ];
                let goal = goal(if corpus == Corpus::AsciiJson { 1.0 } else { 1.5 })
                    .because("both read at the speed of the L2 cache");
                self.row(scenario, name, bytes, contenders, goal);
            }
            let lines_codec = || {
                Contender::new("tokio-util (LinesCodec)", move || {
                    runtime.block_on(frames(reader(data, LinesCodec::new()), |line| line.len()))
                })
            };
            let scenario = "lines, one item each";
            if self.is_wanted(scenario) {
                let ours = Contender::new("ours", move || {
                    runtime.block_on(frames(reader(data, Utf8LinesCodec::new()), |line| good(line).len()))
                });
                let goal =
                    goal(1.2).because("two changes of the reference count of the read buffer for each line");
                self.row(scenario, name, bytes, vec![ours, lines_codec()], goal);
            }
            let scenario = "lines, one item for each read";
            if self.is_wanted(scenario) {
                let contenders = vec![
                    Contender::new("ours", move || {
                        let codec = Utf8LinesCodec::new().into_batches();
                        let len = |line: &str| black_box(line).len();
                        runtime
                            .block_on(frames(reader(data, codec), |lines| good(lines).iter().map(len).sum()))
                    }),
                    Contender::new("hand-written, memchr and simdutf8", move || {
                        runtime.block_on(lines_by_hand(data))
                    }),
                    lines_codec(),
                ];
                self.row(scenario, name, bytes, contenders, goal(2.0));
            }
        }
    }

    /// A log of a container, beside its lines as they are.
    fn containers(&self) {
        const HEADER: &str = "2026-11-28T20:00:00.123456789Z stdout F ";
        let scenario = "lines of a container's log";
        let runtime = &self.runtime;
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic].into_iter().filter(|_| self.is_wanted(scenario)) {
            let log: String = corpus
                .strings(8..=140, 5000)
                .iter()
                .map(|line| format!("{HEADER}{}\n", line.replace('\n', " ")))
                .collect();
            let contenders = vec![
                Contender::new("ours", || {
                    let len = |text: &[u8]| HEADER.len() + from_utf8(text).expect("the text is good").len();
                    runtime.block_on(frames(reader(log.as_bytes(), CriCodec::new()), |line| {
                        len(line.expect("a record").text())
                    }))
                }),
                Contender::new("`Utf8LinesCodec`, without the fields", || {
                    runtime.block_on(frames(reader(log.as_bytes(), Utf8LinesCodec::new()), |line| {
                        line.expect("a line").len()
                    }))
                }),
            ];
            let goal = goal(0.7).because("each line has a time and a tag that are parsed");
            self.row(scenario, corpus.name(), log.len(), contenders, goal);
        }
    }

    /// What is done for each line of other sources, beside the lines as they are.
    fn lines_of_others(&self) {
        let runtime = &self.runtime;
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic] {
            let strings = corpus.strings(8..=140, 5000);
            let scenario = "deltas of a model, with a carry";
            if self.is_wanted(scenario) {
                let deltas: String =
                    strings.iter().map(|text| format!("{}\n", serde_json::json!(text))).collect();
                let contenders = vec![
                    Contender::new("ours", || {
                        let mut carry = SurrogateCarry::new();
                        let lines = reader(deltas.as_bytes(), Utf8LinesCodec::new());
                        runtime.block_on(frames(lines, |line| black_box(carry.join(&good(line))).len()))
                    }),
                    plain_lines(runtime, &deltas),
                ];
                let goal = goal(0.7).because("each string is searched for an escape");
                self.row(scenario, corpus.name(), deltas.len(), contenders, goal);
            }
            let output: String = strings.iter().map(|text| text.replace('\n', " ") + "\n").collect();
            let scenario = "lines of a child process, UTF-8 with a fallback";
            if self.is_wanted(scenario) {
                let contenders = vec![
                    Contender::new("ours", || {
                        let codec =
                            FallbackLinesCodec::new(Encoding::Ibm866).expect("an encoding of single bytes");
                        runtime.block_on(frames(reader(output.as_bytes(), codec), |line| good(line).len()))
                    }),
                    plain_lines(runtime, &output),
                ];
                let goal =
                    goal(0.8).because("the start of the stream and each line are tested for their encoding");
                self.row(scenario, corpus.name(), output.len(), contenders, goal);
            }
            let scenario = "output of a child process, UTF-8 with a fallback";
            if self.is_wanted(scenario) {
                let (mut ours, mut theirs) = (String::new(), String::new());
                let output = output.as_bytes();
                let contenders = vec![
                    Contender::new("ours", move || {
                        ours.clear();
                        let decoder = FallbackDecoder::new(Encoding::Ibm866, Scope::Line);
                        let mut decoder = decoder.expect("an encoding of single bytes");
                        output.chunks(8192).for_each(|chunk| decoder.feed_into(black_box(chunk), &mut ours));
                        decoder.finish_into(&mut ours);
                        ours.len() as u64
                    }),
                    Contender::new("`TextDecoder`", move || {
                        theirs.clear();
                        let mut decoder = TextDecoder::new();
                        for chunk in output.chunks(8192) {
                            for piece in decoder.feed(black_box(chunk)) {
                                theirs.push_str(piece.text().expect("the text is good"));
                            }
                        }
                        theirs.len() as u64
                    }),
                ];
                let goal = goal(0.8).because("the text after the last line of a chunk is copied twice");
                self.row(scenario, corpus.name(), output.len(), contenders, goal);
            }
        }
    }

    /// The CPU time of the reader of a TCP connection, with that of the kernel.
    fn loopback(&self) {
        let scenario = "lines of 80 B over loopback TCP";
        for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml].into_iter().filter(|_| self.is_wanted(scenario))
        {
            let text = lines(&corpus.text(8 << 20), 80, "\n");
            let data: &'static [u8] = Box::leak(text.into_boxed_str().into_boxed_bytes());
            let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("an address");
            // This thread sends the text over every connection.
            std::thread::spawn(move || {
                for connection in listener.incoming() {
                    let _ = io::Write::write_all(&mut connection.expect("a connection"), data);
                }
            });
            let runtime = &self.runtime;
            let connect = move || async move { TcpStream::connect(address).await.expect("a connection") };
            let contenders = vec![
                Contender::new("ours", move || {
                    runtime.block_on(async {
                        let lines = FramedRead::new(connect().await, Utf8LinesCodec::new());
                        frames(lines, |line| good(line).len()).await
                    })
                }),
                Contender::new("tokio-util (LinesCodec)", move || {
                    runtime.block_on(async {
                        let lines = FramedRead::new(connect().await, LinesCodec::new());
                        frames(lines, |line| line.len()).await
                    })
                }),
            ];
            let effort = Effort { turn: Duration::ZERO, ..self.effort };
            let goal = goal(if corpus == Corpus::AsciiJson { 1.2 } else { 1.8 })
                .because("most of the time is that of the kernel, which both need");
            self.row_with(effort, scenario, corpus.name(), data.len(), contenders, goal);
        }
    }

    /// Encodes lines of 8 to 140 bytes into one buffer.
    fn encoder(&self) {
        let scenario = "encoder, lines of 8 to 140 B";
        if self.is_wanted(scenario) {
            let corpus = Corpus::Cyrillic;
            let lines = &corpus.strings(8..=140, 500);
            let bytes = lines.iter().map(|line| line.len() + 1).sum();
            let (mut a, mut b) = (BytesMut::with_capacity(bytes + 64), BytesMut::with_capacity(bytes + 64));
            let contenders = vec![
                Contender::new("ours", move || encoded(Utf8LinesCodec::new(), lines, &mut a)),
                Contender::new("tokio-util (LinesCodec)", move || encoded(LinesCodec::new(), lines, &mut b)),
            ];
            let goal =
                goal(0.95).because("each line is searched for a terminator, which LinesCodec does not do");
            self.row(scenario, corpus.name(), bytes, contenders, goal);
        }
    }

    /// Tokens of a language model, and larger documents.
    fn events(&self) {
        for (scenario, lens, read) in [
            ("server-sent events of 20 to 40 B, reads of 1 KiB", 20..=40, 1024),
            ("server-sent events of 1 to 4 KiB, reads of 16 KiB", 1024..=4096, 16 * 1024),
        ] {
            if self.is_wanted(scenario) {
                let corpus = Corpus::Cyrillic;
                let count = RESPONSE / (lens.start() + lens.end()) * 2;
                let texts = corpus.strings(lens.clone(), count);
                let response: String = texts
                    .iter()
                    .map(|text| format!("data: {}\n\n", text.replace(['\r', '\n'], " ")))
                    .collect();
                let chunks = &cut(response.as_bytes(), read);
                self.row(scenario, corpus.name(), response.len(), readers_of_events(chunks), goal(1.0));
            }
        }
    }
}

/// The bytes of a response.
const RESPONSE: usize = 256 * 1024;

fn cut(response: &[u8], chunk: usize) -> Vec<Bytes> {
    response.chunks(chunk).map(Bytes::copy_from_slice).collect()
}

fn readers_of_events(chunks: &[Bytes]) -> Vec<Contender<'_>> {
    let read = move || stream::iter(chunks.iter().cloned().map(Ok::<_, Infallible>));
    vec![
        Contender::new("ours", move || total(SseStream::new(read()), |event| event.data.len())),
        Contender::new("eventsource-stream", move || total(read().eventsource(), |event| event.data.len())),
        Contender::new("sse-stream", move || {
            total(SseByteStream::new(read()), |event| event.data.map_or(0, |data| data.len()))
        }),
    ]
}

/// Returns the number of data bytes in all events.
fn total<E, X>(events: impl Stream<Item = Result<E, X>>, len: impl Fn(E) -> usize) -> u64 {
    block_on(events.fold(0, |total, event| core::future::ready(total + event.map_or(0, &len) as u64)))
}
