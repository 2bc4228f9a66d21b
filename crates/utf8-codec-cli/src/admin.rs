//! The admin listener of a proxy: metrics, health checks, and a status page.

use core::convert::Infallible;
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::metrics::{Metrics, MetricsFormat};
use crate::net::Listener;
use crate::server::DRAINING;

/// The maximum number of open connections. A further one closes the oldest, so that idle connections cannot keep a health
/// check waiting.
const CONNECTIONS: usize = 32;

/// The time limit of a connection.
const DURATION: Duration = Duration::from_secs(30);

const TEXT: &str = "text/plain; charset=utf-8";
const PAGE: &str = include_str!("admin.html");

/// Serves requests. Never returns.
pub(super) async fn serve(listener: Listener, metrics: Arc<Metrics>) {
    let mut connections = VecDeque::with_capacity(CONNECTIONS);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(250)).await;
            continue;
        };
        connections.retain(|connection: &AbortHandle| !connection.is_finished());
        if connections.len() == CONNECTIONS
            && let Some(oldest) = connections.pop_front()
        {
            oldest.abort();
        }
        let metrics = Arc::clone(&metrics);
        let connection = tokio::spawn(async move {
            let answer = service_fn(|request| {
                let response = answer(&request, &metrics);
                async { Ok::<_, Infallible>(response) }
            });
            // A client such as `nc -N` shuts down its write half after the request and then waits for the response. A
            // connection has one request, because a further one could be lost when the time limit is reached.
            let mut http = http1::Builder::new();
            let connection =
                http.half_close(true).keep_alive(false).serve_connection(TokioIo::new(stream), answer);
            // Not logged: the client disconnected, sent invalid HTTP, or reached the time limit.
            let _ = timeout(DURATION, connection).await;
        });
        connections.push_back(connection.abort_handle());
    }
}

fn answer<B>(request: &Request<B>, metrics: &Metrics) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET and HEAD only\n");
        response.headers_mut().insert(ALLOW, hyper::header::HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/" => respond(StatusCode::OK, "text/html; charset=utf-8", PAGE),
        "/healthz" => respond(StatusCode::OK, TEXT, "ok\n"),
        "/readyz" if DRAINING.load(Ordering::Relaxed) => {
            respond(StatusCode::SERVICE_UNAVAILABLE, TEXT, "draining\n")
        }
        "/readyz" => respond(StatusCode::OK, TEXT, "ready\n"),
        "/metrics" => {
            let accept = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
            let format = MetricsFormat::accepted(accept);
            respond(StatusCode::OK, format.content_type(), metrics.text(format))
        }
        "/rejections" => respond(StatusCode::OK, "application/json", metrics.rejections()),
        _ => respond(StatusCode::NOT_FOUND, TEXT, "not found\n"),
    }
}

fn respond(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, content_type)
        .header(CACHE_CONTROL, "no-store")
        .header(
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'",
        )
        .header("x-content-type-options", "nosniff");
    // The status and the headers are constants, so the response is always valid.
    response.body(Full::new(body.into())).unwrap_or_default()
}
