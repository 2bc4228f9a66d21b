//! `utf8-codec.toml`, the configuration file of the command: it has options, or an error that names one of its lines.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The files of the command that parse a configuration.
#[allow(dead_code)]
#[path = "../../crates/utf8-codec-cli/src/args.rs"]
mod args;
#[allow(dead_code, unreachable_pub)]
#[path = "../../crates/utf8-codec-cli/src/charset.rs"]
mod charset;
#[allow(dead_code)]
#[path = "../../crates/utf8-codec-cli/src/escape.rs"]
mod escape;
#[allow(dead_code)]
#[path = "../../crates/utf8-codec-cli/src/files.rs"]
mod files;
#[allow(dead_code)]
#[path = "../../crates/utf8-codec-cli/src/outcome.rs"]
mod outcome;
#[allow(dead_code, unused_imports)]
#[path = "../../crates/utf8-codec-cli/src/check"]
mod check {
    mod config;
    mod mojibake;
    mod rules;

    use std::path::Path;

    /// Returns the options of some files, or the error.
    pub(crate) fn options(text: &str) -> Result<Vec<String>, String> {
        let config = config::Config::parse(text, Path::new("/root"))?;
        let files = [("/root", "a.txt"), ("/root/legacy/deep", "deep/b.ps1"), ("/elsewhere", "..")];
        let options =
            files.map(|(directory, path)| config.options_for(Path::new(directory), Path::new(path)));
        Ok(options.iter().map(|options| format!("{options:?}")).collect())
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    let found = check::options(text);
    match &found {
        Ok(options) => {
            // A comment at the end changes nothing, unless it is in the last line.
            assert_eq!(check::options(&format!("{text}\n# comment\n")).as_ref(), Ok(options));
        }
        Err(error) => {
            let line = error.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
            // An error in a glob names the glob.
            let Some((line, why)) = line else { return assert!(!error.is_empty()) };
            let lines = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
            assert!(
                !why.is_empty() && line.parse().is_ok_and(|line: usize| (1..=lines).contains(&line)),
                "{error}"
            );
        }
    }
});
