//! `FallbackLinesCodec` and `FallbackDecoder` read a child process that writes UTF-8 and a code page.

use std::fs;
use std::process::{self, Stdio};

use futures::TryStreamExt;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio_util::codec::FramedRead;
use utf8_codec::codec::framing::BlockingFrames;
use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::codec::FallbackLinesCodec;
use utf8_codec_encodings::detect::{FallbackDecoder, Scope};

async fn lines(pipe: impl AsyncRead + Unpin, codec: FallbackLinesCodec) -> Vec<String> {
    let lines = FramedRead::with_capacity(pipe, codec, 100);
    lines.map_ok(|line| line.expect("a line").into()).try_collect().await.expect("no I/O")
}

async fn text(mut pipe: impl AsyncRead + Unpin, mut decoder: FallbackDecoder) -> (Vec<u8>, String) {
    let mut all = Vec::new();
    let mut text = String::new();
    let mut chunk = [0; 60];
    loop {
        let read = pipe.read(&mut chunk).await.expect("no I/O");
        if read == 0 {
            decoder.finish_into(&mut text);
            return (all, text);
        }
        all.extend_from_slice(&chunk[..read]);
        decoder.feed_into(&chunk[..read], &mut text);
    }
}

#[tokio::test]
#[cfg_attr(not(has_python3), ignore = "python3 is not installed")]
async fn the_lines_of_a_child_process_are_utf_8_or_in_a_code_page() {
    for (codec, encoding) in [
        ("cp866", Encoding::Ibm866),
        ("cp932", Encoding::ShiftJis),
        ("cp936", Encoding::Gbk),
        ("cp949", Encoding::EucKr),
    ] {
        let path = std::env::temp_dir().join(format!("utf8-codec-{}-{codec}.json", process::id()));
        let mut child = Command::new("python3")
            .args(["-c", include_str!("fallback.py"), codec])
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let output = child.stdout.take().expect("piped");
        let errors = child.stderr.take().expect("piped");
        let new = FallbackLinesCodec::new(encoding).expect("it is supported");
        let decoder = FallbackDecoder::new(encoding, Scope::Line).expect("it is supported");
        let (lines, (all, text)) = tokio::join!(lines(output, new.clone()), text(errors, decoder));
        assert_eq!(child.wait().await.expect("it ends").code(), Some(7));

        let expected = fs::read_to_string(&path).expect("the text");
        fs::remove_file(&path).expect("a file");
        let expected: Vec<String> =
            expected.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(expected.len(), 400);
        assert!(core::str::from_utf8(&all).is_err());
        assert_eq!(lines, expected);
        assert!(text.lines().eq(expected.iter().map(String::as_str)));
        let blocking = BlockingFrames::new(&all[..], new).map(|line| line.expect("no I/O").expect("a line"));
        assert!(blocking.eq(expected));
    }
}
