use std::io::Cursor;

use utf8_codec::transcode::{Encoding, Transcoder};

use super::segments::SEGMENT;
use super::*;

/// Decodes UTF-8 text as another encoding and encodes it as UTF-8 again.
fn twice(text: &str, encoding: Encoding) -> String {
    let mut out = String::new();
    Transcoder::new(encoding, Encoding::Utf8).feed(text.as_bytes(), &mut out).expect("any byte");
    out
}

fn undo_line(text: &str) -> Option<String> {
    undo(text, &Survey::default())
}

/// Returns a file after a fix.
fn undo_file(text: &str) -> String {
    let survey = Survey::of(&mut Cursor::new(text)).expect("no I/O");
    text.split_inclusive('\n').map(|line| undo(line, &survey).unwrap_or(line.to_owned())).collect()
}

/// Lines that are proven by themselves if they are encoded twice.
const LINES: &[&str] = &[
    "café",
    "naïve – déjà vu",
    "Beyoncé",
    "⚙️ ⚠️ warning",
    "Привет, мир",
    "żółć",
    "日本語",
    "a — b",
    "“quoted”",
    "the file’s name",
    "NBSP\u{A0}here",
    "ſ 5 µm ± 2 °C",
    "الأسعار",
    "─── box ───",
    "À la carte",
    "→ ↓ ≠",
    "😀",
    "Война и мир, с 1 января в 2024 г.",
    "Fetele și băieții au învățat.",
    "NIÑOS, AÑO, ESPAÑOL",
    "5 × 3, 1920×1080",
    "cafe\u{301} nin\u{303}o",
    "Škoda řídí už čtyři",
    "Người dùng bị chặn",
    "« Il a été\u{A0}» dit-il. «\u{A0}Voilà\u{A0}»",
    "México, Túnis, Córdoba",
    "Ɛdɔ wɔ Mɛri",
    "ߞߐߟߐ ߓߌ ߕߎ",
    "שלום עולם",
    "Հայաստան",
    "İstanbul’da Ağrı",
];

#[test]
fn text_that_was_encoded_up_to_three_times_is_decoded() {
    for &text in LINES {
        for encodings in [
            &[Encoding::Windows1252][..],
            &[Encoding::Latin1],
            &[Encoding::Windows1252; 2],
            &[Encoding::Latin1; 3],
            &[Encoding::Latin1, Encoding::Windows1252],
            &[Encoding::Windows1252, Encoding::Latin1, Encoding::Windows1252],
        ] {
            let broken = encodings.iter().fold(text.to_owned(), |text, &encoding| twice(&text, encoding));
            assert_eq!(undo_line(&broken).as_deref(), Some(text), "{broken}");
        }
        assert_eq!(undo_line(text), None, "{text}");
    }
}

#[test]
fn correct_text_is_not_changed() {
    for text in [
        "“MINHA IRMÔ",
        "LIBERTÉ\u{A0}: QUALITÉ…",
        "SÃO PAULO",
        "Âge",
        "CAFÉ’S",
        "Spaß”",
        "ÅNGSTRÖM—",
        "Ü®",
        "5 × 3 ÷ 2",
        "2×½, 3×£5",
        "«É»",
        "»Ä«, »ä« und ‚Ö‘",
        "ÄÖÜ äöü ß",
        "Ñandú",
        "IRMÃ\u{A0}É",
        "ÅÄÖ",
        "ПРИВЕТ",
        "日本語",
        // French and Czech spaces, German and Danish quotation marks.
        "« Il a été\u{A0}» dit-il. «\u{A0}Voilà\u{A0}»",
        "(été\u{A0}– hiver)",
        "a écrit\u{A0}: été\u{A0}«\u{A0}mot\u{A0}»",
        "zamýšlené\u{A0}– tak",
        "på\u{A0}»ord« på\u{A0}”ord”",
        "als »weiß« betrachtet",
        "é…» é”…” é’”",
        "Café é®…",
        // Units, superscripts, footnotes.
        "V = 1234.5(6) Å³, surface 1200 Å², 2.1 Å±0.1, 5 Å·s, 3 Å\u{A0}– 4 Å",
        "någå¹² ANDRÉ§ José† È½",
        // Sámi, Karelian, Inari Sámi.
        "láktasit áššái, Täššä luokašša, äššakuulli",
        "uážžuh čuávuvâžžâd ÄŠŠÄ",
        // Albanian, Turkish, Swiss German, Czech.
        "Ç’është, G/Ç’lar, AÇÜ’den",
        "Öštrič, Úžasné, VÝŠKA, KNÍŽKA",
        "l’Étranger, È\u{A0}vero, Ó\u{A0}Briain",
        // Boxes and shades of DOS.
        "ÚÄÄÄ¿ ³ ÀÄÄÄÙ",
        "Û²Û²Û² ÛÛ±±²²",
        "àß·",
    ] {
        assert_eq!(undo_line(text), None, "{text}");
        assert_eq!(find(text, &Survey::default()), [], "{text}");
        assert_eq!(undo_file(&format!("{text}\n")), format!("{text}\n"));
    }
    // Several runs in one line.
    assert_eq!(undo_line("café and cafÃ©").as_deref(), Some("café and café"));
}

#[test]
fn each_round_has_the_same_guard() {
    // The result of the first round is correct text that would be a sequence.
    let text = "Å² été\u{A0}»";
    assert_eq!(undo_line(&twice(text, Encoding::Windows1252)).as_deref(), Some(text));
    assert_eq!(undo_file(&twice("Il a été\u{A0}»\n", Encoding::Windows1252)), "Il a été\u{A0}»\n");
}

#[test]
fn weak_sequences_are_decoded_only_in_a_file_that_was_encoded_twice_as_a_whole() {
    let weak = "Å\u{A0}\n";
    assert_eq!(undo_file(&format!("cafÃ©\n{weak}")), "café\nŠ\n");
    assert_eq!(undo_file(weak), weak);
    let mixed = format!("cafÃ©\ncafé Ã…\n{weak}\n");
    assert_eq!(undo_file(&mixed), mixed.replace("cafÃ©", "café"));
    // What is left is reported if its first character was proven.
    let survey = Survey::of(&mut Cursor::new(mixed)).expect("no I/O");
    let left =
        |text: &str| -> Vec<bool> { find(text, &survey).iter().map(|found| found.is_certain).collect() };
    assert_eq!(left("café Ã…"), [false]);
    assert_eq!(left(weak), [false; 0]);
    // A no-break space that became a space.
    assert_eq!(left("voilÃ  tout"), [false]);
    assert_eq!(left("MAÇÃ e"), [false; 0]);
}

#[test]
fn a_fix_is_undone_by_encoding_again() {
    // A single encoding does not result in both of these characters.
    assert_eq!(undo_line("a â\u{80}™ b"), None);
    assert_eq!(undo_line("a â\u{80}\u{99} b").as_deref(), Some("a ’ b"));
    assert_eq!(undo_line("a â€\u{9D} b").as_deref(), Some("a ” b"));
}

#[test]
fn segments_end_outside_sequences() {
    for unit in ["Ã©", "â€™", "ðŸ˜€", "a Ã©", "\u{A9}", "日本"] {
        let text = unit.repeat(2 * SEGMENT / unit.len());
        for start in 0..8 {
            let start = text.char_indices().nth(start).expect("a character").0;
            let rest = &text[start..];
            let len = first_len(rest);
            assert!(len <= SEGMENT && len > SEGMENT - 32 && rest.is_char_boundary(len));
            let after = rest[len..].chars().next().expect("more");
            assert!(unit == "\u{A9}" || !is_inside(after), "{unit}");
        }
    }
    assert_eq!((first_len("a\nb"), first_len("ab"), first_len("")), (2, 2, 0));
}
