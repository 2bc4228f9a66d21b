//! An HTTP gateway on Pingora. The bodies of requests and responses are checked as they stream, by the same settings as
//! the HTTP filter in Envoy: a message that is not well-formed text is rejected with a problem document, or repaired.
//!
//! ```sh
//! utf8-codec-pingora --listen 127.0.0.1:8080 --upstream 127.0.0.1:9000 --settings '{"on_error": "strict"}'
//! ```

mod body;
mod gateway;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use pingora::apps::HttpServerOptions;
use pingora::protocols::http::v2::server::default_h2_options;
use pingora::proxy::http_proxy_service;
use pingora::server::Server;
use pingora::server::configuration::ServerConf;
use utf8_codec_engines::config::{FilterKind, Settings};

use crate::gateway::Gateway;

/// An HTTP gateway whose request and response bodies are well-formed text.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The address to listen on, for HTTP/1.1 and for HTTP/2 without TLS.
    #[arg(long)]
    listen: SocketAddr,
    /// The address of the server to forward to.
    #[arg(long)]
    upstream: SocketAddr,
    /// Use HTTP/2 without TLS to the server instead of HTTP/1.1, as gRPC requires.
    #[arg(long)]
    upstream_http2: bool,
    /// The settings of the filter: JSON with the keys of the HTTP filter in Envoy.
    #[arg(long, default_value = "{}", conflicts_with = "settings_file")]
    settings: String,
    /// A file with these settings.
    #[arg(long)]
    settings_file: Option<PathBuf>,
    /// With `"mode": "buffered"`, the length up to which a body is held. Longer requests are rejected with 413.
    #[arg(long, default_value_t = 1 << 20)]
    buffer_limit: usize,
    /// The number of threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// How long connections are served after SIGTERM, in seconds.
    #[arg(long, default_value_t = 5)]
    grace: u64,
}

impl Arguments {
    fn settings(&self) -> Result<Settings, String> {
        let json = match &self.settings_file {
            Some(path) => std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?,
            None => self.settings.clone().into_bytes(),
        };
        Settings::parse(&json, FilterKind::Http).map_err(|error| format!("settings: {error}"))
    }
}

fn main() -> ExitCode {
    env_logger::init();
    let arguments = Arguments::parse();
    let settings = match arguments.settings() {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("utf8-codec-pingora: {error}");
            return ExitCode::from(2);
        }
    };
    let conf = ServerConf {
        threads: arguments.threads,
        grace_period_seconds: Some(arguments.grace),
        graceful_shutdown_timeout_seconds: Some(1),
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();
    let gateway =
        Gateway::new(settings, arguments.upstream, arguments.upstream_http2, arguments.buffer_limit);
    let mut service = http_proxy_service(&server.configuration, gateway);
    if let Some(proxy) = service.app_logic_mut() {
        let mut options = HttpServerOptions::default();
        options.h2c = true;
        if arguments.upstream_http2 {
            // WebSocket over HTTP/2. Pingora does not translate it to an upgrade of HTTP/1.1, so it is not offered for
            // such a server. The gateway rejects every other `CONNECT`.
            options.allow_connect_method_proxying = true;
            let mut http2 = default_h2_options();
            http2.enable_connect_protocol();
            proxy.h2_options = Some(http2);
        }
        proxy.server_options = Some(options);
    }
    service.add_tcp(&arguments.listen.to_string());
    server.add_service(service);
    server.run_forever()
}
