//! The HTTP filter.

mod hooks;

use core::cell::{Cell, OnceCell};
use std::sync::Arc;

use utf8_codec_engines::config::Settings;
use utf8_codec_engines::plan::{
    Check, Content, Outcome, Tunnel, Verdict, check_trailers, decide, is_grpc, is_head, status,
};
use utf8_codec_engines::websocket::{EXTENSIONS, Extensions, WebSocket, extensions, is_handshake};
use utf8_codec_engines::{FrameSender, MessageKind, Reason, Rejection, from_utf8};

use crate::abi::{body_status, body_type, header_type, headers_status, trailers_status};
use crate::counters::Counters;
use crate::host::{Chunks, Stream};
use crate::objects;
use crate::rewrite::{Target, rewrite};

/// The configuration of a filter.
struct Shared {
    settings: Arc<Settings>,
    counters: Counters,
}

/// The filter of a request and its response.
///
/// If a hook sends a response, Envoy calls other hooks of the same filter before the callback returns. The hooks
/// therefore share the filter, and a check is removed from its cell while it is used.
struct Filter {
    shared: Arc<Shared>,
    /// The settings of the filter or of the route.
    settings: OnceCell<Arc<Settings>>,
    /// Boxed, because many messages have no text to check.
    request: Cell<Option<Box<Check>>>,
    response: Cell<Option<Box<Check>>>,
    /// The tunnel that the request asks for.
    tunnel: Cell<Tunnel>,
    /// Whether the response has opened it.
    is_open: Cell<bool>,
    /// The check of the bytes of the tunnel, if it is one of WebSocket.
    websocket: Cell<Option<Box<WebSocket>>>,
    /// The path of the request, if it determines the types of messages.
    path: OnceCell<Box<str>>,
    /// Whether the request has the method `HEAD`.
    is_head: Cell<bool>,
    /// Whether the request is one of gRPC.
    is_grpc: Cell<bool>,
    /// Whether the request or the response was rejected, or a hook panicked. Further data is dropped, and Envoy's own
    /// response passes.
    is_over: Cell<bool>,
    uncounted: Cell<u64>,
}

/// The differences between a request and a response.
#[derive(Clone, Copy)]
struct Way {
    message: MessageKind,
    headers: u32,
    trailers: u32,
    received: u32,
    buffered: u32,
}

const REQUEST: Way = Way {
    message: MessageKind::Request,
    headers: header_type::REQUEST,
    trailers: header_type::REQUEST_TRAILER,
    received: body_type::RECEIVED_REQUEST,
    buffered: body_type::BUFFERED_REQUEST,
};

const RESPONSE: Way = Way {
    message: MessageKind::Response,
    headers: header_type::RESPONSE,
    trailers: header_type::RESPONSE_TRAILER,
    received: body_type::RECEIVED_RESPONSE,
    buffered: body_type::BUFFERED_RESPONSE,
};

const JSON: (&str, &str) = ("content-type", "application/problem+json");
/// The details of a local response or reset, for Envoy's access log.
const REJECTED: &str = "utf8_codec_rejected";
const PANICKED: &str = "utf8_codec_panicked";

impl Filter {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            settings: OnceCell::new(),
            request: Cell::new(None),
            response: Cell::new(None),
            tunnel: Cell::new(Tunnel::No),
            is_open: Cell::new(false),
            websocket: Cell::new(None),
            path: OnceCell::new(),
            is_head: Cell::new(false),
            is_grpc: Cell::new(false),
            is_over: Cell::new(false),
            uncounted: Cell::new(0),
        }
    }

    const fn check(&self, way: Way) -> &Cell<Option<Box<Check>>> {
        match way.message {
            MessageKind::Request => &self.request,
            MessageKind::Response => &self.response,
        }
    }

    /// Returns the settings of the route, or those of the filter if the route has none.
    fn settings(&self, stream: Stream) -> &Settings {
        self.settings.get_or_init(|| {
            let route = stream.route_config();
            if route.is_null() {
                return Arc::clone(&self.shared.settings);
            }
            // SAFETY: `per_route_config_new` returned the pointer, and Envoy keeps the route during a hook.
            unsafe { objects::config(route) }
        })
    }

    fn headers(&self, stream: Stream, way: Way, end: bool) -> u32 {
        if self.is_over.get() {
            return headers_status::CONTINUE;
        }
        let settings = self.settings(stream);
        let (plan, edit) = stream.with_fields(way.headers, |fields| {
            let fields = fields.iter().copied();
            let content = match way.message {
                // Needed even if only responses are checked, because a response depends on the request.
                MessageKind::Request => {
                    self.tunnel.set(Tunnel::of_request(fields.clone()));
                    self.is_head.set(is_head(fields.clone()));
                    self.is_grpc.set(is_grpc(fields.clone()));
                    if let Some(path) = settings.protobuf().and_then(|_| path(fields.clone())) {
                        let _ = self.path.set(path.into());
                    }
                    Content::of_request(!end, self.tunnel.get())
                }
                MessageKind::Response if self.tunnel.get().is_opened_by(fields.clone()) => {
                    self.is_open.set(true);
                    Content::Tunnel
                }
                MessageKind::Response => {
                    Content::of_response(!end, self.is_head.get(), status(fields.clone()))
                }
            };
            let edit = self.handshake(settings, way, fields.clone());
            (decide(settings, way.message, fields, content, self.path.get().map(|path| &**path)), edit)
        });
        match edit {
            Extensions::Unchanged => {}
            Extensions::Removed => stream.remove_field(way.headers, EXTENSIONS),
            Extensions::Changed(value) => stream.set_field(way.headers, EXTENSIONS, &value),
        }
        if way.message == MessageKind::Response && self.is_open.get() && !self.ends_request(stream) {
            return headers_status::STOP;
        }
        let plan = match plan {
            Ok(plan) => plan,
            Err(reason) if settings.only_reports() => {
                self.shared.counters.rejected(stream, way.message, &reason, true);
                return headers_status::CONTINUE;
            }
            Err(reason) => {
                self.reject(stream, way, reason);
                return headers_status::STOP;
            }
        };
        for name in &plan.removed {
            stream.remove_field(way.headers, name);
        }
        if plan.check.is_passing() {
            return headers_status::CONTINUE;
        }
        self.shared.counters.started(stream);
        self.check(way).set(Some(Box::new(plan.check)));
        if self.is_held(stream, way) { headers_status::STOP } else { headers_status::CONTINUE }
    }

    /// Starts or ends the check of the frames, and returns what becomes of the extensions in a handshake of WebSocket.
    fn handshake<'f>(
        &self,
        settings: &Settings,
        way: Way,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
    ) -> Extensions {
        let opens = match way.message {
            MessageKind::Request => self.tunnel.get() != Tunnel::No,
            MessageKind::Response => self.is_open.get(),
        };
        let mut websocket = self.websocket.take();
        if !opens
            || !(is_handshake(fields.clone()) || self.tunnel.get() == Tunnel::Connect && websocket.is_some())
        {
            return Extensions::Unchanged;
        }
        websocket = websocket.or_else(|| WebSocket::new(settings).map(Box::new));
        let Some(mut websocket) = websocket else { return Extensions::Unchanged };
        if way.message == MessageKind::Response {
            websocket.set_extensions(settings, fields.clone());
        }
        self.websocket.set(Some(websocket));
        extensions(settings, fields)
    }

    /// Checks the frames of one direction. Returns `None` if the bytes are not those of a WebSocket connection.
    ///
    /// After an error, the sender gets its close frame in place of what comes next in the other direction. Envoy could
    /// send it at once (`http_send_response_data`), but would not call the hooks of the response anymore.
    fn frames(&self, stream: Stream, way: Way, end: bool) -> Option<u32> {
        let is_request = way.message == MessageKind::Request;
        // A client may send frames before the response: they are delivered after it.
        if !(self.is_open.get() || is_request && self.tunnel.get().skips_request()) {
            return None;
        }
        let mut websocket = self.websocket.take()?;
        let sender = if is_request { FrameSender::Client } else { FrameSender::Server };
        let outcome = stream.with_body(way.received, |chunks| {
            let outcome = chunks.read(|slices| websocket.feed(sender, slices, end));
            if !outcome.is_unchanged() {
                apply(stream, way, &chunks, &outcome);
            }
            outcome
        });
        self.observe(stream, way, &outcome);
        let Verdict::Rejected(reason) = outcome.verdict else {
            self.websocket.set(Some(websocket));
            return Some(body_status::CONTINUE);
        };
        if !self.is_open.get() {
            self.reject(stream, way, reason);
            return Some(body_status::STOP_NO_BUFFER);
        }
        self.shared.counters.rejected(stream, way.message, &reason, false);
        self.websocket.set(Some(websocket));
        Some(body_status::CONTINUE)
    }

    /// Ends the check of a request body that was sent before the tunnel opened. Returns false if the stream is rejected.
    fn ends_request(&self, stream: Stream) -> bool {
        let Some(mut check) = self.request.take() else { return true };
        let outcome = check.feed(&[], true);
        self.observe(stream, REQUEST, &outcome);
        if let Verdict::Rejected(reason) = outcome.verdict {
            self.reject(stream, REQUEST, reason);
            return false;
        }
        if !outcome.is_unchanged() {
            // The body has been forwarded, so the repair of its last character cannot be added.
            self.is_over.set(true);
            stream.reset(REJECTED);
            return false;
        }
        true
    }

    fn body(&self, stream: Stream, way: Way, end: bool) -> u32 {
        if self.is_over.get() {
            let len = stream.with_body(way.received, |chunks| chunks.len());
            stream.drain(way.received, len);
            return body_status::STOP_NO_BUFFER;
        }
        if let Some(status) = self.frames(stream, way, end) {
            return status;
        }
        let Some(mut check) = self.check(way).take() else { return body_status::CONTINUE };
        let outcome = stream.with_body(way.received, |chunks| {
            let outcome = chunks.read(|slices| check.feed(slices, end));
            if !outcome.is_unchanged() {
                apply(stream, way, &chunks, &outcome);
            }
            outcome
        });
        self.observe(stream, way, &outcome);
        let is_buffered = self.is_held(stream, way);
        if let Verdict::Rejected(reason) = outcome.verdict {
            if way.message == MessageKind::Request || is_buffered {
                self.reject(stream, way, reason);
                return body_status::STOP_NO_BUFFER;
            }
            self.record_rejection(stream, way, &reason);
            if end {
                // Without the reset the client would receive a normal end of the body.
                stream.reset(REJECTED);
                return body_status::STOP_NO_BUFFER;
            }
            // The well-formed text of this chunk is sent first.
            stream.schedule();
            return body_status::CONTINUE;
        }
        if !check.is_passing() && !end {
            self.check(way).set(Some(check));
        }
        if is_buffered && !end { body_status::STOP_AND_BUFFER } else { body_status::CONTINUE }
    }

    fn trailers(&self, stream: Stream, way: Way) -> u32 {
        if self.is_over.get() {
            return trailers_status::STOP;
        }
        let settings = self.settings(stream);
        let mut verdict = Verdict::Pass;
        if let Some(mut check) = self.check(way).take() {
            let outcome = check.feed(&[], true);
            // The body has ended, so only the buffered bytes can be changed.
            for part in [outcome.head.as_slice(), &outcome.tail] {
                stream.append(way.buffered, part);
            }
            self.observe(stream, way, &outcome);
            verdict = outcome.verdict;
            let untrue = stream.with_fields(way.trailers, |fields| check.untrue(fields.iter().copied()));
            for name in &untrue {
                stream.remove_field(way.trailers, name);
            }
        }
        if !matches!(verdict, Verdict::Rejected(_)) && settings.checks_trailers(way.message) {
            let checked = stream.with_fields(way.trailers, |fields| check_trailers(fields.iter().copied()));
            match checked {
                Ok(()) => {}
                Err(reason) if settings.only_reports() => {
                    self.shared.counters.rejected(stream, way.message, &reason, true);
                }
                Err(reason) => verdict = Verdict::Rejected(reason),
            }
        }
        let Verdict::Rejected(reason) = verdict else { return trailers_status::CONTINUE };
        if way.message == MessageKind::Request || self.is_held(stream, way) {
            self.reject(stream, way, reason);
        } else {
            self.record_rejection(stream, way, &reason);
            stream.reset(REJECTED);
        }
        trailers_status::STOP
    }

    /// Whether the message is held until it is complete.
    fn is_held(&self, stream: Stream, way: Way) -> bool {
        let settings = self.settings(stream);
        // A tunnel does not open before the server has the request.
        let may_open = way.message == MessageKind::Request && self.tunnel.get() == Tunnel::UpgradeAfterBody;
        settings.is_buffered() && !settings.only_reports() && !may_open
    }

    fn observe(&self, stream: Stream, way: Way, outcome: &Outcome) {
        let counters = &self.shared.counters;
        counters.received(stream, &self.uncounted, outcome.len);
        counters.repaired(stream, outcome.repaired);
        if let Verdict::Reported(reason) = &outcome.verdict {
            counters.rejected(stream, way.message, reason, true);
        }
    }

    /// Counts and logs a message that is rejected.
    fn record_rejection(&self, stream: Stream, way: Way, reason: &Reason) {
        self.is_over.set(true);
        self.shared.counters.rejected(stream, way.message, reason, false);
    }

    /// Responds with the problem document, or with the status of gRPC.
    fn reject(&self, stream: Stream, way: Way, reason: Reason) {
        self.record_rejection(stream, way, &reason);
        let rejection = Rejection::new(way.message, reason);
        if self.is_grpc.get() {
            let fields = rejection.grpc_fields();
            stream.respond(200, &fields.each_ref().map(|(name, value)| (*name, &**value)), "", REJECTED);
        } else {
            let status = rejection.status().as_u16();
            let problem = rejection.problem_json();
            match rejection.accept_encoding() {
                Some(codings) => {
                    stream.respond(status, &[JSON, ("accept-encoding", codings)], &problem, REJECTED);
                }
                None => stream.respond(status, &[JSON], &problem, REJECTED),
            }
        }
    }

    /// Counts the stream, which is complete.
    fn ended(&self, stream: Stream) -> u32 {
        self.shared.counters.ended(stream, &self.uncounted);
        0
    }

    fn panicked(&self, stream: Stream) {
        self.is_over.set(true);
        self.shared.counters.panicked(stream);
        if self.is_grpc.get() {
            let fields = [("content-type", "application/grpc"), ("grpc-status", "13")];
            stream.respond(200, &fields, "", PANICKED);
        } else {
            let problem = r#"{"type":"about:blank","title":"Internal Server Error","status":500}"#;
            stream.respond(500, &[JSON], problem, PANICKED);
        }
    }
}

/// Returns the path of the pseudo-fields of a request.
fn path<'f>(mut fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Option<&'f str> {
    let value = fields.find_map(|(name, value)| (name == b":path").then_some(value));
    from_utf8(value?).ok()
}

/// Changes a received body.
fn apply(stream: Stream, way: Way, chunks: &Chunks<'_>, outcome: &Outcome) {
    let head = outcome.head.as_slice();
    let kept = outcome.kept;
    let target = (stream, way.received);
    if !head.is_empty() || kept < outcome.len {
        chunks.read(|slices| rewrite(target, slices, head, 0..kept, true));
    }
    target.append(&outcome.tail);
}

impl Target for (Stream, u32) {
    fn append(self, data: &[u8]) {
        self.0.append(self.1, data);
    }

    fn drain(self, len: usize) {
        self.0.drain(self.1, len);
    }
}
