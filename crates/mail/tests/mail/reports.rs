//! Messages from reports of mail libraries.

use crate::support::messages::{summary, validate};

#[test]
fn messages_from_reports_have_the_expected_verdicts() {
    const UTF_8: &str =
        "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\nw6k=\r\n";
    let subject = |word: &str| format!("Subject: {word}\r\n\r\nx\r\n");
    let base64 = |content_type: &str, body: &str| {
        format!("Content-Type: {content_type}\r\nContent-Transfer-Encoding: base64\r\n\r\n{body}\r\n")
    };
    let disposition = |filename: &str| {
        format!(
            "Content-Disposition: attachment; {filename}\r\nContent-Type: application/pdf\r\n\
             Content-Transfer-Encoding: base64\r\n\r\nAAAA\r\n"
        )
    };
    let eight_bit = "Content-Type: text/plain; charset=\"\"\r\nContent-Transfer-Encoding: 8bit\r\n\r\ncaf";
    for (report, message, expected) in [
        // 211: RFC 5322 section 2.2.3 unfolds a field before its words are decoded.
        (
            "mimelib#32, go-message#54, mailparser#146",
            subject("=?utf-8?Q?a\r\n =FF?=").into_bytes(),
            "bad 1 text/plain InvalidLead@23",
        ),
        (
            "the same in base64",
            subject("=?utf-8?B?YWL/\r\n w6k=?=").into_bytes(),
            "bad 1 text/plain InvalidLead@21",
        ),
        // 252: RFC 2045 section 5.2.
        (
            "imbox#177",
            [eight_bit.as_bytes(), b"\xE9\r\n"].concat(),
            "bad 1 text/plain MissingContinuation@@ IncompleteContentType@13",
        ),
        (
            "the same without an error",
            [eight_bit.as_bytes(), b"\xC3\xA9\r\n"].concat(),
            "good 1 text/plain IncompleteContentType@13",
        ),
        // 264.
        (
            "cpython#87696, listmonk#2959, getmail6#273, PyMISP#624",
            format!("\u{feff}Subject: x\r\n{UTF_8}").into_bytes(),
            "good 1 text/plain ByteOrderMark@0",
        ),
        // 265: RFC 5322 section 4.5.
        (
            "thunderbird-android#1976, cpython#93158",
            format!("Subject : x\r\n{UTF_8}").into_bytes(),
            "good 1 text/plain SpaceBeforeColon@7",
        ),
        (
            "the same for a type that hides the body",
            b"Content-Type : text/plain; charset=iso-8859-1\r\n\r\n\xFF\r\n".to_vec(),
            "bad 1 text/plain AmbiguousHeader@12 SpaceBeforeColon@12",
        ),
        (
            "the same for a multipart with a binary part",
            [
                &b"Content-Type : multipart/mixed; boundary=b\r\n\r\n--b\r\n"[..],
                b"Content-Type: image/png\r\n\r\n\xFF\r\n--b--\r\n",
            ]
            .concat(),
            "bad 0 multipart/mixed AmbiguousHeader@12 SpaceBeforeColon@12",
        ),
        (
            "the same after a BOM",
            b"\xEF\xBB\xBFContent-Type: image/png\r\n\r\n\xFF".to_vec(),
            "bad 1 image/png AmbiguousHeader@0 ByteOrderMark@0",
        ),
        // 269: RFC 2231 section 4.
        (
            "stalwart mail-parser#154",
            disposition("filename*=UTF-8''caf%FF.pdf").into_bytes(),
            "bad 1 application/pdf InvalidLead@53",
        ),
        (
            "the same in quotes",
            disposition("filename*=\"UTF-8''caf%FF.pdf\"").into_bytes(),
            "bad 1 application/pdf InvalidLead@54",
        ),
        (
            "the same in sections",
            disposition("filename*0*=UTF-8''caf;\r\n filename*1*=%FF.pdf").into_bytes(),
            "bad 1 application/pdf InvalidLead@71",
        ),
        // 286: RFC 2045 section 5.2.
        (
            "mikel/mail#3, MailSystem.NET#15",
            base64("text", "aGk=").into_bytes(),
            "good 1 text/plain IncompleteContentType@13",
        ),
        // 290, 296, 298: the aliases of US-ASCII in IANA's registry.
        (
            "mailparser#99, cron",
            base64("text/plain; charset=ANSI_X3.4-1968", "/w==").into_bytes(),
            "bad 1 text/plain InvalidLead@87",
        ),
        (
            "mailparser#99",
            base64("text/plain; charset=iso-ir-6", "/w==").into_bytes(),
            "bad 1 text/plain InvalidLead@81",
        ),
        (
            "mailparser#99",
            base64("text/plain; charset=csASCII", "/w==").into_bytes(),
            "bad 1 text/plain InvalidLead@80",
        ),
        // 292: the lines of a calendar are not unfolded, so a fold inside a character is an error.
        (
            "icalendar#238, libical#427",
            base64("text/calendar; charset=utf-8; method=REQUEST", "U1VNTUFSWTpjYWbDDQogqQ0K").into_bytes(),
            "bad 1 text/calendar MissingContinuation@111 UnexpectedContinuation@117",
        ),
        // 293: a word in US-ASCII, as a body is.
        (
            "mailparser#99, mikel/mail#1007",
            subject("=?us-ascii?Q?caf=FF?=").into_bytes(),
            "bad 1 text/plain InvalidLead@25",
        ),
        // 294: Python reads this label as UTF-8.
        ("mailparser#99", subject("=?utf_8?Q?caf=FF?=").into_bytes(), "bad 1 text/plain InvalidLead@22"),
    ] {
        // `@@`: the byte before the last line break.
        let expected = expected.replace("@@", &format!("@{}", message.len().saturating_sub(3)));
        let verdict = validate(&message);
        let word = if verdict.is_ok() { "good" } else { "bad" };
        assert_eq!(format!("{word} {}", summary(&verdict)), expected, "{report}: {}", message.escape_ascii());
    }
}
