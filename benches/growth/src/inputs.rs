//! Inputs that an attacker could choose.

/// Generates an input of the given length or a few bytes less.
#[derive(Clone, Copy)]
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) bytes: fn(usize) -> Vec<u8>,
}

/// A repeated pattern.
macro_rules! repeated {
    ($($input:ident: $name:literal = $pattern:expr;)*) => {
        $(pub(crate) const $input: Input = Input {
            name: $name,
            bytes: |size| {
                let pattern: &[u8] = $pattern;
                pattern.repeat(size / pattern.len())
            },
        };)*
    };
}

/// One repeated pattern in the first half, another in the second.
macro_rules! halves {
    ($($input:ident: $name:literal = $first:expr, $second:expr;)*) => {
        $(pub(crate) const $input: Input = Input {
            name: $name,
            bytes: |size| {
                let (first, second): (&[u8], &[u8]) = ($first, $second);
                let mut bytes = first.repeat(size / 2 / first.len());
                bytes.extend(second.repeat(size / 2 / second.len()));
                bytes
            },
        };)*
    };
}

repeated! {
    ASCII: "a" = b"a";
    LINES: "lines" = b"a line of text\r\n";
    LF: "LF" = b"\n";
    CR: "CR" = b"\r";
    CRLF: "CRLF" = b"\r\n";
    FF: "FF" = b"\xFF";
    FF_CRLF: "FF CRLF" = b"\xFF\r\n";
    GOOD_AND_BAD_LINES: "a CRLF FF CRLF" = b"a\r\n\xFF\r\n";
    THREE_BYTE_LEADS: "E2 82" = b"\xE2\x82";
    FOUR_BYTE_LEADS: "F0 9F 98" = b"\xF0\x9F\x98";
    CYRILLIC: "cyrillic" = "\u{431}".as_bytes();
    CRABS: "crabs" = "\u{1F980}".as_bytes();
    BOMS: "BOM" = b"\xEF\xBB\xBF";
    SURROGATES: "D8 00" = b"\xD8\x00";
    ZEROS: "00" = b"\0";
    BACKSLASHES: "backslash" = b"\\";
    HALF_PAIRS: "half of a pair" = br"\uD83D";
    SHORT_ESCAPES: "short escape" = br"\u12";
    PAIRS: "pair" = br"\uD83D\uDE00";
    ESCAPES: "ESC %" = b"\x1B%";
    FRAMES: "frames of 3 bytes" = b"\0\0\0\x03a\xFFb";
    EMPTY_FRAMES: "empty frames" = b"\0\0\0\0";
    QP_ESCAPES: "=FF" = b"=FF";
    EQUALS: "=" = b"=";
    SOFT_BREAKS: "= CRLF" = b"=\r\n";
    SPACES: "SP" = b" ";
    SPACES_LF: "SP LF" = b" \n";
    DELIMITERS: "CRLF --b" = b"\r\n--b";
    DELIMITER_LINES: "--b CRLF" = b"--b\r\n";
    FINAL_DELIMITERS: "--b-- CRLF" = b"--b--\r\n";
    DASHES: "-" = b"-";
    DASH_LINES: "-- CRLF" = b"--\r\n";
    FIELDS: "fields" = b"A: b\r\n";
    FOLDS: "folds" = b" a\r\n";
    COLONS: ":" = b":";
    COMMENTS: "(" = b"(";
    SEMICOLONS: ";" = b";";
    PARAMETERS: "; a=b" = b"; a=b";
    CONTINUED_PARAMETERS: "; a*1=b" = b"; a*1=b";
    EXTENDED_PARAMETERS: "; a*1*=%FF" = b"; a*1*=%FF";
    QUOTES: "\" \\" = b"\"\\";
    ENCODED_WORDS: "encoded words" = b" =?utf-8?q?=FF?=";
    ENCODED_WORD_STARTS: "=?" = b"=?";
    OTHER_WORD_STARTS: "=?x?q?" = b"=?x?q?";
    DATA_LINES: "data:a" = b"data:a\n";
    EMPTY_DATA_LINES: "data" = b"data\r";
    EVENTS: "events" = b"event:a\rdata:a\xFF\r\nid:1\n\n";
    COUNTED: "1 a" = b"1 a";
    MESSAGES: "Content-Length" = b"Content-Length: 1\r\n\r\na";
    JSON_TEXTS: "RS a LF" = b"\x1Ea\n";
    RECORD_SEPARATORS: "RS" = b"\x1E";
    RECORDS: "records" = b"t stdout F a\nt stderr P b\nt stderr F \n";
    PARTS: "parts" = b"t stdout P a\n";
    EMPTY_PARTS: "empty parts" = b"t stdout P \n";
    UTF_7_SHIFTS: "shifts of UTF-7" = b"+AOk-";
    UTF_7_HALVES: "halves in shifts" = b"+2D0-";
    PLUSES: "+" = b"+!";
    KOREAN_SHIFTS: "SO SI" = b"\x1B$)C\x0E\x0F";
    KOREAN_PAIRS: "SO pairs" = b"\x1B$)C\x0E0!I!\x7F";
    COLON_LINES: ": LF" = b":\n";
    ID_LINES: "id:a id:b" = b"id:a\nid:b\n";
    PINGS: "pings" = b"\x89\0";
    EMPTY_MESSAGES: "empty messages" = b"\x81\0";
    ILL_FORMED_MESSAGES: "FF in messages" = b"\x81\x03a\xFFb";
    EMPTY_FRAGMENTS: "empty fragments" = b"\x01\0\0\0\0\0\x80\0";
    SPLIT_CHARACTERS: "E2 82 in a fragment" = b"\x01\x02\xE2\x82\x89\x01p\x80\x02\xACa";
}

halves! {
    FF_CRLF_THEN_LF: "FF CRLF ... LF ..." = b"\xFF\r\n", b"\n";
    FF_LF_THEN_CR: "FF LF ... CR ..." = b"\xFF\n", b"\r";
    FF_LF_THEN_ASCII: "FF LF ... a ..." = b"\xFF\n", b"a";
    LINES_THEN_ASCII: "lines ... a ..." = b"a\r\n", b"a";
    SPACES_THEN_A: "SP ... a ..." = b" ", b"a";
}

/// Server-sent events.
pub(crate) const EVENT_STREAMS: [Input; 11] = [
    ASCII,
    LF,
    CR,
    CRLF,
    DATA_LINES,
    EMPTY_DATA_LINES,
    EVENTS,
    COLON_LINES,
    ID_LINES,
    GOOD_AND_BAD_LINES,
    FF_LF_THEN_CR,
];

/// A frame of 65,535 bytes, which is longer than the input.
const LONG_MESSAGE: Input = Input {
    name: "FF in one frame",
    bytes: |size| {
        let mut bytes = b"\x81\x7E\xFF\xFF".to_vec();
        bytes.resize(size.min(0xFFFF), 0xFF);
        bytes
    },
};

/// Frames of a WebSocket server.
pub(crate) const FRAMES_OF_WEBSOCKET: [Input; 6] =
    [PINGS, EMPTY_MESSAGES, EMPTY_FRAGMENTS, ILL_FORMED_MESSAGES, SPLIT_CHARACTERS, LONG_MESSAGE];

/// Escapes of JSON.
pub(crate) const JSON: [Input; 4] = [BACKSLASHES, HALF_PAIRS, SHORT_ESCAPES, PAIRS];

/// Text, well-formed and ill-formed.
pub(crate) const TEXT: [Input; 7] =
    [ASCII, CRABS, FF, THREE_BYTE_LEADS, FOUR_BYTE_LEADS, BOMS, GOOD_AND_BAD_LINES];

/// Lines, well-formed and ill-formed.
pub(crate) const LINES_OF_ALL_KINDS: [Input; 9] = [
    ASCII,
    LF,
    CR,
    FF_CRLF,
    GOOD_AND_BAD_LINES,
    FF_CRLF_THEN_LF,
    FF_LF_THEN_CR,
    FF_LF_THEN_ASCII,
    LINES_THEN_ASCII,
];
