//! Compressed messages: `FrameFilter` and `FrameReader` return what a model reads from the whole stream, for every partition.

use utf8_codec::inflate::{Deflate, InflateError, Inflater};
use utf8_codec::{Ascii, ErrorKind, ErrorPolicy, TextDecoder, Utf8Error};
use utf8_codec_proxy::Edit;
use utf8_codec_proxy::websocket::{
    CompressionPolicy, FrameError, FrameErrorKind, FrameEvent, FrameFilter, FrameReader, FrameSender,
};

use crate::support::compression::{Receiver, Sender, message, message_with_last_block};
use crate::support::oracle;
use crate::support::websocket::{Error, Item, Rules, SENDERS, facts, frame, read};
use crate::support::{Rng, every_partition, some_partitions};

const KEY: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];

/// The first byte of the header of a frame, and its payload.
type Frame = (u8, Vec<u8>);

fn inflater() -> Inflater {
    Inflater::new(Deflate::permessage())
}

fn stream_of(frames: &[Frame], sender: FrameSender) -> Vec<u8> {
    let key = (sender == FrameSender::Client).then_some(KEY);
    frames.iter().flat_map(|(first, payload)| frame(*first, payload, key)).collect()
}

/// What is read of frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    /// Inflated and repaired.
    items: Vec<Item>,
    /// The text of the message that the frames end in, without a character that is not complete.
    unfinished: Vec<u8>,
    repaired: Vec<(u64, ErrorKind, u8)>,
    error: Option<Error>,
}

/// Reads frames that are well-formed. Plain text is well-formed, too.
fn model(frames: &[Frame], sender: FrameSender, substitute: Option<u8>) -> Model {
    let mut model = Model::default();
    let mut receiver = Receiver::new();
    let (mut wire, mut opcode, mut is_compressed, mut text) = (0, 0, false, Vec::new());
    let mut seen = 0;
    for (first, payload) in frames {
        let start = wire;
        wire += stream_of(&[(*first, payload.clone())], sender).len() as u64;
        if first & 8 != 0 {
            model.items.push((first & 0x7F, payload.clone()));
            continue;
        }
        if first & 15 != 0 {
            (opcode, is_compressed, seen) = (first & 15, first & 0x40 != 0, 0);
        }
        let is_final = first & 0x80 != 0;
        let mut kind = None;
        if is_compressed {
            if !receiver.read(payload, &mut text) {
                kind = Some(InflateError::Corrupt);
            } else if is_final && !receiver.finish() {
                kind = Some(InflateError::Truncated);
            }
        } else {
            text.extend_from_slice(payload);
        }
        let errors = if opcode == 1 { oracle::decode(&text).1 } else { Vec::new() };
        for (offset, error, len) in errors.into_iter().skip(seen) {
            let is_whole = is_final && kind.is_none();
            if error == ErrorKind::Truncated && !is_whole {
                break;
            }
            seen += 1;
            match substitute {
                Some(_) => model.repaired.push((start, error, len)),
                None => {
                    let kind = FrameErrorKind::Text(Utf8Error::new(offset, error, len));
                    model.error = Some((start, offset, kind));
                    return model;
                }
            }
        }
        if let Some(kind) = kind {
            model.error = Some((start, text.len() as u64, FrameErrorKind::Inflate(kind)));
            break;
        }
        if is_final {
            let mut text = core::mem::take(&mut text);
            repair(&mut text, opcode, substitute, true);
            model.items.push((opcode, text));
        }
    }
    repair(&mut text, opcode, substitute, false);
    model.unfinished = text;
    model
}

fn repair(text: &mut Vec<u8>, opcode: u8, substitute: Option<u8>, is_whole: bool) {
    let errors = if opcode == 1 { oracle::decode(text).1 } else { Vec::new() };
    for (offset, kind, len) in errors {
        if kind == ErrorKind::Truncated && !is_whole {
            text.truncate(offset as usize);
        } else if let Some(byte) = substitute {
            text[offset as usize..][..usize::from(len)].fill(byte);
        }
    }
}

fn check_filter(frames: &[Frame], sender: FrameSender, substitute: Option<u8>, slices: &[&[u8]]) {
    let expected = model(frames, sender, substitute);
    let mut filter = FrameFilter::new(sender).with_inflater(inflater());
    if let Some(byte) = substitute.and_then(Ascii::new) {
        filter = filter.with_substitute(byte);
    }
    let (mut forwarded, mut reported, mut result) = (Vec::new(), Vec::new(), Ok(()));
    for slice in slices {
        result = filter.feed_with(slice, |edit| match edit {
            Edit::Pass(range) => forwarded.extend_from_slice(&slice[range]),
            Edit::Insert(bytes) => forwarded.extend_from_slice(bytes),
            Edit::IllFormed(error) => reported.push((error.offset, error.kind, error.len)),
            edit => panic!("{edit:?}"),
        });
        let rules = Rules { compressed: substitute.is_none(), ..Rules::new(sender) };
        assert_eq!(read_plain(&forwarded, rules).1, forwarded.len(), "complete frames: {slices:02X?}");
    }
    assert_eq!(result.err().map(facts), expected.error, "{slices:02X?}");
    let rejected = match expected.error {
        Some((offset, _, FrameErrorKind::Text(error))) => Some((offset, error.kind, error.len)),
        _ => None,
    };
    let errors: Vec<_> = expected.repaired.iter().copied().chain(rejected).collect();
    assert_eq!(reported, errors, "{slices:02X?}");
    if substitute.is_some() {
        let again = read(&forwarded, Rules::new(sender));
        assert_eq!((again.items, again.error), (expected.items, None), "{slices:02X?}");
        assert_eq!(again.unfinished.unwrap_or_default().1, expected.unfinished, "{slices:02X?}");
    } else {
        // Messages that are complete pass as they are, compressed.
        let rules = Rules { compressed: true, ..Rules::new(sender) };
        let mut original = read_plain(&stream_of(frames, sender), rules).0;
        original.truncate(expected.items.len());
        assert_eq!(read_plain(&forwarded, rules).0, original, "{slices:02X?}");
    }
}

/// Returns messages and control frames without a look at their text, and the number of bytes that are complete frames.
fn read_plain(stream: &[u8], rules: Rules) -> (Vec<Item>, usize) {
    let (mut items, mut at) = (Vec::new(), 0);
    let mut message: Option<Item> = None;
    while at < stream.len() {
        // The model reads a frame that is alone, as binary data.
        let first = stream[at];
        let mut rest = stream[at..].to_vec();
        rest[0] = if first & 8 == 0 { 0x82 } else { first };
        let mut one = read(&rest, Rules { compressed: true, ..rules });
        let (Some(_), false) = (one.items.first(), one.error.is_some() && one.items.is_empty()) else {
            break;
        };
        let payload = one.items.remove(0).1;
        let key = (rules.sender == FrameSender::Client).then_some(KEY);
        at += frame(first, &payload, key).len();
        if first & 8 != 0 {
            items.push((first & 0x7F, payload));
            continue;
        }
        message.get_or_insert((first & 0x7F, Vec::new())).1.extend(payload);
        if first & 0x80 != 0 {
            items.extend(message.take());
        }
    }
    (items, at)
}

fn check_reader(frames: &[Frame], sender: FrameSender, substitute: Option<u8>, slices: &[&[u8]]) {
    let expected = model(frames, sender, substitute);
    let policy = substitute.and_then(Ascii::new).map_or(ErrorPolicy::Strict, ErrorPolicy::Substitute);
    let decoder = TextDecoder::new().with_error_policy(policy);
    let mut reader = FrameReader::with_decoder(sender, decoder).with_inflater(inflater());
    let mut got = Model::default();
    for slice in slices {
        for event in reader.feed(&mut slice.to_vec()) {
            match event {
                Ok(FrameEvent::Text(text)) => got.unfinished.extend_from_slice(text.as_bytes()),
                Ok(FrameEvent::InflatedText(text)) => got.unfinished.extend_from_slice(text.as_bytes()),
                Ok(FrameEvent::Seam(text) | FrameEvent::Repaired(text, _)) => {
                    got.unfinished.extend_from_slice(text.as_bytes());
                }
                Ok(FrameEvent::Binary(data)) => got.unfinished.extend_from_slice(data),
                Ok(FrameEvent::InflatedBinary(data)) => got.unfinished.extend_from_slice(&data),
                Ok(FrameEvent::End(opcode)) => {
                    got.items.push((opcode as u8, core::mem::take(&mut got.unfinished)));
                }
                Ok(FrameEvent::Ping(payload)) => got.items.push((9, payload.to_vec())),
                Ok(event) => panic!("{event:?}"),
                Err(error) => got.error = got.error.or(Some(facts(error))),
            }
        }
    }
    // What precedes an error in the text is not compared, nor where repairs are on the wire.
    let unfinished = if got.error.is_some() { got.unfinished.clone() } else { expected.unfinished };
    assert_eq!(got, Model { unfinished, repaired: Vec::new(), ..expected }, "{slices:02X?}");
}

fn check(frames: &[Frame], sender: FrameSender, slices: &[&[u8]]) {
    for substitute in [None, Some(b'?')] {
        check_filter(frames, sender, substitute, slices);
        check_reader(frames, sender, substitute, slices);
    }
}

/// Divides a message into frames, with control frames between them.
fn fragments(rng: &mut Rng, first: u8, payload: &[u8], frames: &mut Vec<Frame>) {
    let (mut first, mut rest) = (first, payload);
    while rng.below(3) > 0 {
        let (part, after) = rest.split_at(rng.below(rest.len() + 1));
        frames.push((first, part.to_vec()));
        (first, rest) = (0, after);
        if rng.below(4) == 0 {
            frames.push((0x89, b"ping".to_vec()));
        }
    }
    frames.push((first | 0x80, rest.to_vec()));
}

fn conversation(rng: &mut Rng, len: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut sender = Sender::new();
    for _ in 0..1 + rng.below(5) {
        let len = 1 + rng.below(len);
        let mut text = rng.dirty_text(len);
        if rng.below(4) > 0 {
            text = String::from_utf8_lossy(&text).into_owned().into_bytes();
        }
        let opcode = 1 + rng.below(2) as u8;
        let mut payload = match rng.below(5) {
            0 => {
                let text = String::from_utf8_lossy(&text).into_owned();
                fragments(rng, opcode, text.as_bytes(), &mut frames);
                continue;
            }
            1 => {
                sender = Sender::new();
                message_with_last_block(&text)
            }
            _ => sender.message(&text),
        };
        if rng.below(12) == 0 {
            let at = rng.below(payload.len());
            payload[at] ^= 1 << rng.below(8);
        }
        fragments(rng, 0x40 | opcode, &payload, &mut frames);
    }
    frames
}

#[test]
fn short_messages_have_one_result_for_every_partition() {
    let cut =
        |payload: Vec<u8>, at: usize| vec![(0x41, payload[..at].to_vec()), (0x80, payload[at..].to_vec())];
    for sender in SENDERS {
        for frames in [
            vec![(0xC1, message("é".as_bytes()))],
            vec![(0xC1, message(b"a\xFF"))],
            vec![(0xC1, message(b"\xE2\x82"))],
            vec![(0xC2, message(b"\xFF"))],
            vec![(0xC1, vec![0])],
            vec![(0xC1, vec![])],
            vec![(0xC1, vec![0xFF])],
            vec![(0xC1, message_with_last_block(b"a"))],
            vec![(0xC1, vec![0]), (0x81, b"a".to_vec())],
            cut(message("é".as_bytes()), 2),
            cut(message(b"a"), 0),
        ] {
            let stream = stream_of(&frames, sender);
            match stream.len() {
                0..=12 => every_partition(&stream, |slices| check(&frames, sender, slices)),
                _ => some_partitions(&stream, 30, |slices| check(&frames, sender, slices)),
            }
        }
    }
}

#[test]
fn conversations_have_one_result_for_random_partitions() {
    let mut rng = Rng::new(7692);
    let (mut errors, mut repaired) = (0, 0);
    for round in 0..60 {
        let sender = rng.pick(&SENDERS);
        let frames = conversation(&mut rng, 5 + 3 * round);
        let read = model(&frames, sender, Some(b'?'));
        errors += usize::from(read.error.is_some());
        repaired += read.repaired.len();
        let stream = stream_of(&frames, sender);
        if round % 5 == 0 {
            some_partitions(&stream, 3, |slices| check(&frames, sender, slices));
        }
        for size in [1, 5, 64, usize::MAX] {
            check(&frames, sender, &stream.chunks(size).collect::<Vec<_>>());
        }
    }
    assert!(errors > 3 && repaired > 20, "{errors} {repaired}");
}

#[test]
fn a_long_message_is_one_message() {
    let mut rng = Rng::new(7693);
    for len in [8190, 8192, 8193, 40_000] {
        let mut text: Vec<u8> = (0..len).map(|_| b'a' + rng.below(20) as u8).collect();
        text.splice(8189.., "é\u{20AC}".bytes().chain([0xE2, 0x82]));
        text.extend_from_slice(&"grün".as_bytes().repeat(1000));
        for sender in SENDERS {
            let mut frames = Vec::new();
            fragments(&mut rng, 0x41, &message(&text), &mut frames);
            let stream = stream_of(&frames, sender);
            for size in [7, 1000, usize::MAX] {
                check(&frames, sender, &stream.chunks(size).collect::<Vec<_>>());
            }
        }
    }
}

fn error_of(filter: &mut FrameFilter, frames: &[Frame]) -> Option<FrameError> {
    filter.feed_with(&stream_of(frames, FrameSender::Server), |_| {}).err()
}

#[test]
fn a_bomb_is_an_error_at_the_limit() {
    let bomb = message(&vec![b' '; 4 << 20]);
    assert!(bomb.len() < 5000);
    let limits = [
        (inflater(), 1 << 20, InflateError::Ratio(200)),
        (inflater().with_max_length(5000), 5000, InflateError::TooLong(5000)),
    ];
    for (inflater, limit, kind) in limits {
        for first in [0x81, 0x82] {
            let limit = if let InflateError::Ratio(ratio) = kind { limit + 4096 * ratio } else { limit };
            let mut filter = FrameFilter::new(FrameSender::Server).with_inflater(inflater.clone());
            let error = error_of(&mut filter, &[(0x89, vec![]), (first | 0x40, bomb.clone())]).unwrap();
            assert_eq!(facts(error), (2, limit, FrameErrorKind::Inflate(kind)));
            assert_eq!(error.close_code(), 1009);
            let mut reader = FrameReader::new(FrameSender::Server).with_inflater(inflater.clone());
            let mut stream = stream_of(&[(0x89, vec![]), (first | 0x40, bomb.clone())], FrameSender::Server);
            assert_eq!(reader.feed(&mut stream).find_map(Result::err), Some(error));
        }
    }
    // A message without an end has the same limit, and so has each message that has one.
    let mut filter = FrameFilter::new(FrameSender::Server).with_inflater(inflater().with_max_length(9999));
    let mut sender = Sender::new();
    for _ in 0..3 {
        assert_eq!(error_of(&mut filter, &[(0xC1, sender.message(&[b'x'; 9999]))]), None);
    }
    let endless = sender.message(&[b'x'; 300]);
    let mut result = error_of(&mut filter, &[(0x41, [&endless[..], &[0, 0, 0xFF, 0xFF]].concat())]);
    for _ in 0..100 {
        result = result.or(error_of(&mut filter, &[(0x00, [&endless[..], &[0, 0, 0xFF, 0xFF]].concat())]));
    }
    let error = result.unwrap();
    assert_eq!((error.message_offset, error.close_code()), (9999, 1009));
}

#[test]
fn the_window_is_kept_or_reset_as_the_handshake_says() {
    let mut sender = Sender::new();
    let texts = ["the same text as before", "the same text as before"];
    let frames = texts.map(|text| (0xC1, sender.message(text.as_bytes())));
    for (extensions, code) in [
        ("permessage-deflate", None),
        ("permessage-deflate; client_no_context_takeover", None),
        ("permessage-deflate; Server_No_Context_Takeover; server_max_window_bits=9", Some(1007)),
    ] {
        let policy = CompressionPolicy::Inflate.negotiated(extensions);
        assert_eq!(policy, CompressionPolicy::Inflate);
        let is_kept = FrameSender::Server.has_context_takeover(extensions);
        let deflate = Deflate::permessage().with_context_takeover(is_kept);
        let mut filter = FrameFilter::new(FrameSender::Server).with_inflater(Inflater::new(deflate));
        assert_eq!(error_of(&mut filter, &frames).map(|error| error.close_code()), code, "{extensions}");
    }
    // Binary messages are in the window, too.
    let mut filter = FrameFilter::new(FrameSender::Server).with_inflater(inflater());
    let mut sender = Sender::new();
    let binary = (0xC2, sender.message(b"\xFF\xFE\xFD some data\xFF\xFE\xFD"));
    let text = (0xC1, sender.message(b"some data, some data"));
    assert_eq!(error_of(&mut filter, &[binary, text]), None);
}

#[test]
fn compressed_messages_are_errors_unless_there_is_an_inflater() {
    let frames = [(0xC1, message(b"a"))];
    let with = |policy| FrameFilter::new(FrameSender::Server).with_compression(policy);
    for (mut filter, passes) in [
        (with(CompressionPolicy::Remove), false),
        (with(CompressionPolicy::Inflate), false),
        (with(CompressionPolicy::Pass), true),
        (with(CompressionPolicy::Remove).with_inflater(inflater()), true),
        (with(CompressionPolicy::Inflate).with_inflater(inflater()), true),
        (
            with(CompressionPolicy::Pass)
                .with_inflater(inflater())
                .with_compression(CompressionPolicy::Remove),
            false,
        ),
    ] {
        assert_eq!(error_of(&mut filter, &frames).is_none(), passes, "{filter:?}");
    }
    // RSV1 is only on the first frame, and never on a control frame.
    for frames in [vec![(0x41, vec![0]), (0xC0, vec![])], vec![(0xC9, vec![])]] {
        let mut filter = FrameFilter::new(FrameSender::Server).with_inflater(inflater());
        assert!(matches!(error_of(&mut filter, &frames).unwrap().kind, FrameErrorKind::ReservedBit));
    }
}

#[test]
fn another_stream_starts_with_an_empty_window() {
    let mut sender = Sender::new();
    let (first, second) = (sender.message(b"some secret text"), sender.message(b"some secret text"));
    let mut filter = FrameFilter::new(FrameSender::Server).with_inflater(inflater());
    let mut reader = FrameReader::new(FrameSender::Server).with_inflater(inflater());
    let frames = |payload: &[u8]| stream_of(&[(0xC1, payload.to_vec())], FrameSender::Server);
    for _ in 0..2 {
        assert_eq!(filter.feed_with(&frames(&first), |_| {}), Ok(()));
        assert_eq!(reader.feed(&mut frames(&first)).filter(Result::is_err).count(), 0);
        // Inside a message, of which some bytes are held.
        assert_eq!(filter.feed_with(&frames(&second)[..4], |_| {}), Ok(()));
        reader.feed(&mut frames(&second)[..4]).for_each(drop);
        assert!(!format!("{filter:?} {reader:?}").contains("secret"));
        let truncated = (first.len() as u64 + 6, 2, FrameErrorKind::Truncated);
        assert_eq!(filter.finish().map_err(facts), Err(truncated));
        assert_eq!(reader.finish().map_err(facts), Err(truncated));
    }
    let corrupt = Some(FrameErrorKind::Inflate(InflateError::Corrupt));
    assert_eq!(filter.feed_with(&frames(&second), |_| {}).err().map(|error| error.kind), corrupt);
    assert_eq!(reader.feed(&mut frames(&second)).find_map(Result::err).map(|error| error.kind), corrupt);
}
