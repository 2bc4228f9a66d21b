//! A reader that returns 4 KiB at a time.

mod utf8_codec_texts;

use async_utf8_decoder::Utf8Decoder;
use futures::executor::block_on;
use futures::{StreamExt, TryStreamExt, stream};

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let mut bytes = 0;
    for _ in 0..rounds {
        let chunks = stream::iter(text.chunks(4096).map(Ok::<_, std::io::Error>));
        let mut decoder = Utf8Decoder::new(chunks.into_async_read());
        block_on(async {
            while let Some(text) = decoder.next().await {
                bytes += text.unwrap().len();
            }
        });
    }
    std::hint::black_box(bytes);
}
