//! The decoders accept and reject the same bytes as the rule text of their standard.
//!
//! Every state of a decoder is visited, and all 256 bytes are tested in it. For continuation bytes after the second
//! byte, eight values represent all, because no rule distinguishes them.

use utf8_codec::Utf8Decoder;
use utf8_codec::transcode::{Encoding, Switches, Transcoder};
use utf8_codec_proofs::{Grammar, rules};

/// A decoder that is fed byte by byte.
trait Subject: Clone {
    /// Whether the byte is accepted.
    fn take(&mut self, byte: u8) -> bool;
    /// Whether the stream may end here.
    fn may_end(self) -> bool;
}

impl Subject for Utf8Decoder {
    fn take(&mut self, byte: u8) -> bool {
        self.validate(&[byte]).is_ok()
    }

    fn may_end(mut self) -> bool {
        self.finish().is_ok()
    }
}

#[derive(Clone)]
struct From(Transcoder);

impl Subject for From {
    fn take(&mut self, byte: u8) -> bool {
        self.0.feed_into(&[byte], &mut Vec::new()).is_ok()
    }

    fn may_end(mut self) -> bool {
        self.0.finish_into(&mut Vec::new()).is_ok()
    }
}

/// Whether this is an unpaired second half. It is reported after its third byte: the rules contain it, but no decoder
/// accepts it.
fn is_lone_half(character: &[u8]) -> bool {
    matches!(character, [0xED, 0xB0..=0xBF, _])
}

/// Returns the number of states of the decoder that were visited.
fn compare<S: Subject>(start: &S, grammar: &Grammar, rejects_lone_halves: bool) -> usize {
    let later = [0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xAF, 0xB0, 0xBF];
    let mut seen = vec![false; grammar.states()];
    let mut visited = 0;
    let mut open = vec![(start.clone(), 0, Vec::new())];
    while let Some((decoder, state, prefix)) = open.pop() {
        visited += 1;
        seen[usize::from(state)] = true;
        assert_eq!(decoder.clone().may_end(), state == 0, "the end after {prefix:02X?}");
        for byte in 0..=0xFF {
            let mut after = decoder.clone();
            let bytes = [&prefix[..], &[byte]].concat();
            let expected =
                grammar.step(state, byte).filter(|_| !rejects_lone_halves || !is_lone_half(&bytes));
            assert_eq!(after.take(byte), expected.is_some(), "{bytes:02X?}");
            let Some(next) = expected else { continue };
            if next == 0 {
                assert!(after.may_end(), "{bytes:02X?} is a whole character");
            } else if prefix.len() < 2 || byte >= 0xC0 || later.contains(&byte) {
                open.push((after, next, bytes));
            }
        }
    }
    assert!(seen.iter().all(|seen| *seen), "every state of the grammar is reached");
    visited
}

fn between(encoding: Encoding, switches: Switches) -> From {
    From(Transcoder::new(encoding, encoding).with_switches(switches))
}

#[test]
fn utf_8_is_rfc_3629() {
    let grammar = Grammar::read(rules::UTF_8, "UTF8-char");
    assert!(compare(&Utf8Decoder::new(), &grammar, false) > 1_000);
    compare(&between(Encoding::Utf8, Switches::default()), &grammar, false);
}

#[test]
fn utf_8_of_rfc_2279_is_its_table() {
    compare(
        &between(Encoding::Utf8Ucs4, Switches::default()),
        &Grammar::read(rules::RFC_2279, "UTF8-char"),
        false,
    );
}

#[test]
fn cesu_8_is_utr_26() {
    compare(&between(Encoding::Cesu8, Switches::default()), &Grammar::read(rules::CESU_8, "char"), true);
}

#[test]
fn modified_utf_8_is_that_of_java() {
    compare(
        &between(Encoding::ModifiedUtf8, Switches::default()),
        &Grammar::read(rules::MODIFIED_UTF_8, "char"),
        true,
    );
}

#[test]
fn wtf_8_is_generalized_utf_8() {
    compare(&between(Encoding::Wtf8, Switches::default()), &Grammar::read(rules::WTF_8, "char"), false);
}

#[test]
fn utf_8b_accepts_every_byte() {
    let grammar = Grammar::read(rules::UTF_8B, "char");
    for first in 0..=0xFF_u8 {
        for second in 0..=0xFF {
            let mut decoder = between(Encoding::Utf8b, Switches::default());
            assert!(decoder.take(first) && decoder.take(second) && decoder.may_end());
            assert_eq!(grammar.step(0, first), Some(0));
        }
    }
}
