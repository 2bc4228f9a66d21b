//! A terminal that reads 4 KiB at a time.

mod utf8_codec_texts;

struct Count(u64);

impl vte::Perform for Count {
    fn print(&mut self, character: char) {
        self.0 += u64::from(u32::from(character));
    }
}

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let (mut parser, mut count) = (vte::Parser::new(), Count(0));
    for _ in 0..rounds {
        text.chunks(4096).for_each(|chunk| parser.advance(&mut count, chunk));
    }
    std::hint::black_box(count.0);
}
