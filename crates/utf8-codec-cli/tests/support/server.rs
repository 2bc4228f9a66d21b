//! Runs `proxy` and `serve`, and communicates with them over sockets.

use core::time::Duration;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use super::program::program;
use super::wait::{pause, wait_until};

/// A running `proxy` or `serve`. It is killed when this is dropped.
pub struct Server {
    child: Child,
    pub address: String,
    stderr: Stderr,
}

enum Stderr {
    /// stderr is not a pipe.
    Elsewhere,
    Collected(JoinHandle<String>),
    /// An open pipe that is not read.
    Unread(ChildStderr),
}

impl Server {
    /// Starts the program with logs as JSON, on a free port unless `--listen` is among the arguments.
    pub fn start(args: &[&str]) -> Self {
        Self::start_command(program(args))
    }

    /// [`start`](Self::start) with an admin listener. Returns its address, too.
    pub fn start_with_admin(args: &[&str]) -> (Self, String) {
        let admin = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        (Self::start(&[args, &["--admin", &admin]].concat()), admin)
    }

    /// [`start`](Self::start) for a prepared command.
    pub fn start_command(command: Command) -> Self {
        Self::launch(command, |mut stderr| {
            Stderr::Collected(thread::spawn(move || {
                let mut log = String::new();
                stderr.read_to_string(&mut log).unwrap();
                log
            }))
        })
    }

    /// [`start`](Self::start) with a pipe for stderr that is not read.
    pub fn start_unread(args: &[&str]) -> Self {
        Self::launch(program(args), Stderr::Unread)
    }

    /// [`start`](Self::start) with the given stderr.
    pub fn start_with_stderr(args: &[&str], stderr: impl Into<Stdio>) -> Self {
        Self::launch_with(program(args), stderr.into(), |_| Stderr::Elsewhere)
    }

    fn launch(command: Command, read: impl FnOnce(ChildStderr) -> Stderr) -> Self {
        Self::launch_with(command, Stdio::piped(), |stderr| read(stderr.expect("a pipe")))
    }

    fn launch_with(
        mut command: Command,
        stderr: Stdio,
        read: impl FnOnce(Option<ChildStderr>) -> Stderr,
    ) -> Self {
        if !command.get_args().any(|arg| arg == "--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let mut child = command
            .args(["--log", "json"])
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let stderr = read(child.stderr.take());
        let address =
            line.strip_prefix("listening on ").expect("the address comes first").trim_end().to_owned();
        Self { child, address, stderr }
    }

    pub fn connect(&self) -> TcpStream {
        self.try_connect().unwrap()
    }

    /// The connection may be reset before this returns.
    pub fn try_connect(&self) -> io::Result<TcpStream> {
        let client = TcpStream::connect(&self.address)?;
        client.set_nodelay(true)?;
        client.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(client)
    }

    /// Returns the response to these writes and a half-close.
    pub fn ask(&self, chunks: &[&[u8]]) -> String {
        read_all(&mut self.tell(chunks))
    }

    /// Returns the response to these writes that arrives before the connection is reset.
    pub fn ask_and_be_reset(&self, chunks: &[&[u8]]) -> String {
        read_to_reset(&mut self.tell(chunks))
    }

    fn tell(&self, chunks: &[&[u8]]) -> TcpStream {
        let mut client = self.connect();
        for chunk in chunks {
            client.write_all(chunk).unwrap();
            pause();
        }
        client.shutdown(Shutdown::Write).unwrap();
        client
    }

    /// Returns the process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status();
        assert!(status.unwrap().success());
    }

    /// Waits at most 20 seconds for the program to end. Returns its exit status and its log.
    pub fn wait(mut self) -> (ExitStatus, Vec<Value>) {
        let status = self.wait_for_exit();
        let stderr = core::mem::replace(&mut self.stderr, Stderr::Collected(thread::spawn(String::new)));
        let log = match stderr {
            Stderr::Elsewhere => String::new(),
            Stderr::Collected(log) => log.join().unwrap(),
            Stderr::Unread(mut pipe) => {
                let mut log = String::new();
                pipe.read_to_string(&mut log).unwrap();
                log
            }
        };
        let line =
            |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?} is not a JSON object"));
        (status, log.lines().map(line).collect())
    }

    /// Waits at most 20 seconds for the program to end.
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the program to end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// Stops the program with SIGTERM. Returns its reports of ill-formed bytes.
    pub fn reports(self) -> Vec<Value> {
        self.signal("TERM");
        let (status, log) = self.wait();
        assert_eq!(status.code(), Some(0));
        log.into_iter().filter(|line| line.get("kind").is_some()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn read_all(client: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("the end of the stream, without a reset or timeout");
    String::from_utf8(answer).unwrap()
}

/// Reads until the connection is reset.
pub fn read_to_reset(client: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let end = client.read_to_end(&mut answer).expect_err("a reset, not a clean end");
    assert_eq!(end.kind(), ErrorKind::ConnectionReset);
    String::from_utf8(answer).unwrap()
}

pub fn read_line(client: &mut TcpStream) -> String {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        client.read_exact(&mut byte).expect("a line before the timeout");
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// Returns the status and the body of an HTTP response.
pub fn get(address: &str, path: &str) -> (u16, String) {
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(client, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let answer = read_all(&mut client);
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Waits until the metrics of the admin listener contain a line.
#[track_caller]
pub fn wait_for_metric(admin: &str, line: &str) {
    wait_until(line, || get(admin, "/metrics").1.lines().any(|found| found == line));
}

pub fn facts(report: &Value) -> (u64, &str, u64) {
    (report["offset"].as_u64().unwrap(), report["kind"].as_str().unwrap(), report["len"].as_u64().unwrap())
}
