//! Bodies and encoded words in other charsets: the errors of the transcoder, with their offsets on the wire.

use utf8_codec::ErrorKind;
use utf8_codec_encodings::Encoding;
use utf8_codec_mail::{
    BodyDecoder, BodyPiece, MessageValidator, MimeErrorKind, MimeSettings, PartKind, TransferEncoding,
};

use crate::support::legacy::{decode, dirty, index};
use crate::support::messages::{summary, validate, validate_with};
use crate::support::transfer::{bytes, decode as transferred};
use crate::support::{Rng, some_partitions};

/// A validator that checks text in other charsets, or not.
fn validator(other_charsets: bool) -> MessageValidator {
    let mut settings = MimeSettings::default();
    settings.other_charsets = other_charsets;
    MessageValidator::with_settings(settings)
}

#[test]
fn bodies_have_the_text_of_the_charset_and_offsets_on_the_wire() {
    let mut rng = Rng::new(2047);
    for charset in [Encoding::Gb18030, Encoding::Iso2022Jp, Encoding::ShiftJis, Encoding::Windows1253] {
        let index = index(charset);
        for transfer in [TransferEncoding::Base64, TransferEncoding::QuotedPrintable] {
            let text = dirty(&mut rng, &index, 60);
            let body = bytes(transfer, &text);
            let decoded = transferred(transfer, false, &[&body]);
            let parts = decode(charset, &decoded.bytes);
            let errors: Vec<_> = parts.iter().filter_map(|part| part.as_ref().err()).collect();
            let expected: Vec<_> =
                errors.iter().map(|&&(at, len)| (decoded.offsets[at as usize], Some(at), len)).collect();
            let text: String = parts.iter().flatten().map(String::as_str).collect();
            some_partitions(&body, 10, |chunks| {
                let mut decoder = BodyDecoder::new(transfer).with_charset(charset);
                let (mut out, mut found) = (String::new(), Vec::new());
                let mut keep = |piece: BodyPiece<'_>| match piece {
                    BodyPiece::Text(text) => out.push_str(text),
                    BodyPiece::Seam(character) => out.push(character),
                    BodyPiece::Error(error) if matches!(error.kind, MimeErrorKind::Text(_)) => {
                        assert_eq!(error.encoding(), charset);
                        found.push((error.offset, error.decoded_offset, error.len));
                    }
                    _ => {}
                };
                chunks.iter().for_each(|chunk| decoder.feed_with(chunk, &mut keep));
                decoder.finish_with(&mut keep);
                assert_eq!((&out, &found), (&text, &expected), "{charset} {transfer:?} {chunks:02X?}");
            });
        }
    }
}

const MAIL: &[u8] = b"Subject: =?gb2312?B?xOO6ww==?= =?shift_jis?Q?=83e=FD?=\r\n\
    Content-Type: multipart/mixed; boundary=b\r\n\
    \r\n\
    --b\r\n\
    Content-Type: text/plain; charset=iso-2022-jp\r\n\
    \r\n\
    \x1B$BF|\x1B(B\r\n\
    --b\r\n\
    Content-Type: text/plain; charset=EUC-KR\r\n\
    Content-Transfer-Encoding: base64\r\n\
    \r\n\
    x9GxIA==\r\n\
    --b\r\n\
    Content-Type: text/plain; charset=klingon\r\n\
    \r\n\
    \xFF\r\n\
    --b--\r\n";

#[test]
fn a_charset_has_every_name_that_is_parsed() {
    // The name, the bytes of text, its number of characters, and bytes that are an error.
    for (name, text, characters, wrong) in [
        ("MS949", &b"\xB0\xA1"[..], 1, Some(&b"\xFF"[..])),
        ("cp949", b"\xB0\xA1", 1, Some(b"\xFF")),
        ("cp936", b"\xB0\xA1", 1, Some(b"\xFF")),
        ("windows-936", b"\xB0\xA1", 1, Some(b"\xFF")),
        ("CP950", b"\xA4\xA4", 1, Some(b"\xFF")),
        ("cp932", b"\x82\xA0", 1, Some(b"\xFD")),
        ("ibm850", b"T\x82cnica", 7, None),
        ("cp-850", b"T\x82cnica", 7, None),
        ("cp437", b"\x82", 1, None),
        ("ks_c_5601-1987", b"\xB0\xA1", 1, Some(b"\xFF")),
        ("UTF-7", b"+ZeVnLIqe- +2D3emQ-", 5, Some(b"+ZeV-")),
        ("unicode-1-1-utf-7", b"+AOk", 1, Some(b"+AOl-")),
        ("ISO-2022-KR", b"\x1B$)C\x0E0!\x0F.", 2, Some(b"\x0E0!\x0F")),
        ("csISO2022KR", b"plain", 5, Some(b"\x1B$)C\x0E0\n")),
        ("latin1", b"\xE9", 1, None),
    ] {
        let message = |text: &[u8]| {
            [format!("Content-Type: text/plain; charset={name}\r\n\r\n").as_bytes(), text].concat()
        };
        let checked = validator(true);
        let verdict = validate_with(&checked, &message(text));
        let part = &verdict.parts[0];
        assert_eq!((part.kind, part.characters), (PartKind::Text, Some(characters)), "{name}");
        assert!(verdict.is_ok(), "{name}");
        if let Some(wrong) = wrong {
            assert!(!validate_with(&checked, &message(wrong)).is_ok(), "{name}");
            let word = ["Subject: =?".as_bytes(), name.as_bytes(), b"?Q?=FF=FD?=\r\n\r\n"].concat();
            assert!(!validate_with(&checked, &word).is_ok(), "{name}");
        }
        // Without the setting no charset is checked, and none is detected.
        assert!(validate(message(wrong.unwrap_or(text))).is_ok(), "{name}");
    }
    // Without a byte order, and names that are not of an encoding.
    for name in ["utf16", "ucs2le", "utf-32le", "UCS4", "klingon", "x-unknown", "unknown-8bit"] {
        let message = format!("Content-Type: text/plain; charset={name}\r\n\r\nx");
        let verdict = validate_with(&validator(true), message.as_bytes());
        assert_eq!(verdict.parts[0].kind, PartKind::OtherText, "{name}");
    }
}

#[test]
fn other_charsets_are_checked_on_request() {
    assert!(validate(MAIL).is_ok());
    let verdict = validate_with(&validator(true), MAIL);
    let expected =
        "0 multipart/mixed InvalidLead@49\n1 text/plain\n2 text/plain MissingContinuation@251\n3 text/plain";
    assert_eq!(summary(&verdict), expected);
    let kinds: Vec<_> = verdict.parts.iter().map(|part| (part.kind, part.characters)).collect();
    let text = |characters| (PartKind::Text, Some(characters));
    assert_eq!(kinds, [(PartKind::Multipart, None), text(1), text(2), (PartKind::OtherText, None)]);
    let error = verdict.parts[2].errors()[0];
    assert_eq!(
        (error.kind, error.decoded_offset),
        (MimeErrorKind::Text(ErrorKind::MissingContinuation), Some(2))
    );
    assert_eq!(
        error.to_string(),
        "ill-formed EUC-KR at byte 251 (decoded byte 2, MissingContinuation, 1 byte)"
    );
}

#[test]
fn extended_parameters_are_checked_in_their_charset() {
    let check = |value: &str, charsets| {
        let validator = validator(charsets);
        let message = format!("Content-Disposition: a; {value}\r\n\r\n");
        let verdict = validate_with(&validator, message.as_bytes());
        let errors = verdict.parts[0].errors().iter();
        let errors = errors
            .map(|error| (error.kind.as_str(), error.offset as usize - 24, error.decoded_offset.unwrap()));
        errors.collect::<Vec<_>>()
    };
    for value in [
        "filename*=gbk''%C4%E3.txt",
        "filename*=Shift_JIS'ja'%83e",
        "filename*0*=gbk''%C4; filename*1*=%E3; filename*2=%C4",
        "filename*=iso-8859-1''%E9",
        "filename*=iso-2022-jp''%1B$BF|%1B(B",
        "filename*=klingon''%FF",
    ] {
        assert_eq!(check(value, true), [], "{value}");
    }
    for (value, error) in [
        ("filename*=gbk''a%C4", ("Truncated", 16, 1)),
        ("filename*=gbk''%C4%FF", ("Unassigned", 15, 0)),
        ("filename*0*=euc-kr''%C7; filename*1*=%61%21", ("MissingContinuation", 20, 0)),
        // Each of two values is checked in its own charset.
        ("filename*0*=gbk''%C4%E3; filename*0*=UTF-8''%FF", ("InvalidLead", 44, 0)),
        ("filename*0*=UTF-8''a; filename*0*=gbk''%FF", ("InvalidLead", 39, 0)),
    ] {
        assert_eq!(check(value, true), [error], "{value}");
        assert!(value.contains("UTF-8''%FF") || check(value, false).is_empty(), "{value}");
    }
}

/// The pending bytes of UTF-7 are in two lines of base64, each with its offset on the wire.
#[test]
fn utf_7_in_a_transfer_encoding_has_offsets_on_the_wire() {
    // `a+2D0-+3el-b` in base64: an unpaired surrogate at byte 2 and bits that are not zero at byte 7.
    let body = b"YSsyRDAtKz\r\nNlbC1i";
    let expected = [(2, 2, ErrorKind::UnpairedSurrogate, 3), (9, 7, ErrorKind::MissingContinuation, 3)];
    some_partitions(body, 20, |chunks| {
        let mut decoder = BodyDecoder::new(TransferEncoding::Base64).with_charset(Encoding::Utf7);
        let mut text = String::new();
        let mut errors = Vec::new();
        let mut keep = |piece: BodyPiece<'_>| match piece {
            BodyPiece::Error(error) => match error.kind {
                MimeErrorKind::Text(kind) => {
                    errors.push((error.offset, error.decoded_offset.unwrap(), kind, error.len));
                }
                kind => panic!("{kind:?}"),
            },
            BodyPiece::Seam(character) => text.push(character),
            BodyPiece::Text(piece) => text.push_str(piece),
            other => panic!("{other:?}"),
        };
        chunks.iter().for_each(|chunk| decoder.feed_with(chunk, &mut keep));
        decoder.finish_with(&mut keep);
        assert_eq!((text.as_str(), &errors[..]), ("ab", &expected[..]), "{chunks:02X?}");
    });
}
