//! `Filter` and `LineFilter` forward the text of the decoder, for every partition into slices.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use utf8_codec::{LineEnding, Utf8Error};
use utf8_codec_fuzz::{Input, decode_until_error};
use utf8_codec_proxy::{Edit, Filter, LineFilter, RejectedLine};

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (chunks, decoder) = (input.chunks(), input.decoder());
    let (text, error) = decode_until_error(decoder.clone(), input.bytes);

    let mut filter = Filter::with_decoder(decoder.clone());
    let mut forwarded = Vec::new();
    let mut result = Ok(());
    for chunk in &chunks {
        result = filter.feed_with(chunk, |edit| apply(edit, chunk, &mut forwarded));
    }
    if result.is_ok() {
        result = filter.finish_with(|edit| apply(edit, &[], &mut forwarded));
    }
    assert_eq!(forwarded, text.as_bytes());
    assert_eq!(result.err(), error);

    // Tests the hook that replaces chunks.
    let (mut filter, mut hooked) = (Filter::with_decoder(decoder.clone()), Vec::new());
    for chunk in &chunks {
        let mut body = Some(Bytes::copy_from_slice(chunk));
        let _ = filter.rewrite(&mut body, false);
        hooked.extend_from_slice(&body.expect("`None` ends a body"));
    }
    let mut body = None;
    let _ = filter.rewrite(&mut body, true);
    hooked.extend_from_slice(&body.unwrap_or_default());
    assert_eq!(hooked, forwarded);

    let lines = LineFilter::with_decoder(decoder).with_max_length(input.pick(5, &[0, 1, 7, 60, usize::MAX]));
    let lines = lines.with_stop_at_error(input.pick(6, &[false, true]));
    let lines = lines.with_line_ending(input.pick(7, LineEnding::ALL));
    assert_eq!(by_lines(lines.clone(), &chunks), by_lines(lines, &[input.bytes]));
});

fn apply(edit: Edit<'_>, slice: &[u8], forwarded: &mut Vec<u8>) {
    match edit {
        Edit::Pass(range) => forwarded.extend_from_slice(&slice[range]),
        Edit::Insert(bytes) => forwarded.extend_from_slice(bytes),
        _ => {}
    }
}

fn by_lines(mut filter: LineFilter, chunks: &[&[u8]]) -> (Vec<u8>, Vec<RejectedLine>, Vec<Utf8Error>) {
    let (mut forwarded, mut rejected, mut errors, mut checked) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for chunk in chunks.iter().copied().map(Some).chain([None]) {
        let edit = |edit: Edit<'_>| match edit {
            Edit::LineRejected(line) => rejected.push(line),
            Edit::IllFormed(error) => errors.push(error),
            edit => apply(edit, chunk.unwrap_or_default(), &mut forwarded),
        };
        let result = match chunk {
            Some(chunk) => filter.feed_with(chunk, edit),
            None => filter.finish_with(edit),
        };
        assert!(core::str::from_utf8(&forwarded[checked..]).is_ok(), "whole characters only");
        checked = forwarded.len();
        if let Err(line) = result {
            assert_eq!(rejected.last(), Some(&line));
            break;
        }
    }
    (forwarded, rejected, errors)
}
