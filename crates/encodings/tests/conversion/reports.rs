//! Cases from reports about transcoding, detection and positions.

use utf8_codec_encodings::detect::{Detection, Detector, FallbackDecoder, Scope};
use utf8_codec_encodings::{Encoding, Transcoder, UnknownEncoding};

use crate::support::every_partition;

/// WHATWG Encoding, `decode`: the BOM determines the encoding and is removed.
#[test]
fn a_sniffed_bom_is_removed() {
    for (report, input, text) in [
        ("workerd#4977", &b"\xFE\xFF\0h\0\xE9"[..], "hé"),
        ("fluent-bit#9321", b"\xFF\xFEa\0\r\0\n\0", "a\r\n"),
        ("encoding_rs users", b"\xEF\xBB\xBFa", "a"),
    ] {
        every_partition(input, |chunks| {
            let mut transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf8).with_sniffing(true);
            let mut out = String::new();
            chunks.iter().for_each(|chunk| transcoder.feed_into(chunk, &mut out).expect(report));
            transcoder.finish_into(&mut out).expect(report);
            assert_eq!(out, text, "{report}");
        });
    }
}

#[test]
fn utf_32_needs_whole_code_units() {
    for (report, input, detection) in [
        ("chardet#62", &b"\xFF\xFE\0\x000\0"[..], Detection::Utf16(Encoding::Utf16Le)),
        ("chardet#62", b"\xFF\xFE\0\x000\0\0\0", Detection::Utf32(Encoding::Utf32Le)),
        ("a code unit above 10FFFF", b"\xFF\xFE\0\x000\0\x11\0", Detection::Utf16(Encoding::Utf16Le)),
        ("nothing after the BOM", b"\xFF\xFE\0\0", Detection::Utf32(Encoding::Utf32Le)),
    ] {
        every_partition(input, |chunks| {
            let mut detector = Detector::new();
            chunks.iter().for_each(|chunk| _ = detector.push(chunk));
            assert_eq!(detector.finish(), detection, "{report}");
        });
    }
}

#[test]
fn an_unknown_encoding_is_named_by_its_error() {
    let message = |name: &str| name.parse::<Encoding>().map_err(|error: UnknownEncoding| error.to_string());
    let error = message("utf-9").expect_err("unknown");
    assert!(error.starts_with("unknown encoding `utf-9`; known are utf-8, "), "{error}");
    // A name may come from a peer.
    let error = message(&"\u{1B}é".repeat(30)).expect_err("unknown");
    assert!(error.starts_with(&format!("unknown encoding `{}...`; known", "?".repeat(40))), "{error}");
}

#[test]
fn legacy_text() {
    let decoder = FallbackDecoder::new(Encoding::Windows1252, Scope::Frame).expect("it has ASCII");
    for (name, line, expected) in [
        ("weechat 508", &b"caf\xC3\xA9 na\xC3"[..], "caf\u{E9} na\u{FFFD}"),
        ("with its line break", b"caf\xC3\xA9 \xE2\x82\r\n", "caf\u{E9} \u{FFFD}\r\n"),
        ("legacy text", b"caf\xE9", "caf\u{E9}"),
    ] {
        assert_eq!(decoder.decode(line), expected, "{name}");
    }
}
