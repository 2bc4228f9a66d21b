//! The pump around two filters.

use core::future::{Future, pending, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};

use crate::error::Utf8Error;
use crate::proxy::filter::Filter;
use crate::proxy::outcome::{Direction, End, Flow, Outcome};
use crate::proxy::pump::Pump;
use crate::text::TextDecoder;

/// Relays bytes between a client and an upstream server, through a [`Filter`] for each direction.
///
/// - Bytes are forwarded as they arrive, whole characters only.
/// - The end of one direction is handed on as a half-close; the other direction goes on.
/// - Back-pressure is kept: a direction has one buffer of 16 KiB, and reads again only when all of it was written.
///   A repair can make the text of one buffer at most four times as long; nothing else is buffered.
/// - A direction that is refused ([`ErrorPolicy::Strict`](crate::ErrorPolicy)) delivers all good bytes before the
///   ill-formed sequence, flushes, and shuts its side down in order. The other direction then has the time of
///   [`linger`](Self::linger) to end by itself, so that the answers to what was good arrive.
/// - A direction that breaks off (a reset) ends in the same way.
///
/// One `Relay` serves any number of connections.
///
/// ```
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use utf8_codec::proxy::{Direction, End, Relay};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (mut client, mut near) = tokio::io::duplex(64);
/// let (mut far, mut server) = tokio::io::duplex(64);
/// client.write_all(b"caf\xC3\xA9 \xFF").await?;
/// let relayed = tokio::spawn(async move {
///     Relay::new().run(&mut near, &mut far, |direction, error| {
///         assert_eq!((direction, error.offset), (Direction::Requests, 6));
///     }).await
/// });
///
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "café ", "what was good is delivered, in order");
/// drop((client, server));
/// assert!(matches!(relayed.await?.end, End::IllFormed(Direction::Requests, _)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Relay {
    requests: Option<Filter>,
    responses: Option<Filter>,
    idle_timeout: Option<Duration>,
    linger: Duration,
}

impl Default for Relay {
    fn default() -> Self {
        Self::new()
    }
}

impl Relay {
    /// Refuses ill-formed text in both directions and keeps the BOM.
    pub const fn new() -> Self {
        Self::with_decoder(TextDecoder::new())
    }

    /// Filters both directions with the policies of this decoder.
    pub const fn with_decoder(decoder: TextDecoder) -> Self {
        Self {
            requests: Some(Filter::with_decoder(decoder)),
            responses: Some(Filter::with_decoder(decoder)),
            idle_timeout: None,
            linger: Duration::from_secs(1),
        }
    }

    /// Filters only this direction: the bytes of the other one pass untouched.
    #[must_use]
    pub fn only(self, direction: Direction) -> Self {
        match direction {
            Direction::Requests => Self { responses: None, ..self },
            Direction::Responses => Self { requests: None, ..self },
        }
    }

    /// Ends a connection on which nothing moved for this time. A peer that does not read moves nothing. Unlimited
    /// unless it is set.
    #[must_use]
    pub const fn idle_timeout(self, idle_timeout: Duration) -> Self {
        Self { idle_timeout: Some(idle_timeout), ..self }
    }

    /// How long a connection goes on after the refusal or the failure of one direction; a second unless it is set.
    #[must_use]
    pub const fn linger(self, linger: Duration) -> Self {
        Self { linger, ..self }
    }

    /// Relays until both directions have ended. Every ill-formed sequence, repaired or not, goes to `report` when it
    /// is met; its offset counts the bytes of its own direction.
    ///
    /// Whatever the end is, the connection is over: the caller closes both streams by dropping them.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future cuts the connection: bytes that were read and not yet written are lost.
    pub async fn run<C, U>(
        &self,
        client: &mut C,
        upstream: &mut U,
        report: impl FnMut(Direction, Utf8Error),
    ) -> Outcome
    where
        C: AsyncRead + AsyncWrite + Unpin,
        U: AsyncRead + AsyncWrite + Unpin,
    {
        self.run_until(client, upstream, report, pending()).await
    }

    /// [`run`](Self::run) that is cut, wherever it stands, when `cancelled` completes.
    ///
    /// For a grace period let `cancelled` be `async { shutdown.await; sleep(grace).await }`.
    ///
    /// # Cancel safety
    ///
    /// That of [`run`](Self::run).
    pub async fn run_until<C, U>(
        &self,
        client: &mut C,
        upstream: &mut U,
        mut report: impl FnMut(Direction, Utf8Error),
        cancelled: impl Future<Output = ()>,
    ) -> Outcome
    where
        C: AsyncRead + AsyncWrite + Unpin,
        U: AsyncRead + AsyncWrite + Unpin,
    {
        let mut requests = Pump::new(Direction::Requests, self.requests.clone());
        let mut responses = Pump::new(Direction::Responses, self.responses.clone());
        let mut first = None;
        let mut deadline = Deadline::new(self.idle_timeout);
        let mut cancelled = pin!(cancelled);
        let mut timer = pin!(sleep_until(deadline.wake));

        let end = poll_fn(|cx| {
            let _ = requests.poll(cx, client, upstream, &mut report);
            let _ = responses.poll(cx, upstream, client, &mut report);

            if first.is_none() {
                first =
                    [&requests, &responses].into_iter().find(|pump| pump.has_stopped()).map(Pump::direction);
                if first.is_some() {
                    deadline.linger(self.linger);
                }
            }
            if requests.is_done() && responses.is_done() {
                return Poll::Ready(End::Closed);
            }
            if cancelled.as_mut().poll(cx).is_ready() {
                return Poll::Ready(End::Cancelled);
            }
            let moved = |flow: Flow| flow.read + flow.written;
            deadline.see(moved(requests.flow()) + moved(responses.flow()));
            if deadline.wake < timer.deadline() {
                timer.as_mut().reset(deadline.wake);
            }
            while timer.as_mut().poll(cx).is_ready() {
                if deadline.wake <= timer.deadline() {
                    return Poll::Ready(End::Idle);
                }
                timer.as_mut().reset(deadline.wake);
            }
            Poll::Pending
        })
        .await;

        let (requested, responded) = (requests.flow(), responses.flow());
        let [first, second] = match first {
            Some(Direction::Responses) => [responses, requests],
            _ => [requests, responses],
        };
        let end = first.into_stop().or(second.into_stop()).unwrap_or(end);
        Outcome { requests: requested, responses: responded, end }
    }
}

/// When a connection is over though nothing ended it.
struct Deadline {
    idle_timeout: Option<Duration>,
    moved: u64,
    lingers: bool,
    wake: Instant,
}

impl Deadline {
    fn new(idle_timeout: Option<Duration>) -> Self {
        Self { idle_timeout, moved: 0, lingers: false, wake: after(idle_timeout) }
    }

    /// How much has moved so far.
    fn see(&mut self, moved: u64) {
        if moved != self.moved && !self.lingers {
            self.moved = moved;
            self.wake = after(self.idle_timeout);
        }
    }

    /// The connection has this long to end, and no longer than it may be idle.
    fn linger(&mut self, linger: Duration) {
        self.lingers = true;
        self.wake = self.wake.min(after(Some(linger)));
    }
}

/// Now and this much more; a time that nobody sees if there is none, or if the clock does not reach that far.
fn after(duration: Option<Duration>) -> Instant {
    const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);
    let now = Instant::now();
    duration.and_then(|duration| now.checked_add(duration)).unwrap_or_else(|| now + FAR)
}
