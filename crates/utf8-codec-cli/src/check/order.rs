//! Ordered delivery of the events of files that are checked in parallel.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The maximum size of the events that a file buffers before its turn. When it is reached, the thread waits for the turn.
const MAX_READY: usize = 256;

/// The size of the events of all files that ended before their turn, above which a thread waits for the turn of its file.
/// Otherwise a first file that is slow, such as a pipe, would let the results of all other files collect in memory.
const MAX_ENDED: usize = 32 * 1024;

/// A file that ended before its turn.
struct Ended<E> {
    events: Vec<E>,
    size: usize,
}

/// Receives the events of all files in the order of the files.
pub(super) trait Receive<E>: Send {
    /// Returns the size of an event, in units of about half a KiB, at least 1.
    fn size(_: &E) -> usize {
        1
    }

    /// Receives an event of the file with this number. All threads wait for this, so slow work belongs in the thread
    /// that checks the file.
    fn receive(&mut self, file: usize, event: E) -> io::Result<()>;
}

/// Orders the events: the receiver gets those of a file only after all earlier files have ended.
pub(super) struct Turn<E, R> {
    state: Mutex<State<E, R>>,
    changed: Condvar,
}

struct State<E, R> {
    /// The number of the file whose turn it is.
    next: usize,
    /// The files that ended before their turn.
    ready: BTreeMap<usize, Ended<E>>,
    /// The size of their events.
    size: usize,
    receiver: R,
    failed: Option<io::Error>,
    /// The number of waiting threads. If it is 0, no wake-up is needed.
    waiting: usize,
}

impl<E: Send, R: Receive<E>> Turn<E, R> {
    pub(super) fn new(receiver: R) -> Self {
        let state = State { next: 0, ready: BTreeMap::new(), size: 0, receiver, failed: None, waiting: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Calls `check` for each file, on `jobs` threads. If the system does not allow that many, the others do the work.
    ///
    /// The files are started in the order of the report, so a thread always works on the file whose turn it is. If none did,
    /// all threads could wait for their turn forever.
    pub(super) fn run<F: Sync>(
        &self,
        jobs: usize,
        files: &[F],
        check: impl Fn(&F, &mut Lane<'_, E, R>) + Sync,
    ) {
        let next = AtomicUsize::new(0);
        let work = || {
            while !self.has_failed()
                && let file = next.fetch_add(1, Ordering::Relaxed)
                && let Some(input) = files.get(file)
            {
                let mut lane = self.lane(file);
                check(input, &mut lane);
                lane.end();
            }
        };
        thread::scope(|scope| {
            let _ = (1..jobs.min(files.len()))
                .try_for_each(|_| thread::Builder::new().spawn_scoped(scope, work).map(drop));
            work();
        });
    }

    /// Whether the receiver returned an error. Further events are discarded.
    fn has_failed(&self) -> bool {
        self.lock().failed.is_some()
    }

    fn lane(&self, file: usize) -> Lane<'_, E, R> {
        Lane { turn: self, file, events: Vec::new(), size: 0 }
    }

    pub(super) fn into_receiver(self) -> io::Result<R> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.failed.map_or(Ok(state.receiver), Err)
    }

    fn lock(&self) -> MutexGuard<'_, State<E, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a file, as long as `must_wait` returns true.
    fn wait(&self, file: usize, must_wait: impl Fn(&State<E, R>) -> bool) -> MutexGuard<'_, State<E, R>> {
        let mut state = self.lock();
        while state.next != file && state.failed.is_none() && must_wait(&state) {
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

/// The events of one file. A file whose turn it is never waits.
pub(super) struct Lane<'t, E, R> {
    turn: &'t Turn<E, R>,
    file: usize,
    events: Vec<E>,
    /// The size of the events.
    size: usize,
}

impl<E: Send, R: Receive<E>> Lane<'_, E, R> {
    pub(super) fn push(&mut self, event: E) {
        self.size += R::size(&event);
        self.events.push(event);
        if self.size >= MAX_READY {
            let mut state = self.turn.wait(self.file, |_| true);
            state.receive(self.file, self.events.drain(..));
            self.size = 0;
        }
    }

    /// Ends the events of the file.
    fn end(self) {
        let mut state = self.turn.wait(self.file, |state| state.size >= MAX_ENDED);
        // A file without events also takes memory.
        let size = self.size + 1;
        state.size += size;
        state.ready.insert(self.file, Ended { events: self.events, size });
        loop {
            let file = state.next;
            let Some(ended) = state.ready.remove(&file) else { break };
            state.receive(file, ended.events);
            state.size -= ended.size;
            state.next += 1;
        }
        if state.waiting > 0 {
            self.turn.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Receive<usize> for Vec<(usize, usize)> {
        fn receive(&mut self, file: usize, event: usize) -> io::Result<()> {
            self.push((file, event));
            Ok(())
        }
    }

    #[test]
    fn files_wait_if_the_first_one_is_slow_and_many_have_ended() {
        let turn = Turn::new(Vec::new());
        let ended = AtomicUsize::new(0);
        let files = 2 * MAX_ENDED;
        thread::scope(|scope| {
            let first = turn.lane(0);
            scope.spawn(|| {
                for file in 1..files {
                    turn.lane(file).end();
                    ended.fetch_add(1, Ordering::Relaxed);
                }
            });
            while turn.lock().waiting == 0 {
                thread::yield_now();
            }
            assert_eq!((ended.load(Ordering::Relaxed), turn.lock().ready.len()), (MAX_ENDED, MAX_ENDED));
            first.end();
        });
        let state = turn.lock();
        assert_eq!((ended.into_inner(), state.size, state.next), (files - 1, 0, files));
    }

    #[test]
    fn events_are_received_in_the_order_of_the_files() {
        let count = |file: usize| if file.is_multiple_of(7) { 3 * MAX_READY } else { file % 3 };
        let turn = Turn::new(Vec::new());
        let files: Vec<usize> = (0..48).collect();
        turn.run(4, &files, |&file, lane| (0..count(file)).for_each(|event| lane.push(event)));
        let expected: Vec<_> =
            files.iter().flat_map(|&file| (0..count(file)).map(move |event| (file, event))).collect();
        assert_eq!(turn.into_receiver().expect("no event fails"), expected);
    }
}
