//! A file in UTF-8 with a BOM.

mod utf8_codec_texts;

use std::io::Read;

use encoding_rs_io::DecodeReaderBytes;

fn main() {
    let Some(text) = utf8_codec_texts::from_argument() else { return };
    let file = [b"\xEF\xBB\xBF", &text[..]].concat();
    let mut buffer = vec![0; 8192];
    let mut bytes = 0;
    for _ in 0..200 {
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
