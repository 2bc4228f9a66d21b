//! The PROXY protocol: a header before the first byte of a connection, with the addresses of the client.
//!
//! Versions 1 and 2 of <https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt> (sections 2.1 and 2.2). The crates
//! for it are not used: the result of `ppp` 2.3 depends on where the header is cut, `proxy-header` 0.1.3 accepts other
//! lines than those of the standard, and neither verifies the checksum.

use core::fmt::Display;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::str::FromStr;
use core::time::Duration;

use clap::ValueEnum;
use ipnet::IpNet;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

use crate::net::Peer;

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const NAME: &[u8] = b"PROXY ";

/// The length of the shortest header of both versions.
const SHORTEST: usize = b"PROXY UNKNOWN\r\n".len();

/// The maximum length of version 1, in the standard.
const MAX_LINE: usize = 107;

/// The length of version 2 before its addresses, and the maximum length with them and the fields (as in nginx).
const FIXED: usize = 16;
const MAX_LENGTH: usize = 4096;

/// The type of the field that has the checksum.
const CRC32C: u8 = 0x03;

/// The time limit for a header. The standard recommends 3 seconds or more, for a segment that is sent again.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Version {
    /// One line of text
    V1,
    /// Binary
    V2,
}

/// The peers of this program that send a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    Network(IpNet),
    /// All clients of a Unix socket.
    Unix,
}

impl Sender {
    pub(super) const LOOPBACK: Self = Self::Network(IpNet::new_assert(IpAddr::V4(Ipv4Addr::LOCALHOST), 32));

    pub(super) fn is(self, peer: Peer) -> bool {
        match (self, peer) {
            (Self::Network(network), Peer::Tcp(address)) => network.contains(&address.ip().to_canonical()),
            (Self::Unix, Peer::Unix { .. }) => true,
            _ => false,
        }
    }
}

impl FromStr for Sender {
    type Err = &'static str;

    fn from_str(value: &str) -> Result<Self, Self::Err> {
        if value == "unix" {
            return Ok(Self::Unix);
        }
        let network = value.parse().or_else(|_| value.parse::<IpAddr>().map(IpNet::from));
        network.map(Self::Network).map_err(|_| "expected an IP address, ADDRESS/LENGTH, or unix")
    }
}

/// The two ends of the connection of the client, of one address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Endpoints {
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
}

impl Endpoints {
    /// Returns `None` if the families differ.
    pub(super) fn new(client: SocketAddr, server: SocketAddr) -> Option<Self> {
        let [client, server] =
            [client, server].map(|end| SocketAddr::new(end.ip().to_canonical(), end.port()));
        (client.is_ipv4() == server.is_ipv4()).then_some(Self { client, server })
    }

    /// Returns a header with these addresses, or one that says that they are not known.
    pub(super) fn encode(endpoints: Option<Self>, version: Version) -> Vec<u8> {
        match (version, endpoints) {
            (Version::V1, None) => b"PROXY UNKNOWN\r\n".to_vec(),
            (Version::V1, Some(Self { client, server })) => {
                let family = if client.is_ipv4() { "TCP4" } else { "TCP6" };
                let ends = [client.ip(), server.ip()];
                format!("PROXY {family} {} {} {} {}\r\n", ends[0], ends[1], client.port(), server.port())
                    .into()
            }
            (Version::V2, None) => [SIGNATURE, &[0x21, 0, 0, 0]].concat(),
            (Version::V2, Some(Self { client, server })) => {
                let ports = [client.port().to_be_bytes(), server.port().to_be_bytes()].concat();
                let (family, length) = if client.is_ipv4() { (0x11, 12) } else { (0x21, 36) };
                [SIGNATURE, &[0x21, family, 0, length], &octets(client), &octets(server), &ports].concat()
            }
        }
    }
}

fn octets(address: SocketAddr) -> Vec<u8> {
    match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

/// Why a connection has no header, or a malformed one.
type Invalid = &'static str;

/// What the first bytes of a header say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parsed {
    /// So many bytes are missing at least.
    Incomplete(usize),
    /// The addresses are `None` if they are those of the connection itself: `UNKNOWN`, `LOCAL`, Unix sockets.
    Complete(Option<Endpoints>),
}

/// Reads a header, and no byte after it.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Option<Endpoints>, Invalid> {
    let read = async {
        let mut header = Vec::with_capacity(FIXED);
        loop {
            let missing = match parse(&header)? {
                Parsed::Complete(endpoints) => return Ok(endpoints),
                Parsed::Incomplete(missing) => missing as u64,
            };
            match (&mut *stream).take(missing).read_buf(&mut header).await {
                Ok(1..) => {}
                Ok(0) if header.is_empty() => return Err("the connection ended before it"),
                Ok(0) => return Err("the connection ended inside it"),
                Err(_) => return Err("the connection failed before its end"),
            }
        }
    };
    timeout(TIMEOUT, read).await.unwrap_or(Err("it did not arrive within 5 seconds"))
}

/// Parses a header that begins with these bytes. `Incomplete` never asks for a byte after a valid header.
fn parse(header: &[u8]) -> Result<Parsed, Invalid> {
    match header.first() {
        None => Ok(Parsed::Incomplete(SHORTEST)),
        _ if agrees(header, NAME) => parse_line(header),
        _ if agrees(header, SIGNATURE) => parse_binary(header),
        _ => Err("the first bytes are not those of one"),
    }
}

/// Whether the bytes so far are those of a start.
fn agrees(header: &[u8], start: &[u8]) -> bool {
    header.iter().zip(start).all(|(byte, expected)| byte == expected)
}

fn parse_line(header: &[u8]) -> Result<Parsed, Invalid> {
    if header.len() < MAX_LINE && !header.contains(&b'\n') {
        let terminator = if header.ends_with(b"\r") { 1 } else { 2 };
        return Ok(Parsed::Incomplete(terminator.max(SHORTEST.saturating_sub(header.len()))));
    }
    let line = header.strip_suffix(b"\r\n").filter(|line| line.len() + 2 <= MAX_LINE);
    let line = line.and_then(|line| str::from_utf8(line).ok());
    let mut words = line.filter(|line| !line.contains(['\r', '\n'])).unwrap_or_default().split(' ').skip(1);
    let endpoints = match words.next() {
        // The standard says to ignore the rest of the line.
        Some("UNKNOWN") => return Ok(Parsed::Complete(None)),
        Some("TCP4") => words_of::<Ipv4Addr>(&mut words),
        Some("TCP6") => words_of::<Ipv6Addr>(&mut words),
        _ => None,
    };
    match endpoints.filter(|_| words.next().is_none()) {
        Some([client, server]) => Ok(Parsed::Complete(Some(Endpoints { client, server }))),
        None => Err("the line is malformed or longer than 107 bytes"),
    }
}

fn words_of<'w, A: FromStr + Into<IpAddr>>(
    words: &mut impl Iterator<Item = &'w str>,
) -> Option<[SocketAddr; 2]> {
    let [client, server] = [words.next()?.parse::<A>().ok()?, words.next()?.parse::<A>().ok()?];
    let [from, to] = [exact(words.next()?)?, exact(words.next()?)?];
    Some([SocketAddr::new(client.into(), from), SocketAddr::new(server.into(), to)])
}

/// Parses a number that is written as it is printed: without a sign and without a zero before it.
fn exact<N: FromStr + Display>(word: &str) -> Option<N> {
    word.parse::<N>().ok().filter(|number| number.to_string() == word)
}

fn parse_binary(header: &[u8]) -> Result<Parsed, Invalid> {
    let Some((fixed, rest)) = header.split_first_chunk::<FIXED>() else {
        return Ok(Parsed::Incomplete(FIXED - header.len()));
    };
    let length = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if FIXED + length > MAX_LENGTH {
        return Err("it is longer than 4096 bytes");
    }
    let is_local = match fixed[12] {
        0x20 => true,
        0x21 => false,
        _ => return Err("its version or command is not known"),
    };
    // The length of the addresses: none, IPv4, IPv6, Unix; streams and datagrams.
    let addresses = match fixed[13] {
        0x00 => 0,
        // The standard says to ignore the family and the rest.
        _ if is_local => length,
        0x11 | 0x12 => 12,
        0x21 | 0x22 => 36,
        0x31 | 0x32 => 216,
        _ => return Err("its address family is not known"),
    };
    if length < addresses {
        return Err("it is too short for its addresses");
    }
    if rest.len() < length {
        return Ok(Parsed::Incomplete(length - rest.len()));
    }
    check_fields(header, FIXED + addresses)?;
    let endpoints = match (is_local, fixed[13]) {
        (false, 0x11) => ends::<4>(rest),
        (false, 0x21) => ends::<16>(rest),
        _ => None,
    };
    Ok(Parsed::Complete(endpoints))
}

fn ends<const N: usize>(block: &[u8]) -> Option<Endpoints>
where
    IpAddr: From<[u8; N]>,
{
    let (client, rest) = block.split_first_chunk::<N>()?;
    let (server, rest) = rest.split_first_chunk::<N>()?;
    let (ports, _) = rest.split_first_chunk::<4>()?;
    let [a, b, c, d] = *ports;
    Some(Endpoints {
        client: SocketAddr::new((*client).into(), u16::from_be_bytes([a, b])),
        server: SocketAddr::new((*server).into(), u16::from_be_bytes([c, d])),
    })
}

/// Skips the fields from a position on (type, length, value), and verifies the checksum if there is one.
fn check_fields(header: &[u8], mut at: usize) -> Result<(), Invalid> {
    const INCOMPLETE: Invalid = "one of its fields is incomplete";
    while let Some(field) = header.get(at..).filter(|field| !field.is_empty()) {
        let &[kind, high, low, ref rest @ ..] = field else { return Err(INCOMPLETE) };
        let value = rest.get(..usize::from(u16::from_be_bytes([high, low]))).ok_or(INCOMPLETE)?;
        let start = at + 3;
        at = start + value.len();
        if kind == CRC32C {
            // The checksum is that of the header with zeros in its place.
            let crc = [&header[..start], &[0; 4], &header[at..]].into_iter().flatten().fold(!0, crc32c);
            if value != (!crc).to_be_bytes() {
                return Err("its checksum is wrong");
            }
        }
    }
    Ok(())
}

/// Adds a byte to a CRC-32C (RFC 9260 appendix A), before its final inversion.
fn crc32c(crc: u32, byte: &u8) -> u32 {
    (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ (0x82F6_3B78 & (crc & 1).wrapping_neg()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a header of which each read returns at most `size` bytes. Returns the number of bytes read, too.
    fn parse_in_reads(bytes: &[u8], size: usize) -> (Result<Option<Endpoints>, Invalid>, usize) {
        let mut end = 0;
        loop {
            match parse(&bytes[..end]) {
                Ok(Parsed::Incomplete(missing)) if end < bytes.len() => {
                    assert!(missing > 0);
                    end = (end + missing.min(size)).min(bytes.len());
                }
                Ok(Parsed::Incomplete(_)) => return (Err("incomplete"), end),
                Ok(Parsed::Complete(endpoints)) => return (Ok(endpoints), end),
                Err(invalid) => return (Err(invalid), end),
            }
        }
    }

    /// Returns the result, which must be the same for every size of the reads. A valid header is read to its end.
    #[track_caller]
    fn parse_whole(header: &[u8]) -> Result<Option<Endpoints>, Invalid> {
        let bytes = [header, b"\r\n\xFF"].concat();
        let (result, _) = parse_in_reads(&bytes, usize::MAX);
        for size in 1..=header.len() {
            let (same, end) = parse_in_reads(&bytes, size);
            assert_eq!(same, result, "reads of {size} bytes of {}", header.escape_ascii());
            assert!(same.is_err() || end == header.len(), "read {end} of {} bytes", header.len());
        }
        result
    }

    fn ends(client: &str, server: &str) -> Result<Option<Endpoints>, Invalid> {
        let [client, server] = [client, server].map(|address| address.parse().unwrap());
        Ok(Some(Endpoints { client, server }))
    }

    fn binary(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
        let length = u16::try_from(block.len()).unwrap().to_be_bytes();
        [SIGNATURE, &[command, family], &length, block].concat()
    }

    #[test]
    fn valid_headers_are_read_to_their_end_however_they_are_cut() {
        let v4 = b"\x7F\0\0\x01\xC0\xA8\0\x01\x30\x39\x01\xBB";
        let fields = b"\x04\0\x02xx\x05\0\0\xEE\0\x01\xFF";
        let v6 = [&[0x20, 1, 0xD, 0xB8][..], &[0; 11], &[9], &[0; 15], &[1], b"\x30\x39\x01\xBB"].concat();
        let both = ends("127.0.0.1:12345", "192.168.0.1:443");
        for (header, expected) in [
            (b"PROXY TCP4 127.0.0.1 192.168.0.1 12345 443\r\n".to_vec(), both),
            (b"PROXY TCP6 2001:db8::9 ::1 12345 443\r\n".to_vec(), ends("[2001:db8::9]:12345", "[::1]:443")),
            (b"PROXY UNKNOWN\r\n".to_vec(), Ok(None)),
            (format!("PROXY UNKNOWN {}\r\n", "f".repeat(91)).into(), Ok(None)),
            (binary(0x21, 0x11, v4), both),
            (binary(0x21, 0x11, &[&v4[..], fields].concat()), both),
            (binary(0x21, 0x21, &v6), ends("[2001:db8::9]:12345", "[::1]:443")),
            // Datagrams, Unix sockets, nothing, and anything in a health check.
            (binary(0x21, 0x12, v4), Ok(None)),
            (binary(0x21, 0x31, &[b'/'; 216]), Ok(None)),
            (binary(0x21, 0x00, fields), Ok(None)),
            (binary(0x20, 0x11, b""), Ok(None)),
            (binary(0x20, 0xFF, b"anything"), Ok(None)),
            (binary(0x21, 0x00, &[&[0xEE, 0x0F, 0xED][..], &[0; MAX_LENGTH - FIXED - 3]].concat()), Ok(None)),
        ] {
            assert_eq!(parse_whole(&header), expected, "{}", header.escape_ascii());
        }
    }

    #[test]
    fn invalid_headers_are_rejected_however_they_are_cut() {
        let line = |rest: &str| format!("PROXY {rest}\r\n").into_bytes();
        let long = line(&format!("UNKNOWN {}", "f".repeat(92)));
        for (header, reason) in [
            (b"GET / HTTP/1.1\r\n".to_vec(), "first bytes"),
            (b"PROXYTCP4 1.1.1.1 1.1.1.1 1 1\r\n".to_vec(), "first bytes"),
            (b"\r\n\r\n\0\r\nQUIT\r".to_vec(), "first bytes"),
            (long, "107 bytes"),
            (b"PROXY UNKNOWN\n".to_vec(), "malformed"),
            (line("UNKNOWN\r"), "malformed"),
            (line("UNKNOWNS"), "malformed"),
            (line("UDP4 1.1.1.1 1.1.1.1 1 1"), "malformed"),
            (line("TCP4 1.1.1.1 1.1.1.1 1"), "malformed"),
            (line("TCP4 1.1.1.1 1.1.1.1 1 1 "), "malformed"),
            (line("TCP4 1.1.1.1  1.1.1.1 1 1"), "malformed"),
            (line("TCP4 ::1 ::1 1 1"), "malformed"),
            (line("TCP4 1.1.1.01 1.1.1.1 1 1"), "malformed"),
            (line("TCP4 1.1.1.1 1.1.1.1 +1 1"), "malformed"),
            (line("TCP4 1.1.1.1 1.1.1.1 1 01"), "malformed"),
            (line("TCP4 1.1.1.1 1.1.1.1 1 65536"), "malformed"),
            (line("TCP6 ::1 ::1%lo 1 1"), "malformed"),
            (binary(0x11, 0x11, &[0; 12]), "version"),
            (binary(0x22, 0x11, &[0; 12]), "version"),
            (binary(0x21, 0x13, &[0; 12]), "family"),
            (binary(0x21, 0x11, &[0; 11]), "too short"),
            (binary(0x21, 0x31, &[0; 215]), "too short"),
            (binary(0x21, 0x00, &[0xEE, 0, 2, 1]), "fields"),
            (binary(0x21, 0x00, &[0xEE, 0]), "fields"),
            (binary(0x21, 0x00, &[0; MAX_LENGTH - FIXED + 1]), "4096 bytes"),
        ] {
            let result = parse_whole(&header);
            assert!(
                result.is_err_and(|error| error.contains(reason)),
                "{} {result:?}",
                header.escape_ascii()
            );
        }
    }

    #[test]
    fn the_checksum_covers_every_bit_of_the_addresses() {
        assert_eq!(!b"123456789".iter().fold(!0, crc32c), 0xE306_9283, "RFC 3720 appendix B.4");
        // A health check of HAProxy.
        let health = b"\r\n\r\n\0\r\nQUIT\n \0\0\x0f\x03\0\x04\x88\x9d\xa1\xdf \0\x05\0\0\0\0\0";
        assert_eq!(parse_whole(health), Ok(None));
        let mut header = binary(0x21, 0x11, b"\x7F\0\0\x01\xC0\xA8\0\x01\x30\x39\x01\xBB\x03\0\x04\0\0\0\0");
        let crc = !header.iter().fold(!0, crc32c);
        header[31..].copy_from_slice(&crc.to_be_bytes());
        assert!(parse_whole(&header).is_ok());
        for bit in FIXED * 8..(FIXED + 12) * 8 {
            header[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse(&header), Err("its checksum is wrong"));
            header[bit / 8] ^= 1 << (bit % 8);
        }
        let length = binary(0x21, 0x00, b"\x03\0\x03\0\0\0");
        assert_eq!(parse(&length), Err("its checksum is wrong"));
    }

    #[test]
    fn a_header_that_is_written_can_be_read() {
        let endpoints =
            |client: &str, server: &str| Endpoints::new(client.parse().unwrap(), server.parse().unwrap());
        for version in [Version::V1, Version::V2] {
            for (client, server) in [("127.0.0.1:1", "10.0.0.1:65535"), ("[::1]:1", "[2001:db8::1]:7")] {
                let ends = endpoints(client, server);
                assert!(ends.is_some());
                assert_eq!(parse_whole(&Endpoints::encode(ends, version)), Ok(ends));
            }
            let mapped = endpoints("[::ffff:127.0.0.1]:1", "10.0.0.1:2");
            assert_eq!(mapped, endpoints("127.0.0.1:1", "10.0.0.1:2"));
            let unknown = endpoints("127.0.0.1:1", "[::1]:1");
            assert_eq!(parse_whole(&Endpoints::encode(unknown, version)), Ok(None));
        }
    }

    #[test]
    fn a_sender_is_a_network_an_address_or_unix() {
        let tcp = |address: &str| Peer::Tcp(address.parse().unwrap());
        let unix = Peer::Unix { uid: None, pid: None };
        for (sender, peer, is) in [
            ("10.0.0.0/8", tcp("10.1.2.3:4"), true),
            ("10.0.0.0/8", tcp("[::ffff:10.1.2.3]:4"), true),
            ("10.0.0.0/8", tcp("11.0.0.1:4"), false),
            ("10.0.0.0/8", unix, false),
            ("::1", tcp("[::1]:4"), true),
            ("::1", tcp("[::2]:4"), false),
            ("0.0.0.0/0", tcp("[::2]:4"), false),
            ("unix", unix, true),
            ("unix", tcp("127.0.0.1:4"), false),
        ] {
            assert_eq!(sender.parse::<Sender>().unwrap().is(peer), is, "{sender} {peer}");
        }
        assert!("10.0.0.0/33".parse::<Sender>().is_err() && "lan".parse::<Sender>().is_err());
    }
}
