use std::sync::{Arc, Mutex};

use lol_html::html_content::ContentType;
use lol_html::{RewriteStrSettings, element, rewrite_str, streaming};

/// Returns whether the sink accepts each of these chunks.
fn taken(chunks: &'static [&'static [u8]]) -> Vec<bool> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let write = Arc::clone(&seen);
    let append = element!("p", move |element| {
        let write = Arc::clone(&write);
        element.streaming_append(streaming!(move |sink| {
            for chunk in chunks {
                write.lock().unwrap().push(sink.write_utf8_chunk(chunk, ContentType::Text).is_ok());
            }
            Ok(())
        }));
        Ok(())
    });
    let settings = RewriteStrSettings::new().append_element_content_handler(append);
    rewrite_str("<p></p>", settings).unwrap();
    Arc::into_inner(seen).unwrap().into_inner().unwrap()
}

#[test]
fn the_chunk_that_makes_a_character_ill_formed_is_rejected() {
    assert_eq!(taken(&[b"\xED", b"\x9F", b"\xBF"]), [true; 3]);
    assert_eq!(taken(&[b"\xED", b"\xA0"]), [true, false], "half of a surrogate pair");
    assert_eq!(taken(&[b"\xF4", b"\x90"]), [true, false], "above U+10FFFF");
    assert_eq!(taken(&[b"\xE0", b"\x80"]), [true, false], "overlong");
}
