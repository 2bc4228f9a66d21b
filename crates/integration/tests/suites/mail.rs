//! The messages of the suites: parts, errors and offsets.

use utf8_codec_mail::{MessageValidator, PartKind, PartVerdict};

use crate::cases::cases;
use crate::support::messages::{summary, validate, validate_chunks};

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn the_published_messages_have_the_expected_verdicts() {
    let cases = cases(|name| name == "realworld.jsonl");
    let mut seen = 0;
    for case in cases.iter().filter(|case| case.id.contains("/mail/")) {
        let message = case.chunks.concat();
        let verdict = validate(&message);
        assert_eq!(validate_chunks(&MessageValidator::new(), &case.slices()), verdict, "{}", case.id);
        let chess: Vec<_> = verdict.parts.iter().filter_map(|part| part.characters).collect();
        // In messages of parser tests, malformed syntax is reported and all text is still checked.
        if case.id.contains("thirdparty/003") {
            assert!(verdict.is_ok(), "{}", summary(&verdict));
            assert_eq!(chess, [34, 16, 16, 16, 16]);
        } else if case.id.contains("thirdparty/004") {
            let unknown = verdict.parts.iter().filter(|part| part.kind == PartKind::OtherText).count();
            assert_eq!((unknown, verdict.parts.len()), (6, 7), "none of these encodings exists");
        } else if case.id.contains("thirdparty/010") {
            // The semicolon before a parameter is missing.
            let offset = String::from_utf8_lossy(&message).rfind("comment=").unwrap();
            assert_eq!(
                summary(&verdict),
                format!("0 multipart/mixed MalformedContentType@{offset}\n1 text/plain")
            );
            assert_eq!(chess, [6]);
        } else if case.id.contains("malformed/021") {
            let kinds: Vec<_> =
                verdict.parts.iter().flat_map(PartVerdict::errors).map(|e| e.kind.as_str()).collect();
            assert_eq!(kinds[0], "ConflictingHeader");
            assert!(verdict.parts.iter().any(|part| part.content_type == "text/html" && part.is_ok()));
        } else {
            panic!("a case without an expectation: {}", case.id);
        }
        seen += 1;
    }
    assert!(seen >= 4);
}
