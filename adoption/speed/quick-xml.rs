//! A file that is read as XML text.

mod utf8_codec_texts;

use std::io::{BufRead, BufReader};

use quick_xml::encoding::DecodingReader;

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let mut bytes = 0;
    for _ in 0..rounds {
        let mut reader = DecodingReader::new(BufReader::new(&text[..]));
        loop {
            let length = reader.fill_buf().unwrap().len();
            if length == 0 {
                break;
            }
            bytes += length;
            reader.consume(length);
        }
    }
    std::hint::black_box(bytes);
}
