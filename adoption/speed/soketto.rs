//! A client that reads text messages of 64 KiB in frames of 4 KiB.

mod utf8_codec_texts;

use futures::io::Cursor;
use soketto::connection::{Builder, Mode};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let (frames, messages) = utf8_codec_texts::frames(&text);
    let mut message = Vec::new();
    for _ in 0..rounds {
        let (_, mut receiver) = Builder::new(Cursor::new(frames.clone()), Mode::Client).finish();
        for _ in 0..messages {
            message.clear();
            receiver.receive_data(&mut message).await.unwrap();
        }
    }
    std::hint::black_box(message.len());
}
