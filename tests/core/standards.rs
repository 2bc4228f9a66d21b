//! The examples and attacks of RFC 3629 and RFC 2279.

use utf8_codec::{ErrorKind, Piece, Utf8Decoder};

use crate::support::some_partitions;

/// Decodes strictly for several partitions. Returns the text, or the first error.
fn decode(input: &[u8]) -> Result<String, (u64, ErrorKind, u8)> {
    let mut first = None;
    some_partitions(input, 8, |chunks| {
        let (mut decoder, mut text) = (Utf8Decoder::new(), String::new());
        let mut result = chunks.iter().try_for_each(|chunk| {
            decoder.feed(chunk).try_for_each(|piece| {
                match piece {
                    Piece::Text(good) => text.push_str(good),
                    Piece::Seam(character) => text.push(character),
                    Piece::IllFormed(error) => return Err(error),
                }
                Ok(())
            })
        });
        if result.is_ok() {
            result = decoder.finish();
        }
        let result = result.map(|()| text).map_err(|error| (error.offset, error.kind, error.len));
        assert_eq!(*first.get_or_insert_with(|| result.clone()), result, "{chunks:02X?}");
    });
    first.expect("at least one partition")
}

#[test]
fn the_example_strings_of_rfc_2279_and_rfc_3629() {
    assert_eq!(decode(b"\x41\xE2\x89\xA2\xCE\x91\x2E").unwrap(), "A\u{2262}\u{391}.");
    assert_eq!(decode(b"\xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4").unwrap(), "\u{D55C}\u{AD6D}\u{C5B4}");
    assert_eq!(decode(b"\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E").unwrap(), "\u{65E5}\u{672C}\u{8A9E}");
    assert_eq!(decode(b"\xEF\xBB\xBF\xF0\xA3\x8E\xB4").unwrap(), "\u{FEFF}\u{233B4}");
}

#[test]
fn the_attacks_of_rfc_2279_section_6_and_rfc_3629_section_10() {
    // An overlong NUL, and "/../" with an overlong slash or dot, which a filter that compares bytes would not find.
    for (attack, error) in [
        (&b"\xC0\x80"[..], (0, ErrorKind::Overlong, 1)),
        (b"\x2F\xC0\xAE\x2E\x2F", (1, ErrorKind::Overlong, 1)),
        (b"/..\xC0\xAF", (3, ErrorKind::Overlong, 1)),
        (b"/..\xE0\x80\xAF", (3, ErrorKind::Overlong, 1)),
        (b"/..\xF0\x80\x80\xAF", (3, ErrorKind::Overlong, 1)),
        (b"/..\xF8\x80\x80\x80\xAF", (3, ErrorKind::AboveMax, 1)),
        (b"/..\xFC\x80\x80\x80\x80\xAF", (3, ErrorKind::AboveMax, 1)),
        // A surrogate pair encoded in place of the character.
        (b"\xED\xA1\x8C\xED\xBE\xB4", (0, ErrorKind::Surrogate, 1)),
        (b"\xF4\x90\x80\x80", (0, ErrorKind::AboveMax, 1)),
        (b"\xFE\xFF", (0, ErrorKind::InvalidLead, 1)),
        (b"\xFF\xFE", (0, ErrorKind::InvalidLead, 1)),
    ] {
        assert_eq!(decode(attack), Err(error), "{attack:02X?}");
    }
}

#[test]
fn every_pair_of_bytes_agrees_with_the_grammar() {
    for lead in 0..=0xFF_u8 {
        for second in 0..=0xFF_u8 {
            let pair = [lead, second];
            let mut decoder = Utf8Decoder::new();
            let by_pair = decoder.validate(&pair).err();
            let pending = decoder.pending().to_vec();

            let mut decoder = Utf8Decoder::new();
            let by_byte = decoder.validate(&[lead]).and_then(|()| decoder.validate(&[second])).err();
            assert_eq!(by_byte, by_pair, "{pair:02X?}");

            // std is the second oracle: errors are reported at once, and bytes are pending exactly if more may follow.
            match core::str::from_utf8(&pair) {
                Ok(_) => assert_eq!((by_pair, &pending[..]), (None, &[][..]), "{pair:02X?}"),
                Err(error) => {
                    let got = by_pair.map(|error| (error.offset, usize::from(error.len)));
                    assert_eq!(
                        got,
                        error.error_len().map(|len| (error.valid_up_to() as u64, len)),
                        "{pair:02X?}"
                    );
                    if got.is_none() {
                        assert_eq!(pending, pair[error.valid_up_to()..]);
                    }
                }
            }
        }
    }
}

#[test]
fn every_character_is_decoded_across_every_boundary() {
    for character in '\0'..=char::MAX {
        let mut bytes = [0; 4];
        let bytes = character.encode_utf8(&mut bytes).as_bytes();
        for cut in 1..bytes.len() {
            let mut decoder = Utf8Decoder::new();
            assert_eq!(decoder.feed(&bytes[..cut]).next(), None);
            assert_eq!(decoder.pending(), &bytes[..cut]);
            assert_eq!(decoder.feed(&bytes[cut..]).next(), Some(Piece::Seam(character)));
            assert_eq!(decoder.finish(), Ok(()));
        }
    }
}
