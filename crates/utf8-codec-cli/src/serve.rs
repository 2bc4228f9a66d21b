//! `utf8-codec serve`: a server that responds to each line with its text and length.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::sync::Arc;

use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::io::{AsyncRead, ReadBuf, split};
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_util::codec::{FramedRead, FramedWrite};
use tokio_util::sync::CancellationToken;
use tracing::{Level, info};
use utf8_codec::codec::{CodecError, Utf8LinesCodec};
use utf8_codec::{LineEnding, TextDecoder};
use utf8_codec_proxy::RelayDirection;

use crate::address::ListenAddress;
use crate::args::{PolicyArgs, whole_number};
use crate::net::Listener;
use crate::outcome::CommandResult;
use crate::server::{Capacity, Connection, ConnectionReports, Service, announce, close};
use crate::signals::Signals;

/// Respond to every line over TCP with its text and length
///
/// The response to a line is `line N: C characters: TEXT`. The response to an ill-formed line is `line N: ill-formed
/// UTF-8 at byte OFFSET (KIND, LEN bytes)`; OFFSET counts from the start of the connection.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Address to accept connections on, unix:PATH, or systemd for a socket that it passes; port 0 selects a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7007")]
    listen: ListenAddress,
    /// Maximum bytes of a line; a longer line is reported once and skipped
    #[arg(long, value_name = "N", default_value_t = Utf8LinesCodec::DEFAULT_MAX_LENGTH, value_parser = whole_number::<usize>)]
    max_line: usize,
    #[command(flatten)]
    policies: PolicyArgs,
    #[command(flatten)]
    service: Service,
}

impl Args {
    pub(super) fn run(self) -> CommandResult {
        self.service.run(async |_, mut passed| {
            let mut signals = Signals::new()?;
            let listener = self.service.listen(&self.listen, &mut passed).await?;
            passed.all_taken()?;
            announce(&listener)?;
            let decoder = self.policies.decoder();
            let max_line = self.max_line;
            let idle_timeout = self.service.idle_timeout();
            let server = LineServer { decoder, max_line, idle_timeout, logs_connections: true };
            let capacity = self.service.capacity(1);
            server.run(&self.service, listener, capacity, async || signals.next().await).await;
            Ok(())
        })
    }
}

/// The settings of a line server, which all connections share.
#[derive(Clone, Debug)]
pub(super) struct LineServer {
    pub(super) decoder: TextDecoder,
    pub(super) max_line: usize,
    pub(super) idle_timeout: Option<Duration>,
    /// Whether the end of a connection is logged.
    pub(super) logs_connections: bool,
}

impl LineServer {
    pub(super) async fn run(
        self,
        service: &Service,
        listener: Listener,
        capacity: Capacity,
        signal: impl AsyncFnMut(),
    ) {
        let cut = CancellationToken::new();
        // A timeout of `Duration::MAX` never elapses.
        let idle_timeout = self.idle_timeout.unwrap_or(Duration::MAX);
        let token = cut.clone();
        let server = Arc::new(self);
        let session = move |connection: Connection| {
            let cut = token.clone();
            let server = Arc::clone(&server);
            async move {
                let number = connection.number;
                let peer = connection.peer;
                let log = Arc::clone(&connection.log);
                let end = tokio::select! {
                    ended = server.session(connection, idle_timeout) => match ended {
                        Ok(()) => "closed".to_owned(),
                        Err(error) => error.to_string(),
                    },
                    () = cut.cancelled() => "cut".to_owned(),
                };
                if server.logs_connections {
                    log.line(Level::INFO, peer.ip(), |held_back| {
                        info!(connection = number, %peer, end, held_back, "connection closed");
                    });
                }
            }
        };
        service.accept(listener, capacity, signal, cut, session, |_| {}).await;
    }

    /// Responds until the peer has no more lines. Reading stops while the peer does not read the responses.
    async fn session(&self, connection: Connection, idle_timeout: Duration) -> io::Result<()> {
        let mut reports = ConnectionReports::of(&connection);
        let mut stream = connection.stream;
        stream.set_nodelay()?;
        let (requests, answers) = split(&mut stream);
        let requests = NotSilent::new(requests, idle_timeout);
        let codec = Utf8LinesCodec::with_decoder(self.decoder.clone()).with_max_length(self.max_line);
        let mut lines = FramedRead::new(requests, codec);
        // The text of a line may end with CR, and the response ends with that text. `LineEnding::Lf` accepts it; the
        // default would return an error.
        let mut answers = FramedWrite::new(answers, Utf8LinesCodec::new().with_line_ending(LineEnding::Lf));
        for number in 1_u64.. {
            let line = match lines.next().now_or_never() {
                Some(line) => line,
                // No input is buffered, so the responses are flushed before waiting for more.
                None => {
                    within(idle_timeout, SinkExt::<String>::flush(&mut answers)).await??;
                    lines.next().await
                }
            };
            let answer = match line.transpose()? {
                None => break,
                Some(Ok(text)) => format!("line {number}: {} characters: {text}", text.chars().count()),
                Some(Err(CodecError::IllFormed { error, .. })) => {
                    reports.ill_formed(RelayDirection::Requests, error);
                    format!("line {number}: {error}")
                }
                Some(Err(CodecError::LineTooLong { limit, .. })) => {
                    format!("line {number}: longer than {limit} bytes")
                }
                Some(Err(error)) => return Err(error.into()),
            };
            within(idle_timeout, answers.feed(answer)).await??;
        }
        within(idle_timeout, SinkExt::<String>::flush(&mut answers)).await??;
        close(stream).await;
        Ok(())
    }
}

/// A reader that returns an error if no bytes arrive within the timeout.
struct NotSilent<R> {
    inner: R,
    timeout: Duration,
    deadline: Pin<Box<Sleep>>,
}

impl<R> NotSilent<R> {
    fn new(inner: R, timeout: Duration) -> Self {
        Self { inner, timeout, deadline: Box::pin(sleep(timeout)) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for NotSilent<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Poll::Ready(read) = Pin::new(&mut self.inner).poll_read(cx, buffer) else {
            return self.deadline.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
        };
        if let Some(deadline) = Instant::now().checked_add(self.timeout) {
            self.deadline.as_mut().reset(deadline);
        }
        Poll::Ready(read)
    }
}

/// Waits for a future, with a timeout.
async fn within<T>(time: Duration, future: impl Future<Output = T>) -> io::Result<T> {
    Ok(timeout(time, future).await?)
}
