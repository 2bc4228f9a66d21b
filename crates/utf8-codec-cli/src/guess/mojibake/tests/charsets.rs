//! Lines that were decoded as another encoding than windows-1252 and ISO 8859-1.

use std::io::Cursor;

use super::super::{Survey, find};
use super::undo_file;

#[test]
fn a_line_with_one_broken_letter_is_decoded() {
    for (broken, text) in [
        // Code page 437.
        ("caf├⌐", "café"),
        ("├╝ber", "über"),
        ("donΓÇÖt", "don’t"),
        ("a ΓÇö b", "a — b"),
        ("╨┐╤Ç╨╕╨▓╨╡╤é", "привет"),
        // Mac Roman.
        ("caf√©", "café"),
        ("√©t√©", "été"),
        ("don‚Äôt", "don’t"),
        ("a ‚Äî b", "a — b"),
        ("–ø—Ä–∏–≤–µ—Ç", "привет"),
        ("Kƒç", "Kč"),
        ("sekundƒô", "sekundę"),
        ("≈°epot", "šepot"),
        ("Œº{0}", "μ{0}"),
        ("12¬∫, {0}¬≤", "12º, {0}²"),
        ("¬§#,##0", "¤#,##0"),
        ("A b…î k…õ", "A bɔ kɛ"),
        ("Kwak\u{A0}ºwala", "Kwakʼwala"),
        // windows-1251.
        ("cafГ©", "café"),
        ("donвЂ™t", "don’t"),
        ("a вЂ” b", "a — b"),
        ("20В°C", "20°C"),
        ("В© 2026", "© 2026"),
        ("РїСЂРёРІРµС‚", "привет"),
        // windows-1250.
        ("MĂ©xico", "México"),
    ] {
        assert_eq!(undo_file(broken), text);
    }
    // Correct text that is well-formed if it is read back.
    for text in [
        "m’és igual",
        "jusqu’à",
        "déšť",
        "plášť",
        "Úžiny",
        "Кі{0}",
        "Ні",
        "дії",
        "Оё",
        "sıçan",
        "jarðálfur",
        "Íñigo",
        "{0}\u{A0}°C",
        "{0}\u{A0}Ω",
        "cм²",
        "тё",
        "СІЛІ",
        "√π",
        "a√π",
        "2√∞",
        "¬p",
        "ƒo, aƒé",
        "220В±10%",
        "dar…în, spun…în",
        "mort…ô rage",
        "5\u{A0}º, n.\u{A0}º",
        "├┤",
        "┌┐┌┐",
        "╔╗╚╝",
    ] {
        assert_eq!(undo_file(text), text);
    }
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
