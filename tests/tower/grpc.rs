//! The responses to rejected messages of gRPC.

use core::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::Full;
use tower::{Layer, ServiceExt, service_fn};
use utf8_codec::http::{BodyRules, MessageKind, Reason, Rejection, UncheckablePolicy};
use utf8_codec::tower::ValidateUtf8ResponseLayer;

#[test]
fn the_type_of_the_message_decides_which_response_it_is() {
    let mut rejection = Rejection::new(MessageKind::Request, Reason::LengthPrefixed);
    for (content_type, is_grpc) in [
        (None, false),
        (Some("application/grpc"), true),
        (Some("Application/GRPC+json"), true),
        (Some("application/grpc;a"), true),
        (Some("application/grpc-web+proto"), false),
        (Some("application/grpcx"), false),
        (Some("application/grp"), false),
    ] {
        rejection.content_type = content_type.map(HeaderValue::from_static);
        assert_eq!(rejection.is_grpc(), is_grpc, "{content_type:?}");
        let response = rejection.to_response();
        assert_eq!(response.status(), if is_grpc { 200 } else { 415 }, "{content_type:?}");
        assert_eq!(response.body().is_end_stream(), is_grpc, "{content_type:?}");
        assert_eq!(response.headers().get("grpc-status").is_some(), is_grpc, "{content_type:?}");
    }
    let name = "a%41".parse().unwrap();
    let reason = Reason::Header(name, utf8_codec::from_utf8(b"\xFF").unwrap_err());
    let rejection = Rejection::new(MessageKind::Response, reason);
    let message = "field a%2541: ill-formed UTF-8 at byte 0 (InvalidLead, 1 byte)";
    let fields = [("content-type", "application/grpc"), ("grpc-status", "13"), ("grpc-message", message)];
    assert_eq!(rejection.grpc_fields(), fields.map(|(name, value)| (name, value.to_owned())));
}

#[tokio::test]
async fn a_rejected_response_is_an_internal_error() {
    let rules = BodyRules::for_responses().with_length_prefixed(UncheckablePolicy::Reject);
    let service =
        ValidateUtf8ResponseLayer::new().with_rules(rules).layer(service_fn(async |_: Request<()>| {
            let response = Response::builder().header("content-type", "application/grpc");
            Ok::<_, Infallible>(response.body(Full::<Bytes>::from("x")).unwrap())
        }));
    let response = service.oneshot(Request::new(())).await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["grpc-status"]),
        (StatusCode::OK, &HeaderValue::from_static("13"))
    );
}
