//! Code of the caller may panic or violate its contract during a call. Even then no `String` or `str` may contain
//! unchecked bytes.
//!
//! A `tracing` subscriber runs at every event. The caller may catch its panic and still use the output.

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::panic::catch_unwind;
use std::sync::Once;

use tracing::span;
use utf8_codec::{BomPolicy, ErrorPolicy, Subset, TextDecoder};

/// A subscriber that panics at one event, or at every event from one on.
struct Panics {
    /// The number of events before the first panic.
    first: usize,
    once: bool,
    events: AtomicUsize,
}

/// The message of the panics of [`Panics`], to distinguish them from other panics.
const MESSAGE: &str = "the subscriber panics";

impl tracing::Subscriber for Panics {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        let events = self.events.fetch_add(1, Ordering::Relaxed);
        if events == self.first || events > self.first && !self.once {
            panic!("{MESSAGE}");
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Runs `case` under subscribers that panic at event n, or at every event from n on, for n = 0, 1, 2, until none of
/// them panics. `case` calls its argument for each attempt, which may panic.
fn at_every_event(mut case: impl FnMut(&mut dyn FnMut(&mut dyn FnMut()) -> bool)) {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<String>().map(String::as_str) != Some(MESSAGE) {
                hook(info);
            }
        }));
        // `tracing` caches which events are enabled. Without a global subscriber, an event that another thread reaches
        // first, between two subscribers, would be disabled for all threads.
        let never = Panics { first: usize::MAX, once: true, events: AtomicUsize::new(0) };
        tracing::subscriber::set_global_default(never).expect("the only global subscriber");
    });
    for once in [true, false] {
        for first in 0..200 {
            let mut panics = 0;
            let subscriber = Panics { first, once, events: AtomicUsize::new(0) };
            tracing::subscriber::with_default(subscriber, || {
                case(&mut |attempt| match catch_unwind(AssertUnwindSafe(attempt)) {
                    Ok(()) => true,
                    Err(panic) => {
                        assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some(MESSAGE));
                        panics += 1;
                        false
                    }
                });
            });
            if panics == 0 {
                assert!(first > 0, "no event occurred, so nothing was tested");
                break;
            }
        }
    }
}

/// Checks the bytes of the text again, because the type `str` proves nothing in these tests.
fn assert_is_text(text: &str) {
    assert!(core::str::from_utf8(text.as_bytes()).is_ok(), "{:02X?}", text.as_bytes());
}

/// Errors of every kind, far apart and close together, with enough text between them for a kernel to process in bulk.
fn ill_formed_input() -> Vec<u8> {
    let mut bytes = Vec::new();
    for bad in [&b"\xFF"[..], b"\xE2\x82", b"\xC0\x80", b"\xED\xA0\x80", b"\x80\x80\xF5"] {
        bytes.extend_from_slice(
            "plain ASCII, longer than a vector; Ещё немного кириллицы, 漢字 и 💩💩💩💩.\n".as_bytes(),
        );
        bytes.extend_from_slice(bad);
        bytes.extend_from_slice("да\n".as_bytes());
    }
    bytes.extend_from_slice(b"\xF0\x9F");
    bytes
}

const POLICIES: [ErrorPolicy; 4] =
    [ErrorPolicy::Strict, ErrorPolicy::Replace, ErrorPolicy::Windows1252, ErrorPolicy::Skip];

fn decoders() -> impl Iterator<Item = TextDecoder> {
    let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    let more = [replace.clone().with_bom_policy(BomPolicy::Require), replace.with_subset(&Subset::BMP)];
    POLICIES.map(|policy| TextDecoder::new().with_error_policy(policy)).into_iter().chain(more)
}

#[test]
fn feed_into_leaves_valid_utf8() {
    let input = ill_formed_input();
    for decoder in decoders() {
        at_every_event(|attempt| {
            let (mut decoder, mut text) = (decoder.clone(), String::from("before "));
            // There are more attempts than errors.
            for _ in 0..32 {
                let from = decoder.offset() as usize;
                let mut done = false;
                attempt(&mut || done = decoder.feed_into(&input[from..], &mut text).is_ok());
                assert!(text.starts_with("before "));
                assert_is_text(&text);
                if done {
                    break;
                }
            }
            attempt(&mut || _ = decoder.finish());
            assert_is_text(&text);
        });
    }
}

#[test]
fn borrowed_text_is_valid_utf8() {
    let input = ill_formed_input();
    for decoder in decoders() {
        at_every_event(|attempt| {
            let mut decoder = decoder.clone();
            for chunk in input.chunks(7) {
                attempt(&mut || {
                    for piece in decoder.feed(chunk) {
                        assert_is_text(piece.text().unwrap_or_default());
                    }
                });
            }
            attempt(&mut || _ = decoder.finish());
        });
    }
}

mod transcoder {
    use core::fmt::Debug;

    use utf8_codec_encodings::{Encoding, Output, Transcoder};

    use super::*;

    /// Returns the same text in another encoding, with some unpaired surrogates.
    fn input(encoding: Encoding) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut to = Transcoder::new(Encoding::Utf8, encoding).with_error_policy(ErrorPolicy::Escape);
        to.feed_into(&ill_formed_input(), &mut bytes).expect("repaired");
        let unpaired: &[u8] = match encoding {
            Encoding::Utf16Le => b"\x01\xD8",
            Encoding::Utf16Be => b"\xD8\x01",
            _ => b"\xFE\xFF\xFF\xFF",
        };
        for at in [0, 400, 100, 160] {
            bytes.splice(at..at, unpaired.iter().copied());
        }
        bytes
    }

    /// Repeats each attempt that panicked. Returns the output if no subscriber panics more than once.
    fn transcode<O: Output + Default + Clone + PartialEq + Debug>(
        mut transcoder: Transcoder,
        input: &[u8],
        check: impl Fn(&O),
        attempt: &mut dyn FnMut(&mut dyn FnMut()) -> bool,
    ) -> O {
        let mut out = O::default();
        let mut ended = false;
        // The loop is bounded, because nothing is consumed if every attempt panics.
        for _ in 0..40 {
            let (from, before, mut result) = (transcoder.offset() as usize, out.clone(), Ok(()));
            let returned = attempt(&mut || {
                result = transcoder.feed_into(&input[from..], &mut out).and_then(|()| {
                    ended = true;
                    transcoder.finish_into(&mut out)
                });
            });
            check(&out);
            if !returned && !ended {
                assert_eq!((transcoder.offset() as usize, &out), (from, &before), "a panic changes nothing");
            }
            if returned && ended && result.is_ok() {
                break;
            }
        }
        out
    }

    #[test]
    fn a_panic_changes_neither_a_transcoder_nor_its_output() {
        for from in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Cesu8]
        {
            let input = if from == Encoding::Utf8 { ill_formed_input() } else { input(from) };
            for policy in POLICIES {
                let transcoder = Transcoder::new(from, Encoding::Utf8)
                    .with_error_policy(policy)
                    .with_bom_policy(BomPolicy::Require);
                let expected: String = transcode(transcoder.clone(), &input, |_| {}, &mut |attempt| {
                    attempt();
                    true
                });
                at_every_event(|attempt| {
                    let text =
                        transcode(transcoder.clone(), &input, |text: &String| assert_is_text(text), attempt);
                    assert!(expected.starts_with(&text), "{text:?}");
                });
                at_every_event(|attempt| {
                    let bytes: Vec<u8> = transcode(transcoder.clone(), &input, |_| {}, attempt);
                    assert!(expected.as_bytes().starts_with(&bytes), "{bytes:02X?}");
                });
            }
        }
    }
}
