//! Compares the functions of `boundary` with std.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec::boundary::{ceil_boundary, floor_boundary, truncate, unfinished_len};
use utf8_codec_fuzz::Input;

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (text, _) = input.text();
    let bytes = text.as_bytes();
    let max = usize::from(u16::from_le_bytes([data[5], data[6]]));
    for index in [0, 1, max % (bytes.len() + 2), bytes.len(), usize::MAX] {
        let end = index.min(bytes.len());
        let floor = (0..=end).rev().find(|&at| text.is_char_boundary(at)).expect("0 is one");
        let ceil = (end..=bytes.len()).find(|&at| text.is_char_boundary(at)).expect("the end is one");
        assert_eq!((floor_boundary(bytes, index), ceil_boundary(bytes, index)), (floor, ceil));
        assert_eq!(unfinished_len(&bytes[..end]), end - floor);
        assert_eq!(truncate(&text, index), &text[..floor]);
        // In ill-formed bytes any result near the index is correct.
        assert!(
            floor_boundary(input.bytes, index) <= index
                && ceil_boundary(input.bytes, index) <= input.bytes.len()
        );
    }
    let unfinished = core::str::from_utf8(input.bytes).err().filter(|error| error.error_len().is_none());
    if let Some(error) = unfinished {
        assert_eq!(unfinished_len(input.bytes), input.bytes.len() - error.valid_up_to());
    }
});
