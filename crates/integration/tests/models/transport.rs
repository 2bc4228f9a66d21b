//! The stream, the reader, the writer and the HTTP body, with inner transports that are pending, fail and end.

use core::cell::RefCell;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;

use crate::model::Operation::{self, Fail, Finish};
use crate::model::{Adapter, FEED, HOLD, Machine, Model, Outcome, models};
use bytes::Bytes;
use futures::Stream;
use http_body::{Body, Frame};
use utf8_codec::io::{Utf8Reader, Utf8Writer};
use utf8_codec::stream::Utf8Stream;
use utf8_codec::{ErrorPolicy, TextDecoder, Utf8Error};
use utf8_codec_http::{RejectReason, Utf8Body};

models! {
    utf8_stream: Streamed,
    utf8_body: Received,
    utf8_reader: ReadText,
    utf8_writer: Written,
}

/// The bytes that the peer has sent, shared with the test. If it is empty, the transport is not ready.
#[derive(Clone, Debug, Default)]
struct Transport(Rc<RefCell<VecDeque<Event>>>);

#[derive(Clone, Debug)]
enum Event {
    Bytes(Bytes),
    Failed,
    Ended,
}

impl Transport {
    fn send(&self, operation: &Operation) {
        let event = match operation {
            Operation::Feed(bytes) | Operation::Hold(bytes) => Event::Bytes(Bytes::copy_from_slice(bytes)),
            Fail => Event::Failed,
            Finish => Event::Ended,
            _ => return,
        };
        self.0.borrow_mut().push_back(event);
    }

    fn next(&self) -> Poll<Option<io::Result<Bytes>>> {
        match self.0.borrow_mut().pop_front() {
            None => Poll::Pending,
            Some(Event::Bytes(bytes)) => Poll::Ready(Some(Ok(bytes))),
            Some(Event::Failed) => Poll::Ready(Some(Err(ErrorKind::TimedOut.into()))),
            Some(Event::Ended) => Poll::Ready(None),
        }
    }
}

impl Stream for Transport {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.next()
    }
}

impl Body for Transport {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.next().map_ok(Frame::data)
    }
}

impl Read for Transport {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.next() {
            Poll::Pending => Err(ErrorKind::WouldBlock.into()),
            Poll::Ready(None) => Ok(0),
            Poll::Ready(Some(Err(error))) => Err(error),
            // A read of 0 bytes would mean the end.
            Poll::Ready(Some(Ok(bytes))) if bytes.is_empty() => Err(ErrorKind::Interrupted.into()),
            Poll::Ready(Some(Ok(mut bytes))) => {
                let head = bytes.split_to(bytes.len().min(buf.len()).min(3));
                if !bytes.is_empty() {
                    self.0.borrow_mut().push_front(Event::Bytes(bytes));
                }
                buf[..head.len()].copy_from_slice(&head);
                Ok(head.len())
            }
        }
    }
}

/// An adapter, its transport, and its output so far.
#[derive(Debug)]
struct Over<A> {
    adapter: A,
    transport: Transport,
    outcome: Outcome,
    /// The numbers of failures sent and received.
    failures: (usize, usize),
    /// Whether nothing was sent since the last failure.
    has_failed: bool,
    has_ended: bool,
}

const OPERATIONS: &[Operation] = &[FEED, FEED, HOLD, Fail, Finish, Operation::Poll];

impl<A> Over<A> {
    fn new(make: impl FnOnce(Transport) -> A) -> Self {
        let transport = Transport::default();
        let adapter = make(transport.clone());
        Self {
            adapter,
            transport,
            outcome: Outcome::default(),
            failures: (0, 0),
            has_failed: false,
            has_ended: false,
        }
    }

    /// Applies the operation to the input, then polls until nothing is ready.
    fn run(
        &mut self,
        operation: &Operation,
        mut poll: impl FnMut(&mut A) -> Poll<Option<io::Result<Bytes>>>,
    ) {
        self.transport.send(operation);
        self.failures.0 += usize::from(*operation == Fail);
        self.has_failed = match operation {
            Fail => true,
            Finish | Operation::Poll => self.has_failed,
            _ => false,
        };
        if matches!(operation, Operation::Hold(_)) {
            return;
        }
        loop {
            match poll(&mut self.adapter) {
                Poll::Pending => break,
                Poll::Ready(None) => {
                    self.has_ended = true;
                    break;
                }
                Poll::Ready(Some(item)) => {
                    assert!(!self.has_ended, "an item after the end");
                    match item {
                        Ok(text) => {
                            self.outcome
                                .text
                                .push_str(core::str::from_utf8(&text).expect("whole characters"));
                        }
                        Err(error) => match Utf8Error::find(&error) {
                            Some(error) => self.outcome.errors.push((error.offset, error.len)),
                            None => self.failures.1 += 1,
                        },
                    }
                }
            }
        }
    }

    fn check(&self, model: &Model, hides_truncation: bool) {
        // The bytes in the transport have not been decoded.
        if self.transport.0.borrow().iter().any(|event| matches!(event, Event::Bytes(_))) && !self.has_ended {
            return;
        }
        let mut open = model.clone();
        open.is_closed &= !(hides_truncation && self.has_failed && model.policy == ErrorPolicy::Strict);
        let mut expected = open.outcome_until_error();
        let is_rejected = model.policy == ErrorPolicy::Strict && !expected.errors.is_empty();
        if model.policy != ErrorPolicy::Strict {
            expected.errors.clear();
        }
        assert_eq!(self.outcome, expected);
        assert_eq!(self.has_ended, model.is_closed || is_rejected);
        if !is_rejected {
            assert_eq!(self.failures.0, self.failures.1);
        }
    }
}

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

macro_rules! adapter {
    ($name:ty, $operations:expr, $hides_truncation:expr, $new:expr, $poll:expr) => {
        impl Adapter for $name {
            const OPERATIONS: &'static [Operation] = $operations;
            const CLOSES: bool = true;

            fn new(policy: ErrorPolicy) -> Self {
                let decoder = TextDecoder::new().with_error_policy(policy);
                Over::new(|transport| $new(transport, decoder))
            }

            fn apply(&mut self, operation: &Operation) {
                self.run(operation, $poll);
            }

            fn check(&self, model: &Model) {
                Over::check(self, model, $hides_truncation);
            }
        }
    };
}

type Streamed = Over<Utf8Stream<Transport>>;
// A stream that ends with an error of the inner stream does not report a truncated character as a second error.
adapter!(Streamed, OPERATIONS, true, Utf8Stream::with_decoder, |stream| {
    Pin::new(stream).poll_next(&mut cx()).map(|item| {
        item.map(|item| {
            item.map(Bytes::from_owner).map_err(|error| match error.utf8_error() {
                Some(error) => error.into(),
                None => ErrorKind::TimedOut.into(),
            })
        })
    })
});

type Received = Over<Utf8Body<Transport>>;
// An HTTP body ends at an error of the inner body.
adapter!(Received, &[FEED, FEED, HOLD, Finish, Operation::Poll], false, Utf8Body::with_decoder, |body| {
    Pin::new(body).poll_frame(&mut cx()).map(|frame| {
        frame.map(|frame| match frame {
            Ok(frame) => Ok(frame.into_data().expect("no trailers")),
            Err(error) => Err(RejectReason::find(&*error)
                .and_then(RejectReason::utf8_error)
                .map_or(ErrorKind::TimedOut.into(), Into::into)),
        })
    })
});

type ReadText = Over<Utf8Reader<Transport>>;
adapter!(ReadText, OPERATIONS, false, Utf8Reader::with_decoder, |reader| {
    let mut buffer = [0; 5];
    match reader.read(&mut buffer) {
        Ok(0) => Poll::Ready(None),
        Ok(read) => Poll::Ready(Some(Ok(Bytes::copy_from_slice(&buffer[..read])))),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
        Err(error) if error.kind() == ErrorKind::Interrupted => Poll::Ready(Some(Ok(Bytes::new()))),
        Err(error) => Poll::Ready(Some(Err(error))),
    }
});

/// A writer that accepts 2 bytes at a time, and fails once after each `Fail`.
#[derive(Debug, Default)]
struct Sink {
    written: Vec<u8>,
    fails: bool,
}

impl Write for Sink {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if core::mem::take(&mut self.fails) {
            return Err(ErrorKind::WouldBlock.into());
        }
        let taken = buf.len().min(2);
        self.written.extend_from_slice(&buf[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if core::mem::take(&mut self.fails) { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
    }
}

#[derive(Debug)]
struct Written {
    writer: Utf8Writer<Sink>,
    errors: Vec<(u64, u8)>,
}

impl Adapter for Written {
    const OPERATIONS: &'static [Operation] = &[FEED, FEED, Fail, Finish, Operation::Poll];
    const CLOSES: bool = true;

    fn new(policy: ErrorPolicy) -> Self {
        let decoder = TextDecoder::new().with_error_policy(policy);
        Self { writer: Utf8Writer::with_decoder(Sink::default(), decoder), errors: Vec::new() }
    }

    fn apply(&mut self, operation: &Operation) {
        let mut bytes: &[u8] = if let Operation::Feed(bytes) = operation { bytes } else { &[] };
        self.writer.get_mut().fails |= *operation == Fail;
        loop {
            let is_written = bytes.is_empty();
            let result = match operation {
                Operation::Feed(_) if is_written => self.writer.flush(),
                Operation::Feed(_) => self.writer.write(bytes).map(|taken| bytes = &bytes[taken..]),
                Finish => self.writer.finish(),
                _ => return,
            };
            match result {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => {
                    let error = Utf8Error::find(&error).expect("ill-formed");
                    if self.errors.last() != Some(&(error.offset, error.len)) {
                        self.errors.push((error.offset, error.len));
                    }
                    return;
                }
                Ok(()) if is_written => return,
                Ok(()) => {}
            }
        }
    }

    fn check(&self, model: &Model) {
        let mut expected = model.outcome_until_error();
        if model.policy != ErrorPolicy::Strict {
            expected.errors.clear();
        }
        assert_eq!(self.writer.get_ref().written, expected.text.as_bytes());
        assert_eq!(self.errors, expected.errors);
    }
}
