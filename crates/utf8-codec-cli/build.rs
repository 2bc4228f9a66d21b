//! Sets the text of `utf8-codec --version`: the version, the commit and the target; and the commit alone, for the metrics.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let target = env::var("TARGET").expect("cargo sets it");
    let commit = commit().unwrap_or_default();
    let build = format!("{commit} {target}");
    let build = build.trim_start();
    println!("cargo::rustc-env=UTF8_CODEC_REVISION={commit}");
    println!("cargo::rustc-env=UTF8_CODEC_VERSION={version} ({build})");
}

/// Returns the first digits of the commit: of a package from the registry, what `cargo publish` recorded, otherwise
/// that of the checkout. Sources without either have no commit.
fn commit() -> Option<String> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR")?;
    let manifest = Path::new(&manifest);
    let digits = match fs::read_to_string(manifest.join(".cargo_vcs_info.json")) {
        // {"git": {"sha1": "..."}, ...}
        Ok(info) => info.split('"').find(|value| value.len() == 40)?.to_owned(),
        Err(_) => {
            // The sources may be inside a repository that is not this one.
            let root = manifest.parent()?.parent()?;
            let directory = root.join(".git");
            if !directory.exists() {
                return None;
            }
            for name in ["HEAD", "logs/HEAD"] {
                println!("cargo::rerun-if-changed={}", directory.join(name).display());
            }
            let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root).output().ok()?;
            String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?
        }
    };
    let short = digits.get(..9)?;
    short.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| short.to_owned())
}
