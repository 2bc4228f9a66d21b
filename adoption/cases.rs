//! Our tests: a module for each row, which shows a defect through the public API of the crate. Each is compiled on its own.

mod async_utf8_decoder {
    use async_utf8_decoder::Utf8Decoder;
    use futures::executor::block_on;
    use futures::{StreamExt, TryStreamExt, stream};

    fn decoder(reads: &'static [&'static [u8]]) -> Utf8Decoder<impl futures::io::AsyncRead + Unpin> {
        let reads = stream::iter(reads.iter().map(|read| Ok::<_, std::io::Error>(read)));
        Utf8Decoder::new(reads.into_async_read())
    }

    #[test]
    fn the_end_is_reported_once() {
        let mut decoder = decoder(&[b"caf\xC3"]);
        assert_eq!(block_on(decoder.next()).unwrap().unwrap(), "caf");
        assert!(block_on(decoder.next()).unwrap().is_err());
        assert!(block_on(decoder.next()).is_none());
    }

    #[test]
    fn no_text_is_lost_before_or_after_an_error() {
        let mut decoder = decoder(&[b"ab\xFFcd", b"ef"]);
        assert_eq!(block_on(decoder.next()).unwrap().unwrap(), "ab");
        let error = block_on(decoder.next()).unwrap().unwrap_err();
        assert!(error.to_string().contains("byte 2"), "{error}");
        assert_eq!(block_on(decoder.next()).unwrap().unwrap(), "cd");
        assert_eq!(block_on(decoder.next()).unwrap().unwrap(), "ef");
        assert!(block_on(decoder.next()).is_none());
    }
}

mod encoding_rs_io {
    use std::collections::VecDeque;
    use std::io::{ErrorKind, Read, Result};

    use encoding_rs_io::DecodeReaderBytes;

    /// A reader that returns these parts and would block between them.
    struct Live(VecDeque<&'static [u8]>);

    impl Read for Live {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            let part = match self.0.pop_front() {
                Some(part) if !part.is_empty() => part,
                Some(_) => return Err(ErrorKind::WouldBlock.into()),
                None => return Ok(0),
            };
            buffer[..part.len()].copy_from_slice(part);
            Ok(part.len())
        }
    }

    /// Returns the result of each read, or `None` if it would block.
    fn reads(parts: &[&'static [u8]]) -> Vec<Option<Vec<u8>>> {
        let mut reader = DecodeReaderBytes::new(Live(parts.iter().copied().collect()));
        let mut reads = Vec::new();
        loop {
            let mut buffer = [0; 64];
            match reader.read(&mut buffer) {
                Ok(0) => return reads,
                Ok(read) => reads.push(Some(buffer[..read].to_vec())),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    reads.push(None);
                }
            }
        }
    }

    #[test]
    fn a_byte_that_does_not_start_a_bom_is_returned_at_once() {
        assert_eq!(reads(&[b"y", b"", b"es"]), [Some(b"y".to_vec()), None, Some(b"es".to_vec())]);
    }

    #[test]
    fn a_bom_is_found_after_a_read_error_inside_it() {
        assert_eq!(reads(&[b"\xFF", b"", b"\xFE", b"a", b"\0"]), [None, Some(b"a".to_vec())]);
        assert_eq!(reads(&[b"\xEF\xBB", b"", b"\xBF", b"a\xFF"]), [None, Some("a\u{FFFD}".into())]);
    }
}

mod eventsource_stream {
    use eventsource_stream::Eventsource;
    use futures::StreamExt;

    /// Returns the data of the events before the first error.
    async fn events(chunks: &[&[u8]]) -> Vec<String> {
        let chunks: Vec<_> = chunks.iter().map(|chunk| Ok::<_, ()>(chunk.to_vec())).collect();
        let stream = futures::stream::iter(chunks).eventsource();
        stream
            .take_while(|event| std::future::ready(event.is_ok()))
            .map(|event| event.unwrap().data)
            .collect()
            .await
    }

    #[tokio::test]
    async fn a_bom_is_removed() {
        assert_eq!(events(&[b"\xEF\xBB\xBFdata: a\n\ndata: b\n\n"]).await, ["a", "b"]);
    }

    #[tokio::test]
    async fn a_bom_in_three_chunks_is_removed() {
        assert_eq!(events(&[b"\xEF", b"\xBB", b"\xBFdata: a\n\n"]).await, ["a"]);
    }

    #[tokio::test]
    async fn an_ill_formed_byte_is_replaced_and_the_next_events_are_returned() {
        let chunks: [&[u8]; 3] = [b"data: a\xFFb\n\nda", b"ta: \xF0\x9F", b"\x98\x80\n\n"];
        assert_eq!(events(&chunks).await, ["a\u{FFFD}b", "😀"]);
    }
}

mod fastwebsockets {
    use fastwebsockets::{FragmentCollector, Role, WebSocket, WebSocketError};
    use tokio::io::AsyncWriteExt;

    /// Returns the first message of a server that sends these frames.
    async fn message(frames: &[&[u8]]) -> Result<Vec<u8>, WebSocketError> {
        let (mut server, client) = tokio::io::duplex(1024);
        server.write_all(&frames.concat()).await.unwrap();
        let mut socket = FragmentCollector::new(WebSocket::after_handshake(client, Role::Client));
        socket.read_frame().await.map(|frame| frame.payload.to_vec())
    }

    #[tokio::test]
    async fn a_message_that_ends_inside_a_character_is_rejected() {
        assert_eq!(message(&[b"\x01\x02ab", b"\x80\x03c\xC3\xA9"]).await.unwrap(), "abcé".as_bytes());
        let cut = message(&[b"\x01\x02ab", b"\x80\x03c\xE2\x82"]).await;
        assert!(matches!(cut, Err(WebSocketError::InvalidUTF8)), "{cut:?}");
    }

    #[tokio::test]
    async fn a_message_with_an_empty_last_frame_that_ends_inside_a_character_is_rejected() {
        let cut = message(&[b"\x01\x02a\xC3", b"\x80\x00"]).await;
        assert!(matches!(cut, Err(WebSocketError::InvalidUTF8)), "{cut:?}");
    }
}

mod lol_html {
    use std::sync::{Arc, Mutex};

    use lol_html::html_content::ContentType;
    use lol_html::{RewriteStrSettings, element, rewrite_str, streaming};

    /// Returns whether the sink accepts each of these chunks.
    fn taken(chunks: &'static [&'static [u8]]) -> Vec<bool> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let write = Arc::clone(&seen);
        let append = element!("p", move |element| {
            let write = Arc::clone(&write);
            element.streaming_append(streaming!(move |sink| {
                for chunk in chunks {
                    write.lock().unwrap().push(sink.write_utf8_chunk(chunk, ContentType::Text).is_ok());
                }
                Ok(())
            }));
            Ok(())
        });
        let settings = RewriteStrSettings::new().append_element_content_handler(append);
        rewrite_str("<p></p>", settings).unwrap();
        Arc::into_inner(seen).unwrap().into_inner().unwrap()
    }

    #[test]
    fn the_chunk_that_makes_a_character_ill_formed_is_rejected() {
        assert_eq!(taken(&[b"\xED", b"\x9F", b"\xBF"]), [true; 3]);
        assert_eq!(taken(&[b"\xED", b"\xA0"]), [true, false], "half of a surrogate pair");
        assert_eq!(taken(&[b"\xF4", b"\x90"]), [true, false], "above U+10FFFF");
        assert_eq!(taken(&[b"\xE0", b"\x80"]), [true, false], "overlong");
    }
}

mod quick_xml {
    use std::io::BufReader;

    use quick_xml::encoding::DecodingReader;
    use quick_xml::events::Event;
    use quick_xml::reader::Reader;

    const XML: &[u8] = b"<a>text</a><b>caf\xE9</b>";

    /// Returns the number of events before the error, and the error.
    fn read(capacity: usize) -> (usize, String) {
        let input = DecodingReader::new(BufReader::with_capacity(capacity, XML));
        let mut reader = Reader::from_reader(input);
        let mut buffer = Vec::new();
        for events in 0.. {
            buffer.clear();
            match reader.read_event_into(&mut buffer) {
                Ok(Event::Eof) => panic!("no error"),
                Ok(_) => {}
                Err(error) => return (events, error.to_string()),
            }
        }
        unreachable!()
    }

    #[test]
    fn the_events_before_an_ill_formed_byte_are_the_same_for_every_buffer_size() {
        for capacity in [1, 7, 8192] {
            assert_eq!(read(capacity).0, 4, "<a>, text, </a> and <b>, with reads of {capacity} bytes");
        }
    }

    #[test]
    fn the_error_has_its_offset() {
        let (_, error) = read(8192);
        assert!(error.contains("byte 17"), "{error}");
    }
}

mod rexpect {
    use std::io::Cursor;

    use rexpect::reader::{NBReader, Options, ReadUntil};

    fn reader(output: &'static [u8]) -> NBReader {
        NBReader::new(Cursor::new(output), Options::new().timeout_ms(Some(5000)))
    }

    #[test]
    fn text_is_read_as_utf_8() {
        let (_, all) = reader("naïve 日本語\n".as_bytes()).read_until(&ReadUntil::EOF).unwrap();
        assert_eq!(all, "naïve 日本語\n");
    }

    #[test]
    fn ill_formed_bytes_are_replaced() {
        let (_, all) = reader(b"a\xFFb\xE2\x82").read_until(&ReadUntil::EOF).unwrap();
        assert_eq!(all, "a\u{FFFD}b\u{FFFD}");
    }

    #[test]
    fn a_number_of_bytes_does_not_end_inside_a_character() {
        let (_, bytes) = reader("aé".as_bytes()).read_until(&ReadUntil::NBytes(2)).unwrap();
        assert_eq!(bytes, "a");
    }
}

mod rmcp {
    use rmcp::RoleServer;
    use rmcp::transport::Transport;
    use rmcp::transport::async_rw::{AsyncRwTransport, JsonRpcMessageCodec};
    use serde_json::Value;
    use tokio_util::bytes::BytesMut;
    use tokio_util::codec::Decoder;

    const IGNORED: &str = "{\"method\":\"notifications/stderr\",\"params\":{}}\n";
    const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

    type Request = rmcp::service::RxJsonRpcMessage<RoleServer>;

    fn id(message: Request) -> Value {
        serde_json::to_value(message).unwrap()["id"].clone()
    }

    #[test]
    fn a_request_after_an_ignored_notification_is_returned_at_once() {
        let mut codec = JsonRpcMessageCodec::<Request>::new();
        let mut buffer = BytesMut::from(format!("{IGNORED}{PING}\n").as_str());
        assert_eq!(codec.decode(&mut buffer).unwrap().map(id), Some(1.into()));
    }

    #[test]
    fn a_line_without_an_end_is_an_error_in_bounded_memory() {
        let mut codec = JsonRpcMessageCodec::<Request>::new();
        let mut buffer = BytesMut::zeroed(17 * 1024 * 1024);
        assert!(codec.decode(&mut buffer).is_err());
    }

    #[tokio::test]
    async fn a_last_message_without_a_line_feed_is_delivered() {
        let input: &'static [u8] = PING.as_bytes();
        let mut transport = AsyncRwTransport::<RoleServer, _, _>::new(input, tokio::io::sink());
        assert_eq!(transport.receive().await.map(id), Some(1.into()));
    }
}

mod soketto {
    use futures::io::Cursor;
    use soketto::connection::{Builder, Error, Mode};

    /// Returns the first message of a peer that sends these frames.
    async fn message(frames: &[&[u8]]) -> Result<Vec<u8>, Error> {
        let socket = Cursor::new(frames.concat());
        let (_, mut receiver) = Builder::new(socket, Mode::Client).finish();
        let mut message = Vec::new();
        receiver.receive_data(&mut message).await.map(|_| message)
    }

    #[tokio::test]
    async fn ill_formed_text_is_rejected_with_its_offset() {
        assert_eq!(message(&[b"\x01\x02a\xC3", b"\x80\x02\xA9b"]).await.unwrap(), "aéb".as_bytes());
        assert_eq!(message(&[b"\x82\x02a\xFF"]).await.unwrap(), b"a\xFF", "a binary message");
        for (frames, offset) in [
            (&[&b"\x81\x03ab\xFF"[..]][..], "byte 2"),
            (&[b"\x01\x02a\xC3", b"\x80\x02bc"], "byte 1"),
            (&[b"\x01\x02ab", b"\x80\x02c\xF0"], "byte 3"),
        ] {
            let error = message(frames).await.unwrap_err();
            assert!(error.to_string().contains(offset), "{error}");
        }
    }

    #[tokio::test]
    async fn an_ill_formed_frame_is_rejected_before_the_next_frame_arrives() {
        let error = message(&[b"\x01\x02a\xC0"]).await.unwrap_err();
        assert!(matches!(error, Error::Utf8(_)), "{error:?}");
    }
}

mod tokio_util {
    use bytes::BytesMut;
    use tokio_util::codec::{Decoder, Encoder, LinesCodec};

    #[test]
    fn a_line_feed_inside_a_line_is_not_written() {
        let mut codec = LinesCodec::new();
        let mut buffer = BytesMut::new();
        assert!(codec.encode("PRIVMSG #a :hi\nQUIT", &mut buffer).is_err());
        assert!(buffer.is_empty());
    }

    #[test]
    fn the_error_of_an_ill_formed_line_has_its_offset_in_the_stream() {
        let mut codec = LinesCodec::new();
        let mut buffer = BytesMut::from(&b"good\nba\xFFd\ngood\n"[..]);
        assert_eq!(codec.decode(&mut buffer).unwrap().unwrap(), "good");
        let error = codec.decode(&mut buffer).unwrap_err();
        assert!(error.to_string().contains("byte 7"), "{error}");
        assert_eq!(codec.decode(&mut buffer).unwrap().unwrap(), "good");
    }
}

mod tungstenite {
    use std::collections::VecDeque;
    use std::io::{ErrorKind, Read, Result, Write};

    use tungstenite::protocol::Role;
    use tungstenite::{Error, WebSocket};

    /// A peer that sends these parts, one for each read, and then keeps the connection open.
    struct Peer(VecDeque<Vec<u8>>);

    impl Read for Peer {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            let part = self.0.pop_front().ok_or(ErrorKind::WouldBlock)?;
            buffer[..part.len()].copy_from_slice(&part);
            Ok(part.len())
        }
    }

    impl Write for Peer {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn error(role: Role, parts: &[&[u8]]) -> Error {
        let peer = Peer(parts.iter().map(|part| part.to_vec()).collect());
        WebSocket::from_raw_socket(peer, role, None).read().unwrap_err()
    }

    #[track_caller]
    fn assert_ill_formed(error: Error, offset: &str) {
        assert!(matches!(&error, Error::Utf8(_)), "{error:?}");
        assert!(error.to_string().contains(offset), "{error}");
    }

    #[test]
    fn an_ill_formed_byte_is_rejected_before_the_rest_of_its_frame_arrives() {
        // Autobahn 6.4.3: F4 90 80 80 would be U+110000. Only 12 of 20 bytes arrive.
        assert_ill_formed(error(Role::Client, &[b"\x81\x14", "κόσμε".as_bytes(), b"\xF4\x90"]), "byte 10");
    }

    #[test]
    fn an_ill_formed_byte_in_a_masked_continuation_frame_is_rejected() {
        let mask = |bytes: &[u8]| -> Vec<u8> {
            bytes.iter().zip(b"mask".iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
        };
        let first = [b"\x01\x84mask", &mask(b"abc\xED")[..]].concat();
        let start = mask(b"\x9F\xBFdef\xC0");
        let second = [b"\x80\x94mask", &start[..3]].concat();
        assert_ill_formed(error(Role::Server, &[&first, &second, &start[3..]]), "byte 9");
    }

    #[test]
    fn the_error_of_a_fragmented_message_has_its_offset() {
        assert_ill_formed(error(Role::Client, &[b"\x01\x03abc", b"\x80\x03de\xFF"]), "byte 5");
        assert_ill_formed(error(Role::Client, &[b"\x01\x03abc", b"\x80\x03d\xE2\x82"]), "byte 4");
    }
}

mod ureq {
    use std::collections::VecDeque;
    use std::io::{ErrorKind, Read, Result};

    /// A server that sends these parts and then keeps the connection open.
    struct Live(VecDeque<&'static [u8]>);

    impl Read for Live {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            let part = self.0.pop_front().ok_or(ErrorKind::WouldBlock)?;
            buffer[..part.len()].copy_from_slice(part);
            Ok(part.len())
        }
    }

    fn first_read(parts: &[&'static [u8]]) -> Result<Vec<u8>> {
        let body =
            ureq::Body::builder().mime_type("text/plain").reader(Live(parts.iter().copied().collect()));
        let mut reader = body.into_with_config().lossy_utf8(true).reader();
        let mut buffer = [0; 64];
        reader.read(&mut buffer).map(|read| buffer[..read].to_vec())
    }

    #[test]
    fn text_that_has_arrived_is_returned_at_once() {
        assert_eq!(first_read(&[b"hi"]).unwrap(), b"hi");
    }

    #[test]
    fn only_an_unfinished_character_is_held() {
        assert_eq!(first_read(&[b"caf\xC3"]).unwrap(), b"caf");
        assert_eq!(first_read(&[b"\xC3", b"\xA9!"]).unwrap(), "é!".as_bytes());
        assert_eq!(first_read(&[b"a\xFFb"]).unwrap(), b"a?b");
    }
}

mod utf8parse {
    use utf8parse::{Parser, Receiver};

    #[derive(Default)]
    struct Text(String);

    impl Receiver for Text {
        fn codepoint(&mut self, character: char) {
            self.0.push(character);
        }

        fn invalid_sequence(&mut self) {
            self.0.push('\u{FFFD}');
        }
    }

    fn parse(bytes: &[u8]) -> String {
        let (mut parser, mut text) = (Parser::new(), Text::default());
        bytes.iter().for_each(|&byte| parser.advance(&mut text, byte));
        text.0
    }

    #[test]
    fn the_byte_that_interrupts_a_sequence_is_parsed_again() {
        assert_eq!(parse(b"\xC2\x41\x42"), "\u{FFFD}AB");
        assert_eq!(parse(b"\xE2\x82\xC3\xA9"), "\u{FFFD}é");
    }

    #[test]
    fn each_maximal_subpart_is_one_error() {
        for bytes in [&b"\xED\xA0\x80"[..], b"\xF0\x9F\x98\xF0\x9F\x98\x80", b"\xC0\xAF"] {
            assert_eq!(parse(bytes), String::from_utf8_lossy(bytes));
        }
    }
}

mod vte {
    use vte::{Parser, Perform};

    #[derive(Debug, Default, PartialEq)]
    struct Screen(Vec<Action>);

    #[derive(Debug, PartialEq)]
    enum Action {
        Print(char),
        Execute(u8),
    }

    impl Perform for Screen {
        fn print(&mut self, character: char) {
            self.0.push(Action::Print(character));
        }

        fn execute(&mut self, byte: u8) {
            self.0.push(Action::Execute(byte));
        }
    }

    fn read(chunks: &[&[u8]]) -> Screen {
        let (mut parser, mut screen) = (Parser::new(), Screen::default());
        chunks.iter().for_each(|chunk| parser.advance(&mut screen, chunk));
        screen
    }

    #[test]
    fn a_c1_control_is_executed_for_every_partition() {
        let whole = read(&["a\u{85}b".as_bytes()]);
        assert_eq!(whole.0, [Action::Print('a'), Action::Execute(0x85), Action::Print('b')]);
        assert_eq!(read(&[b"a\xC2", b"\x85b"]), whole);
    }
}
