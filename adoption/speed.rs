//! The workloads: a module for each row. Each is compiled on its own, with `utf8_codec_texts` after it.

mod utf8_codec_texts {
    //! The texts that the workloads read, 1 MiB each, in lines of about 80 bytes.
    //!
    //! A workload is called with the name of a text and the number of times to read it.

    const WORDS: [(&str, &[&str]); 2] = [
        ("ASCII", &["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "again", "and"]),
        (
            "mixed",
            &["слово", "и", "данные", "文字化け", "しない", "naïve", "café", "the", "of", "🦀", "한국어"],
        ),
    ];

    /// Returns the text and the number of rounds. Without arguments it prints the names of the texts.
    pub fn from_arguments() -> Option<(Vec<u8>, usize)> {
        let Some(name) = std::env::args().nth(1) else {
            WORDS.iter().for_each(|(name, _)| println!("{name}"));
            return None;
        };
        let rounds = std::env::args().nth(2)?.parse().ok()?;
        let (_, words) = WORDS.iter().find(|(known, _)| *known == name)?;
        let (mut text, mut line, mut random) = (String::new(), 0, 1_u32);
        while text.len() < 1 << 20 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let word = words[(random >> 16) as usize % words.len()];
            text.push_str(word);
            line += word.len() + 1;
            text.push(if line > 80 { '\n' } else { ' ' });
            if line > 80 {
                line = 0;
            }
        }
        Some((text.into_bytes(), rounds))
    }

    /// Returns the text as unmasked WebSocket text messages of about 64 KiB in frames of 4 KiB, and their number.
    /// Frames may end inside a character. Messages end between lines.
    #[allow(dead_code)]
    pub fn frames(text: &[u8]) -> (Vec<u8>, usize) {
        let mut frames = Vec::new();
        let lines: Vec<_> = text.split_inclusive(|&byte| byte == b'\n').collect();
        for message in lines.chunks(800).map(<[_]>::concat) {
            let mut parts = message.chunks(4096).enumerate().peekable();
            while let Some((index, part)) = parts.next() {
                let last = if parts.peek().is_none() { 0x80 } else { 0 };
                frames.extend([last | u8::from(index == 0), 126]);
                frames.extend((part.len() as u16).to_be_bytes());
                frames.extend(part);
            }
        }
        (frames, lines.len().div_ceil(800))
    }
}

mod async_utf8_decoder {
    //! A reader that returns 4 KiB at a time.

    use async_utf8_decoder::Utf8Decoder;
    use futures::executor::block_on;
    use futures::{StreamExt, TryStreamExt, stream};

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let mut bytes = 0;
        for _ in 0..rounds {
            let chunks = stream::iter(text.chunks(4096).map(Ok::<_, std::io::Error>));
            let mut decoder = Utf8Decoder::new(chunks.into_async_read());
            block_on(async {
                while let Some(text) = decoder.next().await {
                    bytes += text.unwrap().len();
                }
            });
        }
        std::hint::black_box(bytes);
    }
}

mod encoding_rs_io {
    //! A file in UTF-8 with a BOM.

    use std::io::Read;

    use encoding_rs_io::DecodeReaderBytes;

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let file = [b"\xEF\xBB\xBF", &text[..]].concat();
        let mut buffer = vec![0; 8192];
        let mut bytes = 0;
        for _ in 0..rounds {
            let mut reader = DecodeReaderBytes::new(&file[..]);
            loop {
                let read = reader.read(&mut buffer).unwrap();
                if read == 0 {
                    break;
                }
                bytes += read;
            }
        }
        std::hint::black_box(bytes);
    }
}

mod eventsource_stream {
    //! A client that reads events of one line in chunks of 1460 bytes.

    use eventsource_stream::Eventsource;
    use futures::StreamExt;
    use futures::executor::block_on;

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let mut events = Vec::new();
        for line in text.split(|&byte| byte == b'\n') {
            events.extend([b"data: ", line, b"\n\n"].concat());
        }
        let mut bytes = 0;
        for _ in 0..rounds {
            let mut stream = futures::stream::iter(events.chunks(1460).map(Ok::<_, ()>)).eventsource();
            block_on(async {
                while let Some(event) = stream.next().await {
                    bytes += event.unwrap().data.len();
                }
            });
        }
        std::hint::black_box(bytes);
    }
}

mod fastwebsockets {
    //! A client that reads text messages of 64 KiB in frames of 4 KiB.

    use std::pin::Pin;
    use std::task::{Context, Poll};

    use fastwebsockets::{FragmentCollector, Role, WebSocket};
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

    /// Sends the same frames again and again.
    struct Server {
        frames: Vec<u8>,
        given: usize,
    }

    impl AsyncRead for Server {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            let rest = &self.frames[self.given % self.frames.len()..];
            let read = rest.len().min(buffer.remaining());
            buffer.put_slice(&rest[..read]);
            self.given += read;
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Server {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<std::io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::main(flavor = "current_thread")]
    async fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let (frames, messages) = utf8_codec_texts::frames(&text);
        let mut socket = WebSocket::after_handshake(Server { frames, given: 0 }, Role::Client);
        socket.set_auto_pong(false);
        let mut socket = FragmentCollector::new(socket);
        for _ in 0..rounds * messages {
            std::hint::black_box(socket.read_frame().await.unwrap().payload.len());
        }
    }
}

mod lol_html {
    //! An element whose text arrives from a server in chunks of 1460 bytes.

    use std::sync::Arc;

    use lol_html::html_content::ContentType;
    use lol_html::{HtmlRewriter, Settings, element, streaming};

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let text = Arc::new(text);
        let mut bytes = 0;
        for _ in 0..rounds {
            let text = Arc::clone(&text);
            let append = element!("p", move |element| {
                let text = Arc::clone(&text);
                element.streaming_append(streaming!(move |sink| {
                    for chunk in text.chunks(1460) {
                        sink.write_utf8_chunk(chunk, ContentType::Html)?;
                    }
                    Ok(())
                }));
                Ok(())
            });
            let settings = Settings::new().append_element_content_handler(append);
            let mut rewriter = HtmlRewriter::new(settings, |chunk: &[u8]| bytes += chunk.len());
            rewriter.write(b"<p></p>").unwrap();
            rewriter.end().unwrap();
        }
        std::hint::black_box(bytes);
    }
}

mod quick_xml {
    //! A file that is read as XML text.

    use std::io::{BufRead, BufReader};

    use quick_xml::encoding::DecodingReader;

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let mut bytes = 0;
        for _ in 0..rounds {
            let mut reader = DecodingReader::new(BufReader::new(&text[..]));
            loop {
                let length = reader.fill_buf().unwrap().len();
                if length == 0 {
                    break;
                }
                bytes += length;
                reader.consume(length);
            }
        }
        std::hint::black_box(bytes);
    }
}

mod rmcp {
    //! A peer that sends notifications with a line of text each, in reads of 8 KiB.

    use rmcp::transport::async_rw::JsonRpcMessageCodec;
    use tokio_util::bytes::BytesMut;
    use tokio_util::codec::Decoder;

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let mut lines = String::new();
        for line in String::from_utf8(text).unwrap().lines() {
            lines.push_str(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":\"{line}\"}}\n"));
        }
        let (mut codec, mut buffer, mut messages) =
            (JsonRpcMessageCodec::<serde_json::Value>::new(), BytesMut::new(), 0);
        for _ in 0..rounds {
            for read in lines.as_bytes().chunks(8192) {
                buffer.extend_from_slice(read);
                while let Some(message) = codec.decode(&mut buffer).unwrap() {
                    messages += usize::from(message.is_object());
                }
            }
        }
        std::hint::black_box(messages);
    }
}

mod soketto {
    //! A client that reads text messages of 64 KiB in frames of 4 KiB.

    use futures::io::Cursor;
    use soketto::connection::{Builder, Mode};

    #[tokio::main(flavor = "current_thread")]
    async fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let (frames, messages) = utf8_codec_texts::frames(&text);
        let mut message = Vec::new();
        for _ in 0..rounds {
            let (_, mut receiver) = Builder::new(Cursor::new(frames.clone()), Mode::Client).finish();
            for _ in 0..messages {
                message.clear();
                receiver.receive_data(&mut message).await.unwrap();
            }
        }
        std::hint::black_box(message.len());
    }
}

mod tendril {
    //! A page that arrives in chunks of 4 KiB.

    use std::borrow::Cow;

    use tendril::stream::{TendrilSink, Utf8LossyDecoder};
    use tendril::{ByteTendril, NonAtomic, StrTendril, fmt};

    struct Count(usize);

    impl TendrilSink<fmt::UTF8, NonAtomic> for Count {
        type Output = usize;

        fn process(&mut self, text: StrTendril) {
            self.0 += text.len();
        }

        fn error(&mut self, _: Cow<'static, str>) {}

        fn finish(self) -> usize {
            self.0
        }
    }

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        for _ in 0..rounds {
            let chunks = text.chunks(4096).map(ByteTendril::from_slice);
            std::hint::black_box(Utf8LossyDecoder::new(Count(0)).from_iter(chunks));
        }
    }
}

mod tokio_util {
    //! Lines of 80 bytes in reads of 8 KiB.

    use bytes::BytesMut;
    use tokio_util::codec::{Decoder, LinesCodec};

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let (mut codec, mut buffer, mut bytes) = (LinesCodec::new_with_max_length(65536), BytesMut::new(), 0);
        for _ in 0..rounds {
            for read in text.chunks(8192) {
                buffer.extend_from_slice(read);
                while let Some(line) = codec.decode(&mut buffer).unwrap() {
                    bytes += line.len();
                }
            }
        }
        std::hint::black_box(bytes);
    }
}

mod tungstenite {
    //! A client that reads text messages of 64 KiB in frames of 4 KiB.

    use std::io::{ErrorKind, Read, Result, Write};

    use tungstenite::protocol::Role;
    use tungstenite::{Message, WebSocket};

    struct Server {
        frames: Vec<u8>,
        given: usize,
    }

    impl Read for Server {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            let read = (&self.frames[self.given..]).read(buffer)?;
            self.given += read;
            if read == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(read) }
        }
    }

    impl Write for Server {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let (frames, _) = utf8_codec_texts::frames(&text);
        let mut socket = WebSocket::from_raw_socket(Server { frames, given: 0 }, Role::Client, None);
        for _ in 0..rounds {
            socket.get_mut().given = 0;
            while let Ok(Message::Text(message)) = socket.read() {
                std::hint::black_box(message.len());
            }
        }
    }
}

mod ureq {
    //! A response that is read as text.

    use std::io::Cursor;

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        for _ in 0..rounds {
            let mut body = ureq::Body::builder().mime_type("text/plain").reader(Cursor::new(text.clone()));
            std::hint::black_box(body.read_to_string().unwrap().len());
        }
    }
}

mod utf8parse {
    //! A terminal that parses byte by byte.

    struct Count(u64);

    impl utf8parse::Receiver for Count {
        fn codepoint(&mut self, character: char) {
            self.0 += u64::from(u32::from(character));
        }

        fn invalid_sequence(&mut self) {}
    }

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let (mut parser, mut count) = (utf8parse::Parser::new(), Count(0));
        for _ in 0..rounds {
            text.iter().for_each(|&byte| parser.advance(&mut count, byte));
        }
        std::hint::black_box(count.0);
    }
}

mod vte {
    //! A terminal that reads 4 KiB at a time.

    struct Count(u64);

    impl vte::Perform for Count {
        fn print(&mut self, character: char) {
            self.0 += u64::from(u32::from(character));
        }
    }

    fn main() {
        let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
        let (mut parser, mut count) = (vte::Parser::new(), Count(0));
        for _ in 0..rounds {
            text.chunks(4096).for_each(|chunk| parser.advance(&mut count, chunk));
        }
        std::hint::black_box(count.0);
    }
}
