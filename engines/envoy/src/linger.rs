//! The end of a connection whose client was rejected and may still send.
//!
//! After the response, Envoy closes the direction to the client, and after [`LINGER`] the connection. If it closed both
//! at once, what the client sends could discard what it has not read yet. Meanwhile Envoy does not read the connection.
//!
//! The ABI has no timer. One thread waits for all connections of the module. It starts with the first, and ends when it
//! wakes up and there is none, at most [`LINGER`] after the last one began. While it runs the C library does not unload
//! the module, because std has registered destructors of its thread-local values.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::host::{Connection, Scheduler};

/// The time between the response and the close.
const LINGER: Duration = Duration::from_secs(5);

/// The connections that linger.
struct Lingering {
    /// By their numbers, in the order in which their times end.
    connections: BTreeMap<u64, (Instant, Scheduler)>,
    next: u64,
    has_thread: bool,
}

static LINGERING: Mutex<Lingering> =
    Mutex::new(Lingering { connections: BTreeMap::new(), next: 0, has_thread: false });

fn lingering() -> MutexGuard<'static, Lingering> {
    LINGERING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection that lingers. It must be dropped when the connection is closed.
///
/// A scheduler is only used while its connection has one of these, under the lock that its destructor takes. The thread
/// therefore never uses a filter or an event loop of Envoy after its end.
pub(crate) struct Linger(u64);

impl Linger {
    /// Calls the hook `scheduled` of the connection after [`LINGER`], unless this is dropped before. Returns `None` if
    /// that is not possible.
    pub(crate) fn start(connection: Connection) -> Option<Self> {
        let scheduler = connection.scheduler()?;
        let mut all = lingering();
        if !all.has_thread {
            all.has_thread = thread::Builder::new().name("utf8-linger".to_owned()).spawn(wake).is_ok();
        }
        let number = all.next;
        all.next += 1;
        if all.has_thread {
            all.connections.insert(number, (Instant::now() + LINGER, scheduler));
        }
        all.has_thread.then_some(Self(number))
    }
}

impl Drop for Linger {
    fn drop(&mut self) {
        lingering().connections.remove(&self.0);
    }
}

/// Wakes the connections whose time has ended, until there is none.
fn wake() {
    loop {
        let mut all = lingering();
        let now = Instant::now();
        let next = loop {
            match all.connections.first_entry() {
                Some(first) if first.get().0 <= now => first.remove().1.commit(),
                Some(first) => break first.get().0,
                None => {
                    all.has_thread = false;
                    return;
                }
            }
        };
        drop(all);
        // A connection that starts to linger meanwhile has a later time.
        thread::sleep(next - now);
    }
}
