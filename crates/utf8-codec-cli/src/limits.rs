//! Limits of connections and of log lines, for each client address and in total.

use core::net::{IpAddr, Ipv6Addr};
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tracing::level_filters::LevelFilter;
use tracing::{Level, warn};

/// The interval at which suppressed lines are reported in the log.
pub(super) const HELD_BACK_INTERVAL: Duration = Duration::from_secs(10);

/// The maximum number of addresses with a [`Bucket`]. At this size the full buckets are dropped, or all buckets if that
/// is not enough.
const MAX_ADDRESSES: usize = 4096;

/// The capacity of a [`Bucket`], in seconds of its rate.
const BURST: f64 = 10.0;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the key for the limits of an address: the address, or its /64 network for IPv6. The clients of a Unix socket
/// have no address, and only the total limits apply to them.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address => address,
    }
}

/// The open connections by address.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    max: usize,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Sources {
    /// Allows at most `max` connections from each address; 0 means no limit.
    pub(super) fn new(max: usize) -> Self {
        Self { max, open: Arc::default() }
    }

    /// Reserves a connection if the limit allows it. Dropping the return value releases it.
    pub(super) fn enter(&self, address: Option<IpAddr>) -> Option<SourceSlot> {
        let address = address.filter(|_| self.max > 0).map(source);
        if let Some(address) = address {
            let mut open = lock(&self.open);
            let count = open.entry(address).or_default();
            if *count >= self.max {
                return None;
            }
            *count += 1;
        }
        Some(SourceSlot { sources: self.clone(), address })
    }
}

/// A reserved connection.
#[derive(Debug)]
pub(super) struct SourceSlot {
    sources: Sources,
    /// The address, or `None` if the connection is not counted.
    address: Option<IpAddr>,
}

impl Drop for SourceSlot {
    fn drop(&mut self) {
        let Some(address) = self.address else { return };
        let mut open = lock(&self.sources.open);
        if let Some(count) = open.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&address);
            }
        }
    }
}

/// A token bucket. Tokens are added at a rate, up to [`BURST`] seconds of it. A log line takes one.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    filled: Instant,
    held_back: u64,
}

impl Bucket {
    fn new(rate: f64, now: Instant) -> Self {
        Self { tokens: rate * BURST, filled: now, held_back: 0 }
    }

    fn fill(&mut self, rate: f64, now: Instant) {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + passed * rate).min(rate * BURST);
        self.filled = now;
    }
}

/// Limits the log lines about connections, for each address and in total.
#[derive(Debug)]
pub(super) struct LogLimit {
    rate: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    all: Bucket,
    addresses: HashMap<Option<IpAddr>, Bucket>,
    /// The number of suppressed lines since the last report.
    held_back: u64,
}

impl LogLimit {
    /// Allows `rate` lines per second in total, and a tenth of it for each address.
    pub(super) fn new(rate: usize) -> Arc<Self> {
        let rate = rate as f64;
        let state = State { all: Bucket::new(rate, Instant::now()), addresses: HashMap::new(), held_back: 0 };
        Arc::new(Self { rate, state: Mutex::new(state) })
    }

    /// Writes a line about this address, or suppresses and counts it. `write` is called with the number of lines that
    /// were suppressed since the last line about the address, or `None` if there were none. A line of a level that is
    /// not logged has no effect.
    pub(super) fn line(&self, level: Level, address: Option<IpAddr>, write: impl FnOnce(Option<u64>)) {
        if level > LevelFilter::current() {
            return;
        }
        if let Ok(held_back) = self.take(address.map(source), Instant::now()) {
            write((held_back > 0).then_some(held_back));
        }
    }

    fn rate_of(&self, address: Option<IpAddr>) -> f64 {
        if address.is_some() { self.rate / 10.0 } else { self.rate }
    }

    fn take(&self, address: Option<IpAddr>, now: Instant) -> Result<u64, ()> {
        let all_rate = self.rate;
        let one_rate = self.rate_of(address);
        let State { all, addresses, held_back } = &mut *lock(&self.state);
        all.fill(all_rate, now);
        if addresses.len() >= MAX_ADDRESSES && !addresses.contains_key(&address) {
            // A full bucket without suppressed lines is the same as a new one, so it is dropped.
            addresses.retain(|&address, bucket| {
                let rate = self.rate_of(address);
                bucket.fill(rate, now);
                bucket.tokens < rate * BURST || bucket.held_back > 0
            });
            if addresses.len() >= MAX_ADDRESSES {
                addresses.clear();
            }
        }
        let one = addresses.entry(address).or_insert_with(|| Bucket::new(one_rate, now));
        one.fill(one_rate, now);
        if one.tokens < 1.0 || all.tokens < 1.0 {
            one.held_back += 1;
            *held_back += 1;
            return Err(());
        }
        one.tokens -= 1.0;
        all.tokens -= 1.0;
        Ok(core::mem::take(&mut one.held_back))
    }

    /// Logs the number of lines that were suppressed since the last report.
    pub(super) fn report(&self) {
        let lines = core::mem::take(&mut lock(&self.state).held_back);
        if lines > 0 {
            warn!(lines, "log lines about connections were suppressed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xDB8, 0, 1, 0, 0, 0, 1));
    const B: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xDB8, 0, 1, 2, 2, 2, 2));
    const C: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xDB8, 0, 2, 0, 0, 0, 1));

    #[test]
    fn the_limit_of_connections_is_per_ipv4_address_and_per_ipv6_network() {
        let sources = Sources::new(2);
        let first = sources.enter(Some(A)).unwrap();
        let _second = sources.enter(Some(B)).unwrap();
        assert!(sources.enter(Some(A)).is_none() && sources.enter(Some(C)).is_some());
        drop(first);
        assert!(sources.enter(Some(A)).is_some());
        assert!((0..100).all(|_| Sources::new(0).enter(Some(A)).is_some()));
        assert_eq!(lock(&sources.open).len(), 1, "an address without connections is not tracked");
        let local: Vec<_> = (0..100).map(|_| sources.enter(None)).collect();
        assert!(local.iter().all(Option::is_some), "a Unix socket has no address");
    }

    #[test]
    fn log_lines_about_a_unix_socket_are_limited_in_total_only() {
        let limit = LogLimit::new(200);
        let start = Instant::now();
        assert_eq!((0..10_000).filter(|_| limit.take(None, start).is_ok()).count(), 2_000);
        let later = start + Duration::from_secs(1);
        assert_eq!(limit.take(None, later), Ok(8_000));
    }

    #[test]
    fn log_lines_are_limited_per_address_and_in_total() {
        let limit = LogLimit::new(200);
        let start = Instant::now();
        let address = |n: u64| IpAddr::V6(Ipv6Addr::from(u128::from(n) << 64));
        let passed = (0..10_000).filter(|_| limit.take(Some(source(A)), start).is_ok()).count();
        assert_eq!(passed, 200, "ten seconds of a tenth of the rate");
        assert_eq!(limit.take(Some(source(C)), start), Ok(0), "another address still has its lines");
        let later = start + Duration::from_secs(1);
        assert_eq!(limit.take(Some(source(A)), later), Ok(9_800), "the next line counts what was held back");
        let passed = (0..100_000).filter(|&n| limit.take(Some(address(n)), later).is_ok()).count();
        assert!((1_700..=2_000).contains(&passed), "{passed}");
        assert!(lock(&limit.state).addresses.len() <= MAX_ADDRESSES);
    }
}
