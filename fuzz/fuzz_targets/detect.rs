//! `Detector`, `BomSniffer`, `FallbackDecoder` and `DesignationRecognizer`: the same results
//! for every partition.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::detect::{
    BomSniffer, Designation, DesignationMatch, DesignationRecognizer, Detection, Detector, FallbackDecoder,
    Padding, Scope, Sniff,
};
use utf8_codec_fuzz::Input;

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let chunks = input.chunks();
    assert_eq!(detected(&chunks), detected(&[input.bytes]));
    if let (Detection::NotUtf8 { first }, _) = detected(&[input.bytes]) {
        let valid = core::str::from_utf8(input.bytes).map_or_else(|error| error.valid_up_to(), str::len);
        assert_eq!(first.offset, valid as u64);
    }

    let encodings =
        [Encoding::Latin1, Encoding::Windows1252, Encoding::Ibm866, Encoding::ShiftJis, Encoding::Gbk];
    let encoding = input.pick(5, &encodings);
    let limit = input.pick(6, &[1 << 16, 0, 1, 9, 100]);
    for scope in [Scope::Sequence, Scope::Line, Scope::Frame] {
        let Ok(new) = FallbackDecoder::new(encoding, scope).map(|decoder| decoder.with_limit(limit)) else {
            assert!(scope == Scope::Sequence && matches!(encoding, Encoding::ShiftJis | Encoding::Gbk));
            continue;
        };
        let run = |chunks: &[&[u8]]| {
            let (mut decoder, mut text) = (new.clone(), String::new());
            chunks.iter().for_each(|chunk| decoder.feed_into(chunk, &mut text));
            decoder.finish_into(&mut text);
            text
        };
        assert_eq!(run(&chunks), run(&[input.bytes]));
        // If no line is longer than the limit, the stream has the same text as a frame.
        if limit > input.bytes.len() && scope != Scope::Frame {
            assert_eq!(run(&chunks), new.decode(input.bytes));
        }
    }

    for padding in [Padding::None, Padding::Ucs2, Padding::Ucs4] {
        let run = |chunks: &[&[u8]]| {
            let mut recognizer = DesignationRecognizer::padded(padding);
            let found: Vec<_> =
                chunks.iter().flat_map(|chunk| recognizer.feed(chunk).collect::<Vec<_>>()).collect();
            assert_eq!(recognizer.offset(), input.bytes.len() as u64);
            found
        };
        let found = run(&[input.bytes]);
        assert_eq!(run(&chunks), found);
        if padding == Padding::None {
            assert_eq!(found.iter().map(|found| found.offset).collect::<Vec<_>>(), designations(input.bytes));
            found.iter().for_each(|found| assert_eq!(found.end() - found.offset, length(found)));
        }
    }
});

fn length(found: &DesignationMatch) -> u64 {
    if matches!(found.designation, Designation::Utf8Level(_)) { 4 } else { 3 }
}

/// Returns the offsets of ISO 2022 designations of UTF-8 and of the return from it, by testing each position.
fn designations(bytes: &[u8]) -> Vec<u64> {
    let is_designation =
        |rest: &[u8]| matches!(rest, [0x1B, b'%', b'G' | b'@', ..] | [0x1B, b'%', b'/', b'G'..=b'I', ..]);
    (0..bytes.len()).filter(|&at| is_designation(&bytes[at..])).map(|at| at as u64).collect()
}

fn detected(chunks: &[&[u8]]) -> (Detection, Sniff) {
    let (mut detector, mut sniffer) = (Detector::new(), BomSniffer::new());
    for chunk in chunks {
        detector.push(chunk);
        sniffer.push(chunk);
    }
    (detector.finish(), sniffer.finish())
}
