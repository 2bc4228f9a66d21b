//! Streams, readers, writers, bodies and filters.

use core::convert::Infallible;
use core::hint::black_box;

use bytes::Bytes;
use futures::executor::block_on;
use futures::{StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio_util::io::StreamReader;
use utf8_codec::io::{Utf8Reader, Utf8Writer};
use utf8_codec::stream::Utf8StreamExt;
use utf8_codec::{Ascii, ErrorPolicy, TextDecoder};
use utf8_codec_http::{BodyRules, Utf8Body};
use utf8_codec_proxy::Filter;
use utf8_codec_proxy::websocket::{FrameFilter, FrameReader, FrameSender};

use crate::inputs::*;
use crate::row::{Row, sink};
use crate::text::policies;

fn chunks(bytes: &[u8], chunk: usize) -> Vec<Bytes> {
    bytes.chunks(chunk).map(Bytes::copy_from_slice).collect()
}

/// A reader that returns at most `chunk` bytes at a time.
struct Chunked<'b> {
    bytes: &'b [u8],
    chunk: usize,
}

impl std::io::Read for Chunked<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let room = buf.len().min(self.chunk);
        std::io::Read::read(&mut self.bytes, &mut buf[..room])
    }
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![
        Row::new("FrameFilter, Substitute", FRAMES_OF_WEBSOCKET, |bytes, chunk| {
            let mut filter = FrameFilter::new(FrameSender::Server).with_substitute(Ascii::QUESTION_MARK);
            for mut chunk in chunks(bytes, chunk) {
                let _ = black_box(filter.rewrite(&mut chunk));
            }
        }),
        Row::new("FrameReader, Replace", FRAMES_OF_WEBSOCKET, |bytes, chunk| {
            let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
            let mut reader = FrameReader::with_decoder(FrameSender::Server, replace);
            for chunk in bytes.to_vec().chunks_mut(chunk) {
                reader.feed(chunk).for_each(sink);
            }
        }),
    ];
    for (name, text) in policies() {
        rows.push(Row::new(format!("Utf8Stream, {name}"), TEXT, move |bytes, chunk| {
            let chunks = stream::iter(chunks(bytes, chunk)).map(Ok::<_, Infallible>);
            block_on(chunks.utf8_with(text()).for_each(|part| {
                sink(part);
                core::future::ready(())
            }));
        }));
        rows.push(Row::new(format!("Filter, {name}"), TEXT, move |bytes, chunk| {
            let mut filter = Filter::with_decoder(text());
            for chunk in chunks(bytes, chunk) {
                let mut body = Some(chunk);
                let _ = black_box(filter.rewrite(&mut body, false));
            }
        }));
        rows.push(Row::new(format!("Utf8Body, {name}"), TEXT, move |bytes, chunk| {
            let chunks =
                chunks(bytes, chunk).into_iter().map(|chunk| Ok::<_, Infallible>(Frame::data(chunk)));
            let body = Utf8Body::with_decoder(StreamBody::new(stream::iter(chunks)), text());
            black_box(block_on(body.collect()).is_ok());
        }));
        rows.push(Row::new(format!("Utf8Reader, {name}"), TEXT, move |bytes, chunk| {
            let inner = || StreamReader::new(stream::iter(chunks(bytes, chunk)).map(Ok::<_, std::io::Error>));
            block_on(async {
                let mut reader = Utf8Reader::with_decoder(inner(), text());
                while let Ok(filled) = reader.fill_buf().await
                    && !filled.is_empty()
                {
                    // Only a part of the text is consumed, so the rest is returned again.
                    let taken = filled.len().min(16);
                    reader.consume(taken);
                }
                let mut reader = Utf8Reader::with_decoder(inner(), text());
                let mut room = [0; 16];
                while reader.read(&mut room).await.is_ok_and(|read| read > 0) {}
            });
        }));
        rows.push(Row::new(format!("Utf8Reader, blocking, {name}"), TEXT, move |bytes, chunk| {
            for max in [0, 100, usize::MAX] {
                let own = Utf8Reader::with_decoder(Chunked { bytes, chunk }, text());
                own.into_bounded_lines(max).for_each(sink);
            }
            let mut reader = Utf8Reader::with_decoder(Chunked { bytes, chunk }, text());
            while let Ok(Some(part)) = reader.read_str_chunk() {
                black_box(part);
            }
        }));
        rows.push(Row::new(format!("Utf8Writer, {name}"), TEXT, move |bytes, chunk| {
            block_on(async {
                let mut writer = Utf8Writer::with_decoder(Vec::new(), text());
                for chunk in bytes.chunks(chunk) {
                    black_box(writer.write_all(chunk).await.is_ok());
                }
                black_box(writer.shutdown().await.is_ok());
            });
        }));
    }
    let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    let inputs = [ASCII, FF, CRLF, CR, DELIMITERS, DELIMITER_LINES, DASHES, FIELDS, FOLDS, COLONS];
    for (name, rules) in [("Strict", BodyRules::new()), ("Replace", BodyRules::new().with_decoder(replace))] {
        rows.push(Row::new(format!("Utf8Body::form_data, {name}"), inputs, move |bytes, chunk| {
            // The input is in the preamble, in a header, or in a text field.
            let field = b"--b\r\ncontent-disposition: form-data; name=a\r\n\r\n";
            for start in [&b""[..], b"--b\r\n", field] {
                let bytes = [start, bytes].concat();
                let chunks =
                    chunks(&bytes, chunk).into_iter().map(|chunk| Ok::<_, Infallible>(Frame::data(chunk)));
                let body = Utf8Body::form_data(StreamBody::new(stream::iter(chunks)), b"b", &rules)
                    .expect("a boundary");
                black_box(block_on(body.collect()).is_ok());
            }
        }));
    }
    rows
}
