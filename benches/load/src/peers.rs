//! The peers of the proxies: a server with a behavior for each connection, and clients that compare hashes.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::text::{Digest, Rng};

/// The time limit of an exchange, which is long enough for a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// The length of the header of a connection, which selects the behavior of the server.
const HEADER: usize = 20;

/// The behavior of the server on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// Sends back the bytes that it receives.
    Echo,
    /// Sends back the bytes that it receives, in random chunks and with pauses.
    CutEcho,
    /// Reads to the end and records the bytes that it received.
    Record,
    /// Same as `Record`, but reads nothing in the first second.
    RecordLate,
    /// Sends back the first bytes that it receives, up to this number, then resets the connection.
    Reset(u64),
}

impl Behavior {
    /// Returns the header of connection `id`. It is neither echoed nor recorded.
    pub fn header(self, id: u32) -> String {
        let (name, argument) = match self {
            Self::Echo => ('e', 0),
            Self::CutEcho => ('c', 0),
            Self::Record => ('r', 0),
            Self::RecordLate => ('l', 0),
            Self::Reset(after) => ('x', after),
        };
        format!("{name}{id:08x}{argument:010}\n")
    }

    fn parse(header: &[u8; HEADER]) -> Option<(Self, u32)> {
        let text = str::from_utf8(header).ok()?;
        let behavior = match text.as_bytes()[0] {
            b'e' => Self::Echo,
            b'c' => Self::CutEcho,
            b'r' => Self::Record,
            b'l' => Self::RecordLate,
            b'x' => Self::Reset(text[9..19].parse().ok()?),
            _ => return None,
        };
        Some((behavior, u32::from_str_radix(&text[1..9], 16).ok()?))
    }
}

/// The data that one side of a connection received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Length and hash.
    pub digest: (u64, u64),
    /// Whether it ended in a reset.
    pub reset: bool,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    pub address: SocketAddr,
    records: Arc<Mutex<HashMap<u32, Received>>>,
    task: JoinHandle<()>,
}

/// Creates a listener whose queue is long enough for a burst.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}

/// Returns an address of the loopback interface without a listener.
pub fn free_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address")
}

impl Server {
    pub fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().expect("an address")).expect("a free port")
    }

    pub fn start_at(address: SocketAddr) -> io::Result<Self> {
        let listener = listen(address)?;
        let address = listener.local_addr()?;
        let records = Arc::<Mutex<HashMap<_, _>>>::default();
        let recorded = Arc::clone(&records);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => match accepted {
                        Ok((stream, _)) => {
                            let records = Arc::clone(&recorded);
                            connections.spawn(async move {
                                // The client reports missing data.
                                let _ = serve(stream, &records).await;
                            });
                        }
                        Err(error) => {
                            eprintln!("the server cannot accept: {error}");
                            sleep(Duration::from_millis(100)).await;
                        }
                    },
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Ok(Self { address, records, task })
    }

    /// Waits until connection `id` has ended. Returns the data that it received.
    pub async fn record(&self, id: u32) -> Option<Received> {
        let found = async {
            loop {
                if let Some(record) = self.records.lock().expect("no panic").remove(&id) {
                    return record;
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(TIMEOUT, found).await.ok()
    }
}

impl Drop for Server {
    /// Closes the listener and resets its connections.
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub fn reset(stream: &TcpStream) {
    let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

async fn serve(mut stream: TcpStream, records: &Mutex<HashMap<u32, Received>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    // Resets a connection that is aborted, even when the server is dropped.
    reset(&stream);
    let in_order = behave(&mut stream, records).await?;
    if in_order {
        socket2::SockRef::from(&stream).set_linger(None)?;
    }
    Ok(())
}

/// Returns whether the connection ends cleanly.
async fn behave(stream: &mut TcpStream, records: &Mutex<HashMap<u32, Received>>) -> io::Result<bool> {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header).await?;
    let (behavior, id) = Behavior::parse(&header).ok_or(io::ErrorKind::InvalidData)?;
    let mut rng = Rng::new(id.into());
    match behavior {
        Behavior::Echo | Behavior::CutEcho => {
            let mut buffer = vec![0; if behavior == Behavior::Echo { 4 * 1024 } else { 64 * 1024 }];
            loop {
                let read = stream.read(&mut buffer).await?;
                if read == 0 {
                    break;
                }
                if behavior == Behavior::Echo {
                    stream.write_all(&buffer[..read]).await?;
                } else {
                    write_cut(stream, &buffer[..read], &mut rng).await?;
                }
            }
            stream.shutdown().await.map(|()| true)
        }
        Behavior::Record | Behavior::RecordLate => {
            if behavior == Behavior::RecordLate {
                sleep(Duration::from_secs(1)).await;
            }
            let received = receive(stream).await;
            records.lock().expect("no panic").insert(id, received);
            Ok(true)
        }
        Behavior::Reset(after) => {
            let (mut left, mut buffer) = (after as usize, vec![0; 16 * 1024]);
            while left > 0 {
                let room = left.min(buffer.len());
                let read = stream.read(&mut buffer[..room]).await?;
                if read == 0 {
                    return Ok(true);
                }
                stream.write_all(&buffer[..read]).await?;
                left -= read;
            }
            Ok(false)
        }
    }
}

/// Reads to the end.
pub async fn receive(stream: &mut (impl AsyncRead + Unpin)) -> Received {
    let (mut digest, mut buffer) = (Digest::default(), vec![0; 64 * 1024]);
    let reset = loop {
        match stream.read(&mut buffer).await {
            Ok(0) => break false,
            Ok(read) => digest.update(&buffer[..read]),
            Err(_) => break true,
        }
    };
    Received { digest: digest.value(), reset }
}

/// Writes random chunks of 1 byte to 16 KiB, with short pauses.
async fn write_cut(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8], rng: &mut Rng) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let most = [7, 300, 16 * 1024][rng.below(3)];
        let (cut, after) = rest.split_at((1 + rng.below(most)).min(rest.len()));
        to.write_all(cut).await?;
        if rng.below(8) == 0 {
            sleep(Duration::from_millis(1 + rng.next() % 3)).await;
        }
        rest = after;
    }
    Ok(())
}

/// Connects and sends the header.
pub async fn open(address: SocketAddr, behavior: Behavior, id: u32) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    stream.write_all(behavior.header(id).as_bytes()).await?;
    Ok(stream)
}

/// Sends bytes in random chunks, ends the direction, and returns the response.
pub async fn exchange(
    address: SocketAddr,
    behavior: Behavior,
    id: u32,
    bytes: &[u8],
) -> Result<Received, String> {
    let exchange = async {
        let mut stream = open(address, behavior, id).await?;
        let (mut read, mut write) = stream.split();
        let mut rng = Rng::new(u64::from(id) << 32);
        let send = async {
            write_cut(&mut write, bytes, &mut rng).await?;
            write.shutdown().await
        };
        let (sent, mut received) = tokio::join!(send, receive(&mut read));
        // The system reports a reset only once, to a read or to a write. After a write reported it, a read returns a
        // normal end.
        received.reset |= sent.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset);
        io::Result::Ok(received)
    };
    match timeout(TIMEOUT, exchange).await {
        Ok(received) => received.map_err(|error| error.to_string()),
        Err(_) => Err("no end".to_owned()),
    }
}

/// Sends a line to an echo server and waits for the echo.
pub async fn ping(stream: &mut TcpStream) -> Result<(), String> {
    let ping = async {
        stream.write_all(b"ping\n").await?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).await?;
        io::Result::Ok(answer)
    };
    match timeout(TIMEOUT, ping).await {
        Ok(Ok(answer)) if &answer == b"ping\n" => Ok(()),
        Ok(Ok(answer)) => Err(format!("{answer:?} came back")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer".to_owned()),
    }
}
