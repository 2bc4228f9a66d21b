//! A reverse proxy that checks requests and responses.
//!
//! Ill-formed text in a request, including form fields, trailers, the path and the query, is rejected with `400` before
//! the upstream receives anything. Text that cannot be checked, because it is compressed, a range, or in another
//! charset, is also rejected (`400` or `415`). Bodies of other types are forwarded while they stream, and only their
//! trailers are checked.
//!
//! Ill-formed text in a response ends the response. The client may already have its head and some well-formed text, so
//! the connection (HTTP/1.1) or the stream (HTTP/2) is closed before the body ends.
//!
//! Without arguments it starts its own upstream, sends itself requests, and exits. Otherwise:
//!
//! ```sh
//! cargo run -p integration --example reverse_proxy -- --listen 127.0.0.1:8080 --upstream 127.0.0.1:3000
//! ```

use core::error::Error;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::Write as _;

use bytes::Bytes;
use http::header::{CONNECTION, HeaderName, TE, UPGRADE};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Request, Response, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tower::{ServiceBuilder, service_fn};
use utf8_codec_http::tower::{CheckedBody, ValidateUtf8RequestLayer, ValidateUtf8ResponseLayer};
use utf8_codec_http::{BodyRules, BoxError, HttpCounters, RejectReason};

/// A client that sends checked requests.
type Upstream = Client<HttpConnector, CheckedBody<Incoming>>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => demonstrate().await,
        ["--listen", address, "--upstream", upstream] => {
            serve(TcpListener::bind(address).await?, upstream.parse()?).await
        }
        _ => Err("usage: reverse_proxy [--listen ADDR --upstream HOST:PORT]".into()),
    }
}

/// Proxies every connection.
async fn serve(listener: TcpListener, upstream: Authority) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout();
    writeln!(out, "listening on {}", listener.local_addr()?)?;
    out.flush()?;
    let client: Upstream = Client::builder(TokioExecutor::new()).build_http();
    let counters = HttpCounters::new();
    let service = ServiceBuilder::new()
        .layer(
            ValidateUtf8RequestLayer::new()
                .with_rules(BodyRules::new().with_form_data(true))
                .with_path_check(true)
                .with_query_check(true)
                .with_drain_timer(|| tokio::time::sleep(Duration::from_secs(1)))
                .with_counters(&counters),
        )
        .layer(ValidateUtf8ResponseLayer::new().with_counters(&counters))
        .service(service_fn(move |request| forward(client.clone(), upstream.clone(), request)));
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let builder = auto::Builder::new(TokioExecutor::new());
            if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
                match RejectReason::find(error.as_ref()) {
                    Some(ill_formed) => eprintln!("response cut off: {ill_formed}"),
                    None => eprintln!("connection: {error}"),
                }
            }
        });
    }
}

/// Sends a request to the upstream. Its text is complete and well-formed, because the layer has held and checked it.
async fn forward(
    client: Upstream,
    upstream: Authority,
    mut request: Request<CheckedBody<Incoming>>,
) -> Result<Response<Either<Incoming, Full<Bytes>>>, BoxError> {
    let mut uri = request.uri().clone().into_parts();
    uri.scheme = Some(Scheme::HTTP);
    uri.authority = Some(upstream);
    *request.uri_mut() = Uri::from_parts(uri)?;
    *request.version_mut() = Version::HTTP_11;
    remove_hop_by_hop(request.headers_mut());
    Ok(match client.request(request).await {
        Ok(mut response) => {
            remove_hop_by_hop(response.headers_mut());
            response.map(Either::Left)
        }
        Err(error) => {
            eprintln!("upstream: {error}");
            let response = Response::builder().status(StatusCode::BAD_GATEWAY);
            response.body(Either::Right(Full::from("the upstream does not answer\n")))?
        }
    })
}

/// Removes the fields that only apply to one connection (RFC 9110 §7.6.1).
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let always = [CONNECTION, TE, UPGRADE].into_iter();
    for name in named.into_iter().chain(always) {
        headers.remove(name);
    }
    for name in ["keep-alive", "proxy-connection", "transfer-encoding"] {
        headers.remove(name);
    }
}

async fn demonstrate() -> Result<(), Box<dyn Error>> {
    let upstream = TcpListener::bind("127.0.0.1:0").await?;
    let after = upstream.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = upstream.accept().await {
            let service = hyper::service::service_fn(echo_or_lie);
            let builder = auto::Builder::new(TokioExecutor::new());
            tokio::spawn(async move { drop(builder.serve_connection(TokioIo::new(stream), service).await) });
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { drop(serve(listener, after.to_string().parse().expect("an address")).await) });

    let (status, text) = send(address, "/echo", "naïve".as_bytes()).await?;
    assert_eq!((status, &text[..]), (StatusCode::OK, "naïve"));

    let (status, problem) = send(address, "/echo", b"na\xEFve").await?;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(problem.contains(r#""kind":"MissingContinuation","offset":2"#));

    let answer = send(address, "/lie", b"").await;
    assert!(answer.is_err(), "the connection ends before the answer does");
    println!(
        "well-formed text passed, an ill-formed request was rejected, an ill-formed response was truncated"
    );
    Ok(())
}

/// The upstream. It echoes, or responds with text that is ill-formed for its type.
async fn echo_or_lie(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, BoxError> {
    let text = match request.uri().path() {
        "/echo" => request.into_body().collect().await?.to_bytes(),
        _ => Bytes::from_static(b"all is well \xC3\x28"),
    };
    Ok(Response::builder().header("content-type", "text/plain").body(Full::new(text))?)
}

/// Sends a request. Returns the status and the text of the response.
async fn send(
    address: SocketAddr,
    path: &str,
    text: &'static [u8],
) -> Result<(StatusCode, String), Box<dyn Error>> {
    let request = Request::post(format!("http://{address}{path}")).header("content-type", "text/plain");
    let request = request.body(Full::new(Bytes::from_static(text)))?;
    let response = Client::builder(TokioExecutor::new()).build_http().request(request).await?;
    let status = response.status();
    let text = response.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8(text.into())?))
}
