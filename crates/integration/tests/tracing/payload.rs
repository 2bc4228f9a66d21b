//! No error shows bytes of the input, in `Display`, `Debug` or its sources, and neither does an event above `trace`.

use core::error::Error;
use core::iter::successors;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use futures::executor::block_on;
use futures::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use tokio_util::codec::Decoder;
use tower::{Layer, ServiceExt, service_fn};
use tracing_subscriber::filter::LevelFilter;
use utf8_codec::codec::framing::{
    ContentLengthCodec, CriCodec, JsonSequenceCodec, OctetCountingCodec, SyslogValidator,
};
use utf8_codec::codec::{SseCodec, Utf8Codec, Utf8FramesCodec, Utf8LinesCodec};
use utf8_codec::io::{Utf8Reader, Utf8Writer};
use utf8_codec::json::JsonStrings;
use utf8_codec::many::{repair_many, validate_many};
use utf8_codec::stream::{SseStream, Utf8StreamExt};
use utf8_codec::{ErrorPolicy, TextDecoder, from_utf8};
use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::codec::TranscodeCodec;
use utf8_codec_http::protobuf::{GrpcFilter, Schema, StringFilter};
use utf8_codec_http::tower::{CheckedBody, ValidateUtf8RequestLayer, ValidateUtf8ResponseLayer};
use utf8_codec_http::{
    BodyRules, HttpCounters, MessageKind, ProtobufTypes, RejectReason, Rejection, check_field,
};
use utf8_codec_mail::{MessageValidator, TransferDecoder, TransferEncoding, TransferPiece};
use utf8_codec_media::content_type::ContentType;
use utf8_codec_proxy::websocket::{FrameReader, FrameSender};
use utf8_codec_proxy::{Edit, Filter, LineFilter};

use crate::events::log_of;

type Errors = Vec<Box<dyn Error>>;

/// The text next to each error, and the first bytes of what `Debug` of a slice shows of it.
const MARKER: &str = "geheim";
const BYTES: &str = "103, 101, 104";

const TEXT: &[u8] = b"geheim\xFFgeheim\n";

fn text() -> Errors {
    let ends = [0, TEXT.len()];
    vec![
        Box::new(from_utf8(TEXT).unwrap_err()),
        Box::new(TextDecoder::new().decode_chunk(TEXT).unwrap_err()),
        Box::new(validate_many(TEXT, &ends).unwrap_err()),
        Box::new(repair_many(TEXT, &ends, ErrorPolicy::Strict).unwrap_err()),
        Box::new(MARKER.parse::<ErrorPolicy>().unwrap_err()),
        Box::new(ContentType::parse(b"geheim=geheim").unwrap_err()),
        Box::new(check_field("x-name", TEXT).unwrap_err()),
        Box::new(check_field("content-disposition", b"x; filename*=UTF-8''geheim%FF").unwrap_err()),
    ]
}

/// Returns every error of a codec.
fn decoded<C, I, E>(mut codec: C, input: &[u8]) -> Errors
where
    C: Decoder<Item = Result<I, E>, Error: Error + 'static>,
    E: Error + 'static,
{
    let mut errors = Errors::new();
    let mut buffer = BytesMut::from(input);
    loop {
        match codec.decode_eof(&mut buffer) {
            Ok(None) => break,
            Ok(Some(Ok(_))) => {}
            Ok(Some(Err(error))) => errors.push(Box::new(error)),
            Err(error) => errors.push(Box::new(error)),
        }
    }
    assert!(!errors.is_empty(), "{}", input.escape_ascii());
    errors
}

fn codecs() -> Errors {
    let event = b"id: geheim\nevent: geheim\ndata: geheim\xFF\n\n";
    [
        decoded(Utf8Codec::new(), TEXT),
        decoded(Utf8LinesCodec::new(), TEXT),
        decoded(Utf8LinesCodec::new().with_max_length(3), b"geheim\n"),
        decoded(SseCodec::with_decoder(TextDecoder::new()), event),
        decoded(SseCodec::new().with_max_event_length(3), b"id: geheim\ndata: geheim\n\n"),
        decoded(ContentLengthCodec::new(), b"Content-Length: geheim\r\n\r\n"),
        decoded(ContentLengthCodec::new().with_max_length(3), b"Content-Length: 6\r\n\r\ngeheim"),
        decoded(OctetCountingCodec::new(), b"geheim geheim"),
        decoded(OctetCountingCodec::new().with_max_length(3), b"6 geheim"),
        decoded(JsonSequenceCodec::new(), b"geheim"),
        decoded(JsonSequenceCodec::new().with_max_length(3), b"\x1E\"geheim\"\n"),
        decoded(CriCodec::new(), b"geheim\n"),
        decoded(CriCodec::new().with_max_length(3), b"geheim stdout F geheim\n"),
        vec![Box::new(SyslogValidator::new().validate(b"<1>1 - - - - - [a b=\"geheim\xFF").unwrap_err())],
        decoded(Utf8FramesCodec::new(OctetCountingCodec::new()), b"7 geheim\xFF"),
        decoded(TranscodeCodec::new(Encoding::Utf16Le), b"\0\xDCgeheim"),
        decoded(TranscodeCodec::new(Encoding::Utf16Le).into_lines().with_max_length(3), b"geheim"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn streams() -> Errors {
    let collected = block_on(stream::iter([TEXT]).utf8().collect_string());
    let chunks = stream::iter([Ok::<_, io::Error>(Bytes::from_static(b"data: geheim\xFF\n\n"))]);
    let event = block_on(SseStream::with_codec(chunks, SseCodec::with_decoder(TextDecoder::new())).next())
        .expect("an event");
    let read = Utf8Reader::new(TEXT).read_to_string(&mut String::new());
    let line = Utf8Reader::new(&b"geheim\n"[..]).into_bounded_lines(3).next().expect("a line");
    let mut writer = Utf8Writer::new(Vec::new());
    let written = writer.write_all(TEXT).and_then(|()| writer.flush());
    vec![
        Box::new(collected.unwrap_err()),
        Box::new(event.unwrap_err()),
        Box::new(read.unwrap_err()),
        Box::new(line.unwrap_err()),
        Box::new(written.unwrap_err()),
    ]
}

fn headers(fields: &[(HeaderName, &[u8])]) -> HeaderMap {
    fields.iter().map(|(name, value)| (name.clone(), HeaderValue::from_bytes(value).unwrap())).collect()
}

/// A schema with `message M { string s = 1; }`.
const SCHEMA: &[u8] =
    b"\x0A\x1B\x0A\x01f\x22\x0E\x0A\x01M\x12\x09\x0A\x01s\x18\x01\x20\x01\x28\x09b\x06proto3";

fn rules() -> BodyRules {
    let types = ProtobufTypes::new(&Schema::from_descriptor_set(SCHEMA).unwrap());
    let types = types.with_message("/m", MessageKind::Request, "M").unwrap();
    let rules = BodyRules::new().with_form_data(true).with_protobuf_types(types);
    rules.with_json_strings(JsonStrings::new()).for_path("/m", MessageKind::Request).into_owned()
}

/// Messages that are rejected: their `Content-Type`, and their bodies.
const MESSAGES: [(&[u8], &[u8]); 21] = [
    (b"text/plain; geheim=geheim", TEXT),
    (b"text/plain; charset=geheim", TEXT),
    (b"text/plain; charset=utf-8; charset=geheim", TEXT),
    (b"geheim geheim", TEXT),
    (b"geheim/\xFF", TEXT),
    (b"application/json; geheim=geheim", b"{\"geheim\": \"\\uD800geheim\"}"),
    (b"application/xml; geheim=geheim", b"<?xml version=\"1.0\" encoding=\"geheim\"?><geheim/>"),
    (b"text/css", b"@charset \"windows-1251\"; geheim"),
    (b"application/x-www-form-urlencoded; geheim=geheim", b"geheim=geheim%FFgeheim"),
    (b"application/x-www-form-urlencoded", b"geheim%FFgeheim=geheim"),
    (b"application/x-www-form-urlencoded", b"geheim=geheim\xFFgeheim"),
    (b"multipart/form-data; geheim=geheim", b"--geheim"),
    (b"multipart/form-data; boundary=geheim", b"--geheim\r\ngeheim\r\n"),
    (b"multipart/form-data; boundary=geheim", b"--geheim--geheim"),
    (b"multipart/form-data; boundary=geheim", b"--geheim\r\nContent-Disposition: form-data; name=geheim"),
    (
        b"multipart/form-data; boundary=geheim",
        b"--geheim\r\nContent-Disposition: form-data; name=geheim\r\n\r\ngeheim\xFF\r\n--geheim--",
    ),
    (
        b"multipart/form-data; boundary=geheim",
        b"--geheim\r\nContent-Disposition: form-data; name=geheim\xFF\r\n\r\ngeheim\r\n--geheim--",
    ),
    (
        b"multipart/form-data; boundary=geheim",
        b"--geheim\r\nContent-Disposition: form-data; name=geheim; filename*=UTF-8''geheim%FF\r\n\r\n\r\n--geheim--",
    ),
    (
        b"multipart/form-data; boundary=geheim",
        b"--geheim\r\nContent-Disposition: form-data; name=geheim\r\nContent-Type: text/plain; charset=geheim\r\n\r\n\r\n",
    ),
    (b"application/protobuf; geheim=geheim", b"\x0A\x07geheim\xFF"),
    (b"application/grpc", b"\0\0\0\0\x09\x0A\x07geheim\xFF"),
];

/// The errors of bodies that are checked while they stream.
fn bodies() -> Errors {
    let mut errors = Errors::new();
    let counters = HttpCounters::new();
    for (content_type, bytes) in MESSAGES {
        let mut fields = headers(&[(http::header::CONTENT_TYPE, content_type)]);
        let body = match rules().apply(MessageKind::Request, &mut fields, Full::<Bytes>::from(bytes)) {
            Ok(body) => body.with_counters(&counters),
            Err(rejection) => {
                errors.push(rejection);
                continue;
            }
        };
        let error = block_on(body.collect()).unwrap_err();
        errors.push(Box::new(Rejection::from_error(&*error).expect("an error in the content")));
        errors.push(Box::new(Rejection::from_error(&*error).unwrap().reason));
        errors.push(Box::new(RejectReason::find(&*error).unwrap().clone()));
        errors.push(error);
    }
    errors
}

/// A message with a trailer.
type Message = StreamBody<stream::Iter<std::vec::IntoIter<io::Result<Frame<Bytes>>>>>;

fn message(bytes: &'static [u8], trailer: &[u8]) -> Message {
    let data = Frame::data(Bytes::from_static(bytes));
    let trailers = Frame::trailers(headers(&[(HeaderName::from_static("x-trailer"), trailer)]));
    StreamBody::new(stream::iter(vec![Ok(data), Ok(trailers)]))
}

/// The rejections of the layers.
fn layers() -> Errors {
    let rejections = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&rejections);
    let respond = move |rejection: &Rejection| {
        record.lock().unwrap().push(rejection.clone());
        Response::new(Bytes::new())
    };
    let requests = [
        ValidateUtf8RequestLayer::new(),
        ValidateUtf8RequestLayer::streaming(),
        ValidateUtf8RequestLayer::new().with_max_held_length(3),
    ]
    .map(|layer| layer.with_rejection_response(respond.clone()).with_rules(rules()));
    let requests =
        requests.map(|layer| layer.with_header_check(true).with_path_check(true).with_query_check(true));
    let response = ValidateUtf8ResponseLayer::new().with_max_held_length(99).with_header_check(true);
    let response = response.with_rules(rules()).with_rejection_response(respond);
    let fine = ("/", &b"geheim"[..], &b"geheim"[..]);
    let variants = [
        fine,
        ("/geheim/%FF", fine.1, fine.2),
        ("/?geheim=geheim%FF", fine.1, fine.2),
        ("/", b"geheim\xFF", fine.2),
        ("/", fine.1, b"geheim\xFF"),
    ];
    let plain = [(&b"text/plain; geheim=geheim"[..], &b"geheim"[..])];
    for (content_type, bytes) in MESSAGES.into_iter().chain(plain) {
        for (uri, value, trailer) in variants {
            let fields = || {
                headers(&[
                    (http::header::CONTENT_TYPE, content_type),
                    (HeaderName::from_static("x-name"), value),
                ])
            };
            for layer in &requests {
                let service = layer.layer(service_fn(async |request: Request<CheckedBody<Message>>| {
                    let read = request.into_body().collect().await;
                    read.map(|_| Response::new(Full::<Bytes>::default()))
                }));
                let mut request = Request::post(uri).body(message(bytes, trailer)).unwrap();
                *request.headers_mut() = fields();
                drop(block_on(service.oneshot(request)));
            }
            let service = response.layer(service_fn(async |_: Request<()>| {
                let mut response = Response::new(message(bytes, trailer));
                *response.headers_mut() = fields();
                Ok::<_, io::Error>(response)
            }));
            drop(block_on(service.oneshot(Request::new(()))));
        }
    }
    let rejections = rejections.lock().unwrap();
    let reasons = rejections.iter().map(|rejection| Box::new(rejection.reason.clone()) as Box<dyn Error>);
    reasons.chain(rejections.iter().map(|rejection| Box::new(rejection.clone()) as Box<dyn Error>)).collect()
}

fn frames() -> Errors {
    let ill_formed = b"\x81\x07geheim\xFF".to_vec();
    let reason = b"\x88\x09\x03\xE8geheim\xFF".to_vec();
    let reserved = b"\xC1\x06geheim".to_vec();
    let mut errors = Errors::new();
    for mut bytes in [ill_formed, reason, reserved] {
        let mut reader = FrameReader::new(FrameSender::Server);
        let error = reader.feed(&mut bytes).find_map(Result::err).expect("an error");
        errors.push(Box::new(error));
    }
    errors
}

fn messages_of_protobuf() -> Errors {
    let schema = Schema::from_descriptor_set(SCHEMA).unwrap();
    let validator = StringFilter::new(&schema, "M").unwrap();
    let mut stream = GrpcFilter::new(validator.clone());
    let mut malformed = validator.clone();
    vec![
        Box::new(validator.clone().validate(b"\x0A\x07geheim\xFF").unwrap_err()),
        Box::new(malformed.validate(b"\x0A\x09geheim").and_then(|()| malformed.finish()).unwrap_err()),
        Box::new(stream.validate(b"\0\0\0\0\x09\x0A\x07geheim\xFF").unwrap_err()),
        Box::new(GrpcFilter::new(validator).validate(b"geheim").unwrap_err()),
    ]
}

fn mail() -> Errors {
    let mut errors = Errors::new();
    for message in [
        &b"Subject: geheim\xFF\r\n\r\ngeheim"[..],
        b"Subject: =?utf-8?q?geheim=FF?=\r\n\r\ngeheim",
        b"Content-Type: text/plain; geheim\r\n\r\ngeheim\xFF",
        b"Content-Type: text/plain; charset=geheim\r\n\r\ngeheim\xFF",
        b"Content-Type: multipart/mixed; boundary=geheim\r\n\r\n--geheim\r\nX: geheim\xFF\r\n\r\ngeheim",
        b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\nZ2VoZWlt/w==*geheim",
    ] {
        let mut validator = MessageValidator::new();
        validator.push(message);
        let verdict = validator.finish();
        errors.extend(verdict.parts.iter().flat_map(|part| part.errors()).map(|error| Box::new(*error) as Box<_>));
    }
    let mut decoder = TransferDecoder::new(TransferEncoding::QuotedPrintable);
    decoder.feed_with(b"geheim=geheim", |piece| {
        if let TransferPiece::Error(error) = piece {
            errors.push(Box::new(error));
        }
    });
    errors
}

fn proxied() -> Errors {
    let mut errors = Errors::new();
    let error = Filter::new().feed_with(TEXT, |_| {}).unwrap_err();
    errors.push(Box::new(error));
    let mut lines = LineFilter::new().with_max_length(9);
    let mut take = |edit: Edit<'_>| {
        if let Edit::LineRejected(line) = edit {
            errors.push(Box::new(line));
        }
    };
    for line in [TEXT, b"geheimgeheim\n"] {
        let _ = lines.feed_with(line, &mut take);
    }
    errors
}

/// Returns the error that another one wraps. The `source` of an `io::Error` skips it.
fn inner<'e>(error: &&'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    let error: &'e (dyn Error + 'static) = *error;
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

/// Returns an error and its sources, as a program may show them.
fn shown(error: &(dyn Error + 'static)) -> String {
    successors(Some(error), inner).map(|error| format!("{error}\n{error:?}\n{error:#?}\n")).collect()
}

/// An error either displays another one or returns it as its source, so that a program that shows the chain does not show it
/// twice.
#[test]
fn no_error_displays_its_source() {
    let rooms = [text, codecs, streams, bodies, layers, frames, messages_of_protobuf, mail, proxied];
    for error in rooms.into_iter().flat_map(|run| run()) {
        let mut error: &(dyn Error + 'static) = &*error;
        while let Some(source) = error.source() {
            assert!(!error.to_string().contains(&source.to_string()), "{error} / {source}");
            error = source;
        }
    }
}

#[test]
fn no_error_and_no_event_above_trace_shows_the_input() {
    type Room = (&'static str, usize, fn() -> Errors);
    let rooms: [Room; 9] = [
        ("text", 8, text),
        ("codecs", 12, codecs),
        ("streams", 5, streams),
        ("bodies", 60, bodies),
        ("layers", 200, layers),
        ("frames", 3, frames),
        ("protobuf", 4, messages_of_protobuf),
        ("mail", 6, mail),
        ("proxy", 3, proxied),
    ];
    let log = log_of(LevelFilter::DEBUG, || {
        for (room, at_least, run) in rooms {
            let errors = run();
            assert!(errors.len() >= at_least, "{room}: {} errors", errors.len());
            for error in errors {
                let shown = shown(&*error);
                for payload in [MARKER, BYTES] {
                    assert!(!shown.contains(payload), "{room}: {shown}");
                }
            }
        }
    });
    for event in ["ill-formed", "line too long", "event too long", "frame too long", "rejected a message"] {
        assert!(log.contains(event), "no event \"{event}\" was tested");
    }
    for payload in [MARKER, BYTES] {
        let leak = log.lines().find(|line| line.contains(payload));
        assert_eq!(leak, None);
    }
}
