//! A response that is read as text.

mod utf8_codec_texts;

use std::io::Cursor;

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    for _ in 0..rounds {
        let mut body = ureq::Body::builder().mime_type("text/plain").reader(Cursor::new(text.clone()));
        std::hint::black_box(body.read_to_string().unwrap().len());
    }
}
