//! Waiting for a condition. No other part of the tests sleeps, except where a pause is what is tested.

use core::time::Duration;
use std::process::ChildStdin;
use std::thread::sleep;

/// Waits until the condition holds, at most 20 seconds.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("waited in vain for {what}");
}

/// Waits until the number is positive and has not changed for 300 ms.
#[track_caller]
pub fn wait_until_constant(what: &str, mut number: impl FnMut() -> u64) {
    let (mut last, mut times) = (0, 0);
    wait_until(what, || {
        let now = number();
        times = if now == last && now > 0 { times + 1 } else { 0 };
        last = now;
        times == 30
    });
}

/// Pauses between two writes, so that the peer usually reads them separately. No result may depend on it.
pub fn pause() {
    sleep(Duration::from_millis(2));
}

/// Waits until the other process has read all that was written to its standard input.
#[track_caller]
pub fn wait_until_read(stdin: &ChildStdin) {
    #[cfg(unix)]
    wait_until("the process to read", || rustix::io::ioctl_fionread(stdin).expect("a pipe") == 0);
    #[cfg(not(unix))]
    let _ = (stdin, pause());
}
