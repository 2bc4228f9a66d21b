//! Evidence that ill-formed bytes are text of Western Europe in windows-1252 or ISO 8859-1.
//!
//! In another legacy encoding the same bytes are other letters, so a wrong hint destroys the text. A hint therefore needs
//! bytes above 7F that are single letters between ASCII letters, in the case of the letters around them, in sequences of
//! three letters that words of these languages have, and that words of other languages in their encodings do not give.
//! Signs count where they are used like signs: `\u{A9}` between white space, `\u{B0}` after a digit, quotation marks
//! around words.
//!
//! [`WORDS`] was made from the 30,000 most frequent words of each language in the lists of the Python package wordfreq
//! 3.1: sequences of three letters that occur at least 100 times in a million words of Catalan, Danish, Dutch, English
//! (apostrophes), Finnish, French, German, Italian, Norwegian, Portuguese, Spanish or Swedish, and at least 10 times as
//! often as in words of 30 other pairs of language and encoding read as windows-1252. `\u{DF}` was added by hand, because
//! the list has `ss` in its place.

use std::sync::LazyLock;

use super::ill_formed::{Step, positions};

/// For each letter, the letters before and after it, in pairs. `-` is the start or the end of a word.
const WORDS: &[(char, &str)] = &[
    ('·', "ll"),
    ('ß', "a-aeate-eeeti-ieito-oeotu-ueutä-äeätö-öeötü-üeüt"),
    ('à', "-n-scncrfcmxpg’-"),
    ('á', "-nc-cmcnfch-irmgmsmtmxpgrfrprrsrsvtntrunur"),
    ('â', "-g"),
    ('ã', "doeogoh-hoiolomemonoooporosotovoxozoço"),
    (
        'ä',
        "mßrß-g-h-n-r-vbrbsbtbud-dndrdtdäeäfhflfnfrglgngrh-hfhlhmhnhrhshthuhvhäi-iäj-jhjljmjrjsjt\
      jvjäk-kdklkmkrksktkvkykäl-lcldlglhlklmlnlplrlsltlulvläm-mdmimlmnmrmsmtmän-ncnenhninj\
      nknlnmnnnrnsnynäp-pnprpär-rcrdrfrgrlrmrnrsrtrurvräs-scsgshsiskslsmsnsrssstsät-tctdtg\
      thtjtktltmtntrtstttvtytäv-vgvhvkvlvnvrvsvtvxväwhwry-zhä-ädähäkälämänäräsätäv",
    ),
    (
        'å',
        "-b-h-k-l-p-r-s-tbdbtd-dldrf-fefrftg-gegngrgthghlhnhphrknkrl-lelglnlrlsltm-mdmlmnmrms\
      mtn-nengnnnrntp-prpspvrdrgrkrnrrrts-sdsgslsnt-tetgtntrttv-vbvgvkvlvnvpvr",
    ),
    (
        'æ',
        "-gbrdkflfnfrglhnhrhvjljrjvkfkmkrldlglklnlrlsmnmrnrnvpnrbrdrfrkrlrnrtrvsdslsrsssttltn\
      trttvgvkvlvr",
    ),
    ('ç', "aãaõcãeãiãiõlananãnónõoãpãrouãuõ"),
    ('è', "-p-xcncsdldndsfrgngrh-icigimirlglmlnlsltlvmnmrmsmtnspcprrgrrrssnsrt-tctmtntru-xrün"),
    (
        'é',
        "-c-d-g-m-n-p-q-s-t-vb-bmbnbrcdceclcsdbdcdedfdgdjdodpdrdtdudvf-fdfrfvg-gegngrh-hehohr\
      hsinisitjrlclelflgmcmdmemlmmmsmtmxncnenfngnrp-pcpeprptrarcrdrerfrgrprsrvréscsespsqss\
      t-tctetgtltsubumusvevnxrén",
    ),
    ('ê', "-tcsdnftgninlnmmpcrmrnrtrvtmtnttu-unusut"),
    ('ë', "eni-ilin"),
    ('í', "-na-adasbacacfcpdafafcfsgah-lcltmamlnanvrarorvs-svtatctftsu-uaudusvavdx-ña"),
    ('î', "-lanatot"),
    ('ï', "asaven"),
    ('ñ', "aoaíeo"),
    ('ò', "cml-lgmbmrnmr-rnrptrx-"),
    ('ó', "-ta-cdcmdneng-gci-injvlglnmnmrmvnmnsrnrprxscsdslsntny-zn"),
    ('ô', "cthtmnnmptrlrntt"),
    ('õ', "heiepeseçe"),
    (
        'ö',
        "rßlß-f-g-k-p-vbrd-dddmdrfdflfrgthchghhhjhlhnhrhshvi-inisj-jijnjrk-kikkknkpkrl-liljlklmls\
      ltlym-mcmgmjmrmtndnjntpyrdrfrmrnrrrsrtrvsdsksnt-tdtitjtktmtntstätövlwhy-ydyhykylymyp\
      ysytzsön",
    ),
    (
        'ø',
        "-d-g-k-l-n-r-s-v-ybgbkbrdddmdrfdflfrgrgyhjhrhshvhyjejnjpjrkbknkrlbldlnlplrlsmdmrmtnd\
      ngnrnyprrdrmrnrrrvrysdsgsksnsrsssttdtrtttvty",
    ),
    ('ù', "o-"),
    ('ú', "-l-nadandsdvedftg-gnm-mnmsnmpb"),
    ('û', "ot"),
    ('ü', "fßmßrßsß-bbcbrfhflfnfrgehlhtknlclsmlmnmsnbqeqèrbrcrfrhrnrssdtcttwnwrzg"),
    ('œ', "-ucu"),
    ('’', "dhelesevidilimivlalelilontonostsuiuluruuuvuàys"),
];

/// Letters of which only the sequences of [`WORDS`] are plausible. They are frequent letters of other alphabets: in
/// windows-1250 `\u{151}`, `\u{171}` and `\u{103}`, in windows-1254 `\u{11F}`, `\u{131}` and `\u{15F}`.
const FOREIGN: &str = "ãõûðýþ";

/// How much a letter of [`FOREIGN`] counts against the hint.
const FOREIGN_WEIGHT: u8 = 4;

/// The longest run of bytes above 7F that may be part of a word.
const MAX_RUN: usize = 3;

/// The bytes of windows-1252 for the sequences of [`WORDS`]: for each byte from 80 on, the bytes before and after it.
static SEQUENCES: LazyLock<[Vec<u16>; 128]> = LazyLock::new(|| sequences(WORDS));

fn sequences(table: &[(char, &str)]) -> [Vec<u16>; 128] {
    let mut sequences = [const { Vec::new() }; 128];
    for &(letter, around) in table {
        let around: Vec<char> = around.chars().collect();
        let pairs =
            around.chunks_exact(2).map(|pair| u16::from_be_bytes([byte_of(pair[0]), byte_of(pair[1])]));
        sequences[usize::from(byte_of(letter) & 0x7F)].extend(pairs);
    }
    sequences
}

fn byte_of(character: char) -> u8 {
    match character {
        '\u{2019}' => 0x92,
        '\u{153}' => 0x9C,
        // The other characters of the table are in ISO 8859-1.
        _ => u8::try_from(u32::from(character)).unwrap_or(b'-'),
    }
}

/// The evidence in the words around ill-formed sequences.
#[derive(Clone, Debug, Default)]
pub(super) struct Western {
    /// Letters and signs that are plausible in windows-1252, and hardly in another encoding.
    plausible: u64,
    /// Those that are not, with weights.
    implausible: u64,
    /// Quotation marks before and after words.
    opening: u64,
    closing: u64,
    /// What bytes with those around them counted, by a hash of them. Text has few of these.
    known: Vec<(u32, Effect)>,
}

/// What a byte above 7F counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Nothing,
    Plausible,
    /// With its weight.
    Implausible(u8),
    Opening,
    Closing,
}

/// The binary logarithm of the number of effects that are remembered.
const KNOWN_BITS: u32 = 11;

impl Western {
    /// Examines the run of bytes above 7F around the ill-formed byte at the position. Does nothing if an ill-formed byte
    /// before it in the same run was examined.
    pub(super) fn error(&mut self, bytes: &[u8], position: usize) {
        let around = around(bytes, position);
        let [_, before, byte, after] = around;
        if before.is_ascii() && !byte.is_ascii() && after.is_ascii() {
            return self.byte(around);
        }
        let from = position.saturating_sub(MAX_RUN);
        if bytes
            .get(from..from + MAX_RUN + 1)
            .is_some_and(|around| around.iter().all(|byte| !byte.is_ascii()))
        {
            return self.run(1);
        }
        let before = bytes[..position].iter().rev().take(MAX_RUN).take_while(|byte| !byte.is_ascii()).count();
        let after = bytes[position..].iter().take(MAX_RUN + 1).take_while(|byte| !byte.is_ascii()).count();
        let run = position - before..position + after;
        if before + after > MAX_RUN || after == 0 {
            return self.run(1);
        }
        // The first error of the run examines all of it.
        if !str::from_utf8(&bytes[run.clone()])
            .is_err_and(|error| run.start + error.valid_up_to() == position)
        {
            return;
        }
        for at in run {
            self.byte(self::around(bytes, at));
        }
    }

    /// Examines the errors of a step at a position of `bytes`: the same as [`error`](Self::error) for each of them.
    pub(super) fn step(&mut self, bytes: &[u8], position: usize, step: &Step) {
        const { assert!(MAX_RUN == 3) };
        let starts = step.high & step.high >> 1 & step.high >> 2 & step.high >> 3;
        let long = starts | starts << 1 | starts << 2 | starts << 3;
        self.run((step.errors & long).count_ones().into());
        // The runs that may continue before or after the step.
        let first = !(u64::MAX << step.high.trailing_ones().min(MAX_RUN as u32));
        let last = !(u64::MAX >> step.high.leading_ones().min(MAX_RUN as u32));
        for at in positions(step.errors & !long & (first | last)) {
            self.error(bytes, position + at as usize);
        }
        // All bytes of the other runs with an error.
        let short = step.high & !long & !(first | last);
        let mut own = step.errors & short;
        for _ in 1..MAX_RUN {
            own |= (own << 1 | own >> 1) & short;
        }
        for at in positions(own) {
            self.byte(around(bytes, position + at as usize));
        }
    }

    /// Counts errors in a run that is longer than a part of a word.
    fn run(&mut self, errors: u64) {
        self.implausible += errors;
    }

    /// Counts a byte above 7F.
    fn byte(&mut self, around: [u8; 4]) {
        let key = u32::from_be_bytes(around);
        if self.known.is_empty() {
            // No key is 0, because the third byte is above 7F.
            self.known.resize(1 << KNOWN_BITS, (0, Effect::Nothing));
        }
        let at = key.wrapping_mul(0x9E37_79B1) >> (u32::BITS - KNOWN_BITS);
        let known = &mut self.known[at as usize];
        if known.0 != key {
            *known = (key, effect(around));
        }
        let effect = known.1;
        self.count(effect);
    }

    fn count(&mut self, effect: Effect) {
        match effect {
            Effect::Nothing => {}
            Effect::Plausible => self.plausible += 1,
            Effect::Implausible(weight) => self.implausible += u64::from(weight),
            Effect::Opening => self.opening += 1,
            Effect::Closing => self.closing += 1,
        }
    }

    /// Whether the text is probably windows-1252 or ISO 8859-1. A long text may have as many unusual words as usual ones: of
    /// text in other encodings less than one letter in 20 is plausible, except of Hungarian and Slavic languages in
    /// windows-1250, where letters that are the same in both are.
    pub(super) fn is_probable(&self) -> bool {
        // A closing quotation mark is a letter in the encodings of DOS, at the end of words of which none has it at
        // its start.
        let quotes = self.opening.min(self.closing);
        let plausible = self.plausible + quotes;
        let implausible = self.implausible + (self.opening + self.closing - 2 * quotes);
        plausible > 0 && implausible <= allowed(plausible)
    }
}

/// Returns the two bytes before a position, the byte there, and the one after it. Outside of the file there are spaces.
fn around(bytes: &[u8], at: usize) -> [u8; 4] {
    if let Some(around) = at.checked_sub(2).and_then(|start| bytes[start..].first_chunk()) {
        return *around;
    }
    let byte = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
    [byte(at.checked_sub(2)), byte(at.checked_sub(1)), byte(Some(at)), byte(at.checked_add(1))]
}

fn is_boundary(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric()
}

fn is_text(byte: u8) -> bool {
    byte.is_ascii_graphic() || !byte.is_ascii()
}

/// Returns what a byte above 7F counts.
fn effect([before_that, before, byte, after]: [u8; 4]) -> Effect {
    if is_letter(byte) || byte == 0x92 || byte == 0xB7 {
        let pair = [before, after].map(|byte| if is_letter(byte) { lower(byte) } else { b'-' });
        let sequences = &SEQUENCES[usize::from(lower(byte) & 0x7F)];
        let is_odd = match is_upper(byte) {
            true => is_letter(before) && !is_upper(before),
            false => is_upper(before) && (is_upper(before_that) || is_upper(after)) && is_letter(byte),
        };
        if !sequences.contains(&u16::from_be_bytes(pair)) || is_odd {
            let is_foreign = FOREIGN.contains(char::from(lower(byte)));
            return Effect::Implausible(if is_foreign { FOREIGN_WEIGHT } else { 1 });
        }
        // The words were compared in lower case. In the encodings of DOS, capitals are other bytes.
        let is_capital = is_upper(byte) && (is_upper(before) || is_upper(after));
        return if is_capital { Effect::Nothing } else { Effect::Plausible };
    }
    match byte {
        // Copyright and registered sign, degree sign, pound and euro sign.
        0xA9 | 0xAE if is_boundary(before) && is_boundary(after) => Effect::Plausible,
        0xB0 if before.is_ascii_digit() && !after.is_ascii_digit() && after.is_ascii() => Effect::Plausible,
        0xB0 if before == b' ' && matches!(after, b'C' | b'F') => Effect::Nothing,
        0xA3 | 0x80 if is_boundary(before) && after.is_ascii_digit() => Effect::Plausible,
        0x93 if is_boundary(before) && is_text(after) => Effect::Opening,
        0x94 if is_text(before) && is_boundary(after) => Effect::Closing,
        // Other signs that stand alone do not count.
        0x80..=0x9F | 0xA0..=0xBF | 0xD7
            if !matches!(byte, 0x81 | 0x8D | 0x8F | 0x90 | 0x9D)
                && (is_boundary(before) || before.is_ascii_digit())
                && (is_boundary(after) || after.is_ascii_digit()) =>
        {
            Effect::Nothing
        }
        // No-break spaces, guillemets and inverted marks beside words.
        0x85 | 0x99 | 0xA0 | 0xAB | 0xBB if is_boundary(before) || is_boundary(after) => Effect::Nothing,
        0xA1 | 0xBF if is_boundary(before) => Effect::Nothing,
        _ => Effect::Implausible(1),
    }
}

/// Returns the number of implausible letters that probable text may have.
fn allowed(plausible: u64) -> u64 {
    if plausible < 20 { plausible / 2 } else { plausible }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic()
        || matches!(byte, 0x83 | 0x8A | 0x8C | 0x8E | 0x9A | 0x9C | 0x9E | 0x9F)
        || (byte >= 0xC0 && !matches!(byte, 0xD7 | 0xF7))
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase()
        || matches!(byte, 0x8A | 0x8C | 0x8E | 0x9F)
        || matches!(byte, 0xC0..=0xDE if byte != 0xD7)
}

/// Returns the lower case of a letter in windows-1252.
fn lower(byte: u8) -> u8 {
    match byte {
        0x8A | 0x8C | 0x8E => byte + 0x10,
        0x9F => 0xFF,
        0xC0..=0xDE if byte != 0xD7 => byte + 0x20,
        _ => byte.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_western(text: &[u8]) -> bool {
        let mut western = Western::default();
        let mut rest = 0;
        while let Err(error) = str::from_utf8(&text[rest..]) {
            let position = rest + error.valid_up_to();
            western.error(text, position);
            rest = position + error.error_len().unwrap_or(text.len() - position);
        }
        western.is_probable()
    }

    #[test]
    fn text_of_western_europe_is_recognized() {
        for text in [
            &b"caf\xE9"[..],
            b"\xC9tat, \xC9TAT\n",
            b"gr\xF6\xDFer als f\xFCr",
            b"informa\xE7\xE3o n\xE3o",
            b"el a\xF1o, la direcci\xF3n",
            b"p\xE5 sm\xF8rrebr\xF8d, n\xE5r",
            b"k\xE4ytt\xE4j\xE4, m\xE4\xE4r\xE4",
            b"Copyright \xA9 2003",
            b"25\xB0C",
            b"it\x92s a test, don\x92t",
            b"\x93word\x94",
            b"caf\xE9 and caf\xC3\xA9",
        ] {
            assert!(is_western(text), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn text_in_other_encodings_is_not() {
        for (encoding, text) in [
            ("windows-1251", &b"\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0"[..]),
            ("windows-1251, words of one letter", b"A \xE8 B, \xE2 C"),
            ("KOI8-R", b"\xF0\xD2\xC9\xD7\xC5\xD4"),
            ("windows-1253", b"\xCA\xE1\xEB\xE7\xEC\xDD\xF1\xE1"),
            ("windows-1255", b"\xF9\xEC\xE5\xED"),
            ("windows-1254", b"g\xFCne\xFEli, de\xF0il"),
            ("windows-1250", b"Za\xBF\xF3\xB3\xE6 g\xEA\x9Cl\xB9 ja\x9F\xF1"),
            ("windows-1250", b"mi\xEAso"),
            ("windows-1250", b"\xC1rv\xEDzt\xFBr\xF5 t\xFCk\xF6rf\xFAr\xF3g\xE9p"),
            ("windows-1250", b"P\xF8\xEDli\x9A \x9Elu\x9Dou\xE8k\xFD k\xF9\xF2"),
            ("GBK", b"// \xD6\xD0\xCE\xC4\xD7\xA2\xCA\xCD"),
            ("Big5", b"\xA7A\xA6n, \xA4@"),
            ("Shift_JIS", b"\x83e\x83X\x83g \x82\xA0"),
            ("windows-949", b"\xC7\xD1\xB1\xB9"),
            ("Mac Roman", b"caf\x8E na\x95ve"),
            ("Mac Roman", b"d\x92a a\x96o"),
            ("cp850", b"caf\x82 gr\x94\xE1er"),
            ("cp850", b"sj\x94 \x94l"),
        ] {
            assert!(!is_western(text), "{encoding} {}", text.escape_ascii());
        }
    }
}
