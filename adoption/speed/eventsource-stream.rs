//! A client that reads events of one line in chunks of 1460 bytes.

mod utf8_codec_texts;

use eventsource_stream::Eventsource;
use futures::StreamExt;
use futures::executor::block_on;

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let mut events = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        events.extend([b"data: ", line, b"\n\n"].concat());
    }
    let mut bytes = 0;
    for _ in 0..rounds {
        let mut stream = futures::stream::iter(events.chunks(1460).map(Ok::<_, ()>)).eventsource();
        block_on(async {
            while let Some(event) = stream.next().await {
                bytes += event.unwrap().data.len();
            }
        });
    }
    std::hint::black_box(bytes);
}
