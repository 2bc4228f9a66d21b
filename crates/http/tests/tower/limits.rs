//! A limit for the length of a body outside of the check: axum responds with `413`.

use core::error::Error;

use axum::body::{Body, Bytes};
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use axum::{Router, middleware};
use futures::{StreamExt, stream};
use http::{Request, StatusCode};
use http_body_util::{LengthLimitError, Limited};
use tower::util::MapRequestLayer;
use tower::{ServiceBuilder, ServiceExt};
use utf8_codec_http::tower::ValidateUtf8RequestLayer;
use utf8_codec_http::{BodyRules, MessageKind, Utf8Body};

const LIMIT: usize = 8;

/// What `RequestBodyLimitLayer` of tower-http does with a body of unknown length.
fn limited(request: Request<Body>) -> Request<Limited<Body>> {
    request.map(|body| Limited::new(body, LIMIT))
}

/// Checks the body without a layer.
fn checked(request: Request<Body>) -> Request<Utf8Body<Body>> {
    let (mut parts, body) = request.into_parts();
    let body = BodyRules::new().apply(MessageKind::Request, &mut parts.headers, body).unwrap();
    Request::from_parts(parts, body)
}

fn handlers() -> Router {
    let length = async |text: String| text.len().to_string();
    Router::new()
        .route("/text", post(length))
        .route("/bytes", post(async |bytes: Bytes| bytes.len().to_string()))
}

/// Each way to apply a limit of [`LIMIT`] outside of the check.
fn apps() -> Vec<(&'static str, Router)> {
    let mut apps = Vec::new();
    let limit = || MapRequestLayer::new(limited);
    for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
        let default = DefaultBodyLimit::max(LIMIT);
        apps.push(("default", handlers().layer(layer.clone()).layer(default)));
        apps.push(("router", handlers().layer(layer.clone()).layer(limit())));
        let identity = || middleware::map_request(async |request: Request<Body>| request);
        apps.push((
            "several layers",
            handlers().layer(identity()).layer(layer.clone()).layer(identity()).layer(limit()),
        ));
        apps.push(("two checks", handlers().layer(layer.clone()).layer(layer.clone()).layer(limit())));
        apps.push(("builder", handlers().layer(ServiceBuilder::new().layer(limit()).layer(layer))));
    }
    apps.push(("body", handlers().layer(MapRequestLayer::new(checked)).layer(limit())));
    apps.push((
        "body, default",
        handlers().layer(MapRequestLayer::new(checked)).layer(DefaultBodyLimit::max(LIMIT)),
    ));
    apps
}

async fn status(app: Router, path: &str, content_type: &str, chunks: [&'static str; 2]) -> StatusCode {
    let chunks = stream::iter(chunks.map(|chunk| Ok::<_, std::io::Error>(Bytes::from(chunk))));
    let request =
        Request::post(path).header("content-type", content_type).body(Body::from_stream(chunks)).unwrap();
    app.oneshot(request).await.unwrap().status()
}

#[tokio::test]
async fn a_body_over_the_limit_is_too_large() {
    for (name, app) in apps() {
        for path in ["/text", "/bytes"] {
            for content_type in ["text/plain", "image/png"] {
                let status = async |chunks| status(app.clone(), path, content_type, chunks).await;
                assert_eq!(status(["1234", "5678"]).await, StatusCode::OK, "{name} {path} {content_type}");
                let expected = StatusCode::PAYLOAD_TOO_LARGE;
                assert_eq!(status(["1234", "56789"]).await, expected, "{name} {path} {content_type}");
            }
        }
    }
}

/// The extractor `Multipart` looks for the error as this handler does. It reads the stream without a limit of its own.
#[tokio::test]
async fn a_form_over_the_limit_is_too_large() {
    let read = async |body: Body| {
        let mut data = body.into_data_stream();
        while let Some(chunk) = data.next().await {
            let Err(error) = chunk else { continue };
            let is_limit = error.source().is_some_and(|error| error.is::<LengthLimitError>());
            return if is_limit { StatusCode::PAYLOAD_TOO_LARGE } else { StatusCode::IM_A_TEAPOT };
        }
        StatusCode::OK
    };
    let app = || Router::new().route("/", post(read));
    let limit = || MapRequestLayer::new(limited);
    for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
        for rules in [BodyRules::new(), BodyRules::new().with_form_data(true)] {
            let layer = layer.clone().with_rules(rules);
            for app in [
                app().layer(layer.clone()).layer(limit()),
                app().layer(ServiceBuilder::new().layer(limit()).layer(layer)),
            ] {
                let form = "multipart/form-data; boundary=b";
                assert_eq!(
                    status(app, "/", form, ["--b", "\r\nx: y\r\n"]).await,
                    StatusCode::PAYLOAD_TOO_LARGE
                );
            }
        }
    }
}
