//! Runs random sequences of operations on an adapter. After each operation the result is compared with a trivial model:
//! all bytes so far, decoded by std.
//!
//! An adapter implements [`Adapter`]; [`Machine`] runs it under `proptest-state-machine`, which reduces a failing
//! sequence to a short one.

use core::fmt::Debug;
use core::marker::PhantomData;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};
use utf8_codec::{Ascii, ErrorPolicy};

/// An operation of the caller or of the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The peer sends bytes, and they are decoded.
    Feed(Vec<u8>),
    /// Same as `Feed`, but the iterator is dropped after each piece.
    FeedPieces(Vec<u8>),
    /// The peer sends bytes, and the caller does not decode them yet, as if its task was cancelled.
    Hold(Vec<u8>),
    /// The stream ends. Adapters that can be used again start another stream.
    Finish,
    /// The caller copies the adapter.
    Snapshot,
    /// The caller restores the copy.
    Restore,
    /// The inner reader, writer, stream or body fails once.
    Fail,
    /// The caller decodes the bytes that have arrived.
    Poll,
    /// The caller moves the pending bytes to another buffer.
    Swap,
}

/// The output so far: text, and the offset and length of each error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub text: String,
    pub errors: Vec<(u64, u8)>,
}

/// All bytes so far.
#[derive(Clone, Debug)]
pub struct Model {
    pub policy: ErrorPolicy,
    pub streams: Streams,
    pub snapshot: Streams,
    /// Whether the stream has ended and cannot be resumed.
    pub is_closed: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// Streams that have ended. Offsets continue over all of them.
    pub ended: Vec<Vec<u8>>,
    /// The bytes of the current stream that were decoded.
    pub current: Vec<u8>,
    /// The bytes that were not decoded yet.
    pub held: Vec<u8>,
}

impl Model {
    /// Returns the text and the errors of all streams, and the bytes of an unfinished character.
    pub fn outcome(&self) -> (Outcome, Vec<u8>) {
        let (mut outcome, mut offset) = (Outcome::default(), 0);
        for stream in &self.streams.ended {
            self.decode(stream, offset, true, &mut outcome);
            offset += stream.len() as u64;
        }
        let pending = self.decode(&self.streams.current, offset, self.is_closed, &mut outcome);
        (outcome, pending)
    }

    /// Returns the outcome up to the first error, for adapters that end at an error.
    pub fn outcome_until_error(&self) -> Outcome {
        let (mut outcome, _) = self.outcome();
        if self.policy == ErrorPolicy::Strict && !outcome.errors.is_empty() {
            outcome.errors.truncate(1);
            outcome.text.truncate(outcome.errors[0].0 as usize);
        }
        outcome
    }

    pub fn offset(&self) -> u64 {
        let ended: usize = self.streams.ended.iter().map(Vec::len).sum();
        (ended + self.streams.current.len()) as u64
    }

    fn decode(&self, bytes: &[u8], offset: u64, has_ended: bool, outcome: &mut Outcome) -> Vec<u8> {
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            outcome.text.push_str(chunk.valid());
            at += chunk.valid().len();
            let invalid = chunk.invalid();
            let is_last = at + invalid.len() == bytes.len();
            let is_cut = str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if is_last && is_cut && !has_ended {
                return invalid.to_vec();
            }
            if !invalid.is_empty() {
                outcome.errors.push((offset + at as u64, invalid.len() as u8));
                outcome.text.push_str(&repair(self.policy, invalid));
            }
            at += invalid.len();
        }
        Vec::new()
    }
}

/// Returns the replacement of one ill-formed sequence.
pub fn repair(policy: ErrorPolicy, bytes: &[u8]) -> String {
    match policy {
        ErrorPolicy::Replace => "\u{FFFD}".into(),
        ErrorPolicy::ReplaceWith(character) => character.into(),
        ErrorPolicy::Substitute(_) => "?".repeat(bytes.len()),
        ErrorPolicy::Escape => bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect(),
        ErrorPolicy::Latin1 => bytes.iter().map(|&byte| char::from(byte)).collect(),
        _ => String::new(),
    }
}

const POLICIES: [ErrorPolicy; 7] = [
    ErrorPolicy::Strict,
    ErrorPolicy::Replace,
    ErrorPolicy::ReplaceWith('#'),
    ErrorPolicy::Substitute(Ascii::QUESTION_MARK),
    ErrorPolicy::Escape,
    ErrorPolicy::Latin1,
    ErrorPolicy::Skip,
];

/// Characters of every length, their parts, ill-formed sequences, and line terminators.
const PARTS: [&[u8]; 18] = [
    b"a",
    b"\n",
    b"\r",
    b"\r\n",
    b"plain text of some length, longer than a vector register is, so that fast paths are taken as well",
    b"\xC3\xA9",
    b"\xE2\x82\xAC",
    b"\xF0\x9F\xA6\x80",
    b"\xC3",
    b"\xE2\x82",
    b"\xF0\x9F\xA6",
    b"\xA9",
    b"\x80",
    b"\xED\xA0\x80",
    b"\xC0\xAF",
    b"\xF4\x90",
    b"\xEF\xBB\xBF",
    b"\xFF",
];

fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(select(&PARTS[..]), 0..5).prop_map(|parts| parts.concat())
}

/// An adapter and its output so far.
pub trait Adapter: Sized + Debug + 'static {
    /// The operations that the adapter supports.
    const OPERATIONS: &'static [Operation];
    /// Whether the end of the stream is final.
    const CLOSES: bool = false;

    fn new(policy: ErrorPolicy) -> Self;
    fn apply(&mut self, operation: &Operation);
    /// Compares the output so far with the model.
    fn check(&self, model: &Model);
}

/// An operation without its bytes, for [`Adapter::OPERATIONS`].
pub const FEED: Operation = Operation::Feed(Vec::new());
pub const FEED_PIECES: Operation = Operation::FeedPieces(Vec::new());
pub const HOLD: Operation = Operation::Hold(Vec::new());

/// The state machine of an adapter.
pub struct Machine<A>(PhantomData<A>);

impl<A: Adapter> ReferenceStateMachine for Machine<A> {
    type State = Model;
    type Transition = Operation;

    fn init_state() -> BoxedStrategy<Model> {
        let new = |policy| Model {
            policy,
            streams: Streams::default(),
            snapshot: Streams::default(),
            is_closed: false,
        };
        select(&POLICIES[..]).prop_map(new).boxed()
    }

    fn transitions(_: &Model) -> BoxedStrategy<Operation> {
        let operation = (select(A::OPERATIONS), some_bytes());
        operation
            .prop_map(|(operation, bytes)| match operation {
                Operation::Feed(_) => Operation::Feed(bytes),
                Operation::FeedPieces(_) => Operation::FeedPieces(bytes),
                Operation::Hold(_) => Operation::Hold(bytes),
                other => other,
            })
            .boxed()
    }

    fn preconditions(model: &Model, operation: &Operation) -> bool {
        !model.is_closed || *operation == Operation::Poll
    }

    fn apply(mut model: Model, operation: &Operation) -> Model {
        let streams = &mut model.streams;
        match operation {
            Operation::Feed(bytes) | Operation::FeedPieces(bytes) => {
                streams.current.append(&mut streams.held);
                streams.current.extend_from_slice(bytes);
            }
            Operation::Hold(bytes) => streams.held.extend_from_slice(bytes),
            Operation::Finish => {
                streams.current.append(&mut streams.held);
                if A::CLOSES {
                    model.is_closed = true;
                } else {
                    streams.ended.push(core::mem::take(&mut streams.current));
                }
            }
            Operation::Snapshot => model.snapshot = streams.clone(),
            Operation::Restore => model.streams = model.snapshot.clone(),
            Operation::Fail | Operation::Poll => streams.current.append(&mut streams.held),
            Operation::Swap => {}
        }
        model
    }
}

impl<A: Adapter> StateMachineTest for Machine<A> {
    type SystemUnderTest = A;
    type Reference = Self;

    fn init_test(model: &Model) -> A {
        A::new(model.policy)
    }

    fn apply(mut adapter: A, model: &Model, operation: Operation) -> A {
        adapter.apply(&operation);
        adapter.check(model);
        adapter
    }
}

/// Returns the configuration: `PROPTEST_CASES` sequences, 256 by default.
pub fn config() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}

/// One test for each adapter.
macro_rules! models {
    ($($name:ident: $adapter:ty,)*) => {
        $(
            proptest_state_machine::prop_state_machine! {
                #![proptest_config($crate::model::config())]
                #[test]
                fn $name(sequential 1..40 => Machine<$adapter>);
            }
        )*
    };
}

pub(crate) use models;
