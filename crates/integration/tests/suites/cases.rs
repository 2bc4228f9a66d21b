//! Reads the suites: one JSON object per line. Their README documents the members.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::unhex;

/// A case of a suite.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) dialect: String,
    pub(crate) policy: String,
    pub(crate) bom_strip: bool,
    pub(crate) json: Value,
}

impl Case {
    pub(crate) fn expect(&self) -> &Value {
        &self.json["expect"]
    }

    /// Decodes a hexadecimal member of `expect`.
    pub(crate) fn expect_hex(&self, member: &str) -> Option<Vec<u8>> {
        self.expect()[member].as_str().map(unhex)
    }

    pub(crate) fn slices(&self) -> Vec<&[u8]> {
        self.chunks.iter().map(Vec::as_slice).collect()
    }
}

/// Returns the path of a file of the suites.
pub(crate) fn suite(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../../shared/conformance", name].iter().collect()
}

/// Returns every case of the suites whose file name `wanted` accepts.
pub(crate) fn cases(wanted: impl Fn(&str) -> bool) -> Vec<Case> {
    let mut files: Vec<_> =
        fs::read_dir(suite("")).expect("the suites").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.ends_with(".jsonl") || !wanted(&name) {
            continue;
        }
        for line in fs::read_to_string(&file).expect("a readable suite").lines() {
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
    assert!(!cases.is_empty(), "the suites have no such file");
    cases
}
