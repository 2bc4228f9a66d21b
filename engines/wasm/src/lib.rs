//! `utf8-codec` as a Proxy-Wasm filter: for engines that run WebAssembly and load no native module.
//!
//! The check and the settings are those of the native filters in Envoy. The root id of the plugin selects the filter:
//! `utf8_http` for HTTP messages, `utf8_tcp` for connections.

mod buffers;
mod http;
mod tcp;

use std::rc::Rc;

use log::error;
use proxy_wasm::traits::{Context, HttpContext, RootContext, StreamContext};
use proxy_wasm::types::{ContextType, LogLevel};
use utf8_codec_engines::config::{FilterKind, Settings};

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
