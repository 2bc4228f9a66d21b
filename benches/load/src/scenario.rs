//! What the scenarios share: their parameters, their results, and functions for them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::process::Proxy;
use crate::text::Text;

/// The parameters that all scenarios share.
#[derive(Debug)]
pub struct Run {
    pub program: PathBuf,
    /// An earlier build of it.
    pub before: Option<PathBuf>,
    pub directory: PathBuf,
    pub quick: bool,
    /// The time for which memory is measured.
    pub steady: Duration,
    pub only: Vec<String>,
    pub text: Text,
}

impl Run {
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// Returns `long`, or `quick` in a quick run.
    pub fn scaled(&self, long: u32, quick: u32) -> u32 {
        if self.quick { quick } else { long }
    }

    pub fn proxy(&self, upstream: std::net::SocketAddr, flags: &[&str]) -> Proxy {
        Proxy::ours(&self.program, upstream, flags)
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Row {
    pub load: String,
    pub done: u64,
    /// The number of connections that were lost, or that received or delivered wrong bytes.
    pub lost: u64,
    pub seen: String,
}

impl Row {
    pub fn new(load: impl Into<String>, tally: &Tally, seen: impl Into<String>) -> Self {
        Self { load: load.into(), done: tally.done, lost: tally.lost, seen: seen.into() }
    }
}

/// The results of the parts of a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub done: u64,
    pub lost: u64,
}

impl Tally {
    pub fn count<T>(&mut self, result: Result<T, String>) -> Option<T> {
        match result {
            Ok(value) => {
                self.done += 1;
                Some(value)
            }
            Err(error) => {
                if self.lost < 10 {
                    eprintln!("  lost: {error}");
                }
                self.lost += 1;
                None
            }
        }
    }

    /// Counts a condition that must be true.
    pub fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        self.count(if holds { Ok(()) } else { Err(what()) });
    }
}

/// Runs `count` tasks, at most `at_a_time` of them at the same time.
pub async fn many<T: Send + 'static, F>(
    count: u32,
    at_a_time: usize,
    task: impl Fn(u32) -> F,
) -> (Tally, Vec<T>)
where
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let (mut tally, mut values) = (Tally::default(), Vec::new());
    let turns = Arc::new(Semaphore::new(at_a_time));
    let mut tasks = JoinSet::new();
    for n in 0..count {
        let turn = Arc::clone(&turns).acquire_owned().await.expect("it is not closed");
        let task = task(n);
        tasks.spawn(async move {
            let result = task.await;
            drop(turn);
            result
        });
        while let Some(ended) = tasks.try_join_next() {
            values.extend(tally.count(ended.expect("no panic")));
        }
    }
    while let Some(ended) = tasks.join_next().await {
        values.extend(tally.count(ended.expect("no panic")));
    }
    (tally, values)
}

/// Returns the percentile of the sorted values for this share.
pub fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
}

/// Formats a time in milliseconds.
pub fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
