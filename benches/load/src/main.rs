//! Tests `utf8-codec proxy` under load and faults, and compares it with other proxies. All traffic is on loopback.
//!
//! `cargo run --release` in this directory takes about 13 minutes, 10 of them for flat memory; `-- --quick` less than
//! 3. It prints two tables in Markdown, and fails if a byte or a connection was lost.

mod compare;
mod faults;
mod memory;
mod peers;
mod process;
mod scenario;
mod streams;
mod text;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use scenario::{Row, Run};
use text::Text;

/// A scenario.
struct Scenario {
    name: &'static str,
    run: fn(&Run) -> Pin<Box<dyn Future<Output = Row> + '_>>,
}

macro_rules! scenarios {
    ($($module:ident::$name:ident,)*) => {
        &[$(Scenario { name: stringify!($name), run: |run| Box::pin($module::$name(run)) }),*]
    };
}

const SCENARIOS: &[Scenario] = scenarios! {
    memory::held,
    streams::bursts,
    streams::churn,
    streams::cuts,
    streams::repairs,
    streams::ends,
    streams::late_readers,
    streams::neighbors,
    faults::unread_stderr,
    faults::full_disk,
    faults::no_descriptors,
    faults::dead_upstream,
    faults::hanging_upstream,
    faults::flapping_upstream,
    faults::drain,
    memory::flat,
};

const USAGE: &str = "\
usage: load [--quick] [--minutes N] [--only NAME,...] [--program PATH] [--before PATH]
  --quick         small counts, and half a minute of flat memory
  --minutes N     duration of the memory test [default: 10]
  --only NAMES    only these scenarios; `compare` is one of them
  --program PATH  the program to test; it is built if this is not given
  --before PATH   an earlier build, for `compare`";

struct Args {
    quick: bool,
    steady: Duration,
    only: Vec<String>,
    program: Option<PathBuf>,
    before: Option<PathBuf>,
}

fn parse(mut args: impl Iterator<Item = String>) -> Option<Args> {
    let mut parsed = Args {
        quick: false,
        steady: Duration::from_secs(600),
        only: Vec::new(),
        program: None,
        before: None,
    };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => {
                parsed.quick = true;
                parsed.steady = Duration::from_secs(30);
            }
            "--minutes" => {
                parsed.steady = Duration::try_from_secs_f64(args.next()?.parse::<f64>().ok()? * 60.0).ok()?
            }
            "--only" => parsed.only = args.next()?.split(',').map(str::to_owned).collect(),
            "--program" => parsed.program = Some(args.next()?.into()),
            "--before" => parsed.before = Some(args.next()?.into()),
            _ => return None,
        }
    }
    Some(parsed)
}

/// Builds the program, and returns its path.
fn build() -> PathBuf {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "-p", "utf8-codec-cli"])
        .args(["--message-format", "json-render-diagnostics", "--manifest-path", manifest])
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "the program does not build");
    let messages = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    let paths = messages.split("\"executable\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    paths.last().expect("an executable").into()
}

fn main() -> ExitCode {
    let mut args = env::args().skip(1).peekable();
    if args.peek().is_some_and(|arg| arg == process::COPY) {
        let addresses: Vec<SocketAddr> = args.skip(1).filter_map(|arg| arg.parse().ok()).collect();
        return runtime().block_on(copy(addresses[0], addresses[1]));
    }
    let Some(args) = parse(args) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    // The peers need two descriptors for each held connection.
    let limits = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, maximum: limits.maximum });
    let program = args.program.unwrap_or_else(build);
    let directory = env::temp_dir().join(format!("utf8-codec-load-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    let run = Run {
        program,
        before: args.before,
        directory: directory.clone(),
        quick: args.quick,
        steady: args.steady,
        only: args.only,
        text: Text::new(),
    };
    let started = Instant::now();
    let lost = runtime().block_on(all(&run));
    let _ = fs::remove_dir_all(directory);
    eprintln!("{} s", started.elapsed().as_secs());
    if lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("a runtime")
}

/// Runs everything and prints the tables. Returns the number of losses.
async fn all(run: &Run) -> u64 {
    let mut lost = 0;
    if run.wants("compare") {
        lost += compare::table(run).await;
        println!();
    }
    println!("| scenario | load | done | lost | seen |\n|---|---|--:|--:|---|");
    for scenario in SCENARIOS {
        if !run.wants(scenario.name) {
            continue;
        }
        eprintln!("{}", scenario.name);
        let row = (scenario.run)(run).await;
        let name = scenario.name.replace('_', " ");
        println!("| {name} | {} | {} | {} | {} |", row.load, row.done, row.lost, row.seen);
        lost += row.lost;
    }
    println!("\n{lost} lost");
    lost
}

/// Accepts connections and relays them with `copy_bidirectional`.
async fn copy(listen: SocketAddr, upstream: SocketAddr) -> ExitCode {
    let listener = TcpListener::bind(listen).await.expect("a free port");
    loop {
        let Ok((mut client, _)) = listener.accept().await else { continue };
        tokio::spawn(async move {
            let mut server = TcpStream::connect(upstream).await?;
            client.set_nodelay(true)?;
            server.set_nodelay(true)?;
            copy_bidirectional(&mut client, &mut server).await
        });
    }
}
