//! No byte outside a slice is read: every length up to 1024 bytes, directly before and directly after a page that cannot be
//! accessed. The tests of the conversions and of base64 in `src/` have such pages, too.

use utf8_codec_kernels::class_search::{self, Class};
use utf8_codec_kernels::grammar::UTF_8;
use utf8_codec_kernels::{
    AtBoundary, Positions, ScanState, boundary, count, escapes, find_byte, first_position, last_position,
    likely_text, plain_prefix, prefix, prefix_of_text, prefix_within, text, validate,
};

use crate::guarded::Guarded;

const LONGEST: usize = 1024;

static CONTROLS: Class = Class::EMPTY.with_ascii(0, 0x1F).with_sequences([1 << 2, u32::MAX as u64, u64::MAX]);

fn texts(len: usize) -> impl Iterator<Item = Vec<u8>> {
    ["a", "é", "€", "𝄞", "abcdefgh\n é€𝄞\r\n"].into_iter().flat_map(move |fill| {
        let text: Vec<u8> = fill.bytes().cycle().take(len).collect();
        let mut bad = text.clone();
        if let Some(last) = bad.last_mut() {
            *last = 0xFF;
        }
        [text, bad]
    })
}

/// The end of the well-formed bytes, by each function that finds one.
fn ends(bytes: &[u8]) -> [usize; 5] {
    let mut likely = ScanState::START;
    // After many chunks of ASCII it is expected.
    for _ in 0..20 {
        assert!(validate(&mut likely, b"ascii").is_ok());
    }
    [
        prefix(AtBoundary::START, bytes).0.len(),
        prefix_of_text(bytes).0.len(),
        prefix_within(AtBoundary::START, bytes, &CONTROLS).0.len(),
        likely_text(&mut likely, bytes).map_or(0, str::len),
        text(bytes).map_or(0, str::len),
    ]
}

/// The results of the searches and counts.
fn numbers(bytes: &[u8]) -> Vec<usize> {
    let (ascii, lines) = count::ascii(bytes, b'\n');
    let mut found = vec![
        ascii,
        lines,
        boundary::floor(bytes, bytes.len()),
        count::byte(bytes, b'\n'),
        count::pair(bytes, b'\r', b'\n'),
        count::range(bytes, 0x80, 0xFF),
        find_byte(b'\n', bytes).map_or(0, |at| at + 1),
        first_position(bytes, b'\n').map_or(0, |at| at + 1),
        last_position(bytes, b'\n').map_or(0, |at| at + 1),
        UTF_8.walk(bytes).0,
    ];
    if let Some(text) = text(bytes) {
        found.extend([count::sequences(text), count::characters(text), count::supplementary(text)]);
    }
    let mut positions = Positions::START;
    found.extend(core::iter::from_fn(|| positions.next(bytes, b'\n')));
    class_search::each(bytes, &CONTROLS, |at| {
        found.push(at);
        true
    });
    found
}

#[test]
#[ignore = "seconds in release mode"]
fn validation_and_searches_read_only_the_slice() {
    let mut pages = Guarded::new(LONGEST);
    for len in 0..=LONGEST {
        for text in texts(len) {
            for at_end in [false, true] {
                let chunk = pages.slice(len, at_end);
                chunk.copy_from_slice(&text);
                assert_eq!(ends(chunk), ends(&text), "{text:02X?}");
                assert_eq!(numbers(chunk), numbers(&text), "{text:02X?}");
                for before in [&b"a"[..], b"\xE2\x82", b"\xF0"] {
                    let after = [&*chunk, &text].map(|chunk| {
                        let mut state = ScanState::START.after(before);
                        let found = validate(&mut state, chunk).map_err(|index| index.get());
                        (found, state)
                    });
                    assert_eq!(after[0], after[1], "{text:02X?}");
                }
                // How far they go depends on the address.
                assert!(plain_prefix(AtBoundary::START, chunk).0.len() <= len);
                assert!(escapes::escapes_len(chunk) <= len);
                assert!(count::ascii_len(chunk) <= len);
            }
        }
    }
}
