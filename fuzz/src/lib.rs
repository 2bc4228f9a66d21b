//! Code that the targets share: settings and chunks from the input of the fuzzer, and loops that run a codec over
//! chunks.
//!
//! The first 8 bytes of an input are settings, the rest is the stream. A seed is therefore 8 bytes and a text, and a
//! mutation of the text keeps the settings. Inputs are short, because libFuzzer needs many executions. A setting repeats the
//! first half of the stream, so that there are also streams that are longer than the buffers and blocks of the crate.

use bytes::BytesMut;
use test_support::Rng;
use tokio_util::codec::Decoder;
use utf8_codec::{BomPolicy, Subset, TextDecoder, Utf8Error};

/// The input of one run.
#[derive(Clone, Copy, Debug)]
pub struct Input<'i> {
    settings: [u8; 8],
    pub bytes: &'i [u8],
}

impl<'i> Input<'i> {
    /// Returns `None` if there are fewer than 8 bytes. `space` is for a stream whose first half is repeated.
    pub fn new(data: &'i [u8], space: &'i mut Vec<u8>) -> Option<Self> {
        let (&settings, bytes) = data.split_first_chunk()?;
        // Few settings, because a long stream takes the time of a hundred short ones.
        let longest = match settings[3] {
            0..=244 => 0,
            245..=251 => 1_100,
            252..=254 => 4_200,
            255 => 9_000,
        };
        let (repeated, rest) = bytes.split_at(bytes.len() / 2);
        if longest == 0 || repeated.is_empty() {
            return Some(Self { settings, bytes });
        }
        while space.len() < longest {
            space.extend_from_slice(repeated);
        }
        space.extend_from_slice(rest);
        Some(Self { settings, bytes: space })
    }

    /// Selects one of the choices. Settings 0 to 2 select the policies and 3 to 4 the chunks, and 5 to 7 are for the
    /// target.
    pub fn pick<T: Copy>(&self, setting: usize, choices: &[T]) -> T {
        choices[usize::from(self.settings[setting]) % choices.len()]
    }

    /// Returns a decoder with any combination of policies.
    pub fn decoder(&self) -> TextDecoder {
        const SUBSETS: [Option<&Subset>; 6] = [
            None,
            None,
            Some(&Subset::ASCII),
            Some(&Subset::NO_CONTROLS),
            Some(&Subset::XML_CHARACTERS),
            Some(&Subset::UNICODE_ASSIGNABLES),
        ];
        let boms = [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject];
        let decoder = TextDecoder::new()
            .with_error_policy(self.pick(0, &test_support::policies()))
            .with_bom_policy(self.pick(1, &boms));
        match self.pick(2, &SUBSETS) {
            Some(subset) => decoder.with_subset(subset),
            None => decoder,
        }
    }

    /// Returns the stream in chunks, some of which may be empty.
    pub fn chunks(&self) -> Vec<&'i [u8]> {
        let longest = self.pick(3, &[1, 2, 3, 5, 9, 33, 65, 129, 1025, 5000]);
        // The number of chunks is bounded, because a chunk takes more time than its bytes.
        let longest = longest.max(self.bytes.len() / 128);
        let mut rng = Rng::new(u64::from(self.settings[4]));
        let (mut chunks, mut rest) = (Vec::new(), self.bytes);
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(rng.below(rest.len().min(longest) + 1));
            chunks.push(chunk);
            rest = after;
        }
        chunks
    }

    /// Returns the bytes as text, with U+FFFD for each ill-formed sequence, and the same text in chunks of whole
    /// characters.
    pub fn text(&self) -> (String, Vec<String>) {
        let mut decoder = TextDecoder::new().with_error_policy(utf8_codec::ErrorPolicy::Replace);
        let mut parts: Vec<String> = self
            .chunks()
            .into_iter()
            .map(|chunk| decoder.decode_chunk(chunk).expect("repaired").into())
            .collect();
        parts.extend(decoder.finish().map(|piece| piece.text().expect("repaired").into()));
        (parts.concat(), parts)
    }
}

/// Returns the text of a stream under the policies of a decoder, and the errors that they do not repair. This is the
/// reference for the adapters.
pub fn decode(mut decoder: TextDecoder, chunks: &[&[u8]]) -> (String, Vec<Utf8Error>) {
    let (mut text, mut errors) = (String::new(), Vec::new());
    for chunk in chunks {
        for piece in decoder.feed(chunk) {
            piece.text().map_or_else(|error| errors.push(error), |good| text.push_str(good));
        }
    }
    if let Some(piece) = decoder.finish() {
        piece.text().map_or_else(|error| errors.push(error), |good| text.push_str(good));
    }
    (text, errors)
}

/// Returns the text before the first error that the policies do not repair, and that error. This is the reference for
/// adapters that end at an error.
pub fn decode_until_error(mut decoder: TextDecoder, bytes: &[u8]) -> (String, Option<Utf8Error>) {
    let mut text = String::new();
    let result = decoder.feed_into(bytes, &mut text);
    let end =
        result.and_then(|()| decoder.finish().map_or(Ok(()), |end| end.text().map(|end| text.push_str(end))));
    (text, end.err())
}

/// Returns the `Debug` output of an error, which has offsets, kinds and lengths. Errors are compared by it.
pub fn shown(error: impl core::fmt::Debug) -> String {
    use core::fmt::Write;
    // A `String` that grows is slow under AddressSanitizer.
    let mut shown = String::with_capacity(200);
    write!(shown, "{error:?}").expect("a string");
    shown
}

/// Returns all items of a codec. An error that ends the stream is the last one.
pub fn items<C, T, E>(codec: &mut C, chunks: &[&[u8]]) -> Vec<Result<T, String>>
where
    C: Decoder<Item = Result<T, E>, Error: core::fmt::Debug>,
    E: core::fmt::Debug,
{
    let (mut items, mut buffer) = (Vec::new(), BytesMut::new());
    let mut take = |decoded: Result<Option<C::Item>, C::Error>| {
        let item = decoded.transpose();
        let is_some = item.is_some();
        items.extend(item.map(|item| item.map_err(shown).and_then(|item| item.map_err(shown))));
        is_some
    };
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while take(codec.decode(&mut buffer)) {}
    }
    while take(codec.decode_eof(&mut buffer)) {}
    assert!(buffer.is_empty(), "every byte was returned or reported");
    items
}
