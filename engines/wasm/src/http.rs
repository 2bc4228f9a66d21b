//! The filter of HTTP messages.
//!
//! The header is never held, because some engines deliver no body until the header is released (Envoy without
//! `allow_on_headers_stop_iteration`). In buffered mode the server therefore receives the header of a request at once, and
//! its body after all of it was checked.

use std::rc::Rc;

use log::error;
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::{Action, Bytes};
use utf8_codec_engines::config::Settings;
use utf8_codec_engines::plan::{self, Check, Content, Tunnel, Verdict};
use utf8_codec_engines::websocket::{self, EXTENSIONS, Extensions, WebSocket};
use utf8_codec_engines::{FrameSender, MessageKind, Reason, Rejection, from_utf8};

use crate::buffers::{change, log, whole};

/// A request and its response.
pub(crate) struct Exchange {
    settings: Rc<Settings>,
    request: Check,
    response: Check,
    /// The maximum number of bytes that the engine announced for a held body.
    held_request: usize,
    held_response: usize,
    tunnel: Tunnel,
    /// Whether the response has opened the tunnel.
    is_open: bool,
    /// The check of the bytes of the tunnel, if it is one of WebSocket.
    websocket: Option<WebSocket>,
    /// The path of the request, if it determines the types of messages.
    path: Option<String>,
    /// Whether the request has the method `HEAD`.
    is_head: bool,
    /// Whether the request is one of gRPC.
    is_grpc: bool,
    was_rejected: bool,
    /// Whether the response is a document that this filter sent. It passes; any other data after an error does not.
    is_own_response: bool,
    /// Whether the header of a response of the server has arrived.
    has_response: bool,
}

type Field = (String, Bytes);

impl Exchange {
    pub(crate) fn new(settings: Rc<Settings>) -> Self {
        Self {
            settings,
            request: Check::pass(),
            response: Check::pass(),
            held_request: 0,
            held_response: 0,
            tunnel: Tunnel::No,
            is_open: false,
            websocket: None,
            path: None,
            is_head: false,
            is_grpc: false,
            was_rejected: false,
            is_own_response: false,
            has_response: false,
        }
    }

    /// Whether the body of a message is held until its end.
    fn is_held(&self, message: MessageKind) -> bool {
        // A tunnel does not open before the server has the request.
        let may_open = message == MessageKind::Request && self.tunnel == Tunnel::UpgradeAfterBody;
        self.settings.is_buffered() && !self.settings.only_reports() && !may_open
    }

    /// Decides what to do with a message. Returns the names of the fields to remove.
    fn decide(
        &mut self,
        message: MessageKind,
        fields: &[Field],
        content: Content,
    ) -> Result<Vec<String>, Action> {
        match plan::decide(&self.settings, message, pairs(fields), content, self.path.as_deref()) {
            Ok(plan) => {
                match message {
                    MessageKind::Request => self.request = plan.check,
                    MessageKind::Response => self.response = plan.check,
                }
                Ok(plan.removed)
            }
            Err(reason) if self.settings.only_reports() => {
                log("reported", message, &reason);
                Ok(Vec::new())
            }
            Err(reason) => Err(self.reject(message, reason, true)),
        }
    }

    /// Ends the exchange: with the problem document, or the status of gRPC, where a response can still be sent.
    fn reject(&mut self, message: MessageKind, reason: Reason, can_respond: bool) -> Action {
        log("rejected", message, &reason);
        self.was_rejected = true;
        // A header that was already forwarded cannot be replaced.
        if can_respond && (message == MessageKind::Response || !self.has_response) {
            self.is_own_response = true;
            let rejection = Rejection::new(message, reason);
            if self.is_grpc {
                let fields = rejection.grpc_fields();
                let fields = fields.each_ref().map(|(name, value)| (*name, &**value)).to_vec();
                self.send_http_response(200, fields, None);
            } else {
                let status = u32::from(rejection.status().as_u16());
                let mut fields = vec![("content-type", "application/problem+json")];
                fields.extend(rejection.accept_encoding().map(|codings| ("accept-encoding", codings)));
                self.send_http_response(status, fields, Some(rejection.problem_json().as_bytes()));
            }
        } else {
            self.reset_http_response();
        }
        Action::Pause
    }

    /// Resets the exchange, for an error that is not one of the text.
    fn reset(&mut self, message: MessageKind, why: &str) -> Action {
        error!("utf8_codec: {why}");
        self.was_rejected = true;
        if message == MessageKind::Request {
            self.reset_http_request();
        } else {
            self.reset_http_response();
        }
        Action::Pause
    }

    /// Ends an exchange whose bytes cannot be read, so that they do not pass unchecked.
    fn incomplete(&mut self, message: MessageKind) -> Action {
        let why = "the engine did not deliver all bytes of a body";
        if self.settings.only_reports() {
            error!("utf8_codec: {why}");
            return Action::Continue;
        }
        self.reset(message, why)
    }

    /// Starts or ends the check of the frames, and returns what becomes of the extensions in a handshake of WebSocket.
    fn handshake(&mut self, message: MessageKind, fields: &[Field]) -> Extensions {
        let opens = match message {
            MessageKind::Request => self.tunnel != Tunnel::No,
            MessageKind::Response => self.is_open,
        };
        let websocket = self.websocket.take();
        let is_handshake =
            websocket::is_handshake(pairs(fields)) || self.tunnel == Tunnel::Connect && websocket.is_some();
        if !opens || !is_handshake {
            return Extensions::Unchanged;
        }
        let Some(mut websocket) = websocket.or_else(|| WebSocket::new(&self.settings)) else {
            return Extensions::Unchanged;
        };
        if message == MessageKind::Response {
            websocket.set_extensions(&self.settings, pairs(fields));
        }
        self.websocket = Some(websocket);
        websocket::extensions(&self.settings, pairs(fields))
    }

    /// Checks the frames of one direction. After an error, the other peer gets its close frame in place of what comes next
    /// in its direction.
    fn frames(&mut self, message: MessageKind, size: usize, end: bool) -> Action {
        let sender = if message == MessageKind::Request { FrameSender::Client } else { FrameSender::Server };
        let Some(data) = whole(self.get_body(message, size), size) else {
            return self.incomplete(message);
        };
        let Some(websocket) = &mut self.websocket else { return Action::Continue };
        let outcome = websocket.feed(sender, &[&data], end);
        match &outcome.verdict {
            Verdict::Rejected(reason) if !self.is_open => return self.reject(message, reason.clone(), true),
            Verdict::Rejected(reason) => log("rejected", message, reason),
            Verdict::Reported(reason) => log("reported", message, reason),
            Verdict::Pass => {}
        }
        change(data, &outcome, |start, size, bytes| self.set_body(message, start, size, bytes));
        Action::Continue
    }

    /// Ends the check of a request body that was sent before the tunnel opened.
    fn end_request(&mut self) -> Result<(), Action> {
        let mut check = core::mem::replace(&mut self.request, Check::pass());
        let outcome = check.feed(&[], true);
        let is_unchanged = outcome.is_unchanged();
        match outcome.verdict {
            Verdict::Rejected(reason) => return Err(self.reject(MessageKind::Request, reason, true)),
            Verdict::Reported(reason) => log("reported", MessageKind::Request, &reason),
            Verdict::Pass if !is_unchanged => {
                let why = "a body that ends inside a character, before an upgrade, is not repaired";
                return Err(self.reset(MessageKind::Response, why));
            }
            Verdict::Pass => {}
        }
        Ok(())
    }

    fn body(&mut self, message: MessageKind, size: usize, end: bool) -> Action {
        if self.was_rejected {
            return Action::Pause;
        }
        let is_request = message == MessageKind::Request;
        if self.websocket.is_some() && (self.is_open || is_request && self.tunnel.skips_request()) {
            return self.frames(message, size, end);
        }
        let check = if is_request { &mut self.request } else { &mut self.response };
        if check.is_passing() {
            return Action::Continue;
        }
        if self.is_held(message) && !end {
            let held = if is_request { &mut self.held_request } else { &mut self.held_response };
            *held = size.max(*held);
            // The engine buffers the bytes, and the last call receives all of them.
            return Action::Pause;
        }
        let Some(data) = whole(self.get_body(message, size), size) else {
            return self.incomplete(message);
        };
        let check = if is_request { &mut self.request } else { &mut self.response };
        let outcome = check.feed(&[&data], end);
        if end {
            *check = Check::pass();
        }
        match &outcome.verdict {
            Verdict::Rejected(reason) => return self.reject(message, reason.clone(), is_request),
            Verdict::Reported(reason) => log("reported", message, reason),
            Verdict::Pass => {}
        }
        change(data, &outcome, |start, size, bytes| self.set_body(message, start, size, bytes));
        Action::Continue
    }

    fn get_body(&self, message: MessageKind, size: usize) -> Option<Bytes> {
        match message {
            MessageKind::Request => self.get_http_request_body(0, size),
            MessageKind::Response => self.get_http_response_body(0, size),
        }
    }

    fn set_body(&self, message: MessageKind, start: usize, size: usize, bytes: &[u8]) {
        match message {
            MessageKind::Request => self.set_http_request_body(start, size, bytes),
            MessageKind::Response => self.set_http_response_body(start, size, bytes),
        }
    }

    fn trailers(&mut self, message: MessageKind, fields: &[Field]) -> Action {
        if self.was_rejected {
            return Action::Pause;
        }
        let is_request = message == MessageKind::Request;
        let is_buffered = self.is_held(message);
        let mut data = Bytes::new();
        if is_buffered {
            data = self.get_body(message, usize::MAX >> 1).unwrap_or_default();
            if data.len() < if is_request { self.held_request } else { self.held_response } {
                return self.incomplete(message);
            }
        }
        let check = if is_request { &mut self.request } else { &mut self.response };
        let outcome = check.feed(&[&data], true);
        let reason = match &outcome.verdict {
            Verdict::Rejected(reason) => Some(reason.clone()),
            Verdict::Reported(reason) => {
                log("reported", message, reason);
                None
            }
            Verdict::Pass if is_buffered => {
                change(data, &outcome, |start, size, bytes| self.set_body(message, start, size, bytes));
                None
            }
            Verdict::Pass if outcome.is_unchanged() => None,
            // There is no buffer to which the repaired end of the body could be added.
            Verdict::Pass => {
                let why = "the held end of a body, before trailers, is passed on in buffered mode only";
                return self.reset(message, why);
            }
        };
        let check = if is_request { &self.request } else { &self.response };
        for name in check.untrue(pairs(fields)) {
            if is_request {
                self.remove_http_request_trailer(&name);
            } else {
                self.remove_http_response_trailer(&name);
            }
        }
        let reason = reason.or_else(|| {
            let checked = if self.settings.checks_trailers(message) {
                plan::check_trailers(pairs(fields))
            } else {
                Ok(())
            };
            checked.err()
        });
        match reason {
            Some(reason) if self.settings.only_reports() => {
                log("reported", message, &reason);
                Action::Continue
            }
            Some(reason) => self.reject(message, reason, is_request),
            None => Action::Continue,
        }
    }
}

/// The fields as the plan reads them.
fn pairs(fields: &[Field]) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
    fields.iter().map(|(name, value)| (name.as_bytes(), value.as_slice()))
}

impl Context for Exchange {}

impl HttpContext for Exchange {
    fn on_http_request_headers(&mut self, _: usize, end: bool) -> Action {
        let fields = self.get_http_request_headers_bytes();
        self.tunnel = Tunnel::of_request(pairs(&fields));
        self.is_head = plan::is_head(pairs(&fields));
        self.is_grpc = plan::is_grpc(pairs(&fields));
        if self.settings.protobuf().is_some() {
            let path = fields.iter().find(|(name, _)| name == ":path");
            self.path = path.and_then(|(_, value)| from_utf8(value).ok().map(str::to_owned));
        }
        match self.handshake(MessageKind::Request, &fields) {
            Extensions::Unchanged => {}
            Extensions::Removed => self.remove_http_request_header(EXTENSIONS),
            Extensions::Changed(value) => self.set_http_request_header(EXTENSIONS, Some(&value)),
        }
        match self.decide(MessageKind::Request, &fields, Content::of_request(!end, self.tunnel)) {
            Ok(removed) => removed.iter().for_each(|name| self.remove_http_request_header(name)),
            Err(action) => return action,
        }
        Action::Continue
    }

    fn on_http_request_body(&mut self, size: usize, end: bool) -> Action {
        self.body(MessageKind::Request, size, end)
    }

    fn on_http_request_trailers(&mut self, _: usize) -> Action {
        let fields = self.get_http_request_trailers_bytes();
        self.trailers(MessageKind::Request, &fields)
    }

    fn on_http_response_headers(&mut self, _: usize, end: bool) -> Action {
        if self.was_rejected {
            return if self.is_own_response { Action::Continue } else { Action::Pause };
        }
        let fields = self.get_http_response_headers_bytes();
        self.is_open = self.tunnel.is_opened_by(pairs(&fields));
        match self.handshake(MessageKind::Response, &fields) {
            Extensions::Unchanged => {}
            Extensions::Removed => self.remove_http_response_header(EXTENSIONS),
            Extensions::Changed(value) => self.set_http_response_header(EXTENSIONS, Some(&value)),
        }
        if self.is_open
            && let Err(action) = self.end_request()
        {
            return action;
        }
        self.has_response = true;
        let content = match self.is_open {
            true => Content::Tunnel,
            false => Content::of_response(!end, self.is_head, plan::status(pairs(&fields))),
        };
        match self.decide(MessageKind::Response, &fields, content) {
            Ok(removed) => removed.iter().for_each(|name| self.remove_http_response_header(name)),
            Err(action) => return action,
        }
        Action::Continue
    }

    fn on_http_response_body(&mut self, size: usize, end: bool) -> Action {
        if self.was_rejected && self.is_own_response {
            return Action::Continue;
        }
        self.body(MessageKind::Response, size, end)
    }

    fn on_http_response_trailers(&mut self, _: usize) -> Action {
        let fields = self.get_http_response_trailers_bytes();
        self.trailers(MessageKind::Response, &fields)
    }
}
