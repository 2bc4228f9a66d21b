//! A page that arrives in chunks of 4 KiB.

mod utf8_codec_texts;

use std::borrow::Cow;

use tendril::stream::{TendrilSink, Utf8LossyDecoder};
use tendril::{ByteTendril, NonAtomic, StrTendril, fmt};

struct Count(usize);

impl TendrilSink<fmt::UTF8, NonAtomic> for Count {
    type Output = usize;

    fn process(&mut self, text: StrTendril) {
        self.0 += text.len();
    }

    fn error(&mut self, _: Cow<'static, str>) {}

    fn finish(self) -> usize {
        self.0
    }
}

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    for _ in 0..rounds {
        let chunks = text.chunks(4096).map(ByteTendril::from_slice);
        std::hint::black_box(Utf8LossyDecoder::new(Count(0)).from_iter(chunks));
    }
}
