mod charsets;

use std::io::Cursor;

use utf8_codec_encodings::{Encoding, Transcoder};

use super::segments::{SEGMENT, is_inside};
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
    "Mūzika",
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
    assert_eq!(undo_line("naïve and cafÃ©").as_deref(), Some("naïve and café"));
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
    assert_eq!(left("tÃ xi"), [false]);
    assert_eq!(left("MÃ xim"), [false]);
    assert_eq!((left("MAÇÃ e"), left("LÃ E")), (vec![], vec![]));
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
    }
    assert_eq!(find("a é\u{FFFD}", &Survey::default(), true), []);
}

#[test]
fn what_is_left_of_a_character_is_reported_where_correct_text_does_not_have_it() {
    for (text, lost) in [
        // The rest was cut off with the end of the line, or replaced.
        ("Samoa americaÃ", "Ã"),
        ("Namn pÃ\r\n", "Ã"),
        ("vipÅ\n", "Å"),
        ("meseÄ\u{FFFD}ni", "Ä"),
        ("{0} kmÂ", "Â"),
        ("00Â\n", "Â"),
        ("I donâ\n", "â"),
        ("this â€ ok", "â€"),
        ("ðŸ", "ðŸ"),
        ("{0}â\u{81}", "â\u{81}"),
        // A no-break space became a space in a word, or after a number.
        ("fÃ ntom", "Ã"),
        ("00Â mrd", "Â "),
        ("{0}Â parsecs", "Â "),
    ] {
        let found = find(text, &Survey::default(), true);
        let ranges: Vec<&str> = found.iter().map(|each| &text[each.range.clone()]).collect();
        assert_eq!((ranges, undo_file(text).as_str()), (vec![lost], text));
        // It is not evidence for other lines.
        let file = format!("{text}\nkÅ Å²\n");
        assert_eq!(undo_file(&file), file);
    }
    for text in [
        "LÃ",
        "LÃ e",
        "MAÇÃ",
        "kÅ",
        "nÅ\n",
        "Spaß",
        "2 × 3×",
        "Allah teâlâ",
        "xÂ",
        "xÂ y",
        "Â B",
        "olé¡",
        "café§",
        "à€",
    ] {
        assert_eq!(find(text, &Survey::default(), true), [], "{text}");
    }
}

#[test]
fn examples_in_a_correct_file_are_not_changed() {
    let kept = |text: &str| undo_file(text) == text;
    let correct = "Voilà un café – déjà vu\n";
    for example in ["// Prints: this is a tÃ©st\n", "Ã©, Ã©\n", "It is shown as BeyoncÃ©\n"] {
        for count in 1..=5 {
            assert!(kept(&(correct.to_owned() + &example.repeat(count))), "{example}");
        }
        // That many lines are not examples.
        let text = correct.to_owned() + &example.repeat(6);
        assert_eq!(undo_file(&text), text.replace("Ã©", "é"));
    }
    // A pasted line.
    let pasted = "Il a Ã©tÃ© dÃ©jÃ\u{A0} fÃªtÃ©\n";
    assert_eq!(undo_file(&format!("{correct}{pasted}")), format!("{correct}Il a été déjà fêté\n"));
    // A no-break space before it.
    assert_eq!(undo_file("a Å\u{A0}vÃ¡rovÃ¡\n"), "a Švárová\n");
    // All other text is ASCII.
    assert_eq!(undo_file("It is shown as BeyoncÃ©.\n"), "It is shown as Beyoncé.\n");
    // All of them are reported.
    let text = format!("{correct}cafÃ©\n");
    let survey = Survey::of(&mut Cursor::new(&text)).expect("no I/O");
    for survey in [survey.after_fix(), survey] {
        let found = find("cafÃ©\n", &survey, true);
        assert_eq!((found.len(), found[0].is_certain, found[0].is_example), (1, false, true));
    }
}

/// Text about mojibake, and tables of it.
const QUOTED: &[&str] = &[
    "like “Ã©” or “Ã¨”, „Ã©“, „Ã©”, ”Ã©”, «Ã©», « Ã© », »Ã©«, ‹Ã©›, ›Ã©‹",
    "「Ã©」, 『Ã©』, ‚Ã©‘, ‚Ã©’, ‘Ã©’, ’Ã©’",
    "“the cafÃ© in Orléans”",
    // A mark is missing, as in the Debian Administrator's Handbook.
    "like “Ã©” or Ã¨” or “Ã§”",
    "like \"Ã©\", 'Ã©' or `Ã©`",
    "  { \"Ã©\", \"â€™\", \"Ã¨\" },",
    "value = \"BeyoncÃ©\";",
    "{ \"Ã©\": \"\\u00e9\" }",
    // Without quotation marks, but beside what it was.
    "cafÃ© -> café",
    "Ã© | \\u00E9",
    "Ã© U+00E9",
    "Ã© = &eacute;",
    "Ã© = &#233;",
    "Ã© (C3 A9)",
    "Ã©: %C3%A9",
];

#[test]
fn quoted_mojibake_and_mojibake_beside_what_it_was_are_examples() {
    let broken = "Il a Ã©tÃ© lÃ \n".repeat(30);
    for example in QUOTED {
        assert_eq!(undo_file(&format!("{example}\n")), format!("{example}\n"));
        let found = find(example, &Survey::default(), true);
        assert!(
            !found.is_empty() && found.iter().all(|each| each.is_example && !each.is_certain),
            "{example}"
        );
        // They are not evidence for weak sequences.
        let file = format!("{example}\nkÅ Å²\n");
        assert_eq!(undo_file(&file), file);
        // One character between marks is an example in a broken file as well.
        let end = format!("\n{example}\n");
        assert!(
            example.contains("Beyon") || undo_file(&format!("{broken}{example}\n")).ends_with(&end),
            "{example}"
        );
    }
    // A word between ASCII marks was broken with the text around it.
    assert_eq!(undo_line("Il a Ã©tÃ© \"fÃªtÃ©\"").as_deref(), Some("Il a été \"fêté\""));
    assert!(undo_file(&format!("{broken}\"fÃªtÃ©\"\n")).ends_with("\n\"fêté\"\n"));
    // An attribute, apostrophes, an unpaired mark, and marks that are a part of the mojibake quote nothing.
    for (text, original) in [
        ("<a href=\"x\">cafÃ©</a> <b class=\"y\">", "<a href=\"x\">café</a> <b class=\"y\">"),
        ("l'Ã©tÃ© d'hiver", "l'été d'hiver"),
        ("5\" cafÃ©", "5\" café"),
        ("Â« Il a Ã©tÃ© Â»", "« Il a été »"),
        ("â€˜Ã©tÃ©â€™", "‘été’"),
    ] {
        assert_eq!(undo_line(text).as_deref(), Some(original));
    }
    for text in ["Gr├╝├ƒe", "d├®j├á vu"] {
        let quoted = format!("\"{text}\"\n");
        assert_eq!(undo_file(&quoted), quoted);
        let survey = Survey::of(&mut Cursor::new(&quoted)).expect("no I/O");
        let found = find(&quoted, &survey, true);
        assert!(!found.is_empty() && found.iter().all(|each| each.is_example), "{text}");
    }
}

#[test]
fn a_line_that_lost_bytes_is_reported_and_the_rest_is_decoded() {
    for (text, fixed, lost) in [
        // The last character is cut.
        ("Il a Ã©tÃ© dÃ©jÃ", "Il a été déjÃ", "Ã"),
        ("say â€œthisâ€", "say “thisâ€", "â€"),
        ("ÐŸÑ€Ð¸Ð²ÐµÑ", "ПривеÑ", "Ñ"),
        // The bytes that windows-1252 does not define were dropped, or replaced by `?`.
        ("Ã¡rbol, Ãrbol, MÃ¡laga", "árbol, Ãrbol, Málaga", "Ã"),
        ("Ð²ÑÐµÐ¼ Ð¿Ñ€Ð¸Ð²ÐµÑ‚", "вÑем привет", "Ñ"),
        ("Ã¡rbol, Ã?rbol", "árbol, Ã?rbol", "Ã"),
        ("Ð¿Ñ€Ð¸Ð²ÐµÑ‚ Ð²Ñ?ÐµÐ¼", "привет вÑ?ем", "Ñ"),
    ] {
        assert_eq!(undo_line(text).as_deref(), Some(fixed), "{text}");
        let found = find(text, &Survey::default(), true);
        let left: Vec<&str> =
            found.iter().filter(|each| !each.is_certain).map(|each| &text[each.range.clone()]).collect();
        assert_eq!(left, [lost], "{text}");
    }
    // A space in place of a no-break space.
    for (text, fixed) in [
        ("voilÃ  tout", "voilà tout"),
        ("Il a Ã©tÃ© Ã  Paris", "Il a été à Paris"),
        ("Il a Ã©tÃ©Â : oui", "Il a été\u{A0}: oui"),
        ("Å koda Å™Ã\u{AD}dÃ\u{AD}", "Škoda řídí"),
        ("Î Î¿Î¹ÏŒÏ„Î·Ï„Î±", "Ποιότητα"),
        // Undefined bytes are not lost here.
        ("Ð Ð¾Ñ\u{81}Ñ\u{81}Ð¸Ñ\u{8F}", "Россия"),
        ("à¤ à¥€à¤• à¤\u{8F}", "ठीक ए"),
    ] {
        assert_eq!(undo_line(text).as_deref(), Some(fixed), "{text}");
    }
    for text in ["MAÇÃ e", "IRMÃ", "SÃO", "É uma MAÇÃ", "Ñ", "naïve Ñ", "Ärger Öl", "Á à â"] {
        assert_eq!((find(text, &Survey::default(), true).len(), undo_line(text)), (0, None), "{text}");
    }
}

#[test]
fn characters_that_are_written_as_ascii_are_reported() {
    for (text, range, original) in [
        (r#"{"name": "Jos\u00c3\u00a9"}"#, 13..25, "é"),
        (r"It\u00E2\u20AC\u2122s", 2..20, "’"),
        ("Jos&Atilde;&copy;", 3..17, "é"),
        ("Jos&#195;&#169; x", 3..15, "é"),
        ("Jos&#xC3;&#Xa9;", 3..15, "é"),
        ("It&acirc;&euro;&trade;s", 2..22, "’"),
        // One of them is written as a character.
        (r"Jos\u00c3©", 3..11, "é"),
    ] {
        let found = find(text, &Survey::default(), true);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(
            (&found[0].range, found[0].original.as_str(), found[0].is_certain),
            (&range, original, false)
        );
        assert_eq!(undo_line(text), None, "{text}");
    }
    for text in [
        r"Jos\u00e9",
        r"Jos\\u00c3\\u00a9",
        "Jos&eacute;",
        "&Atilde;",
        "&Eacute;&rdquo;",
        r"\u00c3",
        "&#195",
        r"\xc3\xa9",
    ] {
        assert_eq!(find(text, &Survey::default(), true), [], "{text}");
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
