//! Reads the published suites from `../shared/conformance`, if that folder exists: one JSON object per line.

use std::path::Path;

use serde_json::Value;

/// A case of a suite. The README of the suite documents the members.
pub struct Case {
    pub id: String,
    pub chunks: Vec<Vec<u8>>,
    pub dialect: String,
    pub policy: String,
    pub bom_strip: bool,
    pub json: Value,
}

impl Case {
    pub fn expect(&self) -> &Value {
        &self.json["expect"]
    }

    /// Decodes a hexadecimal member of `expect`.
    pub fn expect_hex(&self, member: &str) -> Option<Vec<u8>> {
        self.expect()[member].as_str().map(unhex)
    }

    pub fn slices(&self) -> Vec<&[u8]> {
        self.chunks.iter().map(Vec::as_slice).collect()
    }
}

pub fn unhex(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2), "{hex}");
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hexadecimal")).collect()
}

/// Returns every case of the suites whose file name `wanted` accepts. Without the folder it prints a message and
/// returns `None`.
pub fn cases(wanted: impl Fn(&str) -> bool) -> Option<Vec<Case>> {
    // Another package of the workspace may include this file.
    let folders =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("../shared/conformance"));
    let folder = folders.take(3).find(|folder| folder.is_dir()).unwrap_or_default();
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: {} does not exist", folder.display());
        return None;
    };
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.ends_with(".jsonl") || !wanted(&name) {
            continue;
        }
        for line in std::fs::read_to_string(&file).expect("a readable suite").lines() {
            let json: Value = serde_json::from_str(line).expect("JSON");
            let text = |member: &str| json[member].as_str().unwrap_or_default().to_owned();
            cases.push(Case {
                id: text("id"),
                chunks: json["chunks"]
                    .as_array()
                    .map(|chunks| chunks.iter().map(|c| unhex(c.as_str().expect("hex"))).collect())
                    .unwrap_or_default(),
                dialect: text("dialect"),
                policy: text("policy"),
                bom_strip: json["bom"] == "strip",
                json,
            });
        }
    }
    assert!(!cases.is_empty(), "{} has no cases", folder.display());
    Some(cases)
}
