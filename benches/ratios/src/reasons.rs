//! Which section of `docs/performance/missed.md` explains a row that misses its goal.

use crate::rows::Row;

/// A part of the name of a scenario, and an input; an empty one stands for all inputs.
type Rows = (&'static str, &'static str);

/// The heading of each section, and its rows. A row belongs to the first section that has it.
const SECTIONS: &[(&str, &[Rows])] = &[
    ("The memory is the limit", &[("KiB chunks", "ASCII JSON"), ("512 MiB", "")]),
    (
        "Short chunks and short strings",
        &[
            ("64 B chunks", ""),
            ("16 B chunks", ""),
            ("1 B chunks", ""),
            ("each length", ""),
            ("lengths", ""),
            ("strings", ""),
        ],
    ),
    ("Mostly-ASCII HTML", &[(" chunks", "English HTML")]),
    ("Dense text", &[(" chunks", "")]),
    ("Error positions", &[("error position", "")]),
    ("Repair", &[("repair", ""), ("Replace", "")]),
    (
        "Frames and lines",
        &[("FramedRead", ""), ("lines, one", ""), ("encoder", ""), ("counted", ""), ("server-sent", "")],
    ),
    ("Mail", &[("quoted-printable", ""), ("base64", ""), ("mail", "")]),
    ("Subsets and detection", &[("subset", ""), ("detector", ""), ("designations", "")]),
    ("UTF-16, UTF-32 and ISO 8859-1", &[("UTF-16", ""), ("UTF-32", ""), ("8859", ""), ("1252", "")]),
    ("ASCII through a conversion", &[(" to ", "ASCII JSON")]),
    ("Dense text through a conversion", &[(" to ", "")]),
];

/// Returns the heading of the section for this row.
pub fn heading(row: &Row) -> Option<&'static str> {
    let is_of = |&&(scenario, input): &&Rows| {
        row.scenario.contains(scenario) && (input.is_empty() || row.input == input)
    };
    SECTIONS.iter().find(|(_, rows)| rows.iter().any(|rows| is_of(&rows))).map(|&(heading, _)| heading)
}

/// Returns the verdict of a row, with a link to the section if the goal is missed.
pub fn verdict(row: &Row) -> String {
    match (row.is_missed(), heading(row)) {
        (false, _) => row.verdict().to_owned(),
        (true, Some(heading)) => format!("**missed**: [why](missed.md#{})", anchor(heading)),
        (true, None) => "**missed**, not explained".to_owned(),
    }
}

/// Returns the headings that the page of explanations does not have.
pub fn absent(page: &str) -> Vec<&'static str> {
    let headings = SECTIONS.iter().map(|&(heading, _)| heading);
    headings.filter(|heading| !page.lines().any(|line| line.strip_prefix("## ") == Some(heading))).collect()
}

/// Returns the anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}
