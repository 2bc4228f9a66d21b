//! The configuration that both layers share.

use core::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, IF_RANGE, RANGE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri};
use http_body::Body;
use utf8_codec::{Utf8Decoder, Utf8Error};
use utf8_codec_media::percent;

use super::body::CheckedBody;
use super::drain::{Drain, DrainingBody, Report, Timer};
use super::gather::{Gather, Gathered, Interrupted};
use crate::ContentFields;
use crate::body::{Utf8Body, may_be_empty};
use crate::counters::{BodyObserver, HttpCounters, record_rejection};
use crate::error::BoxError;
use crate::fields::{check_head, check_values};
use crate::filter::BodyFilter;
use crate::plan::{BodyKind, Change, remove_invalidated};
use crate::reason::RejectReason;
use crate::rejection::{MessageKind, Rejection};
use crate::rules::BodyRules;

#[derive(Clone)]
pub(crate) struct LayerConfig {
    pub(crate) message: MessageKind,
    pub(crate) rules: BodyRules,
    pub(crate) fields: Fields,
    /// The maximum number of bytes of a body that is held until it is complete. With `None` bodies are forwarded while
    /// they stream.
    pub(crate) hold: Option<usize>,
    /// The maximum number of bytes that are drained from a rejected body, and the timer that limits the wait for them.
    pub(crate) drain: u64,
    pub(crate) drain_timer: Option<Timer>,
    pub(crate) counters: HttpCounters,
    pub(crate) on_rejection: Option<Arc<Respond>>,
}

pub(crate) type Respond = dyn Fn(&Rejection) -> Response<Bytes> + Send + Sync;

/// How the body of a message is processed.
pub(crate) enum Start<B> {
    /// The body is forwarded. If it has an error, the error is recorded in the report.
    Forward(CheckedBody<B>, Report),
    /// The body is held until it is complete.
    Hold(Gather<B>, Report),
    Reject(RejectReason, B),
}

/// The result for a message with a held body.
pub(crate) enum Release<B, R> {
    Forward(CheckedBody<B>),
    Respond(Response<CheckedBody<R>>),
}

impl LayerConfig {
    pub(crate) fn new(message: MessageKind, rules: BodyRules) -> Self {
        Self {
            message,
            rules,
            fields: Fields::default(),
            hold: None,
            drain: 0,
            drain_timer: None,
            counters: HttpCounters::new(),
            on_rejection: None,
        }
    }

    /// Returns the drain of a rejected body. With HTTP/2 a stream can be reset, so nothing is drained.
    pub(super) fn new_drain(&self, is_http1: bool) -> Drain {
        Drain::new(if is_http1 { self.drain } else { 0 }, self.drain_timer.clone())
    }

    /// Removes `Range` and `If-Range` if the rules may change the response: a partial response cannot be repaired.
    pub(crate) fn prepare_request<B>(&self, request: &mut Request<B>) {
        let rules = self.rules.for_path(request.uri().path(), self.message);
        for name in [RANGE, IF_RANGE] {
            if rules.removes_from_request(name.as_str()) {
                request.headers_mut().remove(name);
            }
        }
    }

    /// Decides how a body is processed, and updates the header fields for the forwarded body. `path` is the path of the
    /// request.
    ///
    /// A message that is rejected for its header fields passes if it has no content, which may be known only at its end.
    /// Messages of gRPC, gRPC-Web and Connect streams are rejected at once, because a client may send the first one only
    /// after it has a response.
    pub(crate) fn start<B>(&self, headers: &mut HeaderMap, path: &str, body: B, drain: Drain) -> Start<B>
    where
        B: Body,
        B::Error: Into<BoxError>,
    {
        let rules = self.rules.for_path(path, self.message);
        let (plan, refused) = match rules.plan_for(headers, &body) {
            Ok(plan) => (plan, None),
            Err(reason) if may_be_empty(headers, &body) => (self.rules.pass(), Some(reason)),
            Err(reason) => return Start::Reject(reason, body),
        };
        let checks_trailers = self.rules.trailer_check() || self.fields.headers;
        let is_passing = plan.kind() == BodyKind::Pass;
        if is_passing && refused.is_none() && (!checks_trailers || body.is_end_stream()) {
            return Start::Forward(CheckedBody::unchecked(body), Report::NONE);
        }
        let hold = match (refused, self.hold) {
            (Some(reason), _) => Some((0, reason)),
            (None, Some(limit)) if !is_passing => Some((limit, RejectReason::TooLong { limit })),
            (None, _) => None,
        };
        let report = Report::new(self.message, headers.get(CONTENT_TYPE).cloned());
        let filter = BodyFilter::new(&plan, &self.rules);
        let filter = if hold.is_some() { filter.for_held_body() } else { filter };
        let body = Utf8Body::with_filter(body, filter).with_trailer_check(checks_trailers);
        // The limit is for the bytes that are held, of which there may be fewer than were announced.
        if let Some((limit, reason)) = &hold
            && body.size_hint().lower() > *limit as u64
        {
            return Start::Reject(reason.clone(), body.into_inner());
        }
        let body = body.observed(BodyObserver::new(self.counters.clone()));
        match hold {
            None => {
                plan.adapt(headers);
                Start::Forward(CheckedBody::streaming(body, drain, report.clone()), report)
            }
            Some((limit, reason)) => {
                plan.set_content_type(headers);
                let body = Box::pin(DrainingBody::new(body, drain, report.clone()));
                Start::Hold(Gather::new(body, limit, reason), report)
            }
        }
    }

    /// Updates the header fields of a response without a body, which describe the body of another response (RFC 9110
    /// §9.3.2, §15.4.5). The fields that are removed or changed there are removed or changed here too, and so is the length
    /// that a server would add (§8.6).
    pub(crate) fn describe<B>(
        &self,
        headers: &mut HeaderMap,
        path: &str,
        status: StatusCode,
        body: B,
    ) -> CheckedBody<B> {
        let rules = self.rules.for_path(path, self.message);
        let plan = rules.describe(&ContentFields::from(&*headers), status.as_u16());
        plan.adapt(headers);
        CheckedBody::described(body, plan.change() != Change::Length)
    }

    /// Checks the header fields of a response, and counts those that are removed.
    pub(crate) fn check_response(&self, headers: &mut HeaderMap) -> Result<(), RejectReason> {
        if self.fields.headers {
            let removed = check_head(headers).map_err(|(name, error)| RejectReason::Header(name, error))?;
            BodyObserver::new(self.counters.clone()).repaired(removed);
        }
        Ok(())
    }

    /// Forwards a held body with the header fields for it, or returns the response to a rejected message.
    pub(crate) fn release<B, R>(
        &self,
        held: Result<Gathered, Interrupted>,
        report: &Report,
        headers: &mut HeaderMap,
    ) -> Release<B, R> {
        let Gathered { data, mut trailers, has_changed } = match held {
            Ok(gathered) => gathered,
            Err(Interrupted::Rejected(reason)) => return Release::Respond(self.reject(reason, headers)),
            Err(Interrupted::Body(error)) => {
                return match report.rejection() {
                    Some(rejection) => Release::Respond(self.response(rejection)),
                    None => Release::Forward(CheckedBody::failed(error)),
                };
            }
        };
        if has_changed {
            let had_length = headers.contains_key(CONTENT_LENGTH);
            remove_invalidated(headers, Change::Length);
            if had_length {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(data.len()));
            }
            trailers.iter_mut().for_each(|trailers| remove_invalidated(trailers, Change::Length));
        }
        Release::Forward(CheckedBody::held(data, trailers))
    }

    /// Returns the response to a message that is rejected before its body was read.
    pub(crate) fn reject<B>(&self, reason: RejectReason, headers: &HeaderMap) -> Response<CheckedBody<B>> {
        let content_type = headers.get(CONTENT_TYPE).cloned();
        record_rejection(&reason, Some(&self.counters));
        self.response(&Rejection { message_kind: self.message, reason, content_type })
    }

    /// Returns the response to a rejected message.
    pub(crate) fn response<B>(&self, rejection: &Rejection) -> Response<CheckedBody<B>> {
        let response = match &self.on_rejection {
            Some(respond) => respond(rejection),
            None => rejection.to_response().map(Bytes::from),
        };
        response.map(CheckedBody::from)
    }
}

impl fmt::Debug for LayerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayerConfig")
            .field("rules", &self.rules)
            .field("fields", &self.fields)
            .field("hold", &self.hold)
            .field("drain", &self.drain)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// Which text outside the body is checked. By default none is.
///
/// HTTP does not require this text to be UTF-8: a header value may contain any byte above `7F`, and a URI may contain
/// `%FF`. A program that converts such text to a `str` either fails or inserts U+FFFD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Fields {
    pub(crate) headers: bool,
    pub(crate) path: bool,
    pub(crate) query: bool,
}

impl Fields {
    pub(crate) fn check_request(self, request: &Parts) -> Result<(), RejectReason> {
        self.check_uri(&request.uri)?;
        if self.headers {
            check_values(&request.headers).map_err(|(name, error)| RejectReason::Header(name, error))?;
        }
        Ok(())
    }

    fn check_uri(self, uri: &Uri) -> Result<(), RejectReason> {
        if self.path {
            check_decoded(uri.path()).map_err(RejectReason::Path)?;
        }
        if self.query {
            check_decoded(uri.query().unwrap_or_default()).map_err(RejectReason::Query)?;
        }
        Ok(())
    }
}

fn check_decoded(text: &str) -> Result<(), Utf8Error> {
    let mut decoder = Utf8Decoder::new();
    for byte in percent::decoded(text.as_bytes()) {
        decoder.validate(&[byte])?;
    }
    decoder.finish()
}

/// The settings that both layers have, for a struct with `config: Arc<LayerConfig>`.
macro_rules! shared_settings {
    (layer: $layer:literal, rules: $rules:literal, on_rejection: $on_rejection:literal) => {
        fn with(mut self, change: impl FnOnce(&mut LayerConfig)) -> Self {
            change(Arc::make_mut(&mut self.config));
            self
        }

        /// Sets which bodies are checked and how.
        #[doc = $rules]
        #[must_use]
        pub fn with_rules(self, rules: BodyRules) -> Self {
            self.with(|config| config.rules = rules)
        }

        /// Sets whether the values of all header fields are checked, and of all trailer fields independently of the
        /// [rules](Self::with_rules), with [`check_field`](crate::check_field).
        #[must_use]
        pub fn with_header_check(self, check: bool) -> Self {
            self.with(|config| config.fields.headers = check)
        }

        /// Sets the counters.
        #[must_use]
        pub fn with_counters(self, counters: &HttpCounters) -> Self {
            self.with(|config| config.counters = counters.clone())
        }

        #[doc = $on_rejection]
        ///
        /// For gRPC, return the fields of [`Rejection::grpc_fields`] if [`Rejection::is_grpc`].
        ///
        /// Its body is complete: `Bytes`, a `String`, a `Vec<u8>`, or a [`ProblemBody`](crate::ProblemBody) to
        /// which header fields are added.
        ///
        /// ```
        /// use http::Response;
        #[doc = concat!("use utf8_codec_http::tower::", $layer, ";")]
        ///
        #[doc = concat!("let layer = ", $layer, "::new().with_rejection_response(|rejection| {")]
        ///     let mut response = Response::new(format!("{rejection}\n"));
        ///     *response.status_mut() = rejection.status();
        ///     response
        /// });
        /// # drop(layer);
        /// ```
        #[must_use]
        pub fn with_rejection_response<F, T>(self, respond: F) -> Self
        where
            F: Fn(&Rejection) -> Response<T> + Send + Sync + 'static,
            T: Into<Bytes>,
        {
            self.with(|config| {
                config.on_rejection = Some(Arc::new(move |rejection| respond(rejection).map(Into::into)))
            })
        }
    };
}

pub(super) use shared_settings;
