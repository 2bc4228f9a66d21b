//! Extracts the code of the pages of `docs/`.

use std::path::Path;
use std::{env, fs};

/// Extracts the code blocks marked `rust,ignore`. Each becomes a module named after its heading.
fn main() {
    let (mut modules, mut names) = (String::new(), Vec::new());
    for page in ["recipes", "migrating"] {
        let path = format!("../../../docs/{page}.md");
        println!("cargo::rerun-if-changed={path}");
        let text = fs::read_to_string(&path).expect("the page");
        let (mut heading, mut inside) = (String::new(), false);
        for line in text.lines() {
            match line {
                "```rust,ignore" => {
                    assert!(!names.contains(&heading), "two such blocks below {heading}");
                    names.push(heading.clone());
                    modules += &format!("pub mod {heading} {{\n");
                    inside = true;
                }
                "```" if inside => {
                    modules += "}\n";
                    inside = false;
                }
                _ if inside => modules += &format!("{line}\n"),
                _ => {
                    if let Some(title) = line.strip_prefix("## ") {
                        heading = title.to_lowercase().replace([' ', '-'], "_");
                    }
                }
            }
        }
    }
    let out = env::var("OUT_DIR").expect("set by cargo");
    fs::write(Path::new(&out).join("pages.rs"), modules).expect("a writable folder");
}
