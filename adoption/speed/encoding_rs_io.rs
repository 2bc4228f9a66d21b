//! A file in UTF-8 with a BOM.

mod utf8_codec_texts;

use std::io::Read;

use encoding_rs_io::DecodeReaderBytes;

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let file = [b"\xEF\xBB\xBF", &text[..]].concat();
    let mut buffer = vec![0; 8192];
    let mut bytes = 0;
    for _ in 0..rounds {
        let mut reader = DecodeReaderBytes::new(&file[..]);
        loop {
            let read = reader.read(&mut buffer).unwrap();
            if read == 0 {
                break;
            }
            bytes += read;
        }
    }
    std::hint::black_box(bytes);
}
