//! Looks for what some tests need.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

fn main() {
    look_for_programs();
}

/// Sets the cfg `has_NAME` for each program that is installed, and for the published suites. Without it the tests that need
/// it are ignored. A name in `UTF8_CODEC_REQUIRED`, separated by spaces, counts as present, so that its tests fail if it is
/// absent. After the installation of a program: `touch build.rs`.
fn look_for_programs() {
    println!("cargo::rerun-if-changed=build.rs");
    for variable in ["PATH", "UTF8_CODEC_GRPCIO", "UTF8_CODEC_PROTOBUF", "UTF8_CODEC_REQUIRED"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let required = env::var("UTF8_CODEC_REQUIRED").unwrap_or_default();
    let python = env::var("UTF8_CODEC_GRPCIO").unwrap_or("python3".into());
    let python_protobuf = env::var("UTF8_CODEC_PROTOBUF").unwrap_or("python3".into());
    let has_suites = Path::new("../../../shared/conformance").is_dir();
    for (name, is_present) in [
        ("curl", runs("curl", &["--version"])),
        ("grpcio", runs(&python, &["-c", "import grpc"])),
        // Java compiles its program itself.
        ("java", runs("java", &["--add-modules", "jdk.compiler", "-version"])),
        ("node", runs("node", &["--version"])),
        ("perl", runs("perl", &["-v"])),
        ("protobuf", runs(&python_protobuf, &["-c", "import google.protobuf"])),
        ("python3", runs("python3", &["-c", "import email, gzip, smtplib"])),
        ("suites", has_suites),
    ] {
        println!("cargo::rustc-check-cfg=cfg(has_{name})");
        if is_present || required.split(' ').any(|it| it == name) {
            println!("cargo::rustc-cfg=has_{name}");
        }
    }
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
