//! Starts the proxies as processes on loopback, measures them through `/proc`, and kills them on drop.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

use crate::peers::free_address;

/// With this argument this program itself is a proxy: the relay of tokio without a filter.
pub const COPY: &str = "copy";

/// Returns the version of another proxy and the settings that [`Proxy::other`] does not leave at their defaults.
pub fn version(name: &str) -> Option<String> {
    let (program, argument, settings) = match name {
        "HAProxy" => (
            "haproxy",
            "-v",
            "buffers of 16 KiB, no splicing, a thread for each CPU: the defaults; `backlog 4096`",
        ),
        "nginx" => ("nginx", "-v", "a worker for each CPU; `backlog=4096`, `proxy_half_close`"),
        "socat" => ("socat", "-V", "a process for each connection; `backlog=4096`"),
        _ => return None,
    };
    let output = Command::new(find(program)?).arg(argument).output().ok()?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let version = text.lines().find(|line| line.contains("version"))?;
    Some(format!("{version}: {settings}"))
}

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    child: Child,
    pub address: SocketAddr,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The parent is killed first, because the master of nginx replaces a worker that ends.
        for pid in self.pids() {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

impl Proxy {
    /// Starts `utf8-codec proxy` without a log.
    pub fn ours(program: &Path, upstream: SocketAddr, flags: &[&str]) -> Self {
        Self::ours_with_stderr(program, upstream, flags, Stdio::null())
    }

    pub fn ours_with_stderr(program: &Path, upstream: SocketAddr, flags: &[&str], stderr: Stdio) -> Self {
        let mut child = Command::new(program)
            .args(["proxy", "--listen", "127.0.0.1:0", "--upstream", &upstream.to_string()])
            .args(["--max-connections", "20000", "--log", "json"])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let address = line.trim_end().strip_prefix("listening on ").expect("the address");
        Self { address: address.parse().expect("an address"), child }
    }

    /// Starts another proxy, if it is installed.
    pub fn other(name: &str, upstream: SocketAddr, directory: &Path) -> Option<Self> {
        let address = free_address();
        let mut command = match name {
            "HAProxy" => {
                let config = format!(
                    "global\n maxconn 9000\ndefaults\n mode tcp\n maxconn 9000\n timeout connect 10s\n \
                     timeout client 300s\n timeout server 300s\n\
                     listen relay\n bind {address} backlog 4096\n server upstream {upstream}\n"
                );
                let path = directory.join("haproxy.cfg");
                fs::write(&path, config).expect("a file");
                let mut command = Command::new(find("haproxy")?);
                command.args(["-db", "-f"]).arg(path);
                command
            }
            "nginx" => {
                let module = Path::new("/usr/lib/nginx/modules/ngx_stream_module.so");
                if !module.exists() {
                    return None;
                }
                let config = format!(
                    "load_module {};\ndaemon off;\nworker_processes auto;\nworker_rlimit_nofile 19000;\n\
                     error_log /dev/null;\npid {};\nevents {{ worker_connections 18000; }}\n\
                     stream {{ server {{ listen {address} backlog=4096; proxy_pass {upstream}; proxy_half_close on; }} }}\n",
                    module.display(),
                    directory.join("nginx.pid").display(),
                );
                let path = directory.join("nginx.conf");
                fs::write(&path, config).expect("a file");
                let mut command = Command::new(find("nginx")?);
                command.arg("-c").arg(path);
                command
            }
            "socat" => {
                let mut command = Command::new(find("socat")?);
                let (host, port) = (address.ip(), address.port());
                // By default, socat waits only half a second for the other direction after the end of one.
                command.args(["-t", "60"]);
                command.arg(format!("TCP-LISTEN:{port},bind={host},fork,reuseaddr,backlog=4096"));
                command.arg(format!("TCP:{upstream}"));
                command
            }
            "tokio" => {
                let mut command = Command::new(env::current_exe().expect("a path"));
                command.args([COPY, &address.to_string(), &upstream.to_string()]);
                command
            }
            _ => return None,
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("the proxy starts");
        let proxy = Self { child, address };
        for _ in 0..500 {
            if TcpStream::connect(address).is_ok() {
                return Some(proxy);
            }
            thread::sleep(Duration::from_millis(10));
        }
        eprintln!("{name} does not listen");
        None
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Returns the process and its descendants.
    fn pids(&self) -> Vec<Pid> {
        let mut pids = vec![self.pid()];
        let mut next = 0;
        while let Some(pid) = pids.get(next).map(|pid| pid.as_raw_nonzero()) {
            next += 1;
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            pids.extend(children.split(' ').filter_map(|pid| Pid::from_raw(pid.trim().parse().ok()?)));
        }
        pids
    }

    /// Returns the user and system CPU time of all threads and of the children that have ended.
    pub fn cpu(&self) -> Duration {
        self.pids().into_iter().map(|pid| cpu(pid).unwrap_or_default()).sum()
    }

    /// Returns the proportional resident memory (PSS) in KiB.
    pub fn memory(&self) -> f64 {
        self.kibibytes("smaps_rollup", "Pss:")
    }

    /// Returns the maximum resident memory so far in KiB.
    pub fn peak_memory(&self) -> f64 {
        self.kibibytes("status", "VmHWM:")
    }

    /// Returns the sum of a value in a file of `/proc` over the processes.
    fn kibibytes(&self, file: &str, name: &str) -> f64 {
        let of = |pid: Pid| {
            let text = fs::read_to_string(format!("/proc/{}/{file}", pid.as_raw_nonzero())).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix(" kB")?.parse::<f64>().ok()
        };
        self.pids().into_iter().filter_map(of).sum()
    }

    /// Returns the lowest descriptor that is not open. With this value as the limit, no descriptor can be opened.
    pub fn lowest_free_descriptor(&self) -> u64 {
        let pid = self.pid().as_raw_nonzero();
        let is_free = |n: &u64| fs::symlink_metadata(format!("/proc/{pid}/fd/{n}")).is_err();
        (0..).find(is_free).expect("a number")
    }

    /// Sets the soft limit of open files.
    pub fn limit_descriptors(&self, soft: u64) {
        // The process has inherited the hard limit of this process.
        let limits = Rlimit { current: Some(soft), maximum: getrlimit(Resource::Nofile).maximum };
        prlimit(Some(self.pid()), Resource::Nofile, limits).expect("its own process");
    }

    /// Returns the unread stderr.
    pub fn stderr(&mut self) -> Option<std::process::ChildStderr> {
        self.child.stderr.take()
    }

    pub fn terminate(&self) {
        kill_process(self.pid(), Signal::TERM).expect("its own process");
    }

    /// Waits until the process ends.
    pub async fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        for _ in 0..timeout.as_millis() / 10 {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return Some(status);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        None
    }
}

fn cpu(pid: Pid) -> Option<Duration> {
    let pid = pid.as_raw_nonzero();
    let mut nanoseconds = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let stat = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        nanoseconds += stat.split(' ').next().and_then(|time| time.parse::<u64>().ok()).unwrap_or(0);
    }
    // Fields 16 and 17 are the times of the children that have ended, in hundredths of a second.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let hundredths: u64 = fields[13].parse::<u64>().ok()? + fields[14].parse::<u64>().ok()?;
    Some(Duration::from_nanos(nanoseconds) + Duration::from_millis(hundredths * 10))
}

/// Returns the path of an installed program.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain(["/usr/sbin".into()]);
    directories.map(|directory| directory.join(name)).find(|path| path.is_file())
}
