//! `multipart/form-data`: text fields are checked and files are not, for every partition.

mod fields;
mod structure;
mod text;

use futures::executor::block_on;
use http_body::Body as _;
use http_body_util::BodyExt;
use utf8_codec_http::{BodyRules, RejectReason, Utf8Body};

use crate::support::bodies::{EndHint, Script};
use crate::support::some_partitions;

const BOUNDARY: &[u8] = b"--=_b--";

/// A part: the parameters after `form-data` in its `Content-Disposition`, its other fields, its content.
type Part<'p> = (&'p str, &'p str, &'p [u8]);

fn form(parts: &[Part<'_>]) -> Vec<u8> {
    let mut form = Vec::new();
    for (parameters, fields, content) in parts {
        form.extend_from_slice(&[b"--", BOUNDARY, b"\r\n"].concat());
        form.extend_from_slice(
            format!("Content-Disposition: form-data{parameters}\r\n{fields}\r\n").as_bytes(),
        );
        form.extend_from_slice(content);
        form.extend_from_slice(b"\r\n");
    }
    form.extend_from_slice(&[b"--", BOUNDARY, b"--\r\n"].concat());
    form
}

/// Returns the bytes before the end or the error, and the error.
fn check(chunks: &[&[u8]], end_hint: EndHint, rules: &BodyRules) -> (Vec<u8>, Option<RejectReason>) {
    let mut body = Utf8Body::form_data(Script::of(chunks, end_hint), BOUNDARY, rules).expect("a boundary");
    let (mut out, mut hints) = (Vec::new(), Vec::new());
    loop {
        hints.push((out.len(), body.size_hint()));
        let ended = body.is_end_stream();
        let Some(frame) = block_on(body.frame()) else { break };
        assert!(!ended, "a frame after the end");
        match frame {
            Ok(frame) => out.extend_from_slice(&frame.into_data().expect("data")),
            Err(error) => {
                assert!(block_on(body.frame()).is_none(), "the body is fused");
                return (out, error.downcast().ok().map(|error| *error));
            }
        }
    }
    for (before, hint) in hints {
        let len = (out.len() - before) as u64;
        assert!(hint.lower() <= len && hint.upper().is_none_or(|upper| len <= upper), "{hint:?} for {len}");
    }
    (out, None)
}

/// Same as [`check`], and asserts that the result is the same for every partition.
fn check_all(form: &[u8], rules: &BodyRules) -> (Vec<u8>, Option<RejectReason>) {
    let whole = check(&[form], EndHint::Nothing, rules);
    let mut end_hints = EndHint::ALL.into_iter().cycle();
    some_partitions(form, 10, |chunks| {
        let end_hint = end_hints.next().expect("there is always one more");
        let cut = check(chunks, end_hint, rules);
        let ways = || format!("{} chunks, the first of {}, {end_hint:?}", chunks.len(), chunks[0].len());
        assert_eq!(format!("{:?}", cut.1), format!("{:?}", whole.1), "{}", ways());
        assert!(cut.0 == whole.0, "{}:\n{}\n{}", ways(), cut.0.escape_ascii(), whole.0.escape_ascii());
    });
    whole
}

fn passes(form: &[u8], rules: &BodyRules) {
    let (out, error) = check_all(form, rules);
    assert!(error.is_none(), "{error:?}");
    assert!(out == form, "a well-formed form is unchanged");
}

/// Returns the offset of `needle` in `form`.
fn find(form: &[u8], needle: &[u8]) -> u64 {
    form.windows(needle.len()).position(|window| window == needle).expect("it is there") as u64
}
