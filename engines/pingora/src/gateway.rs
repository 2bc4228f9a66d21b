//! The hooks of Pingora.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use h2::ext::Protocol;
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderName, Method};
use log::warn;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::prelude::{Error, ErrorType, HttpPeer, Result};
use pingora::protocols::http::server::Session as HttpSession;
use pingora::proxy::{FailToProxy, ProxyHttp, Session};
use utf8_codec_engines::config::Settings;
use utf8_codec_engines::plan::{self, Check, Content, MessagePlan, Verdict};
use utf8_codec_engines::websocket::{self, EXTENSIONS, Extensions, WebSocket};
use utf8_codec_engines::{FrameSender, MessageKind, Reason, Rejection, content_type};

use crate::body::{Body, Checked};

/// The time limit for draining the rest of a rejected request, so that its sender can read the response.
const LINGER: Duration = Duration::from_secs(1);

/// A gateway to one server.
#[derive(Debug)]
pub(crate) struct Gateway {
    settings: Settings,
    upstream: SocketAddr,
    has_http2: bool,
    buffer_limit: usize,
}

/// The state of one exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    request: Body,
    response: Body,
    /// The check of the frames: from the response 101, or over HTTP/2 from the request.
    websocket: Option<WebSocket>,
    /// Whether the server has accepted the WebSocket connection.
    is_open: bool,
    rejection: Option<Rejection>,
}

impl Gateway {
    pub(crate) const fn new(
        settings: Settings,
        upstream: SocketAddr,
        has_http2: bool,
        buffer_limit: usize,
    ) -> Self {
        Self { settings, upstream, has_http2, buffer_limit }
    }

    fn decide(
        &self,
        message: MessageKind,
        head: Head<'_>,
        path: Option<&str>,
    ) -> Result<MessagePlan, Reason> {
        let own = head.path.map(|path| (&b":path"[..], path));
        let fields: Vec<_> = own.into_iter().chain(pairs(head.fields)).collect();
        plan::decide(&self.settings, message, fields.iter().copied(), head.content, path)
    }

    fn body(&self, check: Check) -> Body {
        // A body that is only reported is forwarded as it is, so nothing of it is held.
        let is_held = self.settings.is_buffered() && !self.settings.only_reports();
        Body::new(check, is_held.then_some(self.buffer_limit))
    }

    /// Logs the errors of a chunk, without its bytes.
    fn log(message: MessageKind, checked: &Checked) {
        if checked.repaired > 0 {
            warn!("utf8: {message:?}: repaired {} sequences", checked.repaired);
        }
        for (what, reason) in [("reported", &checked.reported), ("rejected", &checked.rejected)] {
            if let Some(reason) = reason {
                let (offset, len) = reason.offset_and_len().unwrap_or_default();
                warn!("utf8: {message:?}: {what} kind={} offset={offset} len={len}", reason.kind());
            }
        }
    }

    /// Ends the exchange for this reason.
    fn reject<T>(ctx: &mut Exchange, message: MessageKind, reason: Reason) -> Result<T> {
        let rejection = Rejection::new(message, reason);
        let status = rejection.status().as_u16();
        ctx.rejection = Some(rejection);
        Error::e_explain(ErrorType::HTTPStatus(status), "the text is ill-formed")
    }
}

/// The fields as the plan reads them.
fn pairs(fields: &http::HeaderMap) -> impl Iterator<Item = (&[u8], &[u8])> {
    fields.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()))
}

/// Whether a request asks for a WebSocket connection over HTTP/2 (RFC 8441).
fn is_websocket_connect(request: &RequestHeader) -> bool {
    request.extensions.get::<Protocol>().is_some_and(|protocol| {
        request.method == Method::CONNECT && protocol.as_str().eq_ignore_ascii_case("websocket")
    })
}

/// Checks the next frames of a WebSocket connection. Returns the reason to reject them.
fn frames(
    websocket: &mut WebSocket,
    sender: FrameSender,
    body: &mut Option<Bytes>,
    end: bool,
) -> Option<Reason> {
    let chunk = body.take().unwrap_or_default();
    let outcome = websocket.feed(sender, &[&chunk], end);
    let message = if sender == FrameSender::Client { MessageKind::Request } else { MessageKind::Response };
    let mut checked = Checked { repaired: outcome.repaired, ..Checked::default() };
    match &outcome.verdict {
        Verdict::Pass => {}
        Verdict::Reported(reason) => checked.reported = Some(reason.clone()),
        Verdict::Rejected(reason) => checked.rejected = Some(reason.clone()),
    }
    Gateway::log(message, &checked);
    // At the end, `None` is the end of the direction.
    let data = crate::body::changed(&chunk, &outcome);
    *body = (!data.is_empty() || sender == FrameSender::Client && !end).then_some(data);
    checked.rejected
}

/// The head of a message.
struct Head<'h> {
    path: Option<&'h [u8]>,
    fields: &'h http::HeaderMap,
    content: Content,
}

impl<'h> Head<'h> {
    fn of_request(request: &'h RequestHeader, has_body: bool) -> Self {
        // A request with `Upgrade` has a body like any other request until the server accepts with 101.
        let content = match has_body {
            _ if request.method == Method::CONNECT => Content::Tunnel,
            true => Content::Body,
            false => Content::Nothing,
        };
        Self { path: Some(request.raw_path()), fields: &request.headers, content }
    }

    fn of_response(response: &'h ResponseHeader, is_head: bool, is_open: bool) -> Self {
        let status = response.status.as_u16();
        let has_body = !is_head && status >= 200 && status != 204 && status != 304;
        let content = match status {
            101 => Content::Tunnel,
            _ if is_open => Content::Tunnel,
            _ => Content::of_response(has_body, is_head, status),
        };
        Self { path: None, fields: &response.headers, content }
    }
}

#[async_trait]
impl ProxyHttp for Gateway {
    type CTX = Exchange;

    fn new_ctx(&self) -> Exchange {
        Exchange {
            request: Body::new(Check::pass(), None),
            response: Body::new(Check::pass(), None),
            websocket: None,
            is_open: false,
            rejection: None,
        }
    }

    async fn upstream_peer(&self, _: &mut Session, _: &mut Exchange) -> Result<Box<HttpPeer>> {
        let mut peer = HttpPeer::new(self.upstream, false, String::new());
        peer.options.connection_timeout = Some(Duration::from_secs(5));
        if self.has_http2 {
            peer.options.set_http_version(2, 2);
        }
        Ok(Box::new(peer))
    }

    /// Rejects a request by its header fields, before a connection to the upstream is opened.
    async fn request_filter(&self, session: &mut Session, ctx: &mut Exchange) -> Result<bool> {
        let request = session.req_header();
        if request.method == Method::CONNECT && !is_websocket_connect(request) {
            // The bytes of another tunnel cannot be checked.
            let status = if request.extensions.get::<Protocol>().is_some() { 501 } else { 405 };
            session.respond_error(status).await?;
            return Ok(true);
        }
        let has_body = !session.is_body_empty();
        match self.decide(MessageKind::Request, Head::of_request(session.req_header(), has_body), None) {
            Ok(_) => Ok(false),
            Err(reason) if self.settings.only_reports() => {
                Self::log(MessageKind::Request, &Checked { reported: Some(reason), ..Checked::default() });
                Ok(false)
            }
            Err(reason) => {
                Self::log(
                    MessageKind::Request,
                    &Checked { rejected: Some(reason.clone()), ..Checked::default() },
                );
                Self::reject(ctx, MessageKind::Request, reason)
            }
        }
    }

    /// Starts the check of the request body. Called for each attempt, because Pingora sends the body again when it
    /// retries.
    async fn upstream_request_filter(
        &self,
        session: &mut Session,
        request: &mut RequestHeader,
        ctx: &mut Exchange,
    ) -> Result<()> {
        let has_body = !session.is_body_empty();
        let plan = self.decide(MessageKind::Request, Head::of_request(session.req_header(), has_body), None);
        let is_connect = is_websocket_connect(session.req_header());
        if is_connect {
            ctx.websocket = WebSocket::new(&self.settings);
        }
        if (is_connect || websocket::is_handshake(pairs(&request.headers)))
            && self.settings.max_websocket_message().is_some()
        {
            match websocket::extensions(&self.settings, pairs(&request.headers)) {
                Extensions::Unchanged => {}
                Extensions::Removed => drop(request.remove_header(EXTENSIONS)),
                Extensions::Changed(value) => request.insert_header(EXTENSIONS, value)?,
            }
        }
        // Errors in the fields were already rejected or reported.
        let Ok(plan) = plan else { return Ok(()) };
        ctx.request = self.body(plan.check);
        for name in &plan.removed {
            request.remove_header(name.as_str());
        }
        if has_body && !self.has_http2 && !request.headers.contains_key(CONTENT_LENGTH) {
            request.insert_header(TRANSFER_ENCODING, "chunked")?;
        }
        Ok(())
    }

    async fn request_body_filter(
        &self,
        session: &mut Session,
        body: &mut Option<Bytes>,
        end: bool,
        ctx: &mut Exchange,
    ) -> Result<()> {
        if session.was_upgraded() {
            // Bytes of the text may be held, and Pingora reads the rest of it as bytes of the other protocol.
            if ctx.request.is_incomplete() && !self.settings.only_reports() {
                return Error::e_explain(
                    ErrorType::HTTPStatus(502),
                    "the server switched protocols before the end of the request",
                );
            }
            if let Some(websocket) = &mut ctx.websocket {
                frames(websocket, FrameSender::Client, body, end);
            }
            return Ok(());
        }
        if let Some(websocket) = &mut ctx.websocket {
            // Over HTTP/2 a client may send frames before the response.
            return match frames(websocket, FrameSender::Client, body, end) {
                Some(reason) if session.response_written().is_none() => {
                    Self::reject(ctx, MessageKind::Request, reason).map_err(|error| error.into_down())
                }
                _ => Ok(()),
            };
        }
        let checked = ctx.request.feed(body.take().unwrap_or_default(), end);
        Self::log(MessageKind::Request, &checked);
        if let Some(reason) = checked.rejected {
            // Over HTTP/2 Pingora continues after an error that is not of the client, without the rest of the request.
            return Self::reject(ctx, MessageKind::Request, reason).map_err(|error| error.into_down());
        }
        // Here `None` means the end of the body, not that a chunk is held.
        *body = if end && checked.data.is_empty() { None } else { Some(checked.data) };
        Ok(())
    }

    async fn response_filter(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        ctx: &mut Exchange,
    ) -> Result<()> {
        let is_head = session.req_header().method == Method::HEAD;
        if response.status == 101 && websocket::is_handshake(pairs(&response.headers)) {
            ctx.websocket = WebSocket::new(&self.settings);
            ctx.is_open = true;
        } else {
            ctx.is_open = is_websocket_connect(session.req_header()) && response.status.is_success();
        }
        if let Some(websocket) = ctx.websocket.as_mut().filter(|_| ctx.is_open) {
            websocket.set_extensions(&self.settings, pairs(&response.headers));
            match websocket::extensions(&self.settings, pairs(&response.headers)) {
                Extensions::Unchanged => {}
                Extensions::Removed => drop(response.remove_header(EXTENSIONS)),
                Extensions::Changed(value) => response.insert_header(EXTENSIONS, value)?,
            }
        }
        let head = Head::of_response(response, is_head, ctx.is_open);
        let has_body = head.content == Content::Body;
        let plan = match self.decide(MessageKind::Response, head, Some(session.req_header().uri.path())) {
            Ok(plan) => plan,
            Err(reason) if self.settings.only_reports() => {
                Self::log(MessageKind::Response, &Checked { reported: Some(reason), ..Checked::default() });
                return Ok(());
            }
            Err(reason) => {
                Self::log(
                    MessageKind::Response,
                    &Checked { rejected: Some(reason.clone()), ..Checked::default() },
                );
                return Self::reject(ctx, MessageKind::Response, reason);
            }
        };
        ctx.response = self.body(plan.check);
        for name in &plan.removed {
            response.remove_header(&HeaderName::from_bytes(name.as_bytes()).unwrap_or(CONTENT_LENGTH));
        }
        let is_http_1 = session.req_header().version == http::Version::HTTP_11;
        if has_body && is_http_1 && !plan.removed.is_empty() && !response.headers.contains_key(CONTENT_LENGTH)
        {
            response.insert_header(TRANSFER_ENCODING, "chunked")?;
        }
        Ok(())
    }

    fn response_body_filter(
        &self,
        _: &mut Session,
        body: &mut Option<Bytes>,
        end: bool,
        ctx: &mut Exchange,
    ) -> Result<Option<Duration>> {
        // The text before an error was forwarded by the previous call.
        if let Some(rejection) = &ctx.rejection {
            let status = rejection.status().as_u16();
            return Error::e_explain(ErrorType::HTTPStatus(status), "the text is ill-formed");
        }
        if let Some(websocket) = ctx.websocket.as_mut().filter(|_| ctx.is_open) {
            frames(websocket, FrameSender::Server, body, end);
            return Ok(None);
        }
        let checked = ctx.response.feed(body.take().unwrap_or_default(), end);
        Self::log(MessageKind::Response, &checked);
        if let Some(reason) = checked.rejected {
            let rejected = Self::reject(ctx, MessageKind::Response, reason);
            // Forwarding a last chunk would end the response normally.
            if end || checked.data.is_empty() {
                return rejected;
            }
        }
        *body = (!checked.data.is_empty()).then_some(checked.data);
        Ok(None)
    }

    async fn fail_to_proxy(&self, session: &mut Session, error: &Error, ctx: &mut Exchange) -> FailToProxy {
        let Some(rejection) = ctx.rejection.take() else {
            let error_code = match error.etype() {
                ErrorType::HTTPStatus(status) => *status,
                ErrorType::WriteError | ErrorType::ReadError | ErrorType::ConnectionClosed
                    if *error.esource() == pingora::ErrorSource::Downstream =>
                {
                    0
                }
                _ if *error.esource() == pingora::ErrorSource::Downstream => 400,
                _ => 502,
            };
            if error_code > 0
                && let Err(error) = session.respond_error(error_code).await
            {
                warn!("the response was not sent: {error}");
            }
            return FailToProxy { error_code, can_reuse_downstream: false };
        };
        if let Err(error) = respond(session, &rejection).await {
            warn!("the problem document was not sent: {error}");
        }
        FailToProxy { error_code: rejection.status().as_u16(), can_reuse_downstream: false }
    }
}

/// Sends the problem document, or the status of gRPC, unless a response has begun, and reads the rest of the request
/// for a while.
async fn respond(session: &mut Session, rejection: &Rejection) -> Result<()> {
    let request = session.req_header().headers.get(CONTENT_TYPE);
    let is_grpc = request.is_some_and(|value| content_type::is_grpc(value.as_bytes()));
    if is_grpc {
        let mut response = ResponseHeader::build(http::StatusCode::OK, Some(4))?;
        for (name, value) in rejection.grpc_fields() {
            response.insert_header(name, value)?;
        }
        match session.as_downstream_mut() {
            // Without data: a client of gRPC rejects an empty frame.
            HttpSession::H2(stream) if stream.response_written().is_none() => {
                stream.write_response_header(Box::new(response), true)?;
            }
            other => {
                response.insert_header(CONTENT_LENGTH, "0")?;
                other.write_error_response(response, Bytes::new()).await?;
            }
        }
    } else {
        let document = Bytes::from(rejection.problem_json());
        let mut response = ResponseHeader::build(rejection.status(), Some(3))?;
        response.insert_header(CONTENT_TYPE, "application/problem+json")?;
        if let Some(codings) = rejection.accept_encoding() {
            response.insert_header(ACCEPT_ENCODING, codings)?;
        }
        response.insert_header(CONTENT_LENGTH, document.len().to_string())?;
        session.as_downstream_mut().write_error_response(response, document).await?;
    }
    if rejection.message() == MessageKind::Request {
        let _ = tokio::time::timeout(LINGER, session.as_downstream_mut().drain_request_body()).await;
    }
    Ok(())
}
