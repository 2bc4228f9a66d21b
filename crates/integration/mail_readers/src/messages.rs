//! Generates messages: trees of parts with a few changes. Readers are known to parse messages with such changes
//! differently.

use fastrand::Rng;

/// Boundaries. Some are a prefix of another.
const BOUNDARIES: [&str; 8] = ["b", "bb", "b--", "=_x", "x y", "b.1", "outer", "----=_Part_1"];
/// Boundaries that need no quotes.
const TOKENS: [&str; 4] = ["b", "bb", "b.1", "outer"];

/// Writes a message as pieces of lines, so that a change can be made between lines or inside a line.
struct Writer<'r> {
    rng: &'r mut Rng,
    line_break: &'static str,
    pieces: Vec<String>,
    boundaries: Vec<&'static str>,
    /// Whether the entity is an attached message.
    in_message: bool,
}

/// Returns a message. A `plain` message is one that a mail program may write; the others have one to four changes.
pub fn message(rng: &mut Rng, plain: bool) -> Vec<u8> {
    let line_break = if rng.bool() { "\r\n" } else { "\n" };
    let mut writer =
        Writer { rng, line_break, pieces: Vec::new(), boundaries: Vec::new(), in_message: false };
    writer.entity(0, plain);
    let Writer { rng, mut pieces, boundaries, .. } = writer;
    if !plain {
        for _ in 0..rng.usize(1..5) {
            change(rng, &mut pieces, &boundaries);
        }
    }
    pieces.concat().into_bytes()
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        self.pieces.push(text.to_owned());
        self.pieces.push(self.line_break.to_owned());
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(0..from.len())]
    }

    fn entity(&mut self, depth: usize, plain: bool) {
        if depth == 0 || self.rng.u8(0..3) == 0 {
            self.line("Subject: caf=C3=A9");
        }
        match self.rng.u8(0..10) {
            0..5 if depth < 4 => self.multipart(depth, plain),
            // No mail program writes a message whose whole body is another message.
            5 if depth > 0 && depth < 4 && !(plain && self.in_message) => {
                let outer = core::mem::replace(&mut self.in_message, true);
                let kind = self.pick(&["message/rfc822", "Message/RFC822", "message/rfc822; x=y"]);
                self.line(&format!("Content-Type: {kind}"));
                self.line("");
                self.entity(depth + 1, plain);
                self.in_message = outer;
            }
            _ => self.leaf(plain),
        }
    }

    fn leaf(&mut self, plain: bool) {
        const TYPES: &[&str] = &[
            "",
            "text/plain",
            "text/plain; charset=utf-8",
            "TEXT/HTML; charset=\"UTF-8\"",
            "text/plain; format=flowed; charset=us-ascii",
            "image/png",
            "application/octet-stream; name=x.bin",
        ];
        const ODD_TYPES: &[&str] = &[
            "text",
            "text/",
            "html",
            " ",
            "text; charset=utf-8",
            "text/plain; charset=",
            "text / plain",
            "text/plain (a comment)",
            "text/plain; charset",
            "text/plain; charset=utf-8 (a comment)",
            "text/plain; charset=utf-8; charset=latin1",
            "text/plain; charset=\"utf\\-8\"",
            "text/plain; charset='utf-8'",
            "text/plain; charset=utf-8 ; x",
            "text/plain; name=a b; charset=utf-8",
            "text/plain; name=\"a;charset=latin1\"; charset=utf-8",
            "text/plain; name=\"a\\\"; charset=latin1; \"; charset=utf-8",
            "text/plain; charset*=us-ascii'en'utf-8",
            "text/plain; charset*0=utf; charset*1=-8",
            "text/plain charset=utf-8",
            "text/plain, text/html; charset=utf-8",
            "text/plain;; charset=utf-8",
            "text/plain; charset =utf-8",
            "text/plain; charset=\"utf-8",
            "text/plain; charset=\"\"",
            "text/plain; charset=utf-8\u{a0}",
            "message/rfc822; charset=utf-8",
            "message/x-unknown",
        ];
        const ENCODINGS: &[&str] = &["", "", "8bit", "base64", "quoted-printable"];
        const ODD_ENCODINGS: &[&str] = &[
            "BASE64",
            "base64 (a comment)",
            "base64;",
            "\"base64\"",
            "x-uuencode",
            "base64 8bit",
            "quoted-printable\u{b}",
        ];
        let is_odd = !plain && self.rng.u8(0..4) == 0;
        let kind = self.pick(if is_odd { ODD_TYPES } else { TYPES });
        if !kind.is_empty() {
            self.line(&format!("Content-Type: {kind}"));
        }
        let is_odd = !plain && self.rng.u8(0..8) == 0;
        let encoding = self.pick(if is_odd { ODD_ENCODINGS } else { ENCODINGS });
        if !encoding.is_empty() {
            self.line(&format!("Content-Transfer-Encoding: {encoding}"));
        }
        self.line("");
        for _ in 0..self.rng.usize(0..4) {
            let text = match encoding {
                "base64" => self.pick(&["aGVsbG8=", "////", "7aCA"]),
                "quoted-printable" => self.pick(&["=ED=A0=80", "a=", "x"]),
                _ => self.pick(&["", "hello", "\u{e9}", "-", "--", "-- ", "> quoted", "a--c"]),
            };
            self.line(text);
        }
    }

    fn multipart(&mut self, depth: usize, plain: bool) {
        let boundary = if plain {
            // In a plain message no boundary is a prefix of another.
            ["outer", "=_x", "x y", "----=_Part_1", "b.1"][depth]
        } else {
            self.pick(&BOUNDARIES)
        };
        self.boundaries.push(boundary);
        let subtype = self.pick(&["mixed", "alternative", "related", "digest"]);
        let is_token = TOKENS.contains(&boundary);
        let value = match self.rng.u8(0..if plain { 4 } else { 12 }) {
            0 if is_token => format!("multipart/{subtype}; boundary={boundary}"),
            1 => format!("Multipart/{subtype}; charset=utf-8; Boundary=\"{boundary}\""),
            2 => format!("multipart/{subtype};{}\tboundary=\"{boundary}\"", self.line_break),
            3 => format!("multipart/{subtype}; boundary=\"{boundary}\";"),
            4 => format!("multipart/{subtype}; boundary={boundary}"),
            5 => format!("multipart/{subtype} (comment); boundary=\"{boundary}\""),
            6 => format!("multipart/{subtype}; boundary=\"{boundary}\" (comment)"),
            7 => format!("multipart/{subtype}; boundary*=us-ascii''{}", boundary.replace(' ', "%20")),
            8 => {
                let (one, two) = boundary.split_at(1);
                format!("multipart/{subtype}; boundary*0=\"{one}\"; boundary*1=\"{two}\"")
            }
            9 => format!("multipart/{subtype}; boundary = \"{boundary}\""),
            10 => format!("multipart/{subtype}; boundary=\"{boundary} \""),
            11 => format!(
                "multipart/{subtype}; boundary=\"{boundary}\"; boundary=\"{}\"",
                self.pick(&BOUNDARIES)
            ),
            _ => format!("multipart/{subtype}; boundary=\"{boundary}\""),
        };
        self.line(&format!("Content-Type: {value}"));
        self.line("");
        if self.rng.u8(0..3) == 0 {
            self.line("preamble");
        }
        let outer = core::mem::replace(&mut self.in_message, false);
        for _ in 0..self.rng.usize(1..4) {
            self.line(&format!("--{boundary}"));
            self.in_message = subtype == "digest" && (plain || self.rng.bool());
            if self.in_message {
                self.line("");
            }
            self.entity(depth + 1, plain);
            if plain {
                // Each header must end before the delimiter.
                self.line("");
            }
        }
        self.in_message = outer;
        self.line(&format!("--{boundary}--"));
        if self.rng.u8(0..3) == 0 {
            self.line("epilogue");
        }
    }
}

/// Makes one change.
fn change(rng: &mut Rng, pieces: &mut Vec<String>, boundaries: &[&str]) {
    const FRAGMENTS: &[&str] = &[
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        "\r\n\r\n",
        "\r\r\n",
        " ",
        "\t",
        "\x0b",
        "\x0c",
        "\x1c",
        "\0",
        "\u{85}",
        "\u{2028}",
        "-",
        "--",
        "x",
        ":",
        "a: b",
        "a : b",
        "\u{feff}",
        "From ",
        "Content-Type: text/plain",
        "Content-Type: multipart/mixed; boundary=b",
        "Content-Type: message/rfc822",
        "Content-Transfer-Encoding: base64",
        "=",
        "\"",
        ";",
    ];
    let boundary = if boundaries.is_empty() || rng.u8(0..4) == 0 {
        BOUNDARIES[rng.usize(0..BOUNDARIES.len())]
    } else {
        boundaries[rng.usize(0..boundaries.len())]
    };
    let at = rng.usize(0..=pieces.len());
    match rng.u8(0..10) {
        0..3 => pieces.insert(at, FRAGMENTS[rng.usize(0..FRAGMENTS.len())].to_owned()),
        3..6 => {
            let before = ["", "\n", "\r\n", "\r", "x", " ", "-", "\n>", "\x0b", "\n\0"][rng.usize(0..10)];
            let after = ["", "--", "-", " ", "\t ", "--\t", "\x0c", "--\x0c", "x", " x", "--x", "\r", "\0"]
                [rng.usize(0..13)];
            let end = ["\n", "\r\n", "\r", ""][rng.usize(0..4)];
            pieces.insert(at, format!("{before}--{boundary}{after}{end}"));
        }
        6 if at < pieces.len() => drop(pieces.remove(at)),
        7 if at < pieces.len() => pieces.insert(at, pieces[at].clone()),
        8 => {
            let (one, other) = (rng.usize(0..pieces.len()), rng.usize(0..pieces.len()));
            pieces.swap(one, other);
        }
        // Replaces a line break.
        _ => {
            let positions: Vec<_> =
                (0..pieces.len()).filter(|&i| matches!(&pieces[i][..], "\n" | "\r\n")).collect();
            let Some(&place) = positions.get(at % positions.len().max(1)) else { return };
            pieces[place] = ["\n", "\r\n", "\r", " \n", "\t\r\n"][rng.usize(0..5)].to_owned();
        }
    }
}
