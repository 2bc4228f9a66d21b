//! Rejected and repaired requests of gRPC, over HTTP/2.

use core::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tower::{Layer, service_fn};
use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_http::protobuf::StringFilter;
use utf8_codec_http::tower::{CheckedBody, ValidateUtf8RequestLayer};
use utf8_codec_http::{BodyRules, Uncheckable};

use test_support::protobuf::{STRING, descriptor, field, file, schema_of};

fn rejecting() -> BodyRules {
    BodyRules::new().with_length_prefixed(Uncheckable::Reject)
}

/// Serves a connection over HTTP/2 with a handler that returns the message.
async fn serve<I>(io: I, layer: &ValidateUtf8RequestLayer)
where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let echo = service_fn(async |request: Request<CheckedBody<hyper::body::Incoming>>| {
        let encoding = request.headers().get("grpc-encoding").cloned();
        let message = request.into_body().collect().await.unwrap().to_bytes();
        let status = http::HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())]);
        let body = Full::new(message).with_trailers(async move { Some(Ok::<_, Infallible>(status)) });
        let mut response = Response::builder().header("content-type", "application/grpc");
        if let Some(encoding) = encoding {
            response = response.header("grpc-encoding", encoding);
        }
        Ok::<_, Infallible>(response.body(body).unwrap())
    });
    let service = TowerToHyperService::new(layer.layer(echo));
    let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new()).http2_only();
    let _ = builder.serve_connection(TokioIo::new(io), service).await;
}

#[tokio::test]
async fn a_rejected_request_has_a_status_and_no_body() {
    for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
        let layer = layer.with_header_check(true).with_path_check(true);
        let note = HeaderValue::from_bytes(b"na\xEFve").unwrap();
        let message = b"\0\0\0\0\x80\xFF";
        for (path, note, rules, expected) in [
            ("/a.B/C", None, BodyRules::new().with_text_types(|_| true), None),
            ("/a.B/C", None, rejecting(), Some("messages with a length prefix are not accepted")),
            (
                "/a.B/C%FF",
                None,
                BodyRules::new(),
                Some("path: ill-formed UTF-8 at byte 6 (InvalidLead, 1 byte)"),
            ),
            (
                "/a.B/C",
                Some(note),
                BodyRules::new(),
                Some("field x-note: ill-formed UTF-8 at byte 2 (MissingContinuation, 1 byte)"),
            ),
        ] {
            let layer = layer.clone().with_rules(rules);
            let (client, server) = tokio::io::duplex(4096);
            tokio::spawn(async move { serve(server, &layer).await });
            let (mut sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(client))
                    .await
                    .unwrap();
            tokio::spawn(connection);
            let mut request =
                Request::post(format!("http://a{path}")).header("content-type", "application/grpc+json");
            if let Some(note) = note {
                request = request.header("x-note", note);
            }
            let request = request.body(Full::new(Bytes::from_static(message))).unwrap();
            let response = sender.send_request(request).await.unwrap();
            assert_eq!(
                (response.status(), &response.headers()["content-type"]),
                (StatusCode::OK, &HeaderValue::from_static("application/grpc"))
            );
            let (head, body) = response.into_parts();
            match expected {
                None => {
                    let body = body.collect().await.unwrap();
                    assert_eq!(body.trailers().unwrap()["grpc-status"], "0");
                    assert_eq!(body.to_bytes(), &message[..]);
                }
                Some(expected) => {
                    assert!(body.is_end_stream(), "the header fields end the stream");
                    assert_eq!(
                        (&head.headers["grpc-status"], &head.headers["grpc-message"]),
                        (&"3".parse().unwrap(), &expected.parse().unwrap())
                    );
                }
            }
        }
    }
}

/// Runs the client of `grpcio`, in the Python of `UTF8_CODEC_GRPCIO` or `python3`, with a server for each layer. Returns what
/// it prints.
async fn grpcio(
    command: &str,
    layers: impl IntoIterator<Item = ValidateUtf8RequestLayer>,
) -> Vec<serde_json::Value> {
    let python = std::env::var("UTF8_CODEC_GRPCIO").unwrap_or("python3".into());
    let mut ports = Vec::new();
    for layer in layers {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        ports.push(listener.local_addr().unwrap().port().to_string());
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let layer = layer.clone();
                tokio::spawn(async move { serve(connection, &layer).await });
            }
        });
    }
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../../engines/harness/grpc_peer.py");
    let mut program = tokio::process::Command::new(python);
    let done = program.args([client, command]).args(ports).output().await.unwrap();
    let found = String::from_utf8(done.stdout).unwrap();
    found.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(has_grpcio), ignore = "grpcio is not installed")]
async fn grpcio_reports_the_code() {
    let layers = [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::new().with_rules(rejecting())];
    let found = grpcio("call", layers).await;
    let rejected = "messages with a length prefix are not accepted";
    assert_eq!(
        found,
        [
            serde_json::json!({"code": "OK", "details": "", "same": true}),
            serde_json::json!({"code": "INVALID_ARGUMENT", "details": rejected, "same": false}),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(has_grpcio), ignore = "grpcio is not installed")]
async fn the_messages_of_grpcio_in_gzip_are_checked_and_repaired() {
    let schema = schema_of(&file("proto3", "", &[descriptor("Text", &[field("text", 1, STRING, "")])]));
    let rules = |policy| {
        let decoder = TextDecoder::new().with_error_policy(policy);
        let message = StringFilter::with_decoder(&schema, "Text", decoder).unwrap();
        BodyRules::new().with_protobuf(message).with_inflated_messages(4 << 20)
    };
    let found = grpcio(
        "gzip",
        [
            ValidateUtf8RequestLayer::new().with_rules(BodyRules::new()),
            ValidateUtf8RequestLayer::new().with_rules(rules(ErrorPolicy::Strict)),
            ValidateUtf8RequestLayer::streaming().with_rules(rules(ErrorPolicy::Replace)),
            ValidateUtf8RequestLayer::new().with_rules(rules(ErrorPolicy::Replace)),
        ],
    )
    .await;
    let rejected = "INVALID_ARGUMENT: ill-formed UTF-8 at byte 3503 (InvalidLead, 1 byte) in text, \
        in the compressed message at byte 0";
    let expected = [["e", "\\xff"], ["e", rejected], ["e", "?"], ["e", "\u{FFFD}"]];
    assert_eq!(found, expected.map(|ends| serde_json::json!(ends)));
}
