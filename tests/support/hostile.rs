//! Doubles that do everything a peer may do: give nothing at first, cut anywhere, fail in between, and panic when they
//! are asked after they said that they were done.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::VecDeque;
use std::io;

use futures::Stream;

/// What a double does when it is next asked.
#[derive(Clone, Debug)]
pub enum Step {
    Chunk(Vec<u8>),
    Fail(io::ErrorKind),
}

/// The chunks as steps.
pub fn steps(chunks: &[&[u8]]) -> VecDeque<Step> {
    chunks.iter().map(|chunk| Step::Chunk(chunk.to_vec())).collect()
}

/// Asks for a later call and gives nothing, every other time.
#[derive(Debug, Default)]
pub struct Reluctance {
    asked: bool,
}

impl Reluctance {
    pub fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.asked = !self.asked;
        if self.asked {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// A source of chunks that is pending before every one of them, and that must not be asked after its end.
#[derive(Debug)]
pub struct HostileStream {
    steps: VecDeque<Step>,
    reluctance: Reluctance,
    ended: bool,
}

impl HostileStream {
    pub fn new(steps: impl Into<VecDeque<Step>>) -> Self {
        Self { steps: steps.into(), reluctance: Reluctance::default(), ended: false }
    }
}

impl Stream for HostileStream {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        assert!(!self.ended, "asked after the end");
        core::task::ready!(self.reluctance.poll(cx));
        Poll::Ready(match self.steps.pop_front() {
            Some(Step::Chunk(chunk)) => Some(Ok(chunk)),
            Some(Step::Fail(kind)) => Some(Err(kind.into())),
            None => {
                self.ended = true;
                None
            }
        })
    }
}
