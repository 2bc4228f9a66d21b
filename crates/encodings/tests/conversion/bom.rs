//! `Transcoder`: the BOM policies, and the detection of the encoding by its BOM.

use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy};
use utf8_codec_encodings::{Encoding, Transcoder};

use crate::support::encodings::{self, OWN, Open, by_feed};
use crate::support::every_partition;

#[test]
fn the_bom_policy_applies_in_every_encoding() {
    for &encoding in OWN {
        let Some(bom) = encoding.bom() else { continue };
        let text = encodings::encode(encoding, Open::default(), 0x61).expect("ASCII");
        let signed = [bom, &text[..]].concat();
        let len = bom.len() as u8;
        every_partition(&signed, |chunks| {
            let with = |bom| by_feed(Transcoder::new(encoding, Encoding::Utf8).with_bom_policy(bom), chunks);
            assert_eq!(with(BomPolicy::Keep), (b"\xEF\xBB\xBFa".to_vec(), vec![]), "{encoding}");
            assert_eq!(with(BomPolicy::Strip), (b"a".to_vec(), vec![]), "{encoding}");
            assert_eq!(with(BomPolicy::Require), (b"a".to_vec(), vec![]), "{encoding}");
            let rejected = vec![(0, ErrorKind::UnexpectedBom, len)];
            assert_eq!(with(BomPolicy::Reject), (b"a".to_vec(), rejected), "{encoding}");
        });
        every_partition(&text, |chunks| {
            let with = |bom| by_feed(Transcoder::new(encoding, Encoding::Utf8).with_bom_policy(bom), chunks);
            for bom in [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Reject] {
                assert_eq!(with(bom), (b"a".to_vec(), vec![]), "{encoding} {bom:?}");
            }
            let missing = vec![(0, ErrorKind::MissingBom, 0)];
            assert_eq!(with(BomPolicy::Require), (b"a".to_vec(), missing), "{encoding}");
        });
    }
    let missing = vec![(0, ErrorKind::MissingBom, 0)];
    let nothing = Transcoder::new(Encoding::Utf16Le, Encoding::Utf8).with_bom_policy(BomPolicy::Require);
    assert_eq!(by_feed(nothing, &[]), (vec![], missing));
}

/// The fast path and the slow path note that the start was read.
#[test]
fn a_bom_policy_applies_only_if_nothing_was_read() {
    for (before, expected) in
        [(&b""[..], "a"), (b"b", "b\u{FEFF}a"), ("\u{FEFF}".as_bytes(), "\u{FEFF}\u{FEFF}a")]
    {
        let mut transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf8);
        let mut out = String::new();
        transcoder.feed_into(before, &mut out).expect("well-formed");
        transcoder = transcoder.with_bom_policy(BomPolicy::Strip);
        transcoder.feed_into("\u{FEFF}a".as_bytes(), &mut out).expect("well-formed");
        assert_eq!(out, expected);
    }
}

#[test]
fn sniffing_selects_the_encoding_that_the_bom_names() {
    for (input, encoding, text) in [
        (&b"\xEF\xBB\xBFa"[..], Encoding::Utf8, "a"),
        (b"\xFF\xFEa\0", Encoding::Utf16Le, "a"),
        (b"\xFF\xFE\xFF\xFE", Encoding::Utf16Le, "\u{FEFF}"),
        (b"\xFE\xFF\0a", Encoding::Utf16Be, "a"),
        (b"\xFF\xFE\0\0a\0\0\0", Encoding::Utf32Le, "a"),
        (b"\0\0\xFE\xFF\0\0\0a", Encoding::Utf32Be, "a"),
        (b"\xFF\xFE", Encoding::Utf16Le, ""),
        (b"\xFF\xFE\0\0", Encoding::Utf32Le, ""),
        // No code unit of UTF-32 follows.
        (b"\xFF\xFE\0\0a\0", Encoding::Utf16Le, "\0a"),
        (b"\xFF\xFE\0\0a\0b\0", Encoding::Utf16Le, "\0ab"),
        (b"\xFF\xFE\0\0\0\xD8\0\xDC", Encoding::Utf16Le, "\0\u{10000}"),
        (b"abc", Encoding::Utf8, "abc"),
        (b"\0\0a", Encoding::Utf8, "\0\0a"),
        (b"", Encoding::Utf8, ""),
    ] {
        every_partition(input, |chunks| {
            let mut transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf8).with_sniffing(true);
            let mut out = String::new();
            for chunk in chunks {
                transcoder.feed_into(chunk, &mut out).expect("well-formed");
            }
            transcoder.finish_into(&mut out).expect("well-formed");
            assert_eq!((out.as_str(), transcoder.source()), (text, encoding), "{chunks:02X?}");
        });
    }
    for (input, errors) in [
        (&b"\xFFa"[..], vec![(0, ErrorKind::InvalidLead, 1)]),
        (b"\0\0\xFEa", vec![(2, ErrorKind::InvalidLead, 1)]),
        (b"\xEF\xBBa", vec![(0, ErrorKind::MissingContinuation, 2)]),
        (b"\xEF\xBB", vec![(0, ErrorKind::Truncated, 2)]),
        (b"\xFF", vec![(0, ErrorKind::InvalidLead, 1)]),
    ] {
        every_partition(input, |chunks| {
            let transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf8).with_sniffing(true);
            assert_eq!(by_feed(transcoder, chunks).1, errors, "{chunks:02X?}");
        });
    }
    // An error that cannot be part of a BOM is reported by the call that contains it.
    let mut transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf8).with_sniffing(true);
    assert!(transcoder.feed_into(b"\x80", &mut Vec::new()).is_err());
    let mut transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf8).with_sniffing(true);
    assert!(transcoder.feed_into(b"\xFF", &mut Vec::new()).is_ok());
    assert!(transcoder.feed_into(b"a", &mut Vec::new()).is_err());
}

/// `EF BB BF` is the BOM of every encoding that resembles UTF-8 (ISO/IEC 10646-1 Annex F for the one with 31 bits).
#[test]
fn sniffing_keeps_an_encoding_whose_bom_it_finds() {
    for (encoding, input, text) in [
        (Encoding::Utf8Ucs4, &b"\xEF\xBB\xBF\xFC\x84\x80\x80\x80\x80"[..], "\u{FEFF}\u{FFFD}"),
        (Encoding::Cesu8, b"\xEF\xBB\xBF\xED\xA0\xBD\xED\xB2\xA9", "\u{FEFF}💩"),
        (Encoding::ModifiedUtf8, b"\xEF\xBB\xBF\xC0\x80", "\u{FEFF}\0"),
        (Encoding::Wtf8, b"\xEF\xBB\xBF\xED\xA0\xBD\xED\xB2\xA9", "\u{FEFF}💩"),
        (Encoding::Utf8b, b"\xEF\xBB\xBF\xED\xA0", "\u{FEFF}\u{FFFD}\u{FFFD}"),
    ] {
        every_partition(input, |chunks| {
            let transcoder =
                Transcoder::new(encoding, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace);
            let [mut sniffing, mut named] =
                [transcoder.clone().with_sniffing(true).with_bom_policy(BomPolicy::Keep), transcoder];
            let (mut sniffed, mut out) = (String::new(), String::new());
            for chunk in chunks {
                sniffing.feed_into(chunk, &mut sniffed).expect("every error is repaired");
                named.feed_into(chunk, &mut out).expect("every error is repaired");
            }
            sniffing.finish_into(&mut sniffed).expect("every error is repaired");
            named.finish_into(&mut out).expect("every error is repaired");
            assert_eq!((sniffed.as_str(), sniffing.source()), (text, encoding), "{chunks:02X?}");
            assert_eq!((out, named.counters()), (sniffed, sniffing.counters()), "{encoding}");
        });
    }
    // Other encodings have another BOM or none.
    for encoding in [Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Latin1, Encoding::Windows1252] {
        let mut transcoder = Transcoder::new(encoding, Encoding::Utf8).with_sniffing(true);
        transcoder.feed_into("\u{FEFF}é".as_bytes(), &mut String::new()).expect("UTF-8");
        assert_eq!(transcoder.source(), Encoding::Utf8);
    }
}
