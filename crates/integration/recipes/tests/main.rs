//! The code of `docs/recipes.md` and `docs/migrating.md` that needs other crates. `build.rs` extracts it from the
//! pages; this program compiles and runs it.
#![allow(dead_code, missing_debug_implementations, missing_docs, unreachable_pub)]
// The pages show what a reader writes.
#![allow(clippy::new_without_default, clippy::std_instead_of_core)]

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

#[path = "../../../test-support/src/protobuf/encoder.rs"]
mod encoder;

mod tests {
    use ::redis::FromRedisValue;
    use ::reqwest::Client;
    use ::tonic::metadata::MetadataValue;
    use bytes::Bytes;
    use rumqttc::v5::mqttbytes::v5::{Publish, PublishProperties};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use utf8_codec::ErrorKind;

    /// Serves one response in chunks that are split inside a character. Returns the request.
    async fn serve(
        listener: &TcpListener,
        status: &str,
        chunks: &[&[u8]],
        end: &[u8],
    ) -> std::io::Result<String> {
        let (mut socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(socket.read_u8().await?);
        }
        let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
        socket.write_all(head.as_bytes()).await?;
        for chunk in chunks {
            socket.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
            socket.write_all(chunk).await?;
            socket.write_all(b"\r\n").await?;
        }
        socket.write_all(end).await?;
        Ok(String::from_utf8_lossy(&request).into_owned())
    }

    const END: &[u8] = b"0\r\n\r\n";

    async fn fetch(chunks: &[&[u8]]) -> (String, Option<u64>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("bound"));
        let mut shown = String::new();
        let client = async {
            let response = Client::builder().no_proxy().build().expect("a client").get(url).send().await;
            super::reqwest::show(response.expect("a response"), |text| shown.push_str(text)).await
        };
        let (served, result) = tokio::join!(serve(&listener, "200 OK", chunks, END), client);
        served.expect("a whole response");
        (shown, result.err().map(|error| error.utf8_error().expect("ill-formed").offset))
    }

    #[tokio::test]
    async fn a_reqwest_stream_returns_whole_characters() {
        assert_eq!(fetch(&[b"gr\xC3", b"\xBCn ", b"\xF0\x9F", b"\xA6\x80"]).await, ("grün 🦀".into(), None));
        assert_eq!(fetch(&[b"gr\xC3", b"\xBCn\xFF"]).await, ("grün".into(), Some(5)));
    }

    #[tokio::test]
    async fn a_client_of_events_continues_after_the_last_whole_event() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("bound"));
        let mut ids = Vec::new();
        let server = async {
            let cut: [&[u8]; 2] = [b"retry: 1\nid: 1\ndata: gr\xC3", b"\xBCn\n\nid: 2\ndata: bl\xC3"];
            for (status, chunks, end) in [
                ("200 OK", &cut[..], &b""[..]),
                ("503 Service Unavailable", &[], END),
                ("200 OK", &[b"id: \xC3", b"\xA42\ndata: blau\n\n"], END),
                ("204 No Content", &[], b""),
            ] {
                let request = serve(&listener, status, chunks, end).await.expect("a client");
                ids.push(
                    request.lines().find_map(|line| Some(line.strip_prefix("last-event-id: ")?.to_owned())),
                );
            }
        };
        let mut data = Vec::new();
        let client = Client::builder().no_proxy().build().expect("a client");
        let client = super::reconnecting_client::follow(&client, &url, |event| data.push(event.data));
        let ((), followed) = tokio::join!(server, client);
        followed.expect("204 ends it");
        assert_eq!(data, ["gr\u{FC}n", "blau"]);
        assert_eq!(ids, [None, Some("1".to_owned()), Some("1".to_owned()), Some("\u{E4}2".to_owned())]);
    }

    #[test]
    fn a_client_of_events_waits_longer_after_each_failure() {
        let wait = |retry, failures| super::reconnecting_client::wait(retry, failures).as_millis();
        let retry = Some(core::time::Duration::from_millis(5));
        assert_eq!([0, 1, 2].map(|failures| wait(retry, failures)), [5, 10, 20]);
        assert_eq!(wait(Some(core::time::Duration::MAX), 0), 60_000);
        assert_eq!([0, u32::MAX].map(|failures| wait(None, failures)), [3_000, 60_000]);
    }

    #[test]
    fn tokens_become_text_however_they_split_characters() {
        let text = "a \u{1F980}\n\u{AD}na\u{EF}ve\u{7F}";
        // The table that GPT-2 published: visible bytes are themselves, the others follow from U+0100 on.
        let visible = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
        let mut characters: Vec<char> = (0..=255).map(char::from).collect();
        for (byte, other) in (0..=255).filter(|byte| !visible(byte)).zip('\u{100}'..) {
            characters[usize::from(byte)] = other;
        }
        assert_eq!((characters[usize::from(b' ')], characters[usize::from(b'\n')]), ('\u{120}', '\u{10A}'));
        let tokens: Vec<String> = text.bytes().map(|byte| characters[usize::from(byte)].into()).collect();
        let mut decoder = super::detokenizer::Detokenizer::default();
        for length in 1..=tokens.len() {
            let mut shown = String::new();
            for token in tokens.chunks(length) {
                shown += &decoder.push(&token.concat());
            }
            shown += &decoder.push("<|\u{65E5}|>");
            shown += &decoder.push(&tokens[2]);
            shown += decoder.finish();
            assert_eq!(shown, format!("{text}<|\u{65E5}|>\u{FFFD}"));
        }
    }

    #[test]
    fn the_interceptor_rejects_a_user_that_is_not_utf8() {
        let check = |user: &[u8]| {
            let mut request = ::tonic::Request::new(());
            request.metadata_mut().insert_bin("user-bin", MetadataValue::from_bytes(user));
            super::tonic_interceptor::check_user(request)
                .map(drop)
                .map_err(|status| status.message().to_owned())
        };
        assert_eq!(check("grün".as_bytes()), Ok(()));
        let reason = "user-bin: ill-formed UTF-8 at byte 2 (AboveMax, 1 byte)".to_owned();
        assert_eq!(check(b"gr\xFCn"), Err(reason));
        assert!(super::tonic_interceptor::check_user(::tonic::Request::new(())).is_ok());
    }

    #[tokio::test]
    async fn a_record_of_each_signal_is_repaired_in_place() {
        use super::encoder::{STRING, descriptor, field, file, message};
        use http_body_util::{BodyExt, Full};
        let signals = [("logs", "Logs"), ("metrics", "Metrics"), ("trace", "Trace")];
        let files = signals.map(|(package, signal)| {
            let request =
                descriptor(&format!("Export{signal}ServiceRequest"), &[field("text", 1, STRING, "")]);
            file("proto3", &format!("opentelemetry.proto.collector.{package}.v1"), &[request])
        });
        let set = message(files.iter().map(|file| (1, &file[..])));
        let schema = utf8_codec_http::protobuf::Schema::from_descriptor_set(&set).unwrap();
        let rules = super::otlp_gateway::rules_of_otlp(&schema).unwrap();
        for (path, expected) in
            [("/v1/logs", b"gr?n"), ("/v1/metrics", b"gr?n"), ("/v1/traces", b"gr?n"), ("/", b"gr\xFCn")]
        {
            let request = http::Request::post(path).header("content-type", "application/x-protobuf");
            let request = request.body(Full::new(Bytes::from(message([(1, &b"gr\xFCn"[..])])))).unwrap();
            let repaired = super::otlp_gateway::repaired(&rules, request).unwrap();
            assert_eq!(repaired.collect().await.unwrap().to_bytes(), message([(1, &expected[..])]));
        }
    }

    #[test]
    fn mqtt_payloads_that_claim_to_be_text_are_checked() {
        let publish = |indicator, payload: &'static [u8]| {
            let properties = PublishProperties { payload_format_indicator: indicator, ..Default::default() };
            Publish {
                payload: Bytes::from_static(payload),
                properties: Some(properties),
                ..Default::default()
            }
        };
        assert_eq!(super::mqtt::text(&publish(None, b"\xFF")), None);
        assert_eq!(super::mqtt::text(&publish(Some(0), b"\xFF")), None);
        assert_eq!(super::mqtt::text(&publish(Some(1), "grün".as_bytes())), Some(Ok("grün")));
        let error = super::mqtt::text(&publish(Some(1), b"gr\xC3")).expect("text").unwrap_err();
        assert_eq!((error.offset, error.kind), (2, ErrorKind::Truncated));
    }

    #[test]
    fn a_redis_value_is_text_or_an_error_with_an_offset() {
        let read = |bytes: &[u8]| {
            super::redis::Text::from_redis_value(::redis::Value::BulkString(bytes.to_vec()))
                .map(|text| text.0)
                .map_err(|error| error.to_string())
        };
        assert_eq!(read("grün".as_bytes()).as_deref(), Ok("grün"));
        let error = read(b"gr\xFCn").unwrap_err();
        assert!(error.contains("ill-formed UTF-8 at byte 2 (AboveMax, 1 byte)"), "{error}");
    }

    #[test]
    fn the_decoder_for_webassembly_returns_whole_characters() {
        let mut decoder = super::webassembly::Decoder::new();
        let mut text = String::new();
        for chunk in [&b"gr\xC3"[..], b"\xBCn \xE2"] {
            text += &decoder.push(chunk);
        }
        text += &decoder.finish();
        assert_eq!(text, "grün \u{FFFD}");
    }

    #[test]
    fn utf8_zero_returns_the_same_text() {
        let chunks = [&b"gr\xC3"[..], b"\xBCn \xFF \xE2"];
        let expected = "grün \u{FFFD} \u{FFFD}";
        assert_eq!(super::utf8_zero::pushed(&chunks), expected);
        assert_eq!(super::utf8_zero::pulled(&*chunks.concat()), expected);
    }

    /// The recipe for COPY accepts any stream of `Bytes`. `CopyOutStream` of tokio-postgres is one.
    #[test]
    fn copy_of_tokio_postgres_is_a_stream_of_chunks() {
        fn takes<
            S: futures::Stream<Item = Result<Bytes, E>>,
            E: Into<Box<dyn core::error::Error + Send + Sync>>,
        >() {
        }
        takes::<tokio_postgres::CopyOutStream, tokio_postgres::Error>();
    }
}
