//! The relay: two filters, and the I/O between two streams.

use core::future::{Future, pending, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::string::String;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};
use utf8_codec::json::JsonStrings;
use utf8_codec::{LineEnding, TextDecoder};

use crate::deadline::{Deadline, Limits};
use crate::decoded_lines::DecodedLines;
use crate::filter::Filter;
use crate::forward::ForwardPolicy;
use crate::lines::LineFilter;
use crate::outcome::{RelayDirection, RelayEnd, RelayObserver, RelayOutcome};
use crate::pump::{Pump, Setup};
use crate::stage::Stage;

/// The work of one poll, in bytes, after which the task yields.
const TURN: usize = 256 * 1024;

/// Relays bytes between a client and an upstream server, through a [`Filter`] for each direction.
///
/// - Bytes are forwarded as they arrive, in whole characters unless [`with_forward_policy`](Self::with_forward_policy) is
///   set, or in whole lines with [`with_line_filter`](Self::with_line_filter).
/// - The end of one direction is forwarded as a half-close. The other direction continues.
/// - Back-pressure is preserved: a direction has one buffer of 16 KiB, or of 256 KiB while a peer fills it, and reads
///   again after all of it is written. At most 64 buffers of the process have 256 KiB. Repaired text is at most four
///   times as long as 16 KiB, and in a large buffer at most 64 KiB longer than the buffer. A connection that waits for
///   bytes has no buffer.
/// - A rejected direction ([`ErrorPolicy::Strict`](utf8_codec::ErrorPolicy)) delivers all well-formed bytes before the
///   ill-formed sequence. The other direction then continues for at most [`with_linger`](Self::with_linger), so that pending
///   responses are delivered. After that the caller resets both sockets ([`RelayOutcome::reset`]), unless
///   [`with_rejection_policy`](Self::with_rejection_policy) is set to [`RejectionPolicy::Close`].
/// - If a peer fails (a reset), both directions end, and the caller resets the other peer.
/// - A poll does a bounded amount of work, in bytes, and both directions progress alternately.
///
/// One `Relay` can be used for any number of connections.
///
/// ```
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use utf8_codec::Utf8Error;
/// use utf8_codec_proxy::{RelayDirection, RelayEnd, Relay};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (mut client, mut near) = tokio::io::duplex(64);
/// let (mut far, mut server) = tokio::io::duplex(64);
/// client.write_all(b"caf\xC3\xA9 \xFF").await?;
/// let relayed = tokio::spawn(async move {
///     Relay::new().run(&mut near, &mut far, |direction: RelayDirection, error: Utf8Error| {
///         assert_eq!((direction, error.offset), (RelayDirection::Requests, 6));
///     }).await
/// });
///
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "café ", "everything before the error is delivered");
/// drop((client, server));
/// assert!(matches!(relayed.await?.end, RelayEnd::IllFormed(RelayDirection::Requests, _)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Relay {
    requests: Setup,
    responses: Setup,
    limits: Limits,
    linger: Duration,
}

/// How a connection ends after a direction is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectionPolicy {
    /// The caller resets both peers ([`RelayOutcome::reset`]), so that no peer assumes that the data is complete.
    #[default]
    Reset,
    /// The direction is shut down cleanly after its well-formed bytes. A peer that acts at the end of its input will
    /// act on partial data. If the other direction does not end within [`with_linger`](Relay::with_linger), the
    /// connection is reset.
    Close,
}

utf8_codec::default_is_new!(Relay);

impl Relay {
    /// Creates a relay that rejects ill-formed text in both directions and keeps the BOM.
    pub const fn new() -> Self {
        Self::with_decoder(TextDecoder::new())
    }

    /// Creates a relay that filters both directions with the policies of this decoder, whose offset and counters are
    /// not used.
    pub const fn with_decoder(decoder: TextDecoder) -> Self {
        let decoder = decoder.restarted_at(0);
        const fn setup(decoder: TextDecoder) -> Setup {
            Setup {
                stage: Stage::Text(Filter::with_decoder(decoder)),
                ending: LineEnding::LfOrCrLf,
                report_only: false,
                closes: false,
            }
        }
        Self {
            requests: setup(decoder.restarted_at(0)),
            responses: setup(decoder),
            limits: Limits { idle_timeout: None, min_rate: 0, max_duration: None },
            linger: Duration::from_secs(1),
        }
    }

    /// Filters both directions with the settings of this filter. Only whole lines are forwarded, and a line that is
    /// ill-formed or too long is dropped. The bytes that [`RelayObserver::rejected_line`] returns are sent to the peer that
    /// sent the line.
    ///
    /// With [`LineFilter::with_stop_at_error`] the stream ends at the first rejected line instead. No part of that line
    /// is delivered, so no server acts on it.
    #[must_use]
    pub fn with_line_filter(mut self, filter: LineFilter) -> Self {
        let filter = filter.restarted();
        self.requests.ending = filter.line_ending();
        self.responses.ending = filter.line_ending();
        self.requests.stage = Stage::Lines(filter.clone());
        self.responses.stage = Stage::Lines(filter);
        self
    }

    /// Forwards only whole lines in both directions, and decodes those that are not UTF-8. Lines end with LF or CRLF. A line
    /// that is well-formed is forwarded unchanged. For another one `decode` is called, with its terminator if it has one, and
    /// the text that it returns is forwarded; the observer receives the first error of the line. A line that has more than
    /// `max_length` bytes before its terminator is dropped, as by [`with_line_filter`](Self::with_line_filter).
    ///
    /// This is for peers that write some lines in another, known encoding: `utf8-codec-encodings` has decoders for them.
    #[must_use]
    pub fn with_line_decoder(
        mut self,
        max_length: usize,
        decode: impl Fn(&[u8]) -> String + Send + Sync + 'static,
    ) -> Self {
        let lines = DecodedLines::new(max_length, Arc::new(decode));
        self.requests.ending = LineEnding::LfOrCrLf;
        self.responses.ending = LineEnding::LfOrCrLf;
        self.requests.stage = Stage::DecodedLines(lines.clone());
        self.responses.stage = Stage::DecodedLines(lines);
        self
    }

    /// Also checks the escapes in the strings of JSON, in both directions: see [`Filter::with_json_strings`]. Call it after
    /// [`with_line_filter`](Self::with_line_filter), which has a setting of its own. It has no effect after
    /// [`with_line_decoder`](Self::with_line_decoder).
    #[must_use]
    pub fn with_json_strings(mut self, strings: JsonStrings) -> Self {
        self.requests.stage = self.requests.stage.with_json_strings(strings);
        self.responses.stage = self.responses.stage.with_json_strings(strings);
        self
    }

    /// Sets which bytes of an incomplete character are forwarded, in both directions. Lines are always forwarded whole: it
    /// has no effect after [`with_line_filter`](Self::with_line_filter). With [`RejectionPolicy::Close`] and
    /// [`ForwardPolicy::Bytes`] a peer may receive a normal end inside a character.
    #[must_use]
    pub fn with_forward_policy(mut self, forward: ForwardPolicy) -> Self {
        self.requests.stage = self.requests.stage.with_forward_policy(forward);
        self.responses.stage = self.responses.stage.with_forward_policy(forward);
        self
    }

    /// Filters only this direction. Call it after the other settings. The bytes of the other direction are forwarded
    /// unchanged.
    #[must_use]
    pub fn with_only(mut self, direction: RelayDirection) -> Self {
        match direction {
            RelayDirection::Requests => self.responses.stage = Stage::Untouched,
            RelayDirection::Responses => self.requests.stage = Stage::Untouched,
        }
        self
    }

    /// Sets whether all bytes are forwarded unchanged and errors are only reported. After an error for which a
    /// direction would have been rejected, that direction is no longer checked.
    #[must_use]
    pub const fn with_report_only(mut self, report_only: bool) -> Self {
        self.requests.report_only = report_only;
        self.responses.report_only = report_only;
        self
    }

    /// Sets how a connection ends after a direction is rejected.
    #[must_use]
    pub fn with_rejection_policy(mut self, policy: RejectionPolicy) -> Self {
        let closes = policy == RejectionPolicy::Close;
        self.requests.closes = closes;
        self.responses.closes = closes;
        self
    }

    /// Ends a connection if no bytes are read or written for this time, for example because a peer does not read. There
    /// is no limit by default.
    #[must_use]
    pub const fn with_idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.limits.idle_timeout = Some(idle_timeout);
        self
    }

    /// Ends a connection if fewer bytes per second are read and written, in both directions together, averaged over ten
    /// seconds. There is no limit by default.
    #[must_use]
    pub const fn with_min_rate(mut self, bytes_per_second: u64) -> Self {
        self.limits.min_rate = bytes_per_second;
        self
    }

    /// Ends a connection after this time. There is no limit by default.
    #[must_use]
    pub const fn with_max_duration(mut self, max_duration: Duration) -> Self {
        self.limits.max_duration = Some(max_duration);
        self
    }

    /// Sets how long a connection continues after one direction is rejected, or after a write fails. The default is one
    /// second.
    #[must_use]
    pub const fn with_linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// Relays until both directions have ended. Events are reported to the observer. The observer can be a closure,
    /// which is called for each ill-formed sequence, repaired or not.
    ///
    /// The caller then closes both streams by dropping them. If [`RelayOutcome::reset`] is set, the caller resets them
    /// first.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, bytes that were read but not yet written are lost.
    pub async fn run<C, U>(
        &self,
        client: &mut C,
        upstream: &mut U,
        observer: impl RelayObserver,
    ) -> RelayOutcome
    where
        C: AsyncRead + AsyncWrite + Unpin,
        U: AsyncRead + AsyncWrite + Unpin,
    {
        self.run_until(client, upstream, observer, pending()).await
    }

    /// Same as [`run`](Self::run), but ends when `cancelled` completes.
    ///
    /// For a grace period pass `async { shutdown.await; sleep(grace).await }`.
    ///
    /// # Cancel safety
    ///
    /// Same as for [`run`](Self::run).
    pub async fn run_until<C, U>(
        &self,
        client: &mut C,
        upstream: &mut U,
        mut observer: impl RelayObserver,
        cancelled: impl Future<Output = ()>,
    ) -> RelayOutcome
    where
        C: AsyncRead + AsyncWrite + Unpin,
        U: AsyncRead + AsyncWrite + Unpin,
    {
        let mut requests = Pump::new(RelayDirection::Requests, self.requests.clone());
        let mut responses = Pump::new(RelayDirection::Responses, self.responses.clone());
        let mut first = None;
        let start = Instant::now();
        let mut deadline = Deadline::new(self.limits, start);
        let mut cancelled = pin!(cancelled);
        let mut timer = pin!(sleep_until(start + FAR));

        let end = poll_fn(|cx| {
            // `cancelled` is polled first, so that traffic cannot delay it.
            if cancelled.as_mut().poll(cx).is_ready() {
                return Poll::Ready(RelayEnd::Cancelled);
            }
            if let Some(end) = deadline.check(moved(&requests, &responses), Instant::now()) {
                return Poll::Ready(end);
            }
            let used_up = poll_turns(cx, &mut requests, &mut responses, client, upstream, &mut observer);
            if first.is_none() {
                first =
                    [&requests, &responses].into_iter().find(|pump| pump.has_stopped()).map(Pump::direction);
                if first.is_some() {
                    deadline.linger(self.linger, Instant::now());
                }
            }
            let broken = requests.is_broken() || responses.is_broken();
            if broken || (requests.is_done() && responses.is_done()) {
                return Poll::Ready(RelayEnd::Closed);
            }
            if used_up {
                // Unlike a plain wake-up, `yield_now` lets the runtime poll its I/O driver before this task.
                let _ = pin!(yield_now()).poll(cx);
                return Poll::Pending;
            }
            let now = Instant::now();
            if let Some(end) = deadline.check(moved(&requests, &responses), now) {
                return Poll::Ready(end);
            }
            let wake = deadline.next().unwrap_or(start + FAR);
            // Most timers never fire. A timer that fires early is reset, which is cheaper than resetting it at each
            // read.
            if wake < timer.deadline() {
                timer.as_mut().reset(wake);
            }
            while timer.as_mut().poll(cx).is_ready() {
                timer.as_mut().reset(wake.max(now + Duration::from_millis(1)));
            }
            Poll::Pending
        })
        .await;

        let requested = requests.flow();
        let responded = responses.flow();
        let [first, second] = match first {
            Some(RelayDirection::Responses) => [responses, requests],
            _ => [requests, responses],
        };
        // A direction that has not ended was cut by a time limit, by the failure of the other one or by the caller. Its
        // receiver must not assume that it is complete. After a rejection the other direction continues. If its source
        // fails, it has not ended cleanly.
        let is_cut = !(first.has_ended() && second.has_ended()) || second.is_broken();
        let end = first.into_stop().or(second.into_stop()).unwrap_or(end);
        let reset = match end {
            RelayEnd::Closed => false,
            RelayEnd::IllFormed(..) | RelayEnd::RejectedLine(..) => is_cut || !self.requests.closes,
            _ => true,
        };
        RelayOutcome { requests: requested, responses: responded, end, reset }
    }
}

/// Returns the number of bytes read and written in both directions.
fn moved(requests: &Pump, responses: &Pump) -> u64 {
    [requests.flow(), responses.flow()].iter().map(|flow| flow.read + flow.written).sum()
}

/// The time until the timer fires if there is no deadline: 30 years.
const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

/// Polls both directions alternately until neither can continue, or until [`TURN`] is used up. Returns whether it was
/// used up.
fn poll_turns<C, U>(
    cx: &mut Context<'_>,
    requests: &mut Pump,
    responses: &mut Pump,
    client: &mut C,
    upstream: &mut U,
    observer: &mut impl RelayObserver,
) -> bool
where
    C: AsyncRead + AsyncWrite + Unpin,
    U: AsyncRead + AsyncWrite + Unpin,
{
    let mut budget = TURN;
    let mut request_ready = true;
    let mut response_ready = true;
    // Whether a direction was not read because the replies to its lines are not written yet.
    let mut request_held = false;
    let mut response_held = false;
    while request_ready || response_ready {
        if request_ready {
            request_held = responses.has_many_replies();
            match requests.poll_cycle(cx, client, upstream, observer, !request_held) {
                Poll::Ready(cost) => budget = budget.saturating_sub(cost),
                Poll::Pending => request_ready = false,
            }
            response_ready |= requests.collect_replies(responses);
            response_ready |= response_held && !requests.has_many_replies();
            responses.notice_reset(requests);
        }
        if response_ready {
            response_held = requests.has_many_replies();
            match responses.poll_cycle(cx, upstream, client, observer, !response_held) {
                Poll::Ready(cost) => budget = budget.saturating_sub(cost),
                Poll::Pending => response_ready = false,
            }
            request_ready |= responses.collect_replies(requests);
            request_ready |= request_held && !responses.has_many_replies();
            requests.notice_reset(responses);
        }
        if budget == 0 {
            return true;
        }
    }
    false
}
