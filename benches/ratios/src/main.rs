//! Prints how fast this crate is relative to other crates, as a table in Markdown. `docs/performance.md` has it.
//!
//! ```text
//! cargo run --release                           all rows, in three runs
//! cargo run --release -- --only "64 KiB"        only the scenarios whose name contains this
//!                                               (several names are separated by a vertical bar)
//! cargo run --release -- --runs 1               one run
//! cargo run --release -- --rounds 51            more rounds in a run, for a machine with other load
//! cargo run --release -- --itself               this crate against itself: a row is met if the ratio is at least 0.98
//! cargo run --release -- --page ../../docs/performance.md
//!                                               also replaces the table in this page
//! cargo run --release -- --chart chunks.svg     no rows; draws the throughput by the size of chunks
//! ```
//!
//! A row is met if its goal is reached in two of three runs. The program fails if a row is missed without a reason.

mod chart;
mod codecs;
mod conversions;
mod corpora;
mod formats;
mod mail;
mod measure;
mod streaming;
mod table;
mod text;
mod validation;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use corpora::Corpus;
use measure::Effort;
use table::Bench;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut only = None;
    let mut runs = 3;
    let mut rounds = 9;
    let mut chart = None;
    let mut page = None;
    let mut itself = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--itself" {
            itself = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{argument} wants a value"))?;
        match &*argument {
            "--only" => only = Some(value),
            "--runs" => runs = value.parse()?,
            "--rounds" => rounds = value.parse()?,
            "--page" => page = Some(PathBuf::from(value)),
            "--chart" => chart = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown argument: {argument}").into()),
        }
    }
    let effort = Effort { rounds, turn: Duration::from_millis(1) };
    if let Some(svg) = chart {
        chart::draw(Corpus::Cyrillic, effort, &svg)?;
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bench = Bench::new(effort, only, itself, runtime);
    for _ in 0..runs {
        bench.validation();
        bench.text();
        bench.codecs();
        bench.conversions();
        bench.mail();
        bench.formats();
    }
    if let Some(page) = page {
        bench.write_page(&page)?;
    }
    Ok(if bench.print() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
