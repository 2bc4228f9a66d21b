//! A request, its response, and what was found in them.

use std::sync::Arc;

use utf8_codec_engines::plan::{Check, Content, Outcome, Tunnel, Verdict, decide, is_grpc};
use utf8_codec_engines::{MessageKind, Reason, Rejection};

use crate::settings::Checked;

/// The names and values of header fields.
pub(crate) type Fields<'f> = [(&'f [u8], &'f [u8])];

/// A request, from its header fields to the log. It survives internal redirects.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The settings of the first location that checks the request or a response to it.
    pub(crate) checked: Arc<Checked>,
    pub(crate) request: Request,
    pub(crate) is_grpc: bool,
    /// The difference between the length of the request body after the repairs and before.
    pub(crate) growth: i64,
    /// Whether the body is read to its end before the handler of the location receives any of it.
    pub(crate) reads_first: bool,
    pub(crate) record: Record,
}

/// The check of a request.
#[derive(Debug)]
pub(crate) enum Request {
    /// The header fields were not read yet.
    New,
    /// The body is checked, if there is text in it.
    Checked(Box<Check>),
    /// The request was rejected with this status.
    Rejected(u16),
}

/// What was found, for variables and the log.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) verdict: Option<&'static str>,
    pub(crate) direction: Option<&'static str>,
    pub(crate) reason: Option<Reason>,
    /// The line for the log that was not yet written.
    pub(crate) line: Option<String>,
}

/// The response to a rejected message.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status for nginx, which selects the page of `error_page`.
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
    /// `Accept-Encoding`.
    pub(crate) accept_encoding: Option<&'static str>,
    /// The fields of the response to a client of gRPC, whose status is 200.
    pub(crate) grpc: Option<Box<[(&'static str, String); 3]>>,
}

impl Exchange {
    pub(crate) fn new(checked: Arc<Checked>) -> Self {
        Self {
            checked,
            request: Request::New,
            is_grpc: false,
            growth: 0,
            reads_first: false,
            record: Record::default(),
        }
    }

    /// Decides how the request is checked. Returns the names of the fields to remove.
    ///
    /// # Errors
    ///
    /// Returns the response to a request that is rejected.
    pub(crate) fn decide(&mut self, fields: &Fields<'_>, has_body: bool) -> Result<Vec<String>, Answer> {
        let settings = &self.checked.settings;
        self.is_grpc = is_grpc(fields.iter().copied());
        // nginx reads the body of a request for an upgrade as any other.
        let content = Content::of_request(has_body, Tunnel::No);
        match decide(settings, MessageKind::Request, fields.iter().copied(), content, None) {
            Ok(mut plan) => {
                let has_check = !plan.check.is_passing();
                let is_held = settings.is_buffered() && !settings.only_reports();
                self.request = Request::Checked(Box::new(plan.check));
                // nginx sends the length before the body, so a repair that changes it must be complete. Then it is set.
                let count = plan.removed.len();
                plan.removed.retain(|name| !name.eq_ignore_ascii_case("content-length"));
                self.reads_first = has_check && (is_held || plan.removed.len() < count);
                Ok(plan.removed)
            }
            Err(reason) if settings.only_reports() => {
                self.request = Request::Checked(Box::new(Check::pass()));
                self.record.set("reported", MessageKind::Request, Some(reason));
                Ok(Vec::new())
            }
            Err(reason) => Err(self.reject(MessageKind::Request, reason)),
        }
    }

    /// Records what a check found. Returns the response if the message is rejected.
    pub(crate) fn observe(&mut self, message: MessageKind, outcome: &Outcome) -> Option<Answer> {
        if outcome.repaired > 0 {
            self.record.set("repaired", message, None);
        }
        match &outcome.verdict {
            Verdict::Pass => None,
            Verdict::Reported(reason) => {
                self.record.set("reported", message, Some(reason.clone()));
                None
            }
            Verdict::Rejected(reason) => Some(self.reject(message, reason.clone())),
        }
    }

    /// Records a rejected message, and returns the response.
    pub(crate) fn reject(&mut self, message: MessageKind, reason: Reason) -> Answer {
        self.record.set("rejected", message, Some(reason.clone()));
        let rejection = Rejection::new(message, reason);
        let status = rejection.status().as_u16();
        if message == MessageKind::Request {
            self.request = Request::Rejected(status);
        }
        Answer {
            status,
            content_type: "application/problem+json",
            body: rejection.problem_json(),
            accept_encoding: rejection.accept_encoding(),
            grpc: self.is_grpc.then(|| Box::new(rejection.grpc_fields())),
        }
    }

    /// Records a message that asks for a tunnel or opens one, and returns the response. nginx calls no filter for the bytes
    /// of a tunnel.
    pub(crate) fn reject_tunnel(&mut self, message: MessageKind) -> Answer {
        const DETAIL: &str = "the bytes of a tunnel cannot be checked";
        self.record.set("rejected", message, None);
        self.record.line = Some(format!("utf8_codec: rejected tunnel: {DETAIL}"));
        let (status, title) = match message {
            MessageKind::Request => (405, "Method Not Allowed"),
            MessageKind::Response => (502, "Bad Gateway"),
        };
        self.request = Request::Rejected(status);
        Answer {
            status,
            content_type: "application/problem+json",
            body: format!(
                r#"{{"type":"about:blank","title":"{title}","status":{status},"detail":"{DETAIL}","kind":"Tunnel"}}"#
            ),
            accept_encoding: None,
            grpc: None,
        }
    }

    /// The response after a panic.
    pub(crate) fn panicked(&mut self) -> Answer {
        const GRPC: [(&str, &str); 3] =
            [("content-type", "application/grpc"), ("grpc-status", "13"), ("grpc-message", "")];
        (self.record.verdict, self.record.direction, self.record.reason) = (Some("panicked"), None, None);
        self.request = Request::Rejected(500);
        Answer {
            status: 500,
            content_type: "application/problem+json",
            body: r#"{"type":"about:blank","title":"Internal Server Error","status":500}"#.into(),
            accept_encoding: None,
            grpc: self.is_grpc.then(|| Box::new(GRPC.map(|(name, value)| (name, value.into())))),
        }
    }
}

impl Record {
    /// Sets the result. Only a repair is replaced.
    pub(crate) fn set(&mut self, verdict: &'static str, message: MessageKind, reason: Option<Reason>) {
        let direction = match message {
            MessageKind::Request => "request",
            MessageKind::Response => "response",
        };
        if let Some(reason) = &reason {
            self.line = Some(format!("utf8_codec: {verdict} {direction}: {reason}"));
        }
        if self.verdict.is_none_or(|verdict| verdict == "repaired") {
            (self.verdict, self.direction, self.reason) = (Some(verdict), Some(direction), reason);
        }
    }

    /// The value of the variable `$utf8_<name>`.
    pub(crate) fn value(&self, variable: Variable) -> Option<String> {
        let position = self.reason.as_ref().and_then(Reason::offset_and_len);
        match variable {
            Variable::Verdict => self.verdict.map(str::to_owned),
            Variable::Direction => self.direction.map(str::to_owned),
            Variable::Kind => self.reason.as_ref().map(|reason| reason.kind().to_owned()),
            Variable::Offset => position.map(|(offset, _)| offset.to_string()),
            Variable::Len => position.map(|(_, len)| len.to_string()),
        }
    }
}

/// The variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Verdict,
    Direction,
    Kind,
    Offset,
    Len,
}

impl Variable {
    pub(crate) const ALL: [(&'static core::ffi::CStr, Self); 5] = [
        (c"utf8_verdict", Self::Verdict),
        (c"utf8_direction", Self::Direction),
        (c"utf8_kind", Self::Kind),
        (c"utf8_offset", Self::Offset),
        (c"utf8_len", Self::Len),
    ];
}
