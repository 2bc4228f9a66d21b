//! Ordered delivery of the events of files and parts that are checked in parallel.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The number of a file, and of a part in it.
pub(super) type PartIndex = (usize, usize);

/// The maximum number of events that a part buffers before its turn. When it is reached, the thread waits for the turn.
const MAX_READY: usize = 256;

/// Receives the events of all files in the order of the files.
pub(super) trait Receive<E>: Send {
    fn receive(&mut self, file: usize, event: E) -> io::Result<()>;
}

/// Orders the events: the receiver gets those of a part only after all earlier parts have ended.
pub(super) struct Turn<E, R> {
    state: Mutex<State<E, R>>,
    changed: Condvar,
}

struct State<E, R> {
    next: PartIndex,
    /// The events of parts that ended before their turn, and the part that follows each.
    ready: BTreeMap<PartIndex, (Vec<E>, PartIndex)>,
    receiver: R,
    failed: Option<io::Error>,
    /// The number of waiting threads. If it is 0, no wake-up is needed.
    waiting: usize,
}

impl<E, R: Receive<E>> Turn<E, R> {
    pub(super) fn new(receiver: R) -> Self {
        let state = State { next: (0, 0), ready: BTreeMap::new(), receiver, failed: None, waiting: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Whether the receiver returned an error. Further events are discarded.
    pub(super) fn has_failed(&self) -> bool {
        self.lock().failed.is_some()
    }

    /// Creates a handle for the events of one part.
    pub(super) fn lane(&self, part: PartIndex) -> Lane<'_, E, R> {
        Lane { turn: self, part, events: Vec::new() }
    }

    pub(super) fn into_receiver(self) -> io::Result<R> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.failed.map_or(Ok(state.receiver), Err)
    }

    fn lock(&self) -> MutexGuard<'_, State<E, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
}

impl<E, R: Receive<E>> Lane<'_, E, R> {
    pub(super) fn push(&mut self, event: E) {
        self.events.push(event);
        if self.events.len() >= MAX_READY {
            let mut state = self.turn.lock();
            while state.next != self.part && state.failed.is_none() {
                state.waiting += 1;
                state = self.turn.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.waiting -= 1;
            }
            state.receive(self.part.0, self.events.drain(..));
        }
    }

    /// Ends the events of the part. `is_last` is whether it is the last part of its file.
    pub(super) fn end(self, is_last: bool) {
        let (file, part) = self.part;
        let after = if is_last { (file + 1, 0) } else { (file, part + 1) };
        let mut state = self.turn.lock();
        state.ready.insert(self.part, (self.events, after));
        loop {
            let part = state.next;
            let Some((events, after)) = state.ready.remove(&part) else { break };
            state.receive(part.0, events);
            state.next = after;
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
