//! The dialects: CESU-8, Modified UTF-8, WTF-8, UTF-8B, RFC 2279.

use serde_json::Value;
use utf8_codec::ErrorPolicy;
use utf8_codec_encodings::{Encoding, Switches, TranscodeError, Transcoder};

use crate::cases::{Case, cases, suite};
use crate::support::{every_partition, some_partitions, unhex};

fn convert(transcoder: Transcoder, chunks: &[&[u8]]) -> Result<Vec<u8>, TranscodeError> {
    let (mut transcoder, mut out) = (transcoder, Vec::new());
    for chunk in chunks {
        transcoder.feed_into(chunk, &mut out)?;
    }
    transcoder.finish_into(&mut out)?;
    Ok(out)
}

/// Calls `check` with the chunks of the case, and with other partitions of the same bytes.
fn check_partitions(case: &Case, mut check: impl FnMut(&[&[u8]])) {
    check(&case.slices());
    let whole = case.chunks.concat();
    match whole.len() {
        0..=8 => every_partition(&whole, check),
        9..=40 => some_partitions(&whole, 2, check),
        _ => {
            check(&whole.chunks(1).collect::<Vec<_>>());
            check(&whole.chunks(5).collect::<Vec<_>>());
        }
    }
}

/// Checks every case of a dialect and a policy, and prints their number.
fn each(dialect: &str, policy: &str, check: impl Fn(&Case)) {
    let cases: Vec<_> =
        cases(|_| true).into_iter().filter(|case| case.dialect == dialect && case.policy == policy).collect();
    assert!(!cases.is_empty(), "no case of {dialect} under {policy}");
    cases.iter().for_each(check);
    eprintln!("{} cases of {dialect} under {policy}", cases.len());
}

fn ok(case: &Case) -> bool {
    case.expect()["ok"].as_bool().unwrap_or_else(|| panic!("{}: no verdict", case.id))
}

/// Checks the verdict, and the output if there is one. `lenient` is used if the suite of the case permits
/// surrogates.
fn fatal(case: &Case, strict: Transcoder, lenient: Transcoder) {
    let wtf_8 = case.expect_hex("text_wtf8_hex");
    let expected = wtf_8.clone().or_else(|| case.expect_hex("text_hex"));
    let transcoder = if wtf_8.is_some() { lenient } else { strict };
    check_partitions(case, |chunks| match convert(transcoder.clone(), chunks) {
        Ok(out) => {
            assert!(ok(case), "{}: accepted {chunks:02X?}", case.id);
            if let Some(expected) = &expected {
                assert_eq!(&out, expected, "{}", case.id);
            }
        }
        Err(error) => {
            assert!(!ok(case), "{}: {error}", case.id);
            if let Some(offset) = case.expect()["error"]["offset"].as_u64() {
                assert_eq!(error.offset, offset, "{}", case.id);
            }
        }
    });
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn cesu_8() {
    let strict = Transcoder::new(Encoding::Cesu8, Encoding::Utf8);
    let lenient = Transcoder::new(Encoding::Cesu8, Encoding::Wtf8)
        .with_switches(Switches::STRICT.with_surrogates(true));
    each("cesu-8", "fatal", |case| fatal(case, strict.clone(), lenient.clone()));
    each("cesu-8", "replace", |case| {
        let wtf_8 = case.expect_hex("text_wtf8_hex");
        let transcoder = if wtf_8.is_some() { lenient.clone() } else { strict.clone() }
            .with_error_policy(ErrorPolicy::Replace);
        let expected = wtf_8.or_else(|| case.expect_hex("text_hex"));
        check_partitions(case, |chunks| {
            assert_eq!(convert(transcoder.clone(), chunks).ok(), expected, "{}", case.id)
        });
    });
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn modified_utf_8() {
    let strict = Transcoder::new(Encoding::ModifiedUtf8, Encoding::Utf8);
    each("mutf-8", "fatal", |case| {
        fatal(case, strict.clone(), strict.clone());
        // Encoding the text returns the input.
        let text = case.expect_hex("text_hex").expect("well-formed");
        let back = convert(Transcoder::new(Encoding::Utf8, Encoding::ModifiedUtf8), &[&text]);
        assert_eq!(back, Ok(case.chunks.concat()), "{}", case.id);
    });
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn rfc_2279() {
    each("rfc2279", "fatal", |case| {
        let expected: Option<Vec<u8>> = case.expect()["code_points"].as_array().map(|values| {
            values.iter().flat_map(|value| (value.as_u64().expect("a number") as u32).to_be_bytes()).collect()
        });
        check_partitions(case, |chunks| {
            let converted = convert(Transcoder::new(Encoding::Utf8Ucs4, Encoding::Utf32Be), chunks);
            assert_eq!(converted.is_ok(), ok(case), "{}", case.id);
            match (converted, &expected) {
                (Ok(out), Some(expected)) => {
                    assert_eq!(&out, expected, "{}", case.id);
                    let back = convert(Transcoder::new(Encoding::Utf32Be, Encoding::Utf8Ucs4), &[&out]);
                    assert_eq!(back, Ok(case.chunks.concat()), "{}", case.id);
                }
                (Err(error), _) => {
                    if let Some(offset) = case.expect()["error"]["offset"].as_u64() {
                        assert_eq!(error.offset, offset, "{}", case.id);
                    }
                }
                _ => {}
            }
        });
    });
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn wtf_8() {
    let same = Transcoder::new(Encoding::Wtf8, Encoding::Wtf8);
    each("wtf-8", "encode", |case| {
        let values = case.json["in_code_points"].as_array().expect("code points");
        let utf_32: Vec<u8> = values
            .iter()
            .flat_map(|value| (value.as_u64().expect("a number") as u32).to_be_bytes())
            .collect();
        let encode = Transcoder::new(Encoding::Utf32Be, Encoding::Wtf8)
            .with_switches(Switches::STRICT.with_surrogates(true));
        some_partitions(&utf_32, 3, |chunks| {
            assert_eq!(convert(encode.clone(), chunks).ok(), case.expect_hex("bytes_hex"), "{}", case.id);
        });
    });
    // The strings are concatenated.
    each("wtf-8", "concat", |case| {
        check_partitions(case, |chunks| {
            assert_eq!(convert(same.clone(), chunks).ok(), case.expect_hex("bytes_hex"), "{}", case.id);
        });
    });
    // In a single WTF-8 string, a surrogate pair is ill-formed.
    let one = same.with_switches(Switches::STRICT.with_reject_pairs(true));
    each("wtf-8", "fatal", |case| fatal(case, one.clone(), one.clone()));
    each("wtf-8", "replace", |case| {
        let lossy = Transcoder::new(Encoding::Wtf8, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace);
        check_partitions(case, |chunks| {
            assert_eq!(convert(lossy.clone(), chunks).ok(), case.expect_hex("text_hex"), "{}", case.id);
        });
    });
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn utf_8b() {
    each("utf-8", "utf8b", |case| {
        let expected = case.expect_hex("text_wtf8_hex").or_else(|| case.expect_hex("text_hex"));
        let bytes = case.chunks.concat();
        check_partitions(case, |chunks| {
            let escaped =
                convert(Transcoder::new(Encoding::Utf8b, Encoding::Wtf8), chunks).expect("any bytes");
            if let Some(expected) = &expected {
                assert_eq!(&escaped, expected, "{}", case.id);
            }
            let back = convert(Transcoder::new(Encoding::Wtf8, Encoding::Utf8b), &[&escaped]);
            assert_eq!(back.as_ref(), Ok(&bytes), "{}", case.id);
        });
        assert!(expected.is_some() || case.bom_strip, "{}: no expectation", case.id);
    });
    each("utf-8", "encode-utf8b", |case| {
        let wtf_8 = unhex(case.json["in_wtf8_hex"].as_str().expect("hexadecimal"));
        // A Python string, in which a high surrogate before a low one is not a pair.
        let apart = Transcoder::new(Encoding::Utf8Ucs4, Encoding::Utf8b)
            .with_switches(Switches::STRICT.with_surrogates(true));
        let encoded = convert(apart, &[&wtf_8]);
        assert_eq!(encoded.ok(), case.expect_hex("bytes_hex"), "{}", case.id);
    });
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn utf_16_with_unpaired_surrogates_replaced() {
    each("utf-8", "encode-utf16-replace", |case| {
        let chunks = case.json["in_utf16"].as_array().expect("code units");
        let chunks: Vec<Vec<u8>> =
            chunks.iter().map(Value::as_str).map(|chunk| unhex(chunk.expect("hexadecimal"))).collect();
        let mut transcoder =
            Transcoder::new(Encoding::Utf16Be, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace);
        let (mut outs, mut text) = (Vec::new(), Vec::new());
        for chunk in &chunks {
            let mut out = Vec::new();
            transcoder.feed_into(chunk, &mut out).expect("repaired");
            outs.push(out);
        }
        let mut out = Vec::new();
        transcoder.finish_into(&mut out).expect("repaired");
        outs.push(out);
        outs.retain(|out| !out.is_empty());
        outs.iter().for_each(|out| text.extend(out));
        assert_eq!(Some(text), case.expect_hex("text_hex"), "{}", case.id);
        // The other suites encode the whole string as one chunk.
        let streamed = case.json["source"].as_str().is_some_and(|source| source.contains("/streams/"));
        if let (true, Some(expected)) = (streamed, case.expect()["out_chunks_hex"].as_array()) {
            let expected: Vec<_> = expected.iter().map(|out| unhex(out.as_str().expect("hex"))).collect();
            assert_eq!(outs, expected, "{}", case.id);
        }
    });
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn the_table_of_windows_1252() {
    let json = std::fs::read_to_string(suite("windows-1252.json")).expect("the table");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    for (byte, value) in json["table"].as_object().expect("a table") {
        let (byte, value) = (unhex(byte), unhex(value.as_str().expect("hexadecimal")));
        let to = convert(Transcoder::new(Encoding::Windows1252, Encoding::Utf16Be), &[&byte]);
        assert_eq!(to.as_ref(), Ok(&value));
        assert_eq!(convert(Transcoder::new(Encoding::Utf16Be, Encoding::Windows1252), &[&value]), Ok(byte));
    }
}
