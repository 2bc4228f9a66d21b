//! Surrogates that a conversion joins, rejects or skips.

use utf8_codec::{ErrorKind, ErrorPolicy, Subset};
use utf8_codec_encodings::{Encoding, Switches, Transcoder};

use crate::support::encodings::{self, OWN, Open, by_feed};
use crate::support::{every_partition, some_partitions};

#[test]
fn surrogate_pairs_in_wtf_8_are_joined_or_rejected() {
    let pair = b"\xED\xA0\xBD\xED\xB2\xA9";
    every_partition(pair, |chunks| {
        let joined = Transcoder::new(Encoding::Wtf8, Encoding::Wtf8);
        assert_eq!(by_feed(joined.clone(), chunks), ("💩".as_bytes().to_vec(), vec![]));
        let rejected = joined.with_switches(Switches::STRICT.with_reject_pairs(true));
        assert_eq!(by_feed(rejected, chunks), (vec![], vec![(0, ErrorKind::Surrogate, 6)]));
    });
}

/// What is skipped between two surrogates must not make a pair, in any encoding that has pairs.
#[test]
fn skip_does_not_join_two_surrogates() {
    static NO_A: Subset = Subset::new(&[0..=0x60, 0x62..=0x10_FFFF]);
    let open = Switches::STRICT.with_surrogates(true);
    let sources = [
        (Encoding::Utf16Be, [&b"\xD8\x3D"[..], b"\0a", b"\xDC\xA9\0b"]),
        (Encoding::Utf32Be, [b"\0\0\xD8\x3D", b"\0\0\0a", b"\0\0\xDC\xA9\0\0\0b"]),
        (Encoding::Utf8Ucs4, [b"\xED\xA0\xBD", b"a", b"\xED\xB2\xA9b"]),
        (Encoding::Cesu8, [b"\xED\xA0\xBD", b"a", b"\xED\xB2\xA9b"]),
    ];
    let targets = [
        (Encoding::Utf16Be, &b"\xD8\x3D\0b"[..], &b"\xD8\x3D\xDC\xA9\0b"[..]),
        (Encoding::Utf16Le, b"\x3D\xD8b\0", b"\x3D\xD8\xA9\xDCb\0"),
        (Encoding::Cesu8, b"\xED\xA0\xBDb", b"\xED\xA0\xBD\xED\xB2\xA9b"),
        (Encoding::ModifiedUtf8, b"\xED\xA0\xBDb", b"\xED\xA0\xBD\xED\xB2\xA9b"),
        (Encoding::Wtf8, b"\xED\xA0\xBDb", b"\xF0\x9F\x92\xA9b"),
    ];
    for (source, [high, between, low]) in sources {
        let (input, adjacent) = ([high, between, low].concat(), [high, low].concat());
        for (target, skipped, joined) in targets {
            let transcoder = Transcoder::new(source, target).with_switches(open);
            let skip = transcoder.clone().with_error_policy(ErrorPolicy::Skip).with_subset(&NO_A);
            some_partitions(&input, 20, |chunks| {
                let (mut transcoder, mut out) = (skip.clone(), Vec::new());
                for chunk in chunks {
                    transcoder.feed_into(chunk, &mut out).expect("everything is skipped");
                }
                transcoder.finish_into(&mut out).expect("everything is skipped");
                assert_eq!(out, skipped, "{source} to {target}");
                let counters = transcoder.counters();
                let counts = [ErrorKind::OutsideSubset, ErrorKind::Unmappable].map(|kind| counters.of(kind));
                assert_eq!(counts, [1, 1], "{source} to {target}");
            });
            // Nor do they make one for a caller that continues after the error.
            let strict = transcoder.with_subset(&NO_A);
            some_partitions(&input, 20, |chunks| {
                let (out, errors) = by_feed(strict.clone(), chunks);
                let kinds: Vec<_> = errors.iter().map(|&(_, kind, _)| kind).collect();
                assert_eq!(kinds, [ErrorKind::OutsideSubset, ErrorKind::Unmappable], "{source} to {target}");
                assert_eq!(out, skipped, "{source} to {target}");
            });
            // Without anything between them, they are a pair.
            some_partitions(&adjacent, 20, |chunks| {
                assert_eq!(by_feed(skip.clone(), chunks), (joined.to_vec(), vec![]), "{source} to {target}");
            });
        }
    }
}

/// WTF-8 has no surrogate pairs. What is skipped between two surrogates must not make one.
#[test]
fn skip_does_not_write_a_surrogate_pair_to_wtf_8() {
    static NO_A: Subset = Subset::new(&[0..=0x60, 0x62..=0x10_FFFF]);
    let skip = |from| Transcoder::new(from, Encoding::Wtf8).with_error_policy(ErrorPolicy::Skip);
    let open = Switches::STRICT.with_surrogates(true);
    for (transcoder, input, skipped, lows) in [
        (skip(Encoding::Wtf8), &b"\xED\xA0\xBD\xFF\xED\xB2\xA9b"[..], ErrorKind::InvalidLead, 1),
        (skip(Encoding::Wtf8), b"\xED\xA0\xBD\xFF\xED\xB2\xA9\xED\xB2\xA9b", ErrorKind::InvalidLead, 2),
        (
            skip(Encoding::Utf16Be).with_switches(open).with_subset(&NO_A),
            b"\xD8\x3D\0a\xDC\xA9\0b",
            ErrorKind::OutsideSubset,
            1,
        ),
        (
            skip(Encoding::Utf32Be).with_switches(open).with_subset(&NO_A),
            b"\0\0\xD8\x3D\0\0\0a\0\0\xDC\xA9\0\0\0b",
            ErrorKind::OutsideSubset,
            1,
        ),
        (
            skip(Encoding::Utf8Ucs4).with_switches(open.with_reject_fffe_ffff(true)),
            b"\xED\xA0\xBD\xEF\xBF\xBE\xED\xB2\xA9b",
            ErrorKind::Noncharacter,
            1,
        ),
    ] {
        for (room, chunk) in [(6, 1), (6, 3), (100, 4), (100, 100)] {
            let mut transcoder = transcoder.clone();
            let (mut out, mut buffer) = (Vec::new(), vec![0; room]);
            for mut rest in input.chunks(chunk) {
                while !rest.is_empty() {
                    let progress = transcoder.feed_into_slice(rest, &mut buffer);
                    out.extend_from_slice(&buffer[..progress.written]);
                    rest = &rest[progress.read..];
                }
            }
            assert_eq!(transcoder.finish_into(&mut out), Ok(()));
            assert_eq!(out, b"\xED\xA0\xBDb", "{transcoder:?} {room} {chunk}");
            let counters = transcoder.counters();
            assert_eq!((counters.of(skipped), counters.of(ErrorKind::Unmappable)), (1, lows));
        }
    }
}

/// Runs of ASCII, of U+0000 and of pairs, which different functions of a kernel convert.
#[test]
fn long_runs_are_converted_in_chunks_of_any_length() {
    let ascii = "a".repeat(300);
    let text = [&ascii, "\0", "💩", &"é漢".repeat(40), &ascii, &"💩\0".repeat(50), &ascii].concat();
    for encoding in [Encoding::Cesu8, Encoding::ModifiedUtf8] {
        let encoded: Vec<u8> = text
            .chars()
            .flat_map(|it| encodings::encode(encoding, Open::default(), it.into()).expect("a character"))
            .collect();
        for (from, to, input, output) in [
            (Encoding::Utf8, encoding, text.as_bytes(), &encoded[..]),
            (encoding, Encoding::Utf8, &encoded, text.as_bytes()),
        ] {
            for len in [1, 7, 64, 299, 1_000, input.len()] {
                let chunks: Vec<_> = input.chunks(len).collect();
                let (out, errors) = by_feed(Transcoder::new(from, to), &chunks);
                assert!(out == output && errors.is_empty(), "{from} to {to} in chunks of {len}");
            }
        }
    }
}

#[test]
fn a_string_accepts_only_utf_8() {
    for &to in OWN {
        let mut text = String::new();
        let fed = Transcoder::new(Encoding::Latin1, to).feed_into(b"\xE9", &mut text);
        if to == Encoding::Utf8 {
            assert_eq!((fed, text.as_str()), (Ok(()), "é"));
        } else {
            let error = fed.unwrap_err();
            assert_eq!((error.kind, error.len, &*text), (ErrorKind::Unmappable, 0, ""));
            let reason = " cannot be written to a String, only to a Vec<u8>";
            assert!(error.to_string().ends_with(reason), "{error}");
        }
    }
}
