//! The filter of HTTP messages.
//!
//! A header is never held: an engine that is told to hold it may deliver no body until it is released (Envoy without
//! `allow_on_headers_stop_iteration`). So in buffered mode the server sees the header of a request, and no byte of its body,
//! before all of it was checked.

use std::rc::Rc;

use log::error;
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::{Action, Bytes};
use utf8_codec::http::{Message, Reason, Rejection};
use utf8_codec_envoy::config::Settings;
use utf8_codec_envoy::plan::{self, Check, Verdict};

use crate::{log, new_content};

/// A request and its response.
pub(crate) struct Exchange {
    settings: Rc<Settings>,
    request: Check,
    response: Check,
    is_tunnel: bool,
    was_rejected: bool,
}

type Field = (String, Bytes);

impl Exchange {
    pub(crate) fn new(settings: Rc<Settings>) -> Self {
        let (request, response) = (Check::pass(), Check::pass());
        Self { settings, request, response, is_tunnel: false, was_rejected: false }
    }

    /// Decides what to do with a message. Returns the names of the fields to remove.
    fn decide(&mut self, message: Message, fields: &[Field], has_body: bool) -> Result<Vec<String>, Action> {
        let pairs = || fields.iter().map(|(name, value)| (name.as_bytes(), value.as_slice()));
        let decided = plan::decide(&self.settings, message, pairs(), has_body, self.is_tunnel);
        match decided {
            Ok(plan) => {
                match message {
                    Message::Request => self.request = plan.check,
                    Message::Response => self.response = plan.check,
                }
                Ok(plan.untrue)
            }
            Err(reason) if self.settings.only_reports() => {
                log("reported", message, &reason);
                Ok(Vec::new())
            }
            Err(reason) => Err(self.reject(message, reason, true)),
        }
    }

    /// Ends the exchange: with the problem document where a response can still be sent.
    fn reject(&mut self, message: Message, reason: Reason, can_respond: bool) -> Action {
        log("rejected", message, &reason);
        self.was_rejected = true;
        if can_respond {
            let rejection = Rejection::new(message, reason);
            let status = u32::from(rejection.status().as_u16());
            let fields = vec![("content-type", "application/problem+json")];
            self.send_http_response(status, fields, Some(rejection.problem_json().as_bytes()));
        } else {
            self.reset_http_response();
        }
        Action::Pause
    }

    fn body(&mut self, message: Message, size: usize, end: bool) -> Action {
        if self.was_rejected {
            return Action::Pause;
        }
        let is_request = message == Message::Request;
        let check = if is_request { &mut self.request } else { &mut self.response };
        if check.is_passing() {
            return Action::Continue;
        }
        let is_buffered = self.settings.is_buffered();
        if is_buffered && !end {
            // The engine keeps the bytes. At the end all of them are here.
            return Action::Pause;
        }
        let data = if is_request {
            self.get_http_request_body(0, size)
        } else {
            self.get_http_response_body(0, size)
        };
        let data = data.unwrap_or_default();
        let check = if is_request { &mut self.request } else { &mut self.response };
        let outcome = check.feed(&[&data], end);
        let content = new_content(&data, &outcome);
        match outcome.verdict {
            Verdict::Rejected(reason) => return self.reject(message, reason, is_request),
            Verdict::Reported(reason) => log("reported", message, &reason),
            Verdict::Pass => {}
        }
        if let Some(content) = content {
            if is_request {
                self.set_http_request_body(0, size, &content);
            } else {
                self.set_http_response_body(0, size, &content);
            }
        }
        Action::Continue
    }

    fn trailers(&mut self, message: Message, fields: &[Field]) -> Action {
        if self.was_rejected {
            return Action::Pause;
        }
        let is_request = message == Message::Request;
        let is_buffered = self.settings.is_buffered();
        let mut data = Bytes::new();
        if is_buffered {
            let all = if is_request {
                self.get_http_request_body(0, usize::MAX >> 1)
            } else {
                self.get_http_response_body(0, usize::MAX >> 1)
            };
            data = all.unwrap_or_default();
        }
        let check = if is_request { &mut self.request } else { &mut self.response };
        let outcome = check.feed(&[&data], true);
        let content = new_content(&data, &outcome);
        let reason = match (outcome.verdict, content) {
            (Verdict::Rejected(reason), _) => Some(reason),
            (Verdict::Reported(reason), _) => {
                log("reported", message, &reason);
                None
            }
            (Verdict::Pass, Some(content)) if is_buffered => {
                if is_request {
                    self.set_http_request_body(0, data.len(), &content);
                } else {
                    self.set_http_response_body(0, data.len(), &content);
                }
                None
            }
            // There is no buffer to which the repaired end of the body could be added.
            (Verdict::Pass, Some(_)) => {
                error!(
                    "utf8_codec: a body that ends inside a character, before trailers, is repaired in buffered mode only"
                );
                self.was_rejected = true;
                if is_request {
                    self.reset_http_request();
                } else {
                    self.reset_http_response();
                }
                return Action::Pause;
            }
            (Verdict::Pass, None) => None,
        };
        let reason = reason.or_else(|| {
            let pairs = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_slice()));
            let checked = if self.settings.checks_trailers(message) {
                plan::check_values(pairs, Reason::Trailer)
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

impl Context for Exchange {}

impl HttpContext for Exchange {
    fn on_http_request_headers(&mut self, _: usize, end: bool) -> Action {
        let fields = self.get_http_request_headers_bytes();
        self.is_tunnel =
            plan::is_tunnel(fields.iter().map(|(name, value)| (name.as_bytes(), value.as_slice())));
        match self.decide(Message::Request, &fields, !end) {
            Ok(untrue) => untrue.iter().for_each(|name| self.remove_http_request_header(name)),
            Err(action) => return action,
        }
        Action::Continue
    }

    fn on_http_request_body(&mut self, size: usize, end: bool) -> Action {
        self.body(Message::Request, size, end)
    }

    fn on_http_request_trailers(&mut self, _: usize) -> Action {
        let fields = self.get_http_request_trailers_bytes();
        self.trailers(Message::Request, &fields)
    }

    fn on_http_response_headers(&mut self, _: usize, end: bool) -> Action {
        // A document that this filter sends comes here too.
        if self.was_rejected {
            return Action::Continue;
        }
        let fields = self.get_http_response_headers_bytes();
        match self.decide(Message::Response, &fields, !end) {
            Ok(untrue) => untrue.iter().for_each(|name| self.remove_http_response_header(name)),
            Err(action) => return action,
        }
        Action::Continue
    }

    fn on_http_response_body(&mut self, size: usize, end: bool) -> Action {
        if self.was_rejected {
            return Action::Continue;
        }
        self.body(Message::Response, size, end)
    }

    fn on_http_response_trailers(&mut self, _: usize) -> Action {
        let fields = self.get_http_response_trailers_bytes();
        self.trailers(Message::Response, &fields)
    }
}
