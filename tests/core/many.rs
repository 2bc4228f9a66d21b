//! `validate_many` has the same result as `from_utf8` for each string in order.

use core::error::Error as _;

use utf8_codec::many::{ValidateManyError, validate_many};
use utf8_codec::{ErrorKind, Utf8Error, from_utf8};

use crate::support::Rng;

/// The loop that `validate_many` replaces.
fn by_loop(bytes: &[u8], offsets: &[i64]) -> Result<(), ValidateManyError> {
    for (index, pair) in offsets.windows(2).enumerate() {
        let range = usize::try_from(pair[0]).ok().zip(usize::try_from(pair[1]).ok());
        let Some(string) = range.and_then(|(start, end)| bytes.get(start..end)) else {
            return Err(out_of_range(index));
        };
        from_utf8(string).map_err(|error| ill_formed(index, error))?;
    }
    Ok(())
}

/// Creates the expected error.
fn ill_formed(index: usize, error: Utf8Error) -> ValidateManyError {
    ValidateManyError::IllFormed { index, error }
}

fn out_of_range(index: usize) -> ValidateManyError {
    ValidateManyError::OutOfRange { index }
}

fn check(bytes: &[u8], offsets: &[i64]) {
    assert_eq!(validate_many(bytes, offsets), by_loop(bytes, offsets), "{bytes:02X?} {offsets:?}");
}

#[test]
fn two_strings_split_at_every_position_of_a_sequence() {
    let mut checked = 0;
    for text in [
        &b"aZ\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x92\xA9!"[..],
        b"a\xE4\xB8",
        b"\x80\xBFa",
        b"a\xED\xA0\x80b",
        b"\xC0\x80\xF5\x90",
        b"",
    ] {
        let len = text.len() as i64;
        for first in -1..=len + 1 {
            for middle in -1..=len + 1 {
                for last in -1..=len + 1 {
                    check(text, &[first, middle, last]);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 2_000);
}

#[test]
fn random_strings_whose_offsets_split_characters() {
    let mut rng = Rng::new(31);
    let (mut good, mut bad) = (0, 0);
    for round in 0..2_000 {
        let bytes = if round % 2 == 0 {
            "Zażółć gęślą jaźń 💩 中".repeat(20).into_bytes()
        } else {
            rng.dirty_text(400)
        };
        let mut offsets: Vec<i64> = (0..rng.below(400)).map(|_| rng.below(bytes.len() + 1) as i64).collect();
        offsets.sort_unstable();
        if round % 4 < 2 {
            // Offsets between characters, if there are any.
            let lossy = String::from_utf8_lossy(&bytes);
            if lossy.len() == bytes.len() {
                offsets.retain(|&offset| lossy.is_char_boundary(offset as usize));
            }
        }
        if round % 16 == 0 && !offsets.is_empty() {
            let at = rng.below(offsets.len());
            offsets[at] = rng.below(600) as i64 - 50;
        }
        check(&bytes, &offsets);
        match by_loop(&bytes, &offsets) {
            Ok(()) => good += 1,
            Err(_) => bad += 1,
        }
    }
    assert!(good > 100 && bad > 100, "{good} {bad}");
}

#[test]
fn one_error_at_every_index_of_several_groups() {
    let string = "日本語 text";
    let count = 400;
    let offsets: Vec<u32> = (0..=count).map(|i| i * string.len() as u32).collect();
    let good = string.repeat(count as usize).into_bytes();
    assert_eq!(validate_many(&good, &offsets), Ok(()));
    for index in 0..count as usize {
        let mut bytes = good.clone();
        bytes[index * string.len() + 3] = 0xFF;
        let error = Utf8Error::new(3, ErrorKind::InvalidLead, 1);
        assert_eq!(validate_many(&bytes, &offsets), Err(ill_formed(index, error)));
        // The offset is one byte too high, inside the first character of the string. If the index is 0, this character
        // is an error, otherwise the end of the previous string is.
        let mut moved = offsets.clone();
        moved[index] = moved[index].saturating_add(1);
        let error = Utf8Error::new(0, ErrorKind::UnexpectedContinuation, 1);
        let before = Utf8Error::new(string.len() as u64, ErrorKind::Truncated, 1);
        let expected = if index == 0 { ill_formed(0, error) } else { ill_formed(index - 1, before) };
        assert_eq!(validate_many(&good, &moved), Err(expected), "{index}");
    }
}

#[test]
fn every_integer_type_and_no_strings() {
    let bytes = "añb".as_bytes();
    assert_eq!(validate_many(bytes, &[0_i32, 1, 3, 4]), Ok(()));
    assert_eq!(validate_many(bytes, &[0_u32, 1, 3, 4]), Ok(()));
    assert_eq!(validate_many(bytes, &[0_i64, 1, 3, 4]), Ok(()));
    assert_eq!(validate_many(bytes, &[0_u64, 1, 3, 4]), Ok(()));
    assert_eq!(validate_many(bytes, &[0_usize, 1, 3, 4]), Ok(()));
    assert_eq!(validate_many(bytes, &[0_u8, 1, 3, 4]), Ok(()));
    assert_eq!(validate_many::<i32>(bytes, &[]), Ok(()));
    assert_eq!(validate_many(bytes, &[99_i32]), Ok(()));
    assert_eq!(validate_many(bytes, &[4_i32, 4, 4]), Ok(()));
    assert_eq!(validate_many(b"", &[0_i32, 0]), Ok(()));
}

#[test]
fn bytes_that_belong_to_no_string_are_not_read() {
    assert_eq!(validate_many(b"\xFFab\xFF", &[1_i32, 2, 3]), Ok(()));
}

#[test]
fn invalid_offsets_are_out_of_range_errors() {
    let bytes = b"abcd";
    for (offsets, index) in [
        (&[0_i64, 5][..], 0),
        (&[0, 3, 2, 4], 1),
        (&[-1, 2], 0),
        (&[0, 2, -1], 1),
        (&[i64::MAX, 4], 0),
        (&[0, i64::MIN], 0),
        (&[5, 5], 0),
    ] {
        let error = validate_many(bytes, offsets).expect_err("no range");
        assert_eq!((error, error.index(), error.utf8_error()), (out_of_range(index), index, None));
        assert!(error.source().is_none());
    }
    let error = validate_many(b"ab\xFF", &[0_i32, 1, 3]).expect_err("ill-formed");
    assert_eq!(error.to_string(), format!("string 1: {}", error.utf8_error().expect("UTF-8")));
    assert!(error.source().is_none(), "the message is complete");
    #[cfg(feature = "std")]
    assert!(Utf8Error::find(&error).is_some());
}
