//! The report of a forwarded body to its layer.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use http::HeaderValue;

use crate::http::error::Utf8BodyError;
use crate::http::rejection::{MessageKind, Reason, Rejection};

/// State that a body shares with the layer that responds to its error.
#[derive(Clone, Debug)]
pub(crate) struct Report(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    message: MessageKind,
    content_type: Option<HeaderValue>,
    rejection: OnceLock<Rejection>,
    is_drained: AtomicBool,
}

impl Report {
    /// The report of a body that is not checked while it streams.
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn new(message: MessageKind, content_type: Option<HeaderValue>) -> Self {
        let (rejection, is_drained) = (OnceLock::new(), AtomicBool::new(false));
        Self(Some(Arc::new(Shared { message, content_type, rejection, is_drained })))
    }

    /// Records that the body failed. Returns whether the message is rejected because of it. An error of the inner body
    /// does not reject the message.
    pub(crate) fn failed(&self, error: &Utf8BodyError) -> bool {
        let reason = Reason::of_body(error);
        if let (Some(shared), Some(reason)) = (&self.0, reason.clone()) {
            let content_type = shared.content_type.clone();
            // A body fails only once.
            let _ = shared.rejection.set(Rejection { message: shared.message, reason, content_type });
        }
        reason.is_some()
    }

    /// Records that the rest of a rejected body was drained. `has_ended` is whether its end was reached.
    pub(crate) fn drained(&self, has_ended: bool) {
        if let Some(shared) = &self.0 {
            shared.is_drained.store(has_ended, Relaxed);
        }
    }

    /// Whether a rejected body was read to its end.
    pub(crate) fn is_drained(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.is_drained.load(Relaxed))
    }

    /// Returns the reason to reject the message if its body has failed.
    pub(crate) fn rejection(&self) -> Option<&Rejection> {
        self.0.as_deref()?.rejection.get()
    }
}
