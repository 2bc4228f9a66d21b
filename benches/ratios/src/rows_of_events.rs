//! The goals of server-sent events, compared with other crates that read them.

use std::convert::Infallible;
use std::hint::black_box;

use bytes::Bytes;
use eventsource_stream::Eventsource;
use futures::executor::block_on;
use futures::{Stream, StreamExt, stream};
use sse_stream::SseByteStream;
use utf8_codec::stream::SseStream;

use crate::corpora::Corpus;
use crate::measure::{Contender, race};
use crate::rows::{Bench, measured};

/// The bytes of a response.
const LEN: usize = 256 * 1024;

impl Bench {
    pub fn events(&self) {
        self.clean_events();
        self.events_after_an_error();
    }

    /// Measures tokens of a language model and larger documents, in reads of 1 KiB and of 16 KiB.
    fn clean_events(&self) {
        for (scenario, lens, chunk, goal) in [
            ("server-sent events of 20-40 B, 1 KiB reads", 20..=40, 1024, 1.0),
            ("server-sent events of 20-40 B, 64 B reads", 20..=40, 64, 1.0),
            ("server-sent events of 1-4 KiB, 16 KiB reads", 1024..=4096, 16 * 1024, 1.0),
        ] {
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in [Corpus::AsciiJson, Corpus::Cyrillic] {
                let count = LEN / (lens.start() + lens.end()) * 2;
                let mut response = Vec::new();
                for text in corpus.strings(lens.clone(), count) {
                    response.extend_from_slice(
                        format!("data: {}\n\n", text.replace(['\r', '\n'], " ")).as_bytes(),
                    );
                }
                let chunks = &cut(&response, chunk);
                let race = race(contenders(chunks), self.effort);
                let of = measured(scenario, corpus.name(), response.len(), &race);
                self.note(&of, "ours", &["eventsource-stream"], goal);
                self.note(&of, "ours", &["sse-stream"], goal);
            }
        }
    }

    /// Measures a response with one ill-formed byte in a comment at the start. eventsource-stream returns no event,
    /// only an error at the end of the response, in time that grows with the square of its length.
    fn events_after_an_error(&self) {
        let scenario = "server-sent events after 1 ill-formed byte";
        if !self.is_wanted(scenario) {
            return;
        }
        for (input, len, goal) in [("64 KiB", 64 * 1024, 1.0), ("256 KiB", 256 * 1024, 4.0)] {
            let event = "data: {\"choices\":[{\"delta\":{\"content\":\"na\u{EF}ve\"}}]}\n\n";
            let mut response = b": \xFF\n".to_vec();
            response.extend_from_slice(event.repeat(len / event.len()).as_bytes());
            let data = (len / event.len() * (event.len() - "data: \n\n".len())) as u64;
            let chunks = &cut(&response, 1024);
            let mut contenders = contenders(chunks);
            let of_peer = total(chunks_of(chunks).eventsource(), |event| event.data.len());
            assert_eq!(of_peer, 0, "the peer returns no event");
            contenders[1] = Contender::new("eventsource-stream", move || {
                black_box(total(chunks_of(chunks).eventsource(), |event| event.data.len()));
                data
            });
            let race = race(contenders, self.effort);
            let of = measured(scenario, input, response.len(), &race);
            self.note(&of, "ours", &["eventsource-stream"], goal);
            self.note(&of, "ours", &["sse-stream"], 1.0);
        }
    }
}

fn cut(response: &[u8], chunk: usize) -> Vec<Bytes> {
    response.chunks(chunk).map(Bytes::copy_from_slice).collect()
}

/// Returns the response as a stream.
fn chunks_of(chunks: &[Bytes]) -> impl Stream<Item = Result<Bytes, Infallible>> + Unpin + '_ {
    stream::iter(chunks.iter().cloned().map(Ok))
}

fn contenders(chunks: &[Bytes]) -> Vec<Contender<'_>> {
    let read = move || chunks_of(chunks);
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
