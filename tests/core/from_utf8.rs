//! `from_utf8` returns the same result as the standard library, with the kind and the offset of the error.

use utf8_codec::from_utf8;

use crate::support::{Rng, oracle};

#[test]
fn from_utf8_agrees_with_std_and_the_oracle() {
    let mut rng = Rng::new(3);
    for len in 0..=300 {
        for _ in 0..40 {
            let bytes = rng.dirty_text(len);
            let std = core::str::from_utf8(&bytes);
            match from_utf8(&bytes) {
                Ok(text) => assert_eq!(std, Ok(text)),
                Err(error) => {
                    let (_, errors) = oracle::decode(&bytes);
                    assert_eq!((error.offset, error.kind, error.len), errors[0], "{bytes:02X?}");
                    assert_eq!(std.map_err(|e| e.valid_up_to() as u64), Err(error.offset));
                }
            }
        }
        let text = "Zażółć gęślą jaźń 💩".repeat(len / 8);
        assert_eq!(from_utf8(text.as_bytes()), Ok(&*text));
    }
}
