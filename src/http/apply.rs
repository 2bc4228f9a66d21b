//! Application of the rules to a message.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body::Body;

use super::body::Utf8Body;
use super::content_fields::ContentFields;
use super::filter::BodyFilter;
use super::plan::{BodyPlan, Check};
use super::rejection::{MessageKind, Reason, Rejection};
use super::rules::BodyRules;

impl BodyRules {
    /// Wraps the body of a message in the check that the rules require, and updates the header fields. The layers do
    /// the same with a body that streams. Use this method in programs without tower.
    ///
    /// If the check may change the body, because it repairs, transcodes or removes a BOM, the header fields that the
    /// change would invalidate are removed: `Content-Length`, a strong `ETag`, `Accept-Ranges` and digests. A body that
    /// needs no check is passed through as the same type.
    ///
    /// # Errors
    ///
    /// Returns the reason to reject the message for its header fields. Errors in the body are returned by the body.
    ///
    /// ```
    /// use http_body_util::Full;
    /// use utf8_codec::http::{BodyRules, MessageKind};
    ///
    /// let request = http::Request::post("/").header("content-type", "text/plain; charset=latin1");
    /// let (mut parts, body) = request.body(Full::<bytes::Bytes>::from("caf")).unwrap().into_parts();
    /// let rejection = BodyRules::new().apply(MessageKind::Request, &mut parts.headers, body).unwrap_err();
    /// assert_eq!(rejection.status(), http::StatusCode::UNSUPPORTED_MEDIA_TYPE);
    /// ```
    pub fn apply<B: Body>(
        &self,
        message: MessageKind,
        headers: &mut HeaderMap,
        body: B,
    ) -> Result<Utf8Body<B>, Box<Rejection>> {
        match self.plan_for(headers, &body) {
            Ok(plan) => {
                plan.adapt(headers);
                let filter = BodyFilter::new(&plan, self);
                Ok(Utf8Body::with_filter(body, filter).with_trailer_check(self.trailer_check()))
            }
            Err(reason) => {
                let content_type = headers.get(CONTENT_TYPE).cloned();
                Err(Box::new(Rejection { message, reason, content_type }))
            }
        }
    }

    /// Decides how the body of a message is checked. A message without a body, such as a `GET`, needs no
    /// `Content-Type`.
    pub(crate) fn plan_for(&self, headers: &HeaderMap, body: &impl Body) -> Result<BodyPlan, Reason> {
        if body.is_end_stream() && !headers.contains_key(CONTENT_TYPE) {
            return Ok(BodyPlan::new(Check::Pass, *self.text_decoder()));
        }
        self.decide(&ContentFields::from(headers))
    }
}
