//! `TextDecoder` returns slices of the chunk.

use std::borrow::Cow;

use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};

use crate::allocations::count;

#[test]
fn borrowed_text_and_ranges_do_not_allocate() {
    let chunk =
        b"\xEF\xBB\xBFna\xC3\xAFve text that is longer than a register, and an unfinished character \xE2\x82";
    let mut decoder = TextDecoder::new().with_bom_policy(BomPolicy::Strip);
    let mut text = Cow::Borrowed("");
    assert_eq!(count(|| text = decoder.decode_chunk(chunk).expect("well-formed")), 0);
    assert_eq!(text.as_ptr(), chunk[3..].as_ptr());
    assert_eq!(text.len(), chunk.len() - 5);
    assert_eq!(
        count(|| drop(decoder.decode_chunk(b"\xAC and more"))),
        1,
        "one copy where a character was split"
    );

    let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Escape);
    assert_eq!(count(|| decoder.feed_ranges(b"a\xFFb\xE2\x82c").for_each(drop)), 0);
}
