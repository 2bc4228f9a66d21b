//! The CPU, from `/proc/cpuinfo`. It determines the name of the file that a table is written to.

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

/// Returns the name of the microarchitecture, such as `sapphire-rapids`, for the name of a file. The numbers are from the
/// manuals of the vendors. The name of a CPU that is not listed consists of its numbers.
pub fn family() -> String {
    let number = |key| value(key).and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
    let vendor = value("vendor_id").unwrap_or_default();
    let name = match (&*vendor, number("cpu family"), number("model")) {
        ("GenuineIntel", 6, 0x55) => "skylake-sp",
        ("GenuineIntel", 6, 0x6A | 0x6C) => "ice-lake-sp",
        ("GenuineIntel", 6, 0x8F) => "sapphire-rapids",
        ("GenuineIntel", 6, 0xCF) => "emerald-rapids",
        ("GenuineIntel", 6, 0xAD | 0xAE) => "granite-rapids",
        ("AuthenticAMD", 0x17, 0x30..=0x3F) => "zen-2",
        ("AuthenticAMD", 0x19, 0x00..=0x0F) => "zen-3",
        ("AuthenticAMD", 0x19, 0x10..=0x1F | 0x60..=0x7F | 0xA0..=0xAF) => "zen-4",
        ("AuthenticAMD", 0x1A, _) => "zen-5",
        (_, family, model) => return format!("family-{family}-model-{model}"),
    };
    name.to_owned()
}
