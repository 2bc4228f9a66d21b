//! Every kernel that the machine has, against the standard library and against the formula on one byte.

use super::last::{BEYOND, CALMEST};
use super::{Kernel, Last, take_all, take_few, twin};
use crate::Utf8Error;

/// A chunk of any length, by this kernel if it is long enough for one.
pub(super) fn take_by(kernel: Kernel, last: &mut Last, chunk: &[u8]) -> usize {
    if chunk.len() < 4 {
        return take_few(last, chunk);
    }
    // SAFETY: the chunk has four bytes or more.
    unsafe { kernel.take(last, chunk) }
}

/// What this kernel finds, whatever it guesses before: the length of a chunk that is good up to its last byte.
fn flaw_of(kernel: Kernel, word: u32, chunk: &[u8]) -> usize {
    let found = [0, CALMEST, BEYOND, CALMEST | BEYOND].map(|guess| {
        let before = Last::new(word, guess);
        let mut last = before;
        let found = take_by(kernel, &mut last, chunk);
        let expected = if found < chunk.len() { before } else { before.after(chunk) };
        assert_eq!(last.word(), expected.word(), "{chunk:02X?}");
        found
    });
    assert!(found.iter().all(|&flaw| flaw == found[0]), "{kernel:?} lets a guess decide: {chunk:02X?}");
    found[0]
}

/// The places of a flaw that a kernel may tell: what a byte that is never a lead does is seen at it or after it.
fn assert_flaw(kernel: Kernel, last: u32, chunk: &[u8], context: &dyn Fn() -> String) {
    let twin = twin::first_flaw(last, chunk);
    let found = flaw_of(kernel, last, chunk);
    let early = found + 1 == twin && twin::is_never_a_lead(chunk[found]);
    assert!(found == twin || early, "{kernel:?} finds {found}, not {twin}: {}", context());
}

/// Bytes, and where they stand in memory: `offset` bytes after a cache line.
struct Placed {
    memory: Vec<u8>,
    start: usize,
}

impl Placed {
    fn new(bytes: &[u8], offset: usize) -> Self {
        // Hostile bytes around the chunk: a read outside of it would change the verdict.
        let mut memory = vec![0xFF; bytes.len() + 192];
        let start = memory.as_ptr().align_offset(64) + 64 + offset;
        memory[start..start + bytes.len()].copy_from_slice(bytes);
        memory.truncate(start + bytes.len() + 1);
        Self { memory, start }
    }

    fn chunk(&self) -> &[u8] {
        &self.memory[self.start..self.memory.len() - 1]
    }

    fn chunk_mut(&mut self) -> &mut [u8] {
        let end = self.memory.len() - 1;
        &mut self.memory[self.start..end]
    }
}

/// Text of this length in characters of 1, 2, 3 or 4 bytes, or of all of them, filled up with ASCII.
fn text(len: usize, alphabet: &[&str]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut characters = alphabet.iter().cycle();
    while text.len() < len {
        let character = characters.next().map_or("", |c| c);
        if text.len() + character.len() > len {
            text.push(b'.');
        } else {
            text.extend_from_slice(character.as_bytes());
        }
    }
    text
}

const ALPHABETS: [&[&str]; 6] = [
    &["a"],
    &["é"],
    &["€"],
    &["💩"],
    &["a", "é", "€", "💩", "\u{10FFFF}", "\u{D7FF}", "\u{E000}"],
    &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "ж"],
];

/// Sequences with a flaw in every class, and good ones at every border of a range.
const CRITICAL: [&[u8]; 32] = [
    b"\x80",
    b"\xBF",
    b"\xC0",
    b"\xC1\x80",
    b"\xC2",
    b"\xC2\x7F",
    b"\xC2\x80",
    b"\xC2\xC0",
    b"\xDF\xBF\x80",
    b"\xE0",
    b"\xE0\x9F\xBF",
    b"\xE0\xA0\x80",
    b"\xE0\xA0\x7F",
    b"\xE1\x80",
    b"\xE1\x80\xC2",
    b"\xED\x9F\xBF",
    b"\xED\xA0\x80",
    b"\xEF\xBF\xBF\xBF",
    b"\xF0\x8F\xBF\xBF",
    b"\xF0\x90\x80\x80",
    b"\xF0\x90\x80",
    b"\xF0\x90\x80a",
    b"\xF0\x90\xE0",
    b"\xF1\x80",
    b"\xF3\xBF\xBF\xBF",
    b"\xF3\xBF\xBF\xBF\xBF",
    b"\xF4\x8F\xBF\xBF",
    b"\xF4\x90\x80\x80",
    b"\xF5\x80\x80\x80",
    b"\xF8\x88\x80\x80\x80",
    b"\xFE",
    b"\xFF",
];

/// Ends of a stream in every state.
const LASTS: [&[u8]; 14] = [
    b"",
    b"abcd",
    b"\xC3\xA9",
    b"\xC2",
    b"\xDF",
    b"\xE0",
    b"\xE1",
    b"\xED",
    b"\xE2\x82",
    b"\xF0",
    b"\xF4",
    b"\xF1\x80",
    b"\xF0\x9F\x92",
    b"\xF0\x9F\x92\xA9",
];

/// Every state, every place, every length near the borders that matter to the vectors.
#[test]
fn every_critical_sequence_is_judged_alike_at_every_place_and_length() {
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
                    let last = Last::NONE.after(LASTS[(at + len) % LASTS.len()]).word();
                    assert_flaw(kernel, last, placed.chunk(), &|| {
                        format!("{critical:02X?} at {at} of {len}")
                    });
                    placed.chunk_mut()[at..end].copy_from_slice(&good[at..end]);
                }
                assert_eq!(flaw_of(kernel, 0, placed.chunk()), len, "{kernel:?}: {len} good bytes");
            }
        }
    }
}

#[test]
fn every_pair_of_a_state_and_a_critical_sequence_is_judged_alike_where_chunks_meet() {
    for kernel in Kernel::available() {
        for last in LASTS {
            for critical in CRITICAL {
                for len in 0..=72 {
                    let mut chunk = critical.to_vec();
                    chunk.extend(text(len, ALPHABETS[4]));
                    let placed = Placed::new(&chunk, len % 64);
                    let word = Last::NONE.after(last).word();
                    assert_flaw(kernel, word, placed.chunk(), &|| format!("{last:02X?} then {chunk:02X?}"));
                }
            }
        }
    }
}

#[test]
fn a_flaw_is_found_at_the_borders_of_vectors_groups_and_segments() {
    let lens = [1460, 4096 + 31, 8192];
    for kernel in Kernel::available() {
        for (i, len) in lens.into_iter().enumerate() {
            for alphabet in ALPHABETS {
                let good = text(len, alphabet);
                let mut placed = Placed::new(&good, 17 * i);
                let borders = [0, 64, 128, 256, 512, 960, 1024, 2048, 2112, 2304, 4096, 6144, 8192];
                for at in borders.into_iter().flat_map(|border: usize| border.saturating_sub(3)..border + 4) {
                    for critical in CRITICAL {
                        if at + critical.len() <= len {
                            let range = at..at + critical.len();
                            placed.chunk_mut()[range.clone()].copy_from_slice(critical);
                            assert_flaw(kernel, 0, placed.chunk(), &|| {
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

/// In ASCII, in text of the Basic Multilingual Plane and in text beyond it: what is looked at differs.
#[test]
#[cfg_attr(miri, ignore = "hours")]
fn every_critical_sequence_is_judged_alike_at_every_place_of_a_large_chunk() {
    for kernel in Kernel::available() {
        for (i, alphabet) in ALPHABETS.iter().enumerate() {
            let good = text(900, alphabet);
            let mut placed = Placed::new(&good, 11 * i);
            for at in 0..good.len() - 5 {
                for critical in CRITICAL {
                    let range = at..at + critical.len();
                    placed.chunk_mut()[range.clone()].copy_from_slice(critical);
                    assert_flaw(kernel, 0, placed.chunk(), &|| {
                        format!("{critical:02X?} at {at}, {alphabet:?}")
                    });
                    placed.chunk_mut()[range.clone()].copy_from_slice(&good[range]);
                }
            }
        }
    }
}

/// Every length in which one vector, two, or more are looked at.
#[test]
fn a_whole_text_is_told_from_one_that_is_not_at_every_length() {
    for kernel in Kernel::available() {
        for len in 4..if cfg!(miri) { 70 } else { 400 } {
            for alphabet in ALPHABETS {
                let good = text(len, alphabet);
                let mut placed = Placed::new(&good, len % 64);
                assert!(kernel.is_text(placed.chunk()), "{kernel:?}: {len} bytes of {alphabet:?}");
                for at in 0..len {
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

/// Two characters in ASCII, in the same half of a group, in its two halves, or in two groups: of the second there is less
/// and less.
#[test]
#[cfg_attr(miri, ignore = "hours")]
fn two_characters_in_ascii_are_judged_alike_at_every_distance() {
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
        // Every place in a group of 256, whatever the alignment.
        for at in (512..768).step_by(if cfg!(debug_assertions) { 7 } else { 1 }) {
            for first in [&b"\xC3\xA9"[..], b"\xF0\x9F\x92\xA9"] {
                for distance in 0..130 {
                    let second = seconds[(at + distance) % seconds.len()];
                    let start = at + first.len() + distance;
                    placed.chunk_mut()[at..at + first.len()].copy_from_slice(first);
                    placed.chunk_mut()[start..start + second.len()].copy_from_slice(second);
                    assert_flaw(kernel, 0, placed.chunk(), &|| {
                        format!("{second:02X?} {distance} after {first:02X?} at {at}")
                    });
                    placed.chunk_mut()[at..start + second.len()]
                        .copy_from_slice(&ascii[at..start + second.len()]);
                }
            }
        }
    }
}

/// A flaw at every place of a chunk of every length up to 700 bytes, in ASCII and in characters of four bytes, where
/// the chunk stands at each of these offsets.
fn check_every_place(offsets: impl Fn(usize, usize) -> core::ops::Range<usize>) {
    for kernel in Kernel::available() {
        for len in 4..=700 {
            let texts = [text(len, ALPHABETS[0]), text(len, ALPHABETS[3])];
            for at in 0..len {
                for offset in offsets(len, at) {
                    let mut ascii = Placed::new(&texts[0], offset);
                    assert_eq!(flaw_of(kernel, 0, ascii.chunk()), len);
                    ascii.chunk_mut()[at] = 0x80;
                    assert_eq!(flaw_of(kernel, 0, ascii.chunk()), at, "{kernel:?}, {len} at {offset}");
                    let mut emoji = Placed::new(&texts[1], offset);
                    assert_eq!(flaw_of(kernel, 0, emoji.chunk()), len);
                    emoji.chunk_mut()[at] = 0xFF;
                    // Where a lead may stand it is seen at the next byte, if there is one.
                    let is_lead = at % 4 == 0 || at >= len / 4 * 4;
                    let expected = if is_lead && at + 1 < len { at + 1 } else { at };
                    let found = flaw_of(kernel, 0, emoji.chunk());
                    assert!(
                        found == expected || found == at,
                        "{kernel:?}, {at} of {len} at {offset}: {found}"
                    );
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "hours")]
fn a_flaw_is_found_at_every_place_of_a_chunk_of_every_length() {
    check_every_place(|len, at| {
        let offset = (3 * len + at) % 64;
        offset..offset + 1
    });
}

#[test]
#[ignore = "a minute in release mode"]
fn a_flaw_is_found_at_every_place_of_a_chunk_of_every_length_at_every_alignment() {
    check_every_place(|_, _| 0..64);
}

/// An xorshift generator: these tests stand alone.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn random_bytes_are_judged_alike_however_they_are_cut() {
    let mut seed = 0x9E37_79B9_7F4A_7C15;
    let rounds = match () {
        () if cfg!(miri) => 60,
        () if cfg!(debug_assertions) => 3_000,
        () => 100_000,
    };
    for round in 0..rounds {
        let mut bytes = Vec::new();
        let flaws = random(&mut seed) % 4;
        for _ in 0..random(&mut seed) % 40 {
            let alphabet = ALPHABETS[random(&mut seed) as usize % ALPHABETS.len()];
            bytes.extend(text(random(&mut seed) as usize % 24, alphabet));
            if random(&mut seed) % 16 < flaws {
                bytes.extend_from_slice(CRITICAL[random(&mut seed) as usize % CRITICAL.len()]);
            }
        }
        let expected = verdict_of_std(&bytes);
        let is_text = core::str::from_utf8(&bytes).is_ok() && bytes.len() >= 4;
        for kernel in Kernel::available() {
            assert_eq!(kernel.is_text(&bytes), is_text, "{kernel:?}, round {round}: {bytes:02X?}");
            assert_eq!(verdict(kernel, &[&bytes]), expected, "{kernel:?}, round {round}: {bytes:02X?}");
            let mut chunks = Vec::new();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let longest = rest.len().min([3, 20, 70, 400][round % 4]);
                let (chunk, after) = rest.split_at(random(&mut seed) as usize % (longest + 1));
                chunks.push(chunk);
                rest = after;
            }
            assert_eq!(verdict(kernel, &chunks), expected, "{kernel:?}, round {round}: {chunks:02X?}");
        }
    }
}

/// How far a stream is good, and whether it goes on after that with an ill-formed or an unfinished sequence.
#[derive(Debug, PartialEq)]
struct Verdict {
    valid_up_to: usize,
    ill_formed: bool,
    len: usize,
}

fn verdict_of_std(bytes: &[u8]) -> Verdict {
    match core::str::from_utf8(bytes) {
        Ok(_) => Verdict { valid_up_to: bytes.len(), ill_formed: false, len: 0 },
        Err(error) => Verdict {
            valid_up_to: error.valid_up_to(),
            ill_formed: error.error_len().is_some(),
            len: error.error_len().unwrap_or(bytes.len() - error.valid_up_to()),
        },
    }
}

/// The same by a kernel, chunk by chunk, whatever it guesses.
fn verdict(kernel: Kernel, chunks: &[&[u8]]) -> Verdict {
    verdict_by(chunks, |last, chunk| {
        let flaw = flaw_of(kernel, last.word(), chunk);
        if flaw == chunk.len() {
            *last = last.after(chunk);
        }
        flaw
    })
}

fn verdict_by(chunks: &[&[u8]], take: impl Fn(&mut Last, &[u8]) -> usize) -> Verdict {
    let (mut last, mut before) = (Last::NONE, 0);
    for chunk in chunks {
        let flaw = take(&mut last, chunk);
        if flaw < chunk.len() {
            let (taken, fault) = super::refuse(last, chunk, flaw);
            let len = usize::from(fault.bytes.len());
            return Verdict { valid_up_to: before + taken - len, ill_formed: true, len };
        }
        before += chunk.len();
    }
    let len = usize::from(last.pending_len());
    Verdict { valid_up_to: before - len, ill_formed: false, len }
}

/// Long stretches of one kind of text and of another, with one flaw or none, in chunks of very different lengths.
#[test]
fn long_streams_are_judged_alike_with_the_guesses_that_they_lead_to() {
    let mut seed = 0x2545_F491_4F6C_DD1D;
    let rounds = match () {
        () if cfg!(miri) => 2,
        () if cfg!(debug_assertions) => 1_000,
        () => 20_000,
    };
    for round in 0..rounds {
        let mut bytes = Vec::new();
        for _ in 0..1 + random(&mut seed) % 12 {
            let alphabet = ALPHABETS[random(&mut seed) as usize % ALPHABETS.len()];
            bytes.extend(text(1 + random(&mut seed) as usize % 900, alphabet));
        }
        if round % 3 > 0 {
            let at = random(&mut seed) as usize % bytes.len();
            bytes[at] =
                [0x80, 0xBF, 0xC1, 0xC3, 0xE2, 0xED, 0xF0, 0xF4, 0xFF, b'a'][random(&mut seed) as usize % 10];
        }
        let expected = verdict_of_std(&bytes);
        let mut chunks = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let longest = rest.len().min([20, 300, 700, 3_000][random(&mut seed) as usize % 4]);
            let (chunk, after) = rest.split_at(1 + random(&mut seed) as usize % longest);
            chunks.push(chunk);
            rest = after;
        }
        for kernel in Kernel::available() {
            let found = verdict_by(&chunks, |last, chunk| take_by(kernel, last, chunk));
            let lens: Vec<usize> = chunks.iter().map(|chunk| chunk.len()).collect();
            assert_eq!(found, expected, "{kernel:?}, round {round}, chunks of {lens:?}");
        }
    }
}

#[test]
fn a_chunk_is_refused_for_its_last_byte() {
    let refused = [
        (&b""[..], [0x80, 0xC0, 0xC1, 0xF5, 0xFF]),
        (b"\xE0", [0x80, 0x9F, b'a', 0xC2, 0xFF]),
        (b"\xED", [0xA0, 0xBF, b'a', 0xE0, 0xC0]),
        (b"\xF0", [0x80, 0x8F, b'a', 0xF0, 0xF5]),
        (b"\xF4", [0x90, 0xBF, b'a', 0xF4, 0xC1]),
        (b"\xF1\x80\x80", [b'a', 0xC2, 0xE0, 0xFF, 0xC0]),
    ];
    let lens: &[usize] = if cfg!(miri) { &[0, 1, 3, 4, 31, 33, 64] } else { &[1460, 2048, 4096] };
    for len in lens.iter().copied().chain(if cfg!(miri) { 0..0 } else { 0..69 }) {
        for (begun, bytes) in refused {
            for byte in bytes {
                let mut chunk = text(len, ALPHABETS[4]);
                chunk.extend_from_slice(begun);
                chunk.push(byte);
                let flaw = chunk.len() - 1;
                assert_eq!(
                    take_all(&mut Last::default(), &chunk),
                    flaw,
                    "{begun:02X?} {byte:02X} after {len}"
                );
                for kernel in Kernel::available() {
                    assert!(verdict(kernel, &[&chunk]).ill_formed, "{kernel:?}");
                }
                let error: Utf8Error = crate::Utf8Decoder::new().validate(&chunk).expect_err("refused");
                assert_eq!(error.offset as usize + begun.len(), flaw);
            }
        }
    }
}

#[test]
fn the_kernel_that_was_asked_for_is_in_use() {
    if let Some(name) = super::kernel::FORCED {
        let kernel = Kernel::in_use().name();
        assert!(kernel == name, "asked for {name}, and this machine has only {kernel}");
    }
}
