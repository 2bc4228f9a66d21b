//! Prints how fast this crate is relative to other crates, as a table in Markdown. `docs/performance.md` has a part of it.
//!
//! ```text
//! cargo run --release                           all rows
//! cargo run --release -- --only "64 KiB"        only the scenarios whose name contains this
//!                                               (several names are separated by a vertical bar)
//! cargo run --release -- --rounds 51            more rounds, for a machine with other load
//! cargo run --release -- --chart chunks.svg     no rows; draws the throughput by the size of chunks
//! ```

mod allocations;
mod chart;
mod corpora;
mod cpu;
mod framed;
mod measure;
mod rows;
mod rows_of_conversions;
mod rows_of_counts;
mod rows_of_events;
mod rows_of_frames;
mod rows_of_json;
mod rows_of_legacy;
mod rows_of_lines;
mod rows_of_mail;
mod rows_of_protobuf;
mod rows_of_repair;
mod rows_of_short;
mod rows_of_text;
mod streaming;

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use corpora::Corpus;
use measure::{Clock, Effort};
use rows::Bench;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut only, mut rounds, mut chart) = (None, 25, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{argument} wants a value"))?;
        match &*argument {
            "--only" => only = Some(value),
            "--rounds" => rounds = value.parse()?,
            "--chart" => chart = Some(PathBuf::from(value)),
            _ => return Err(format!("{argument} is no argument").into()),
        }
    }
    let effort = Effort { rounds, turn: Duration::from_millis(1), clock: Clock::Thread };
    if let Some(svg) = chart {
        return chart::draw(Corpus::Cyrillic, effort, &svg);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Bench { effort, only, runtime }.run();
    Ok(())
}
