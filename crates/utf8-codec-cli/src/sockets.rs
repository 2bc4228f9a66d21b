//! System calls for sockets, descriptors and the service manager.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, sleep};

/// Binds a listener with a queue of this length.
pub(super) fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // On Windows this option would allow two programs to share a port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

/// Resets the connection when the socket is dropped, so that the peer detects that it did not end cleanly.
pub(super) fn reset(stream: &TcpStream) {
    // This only fails on a socket that is already closed.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Raises the soft limit of open files to `wanted`, but not above the hard limit. Returns the resulting limit, or
/// `None` if there is none.
#[cfg(unix)]
pub(super) fn descriptor_limit(wanted: usize) -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let now = limit.current?;
    let wanted = (wanted as u64).min(limit.maximum.unwrap_or(u64::MAX));
    if wanted <= now {
        return Some(now as usize);
    }
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    let limit = if setrlimit(Resource::Nofile, raised).is_ok() { wanted } else { now };
    Some(limit as usize)
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub(super) fn descriptor_limit(_: usize) -> Option<usize> {
    None
}

/// Whether a call failed because no descriptor was free, in the process or in the system.
#[cfg(unix)]
pub(super) fn is_out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;

    [Errno::MFILE, Errno::NFILE].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub(super) fn is_out_of_descriptors(_: &io::Error) -> bool {
    false
}

/// Sends a state to the service manager if it started the program (`sd_notify(3)`).
#[cfg(unix)]
pub(super) fn notify(state: &str) {
    use std::os::unix::net::UnixDatagram;

    let Some(path) = std::env::var_os("NOTIFY_SOCKET").filter(|path| !path.is_empty()) else { return };
    let sent = UnixDatagram::unbound().and_then(|socket| {
        #[cfg(target_os = "linux")]
        if let Some(name) = path.as_encoded_bytes().strip_prefix(b"@") {
            use std::os::linux::net::SocketAddrExt;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            return socket.send_to_addr(state.as_bytes(), &address);
        }
        socket.send_to(state.as_bytes(), path)
    });
    if let Err(error) = sent {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}

/// Other systems have no such service manager.
#[cfg(not(unix))]
pub(super) fn notify(_: &str) {}

/// Whether the IP address belongs to this machine. Otherwise a socket cannot be bound to it.
pub(super) fn is_own(address: SocketAddr) -> bool {
    std::net::UdpSocket::bind((address.ip(), 0)).is_ok()
}

/// Waits until the kernel of the peer has acknowledged all bytes, because a reset discards the others. Returns early if
/// the connection has failed, if there is no progress for `timeout`, or if fewer than `min_rate` bytes per second are
/// acknowledged, averaged over ten seconds. Returns at once if the system does not report unacknowledged bytes.
pub(super) async fn delivered(stream: &TcpStream, timeout: Duration, min_rate: u64) {
    // The kernel has no event for an acknowledgment. A peer that has not read for a while is asked about less often,
    // because many connections can wait at the same time.
    const FIRST_STEP: Duration = Duration::from_millis(5);
    const LAST_STEP: Duration = Duration::from_millis(100);
    const WINDOW: Duration = Duration::from_secs(10);
    let mut step = FIRST_STEP;
    let mut progress = Instant::now();
    let mut before = None;
    let mut window = Instant::now();
    let mut acked_before = None;
    while let Some(Unsent { segments, bytes, acked }) = unsent(stream) {
        let unsent = (segments, bytes);
        if unsent == (0, 0) {
            return;
        }
        if before != Some(unsent) {
            (progress, before) = (Instant::now(), Some(unsent));
        }
        let acked_before = acked_before.get_or_insert(acked);
        if window.elapsed() >= WINDOW {
            if acked - *acked_before < min_rate.saturating_mul(WINDOW.as_secs()) {
                return;
            }
            (window, *acked_before) = (Instant::now(), acked);
        }
        if progress.elapsed() >= timeout {
            return;
        }
        sleep(step).await;
        step = (step * 2).min(LAST_STEP);
    }
}

/// What a peer has not acknowledged.
struct Unsent {
    /// The number of segments that were sent and not acknowledged.
    segments: u32,
    /// The number of bytes that were not sent.
    bytes: u32,
    /// The number of bytes that were acknowledged.
    acked: u64,
}

/// Returns what the peer has not acknowledged, if the system reports it and the connection has not failed.
#[cfg(target_os = "linux")]
fn unsent(stream: &TcpStream) -> Option<Unsent> {
    // The ioctl macros require these names in scope.
    use nix::{getsockopt_impl, libc, sockopt_impl};

    // After a reset by the peer the state is TCP_CLOSE, and the counters keep their values.
    const TCP_CLOSE: u8 = 7;

    // `struct tcp_info` of linux/tcp.h: tcpi_state, tcpi_unacked, since Linux 4.1 tcpi_bytes_acked, and since 4.6
    // tcpi_notsent_bytes.
    sockopt_impl!(TcpInfo, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, [u32; 37]);
    let info = nix::sys::socket::getsockopt(stream, TcpInfo).ok()?;
    let [state, ..] = info[0].to_ne_bytes();
    if state == TCP_CLOSE {
        return None;
    }
    let [low, high] =
        if cfg!(target_endian = "little") { [info[30], info[31]] } else { [info[31], info[30]] };
    Some(Unsent { segments: info[6], bytes: info[36], acked: u64::from(high) << 32 | u64::from(low) })
}

/// Other systems do not report it.
#[cfg(not(target_os = "linux"))]
fn unsent(_: &TcpStream) -> Option<Unsent> {
    None
}
