//! Runs an example server as a program, with a simple HTTP/1.1 client for it.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// The running program. Dropping it kills the program.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts an example with `--listen` and other arguments.
    pub(crate) fn start(example: &str, arguments: &[&str]) -> Self {
        let mut process = Command::new(built_example(example))
            .args(["--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example starts");
        let mut line = String::new();
        let out = process.stdout.as_mut().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening on ").expect(&line).parse().expect("an address");
        Self { process, address }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_nodelay(true).expect("an option");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("an option");
        stream
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the resident memory in bytes, or `None` without `/proc`.
    pub(crate) fn resident(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the path of the example. A run of all tests has already built it; a run of one test has not.
fn built_example(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let test = std::env::current_exe().expect("a path");
    let examples = test.parent().and_then(Path::parent).expect("a folder").join("examples");
    let built = examples.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let time = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let mut sources = vec![root.join("src"), root.join(format!("examples/{name}.rs"))];
    let mut is_fresh = built.exists();
    while let Some(source) = sources.pop() {
        is_fresh &= source.is_dir() || time(&source) <= time(&built);
        let entries = std::fs::read_dir(&source).into_iter().flatten().flatten();
        sources.extend(entries.map(|entry| entry.path()));
    }
    if !is_fresh {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "integration", "--example", name]).current_dir(root);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo starts").success(), "the example builds");
    }
    built
}

/// A response with a `Content-Length`.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: Vec<u8>,
}

pub(crate) fn read_answer(stream: &mut impl BufRead) -> Answer {
    let mut line = String::new();
    stream.read_line(&mut line).expect("a status line");
    let status = line.split(' ').nth(1).expect(&line).parse().expect(&line);
    let mut headers = HeaderMap::new();
    loop {
        line.clear();
        stream.read_line(&mut line).expect("a field");
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        headers.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    let length = headers.get("content-length").map_or(0, |value| value.to_str().unwrap().parse().unwrap());
    let mut text = vec![0; length];
    stream.read_exact(&mut text).expect("the body");
    Answer { status, headers, text }
}
