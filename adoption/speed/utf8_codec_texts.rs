//! The texts that the workloads read, 1 MiB each, in lines of about 80 bytes.
//!
//! A workload is called with the name of a text and the number of times to read it.

const WORDS: [(&str, &[&str]); 2] = [
    ("ASCII", &["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "again", "and"]),
    ("mixed", &["слово", "и", "данные", "文字化け", "しない", "naïve", "café", "the", "of", "🦀", "한국어"]),
];

/// Returns the text and the number of rounds. Without arguments it prints the names of the texts.
pub fn from_arguments() -> Option<(Vec<u8>, usize)> {
    let Some(name) = std::env::args().nth(1) else {
        WORDS.iter().for_each(|(name, _)| println!("{name}"));
        return None;
    };
    let rounds = std::env::args().nth(2)?.parse().ok()?;
    let (_, words) = WORDS.iter().find(|(known, _)| *known == name)?;
    let (mut text, mut line, mut random) = (String::new(), 0, 1_u32);
    while text.len() < 1 << 20 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let word = words[(random >> 16) as usize % words.len()];
        text.push_str(word);
        line += word.len() + 1;
        text.push(if line > 80 { '\n' } else { ' ' });
        if line > 80 {
            line = 0;
        }
    }
    Some((text.into_bytes(), rounds))
}

/// Returns the text as unmasked WebSocket text messages of about 64 KiB in frames of 4 KiB, and their number.
/// Frames may end inside a character. Messages end between lines.
#[allow(dead_code)]
pub fn frames(text: &[u8]) -> (Vec<u8>, usize) {
    let mut frames = Vec::new();
    let lines: Vec<_> = text.split_inclusive(|&byte| byte == b'\n').collect();
    for message in lines.chunks(800).map(<[_]>::concat) {
        let mut parts = message.chunks(4096).enumerate().peekable();
        while let Some((index, part)) = parts.next() {
            let last = if parts.peek().is_none() { 0x80 } else { 0 };
            frames.extend([last | u8::from(index == 0), 126]);
            frames.extend((part.len() as u16).to_be_bytes());
            frames.extend(part);
        }
    }
    (frames, lines.len().div_ceil(800))
}
