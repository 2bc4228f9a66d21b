//! Addresses in the form `HOST:PORT` or `unix:PATH`.

use core::fmt;
use core::str::FromStr;
use std::path::PathBuf;

use crate::args::host_port;

/// The maximum length of a path in `sockaddr_un`, without its NUL: 107 bytes on Linux, 103 on BSD and macOS.
const MAX_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// The address of a listener or of the upstream server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// `HOST:PORT`. A host name is resolved each time it is used.
    Tcp(String),
    /// `unix:PATH`.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(value: &str) -> Result<Self, Self::Err> {
        let Some(path) = value.strip_prefix("unix:") else {
            return host_port(value).map(Self::Tcp);
        };
        if cfg!(not(unix)) {
            return Err("Unix sockets are not supported on this system");
        }
        if path.is_empty() {
            return Err("expected unix:PATH, but there is no path");
        }
        if path.starts_with('@') {
            return Err("abstract Unix sockets are not supported");
        }
        if path.len() > MAX_PATH {
            return Err("the path of a Unix socket is too long for the system (107 bytes on Linux)");
        }
        Ok(Self::Unix(path.into()))
    }
}

/// Where a listener comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ListenAddress {
    Bind(Address),
    /// `systemd`: the next socket that the service manager passes.
    Passed,
}

impl FromStr for ListenAddress {
    type Err = &'static str;

    fn from_str(value: &str) -> Result<Self, Self::Err> {
        match value {
            "systemd" if cfg!(unix) => Ok(Self::Passed),
            _ => value.parse().map(Self::Bind),
        }
    }
}

/// Parses the address of a server. Port 0 cannot be connected to.
pub(super) fn server(value: &str) -> Result<Address, &'static str> {
    match value.parse()? {
        Address::Tcp(address) if port(&address) == Some(0) => {
            Err("a server has no port 0: expected 1 to 65535")
        }
        address => Ok(address),
    }
}

fn port(address: &str) -> Option<u16> {
    address.rsplit_once(':')?.1.parse().ok()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => f.write_str(address),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port_or_a_path() {
        assert_eq!("[::1]:80".parse(), Ok(Address::Tcp("[::1]:80".to_owned())));
        let path = "unix:/run/a.sock";
        let address: Address = path.parse().unwrap();
        assert_eq!(address, Address::Unix("/run/a.sock".into()));
        assert_eq!(address.to_string(), path);
        let long = format!("unix:/{}", "x".repeat(MAX_PATH));
        for (invalid, why) in [
            ("/run/a.sock", "there is no port"),
            ("unix:", "there is no path"),
            ("unix:@abstract", "not supported"),
            (&long, "too long"),
        ] {
            let error = invalid.parse::<Address>().unwrap_err();
            assert!(error.contains(why), "{invalid}: {error}");
        }
        for address in ["localhost:0", "[::1]:00000"] {
            assert!(address.parse::<Address>().is_ok(), "a listener may have it");
            assert!(server(address).unwrap_err().contains("no port 0"), "{address}");
        }
        assert_eq!(server(path), Ok(Address::Unix("/run/a.sock".into())));
    }
}
