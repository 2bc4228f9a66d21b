//! The threads that serve connections: a runtime for each CPU.

use core::future::pending;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::io;
use std::sync::Arc;
use std::thread::{self, available_parallelism};

use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime for each CPU, with one thread each. A connection stays on its thread: if one thread waits for the sockets and
/// another one relays, each read costs a wake-up of the other thread.
#[derive(Clone, Debug)]
pub(super) struct Workers(Arc<[Arc<Worker>]>);

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    connections: AtomicUsize,
}

impl Workers {
    /// Creates the runtime of this thread, and starts the other threads.
    pub(super) fn start() -> io::Result<(Runtime, Self)> {
        let own = runtime()?;
        let mut workers = vec![worker(&own)];
        for _ in 1..available_parallelism().map_or(1, usize::from) {
            let other = runtime()?;
            workers.push(worker(&other));
            // The thread ends with the process.
            thread::Builder::new()
                .name("worker".to_owned())
                .spawn(move || other.block_on(pending::<()>()))?;
        }
        Ok((own, Self(workers.into())))
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns a place on the worker with the fewest connections, of equal ones the first.
    pub(super) fn least_loaded(&self) -> Place {
        let connections = |worker: &&Arc<Worker>| worker.connections.load(Ordering::Relaxed);
        let worker = self.0.iter().min_by_key(connections).unwrap_or(&self.0[0]);
        worker.connections.fetch_add(1, Ordering::Relaxed);
        Place(Arc::clone(worker))
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn worker(runtime: &Runtime) -> Arc<Worker> {
    Arc::new(Worker { runtime: runtime.handle().clone(), connections: AtomicUsize::new(0) })
}

/// A connection that a worker serves, until this value is dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<Worker>);

impl Place {
    pub(super) fn runtime(&self) -> Handle {
        self.0.runtime.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_goes_to_the_worker_with_the_fewest() {
        let runtimes: Vec<_> = (0..3).map(|_| runtime().unwrap()).collect();
        let workers = Workers(runtimes.iter().map(worker).collect());
        let index = |place: &Place| workers.0.iter().position(|worker| Arc::ptr_eq(worker, &place.0));
        let mut places: Vec<_> = (0..7).map(|_| workers.least_loaded()).collect();
        let indices: Vec<_> = places.iter().filter_map(index).collect();
        assert_eq!(indices, [0, 1, 2, 0, 1, 2, 0]);
        places.remove(5);
        places.remove(2);
        let next = [workers.least_loaded(), workers.least_loaded()];
        assert_eq!(next.each_ref().map(index), [Some(2), Some(2)]);
    }
}
