//! On Linux the program is linked without the start code of the C library. It has its own entry point, and needs only
//! `memcpy` and similar functions.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-link-arg-bins=-nostartfiles");
        println!("cargo::rustc-link-arg-bins=-lc");
    }
}
