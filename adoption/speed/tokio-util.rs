//! Lines of 80 bytes in reads of 8 KiB.

mod utf8_codec_texts;

use bytes::BytesMut;
use tokio_util::codec::{Decoder, LinesCodec};

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let (mut codec, mut buffer, mut bytes) = (LinesCodec::new_with_max_length(65536), BytesMut::new(), 0);
    for _ in 0..rounds {
        for read in text.chunks(8192) {
            buffer.extend_from_slice(read);
            while let Some(line) = codec.decode(&mut buffer).unwrap() {
                bytes += line.len();
            }
        }
    }
    std::hint::black_box(bytes);
}
