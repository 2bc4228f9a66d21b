//! A gateway for OpenTelemetry (OTLP) that repairs ill-formed strings, over HTTP and gRPC.
//!
//! Most receivers reject a whole batch because of one ill-formed attribute. The gateway replaces each ill-formed byte by
//! `?` while the batch streams, and forwards the other records unchanged. A batch that is compressed or malformed is
//! rejected.
//!
//! Without arguments it starts its own receiver, sends a batch, and exits. Otherwise:
//!
//! ```sh
//! protoc --include_imports --descriptor_set_out=otlp.bin opentelemetry/proto/collector/*/v1/*.proto
//! cargo run -p integration --example otlp_gateway -- --listen 127.0.0.1:4318 --upstream 127.0.0.1:4319 --schema otlp.bin
//! ```

use core::convert::Infallible;
use core::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::uri::{Authority, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use utf8_codec::http::{BodyRules, BoxError, MessageKind, ProtobufTypes, Rejection, Utf8Body};
use utf8_codec::protobuf::Schema;
use utf8_codec::{Ascii, ErrorPolicy, TextDecoder};

#[path = "../tests/support/protobuf/encoder.rs"]
mod encoder;

type Body = Utf8Body<Incoming>;
type Reply = Response<Either<Incoming, Full<Bytes>>>;

/// The types of the messages, and clients for HTTP/1.1 and for HTTP/2, which gRPC needs.
struct Gateway {
    upstream: Authority,
    types: ProtobufTypes,
    http_1: Client<HttpConnector, Body>,
    http_2: Client<HttpConnector, Body>,
}

impl Gateway {
    fn new(schema: &Schema, upstream: Authority) -> Result<Self, BoxError> {
        let policy = ErrorPolicy::Substitute(Ascii::QUESTION_MARK);
        let decoder = TextDecoder::new().with_error_policy(policy);
        let mut types = ProtobufTypes::with_decoder(schema, decoder);
        for (signal, path) in
            [("logs.v1.Logs", "logs"), ("metrics.v1.Metrics", "metrics"), ("trace.v1.Trace", "traces")]
        {
            let name = format!("opentelemetry.proto.collector.{signal}Service/Export");
            let Some(method) = schema.method(&format!("/{name}")) else { continue };
            types = types.with_message(&format!("/v1/{path}"), MessageKind::Request, method.request())?;
        }
        let client = || Client::builder(TokioExecutor::new());
        let (http_1, http_2) = (client().build_http(), client().http2_only(true).build_http());
        Ok(Self { upstream, types, http_1, http_2 })
    }

    async fn forward(&self, request: Request<Incoming>) -> Reply {
        let Some(message) = self.types.validator(request.uri().path(), MessageKind::Request) else {
            return status(StatusCode::NOT_FOUND);
        };
        let rules = BodyRules::new().with_protobuf(message);
        let (mut head, body) = request.into_parts();
        let content_type = head.headers.get(CONTENT_TYPE).cloned();
        let body = match rules.apply(MessageKind::Request, &mut head.headers, body) {
            Ok(body) => body,
            Err(rejection) => return reply(&rejection),
        };
        let mut uri = head.uri.into_parts();
        (uri.scheme, uri.authority) = (Some(Scheme::HTTP), Some(self.upstream.clone()));
        head.uri = Uri::from_parts(uri).expect("it has all parts");
        head.headers.remove(HOST);
        let client = if head.version == http::Version::HTTP_2 { &self.http_2 } else { &self.http_1 };
        match client.request(Request::from_parts(head, body)).await {
            Ok(response) => response.map(Either::Left),
            Err(error) => match Rejection::from_error(&error) {
                Some(mut rejection) => {
                    eprintln!("rejected: {rejection}");
                    rejection.content_type = content_type;
                    reply(&rejection)
                }
                None => {
                    eprintln!("upstream: {error}");
                    status(StatusCode::BAD_GATEWAY)
                }
            },
        }
    }
}

fn reply(rejection: &Rejection) -> Reply {
    rejection.to_response().map(|problem| Either::Right(Full::new(Bytes::from(problem))))
}

fn status(code: StatusCode) -> Reply {
    let mut reply = Response::new(Either::Right(Full::default()));
    *reply.status_mut() = code;
    reply
}

async fn serve(listener: TcpListener, gateway: Gateway) -> Result<(), BoxError> {
    let mut out = std::io::stdout();
    writeln!(out, "listening on {}", listener.local_addr()?)?;
    out.flush()?;
    let gateway = Arc::new(gateway);
    loop {
        let (stream, _) = listener.accept().await?;
        let gateway = Arc::clone(&gateway);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let gateway = Arc::clone(&gateway);
                async move { Ok::<_, Infallible>(gateway.forward(request).await) }
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
                eprintln!("connection: {error}");
            }
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => demonstrate().await,
        ["--listen", address, "--upstream", upstream, "--schema", file] => {
            let schema = Schema::from_descriptor_set(&std::fs::read(file)?)?;
            serve(TcpListener::bind(address).await?, Gateway::new(&schema, upstream.parse()?)?).await
        }
        _ => Err("usage: otlp_gateway [--listen ADDR --upstream HOST:PORT --schema FILE]".into()),
    }
}

/// The part of the schema of OTLP that contains the text of a log record.
fn schema_of_logs() -> Schema {
    use encoder::{MESSAGE, STRING, bytes, descriptor, field, file, message, schema_of};
    let request = "ExportLogsServiceRequest";
    let package = "opentelemetry.proto.collector.logs.v1";
    let of = |name: &str, field_name: &str, number, inner: &str| {
        descriptor(name, &[field(field_name, number, MESSAGE, &format!(".{package}.{inner}"))])
    };
    let mut file = file(
        "proto3",
        package,
        &[
            of(request, "resource_logs", 1, "ResourceLogs"),
            of("ResourceLogs", "scope_logs", 2, "ScopeLogs"),
            of("ScopeLogs", "log_records", 2, "LogRecord"),
            of("LogRecord", "body", 5, "AnyValue"),
            descriptor("AnyValue", &[field("string_value", 1, STRING, "")]),
        ],
    );
    let request = format!(".{package}.{request}");
    let method = message([(1, &b"Export"[..]), (2, request.as_bytes()), (3, request.as_bytes())]);
    bytes(&mut file, 6, message([(1, &b"LogsService"[..]), (2, &method)]));
    schema_of(&file)
}

async fn demonstrate() -> Result<(), BoxError> {
    let upstream = TcpListener::bind("127.0.0.1:0").await?;
    let after = upstream.local_addr()?.to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = upstream.accept().await {
            // The receiver returns what it received.
            let echo = service_fn(async |request: Request<Incoming>| {
                Ok::<_, Infallible>(Response::new(request.into_body()))
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            tokio::spawn(async move { drop(builder.serve_connection(TokioIo::new(stream), echo).await) });
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let gateway = Gateway::new(&schema_of_logs(), after.parse()?)?;
    tokio::spawn(async move { drop(serve(listener, gateway).await) });

    let batch = |texts: [&[u8]; 3]| {
        let record = |text| encoder::message([(5, &encoder::message([(1, text)])[..])]);
        let records = texts.map(record);
        let scope = encoder::message(records.iter().map(|record| (2, &record[..])));
        encoder::message([(1, &encoder::message([(2, &scope[..])])[..])])
    };
    let sent = batch([b"one", b"caf\xE9", "drei 🦀".as_bytes()]);
    let request = Request::post(format!("http://{address}/v1/logs"))
        .header("content-type", "application/x-protobuf")
        .body(Full::new(Bytes::from(sent)))?;
    let response = Client::builder(TokioExecutor::new()).build_http().request(request).await?;
    let received = response.into_body().collect().await?.to_bytes();
    assert_eq!(received, batch([b"one", b"caf?", "drei 🦀".as_bytes()]));
    println!("one string of the batch was repaired, and the others arrived unchanged");
    Ok(())
}
