//! Single chunks, in every state, at every index and alignment.

use super::{ALPHABETS, CRITICAL, ENDS, Placed, assert_found, found_by, text};
use crate::dispatch::Kernel;
use crate::functions::Index;
use crate::state::{AtBoundary, Carry, ScanState};
use crate::validation::{plain_prefix, validate};

/// Without optimizations one in 7 of the sequences, or of the indexes in a long chunk, is tested: different ones for
/// each index or length.
const STEP: usize = if cfg!(debug_assertions) { 7 } else { 1 };

/// Checks every state, every index, and every length near the size of vectors.
#[test]
fn every_critical_sequence_is_found_at_every_index_and_length() {
    let lens = if cfg!(debug_assertions) { (0..=140).chain(188..=196) } else { (0..=300).chain(316..=326) };
    for kernel in Kernel::available() {
        for len in lens.clone() {
            for (i, alphabet) in ALPHABETS.iter().enumerate() {
                let good = text(len, alphabet);
                let mut placed = Placed::new(&good, (7 * len + 13 * i) % 64);
                let step = if len < 70 { 1 } else { 5 };
                for at in (0..len).step_by(step) {
                    let critical = CRITICAL[(at + 3 * len + i) % CRITICAL.len()];
                    let end = len.min(at + critical.len());
                    placed.chunk_mut()[at..end].copy_from_slice(&critical[..end - at]);
                    let carry = Carry::START.after(ENDS[(at + len) % ENDS.len()]);
                    assert_found(kernel, carry, placed.chunk(), &|| {
                        format!("{critical:02X?} at {at} of {len}")
                    });
                    placed.chunk_mut()[at..end].copy_from_slice(&good[at..end]);
                }
                assert_eq!(found_by(kernel, Carry::START, placed.chunk()), Ok(()), "{kernel:?}: {len} bytes");
            }
        }
    }
}

#[test]
fn every_critical_sequence_is_found_after_every_end_of_a_chunk() {
    for kernel in Kernel::available() {
        for end in ENDS {
            for critical in CRITICAL {
                for len in 0..=72 {
                    let mut chunk = critical.to_vec();
                    chunk.extend(text(len, ALPHABETS[4]));
                    let placed = Placed::new(&chunk, len % 64);
                    let carry = Carry::START.after(end);
                    assert_found(kernel, carry, placed.chunk(), &|| format!("{end:02X?} then {chunk:02X?}"));
                }
            }
        }
    }
}

#[test]
fn every_critical_sequence_is_found_at_the_borders_of_vectors_groups_and_segments() {
    let lens = [1460, 4096 + 31, 8192];
    for kernel in Kernel::available() {
        for (i, len) in lens.into_iter().enumerate() {
            for alphabet in ALPHABETS {
                let good = text(len, alphabet);
                let mut placed = Placed::new(&good, 17 * i);
                let borders = [0, 64, 128, 256, 512, 960, 1024, 2048, 2112, 2304, 4096, 6144, 8192];
                for at in borders.into_iter().flat_map(|border: usize| border.saturating_sub(3)..border + 4) {
                    for critical in CRITICAL.into_iter().skip(at % STEP).step_by(STEP) {
                        if at + critical.len() <= len {
                            let range = at..at + critical.len();
                            placed.chunk_mut()[range.clone()].copy_from_slice(critical);
                            assert_found(kernel, Carry::START, placed.chunk(), &|| {
                                format!("{critical:02X?} at {at} of {len}")
                            });
                            placed.chunk_mut()[range.clone()].copy_from_slice(&good[range]);
                        }
                    }
                }
            }
        }
    }
}

/// Checks ASCII, text without sequences of 4 bytes and text with them. Each has its own code path.
#[test]
#[cfg_attr(miri, ignore = "hours")]
fn every_critical_sequence_is_found_at_every_index_of_a_large_chunk() {
    for kernel in Kernel::available() {
        for (i, alphabet) in ALPHABETS.iter().enumerate() {
            let good = text(900, alphabet);
            let mut placed = Placed::new(&good, 11 * i);
            for at in 0..good.len() - 5 {
                // Different sequences at each index.
                for critical in CRITICAL.into_iter().skip(at % STEP).step_by(STEP) {
                    let range = at..at + critical.len();
                    placed.chunk_mut()[range.clone()].copy_from_slice(critical);
                    assert_found(kernel, Carry::START, placed.chunk(), &|| {
                        format!("{critical:02X?} at {at}, {alphabet:?}")
                    });
                    placed.chunk_mut()[range.clone()].copy_from_slice(&good[range]);
                }
            }
        }
    }
}

/// Checks lengths for which one vector, two vectors, or more are read.
#[test]
fn is_text_agrees_with_std_at_every_length() {
    for kernel in Kernel::available() {
        for len in 4..if cfg!(miri) { 70 } else { 400 } {
            for alphabet in ALPHABETS {
                let good = text(len, alphabet);
                let mut placed = Placed::new(&good, len % 64);
                assert!(kernel.is_text(placed.chunk()), "{kernel:?}: {len} bytes of {alphabet:?}");
                for at in indexes(len) {
                    let critical = CRITICAL[(at + 3 * len) % CRITICAL.len()];
                    let end = len.min(at + critical.len());
                    placed.chunk_mut()[at..end].copy_from_slice(&critical[..end - at]);
                    assert_eq!(
                        kernel.is_text(placed.chunk()),
                        core::str::from_utf8(placed.chunk()).is_ok(),
                        "{kernel:?}: {critical:02X?} at {at} of {len}"
                    );
                    placed.chunk_mut()[at..end].copy_from_slice(&good[at..end]);
                }
            }
        }
    }
}

/// Two characters in ASCII: in the same half of a group, in its two halves, or in two groups. The second one may be
/// unfinished.
#[test]
#[cfg_attr(miri, ignore = "hours")]
fn two_characters_in_ascii_are_validated_at_every_distance() {
    let seconds: [&[u8]; 10] = [
        b"\xC3\xA9",
        b"\xC3",
        b"\xE2\x82\xAC",
        b"\xE2\x82",
        b"\xE2",
        b"\xF0\x9F\x92\xA9",
        b"\xF0\x9F\x92",
        b"\xF0\x9F",
        b"\xF0",
        b"\xFF",
    ];
    for kernel in Kernel::available() {
        let ascii = text(1024, ALPHABETS[0]);
        let mut placed = Placed::new(&ascii, 0);
        // Every index in a group of 256 bytes, for every alignment.
        for at in (512..768).step_by(if cfg!(debug_assertions) { 7 } else { 1 }) {
            for first in [&b"\xC3\xA9"[..], b"\xF0\x9F\x92\xA9"] {
                for distance in 0..130 {
                    let second = seconds[(at + distance) % seconds.len()];
                    let start = at + first.len() + distance;
                    placed.chunk_mut()[at..at + first.len()].copy_from_slice(first);
                    placed.chunk_mut()[start..start + second.len()].copy_from_slice(second);
                    assert_found(kernel, Carry::START, placed.chunk(), &|| {
                        format!("{second:02X?} {distance} after {first:02X?} at {at}")
                    });
                    placed.chunk_mut()[at..start + second.len()]
                        .copy_from_slice(&ascii[at..start + second.len()]);
                }
            }
        }
    }
}

/// Returns indexes in a chunk of this length: all of a short one.
fn indexes(len: usize) -> impl Iterator<Item = usize> {
    let step = if len > 140 { STEP } else { 1 };
    (0..len).skip(len % step).step_by(step)
}

/// Checks an ill-formed byte at the [`indexes`] of chunks of up to 700 bytes, in ASCII and in characters of 4 bytes.
/// `offsets` returns, for a length and an index, the offsets from a cache line at which the chunk is placed.
fn check_every_index(offsets: impl Fn(usize, usize) -> core::ops::Range<usize>) {
    for kernel in Kernel::available() {
        for len in (4..=140).chain((141..=700).step_by(STEP)) {
            let texts = [text(len, ALPHABETS[0]), text(len, ALPHABETS[3])];
            for at in indexes(len) {
                for offset in offsets(len, at) {
                    let mut ascii = Placed::new(&texts[0], offset);
                    assert_eq!(found_by(kernel, Carry::START, ascii.chunk()), Ok(()));
                    ascii.chunk_mut()[at] = 0x80;
                    assert_eq!(
                        found_by(kernel, Carry::START, ascii.chunk()),
                        Err(at),
                        "{kernel:?}, {len} at {offset}"
                    );
                    let mut emoji = Placed::new(&texts[1], offset);
                    assert_eq!(found_by(kernel, Carry::START, emoji.chunk()), Ok(()));
                    emoji.chunk_mut()[at] = 0xFF;
                    // If `FF` is in the place of a lead byte, it may be reported at the next byte, if there is one.
                    let is_lead = at % 4 == 0 || at >= len / 4 * 4;
                    let expected = if is_lead && at + 1 < len { at + 1 } else { at };
                    let found = found_by(kernel, Carry::START, emoji.chunk());
                    assert!(
                        found == Err(expected) || found == Err(at),
                        "{kernel:?}, {at} of {len} at {offset}: {found:?}"
                    );
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "hours")]
fn an_ill_formed_byte_is_found_at_every_index() {
    check_every_index(|len, at| {
        let offset = (3 * len + at) % 64;
        offset..offset + 1
    });
}

#[test]
#[ignore = "a minute in release mode"]
fn an_ill_formed_byte_is_found_at_every_index_of_every_length_at_every_alignment() {
    check_every_index(|_, _| 0..64);
}

/// Places a backslash at every index, and a critical sequence shortly before or after it.
#[test]
#[cfg_attr(miri, ignore = "hours")]
fn plain_text_ends_before_the_first_backslash_or_error() {
    for (i, alphabet) in ALPHABETS.iter().enumerate() {
        for len in [100, 511, 901, 2600, 40_000] {
            let good = text(len, alphabet);
            for at in (i..len).step_by(if len > 1000 { len / 80 } else { STEP }) {
                let mut chunk = good.clone();
                chunk[at] = b'\\';
                let critical = CRITICAL[at % CRITICAL.len()];
                let place = (at + at % 13).checked_sub(6).filter(|_| at % 3 > 0);
                if let Some(place) = place.and_then(|place| chunk.get_mut(place..place + critical.len())) {
                    place.copy_from_slice(critical);
                }
                let backslash = chunk.iter().position(|&byte| byte == b'\\').unwrap_or(len);
                let whole =
                    core::str::from_utf8(&chunk).map_or_else(|error| error.valid_up_to(), |text| text.len());
                let (plain, state) = plain_prefix(AtBoundary::START, &chunk);
                assert_eq!(plain.as_bytes(), &chunk[..plain.len()]);
                assert!(plain.len() <= backslash.min(whole), "{at} of {len}");
                let least = if cfg!(utf8_codec_unoptimized) || backslash < 512 {
                    0
                } else {
                    backslash.min(16_384) / 2
                };
                assert!(plain.len() + 3 >= least.min(whole), "{at} of {len}: {}", plain.len());
                assert!(state.pending_len() == 0 || plain.len() + usize::from(state.pending_len()) == len);
            }
        }
    }
}

#[test]
fn a_chunk_is_rejected_for_its_last_byte() {
    let rejected = [
        (&b""[..], [0x80, 0xC0, 0xC1, 0xF5, 0xFF]),
        (b"\xE0", [0x80, 0x9F, b'a', 0xC2, 0xFF]),
        (b"\xED", [0xA0, 0xBF, b'a', 0xE0, 0xC0]),
        (b"\xF0", [0x80, 0x8F, b'a', 0xF0, 0xF5]),
        (b"\xF4", [0x90, 0xBF, b'a', 0xF4, 0xC1]),
        (b"\xF1\x80\x80", [b'a', 0xC2, 0xE0, 0xFF, 0xC0]),
    ];
    let lens: &[usize] = if cfg!(miri) { &[0, 3, 33, 64] } else { &[1460, 2048, 4096] };
    for len in lens.iter().copied().chain(if cfg!(miri) { 0..0 } else { 0..69 }) {
        for (begun, bytes) in rejected {
            for byte in bytes.into_iter().step_by(if cfg!(miri) { 2 } else { 1 }) {
                let mut chunk = text(len, ALPHABETS[4]);
                chunk.extend_from_slice(begun);
                chunk.push(byte);
                let last = chunk.len() - 1;
                assert_eq!(
                    validate(&mut ScanState::default(), &chunk).map_err(Index::get),
                    Err(last),
                    "{begun:02X?} {byte:02X} after {len}"
                );
                for kernel in Kernel::available() {
                    assert!(found_by(kernel, Carry::START, &chunk).is_err(), "{kernel:?}");
                }
            }
        }
    }
}
