//! The goals of the legacy encodings, whose tables are those of encoding_rs.

use std::hint::black_box;

use encoding_rs::{DecoderResult, EUC_KR, GBK, SHIFT_JIS, WINDOWS_1251};
use utf8_codec::transcode::{Encoding, Status, Transcoder};

use crate::measure::{Contender, race};
use crate::rows::{Bench, measured};

/// The size of the input, and of its chunks.
const LEN: usize = 64 * 1024;
const CHUNK: usize = 8 * 1024;

/// Article 1 of the Universal Declaration of Human Rights, in part.
#[rustfmt::skip]
const TEXTS: [(&str, Encoding, &encoding_rs::Encoding, &str); 4] = [
    ("Chinese", Encoding::Gbk, GBK, "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。\n"),
    ("Japanese", Encoding::ShiftJis, SHIFT_JIS, "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。\n"),
    ("Korean", Encoding::EucKr, EUC_KR, "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.\n"),
    ("Russian", Encoding::Windows1251, WINDOWS_1251, "Все люди рождаются свободными и равными в своем достоинстве и правах.\n"),
];

impl Bench {
    pub fn legacy(&self) {
        for (language, encoding, tables, line) in TEXTS {
            let scenario = &format!("{encoding} to UTF-8, chunks of 8 KiB");
            if !self.is_wanted(scenario) {
                continue;
            }
            let html = format!("<p class=\"text\">{}</p>\n", line.trim_end());
            for (name, line) in [(language.to_owned(), line), (format!("{language} HTML"), &html)] {
                let text = line.repeat(1 + 2 * LEN / line.len());
                let input = &tables.encode(&text).0[..LEN];
                let (mut ours, mut theirs) = (vec![0; 4 * CHUNK], vec![0; 4 * CHUNK]);
                let contenders = vec![
                    Contender::new("ours", move || {
                        let mut transcoder = Transcoder::new(encoding, Encoding::Utf8);
                        let written = black_box(input).chunks(CHUNK).map(|chunk| {
                            let progress = transcoder.feed_into_slice(chunk, &mut ours);
                            assert_eq!(progress.status, Status::InputEmpty);
                            black_box(&ours);
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
                let race = race(contenders, self.effort);
                let of = measured(scenario, &name, input.len(), &race);
                self.note(&of, "ours", &["encoding_rs"], 0.95);
            }
        }
    }
}
