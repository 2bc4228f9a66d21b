//! Lines that were decoded as another encoding than windows-1252 as a whole.
//!
//! Correct text that can be read back as a whole is rare: 160 lines of 2.2 million. [`plausible`] tells them apart.

use core::ops::Range;
use std::sync::LazyLock;

use super::plausible;

/// The characters of the bytes 80 to FF in each encoding. A byte that it does not define is a control character.
const CHARSETS: [&str; 7] = [
    // windows-1250.
    "€\u{81}‚\u{83}„…†‡\u{88}‰Š‹ŚŤŽŹ\u{90}‘’“”•–—\u{98}™š›śťžź\u{A0}ˇ˘Ł¤Ą¦§¨©Ş«¬\u{AD}®Ż°±˛ł´µ¶·¸ąş»Ľ˝ľż\
     ŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢßŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙",
    // windows-1251.
    "ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—\u{98}™љ›њќћџ\u{A0}ЎўЈ¤Ґ¦§Ё©Є«¬\u{AD}®Ї°±Ііґµ¶·ё№є»јЅѕї\
     АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмнопрстуфхцчшщъыьэюя",
    // windows-1254.
    "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}\u{8E}\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}\u{9E}Ÿ\u{A0}¡¢£¤¥¦§¨©ª«¬\u{AD}®¯°±²³´µ¶·¸¹º»¼½¾¿\
     ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏĞÑÒÓÔÕÖ×ØÙÚÛÜİŞßàáâãäåæçèéêëìíîïğñòóôõö÷øùúûüışÿ",
    // 437.
    "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
     └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}",
    // 850.
    "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
     └┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{AD}±‗¾¶§÷¸°¨·¹³²■\u{A0}",
    // Mac Roman.
    "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø\
     ¿¡¬√ƒ≈∆«»…\u{A0}ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{F8FF}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ",
    // KOI8-R.
    "─│┌┐└┘├┤┬┴┼▀▄█▌▐░▒▓⌠■∙√≈≤≥\u{A0}⌡°²·÷═║╒ё╓╔╕╖╗╘╙╚╛╜╝╞╟╠╡Ё╢╣╤╥╦╧╨╩╪╫╬©\
     юабцдефгхийклмнопярстужвьызшэщчъЮАБЦДЕФГХИЙКЛМНОПЯРСТУЖВЬЫЗШЭЩЧЪ",
];

/// A character, and its byte in each encoding, or 0.
static CHARACTERS: LazyLock<Vec<(char, [u8; CHARSETS.len()])>> = LazyLock::new(|| {
    let mut characters: Vec<(char, [u8; CHARSETS.len()])> = Vec::new();
    for (charset, own) in CHARSETS.iter().enumerate() {
        for (byte, character) in (0x80..=0xFF).zip(own.chars()) {
            let at = characters.binary_search_by_key(&character, |each| each.0).unwrap_or_else(|at| {
                characters.insert(at, (character, [0; CHARSETS.len()]));
                at
            });
            characters[at].1[charset] = byte;
        }
    }
    characters
});

/// For each character: the encodings in which it is the first byte of a character, and those in which it is another one.
static MASKS: LazyLock<Vec<(u8, u8)>> = LazyLock::new(|| {
    let mut masks = vec![(0, 0); SLOTS];
    for &(character, bytes) in CHARACTERS.iter() {
        for (charset, byte) in bytes.into_iter().enumerate() {
            match (slot(character), byte) {
                (Some(slot), 0xC2..=0xF4) => masks[slot].0 |= 1 << charset,
                (Some(slot), 0x80..=0xBF) => masks[slot].1 |= 1 << charset,
                _ => {}
            }
        }
    }
    masks
});

const SLOTS: usize = 0xA13;

/// Returns the position of a character in [`MASKS`].
fn slot(character: char) -> Option<usize> {
    let at = u32::from(character) as usize;
    match at {
        0x80..=0x49F => Some(at - 0x80),
        0x2010..=0x25FF => Some(at - 0x2010 + 0x420),
        0xF8FF => Some(0xA10),
        0xFB01 | 0xFB02 => Some(at - 0xFB01 + 0xA11),
        _ => None,
    }
}

fn bytes_of(character: char) -> Option<&'static [u8; CHARSETS.len()]> {
    let at = CHARACTERS.binary_search_by_key(&character, |each| each.0).ok()?;
    Some(&CHARACTERS[at].1)
}

/// The runs of a line that are read back, and what they were.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) runs: Vec<(Range<usize>, String)>,
    /// Whether correct text is not like this.
    pub(super) is_strong: bool,
}

/// An encoding, as a position in [`CHARSETS`].
pub(super) type Charset = usize;

/// The number of lines that each encoding reads back.
pub(super) type Counts = [u64; CHARSETS.len()];

/// Returns the only encoding with which the line was certainly broken as a whole, and its runs. Counts those with which it
/// may have been. `is_proven` is whether it was encoded twice.
pub(super) fn detect(line: &str, is_proven: bool, counts: &mut Counts) -> Option<(Charset, Line)> {
    let start = line.bytes().position(|byte| !byte.is_ascii())?;
    let mut characters = line[start..].chars();
    let pair = [characters.next()?, characters.next()?];
    // Most correct lines end here.
    let possible = MASKS[slot(pair[0])?].0 & MASKS[slot(pair[1])?].1;
    if possible == 0 {
        return None;
    }
    let mut all: Vec<(Charset, Line)> = (0..CHARSETS.len())
        .filter(|charset| possible >> charset & 1 == 1)
        .filter_map(|charset| Some((charset, read_back(line, charset)?)))
        .collect();
    for &(charset, _) in &all {
        counts[charset] += 1;
    }
    all.retain(|(_, line)| is_proven || line.is_strong);
    let (charset, line) = all.pop()?;
    all.iter().all(|(_, other)| other.runs == line.runs).then(|| {
        // Of encodings with the same result, the first is named.
        (all.first().map_or(charset, |first| first.0), line)
    })
}

/// Reads back all characters of a line that are not ASCII, or none.
pub(super) fn read_back(line: &str, charset: Charset) -> Option<Line> {
    let mut runs = Vec::new();
    let (mut run, mut start) = (Vec::new(), 0);
    for (at, character) in line.char_indices().chain([(line.len(), '\0')]) {
        if character.is_ascii() {
            if !run.is_empty() {
                runs.push((start..at, String::from_utf8(core::mem::take(&mut run)).ok()?));
            }
            continue;
        }
        let byte = bytes_of(character).map(|bytes| bytes[charset]).filter(|&byte| byte != 0)?;
        match run.last() {
            None if !(0xC2..=0xF4).contains(&byte) => return None,
            None => start = at,
            Some(0xC0..) if byte >= 0xC0 => return None,
            Some(_) => {}
        }
        run.push(byte);
    }
    let is_strong = plausible::is_broken(line, &runs);
    Some(Line { runs, is_strong })
}
