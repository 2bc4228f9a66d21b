//! Sockets that a service manager passes (`LISTEN_FDS`).

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;

use crate::support::program::{Directory, PROGRAM, run, stderr};
use crate::support::server::Server;

/// Returns a shell that passes its stdin to the program as descriptor 3, like systemd, and as descriptor 4.
fn passing(environment: &str, args: &[&str]) -> Command {
    let mut shell = Command::new("sh");
    let script = format!("{environment}; export LISTEN_FDNAMES=a:b; exec \"$@\" 3<&0 4<&0 </dev/null");
    shell.args(["-c", &script, "sh", PROGRAM]).args(args);
    shell
}

const ONE: &str = "export LISTEN_PID=$$ LISTEN_FDS=1";

#[test]
fn a_socket_that_is_passed_is_used_and_outlives_the_program() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    for command in ["proxy", "serve", "proxy"] {
        let mut shell = passing(ONE, &[command, "--listen", "systemd"]);
        shell.stdin(OwnedFd::from(socket.try_clone().unwrap()));
        let server = Server::start_command(shell);
        assert_eq!(server.address, address);
        assert_eq!(server.ask(&[b"x\n"]), "line 1: 1 characters: x\n");
        server.signal("TERM");
        assert_eq!(server.wait().0.code(), Some(0));
        // A connection that comes between two runs waits.
        drop(TcpStream::connect(&address).unwrap());
    }
}

#[test]
fn the_file_of_a_unix_socket_that_is_passed_is_kept() {
    let directory = Directory::new();
    let path = directory.path("socket");
    let socket = UnixListener::bind(&path).unwrap();
    let mut shell = passing(ONE, &["proxy", "--listen", "systemd"]);
    shell.stdin(OwnedFd::from(socket));
    let server = Server::start_command(shell);
    assert_eq!(server.address, format!("unix:{}", path.display()));
    let mut client = UnixStream::connect(&path).unwrap();
    client.write_all(b"x\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).unwrap();
    assert_eq!(response, "line 1: 1 characters: x\n");
    server.signal("TERM");
    assert_eq!(server.wait().0.code(), Some(0));
    assert!(path.exists(), "it is the file of the service manager");
}

#[test]
fn sockets_that_are_not_passed_or_not_used_are_errors() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = TcpStream::connect(socket.local_addr().unwrap()).unwrap();
    let [listener, connection] = [OwnedFd::from(socket), connection.into()];
    let two = "export LISTEN_PID=$$ LISTEN_FDS=2";
    for (environment, socket, args, reason) in [
        ("true", &listener, &["serve"][..], "passed no socket"),
        ("export LISTEN_PID=1 LISTEN_FDS=1", &listener, &["serve"], "passed no socket"),
        (ONE, &listener, &["proxy", "--admin", "systemd"], "passed no socket"),
        (two, &listener, &["serve"], "more sockets"),
        (ONE, &connection, &["serve"], "Accept=yes"),
    ] {
        let mut shell = passing(environment, &[args, &["--listen", "systemd"]].concat());
        shell.stdin(socket.try_clone().unwrap());
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(reason), "{environment}: {}", stderr(&output));
    }
    let output = run(&mut passing("true", &["proxy", "--upstream", "systemd"]), b"");
    assert!(stderr(&output).contains("HOST:PORT"), "{}", stderr(&output));
}
