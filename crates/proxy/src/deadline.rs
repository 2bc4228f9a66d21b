//! The time limits of a connection.

use core::time::Duration;

use tokio::time::Instant;

use crate::outcome::RelayEnd;

/// The interval over which the transfer rate of a connection is averaged.
const RATE_WINDOW: Duration = Duration::from_secs(10);

/// The configured time limits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) idle_timeout: Option<Duration>,
    /// The minimum rate in bytes per second; 0 means no limit.
    pub(super) min_rate: u64,
    pub(super) max_duration: Option<Duration>,
}

/// The state of the limits of a connection.
///
/// The limits are compared with the clock at every poll, so the cooperative budget of the runtime cannot delay them.
/// The timer only ensures that the connection is polled again.
#[derive(Debug)]
pub(super) struct Deadline {
    limits: Limits,
    moved: u64,
    idle: Option<Instant>,
    over: Option<Instant>,
    window: Option<Window>,
    linger: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    end: Instant,
    moved_before: u64,
}

impl Deadline {
    pub(super) fn new(limits: Limits, now: Instant) -> Self {
        Self {
            limits,
            moved: 0,
            idle: limits.idle_timeout.and_then(|time| now.checked_add(time)),
            over: limits.max_duration.and_then(|time| now.checked_add(time)),
            window: (limits.min_rate > 0).then(|| Window { end: now + RATE_WINDOW, moved_before: 0 }),
            linger: None,
        }
    }

    /// Limits the remaining time of the connection, and stops the check of the minimum rate.
    pub(super) fn linger(&mut self, linger: Duration, now: Instant) {
        self.linger = now.checked_add(linger);
        self.window = None;
    }

    /// Returns the reason if a limit is exceeded. `moved` is the number of bytes read and written since the start.
    pub(super) fn check(&mut self, moved: u64, now: Instant) -> Option<RelayEnd> {
        if moved != self.moved {
            self.moved = moved;
            self.idle = self.limits.idle_timeout.and_then(|time| now.checked_add(time));
        }
        if let Some(window) = self.window.as_mut().filter(|window| window.end <= now) {
            if moved - window.moved_before < self.limits.min_rate.saturating_mul(RATE_WINDOW.as_secs()) {
                return Some(RelayEnd::TooSlow);
            }
            *window = Window { end: now + RATE_WINDOW, moved_before: moved };
        }
        if has_passed(self.over, now) {
            Some(RelayEnd::TooLong)
        } else if has_passed(self.idle, now) || has_passed(self.linger, now) {
            Some(RelayEnd::Idle)
        } else {
            None
        }
    }

    /// Returns the time of the next check if no bytes move.
    pub(super) fn next(&self) -> Option<Instant> {
        let window = self.window.map(|window| window.end);
        [self.idle, self.over, window, self.linger].into_iter().flatten().min()
    }
}

fn has_passed(time: Option<Instant>, now: Instant) -> bool {
    time.is_some_and(|time| time <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_too_slow_if_it_moved_less_than_the_rate_since_the_last_check() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut deadline = Deadline::new(Limits { min_rate: 10, ..Limits::default() }, start);
        assert!(deadline.check(0, after(9)).is_none());
        assert!(deadline.check(100, after(10)).is_none());
        assert_eq!(deadline.next(), Some(after(20)));
        assert!(matches!(deadline.check(199, after(20)), Some(RelayEnd::TooSlow)));
        deadline.linger(Duration::from_secs(5), after(20));
        assert!(deadline.check(199, after(24)).is_none(), "the rate is no longer checked");
        assert!(matches!(deadline.check(199, after(25)), Some(RelayEnd::Idle)));
    }

    #[test]
    fn a_limit_is_exceeded_at_its_time_and_without_limits_there_is_no_timer() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(Deadline::new(Limits::default(), start).next(), None);
        let limits = Limits {
            idle_timeout: Some(Duration::from_secs(3)),
            max_duration: Some(Duration::from_secs(10)),
            ..Limits::default()
        };
        let mut deadline = Deadline::new(limits, start);
        assert!(deadline.check(1, after(2)).is_none());
        assert_eq!(deadline.next(), Some(after(5)));
        assert!(deadline.check(1, after(4)).is_none());
        assert!(matches!(deadline.check(1, after(5)), Some(RelayEnd::Idle)));
        assert!(deadline.check(2, after(9)).is_none());
        assert!(matches!(deadline.check(2, after(10)), Some(RelayEnd::TooLong)));
    }
}
