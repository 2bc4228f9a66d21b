//! Compares the transcoder with the converters of Python, Java, Perl and Node. Each runs in one
//! process with a seeded corpus.
//!
//! Known differences are listed with the sentence of the standard that decides them.

use std::process::Command;

use utf8_codec::{ErrorKind, ErrorPolicy, TextDecoder};
use utf8_codec_encodings::{Encoding, Switches, TranscodeError, Transcoder};

use crate::run;
use crate::support::encodings::{Open, encode};
use crate::support::{Rng, hex, unhex};

const CASES: usize = 3_000;

fn convert(mut transcoder: Transcoder, input: &[u8]) -> Result<Vec<u8>, TranscodeError> {
    let mut out = Vec::new();
    for chunk in input.chunks(5) {
        transcoder.feed_into(chunk, &mut out)?;
    }
    transcoder.finish_into(&mut out)?;
    Ok(out)
}

/// Bytes that are mostly well-formed in the encoding.
fn corpus(encoding: Encoding, seed: u64) -> Vec<Vec<u8>> {
    const VALUES: [u32; 20] = [
        0x41, 0x0A, 0x00, 0x7F, 0xE9, 0x80, 0x20AC, 0x7FF, 0x800, 0xFEFF, 0xFFFE, 0xFFFF, 0xD83D, 0xDCA9,
        0xDFFF, 0xDC80, 0xD7FF, 0x1F4A9, 0x10_FFFF, 0x1_0000,
    ];
    let mut rng = Rng::new(seed);
    let open = Open { surrogates: true, ..Open::default() };
    (0..CASES)
        .map(|case| {
            let mut out = Vec::new();
            for _ in 0..=rng.below(8) {
                let surrogates_too = case % 3 == 0;
                let value = VALUES[rng.below(VALUES.len())];
                match (rng.below(12), encode(encoding, open, value)) {
                    (0, _) if case % 2 == 0 => out.push(rng.next() as u8),
                    (1, Some(bytes)) if case % 2 == 0 => out.extend(&bytes[..bytes.len() - 1]),
                    (2, _) if case % 2 == 0 => out.extend(rng.dirty_text(3)),
                    (_, Some(bytes)) if surrogates_too || !(0xD800..0xE000).contains(&value) => {
                        out.extend(bytes)
                    }
                    _ => {}
                }
            }
            out
        })
        .collect()
}

/// Sends lines of `operation hexadecimal` to a program, which replies to each with hexadecimal, or with `!` for an
/// error.
fn ask(command: &mut Command, lines: &[String]) -> Vec<Option<Vec<u8>>> {
    let output = run(command, lines.join("\n") + "\n");
    let answers: Vec<_> = output.lines().map(|line| (line != "!").then(|| unhex(line))).collect();
    assert_eq!(answers.len(), lines.len(), "{command:?}");
    answers
}

/// A conversion, and its name in the other program.
struct Conversion {
    operation: &'static str,
    transcoder: Transcoder,
}

fn conversion(operation: &'static str, from: Encoding, to: Encoding) -> Conversion {
    Conversion { operation, transcoder: Transcoder::new(from, to) }
}

impl Conversion {
    fn with(self, change: impl FnOnce(Transcoder) -> Transcoder) -> Self {
        Self { transcoder: change(self.transcoder), ..self }
    }
}

fn surrogates(transcoder: Transcoder) -> Transcoder {
    transcoder.with_switches(Switches::STRICT.with_surrogates(true))
}

fn replace(transcoder: Transcoder) -> Transcoder {
    transcoder.with_error_policy(ErrorPolicy::Replace)
}

/// Compares every conversion on its corpus. For an input that only one side rejects, `is_known` returns whether this is
/// a known difference. Its argument is the error of the transcoder, or `None` if only the other program rejects.
fn compare(
    command: &mut Command,
    conversions: &[Conversion],
    is_known: impl Fn(&Conversion, &[u8], Option<TranscodeError>) -> bool,
) {
    let corpora: Vec<_> = (2..)
        .zip(conversions)
        .map(|(seed, conversion)| corpus(conversion.transcoder.source(), seed))
        .collect();
    let lines: Vec<String> = conversions
        .iter()
        .zip(&corpora)
        .flat_map(|(conversion, corpus)| {
            corpus.iter().map(|input| format!("{} {}", conversion.operation, hex(input)))
        })
        .collect();
    let answers = ask(command, &lines);
    let cases = conversions
        .iter()
        .zip(&corpora)
        .flat_map(|(conversion, corpus)| corpus.iter().map(move |input| (conversion, input)));
    let (mut same, mut different) = (0, 0);
    for ((conversion, input), theirs) in cases.zip(answers) {
        match (convert(conversion.transcoder.clone(), input), theirs) {
            (Ok(ours), Some(theirs)) => {
                assert_eq!(hex(&ours), hex(&theirs), "{} of {}", conversion.operation, hex(input));
                same += 1;
            }
            (Err(_), None) => same += 1,
            (Err(error), Some(_)) if is_known(conversion, input, Some(error)) => different += 1,
            (Ok(_), None) if is_known(conversion, input, None) => different += 1,
            (ours, theirs) => {
                panic!("{} of {}: {ours:02X?} and {theirs:02X?}", conversion.operation, hex(input))
            }
        }
    }
    eprintln!("{same} the same, {different} different by name");
    assert!(same > different);
}

const PYTHON: &str = r#"
import sys
conversions = {
    "escape": (("utf-8", "surrogateescape"), ("utf-8", "surrogatepass")),
    "unescape": (("utf-8", "surrogatepass"), ("utf-8", "surrogateescape")),
    "pass": (("utf-8", "surrogatepass"), ("utf-32-be", "surrogatepass")),
    "utf-8": (("utf-8", "strict"), ("utf-16-le", "strict")),
    "utf-8-replace": (("utf-8", "replace"), ("utf-16-be", "strict")),
    "utf-16-le": (("utf-16-le", "strict"), ("utf-8", "strict")),
    "utf-16-be": (("utf-16-be", "strict"), ("utf-8", "strict")),
    "utf-16-le-pass": (("utf-16-le", "surrogatepass"), ("utf-8", "surrogatepass")),
    "utf-16-be-pass": (("utf-16-be", "surrogatepass"), ("utf-8", "surrogatepass")),
    "utf-32-le": (("utf-32-le", "strict"), ("utf-8", "strict")),
    "utf-32-be": (("utf-32-be", "strict"), ("utf-16-le", "strict")),
    "latin-1": (("latin-1", "strict"), ("utf-8", "strict")),
    "to-latin-1": (("utf-8", "strict"), ("latin-1", "strict")),
}
for line in sys.stdin:
    conversion, _, data = line.strip().partition(" ")
    (source, source_errors), (target, target_errors) = conversions[conversion]
    try:
        print(bytes.fromhex(data).decode(source, source_errors).encode(target, target_errors).hex())
    except UnicodeError:
        print("!")
"#;

#[test]
#[cfg_attr(not(has_python3), ignore = "python3 is not installed")]
fn python() {
    let conversions = [
        conversion("escape", Encoding::Utf8b, Encoding::Wtf8),
        // Python strings and UCS-4 with surrogates do not join surrogate pairs.
        conversion("unescape", Encoding::Utf8Ucs4, Encoding::Utf8b).with(surrogates),
        conversion("pass", Encoding::Utf8Ucs4, Encoding::Utf32Be).with(surrogates),
        conversion("utf-8", Encoding::Utf8, Encoding::Utf16Le),
        conversion("utf-8-replace", Encoding::Utf8, Encoding::Utf16Be).with(replace),
        conversion("utf-16-le", Encoding::Utf16Le, Encoding::Utf8),
        conversion("utf-16-be", Encoding::Utf16Be, Encoding::Utf8),
        conversion("utf-16-le-pass", Encoding::Utf16Le, Encoding::Wtf8).with(surrogates),
        conversion("utf-16-be-pass", Encoding::Utf16Be, Encoding::Wtf8).with(surrogates),
        conversion("utf-32-le", Encoding::Utf32Le, Encoding::Utf8),
        conversion("utf-32-be", Encoding::Utf32Be, Encoding::Utf16Le),
        conversion("latin-1", Encoding::Latin1, Encoding::Utf8),
        conversion("to-latin-1", Encoding::Utf8, Encoding::Latin1),
    ];
    // There are no known differences.
    compare(Command::new("python3").args(["-c", PYTHON]), &conversions, |_, _, _| false);
}

#[test]
#[cfg_attr(not(has_python3), ignore = "python3 is not installed")]
fn code_pages_are_those_of_python() {
    let program = "for name in 'cp037 cp437 cp500 cp850 cp852 cp855 cp858 cp866'.split():
        print(name, bytes(range(256)).decode(name).encode().hex())";
    let all: Vec<u8> = (0..=255).collect();
    for line in run(Command::new("python3").args(["-c", program]), String::new()).lines() {
        let (name, text) = line.split_once(' ').expect("a name and a text");
        let page = name.parse().expect("a code page");
        assert_eq!(
            convert(Transcoder::new(page, Encoding::Utf8), &all).map(|text| hex(&text)),
            Ok(text.into())
        );
    }
}

const JAVA: &str = r#"
import java.io.*;
import java.nio.*;
import java.nio.charset.*;
import java.util.*;

public class Peer {
    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in));
        var out = new PrintStream(new BufferedOutputStream(System.out), false);
        var hex = HexFormat.of();
        for (String line; (line = in.readLine()) != null; ) {
            int space = line.indexOf(' ');
            byte[] bytes = hex.parseHex(line.substring(space + 1).strip());
            try {
                out.println(hex.formatHex(convert(line.substring(0, space), bytes)));
            } catch (IOException refused) {
                out.println("!");
            }
        }
        out.flush();
    }

    static byte[] convert(String conversion, byte[] bytes) throws IOException {
        switch (conversion) {
            case "cesu-8": return encode("UTF-16BE", decode("CESU-8", bytes));
            case "to-cesu-8": return encode("CESU-8", decode("UTF-8", bytes));
            case "utf-16": return encode("UTF-8", decode("UTF-16LE", bytes));
            case "replace": return encode("UTF-8", new String(bytes, StandardCharsets.UTF_8));
            case "windows-1252": return encode("UTF-8", decode("windows-1252", bytes));
            case "read-utf": {
                var framed = new ByteArrayOutputStream();
                new DataOutputStream(framed).writeShort(bytes.length);
                framed.write(bytes);
                var data = new DataInputStream(new ByteArrayInputStream(framed.toByteArray()));
                return raw(data.readUTF());
            }
            case "write-utf": {
                var framed = new ByteArrayOutputStream();
                new DataOutputStream(framed).writeUTF(decode("UTF-8", bytes));
                return Arrays.copyOfRange(framed.toByteArray(), 2, framed.size());
            }
            default: throw new IllegalArgumentException(conversion);
        }
    }

    static String decode(String charset, byte[] bytes) throws CharacterCodingException {
        return Charset.forName(charset).newDecoder().onMalformedInput(CodingErrorAction.REPORT)
            .onUnmappableCharacter(CodingErrorAction.REPORT).decode(ByteBuffer.wrap(bytes)).toString();
    }

    static byte[] encode(String charset, String text) throws CharacterCodingException {
        var bytes = Charset.forName(charset).newEncoder().onMalformedInput(CodingErrorAction.REPORT)
            .onUnmappableCharacter(CodingErrorAction.REPORT).encode(CharBuffer.wrap(text));
        return Arrays.copyOf(bytes.array(), bytes.limit());
    }

    /** The code units, whatever they are. */
    static byte[] raw(String text) {
        var bytes = ByteBuffer.allocate(2 * text.length());
        for (char unit : text.toCharArray()) bytes.putChar(unit);
        return bytes.array();
    }
}
"#;

/// Calls `with` with the command for the program in Java.
fn with_java(name: &str, with: impl FnOnce(&mut Command)) {
    let folder = std::env::temp_dir().join(format!("utf8-codec-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("Peer.java");
    std::fs::write(&source, JAVA).expect("a file");
    with(Command::new("java").arg(&source));
    std::fs::remove_dir_all(&folder).expect("its own folder");
}

#[test]
#[cfg_attr(not(has_java), ignore = "java is not installed")]
fn java_replaces_ill_formed_sequences() {
    const BYTES: [u8; 16] =
        [0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xE2, 0xED, 0xF0, 0xF4, 0xF5];
    let mut inputs = vec![Vec::new()];
    for len in 1..=4 {
        let longer = inputs.iter().filter(|input| input.len() == len - 1);
        inputs.extend(
            longer.flat_map(|input| BYTES.map(|byte| [&input[..], &[byte]].concat())).collect::<Vec<_>>(),
        );
    }
    // Java decodes the last bytes of an input in other branches.
    inputs.extend(inputs.clone().into_iter().map(|input| [&input[..], b"abcd"].concat()));
    let lines: Vec<String> = inputs.iter().map(|input| format!("replace {}", hex(input))).collect();
    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::ReplaceAsJava);
    with_java("replace", |java| {
        for (input, theirs) in inputs.iter().zip(ask(java, &lines)) {
            let ours = decoder.decode_whole(input).expect("every error is repaired");
            assert_eq!(Some(ours.as_bytes()), theirs.as_deref(), "{}", hex(input));
        }
    });
}

#[test]
#[cfg_attr(not(has_java), ignore = "java is not installed")]
fn java() {
    let conversions = [
        conversion("cesu-8", Encoding::Cesu8, Encoding::Utf16Be),
        conversion("to-cesu-8", Encoding::Utf8, Encoding::Cesu8),
        conversion("utf-16", Encoding::Utf16Le, Encoding::Utf8),
        conversion("windows-1252", Encoding::Windows1252, Encoding::Utf8),
        conversion("read-utf", Encoding::ModifiedUtf8, Encoding::Utf16Be),
        conversion("write-utf", Encoding::Utf8, Encoding::ModifiedUtf8),
    ];
    let is_known = |conversion: &Conversion, input: &[u8], error: Option<TranscodeError>| {
        match (conversion.operation, error) {
            // `DataInput.readUTF` accepts `00`, overlong forms and unpaired surrogates. RFC 2279 §2: "only one valid
            // way to encode a given UCS-4 character". Unicode C10: ill-formed code unit sequences are an error. Java's
            // own `writeUTF` writes neither `00` nor overlong forms. With `Switches`, `00` and surrogates are accepted
            // here too.
            ("read-utf", Some(error)) => match error.kind {
                ErrorKind::Overlong | ErrorKind::UnpairedSurrogate => true,
                ErrorKind::InvalidLead => input[error.offset as usize] == 0,
                ErrorKind::Truncated => input[error.offset as usize..].starts_with(b"\xED"),
                _ => false,
            },
            // The index of the WHATWG Encoding Standard has C1 controls where the table of Microsoft and Java has gaps.
            ("windows-1252", None) => input.iter().any(|it| matches!(it, 0x81 | 0x8D | 0x8F | 0x90 | 0x9D)),
            _ => false,
        }
    };
    with_java("convert", |java| compare(java, &conversions, is_known));
}

const PERL: &str = r#"
use strict;
use warnings;
no warnings qw(surrogate nonchar non_unicode portable);
while (my $line = <STDIN>) {
    chomp $line;
    my ($conversion, $hex) = split / /, $line, 2;
    my $bytes = pack("H*", $hex // "");
    if ($conversion eq "decode") {
        print utf8::decode($bytes) ? join("", map { sprintf "%08x", ord } split //, $bytes) : "!", "\n";
    } else {
        my $text = join "", map { chr } unpack "N*", $bytes;
        utf8::encode($text);
        print unpack("H*", $text), "\n";
    }
}
"#;

#[test]
#[cfg_attr(not(has_perl), ignore = "perl is not installed")]
fn perl_with_31_bits() {
    let mut rng = Rng::new(0x7FFF_FFFF);
    let decode = surrogates(Transcoder::new(Encoding::Utf8Ucs4, Encoding::Utf32Be));
    let encode = surrogates(Transcoder::new(Encoding::Utf32Be, Encoding::Utf8Ucs4));
    let mut cases = Vec::new();
    for case in 0..2 * CASES {
        let wide: Vec<u8> =
            (0..1 + case % 5).flat_map(|_| (rng.next() as u32 >> 1 >> rng.below(26)).to_be_bytes()).collect();
        let mut bytes = convert(encode.clone(), &wide).expect("31 bits");
        if case % 2 == 0 {
            let at = rng.below(bytes.len());
            bytes[at] = rng.next() as u8;
        }
        // Perl has longer sequences that start with FE and FF. Annex R.2 does not use these bytes.
        if !bytes.iter().any(|byte| *byte >= 0xFE) {
            cases.push((decode.clone(), format!("decode {}", hex(&bytes)), bytes));
        }
        cases.push((encode.clone(), format!("encode {}", hex(&wide)), wide));
    }
    let lines: Vec<_> = cases.iter().map(|(_, line, _)| line.clone()).collect();
    let answers = ask(Command::new("perl").args(["-e", PERL]), &lines);
    for ((transcoder, line, input), theirs) in cases.into_iter().zip(answers) {
        assert_eq!(convert(transcoder, &input).ok(), theirs, "{line}");
    }
}

const NODE: &str = r#"
const lines = require("node:fs").readFileSync(0, "latin1").trimEnd().split("\n");
const conversions = {
    "utf-8": ["utf-8", true], "utf-8-replace": ["utf-8", false],
    "utf-16le": ["utf-16le", true], "utf-16le-replace": ["utf-16le", false],
    "utf-16be": ["utf-16be", true], "utf-16be-replace": ["utf-16be", false],
};
const answers = lines.map((line) => {
    const [conversion, hex] = line.split(" ");
    const bytes = Buffer.from(hex ?? "", "hex");
    const [label, fatal] = conversions[conversion];
    try {
        return Buffer.from(new TextDecoder(label, { fatal, ignoreBOM: true }).decode(bytes), "utf-8").toString("hex");
    } catch (error) {
        return "!";
    }
});
process.stdout.write(answers.join("\n") + "\n");
"#;

#[test]
#[cfg_attr(not(has_node), ignore = "node is not installed")]
fn node() {
    let conversions = [
        conversion("utf-8", Encoding::Utf8, Encoding::Utf8),
        conversion("utf-8-replace", Encoding::Utf8, Encoding::Utf8).with(replace),
        conversion("utf-16le", Encoding::Utf16Le, Encoding::Utf8),
        conversion("utf-16le-replace", Encoding::Utf16Le, Encoding::Utf8).with(replace),
        conversion("utf-16be", Encoding::Utf16Be, Encoding::Utf8),
        conversion("utf-16be-replace", Encoding::Utf16Be, Encoding::Utf8).with(replace),
    ];
    compare(Command::new("node").args(["-e", NODE]), &conversions, |_, _, _| false);
}
