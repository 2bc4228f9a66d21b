//! `CriCodec` reads a log that was written as containerd does.

use std::fs::{self, File};
use std::process::{self, Command};

use futures::TryStreamExt;
use serde_json::Value;
use tokio_util::codec::FramedRead;
use utf8_codec::codec::framing::{BlockingFrames, CriCodec, CriLine};
use utf8_codec::{ErrorPolicy, TextDecoder};

use crate::run;
use crate::support::unhex;

fn check(line: &CriLine, expected: &Value) {
    assert_eq!(line.stream().to_string(), expected["stream"]);
    assert_eq!(line.text(), unhex(expected["text"].as_str().expect("hexadecimal")));
    assert!(line.is_whole() && line.time().starts_with("2026-11-28T20:00:00."));
    let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    assert_eq!(
        replace.decode_whole(line.text()).expect("it is repaired"),
        expected["shown"].as_str().expect("text")
    );
}

#[tokio::test]
#[cfg_attr(not(has_python3), ignore = "python3 is not installed")]
async fn the_lines_of_a_container_are_whole() {
    let path = std::env::temp_dir().join(format!("utf8-codec-{}.log", process::id()));
    let mut python = Command::new("python3");
    let output = run(python.args(["-c", include_str!("cri.py")]).arg(&path), String::new());
    let expected: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(expected.len(), 600);

    let log = fs::read(&path).expect("the log");
    assert!(log.windows(3).filter(|it| it == b" P ").count() > 300);
    let mut number = 0;
    for line in BlockingFrames::new(File::open(&path).expect("the log"), CriCodec::new()) {
        check(&line.expect("no I/O").expect("a line"), &expected[number]);
        number += 1;
    }
    assert_eq!(number, expected.len());

    let file = tokio::fs::File::open(&path).await.expect("the log");
    let lines: Vec<_> =
        FramedRead::with_capacity(file, CriCodec::new(), 1000).try_collect().await.expect("no I/O");
    assert_eq!(lines.len(), expected.len());
    lines.iter().zip(&expected).for_each(|(line, expected)| check(line.as_ref().expect("a line"), expected));
    fs::remove_file(&path).expect("a file");
}
