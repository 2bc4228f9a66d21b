//! Conversions of the encodings of the web.

use std::hint::black_box;

use encoding_rs::{DecoderResult, EUC_KR, GBK, SHIFT_JIS, WINDOWS_1251};
use utf8_codec::ErrorPolicy;
use utf8_codec_encodings::{Encoding, TranscodeStatus, Transcoder};

use crate::corpora::{Corpus, TEXTS};
use crate::measure::Contender;
use crate::table::{Bench, goal};

/// The size of the input in UTF-8.
const LEN: usize = 64 * 1024;

/// A function of simdutf that reads code units and returns the number of code units written.
type Simdutf = fn(&[u8], &mut [u8]) -> usize;

/// Wraps a function of simdutf that reads `$from` and writes `$to`.
macro_rules! simdutf {
    ($name:ident, $from:ty, $to:ty) => {
        |input, output| {
            let len = input.len() / size_of::<$from>();
            // SAFETY: the output has room for the longest conversion. x86-64 reads and writes at any address.
            let units = unsafe { simdutf::$name(input.as_ptr().cast(), len, output.as_mut_ptr().cast()) };
            units * size_of::<$to>()
        }
    };
}

/// The conversions that simdutf also has. With the other byte order the speed is the same.
const CONVERSIONS: [(&str, Encoding, Encoding, Simdutf); 2] = {
    use Encoding::{Utf8, Utf16Le};
    [
        ("UTF-8 to UTF-16LE", Utf8, Utf16Le, simdutf!(convert_utf8_to_utf16le, u8, u16)),
        ("UTF-16LE to UTF-8", Utf16Le, Utf8, simdutf!(convert_utf16le_to_utf8, u16, u8)),
    ]
};

/// Article 1 of the Universal Declaration of Human Rights, in part.
#[rustfmt::skip]
const LEGACY: [(&str, Encoding, &encoding_rs::Encoding, &str); 4] = [
    ("Chinese", Encoding::Gbk, GBK, "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。\n"),
    ("Japanese", Encoding::ShiftJis, SHIFT_JIS, "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。\n"),
    ("Korean", Encoding::EucKr, EUC_KR, "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.\n"),
    ("Russian", Encoding::Windows1251, WINDOWS_1251, "Все люди рождаются свободными и равными в своем достоинстве и правах.\n"),
];

/// A contender that converts all of the input.
fn ours(transcoder: Transcoder, input: &[u8]) -> Contender<'_> {
    let mut output = vec![0; 4 * LEN + 64];
    Contender::new("ours", move || {
        let progress = transcoder.clone().feed_into_slice(black_box(input), &mut output);
        assert_eq!(progress.status, TranscodeStatus::InputEmpty);
        black_box(&output);
        progress.written as u64
    })
}

/// Returns the text in an encoding that contains all of its characters.
fn encoded(text: &str, to: Encoding) -> Vec<u8> {
    let mut out = Vec::new();
    Transcoder::new(Encoding::Utf8, to).feed_into(text.as_bytes(), &mut out).expect("every character exists");
    out
}

impl Bench {
    pub fn conversions(&self) {
        self.unicode();
        self.windows_1252();
        self.legacy();
        self.same_under_a_policy();
    }

    fn unicode(&self) {
        for (scenario, from, to, peer) in CONVERSIONS {
            for corpus in TEXTS.iter().filter(|_| self.is_wanted(scenario)) {
                let input = &encoded(&corpus.text(LEN), from);
                let mut output = vec![0; 4 * LEN + 64];
                let simdutf = Contender::new("simdutf", move || {
                    let written = peer(black_box(input), &mut output);
                    black_box(&output);
                    written as u64
                });
                let contenders = vec![ours(Transcoder::new(from, to), input), simdutf];
                let goal = goal(1.0).because(if from == Encoding::Utf8 {
                    "each 4 KiB are validated, then converted"
                } else {
                    "both are limited by the loads and stores"
                });
                self.row(scenario, corpus.name(), input.len(), contenders, goal);
            }
        }
    }

    fn windows_1252(&self) {
        use Encoding::{Utf8, Windows1252};
        for (scenario, from, to) in
            [("windows-1252 to UTF-8", Windows1252, Utf8), ("UTF-8 to windows-1252", Utf8, Windows1252)]
        {
            if self.is_wanted(scenario) {
                let corpus = Corpus::FrenchHtml;
                let input = &encoded(&corpus.text(LEN), from);
                let mut output = vec![0; 4 * LEN];
                let peer = Contender::new("encoding_rs", move || {
                    let input = black_box(input);
                    let written = if from == Windows1252 {
                        let mut decoder = encoding_rs::WINDOWS_1252.new_decoder_without_bom_handling();
                        decoder.decode_to_utf8(input, &mut output, true).2
                    } else {
                        let mut encoder = encoding_rs::WINDOWS_1252.new_encoder();
                        let text = std::str::from_utf8(input).expect("well-formed");
                        encoder.encode_from_utf8(text, &mut output, true).2
                    };
                    black_box(&output);
                    written as u64
                });
                let goal = goal(1.0);
                let contenders = vec![ours(Transcoder::new(from, to), input), peer];
                self.row(scenario, corpus.name(), input.len(), contenders, goal);
            }
        }
    }

    /// Encodings of 1 and 2 bytes for a character.
    fn legacy(&self) {
        const CHUNK: usize = 8 * 1024;
        let scenario = "legacy encodings to UTF-8, chunks of 8 KiB";
        for (language, encoding, tables, line) in LEGACY.into_iter().filter(|_| self.is_wanted(scenario)) {
            let text = line.repeat(1 + 2 * LEN / line.len());
            let input = &tables.encode(&text).0[..LEN];
            let (mut output, mut theirs) = (vec![0; 4 * CHUNK], vec![0; 4 * CHUNK]);
            let contenders = vec![
                Contender::new("ours", move || {
                    let mut transcoder = Transcoder::new(encoding, Encoding::Utf8);
                    let written = black_box(input).chunks(CHUNK).map(|chunk| {
                        let progress = transcoder.feed_into_slice(chunk, &mut output);
                        assert_eq!(progress.status, TranscodeStatus::InputEmpty);
                        black_box(&output);
                        progress.written as u64
                    });
                    written.sum()
                }),
                Contender::new("encoding_rs", move || {
                    let mut decoder = tables.new_decoder_without_bom_handling();
                    let written = black_box(input).chunks(CHUNK).map(|chunk| {
                        let (result, _, written) =
                            decoder.decode_to_utf8_without_replacement(chunk, &mut theirs, false);
                        assert_eq!(result, DecoderResult::InputEmpty);
                        black_box(&theirs);
                        written as u64
                    });
                    written.sum()
                }),
            ];
            let goal = goal(if tables.is_single_byte() { 2.0 } else { 1.0 });
            let input_name = format!("{encoding}, {language}");
            self.row(scenario, &input_name, input.len(), contenders, goal);
        }
    }

    fn same_under_a_policy(&self) {
        let scenario = "UTF-8 to UTF-8, `Replace`";
        for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml] {
            if !self.is_wanted(scenario) {
                continue;
            }
            let text = corpus.text(LEN);
            let input = text.as_bytes();
            let (mut output, mut copy) = (vec![0; 4 * LEN], String::with_capacity(2 * LEN));
            let transcoder =
                Transcoder::new(Encoding::Utf8, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace);
            let contenders = vec![
                ours(transcoder, input),
                Contender::new("encoding_rs", move || {
                    let mut decoder = encoding_rs::UTF_8.new_decoder_without_bom_handling();
                    let written = decoder.decode_to_utf8(black_box(input), &mut output, true).2;
                    black_box(&output);
                    written as u64
                }),
                Contender::new("simdutf8 and a copy", move || {
                    copy.clear();
                    copy.push_str(simdutf8::compat::from_utf8(black_box(input)).unwrap_or_default());
                    black_box(&copy).len() as u64
                }),
            ];
            self.row(scenario, corpus.name(), input.len(), contenders, goal(1.0));
        }
    }
}
