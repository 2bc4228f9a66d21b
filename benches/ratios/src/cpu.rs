//! The CPU, from `/proc/cpuinfo`.

use std::fs;

/// A value of the first CPU.
fn value(key: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let of_line = |line: &str| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    };
    text.lines().find_map(of_line)
}

/// The name with the family, model and stepping, because a hypervisor may hide the name.
pub fn model() -> String {
    let of = |key| value(key).unwrap_or_else(|| "?".to_owned());
    format!(
        "{}, family {}, model {}, stepping {}",
        of("model name"),
        of("cpu family"),
        of("model"),
        of("stepping")
    )
}
