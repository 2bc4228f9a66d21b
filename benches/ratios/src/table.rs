//! The rows, and the table of them in Markdown.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use tokio::runtime::Runtime;
use utf8_codec::Kernel;

use crate::measure::{Contender, Effort, Spread, race};

/// The ratio to reach, and why it is not reached everywhere.
#[derive(Clone, Copy)]
pub struct Goal {
    ratio: f64,
    reason: &'static str,
}

pub const fn goal(ratio: f64) -> Goal {
    Goal { ratio, reason: "" }
}

impl Goal {
    /// Sets the reason, which is printed if the row is missed.
    pub const fn because(self, reason: &'static str) -> Self {
        Self { reason, ..self }
    }
}

/// A row: the speed of this crate divided by that of the fastest peer, in each run.
struct Row {
    scenario: &'static str,
    input: String,
    /// The fastest peer in the last run.
    peer: String,
    ratios: Vec<f64>,
    /// Our throughput in bytes per nanosecond, in each run.
    speeds: Vec<f64>,
    goal: Goal,
}

impl Row {
    fn met(&self) -> usize {
        self.ratios.iter().filter(|&&ratio| ratio >= self.goal.ratio).count()
    }

    fn ratio(&self) -> f64 {
        Spread::of(self.ratios.clone()).median
    }

    fn speed(&self) -> f64 {
        Spread::of(self.speeds.clone()).median
    }

    /// Returns the cells that the program and the page print.
    fn cells(&self) -> String {
        let ratios = Spread::of(self.ratios.clone());
        format!(
            "| {} | {} | {:.1} | {} | {:.2} | {:.2}-{:.2} |",
            self.scenario,
            self.input,
            self.speed(),
            with_versions(&self.peer),
            ratios.median,
            ratios.least,
            ratios.greatest,
        )
    }

    /// Whether the goal is reached in most runs: in two of three.
    fn is_met(&self) -> bool {
        2 * self.met() > self.ratios.len()
    }
}

/// The options, and the rows measured so far.
pub struct Bench {
    pub effort: Effort,
    pub only: Option<String>,
    /// Whether the first contender of a row is compared with itself, to test the measurement.
    pub itself: bool,
    pub runtime: Runtime,
    rows: RefCell<Vec<Row>>,
}

impl Bench {
    pub fn new(effort: Effort, only: Option<String>, itself: bool, runtime: Runtime) -> Self {
        Self { effort, only, itself, runtime, rows: RefCell::default() }
    }

    pub fn is_wanted(&self, scenario: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only.split('|').any(|only| scenario.contains(only)))
    }

    /// Measures a row: the first contender, which is this crate, against the fastest of the others. `bytes` is the length of
    /// the input.
    pub fn row(
        &self,
        scenario: &'static str,
        input: &str,
        bytes: usize,
        contenders: Vec<Contender<'_>>,
        goal: Goal,
    ) {
        self.row_with(self.effort, scenario, input, bytes, contenders, goal);
    }

    pub fn row_with(
        &self,
        effort: Effort,
        scenario: &'static str,
        input: &str,
        bytes: usize,
        mut contenders: Vec<Contender<'_>>,
        mut goal: Goal,
    ) {
        if self.itself {
            contenders = vec![contenders[0].again("ours"), contenders[0].again("itself")];
            goal = self::goal(0.98);
        }
        let race = race(contenders, effort);
        let (ours, peer) = (race.names[0], race.best(&race.names[1..]));
        let prefix = if race.names.len() > 2 { "fastest: " } else { "" };
        let mut ratio = race.ratio(ours, peer).median;
        if self.itself {
            ratio = ratio.min(1.0 / ratio);
        }
        self.add(
            scenario,
            input,
            &format!("{prefix}{peer}"),
            ratio,
            bytes as f64 / race.median_nanos(ours),
            goal,
        );
    }

    /// Adds the result of a row in this run.
    fn add(&self, scenario: &'static str, input: &str, peer: &str, ratio: f64, speed: f64, goal: Goal) {
        eprintln!("{scenario}, {input}: {ratio:.2} of {peer}");
        let mut rows = self.rows.borrow_mut();
        let peer = peer.to_owned();
        match rows.iter_mut().find(|row| row.scenario == scenario && row.input == input) {
            Some(row) => {
                row.peer = peer;
                row.ratios.push(ratio);
                row.speeds.push(speed);
            }
            None => {
                let row = Row {
                    scenario,
                    input: input.to_owned(),
                    peer,
                    ratios: vec![ratio],
                    speeds: vec![speed],
                    goal,
                };
                let same = rows.iter().rposition(|other| other.scenario == scenario);
                let at = same.map_or(rows.len(), |last| last + 1);
                rows.insert(at, row);
            }
        }
    }

    /// Prints the table. Returns whether each row is met or has a reason.
    pub fn print(&self) -> bool {
        let rows = self.rows.borrow();
        println!("{}\n", machine());
        println!("| work | text | GB/s | compared with | ratio | runs | goal | |");
        println!("|---|---|---:|---|---:|---|---:|---|");
        for row in rows.iter() {
            let verdict = match (row.is_met(), row.goal.reason) {
                (true, _) => "met".to_owned(),
                (false, "") => "**missed**".to_owned(),
                (false, reason) => format!("**missed**: {reason}"),
            };
            println!("{} {:.2} | {verdict} |", row.cells(), row.goal.ratio);
        }
        let met = rows.iter().filter(|row| row.is_met()).count();
        let unexplained = rows.iter().filter(|row| !row.is_met() && row.goal.reason.is_empty()).count();
        println!("\n{met} of {} rows are met, {unexplained} are missed without a reason.", rows.len());
        unexplained == 0
    }

    /// Returns the table of `docs/performance.md`, and a sentence for each row below 1.0.
    pub fn page(&self) -> String {
        let rows = self.rows.borrow();
        let mut page = format!("Measured on {}.\n\n", machine());
        page += "| work | text | GB/s | compared with | ratio | runs |\n|---|---|---:|---|---:|---|\n";
        for row in rows.iter() {
            page += &row.cells();
            page += "\n";
        }
        page += "\nWhere the ratio is below 1.0:\n\n";
        for row in rows.iter().filter(|row| row.ratio() < 1.0) {
            page += &format!("- {}, {}, {:.2}: {}.\n", row.scenario, row.input, row.ratio(), row.goal.reason);
        }
        page
    }

    /// Replaces the table in the page.
    pub fn write_page(&self, path: &Path) -> io::Result<()> {
        const MARKS: [&str; 2] = ["<!-- from benches/ratios -->\n", "<!-- to here -->\n"];
        let text = fs::read_to_string(path)?;
        let (before, rest) = text.split_once(MARKS[0]).ok_or(io::ErrorKind::NotFound)?;
        let (_, after) = rest.split_once(MARKS[1]).ok_or(io::ErrorKind::NotFound)?;
        fs::write(path, [before, MARKS[0], &self.page(), MARKS[1], after].concat())
    }
}

/// Returns the CPU, the kernel and the compiler.
fn machine() -> String {
    format!("{}, kernel {}, {}", cpu(), Kernel::in_use().name(), rustc())
}

/// Adds to each word that is the name of a dependency its version.
fn with_versions(peer: &str) -> String {
    let word = |word: &str| match version(word) {
        Some(version) => format!("{word} {version}"),
        None => word.to_owned(),
    };
    peer.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Returns the version of a dependency from the lock file of this build.
fn version(name: &str) -> Option<&'static str> {
    let package = format!("name = \"{name}\"\nversion = \"");
    include_str!("../Cargo.lock").split_once(&package)?.1.split('"').next()
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map_or_else(
        |_| "rustc ?".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// Returns the name of the CPU with its family, model and stepping, because a hypervisor may hide the name.
pub fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let of_line = |line: &'_ str| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        };
        text.lines().find_map(of_line).unwrap_or_else(|| "?".to_owned())
    };
    format!(
        "{}, family {}, model {}, stepping {}",
        value("model name"),
        value("cpu family"),
        value("model"),
        value("stepping")
    )
}
