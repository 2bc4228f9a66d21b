//! `repair_many` has the same result as `TextDecoder::decode_whole` for each string in order.

use core::error::Error as _;
use std::borrow::Cow;

use utf8_codec::many::{RepairManyError, ValidateManyError, repair_many, validate_many};
use utf8_codec::{ErrorPolicy, TextDecoder};

use crate::support::{Rng, policies};

/// The loop that `repair_many` replaces.
fn by_loop(
    bytes: &[u8],
    offsets: &[i32],
    policy: ErrorPolicy,
) -> Result<(Vec<u8>, Vec<i32>), RepairManyError> {
    let decoder = TextDecoder::new().with_error_policy(policy);
    let (mut values, mut ends) = (Vec::new(), vec![0]);
    for (index, pair) in offsets.windows(2).enumerate() {
        let range = usize::try_from(pair[0]).ok().zip(usize::try_from(pair[1]).ok());
        let Some(string) = range.and_then(|(start, end)| bytes.get(start..end)) else {
            return Err(ValidateManyError::OutOfRange { index }.into());
        };
        let text =
            decoder.decode_whole(string).map_err(|error| ValidateManyError::IllFormed { index, error })?;
        values.extend_from_slice(text.as_bytes());
        ends.push(values.len() as i32);
    }
    Ok((values, ends))
}

#[test]
fn random_strings_are_repaired_as_one_at_a_time() {
    let mut rng = Rng::new(4764);
    let (mut borrowed, mut owned, mut errors) = (0, 0, 0);
    for round in 0..600 {
        let bytes = if round % 3 == 0 { "naïve 💩 ".repeat(50).into_bytes() } else { rng.dirty_text(600) };
        let mut offsets: Vec<i32> = (0..rng.below(400)).map(|_| rng.below(bytes.len() + 1) as i32).collect();
        offsets.sort_unstable();
        if round % 3 == 0 {
            // Offsets between characters.
            offsets.retain(|&offset| core::str::from_utf8(&bytes[offset as usize..]).is_ok());
        }
        if round % 16 == 0 && !offsets.is_empty() {
            let at = rng.below(offsets.len());
            offsets[at] = rng.below(900) as i32 - 50;
        }
        for policy in policies() {
            match repair_many(&bytes, &offsets, policy) {
                Ok((Cow::Borrowed(values), ends)) => {
                    assert_eq!((values, &*ends), (&bytes[..], &offsets[..]));
                    assert_eq!(validate_many(&bytes, &offsets), Ok(()));
                    borrowed += 1;
                }
                Ok((values, ends)) => {
                    let (values, ends) = (values.into_owned(), ends.into_owned());
                    assert_eq!(
                        Ok((values, ends)),
                        by_loop(&bytes, &offsets, policy),
                        "{policy:?} {offsets:?}"
                    );
                    owned += 1;
                }
                Err(error) => {
                    assert_eq!(Err(error), by_loop(&bytes, &offsets, policy), "{policy:?}");
                    errors += 1;
                }
            }
        }
    }
    assert!(borrowed > 300 && owned > 300 && errors > 300, "{borrowed} {owned} {errors}");
}

#[test]
fn an_end_that_does_not_fit_in_an_offset_is_an_error() {
    // 85 replacement characters have 255 bytes, the largest offset.
    let offsets: Vec<u8> = (0..=86).collect();
    let (values, ends) = repair_many(&[0xFF; 85], &offsets[..86], ErrorPolicy::Replace).expect("fits");
    assert_eq!((values.len(), ends.last()), (255, Some(&255)));
    let error = repair_many(&[0xFF; 86], &offsets, ErrorPolicy::Replace).expect_err("too long");
    assert_eq!(error, RepairManyError::TooLong { index: 85 });
    assert_eq!(error.to_string(), "string 85: its end after the repair does not fit in an offset");
    assert!(error.source().is_none());
}

#[test]
fn bytes_outside_the_strings_are_not_in_the_result() {
    let (values, offsets) =
        repair_many(b"\xFFa\xFFb\xFF", &[1_u64, 2, 4], ErrorPolicy::Skip).expect("repaired");
    assert_eq!((&*values, &*offsets), (&b"ab"[..], &[0, 1, 2][..]));
    let error = repair_many(b"a\xFF", &[0_u64, 1, 2], ErrorPolicy::Strict).expect_err("ill-formed");
    assert_eq!(Err(error), validate_many(b"a\xFF", &[0_u64, 1, 2]).map_err(RepairManyError::from));
    assert!(error.source().is_none(), "the message is complete");
    #[cfg(feature = "std")]
    assert!(utf8_codec::Utf8Error::find(&error).is_some());
}
