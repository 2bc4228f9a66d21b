//! Sets `cfg(utf8_codec_unoptimized)` if the crate is compiled with `opt-level = 0`. rustc has no `cfg` for that, and
//! `debug_assertions` is independent of it. The cfg selects faster functions for such builds; no result depends on it.
//! `RUSTFLAGS='--cfg utf8_codec_kernel="std"'` sets it, too, so that the tests can run with these functions. With another
//! value that kernel is used at every level.
//!
//! Sets `cfg(utf8_codec_vectors)` for the targets that have a vector kernel, with the name of the architecture: see
//! `src/arch/mod.rs`. Builds without optimizations have none, so that it is not compiled. `cfg(utf8_codec_avx512)` adds the
//! kernel for AVX-512. Both need a compiler that has the instructions as safe functions: 1.87, and 1.89 for AVX-512.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(utf8_codec_unoptimized)");
    println!(
        "cargo::rustc-check-cfg=cfg(utf8_codec_vectors, values(none(), \"aarch64\", \"wasm32\", \"x86_64\"))"
    );
    println!("cargo::rustc-check-cfg=cfg(utf8_codec_avx512)");
    let is_unoptimized = match env::var("CARGO_CFG_UTF8_CODEC_KERNEL") {
        Ok(kernel) => kernel == "std",
        Err(_) => env::var("OPT_LEVEL").is_ok_and(|level| level == "0"),
    };
    if is_unoptimized {
        println!("cargo::rustc-cfg=utf8_codec_unoptimized");
        return;
    }
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let has = |feature: &str| target("FEATURE").split(',').any(|it| it == feature);
    let arch = target("ARCH");
    let has_vectors = match &*arch {
        "aarch64" => has("neon") && target("ENDIAN") == "little",
        "wasm32" => has("simd128"),
        "x86_64" => has("sse2"),
        _ => false,
    };
    // If the version is unknown, the compiler is assumed to be new.
    let version = minor_version().unwrap_or(u32::MAX);
    if has_vectors && version >= 87 {
        println!("cargo::rustc-cfg=utf8_codec_vectors");
        println!("cargo::rustc-cfg=utf8_codec_vectors=\"{arch}\"");
        if arch == "x86_64" && version >= 89 {
            println!("cargo::rustc-cfg=utf8_codec_avx512");
        }
    }
}

/// Returns the minor version of the compiler: `89` for 1.89.0. The first nightlies of a version lack what it makes
/// stable, so a nightly counts as the version before it.
fn minor_version() -> Option<u32> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    let mut parts = version.strip_prefix("rustc 1.")?.split('.');
    let minor: u32 = parts.next()?.parse().ok()?;
    let patch = parts.next()?;
    let is_unfinished = patch.starts_with("0-nightly") || patch.starts_with("0-dev");
    Some(minor - u32::from(is_unfinished))
}
