//! The contenders run alternately in one process, so that other load on the machine affects all of them.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Returns the CPU time of this thread, which does not depend on other programs. Includes the time in the kernel.
fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "the clock is supported");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// An implementation of the work of a scenario.
pub struct Contender<'a> {
    pub name: &'static str,
    /// Does the work once. Returns a count that must be the same for all contenders.
    run: Rc<RefCell<dyn FnMut() -> u64 + 'a>>,
}

impl<'a> Contender<'a> {
    pub fn new(name: &'static str, run: impl FnMut() -> u64 + 'a) -> Self {
        Self { name, run: Rc::new(RefCell::new(run)) }
    }

    /// Returns the same work under another name.
    pub fn again(&self, name: &'static str) -> Self {
        Self { name, run: Rc::clone(&self.run) }
    }

    fn run(&self) -> u64 {
        (self.run.borrow_mut())()
    }
}

/// The duration of a measurement.
#[derive(Clone, Copy)]
pub struct Effort {
    pub rounds: usize,
    /// For a run of a contender, which are two in a round.
    pub turn: Duration,
}

/// The result of a race: for each contender its name and the nanoseconds of one run, by round.
pub struct Race {
    pub names: Vec<&'static str>,
    pub nanos: Vec<Vec<f64>>,
}

/// Runs the contenders alternately. Their counts must equal that of the first.
///
/// In a round each contender runs twice, the second time in reverse order. What it gains or loses by its place, such as
/// the caches and socket buffers that its predecessor leaves, is then the same for all. With a single run in a round the
/// ratios have two values, by the order, and their median is one of them.
pub fn race(contenders: Vec<Contender<'_>>, effort: Effort) -> Race {
    let expected = contenders[0].run();
    let mut repeats = Vec::new();
    for contender in &contenders {
        let found = contender.run();
        assert_eq!(found, expected, "{} disagrees with {}", contender.name, "the first contender");
        let start = now();
        contender.run();
        let once = (now() - start).max(Duration::from_nanos(20));
        repeats.push((effort.turn.as_nanos() / once.as_nanos()).max(1) as usize);
    }
    let mut nanos = vec![Vec::new(); contenders.len()];
    let count = contenders.len();
    for _ in 0..effort.rounds {
        let mut round = vec![0.0; count];
        for i in (0..count).chain((0..count).rev()) {
            let start = now();
            for _ in 0..repeats[i] {
                std::hint::black_box(contenders[i].run());
            }
            round[i] += (now() - start).as_nanos() as f64 / (2 * repeats[i]) as f64;
        }
        nanos.iter_mut().zip(round).for_each(|(nanos, round)| nanos.push(round));
    }
    Race { names: contenders.iter().map(|contender| contender.name).collect(), nanos }
}

/// A median with the least and the greatest value.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pub least: f64,
    pub median: f64,
    pub greatest: f64,
}

impl Spread {
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        Self { least: values[0], median: values[last / 2], greatest: values[last] }
    }
}

impl Race {
    fn index(&self, name: &str) -> usize {
        self.names.iter().position(|&n| n == name).unwrap_or_else(|| panic!("no contender {name}"))
    }

    pub fn median_nanos(&self, name: &str) -> f64 {
        Spread::of(self.nanos[self.index(name)].clone()).median
    }

    /// Returns the speed of `ours` relative to `peer`, from the ratios of each round.
    pub fn ratio(&self, ours: &str, peer: &str) -> Spread {
        let (ours, peer) = (self.index(ours), self.index(peer));
        Spread::of(self.nanos[ours].iter().zip(&self.nanos[peer]).map(|(ours, peer)| peer / ours).collect())
    }

    /// Returns the fastest of `peers`.
    pub fn best<'n>(&self, peers: &[&'n str]) -> &'n str {
        peers
            .iter()
            .copied()
            .min_by(|a, b| self.median_nanos(a).total_cmp(&self.median_nanos(b)))
            .expect("there are peers")
    }
}
