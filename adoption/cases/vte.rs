use vte::{Parser, Perform};

#[derive(Debug, Default, PartialEq)]
struct Screen(Vec<Action>);

#[derive(Debug, PartialEq)]
enum Action {
    Print(char),
    Execute(u8),
}

impl Perform for Screen {
    fn print(&mut self, character: char) {
        self.0.push(Action::Print(character));
    }

    fn execute(&mut self, byte: u8) {
        self.0.push(Action::Execute(byte));
    }
}

fn read(chunks: &[&[u8]]) -> Screen {
    let (mut parser, mut screen) = (Parser::new(), Screen::default());
    chunks.iter().for_each(|chunk| parser.advance(&mut screen, chunk));
    screen
}

#[test]
fn a_c1_control_is_executed_for_every_partition() {
    let whole = read(&["a\u{85}b".as_bytes()]);
    assert_eq!(whole.0, [Action::Print('a'), Action::Execute(0x85), Action::Print('b')]);
    assert_eq!(read(&[b"a\xC2", b"\x85b"]), whole);
}
