//! Compares the parts that `MessageValidator` finds in generated messages with those of other mail parsers: Python's
//! `email`, Go's `mime/multipart`, mail-parser and mailparse. A message that they parse differently must have an error
//! in its structure.
//!
//! `cargo run --release [MESSAGES [SEED]]`. Fails if a parser finds other parts than `MessageValidator` in a message
//! without an error in its structure, or if `MessageValidator` finds such an error in a plain message.

mod messages;
mod readers;

use std::process::ExitCode;

use fastrand::Rng;
use messages::message;
use readers::{Leaf, READERS, Seen, ours};

/// One in this many messages is plain: a message as mail programs write it.
const PLAIN: u64 = 4;
/// The number of differences that are printed for each reader.
const SHOWN: usize = 3;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let (count, seed) = (args.next().unwrap_or(20_000), args.next().unwrap_or(2046));
    let mut rng = Rng::with_seed(seed);
    let messages: Vec<_> = (0..count).map(|i| message(&mut rng, i % PLAIN == 0)).collect();
    let verdicts: Vec<_> = messages.iter().map(|message| ours(message)).collect();
    let malformed = verdicts.iter().filter(|ours| ours.is_malformed).count();
    println!("{count} messages, seed {seed}: {malformed} have an error in their structure");

    let rejected: Vec<_> = verdicts.iter().step_by(PLAIN as usize).filter(|ours| ours.is_malformed).collect();
    println!("{} of them are plain: {} of those have an error", count.div_ceil(PLAIN), rejected.len());
    let mut failures = rejected.len();
    for (name, reader) in READERS {
        let Some(seen) = reader(&messages) else {
            println!("{name}: SKIPPED, it is not installed");
            continue;
        };
        let (mut same, mut stopped, mut different) = (0, 0, 0);
        for ((theirs, ours), message) in seen.iter().zip(&verdicts).zip(&messages) {
            if ours.is_malformed {
                continue;
            }
            match compare(&ours.seen, theirs) {
                Comparison::Same => same += 1,
                Comparison::Stopped => stopped += 1,
                Comparison::Different => {
                    different += 1;
                    if different <= SHOWN {
                        println!("{name} differs: \"{}\"", message.escape_ascii());
                        println!("  MessageValidator: {}\n  {name}: {}", show(&ours.seen), show(theirs));
                    }
                }
            }
        }
        println!(
            "{name}: of {} messages without an error {same} have the same parts, {stopped} up to an error of the reader, \
             {different} have other parts",
            same + stopped + different
        );
        failures += different;
    }
    if failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

enum Comparison {
    Same,
    /// The reader returned an error. The parts before it are the same.
    Stopped,
    Different,
}

fn compare(ours: &Seen, theirs: &Seen) -> Comparison {
    match theirs.error {
        None if ours.leaves == theirs.leaves => Comparison::Same,
        Some(_) if ours.leaves.starts_with(&theirs.leaves) => Comparison::Stopped,
        _ => Comparison::Different,
    }
}

fn show(seen: &Seen) -> String {
    let leaf = |leaf: &Leaf| {
        format!("[{} {} {} \"{}\"]", leaf.content_type, leaf.charset, leaf.encoding, leaf.body.escape_ascii())
    };
    let leaves: Vec<_> = seen.leaves.iter().map(leaf).collect();
    format!("{} {}", leaves.concat(), seen.error.as_deref().unwrap_or_default())
}
