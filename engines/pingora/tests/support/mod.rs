//! The gateway as a program.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A running gateway. It is killed on drop.
pub(crate) struct Gateway {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Gateway {
    pub(crate) fn new(settings: &str, upstream: SocketAddr) -> Self {
        Self::with_arguments(&["--settings", settings], upstream)
    }

    pub(crate) fn with_arguments(arguments: &[&str], upstream: SocketAddr) -> Self {
        // Another program could bind the port before the gateway does.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_utf8-codec-pingora"))
            .args(["--listen", &address.to_string(), "--upstream", &upstream.to_string()])
            .args(["--buffer-limit", "1000"])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let gateway = Self { process, address };
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(start.elapsed() < PATIENCE, "the gateway does not listen");
            thread::sleep(Duration::from_millis(10));
        }
        gateway
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
