//! Decodes text that arrives in chunks, such as the tokens of a language model. Chunks may end inside characters.
//! Decoding each chunk separately breaks these characters, decoding the stream does not.

use futures::StreamExt;
use tokio::io::AsyncWriteExt;
use tokio_util::codec::FramedRead;
use utf8_codec::codec::Utf8Codec;
use utf8_codec::{TextDecoder, Utf8Error};

const ANSWER: &str = "Straße, 東京, Ελλάδα, 👩‍🚀: every character whole.";

/// Without a runtime: a decoder and an iterator of chunks.
fn collect<'c>(chunks: impl IntoIterator<Item = &'c [u8]>) -> Result<String, Utf8Error> {
    let (mut decoder, mut text) = (TextDecoder::new(), String::new());
    for chunk in chunks {
        for piece in decoder.feed(chunk) {
            text.push_str(piece.text()?);
        }
    }
    if let Some(end) = decoder.finish() {
        text.push_str(end.text()?);
    }
    Ok(text)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    for size in 1..=ANSWER.len() {
        let chunks = || ANSWER.as_bytes().chunks(size);
        let each_on_its_own: String = chunks().map(String::from_utf8_lossy).collect();
        let as_a_stream = collect(chunks())?;
        assert_eq!(as_a_stream, ANSWER);
        if size == 5 {
            assert!(each_on_its_own.contains('\u{FFFD}'));
            println!("each chunk alone: {each_on_its_own}\nas a stream:           {as_a_stream}");
        }
    }

    // With tokio: text as it arrives, in whole characters.
    let (mut model, reader) = tokio::io::duplex(7);
    let writer = tokio::spawn(async move {
        for chunk in ANSWER.as_bytes().chunks(3) {
            model.write_all(chunk).await?;
        }
        model.write_all(b"\xF0\x9F\x91").await
    });
    let mut text = String::new();
    let mut reader = FramedRead::new(reader, Utf8Codec::new());
    let end = loop {
        match reader.next().await {
            Some(Ok(chunk)) => text.push_str(&chunk),
            Some(Err(error)) => break error.utf8_error(),
            None => break None,
        }
    };
    writer.await??;
    assert_eq!(text, ANSWER);
    let truncated = end.expect("the stream was cut inside its last character");
    assert_eq!((truncated.offset, truncated.len), (ANSWER.len() as u64, 3));
    println!("and its end:           {truncated}");
    Ok(())
}
