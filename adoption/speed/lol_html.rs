//! An element whose text arrives from a server in chunks of 1460 bytes.

mod utf8_codec_texts;

use std::sync::Arc;

use lol_html::html_content::ContentType;
use lol_html::{HtmlRewriter, Settings, element, streaming};

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let text = Arc::new(text);
    let mut bytes = 0;
    for _ in 0..rounds {
        let text = Arc::clone(&text);
        let append = element!("p", move |element| {
            let text = Arc::clone(&text);
            element.streaming_append(streaming!(move |sink| {
                for chunk in text.chunks(1460) {
                    sink.write_utf8_chunk(chunk, ContentType::Html)?;
                }
                Ok(())
            }));
            Ok(())
        });
        let settings = Settings::new().append_element_content_handler(append);
        let mut rewriter = HtmlRewriter::new(settings, |chunk: &[u8]| bytes += chunk.len());
        rewriter.write(b"<p></p>").unwrap();
        rewriter.end().unwrap();
    }
    std::hint::black_box(bytes);
}
