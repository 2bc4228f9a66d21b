//! Code pages of DOS and of EBCDIC, which the Encoding Standard does not have.
//!
//! The tables come from Unicode's mapping files (`VENDORS/MICSFT/PC`, `VENDORS/MICSFT/EBCDIC`) and from `IBM-1047` in
//! ICU. In the EBCDIC pages, which have the characters of ISO 8859-1, `25` is U+000A and `15` is U+0085, as in iconv
//! and Python.

use super::names::Encoding;

/// Returns the character of a byte, or `None` if the encoding is not defined here.
pub(crate) fn character(encoding: Encoding, byte: u8) -> Option<char> {
    let (page, changes) = match encoding {
        Encoding::Ibm437 => (IBM437, ""),
        Encoding::Ibm850 => (IBM850, ""),
        Encoding::Ibm852 => (IBM852, ""),
        Encoding::Ibm855 => (IBM855, ""),
        Encoding::Ibm858 => (IBM850, "\u{D5}€"),
        Encoding::Ibm037 => return Some(ebcdic(byte, "")),
        Encoding::Ibm500 => return Some(ebcdic(byte, "\u{4A}[\u{4F}!\u{5A}]\u{5F}^\u{B0}¢\u{BA}¬\u{BB}|")),
        Encoding::Ibm1047 => return Some(ebcdic(byte, "\u{5F}^\u{AD}[\u{B0}¬\u{BA}Ý\u{BB}¨\u{BD}]")),
        _ => return None,
    };
    match byte {
        ..0x80 => Some(char::from(byte)),
        _ => changed(byte, changes).or_else(|| page.chars().nth((byte - 0x80).into())),
    }
}

fn ebcdic(byte: u8, changes: &str) -> char {
    let character = match CONTROLS.get(usize::from(byte)) {
        Some(control) => Some(char::from(*control)),
        None => IBM037.chars().nth(usize::from(byte) - CONTROLS.len()),
    };
    changed(byte, changes).or(character).unwrap_or('\u{9F}')
}

/// Returns the character that follows `byte` in a list of pairs.
fn changed(byte: u8, changes: &str) -> Option<char> {
    let mut changes = changes.chars();
    while let (Some(changed), character) = (changes.next(), changes.next()) {
        if changed == char::from(byte) {
            return character;
        }
    }
    None
}

const IBM437: &str = "\
    ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}";
const IBM850: &str = "\
    ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
    └┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{AD}±‗¾¶§÷¸°¨·¹³²■\u{A0}";
const IBM852: &str = "\
    ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐\
    └┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{AD}˝˛ˇ˘§÷¸°¨˙űŘř■\u{A0}";
const IBM855: &str = "\
    ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐\
    └┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u{AD}ыЫзЗшШэЭщЩчЧ§■\u{A0}";
/// The bytes from `40`, except `FF`.
const IBM037: &str = " \
    \u{A0}âäàáãåçñ¢.<(+|&éêëèíîïìß!$*);¬-/ÂÄÀÁÃÅÇÑ¦,%_>?øÉÊËÈÍÎÏÌ`:#@'=\"Øabcdefghi«»ðýþ±\
    °jklmnopqrªºæ¸Æ¤µ~stuvwxyz¡¿ÐÝÞ®^£¥·©§¶¼½¾[]¯¨´×{ABCDEFGHI\u{AD}ôöòóõ\
    }JKLMNOPQR¹ûüùúÿ\\÷STUVWXYZ²ÔÖÒÓÕ0123456789³ÛÜÙÚ";
/// The bytes below `40`.
const CONTROLS: [u8; 0x40] = [
    0x00, 0x01, 0x02, 0x03, 0x9C, 0x09, 0x86, 0x7F, 0x97, 0x8D, 0x8E, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, //
    0x10, 0x11, 0x12, 0x13, 0x9D, 0x85, 0x08, 0x87, 0x18, 0x19, 0x92, 0x8F, 0x1C, 0x1D, 0x1E, 0x1F, //
    0x80, 0x81, 0x82, 0x83, 0x84, 0x0A, 0x17, 0x1B, 0x88, 0x89, 0x8A, 0x8B, 0x8C, 0x05, 0x06, 0x07, //
    0x90, 0x91, 0x16, 0x93, 0x94, 0x95, 0x96, 0x04, 0x98, 0x99, 0x9A, 0x9B, 0x14, 0x15, 0x9E, 0x1A,
];
