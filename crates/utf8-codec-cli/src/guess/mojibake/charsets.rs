//! Lines that were decoded as another encoding than windows-1252 as a whole.
//!
//! Correct text that can be read back as a whole is rare: 160 lines of 2.2 million. [`plausible`] tells them apart.

use core::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use super::plausible;
use crate::guess::utf8_evidence::ascii_len;

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

/// For each character: its byte in each encoding, or 0.
static BYTES: LazyLock<Vec<[u8; CHARSETS.len()]>> = LazyLock::new(|| {
    let mut bytes = vec![[0; CHARSETS.len()]; SLOTS];
    for (charset, own) in CHARSETS.iter().enumerate() {
        for (byte, slot) in (0x80..=0xFF).zip(own.chars().map(slot)) {
            slot.into_iter().for_each(|slot| bytes[slot][charset] = byte);
        }
    }
    bytes
});

/// For each character: the encodings in which it is the first byte of a character, and those in which it is another one.
static MASKS: LazyLock<Vec<(u8, u8)>> = LazyLock::new(|| {
    BYTES.iter().map(|bytes| (mask(bytes, 0xC2..=0xF4), mask(bytes, 0x80..=0xBF))).collect()
});

/// Returns the encodings whose byte is in a range.
fn mask(bytes: &[u8; CHARSETS.len()], range: RangeInclusive<u8>) -> u8 {
    bytes.iter().enumerate().fold(0, |mask, (charset, byte)| mask | u8::from(range.contains(byte)) << charset)
}

const SLOTS: usize = 0xA13;

/// Returns the position of a character in [`BYTES`].
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

/// Returns the byte of a character, which is not ASCII.
fn byte_of(character: char, charset: Charset) -> Option<u8> {
    Some(BYTES[slot(character)?][charset]).filter(|&byte| byte != 0)
}

/// Returns the encodings, as a set, in which the first two characters of a text may be one character.
fn possible(text: &str) -> Option<u8> {
    let mut characters = text.chars();
    let pair = [slot(characters.next()?)?, slot(characters.next()?)?];
    Some(MASKS[pair[0]].0 & MASKS[pair[1]].1).filter(|&possible| possible != 0)
}

/// Whether an encoding may read back a line of which this is the text from the first character beyond ASCII on.
pub(super) fn may_start(text: &str) -> bool {
    possible(text).is_some()
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
    let readable = readable(line, counts);
    let mut all: Vec<(Charset, Line)> = (0..CHARSETS.len())
        .filter(|charset| readable >> charset & 1 == 1)
        .filter_map(|charset| Some((charset, read_back(line, charset)?)))
        .filter(|(_, line)| is_proven || line.is_strong)
        .collect();
    let (charset, line) = all.pop()?;
    all.iter().all(|(_, other)| other.runs == line.runs).then(|| {
        // Of encodings with the same result, the first is named.
        (all.first().map_or(charset, |first| first.0), line)
    })
}

/// Counts the encodings that read back a line, and returns them as a set.
pub(super) fn readable(line: &str, counts: &mut Counts) -> u8 {
    let start = ascii_len(line.as_bytes());
    let mut possible = possible(&line[start..]).unwrap_or(0);
    for (charset, count) in counts.iter_mut().enumerate() {
        if possible >> charset & 1 == 1 && !is_readable(&line[start..], charset) {
            possible &= !(1 << charset);
        }
        *count += u64::from(possible >> charset & 1);
    }
    possible
}

/// Whether all characters of a text that are not ASCII are well-formed if they are read back.
fn is_readable(text: &str, charset: Charset) -> bool {
    let mut run = [0; 4];
    let mut len = 0;
    for character in text.chars().chain(['\0']) {
        // A sequence ends before ASCII, and before the first byte of the next one.
        let byte = match character.is_ascii() {
            true => None,
            false => match byte_of(character, charset) {
                None => return false,
                byte => byte,
            },
        };
        if len > 0 && byte.is_none_or(|byte| byte >= 0xC0) {
            if str::from_utf8(&run[..len]).is_err() {
                return false;
            }
            len = 0;
        }
        let Some(byte) = byte else { continue };
        if len == 4 || len == 0 && byte < 0xC0 {
            return false;
        }
        run[len] = byte;
        len += 1;
    }
    true
}

/// Reads back all characters of a line that are not ASCII, or none.
pub(super) fn read_back(line: &str, charset: Charset) -> Option<Line> {
    let mut runs = Vec::new();
    let mut run = Vec::new();
    let mut start = 0;
    for (at, character) in line.char_indices().chain([(line.len(), '\0')]) {
        if character.is_ascii() {
            if !run.is_empty() {
                runs.push((start..at, String::from_utf8(core::mem::take(&mut run)).ok()?));
            }
            continue;
        }
        let byte = byte_of(character, charset)?;
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
