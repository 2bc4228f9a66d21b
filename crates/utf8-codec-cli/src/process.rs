//! The metrics of the process, with the names that the clients of Prometheus use: CPU, memory, descriptors and the start.
//!
//! They are read from `/proc`, so only Linux has them. What cannot be read is left out.

use core::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The unit of times in `/proc/self/stat` (`USER_HZ`): 100 on every architecture that Rust has for Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// The process of this program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        // After the name of the program, which may contain spaces and parentheses. The first of these is the third field.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        if let (Some(user), Some(system)) = (seconds(&fields, 14), seconds(&fields, 15)) {
            let counter = ConstCounter::new(user + system);
            let help = "CPU time of the process, in user and in system mode";
            let kind = counter.metric_type();
            counter.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, kind)?)?;
        }
        let start = boot_time().zip(seconds(&fields, 22)).map(|(boot, start)| boot + start);
        for (name, help, value) in [
            (
                "process_resident_memory_bytes",
                "Memory of the process in RAM",
                bytes_of(&status, "VmRSS:").map(|it| it as f64),
            ),
            (
                "process_virtual_memory_bytes",
                "Virtual memory of the process",
                bytes_of(&status, "VmSize:").map(|it| it as f64),
            ),
            ("process_open_fds", "Open file descriptors", open_descriptors().map(|it| it as f64)),
            ("process_max_fds", "The soft limit of open file descriptors", max_descriptors()),
            ("process_start_time_seconds", "The start of the process since the Unix epoch", start),
        ] {
            if let Some(value) = value {
                let gauge = ConstGauge::new(value);
                gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
            }
        }
        Ok(())
    }
}

/// Returns the rest of the line that starts with `name`.
fn value_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// Returns the time in a field of `/proc/self/stat`, by the number of the field, which is 3 or more.
fn seconds(fields: &[&str], number: usize) -> Option<f64> {
    Some(fields.get(number - 3)?.parse::<f64>().ok()? / TICKS_PER_SECOND)
}

/// Returns a size in `/proc/self/status`, in bytes.
fn bytes_of(status: &str, name: &str) -> Option<u64> {
    Some(value_of(status, name)?.trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
}

/// Returns the time of the start of the system, in seconds since the Unix epoch.
fn boot_time() -> Option<f64> {
    value_of(&fs::read_to_string("/proc/stat").ok()?, "btime")?.parse().ok()
}

fn open_descriptors() -> Option<usize> {
    // Without the one that reads the directory.
    Some(fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1))
}

/// Returns the limit, or `None` if there is none.
fn max_descriptors() -> Option<f64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    value_of(&limits, "Max open files")?.split_whitespace().next()?.parse().ok()
}
