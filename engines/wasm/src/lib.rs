//! `utf8-codec` as a Proxy-Wasm filter: for engines that run WebAssembly and load no native module.
//!
//! The check and the settings are those of the native filters in Envoy. The root id of the plugin selects the filter: `utf8_http` for
//! HTTP messages, `utf8_tcp` for connections.

mod http;
mod tcp;

use std::rc::Rc;

use log::{error, info};
use proxy_wasm::traits::{Context, HttpContext, RootContext, StreamContext};
use proxy_wasm::types::{ContextType, LogLevel};
use utf8_codec_engines::config::{FilterKind, Settings};
use utf8_codec_engines::plan::Outcome;
use utf8_codec_engines::shift::{GAP, shift};
use utf8_codec_engines::{MessageKind, Reason};

proxy_wasm::main! {{
    proxy_wasm::set_log_level(LogLevel::Info);
    proxy_wasm::set_root_context(|_| Box::new(Plugin { kind: FilterKind::Http, settings: None }));
}}

struct Plugin {
    kind: FilterKind,
    settings: Option<Rc<Settings>>,
}

impl Context for Plugin {}

impl RootContext for Plugin {
    fn on_configure(&mut self, _: usize) -> bool {
        self.kind = match self.get_property(vec!["plugin_root_id"]).as_deref() {
            Some(b"utf8_tcp") => FilterKind::Network,
            Some(b"utf8_http") => FilterKind::Http,
            _ => {
                error!("utf8_codec: the root id is `utf8_http` or `utf8_tcp`");
                return false;
            }
        };
        match Settings::parse(&self.get_plugin_configuration().unwrap_or_default(), self.kind) {
            Ok(settings) => self.settings = Some(Rc::new(settings)),
            Err(reason) => {
                error!("utf8_codec: {reason}");
                return false;
            }
        }
        true
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(match self.kind {
            FilterKind::Http => ContextType::HttpContext,
            FilterKind::Network => ContextType::StreamContext,
        })
    }

    fn create_http_context(&self, _: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(http::Exchange::new(Rc::clone(self.settings.as_ref()?))))
    }

    fn create_stream_context(&self, _: u32) -> Option<Box<dyn StreamContext>> {
        Some(Box::new(tcp::Connection::new(self.settings.as_ref()?)))
    }
}

/// The bytes that an engine announced; `None` if it delivered fewer, which would pass unchecked otherwise.
fn whole(data: Option<Vec<u8>>, size: usize) -> Option<Vec<u8>> {
    let data = data.unwrap_or_default();
    (data.len() == size).then_some(data)
}

/// Changes a buffer whose content is `data`. `set` replaces a number of bytes of the buffer from a position.
///
/// Engines can replace bytes at the start of a buffer and append to it, but not remove the last ones. All bytes are
/// therefore set again, after they were moved in the memory of the module.
fn change(mut data: Vec<u8>, outcome: &Outcome, set: impl Fn(usize, usize, &[u8])) {
    let len = data.len();
    if outcome.is_unchanged() {
    } else if outcome.tail.is_empty() {
        let head = outcome.head.as_slice();
        // Without something to append, a second call would cost more than the gap saves.
        let gap = if head.len() + outcome.kept > len { GAP } else { 0 };
        let remaining = shift(&mut [&mut data], head, outcome.kept, gap);
        set(0, len, &data[remaining.drain..]);
        let more = remaining.append.as_slice();
        if !more.is_empty() {
            // At the end of the buffer.
            set(len - remaining.drain, 0, more);
        }
    } else {
        set(0, len, &[outcome.head.as_slice(), &data[..outcome.kept], &outcome.tail].concat());
    }
}

/// Logs an error without a byte of the payload.
fn log(what: &str, message: MessageKind, reason: &Reason) {
    let side = if message == MessageKind::Request { "request" } else { "response" };
    info!("utf8_codec: {what} {side}: {reason}");
}
