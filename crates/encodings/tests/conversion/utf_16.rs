//! The recognition of UTF-16 without a BOM.

use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::detect::{Detection, Detector};

use crate::detector::detect;
use crate::support::Rng;
use crate::support::languages::LANGUAGES;

/// Returns `characters` characters. They are those of `text` from a random position, repeated, and a newline.
fn stretch(rng: &mut Rng, text: &str, characters: usize) -> String {
    let start = rng.below(text.chars().count());
    let mut out: String = text.chars().cycle().skip(start).take(characters - 1).collect();
    out.push('\n');
    out
}

fn utf_16(text: &str, encoding: Encoding) -> Vec<u8> {
    let bytes = if encoding == Encoding::Utf16Le { u16::to_le_bytes } else { u16::to_be_bytes };
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn utf_16_without_a_bom_has_the_documented_recognition_rate() {
    const SAMPLES: usize = 300;
    for (characters, percent) in [(20, 90), (50, 95), (200, 100), (1000, 100)] {
        let mut rng = Rng::new(characters as u64);
        let mut recognized = 0;
        for (language, text) in LANGUAGES {
            for sample in 0..SAMPLES {
                let encoding = [Encoding::Utf16Le, Encoding::Utf16Be][sample % 2];
                let text = stretch(&mut rng, text, characters);
                let bytes = utf_16(&text, encoding);
                let detection = detect(&[&bytes]);
                let chunks: Vec<_> = bytes.chunks(1 + rng.below(7)).collect();
                assert_eq!(detect(&chunks), detection, "{language}: {text}");
                if let Detection::LooksLikeUtf16 { encoding: found, units, evidence } = detection {
                    assert_eq!(found, encoding, "{language}: {text}");
                    assert!(3 <= evidence && evidence <= units);
                    recognized += 1;
                }
            }
        }
        let all = LANGUAGES.len() * SAMPLES;
        eprintln!("{recognized} of {all} with {characters} characters");
        assert!(recognized * 100 >= percent * all, "{recognized} of {all} with {characters} characters");
    }
}

/// Returns the number of samples that look like UTF-16, and the number of all samples.
fn look_like_utf_16(samples: impl Iterator<Item = Vec<u8>>) -> (usize, usize) {
    let found = samples.map(|sample| matches!(detect(&[&sample]), Detection::LooksLikeUtf16 { .. }));
    found.fold((0, 0), |(wrong, all), is_wrong| (wrong + usize::from(is_wrong), all + 1))
}

#[test]
fn other_encodings_have_the_documented_false_positive_rate() {
    let labels = [
        "utf-8",
        "windows-1252",
        "windows-1251",
        "windows-1255",
        "windows-1256",
        "windows-874",
        "iso-8859-7",
        "koi8-r",
        "shift_jis",
        "euc-jp",
        "iso-2022-jp",
        "gbk",
        "big5",
        "euc-kr",
    ];
    let mut rng = Rng::new(77);
    let mut texts = Vec::new();
    for label in labels {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).expect("a label of the web");
        for (_, text) in LANGUAGES {
            for _ in 0..20 {
                let characters = 1 + rng.below(300);
                texts.push(encoding.encode(&stretch(&mut rng, text, characters)).0.into_owned());
            }
        }
    }
    assert_eq!(look_like_utf_16(texts.iter().cloned()), (0, 5_040));

    // C strings: each word ends with a NUL.
    let words = texts.into_iter().map(|mut text| {
        text.iter_mut().filter(|byte| matches!(byte, b' ' | b'\n')).for_each(|byte| *byte = 0);
        text
    });
    let (wrong, all) = look_like_utf_16(words);
    eprintln!("{wrong} of {all} with NUL");
    assert!(wrong * 50 <= all, "{wrong} of {all} with NUL");

    for len in [8, 32, 128, 512] {
        let random = (0..20_000).map(|_| (0..len).map(|_| rng.next() as u8).collect());
        assert_eq!(look_like_utf_16(random), (0, 20_000), "{len} random bytes");
    }

    let program = std::fs::read(std::env::current_exe().expect("this test")).expect("its file");
    for len in [64, 256, 1024, 4096] {
        let parts = (0..20_000).map(|_| {
            let at = rng.below(program.len() - len);
            program[at..at + len].to_vec()
        });
        let (wrong, all) = look_like_utf_16(parts);
        eprintln!("{wrong} of {all} parts of a program");
        assert!(wrong * 200 <= all, "{wrong} of {all} parts of a program");
    }
}

#[test]
fn utf_16_is_detected_up_to_the_limit_of_each_condition() {
    // The groups are a number of times the same code unit, in little-endian order.
    let detect_units = |groups: &[(usize, u16)]| {
        let units = groups.iter().flat_map(|&(count, unit)| vec![unit; count]);
        let text: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
        match detect(&[&text]) {
            Detection::LooksLikeUtf16 { encoding, units, .. } => {
                assert_eq!(units as usize, text.len() / 2);
                Some(encoding)
            }
            _ => None,
        }
    };
    // U+5050 is two printable bytes. U+00E9 and U+8080 are ill-formed as UTF-8.
    let (a, e_acute, control, pair, swapped) = (0x0061, 0x00E9, 0x0001, 0x5050, 0x6100);
    for (groups, expected) in [
        // At most 1 unit in 16 is unusual.
        (&[(15, a), (1, control)][..], true),
        (&[(14, a), (1, control)], false),
        (&[(30, a), (2, control)], true),
        (&[(29, a), (2, control)], false),
        // At most half of the units are pairs of printable bytes. U+9050 is not, and neither are kana.
        (&[(4, a), (1, e_acute), (5, pair)], true),
        (&[(3, a), (1, e_acute), (5, pair)], false),
        (&[(3, a), (1, e_acute), (5, 0x9050)], true),
        (&[(3, a), (1, e_acute), (5, 0x5090)], true),
        (&[(3, a), (1, e_acute), (5, 0x3050)], true),
        (&[(3, a), (1, e_acute), (5, 0x30D0)], true),
        // In well-formed UTF-8, 3 of 4 units are below U+2000.
        (&[(3, a), (1, pair)], true),
        (&[(3, a), (2, pair)], false),
        (&[(3, a), (9, 0x0131)], true),
        (&[(3, a), (2, 0x2031)], false),
        // U+0000, noncharacters and unpaired surrogates do not occur in text.
        (&[(31, a), (1, 0x0000)], false),
        (&[(31, a), (1, 0xFDD0)], false),
        (&[(31, a), (1, 0xD800), (1, 0xDC00), (1, a)], true),
        (&[(31, a), (1, 0xD800), (1, a)], false),
        (&[(31, a), (1, 0xDC00), (1, a)], false),
        (&[(31, a), (2, 0xDC00), (1, a)], false),
        // Units whose properties depend only on the upper byte.
        (&[(3, a), (1, e_acute), (1, 0x2000)], true),
        (&[(3, a), (1, e_acute), (1, 0x2800)], false),
    ] {
        assert_eq!(detect_units(groups), expected.then_some(Encoding::Utf16Le), "{groups:X?}");
    }
    // The first 4 KiB are well-formed if the first error is after them.
    let prefix: Vec<u8> = b"a\0a\0a\0PPPP".iter().copied().cycle().take(4096).collect();
    assert_eq!(detect(&[&prefix, b"\xFF"]).encoding(), None);
    assert_eq!(detect(&[&prefix[..4095], b"\xFF"]).encoding(), Some(Encoding::Utf16Le));
    // The byte order with more evidence is chosen.
    for (little, big, expected) in
        [(4, 3, Some(Encoding::Utf16Le)), (3, 4, Some(Encoding::Utf16Be)), (3, 3, None)]
    {
        assert_eq!(detect_units(&[(little, a), (big, swapped), (1, 0x8080)]), expected, "{little} {big}");
    }
}

#[test]
fn utf_16_is_decided_by_the_first_4_kib() {
    // Ill-formed UTF-8 does not decide the result before 4 KiB have been examined.
    let text = utf_16("Smørrebrød på bordet. ", Encoding::Utf16Be);
    let mut detector = Detector::new();
    let mut fed = 0;
    while fed < 4096 {
        assert!(!detector.is_final());
        detector.push(&text);
        fed += text.len();
    }
    assert!(detector.is_final());
    let detection = detector.detection();
    assert!(matches!(detection, Detection::LooksLikeUtf16 { encoding: Encoding::Utf16Be, units: 2048, .. }));
    assert_eq!(detector.push(&[0; 100]), detection);

    // There is just enough evidence, and a chunk ends inside its first unit.
    let text = utf_16(&("aaa".to_owned() + &"\u{8080}".repeat(2045)), Encoding::Utf16Be);
    assert_eq!(detect(&[&text[..1], &text[1..]]).encoding(), Some(Encoding::Utf16Be));

    let mut detector = Detector::new();
    detector.push(&b"a".repeat(4096));
    assert_eq!(detector.push(&utf_16(&"Grün ".repeat(2_000), Encoding::Utf16Le)).encoding(), None);
    assert!(detector.is_final());
    // UTF-16 of ASCII is also well-formed UTF-8, with a NUL in every other byte.
    let text = utf_16(&"plain ".repeat(1_000), Encoding::Utf16Le);
    let mut detector = Detector::new();
    detector.push(&text[..4095]);
    assert!(!detector.is_final());
    let detection = detector.push(&text[4095..4096]);
    assert!(matches!(detection, Detection::LooksLikeUtf16 { encoding: Encoding::Utf16Le, .. }));
    assert!(detector.is_final());
    assert_eq!((detector.push(b"\xFF"), detector.finish()), (detection, detection));
    // The last byte of the first 4 KiB may be part of an ill-formed sequence.
    let mut detector = Detector::new();
    detector.push(&[&text[..4094], b"\0\xC3"].concat());
    assert!(!detector.is_final());
    detector.push(b"\0");
    assert!(detector.is_final());
    let mut detector = Detector::new();
    detector.push(&[b"\xEF\xBB\xBF", &text[..]].concat());
    assert!(!detector.is_final());

    let mut detector = Detector::new();
    assert!(!detector.is_final());
    detector.push(b"\xFE\xFFa");
    assert!(detector.is_final());
}

/// A prefix that ends with a chunk without evidence is not examined unit by unit.
#[test]
fn a_prefix_with_little_evidence_has_the_same_result_for_every_split() {
    let candidates = [0x00, 0x01, 0x02, 0x0C, 0xFF, 0x30];
    let others = [b"plain text\n".as_slice(), "žluťoučký".as_bytes(), &[0x03, 0x0B, 0x0D, 0x30, 0xFF]];
    for other in others {
        for count in 0..12 {
            for step in [1, 2, 7, 301] {
                let mut bytes: Vec<u8> = other.iter().copied().cycle().take(4096 + 10).collect();
                for i in 0..count {
                    bytes[(i * step + 9) % 4096] = candidates[(i + count * step) % 6];
                }
                let expected = detect(&bytes.chunks(1).collect::<Vec<_>>());
                for cuts in [&[][..], &[1], &[9], &[10, 11], &[4095], &[2048, 4000], &[4096]] {
                    let ends = cuts.iter().copied().chain([bytes.len()]);
                    let starts = [0].into_iter().chain(cuts.iter().copied());
                    let chunks: Vec<_> = starts.zip(ends).map(|(start, end)| &bytes[start..end]).collect();
                    assert_eq!(detect(&chunks), expected, "{other:?} {count} {step} {cuts:?}");
                }
            }
        }
    }
}
