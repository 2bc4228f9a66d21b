//! Measures the ratio for every goal of `docs/performance.md`.
//!
//! ```text
//! cargo run --release                        all rows and the charts; writes ratios.csv, chunks.csv and chunks.svg to
//!                                            target/, and the pages of this CPU to performance/, if that exists
//! cargo run --release -- --only "64 KiB"     only the scenarios whose name contains this, no chart
//!                                            (several names are separated by a vertical bar)
//! cargo run --release -- --rounds 51         more rounds, for a machine with other load
//! cargo run --release -- --out ../../docs    another directory for the files
//! ```

mod allocations;
mod corpora;
mod cpu;
mod framed;
mod measure;
mod reasons;
mod report;
mod rows;
mod rows_of_conversions;
mod rows_of_counts;
mod rows_of_events;
mod rows_of_lines;
mod rows_of_mail;
mod rows_of_repair;
mod rows_of_short;
mod rows_of_text;
mod streaming;

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use corpora::Corpus;
use measure::{Clock, Effort};
use rows::Bench;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut only, mut rounds, mut out) = (None, 25, PathBuf::from("target"));
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{argument} wants a value"))?;
        match &*argument {
            "--only" => only = Some(value),
            "--rounds" => rounds = value.parse()?,
            "--out" => out = value.into(),
            _ => return Err(format!("{argument} is no argument").into()),
        }
    }
    let effort = Effort { rounds, turn: Duration::from_millis(1), clock: Clock::Thread };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let is_whole = only.is_none();
    let mut bench = Bench { effort, only, rows: Vec::new(), short: String::new(), runtime };
    bench.run();
    report::short(&bench.short, &out.join("performance/short.md"))?;
    if is_whole {
        fs::create_dir_all(&out)?;
        report::page(&bench.rows, &out.join("performance"))?;
        report::conversions(&bench.rows, &out.join("performance"))?;
        fs::write(out.join("ratios.csv"), report::csv(&bench.rows))?;
        report::chart(Corpus::Cyrillic, effort, &out.join("chunks.csv"), &out.join("chunks.svg"))?;
    }
    Ok(())
}
