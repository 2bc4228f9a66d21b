use std::io::Cursor;

use utf8_codec::transcode::{Encoding, Transcoder};

use super::segments::SEGMENT;
use super::*;

/// Decodes UTF-8 text as another encoding and encodes it as UTF-8 again.
fn twice(text: &str, encoding: Encoding) -> String {
    let mut out = String::new();
    Transcoder::new(encoding, Encoding::Utf8).feed_into(text.as_bytes(), &mut out).expect("any byte");
    out
}

fn undo_line(text: &str) -> Option<String> {
    undo(text, &Survey::default(), true)
}

/// Returns a file after a fix.
fn undo_file(text: &str) -> String {
    let survey = Survey::of(&mut Cursor::new(text)).expect("no I/O");
    text.split_inclusive('\n').map(|line| undo(line, &survey, true).unwrap_or(line.to_owned())).collect()
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
    "Mbꞌal Çamakꞌota",
    "mejomꞹ. Nuyo tara",
    // One letter of them, near the start of a word.
    "Màxim",
    "Là bas",
    "Só um café",
    "Mër",
    "Bûter",
    "Şahbuz",
    "Ŋun su",
    "ʻApelila",
    "gaƒoƒo me",
    "ts'əm",
    "dị nro",
    "Kurd Ċentrali",
    "\"Ñawpak",
    "A\u{331}nyyi",
    "К $1",
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
        // Capitals at the end of a word or a quotation, and an apostrophe before one.
        "«LÃ» disse, LÃ®, LÃ…",
        "l'É™, CAFÉ™, É—disse",
        "äššen Äšken",
        // Boxes and shades of DOS.
        "ÚÄÄÄ¿ ³ ÀÄÄÄÙ",
        "Û²Û²Û² ÛÛ±±²²",
        "àß·",
        // A letter that is a word, a no-break space and a sign.
        "de £3 à\u{A0}£5",
        "de 1 à\u{A0}½\u{A0}litre, à\u{A0}¼",
        "à\u{A0}½",
        "renvoi à\u{A0}§\u{A0}3, déjà\u{A0}§",
        "il prezzo è\u{A0}€\u{A0}5",
        "é\u{A0}½ quilo, ó\u{A0}½…",
        "litera â\u{A0}– folosită",
        "litera â\u{A0}…",
        "la lettre «\u{A0}â\u{A0}» et «\u{A0}Â\u{A0}»",
        "la lettre «\u{A0}Ã\u{A0}»",
        "Â\u{A0}: a circonflexe",
        // Tables of characters: Ŋ and Ŵ are in no word of windows-1252.
        "ŊØŒ",
        "ŴÝŸŶ",
        "ØŒŊ Ŵ\u{301}Ø\u{BC}",
    ] {
        assert_eq!(undo_line(text), None, "{text}");
        assert_eq!(find(text, &Survey::default(), true), [], "{text}");
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
    let mixed = format!("{}café Ã…\n{weak}\n", "cafÃ©\n".repeat(6));
    assert_eq!(undo_file(&mixed), mixed.replace("cafÃ©", "café"));
    // What is left is reported if its first character was proven.
    let survey = Survey::of(&mut Cursor::new(mixed)).expect("no I/O");
    let left = |text: &str| -> Vec<bool> {
        find(text, &survey, true).iter().map(|found| found.is_certain).collect()
    };
    assert_eq!(left("café Ã…"), [false]);
    assert_eq!(left(weak), [false; 0]);
    // A no-break space that became a space.
    assert_eq!(left("voilÃ  tout"), [false]);
    assert_eq!(left("MAÇÃ e"), [false; 0]);
}

#[test]
fn an_incomplete_sequence_is_reported_in_a_file_with_a_strong_one() {
    let survey = Survey::of(&mut Cursor::new("say â€œ like this\n")).expect("no I/O");
    for (text, len) in
        [("this â€\u{FFFD} ok", 5), ("this â€ ok", 5), ("a é\u{FFFD}", 2), ("ðŸ˜\u{FFFD}", "ðŸ˜".len())]
    {
        let found = find(text, &survey, true);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!((found[0].range.len(), found[0].original.as_str()), (len, ""), "{text}");
        assert_eq!(undo(text, &survey, true), None);
        assert_eq!(find(text, &Survey::default(), true).len(), 0, "{text}");
    }
}

#[test]
fn examples_in_a_correct_file_are_not_changed() {
    let kept = |text: &str| undo_file(text) == text;
    let correct = "Voilà un café – déjà vu\n";
    for example in ["// Prints: this is a tÃ©st\n", "'Ã©'\n", "It is shown as BeyoncÃ©\n"] {
        for count in 1..=5 {
            assert!(kept(&(correct.to_owned() + &example.repeat(count))), "{example}");
        }
        // As many lines are no examples.
        let text = correct.to_owned() + &example.repeat(6);
        assert_eq!(undo_file(&text), text.replace("Ã©", "é"));
    }
    // A pasted line.
    let pasted = "Il a Ã©tÃ© dÃ©jÃ\u{A0} fÃªtÃ©\n";
    assert_eq!(undo_file(&format!("{correct}{pasted}")), format!("{correct}Il a été déjà fêté\n"));
    // A no-break space before it.
    assert_eq!(undo_file("a Å\u{A0}vÃ¡rovÃ¡\n"), "a Švárová\n");
    // All other text is ASCII.
    assert_eq!(undo_file("It is shown as \"BeyoncÃ©\".\n"), "It is shown as \"Beyoncé\".\n");
    // All of them are reported.
    let text = format!("{correct}cafÃ©\n");
    let survey = Survey::of(&mut Cursor::new(&text)).expect("no I/O");
    for survey in [survey.after_fix(), survey] {
        let found = find("cafÃ©\n", &survey, true);
        assert_eq!((found.len(), found[0].is_certain, found[0].is_example), (1, false, true));
    }
}

#[test]
fn a_weak_sequence_in_a_long_line_is_not_decoded() {
    let unit = "cafÃ© Å² kÃ…Â² NÃ‘O, Ã‰â€\u{9D} Å²: ";
    for shift in (0..40).step_by(7) {
        let text = "-".repeat(shift) + &unit.repeat(3 * SEGMENT / unit.len());
        let survey = Survey::of(&mut Cursor::new(&text)).expect("no I/O");
        let fix = |text: &str, survey: &Survey| {
            let (mut out, mut rest, mut is_start) = (String::new(), text, true);
            while !rest.is_empty() {
                let (segment, after) = rest.split_at(first_len(rest));
                out += &undo(segment, survey, is_start).unwrap_or(segment.to_owned());
                (rest, is_start) = (after, segment.ends_with('\n'));
            }
            out
        };
        let fixed = fix(&text, &survey);
        assert!(fixed.contains("Å² kÅ²") && !fixed.contains('Ų'));
        let survey = Survey::of(&mut Cursor::new(&fixed)).expect("no I/O");
        assert!(fix(&fixed, &survey) == fixed, "{shift}");
    }
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

/// Lines that were decoded as windows-1250, 1251 and 1254, code pages 437 and 850, Mac Roman and KOI8-R, and what they were.
const OTHERS: &[(&str, &str)] = &[
    ("PĹ™Ă\u{AD}liĹˇ ĹľluĹĄouÄŤkĂ˝ kĹŻĹ\u{88}", "Příliš žluťoučký kůň"),
    ("РџСЂРёРІРµС‚, РјРёСЂ", "Привет, мир"),
    ("ĞœĞ¾Ñ\u{81}ĞºĞ²Ğ°, Ğ\u{A0}Ğ¾Ñ\u{81}Ñ\u{81}Ğ¸Ñ\u{8F}", "Москва, Россия"),
    ("Gr├╝├ƒe, na├»ve fa├ºade, ├╢├ñ├╝", "Grüße, naïve façade, öäü"),
    ("Gr├╝├ƒe, ├®├á├╝, na├»ve", "Grüße, éàü, naïve"),
    ("Gr√∂√üe, √©√†√º, na√Øve", "Größe, éàü, naïve"),
    ("п÷я─п╦п╡п╣я┌, п╪п╦я─", "Привет, мир"),
];

#[test]
fn a_line_that_was_broken_with_another_encoding_is_decoded() {
    for (broken, text) in OTHERS {
        assert_eq!(undo_file(broken), *text);
        // In a correct file it is an example.
        let mixed = format!("Voilà un café\n{broken}\n");
        assert_eq!(undo_file(&mixed), mixed);
    }
}

#[test]
fn correct_text_that_other_encodings_read_back_is_not_changed() {
    for text in
        ["╔╗╔═╗", "╔╗\n╚╝", "l’âme, l’île, l’âge", "РЁ, «С»", "√2 ≈ 1,41", "A–à, B—é", "½ ├┐", "Úžas, Íž, Äš"]
    {
        assert_eq!(undo_file(text), text);
        // Neither is it beside a line that is broken.
        let mixed = format!("{text}\n{}\n", OTHERS[1].0);
        assert!(undo_file(&mixed).starts_with(text), "{text}");
    }
}

#[test]
fn a_line_with_little_evidence_is_decoded_if_the_file_was_broken_as_a_whole() {
    let ((broken, text), weak) = (OTHERS[1], ("Рђ", "А"));
    let file = |line: &str, count, last: &str| format!("{}{last}\n", format!("{line}\n").repeat(count));
    assert_eq!(undo_file(&file(broken, 1, weak.0)), file(text, 1, weak.1));
    let mixed = file(broken, 6, weak.0) + "Voilà\n";
    assert_eq!(undo_file(&mixed), file(text, 6, weak.0) + "Voilà\n");
    let survey = Survey::of(&mut Cursor::new(mixed)).expect("no I/O");
    for survey in [survey.after_fix(), survey] {
        let left: Vec<bool> = find(weak.0, &survey, true).iter().map(|found| found.is_certain).collect();
        assert_eq!(left, [false]);
    }
}
