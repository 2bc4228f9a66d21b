//! `Filter` edits a chunk in place.

use bytes::Bytes;
use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_proxy::{Edit, Filter};

use crate::allocations::count;

#[test]
fn edits_and_a_chunk_that_passes_do_not_allocate() {
    let text = "schön \u{1F4A9} 文字 ".repeat(500);
    let ill_formed = b"abc\xFF\xC3 \xED\xA0\x80".repeat(300);
    let mut filter = Filter::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Escape));
    let mut passed = 0;
    let allocations_of_edits = count(|| {
        for size in [1, 2, 3, 1000, 16_384] {
            for slice in text.as_bytes().chunks(size).chain(ill_formed.chunks(size)) {
                let _ = filter.feed_with(slice, |edit| match edit {
                    Edit::Pass(range) => passed += range.len(),
                    Edit::Insert(bytes) => passed += bytes.len(),
                    _ => {}
                });
            }
        }
    });
    assert_eq!(allocations_of_edits, 0);
    assert!(passed > 5 * text.len());

    let mut filter = Filter::new();
    let chunk = Bytes::from(text.into_bytes());
    let mut bodies = [Some(chunk.slice(..)), Some(chunk.slice(..chunk.len() - 1))];
    let allocations_of_bodies = count(|| {
        for body in &mut bodies {
            assert_eq!(filter.rewrite(body, false), Ok(()));
        }
    });
    assert_eq!(allocations_of_bodies, 0);
    assert!(bodies.iter().all(|body| body.as_ref().unwrap().as_ptr() == chunk.as_ptr()));
}

#[test]
fn frames_are_read_and_forwarded_without_allocation() {
    use utf8_codec::Ascii;
    use utf8_codec_proxy::websocket::{FrameFilter, FrameReader, FrameSender};

    let mut stream = b"\x01\x03gr\xC3\x80\x02\xBCn\x81\x02\xFFa".repeat(300);
    let mut filter = FrameFilter::new(FrameSender::Server).with_substitute(Ascii::QUESTION_MARK);
    let mut reader = FrameReader::with_decoder(
        FrameSender::Server,
        TextDecoder::new().with_error_policy(ErrorPolicy::Replace),
    );
    let (mut passed, mut events) = (0, 0);
    let allocations = count(|| {
        for size in [1, 2, 3, 1000, 16_384] {
            for slice in stream.chunks(size) {
                let _ = filter.feed_with(slice, |edit| match edit {
                    Edit::Pass(range) => passed += range.len(),
                    Edit::Insert(bytes) => passed += bytes.len(),
                    _ => {}
                });
            }
            for chunk in stream.chunks_mut(size) {
                events += reader.feed(chunk).filter(Result::is_ok).count();
            }
        }
    });
    assert_eq!(allocations, 0);
    assert!(passed > 4 * stream.len() && events > 4 * 300);
}
