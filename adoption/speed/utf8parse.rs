//! A terminal that parses byte by byte.

mod utf8_codec_texts;

struct Count(u64);

impl utf8parse::Receiver for Count {
    fn codepoint(&mut self, character: char) {
        self.0 += u64::from(u32::from(character));
    }

    fn invalid_sequence(&mut self) {}
}

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let (mut parser, mut count) = (utf8parse::Parser::new(), Count(0));
    for _ in 0..rounds {
        text.iter().for_each(|&byte| parser.advance(&mut count, byte));
    }
    std::hint::black_box(count.0);
}
