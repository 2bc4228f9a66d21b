//! What the two layers have in common.

use core::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response};
use http_body::Body;

use crate::http::body::Utf8Body;
use crate::http::checked::CheckedBody;
use crate::http::counters::HttpCounters;
use crate::http::drain::{Drain, Timer};
use crate::http::error::BoxError;
use crate::http::fields::Fields;
use crate::http::filter::Filter;
use crate::http::gather::{Gather, Gathered};
use crate::http::integrity;
use crate::http::refusal::{Message, Reason, Refusal};
use crate::http::rules::{BodyRules, Plan, is_empty, transcoded};
use crate::http::urlencoded::UrlEncoded;
use crate::http::watch::{Watch, note};

/// The choices of a layer.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) message: Message,
    pub(crate) rules: BodyRules,
    pub(crate) fields: Fields,
    /// Bytes to hold before the body is handed on; `None` hands it on as it streams.
    pub(crate) hold: Option<usize>,
    /// The most bytes to drain of a rejected body, and how long to wait for them.
    pub(crate) drain: u64,
    pub(crate) drain_timer: Option<Timer>,
    pub(crate) counters: HttpCounters,
    pub(crate) on_refusal: Option<Arc<OnRefusal>>,
}

pub(crate) type OnRefusal = dyn Fn(&Refusal) -> Response<Bytes> + Send + Sync;

/// What becomes of a body now.
pub(crate) enum Start<B> {
    /// Hand it on. A refusal may come to the watch while it streams.
    HandOn(CheckedBody<B>, Watch),
    /// Take it whole first.
    Hold(Gather<B>, Watch),
    Refuse(Reason, B),
}

impl Config {
    pub(crate) fn new(message: Message, rules: BodyRules, hold: Option<usize>) -> Self {
        let fields = Fields::default();
        let (counters, on_refusal) = (HttpCounters::new(), None);
        Self { message, rules, fields, hold, drain: 0, drain_timer: None, counters, on_refusal }
    }

    /// Decides about a body, and makes the header fields true for what comes of it.
    pub(crate) fn start<B>(&self, headers: &mut HeaderMap, body: B, drain: Drain) -> Start<B>
    where
        B: Body,
        B::Error: Into<BoxError>,
    {
        if is_empty(headers, &body) {
            return Start::HandOn(CheckedBody::unchecked(body), Watch::none());
        }
        let plan = match self.rules.judge(headers) {
            Ok(plan) => plan,
            Err(reason) => return Start::Refuse(reason, body),
        };
        let checks_trailers = self.rules.checks_trailers() || self.fields.headers;
        let (filter, content_type) = match plan {
            Plan::Pass if checks_trailers && !body.is_end_stream() => {
                let watch = self.watch(headers);
                return Start::HandOn(CheckedBody::only_trailers(body, watch.clone()), watch);
            }
            Plan::Pass => return Start::HandOn(CheckedBody::unchecked(body), Watch::none()),
            Plan::Text => (Filter::text(*self.rules.text_decoder()), None),
            Plan::UrlEncoded => {
                let filter = UrlEncoded::new(*self.rules.text_decoder());
                (Filter::UrlEncoded(Box::new(filter)), None)
            }
            Plan::FormData(multipart) => (Filter::Multipart(multipart), None),
            Plan::Transcode(transcoder, content_type) => (Filter::Transcode(transcoder), Some(content_type)),
        };
        let is_urlencoded = matches!(filter, Filter::UrlEncoded(_));
        if let Some(limit) = self.hold
            && body.size_hint().lower() > limit as u64
        {
            return Start::Refuse(Reason::TooLong { limit }, body);
        }
        let watch = self.watch(headers);
        let body = Utf8Body::with_filter(body, filter)
            .check_trailers(checks_trailers)
            .watched(watch.clone())
            .draining(drain);
        // The services and futures around it are moved often, and are small without it.
        let body = Box::pin(body);
        match content_type {
            None if self.hold.is_none() && is_urlencoded => self.rules.adapt_urlencoded(headers),
            None if self.hold.is_none() => self.rules.adapt(headers),
            None => {}
            Some(content_type) => transcoded(headers, content_type),
        }
        match self.hold {
            None => Start::HandOn(CheckedBody::streaming(body), watch),
            Some(limit) => Start::Hold(Gather::new(body, limit), watch),
        }
    }

    fn watch(&self, headers: &HeaderMap) -> Watch {
        Watch::new(self.message, headers.get(CONTENT_TYPE).cloned(), self.counters.clone())
    }

    /// A body that was held and is good, and its header fields.
    pub(crate) fn release<B>(headers: &mut HeaderMap, gathered: Gathered) -> CheckedBody<B> {
        let Gathered { data, mut trailers, is_unchanged } = gathered;
        if !is_unchanged {
            let had_length = headers.contains_key(CONTENT_LENGTH);
            integrity::length_changes(headers);
            if had_length {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(data.len()));
            }
            trailers.iter_mut().for_each(|trailers| integrity::remove_digests(trailers));
        }
        CheckedBody::held(data, trailers)
    }

    /// Refuses a message whose body was not watched.
    pub(crate) fn refuse<B>(&self, reason: Reason, headers: &HeaderMap) -> Response<CheckedBody<B>> {
        let content_type = headers.get(CONTENT_TYPE).cloned();
        let refusal = Refusal { message: self.message, reason, content_type };
        note(&refusal, &self.counters);
        self.answer(&refusal)
    }

    /// What the client gets.
    pub(crate) fn answer<B>(&self, refusal: &Refusal) -> Response<CheckedBody<B>> {
        let response = match &self.on_refusal {
            Some(respond) => respond(refusal),
            None => refusal.to_response(),
        };
        response.map(|text| CheckedBody::held(text, None))
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("rules", &self.rules)
            .field("fields", &self.fields)
            .field("hold", &self.hold)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}
