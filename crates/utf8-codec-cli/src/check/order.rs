//! Ordered delivery of the events of files and parts that are checked in parallel.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The number of a file, and of a part in it.
pub(super) type PartIndex = (usize, usize);

/// The maximum size of the events that a part buffers before its turn. When it is reached, the thread waits for the turn.
const MAX_READY: usize = 256;

/// The size of the events of all parts that ended before their turn, above which a thread waits for the turn of its part.
/// Otherwise a first file that is slow, such as a pipe, would let the results of all other files collect in memory.
const MAX_ENDED: usize = 32 * 1024;

/// A part that ended before its turn.
struct Ended<E> {
    events: Vec<E>,
    size: usize,
    /// The part that follows.
    after: PartIndex,
}

/// Receives the events of all files in the order of the files.
pub(super) trait Receive<E>: Send {
    /// Returns the size of an event, in units of about half a KiB, at least 1.
    fn size(_: &E) -> usize {
        1
    }

    fn receive(&mut self, file: usize, event: E) -> io::Result<()>;
}

/// Orders the events: the receiver gets those of a part only after all earlier parts have ended.
pub(super) struct Turn<E, R> {
    state: Mutex<State<E, R>>,
    changed: Condvar,
}

struct State<E, R> {
    next: PartIndex,
    /// The parts that ended before their turn.
    ready: BTreeMap<PartIndex, Ended<E>>,
    /// The size of their events.
    size: usize,
    receiver: R,
    failed: Option<io::Error>,
    /// The number of waiting threads. If it is 0, no wake-up is needed.
    waiting: usize,
}

impl<E, R: Receive<E>> Turn<E, R> {
    pub(super) fn new(receiver: R) -> Self {
        let state =
            State { next: (0, 0), ready: BTreeMap::new(), size: 0, receiver, failed: None, waiting: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Whether the receiver returned an error. Further events are discarded.
    pub(super) fn has_failed(&self) -> bool {
        self.lock().failed.is_some()
    }

    /// Creates a handle for the events of one part.
    pub(super) fn lane(&self, part: PartIndex) -> Lane<'_, E, R> {
        Lane { turn: self, part, events: Vec::new(), size: 0 }
    }

    pub(super) fn into_receiver(self) -> io::Result<R> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.failed.map_or(Ok(state.receiver), Err)
    }

    fn lock(&self) -> MutexGuard<'_, State<E, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a part, as long as `must_wait` returns true.
    fn wait(&self, part: PartIndex, must_wait: impl Fn(&State<E, R>) -> bool) -> MutexGuard<'_, State<E, R>> {
        let mut state = self.lock();
        while state.next != part && state.failed.is_none() && must_wait(&state) {
            state.waiting += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        state
    }
}

impl<E, R: Receive<E>> State<E, R> {
    fn receive(&mut self, file: usize, events: impl IntoIterator<Item = E>) {
        for event in events {
            if self.failed.is_none()
                && let Err(error) = self.receiver.receive(file, event)
            {
                self.failed = Some(error);
            }
        }
    }
}

/// The events of one part. A part whose turn it is never waits.
pub(super) struct Lane<'t, E, R> {
    turn: &'t Turn<E, R>,
    part: PartIndex,
    events: Vec<E>,
    /// The size of the events.
    size: usize,
}

impl<E, R: Receive<E>> Lane<'_, E, R> {
    pub(super) fn push(&mut self, event: E) {
        self.size += R::size(&event);
        self.events.push(event);
        if self.size >= MAX_READY {
            let mut state = self.turn.wait(self.part, |_| true);
            state.receive(self.part.0, self.events.drain(..));
            self.size = 0;
        }
    }

    /// Ends the events of the part. `is_last` is whether it is the last part of its file.
    pub(super) fn end(self, is_last: bool) {
        let (file, part) = self.part;
        let after = if is_last { (file + 1, 0) } else { (file, part + 1) };
        let mut state = self.turn.wait(self.part, |state| state.size >= MAX_ENDED);
        // A part without events also takes memory.
        let size = self.size + 1;
        state.size += size;
        state.ready.insert(self.part, Ended { events: self.events, size, after });
        loop {
            let part = state.next;
            let Some(ended) = state.ready.remove(&part) else { break };
            state.receive(part.0, ended.events);
            state.size -= ended.size;
            state.next = ended.after;
        }
        if state.waiting > 0 {
            self.turn.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    impl Receive<usize> for Vec<(usize, usize)> {
        fn receive(&mut self, file: usize, event: usize) -> io::Result<()> {
            self.push((file, event));
            Ok(())
        }
    }

    #[test]
    fn parts_wait_if_the_first_one_is_slow_and_many_have_ended() {
        let (turn, ended) = (Turn::new(Vec::new()), AtomicUsize::new(0));
        let parts = 2 * MAX_ENDED;
        thread::scope(|scope| {
            let first = turn.lane((0, 0));
            scope.spawn(|| {
                for file in 1..parts {
                    turn.lane((file, 0)).end(true);
                    ended.fetch_add(1, Ordering::Relaxed);
                }
            });
            while turn.lock().waiting == 0 {
                thread::yield_now();
            }
            assert_eq!((ended.load(Ordering::Relaxed), turn.lock().ready.len()), (MAX_ENDED, MAX_ENDED));
            first.end(true);
        });
        let state = turn.lock();
        assert_eq!((ended.into_inner(), state.size, state.next), (parts - 1, 0, (parts, 0)));
    }

    #[test]
    fn events_are_received_in_the_order_of_the_files() {
        let count = |file: usize| if file.is_multiple_of(7) { 3 * MAX_READY } else { file % 3 };
        let (turn, next) = (Turn::new(Vec::new()), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let file = next.fetch_add(1, Ordering::Relaxed);
                        if file >= 48 {
                            return;
                        }
                        // Every third file has two parts.
                        let (file, part) = (file / 4 * 3 + (file % 4).min(2), file % 4 / 3);
                        let mut lane = turn.lane((file, part));
                        (0..count(file)).for_each(|event| lane.push(event));
                        lane.end(part == 1 || file % 3 != 2);
                    }
                });
            }
        });
        let expected = (0..48).map(|part| part / 4 * 3 + (part % 4).min(2));
        let expected: Vec<_> =
            expected.flat_map(|file| (0..count(file)).map(move |event| (file, event))).collect();
        assert_eq!(turn.into_receiver().expect("no event fails"), expected);
    }
}
