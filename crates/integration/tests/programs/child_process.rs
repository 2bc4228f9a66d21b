//! The output of a child process as lines.

use std::process::Stdio;

use futures::TryStreamExt;
use tokio_util::codec::FramedRead;
use utf8_codec::codec::Utf8LinesCodec;
use utf8_codec::{ErrorPolicy, LineEnding, TextDecoder};

/// dsh-tauri-desk#197, rtk-ai/rtk#2049: a UTF-8 error ends the reading of a child's output. The pipe closes, the child
/// fails with EPIPE, and the rest of the output is lost.
#[tokio::test]
#[cfg_attr(not(unix), ignore = "there is no sh")]
async fn the_whole_output_of_a_child_is_read() {
    const SCRIPT: &str = r"printf 'start\n\377\376\nprogress 10%%\rprogress 100%%\rdone\n'";
    let child = tokio::process::Command::new("sh").args(["-c", SCRIPT]).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("sh starts");
    let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    let codec = Utf8LinesCodec::with_decoder(replace).with_line_ending(LineEnding::Any);
    let output = FramedRead::new(child.stdout.take().unwrap(), codec);
    let lines: Vec<_> = output.try_collect().await.unwrap();
    assert_eq!(lines, ["start", "\u{FFFD}\u{FFFD}", "progress 10%", "progress 100%", "done"]);
    assert!(child.wait().await.unwrap().success(), "the child wrote everything");
}
