//! `Utf8Body` as the body of a response of hyper.

use core::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use utf8_codec_http::Utf8Body;

/// Serves one connection with a checked body of a fixed length. Returns the bytes that the client received, and the
/// error of the server.
async fn serve_one(bytes: &'static [u8], version: http::Version) -> (Result<Bytes, String>, Option<String>) {
    let (client, server) = tokio::io::duplex(4096);
    let served = Arc::new(Mutex::new(None));
    let record = Arc::clone(&served);
    let service = service_fn(move |_: Request<hyper::body::Incoming>| async move {
        let body = Utf8Body::new(Full::new(Bytes::from_static(bytes)));
        Ok::<_, Infallible>(Response::builder().header("content-length", bytes.len()).body(body).unwrap())
    });
    let server = tokio::spawn(async move {
        let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
        let end = builder.serve_connection(TokioIo::new(server), service).await;
        *record.lock().unwrap() = end.err().map(|error| {
            let mut causes = vec![error.to_string()];
            causes.extend(core::iter::successors(error.source(), |e| e.source()).map(ToString::to_string));
            causes.join(": ")
        });
    });
    let request = Request::new(Empty::<Bytes>::new());
    let response = if version == http::Version::HTTP_2 {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(client)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await
    } else {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(client)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await
    };
    let got = match response {
        Ok(response) => response.into_body().collect().await.map(|body| body.to_bytes()),
        Err(error) => Err(error),
    };
    let _ = server.await;
    let served = served.lock().unwrap().take();
    (got.map_err(|error| error.to_string()), served)
}

#[tokio::test]
async fn hyper_does_not_send_part_of_a_character_under_content_length() {
    for bytes in [&b"ab\xE2\x82"[..], b"\xE2\x82", b"ab\xFF", b"\xC3"] {
        let (got, served) = serve_one(bytes, http::Version::HTTP_11).await;
        assert!(got.is_err(), "the client gets an error: {got:?}");
        let cause = served.expect("the server gets an error too");
        assert!(cause.contains("ill-formed UTF-8 at byte"), "{cause}");

        let (got, _) = serve_one(bytes, http::Version::HTTP_2).await;
        assert!(got.is_err(), "the stream is reset: {got:?}");
    }
    for version in [http::Version::HTTP_11, http::Version::HTTP_2] {
        let (got, served) = serve_one("€ and é".as_bytes(), version).await;
        assert_eq!((got.as_deref(), served), (Ok("€ and é".as_bytes()), None));
    }
}
