use utf8parse::{Parser, Receiver};

#[derive(Default)]
struct Text(String);

impl Receiver for Text {
    fn codepoint(&mut self, character: char) {
        self.0.push(character);
    }

    fn invalid_sequence(&mut self) {
        self.0.push('\u{FFFD}');
    }
}

fn parse(bytes: &[u8]) -> String {
    let (mut parser, mut text) = (Parser::new(), Text::default());
    bytes.iter().for_each(|&byte| parser.advance(&mut text, byte));
    text.0
}

#[test]
fn the_byte_that_interrupts_a_sequence_is_parsed_again() {
    assert_eq!(parse(b"\xC2\x41\x42"), "\u{FFFD}AB");
    assert_eq!(parse(b"\xE2\x82\xC3\xA9"), "\u{FFFD}é");
}

#[test]
fn each_maximal_subpart_is_one_error() {
    for bytes in [&b"\xED\xA0\x80"[..], b"\xF0\x9F\x98\xF0\x9F\x98\x80", b"\xC0\xAF"] {
        assert_eq!(parse(bytes), String::from_utf8_lossy(bytes));
    }
}
