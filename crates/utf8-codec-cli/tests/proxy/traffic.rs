//! The program as a whole: `proxy`, `serve` and the command line.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Output;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::support::program::{program, run};
use crate::support::server::{Server, facts, read_all, read_line, read_to_reset, wait_for_metric};
use crate::support::wait::{wait_until, wait_until_constant};
use test_support::every_partition;

// proxy

#[test]
fn a_character_split_by_a_pause_is_returned_whole() {
    let (proxy, admin) = Server::start_with_admin(&["proxy"]);
    let mut client = proxy.connect();
    client.write_all(b"\x68\xC3").unwrap();
    wait_for_metric(&admin, "utf8_codec_held_bytes{direction=\"requests\"} 1");
    client.write_all(b"\xA9\x0A").unwrap();
    assert_eq!(read_line(&mut client), "line 1: 2 characters: hé\n");
}

#[test]
fn strict_delivers_the_prefix_and_reports_once() {
    let proxy = Server::start(&["proxy"]);
    let mut client = proxy.connect();
    client.write_all(b"good\nhalf\xFFlost\n").unwrap();
    // The line is not complete and the connection is still open, so the server does not respond to `half`.
    assert_eq!(read_to_reset(&mut client), "line 1: 4 characters: good\n");
    let reports = proxy.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(facts(&reports[0]), (9, "InvalidLead", 1));
    assert_eq!(reports[0]["direction"], "requests");
    assert_eq!(reports[0]["connection"], 1);
}

#[test]
fn the_escapes_of_json_are_replaced_or_rejected() {
    for (options, answer) in [
        (&["--json-strings", "replace"][..], r#"line 1: 19 characters: ["\uFFFD","\u0000"]"#),
        (
            &["--json-strings", "keep", "--json-subset", "no-nul"],
            r#"line 1: 19 characters: ["\uD83D","\u0000"]"#,
        ),
        (&["--json-strings", "strict"], ""),
    ] {
        let proxy = Server::start(&[&["proxy"], options].concat());
        let mut client = proxy.connect();
        for part in [&br#"["\u"#[..], br#"D83D","\u00"#, b"00\"]\n"] {
            client.write_all(part).unwrap();
        }
        let line = if answer.is_empty() { read_to_reset(&mut client) } else { read_line(&mut client) };
        assert_eq!(line.trim_end(), answer, "{options:?}");
        assert_eq!(facts(&proxy.reports()[0]), (2, "UnpairedSurrogate", 6), "{options:?}");
    }
}

#[test]
fn every_policy_has_the_documented_result() {
    for (policy, text) in [
        ("replace", "a\u{FFFD}b\u{FFFD}c"),
        ("substitute", "a?b??c"),
        ("escape", "a\\xffb\\xe2\\x82c"),
        ("latin1", "aÿbâ\u{82}c"),
        ("windows-1252", "aÿbâ‚c"),
        ("skip", "abc"),
    ] {
        let proxy = Server::start(&["proxy", "--on-error", policy]);
        let answer = proxy.ask(&[b"a\xFFb\xE2", b"\x82c\n"]);
        assert_eq!(answer, format!("line 1: {} characters: {text}\n", text.chars().count()), "{policy}");
        let reports = proxy.reports();
        let facts: Vec<_> = reports.iter().map(facts).collect();
        assert_eq!(facts, [(1, "InvalidLead", 1), (3, "MissingContinuation", 2)], "{policy}");
    }
}

#[test]
fn a_line_that_is_not_utf_8_is_decoded_by_the_fallback() {
    let options = ["--on-error", "fallback:cp866", "--framing", "lines", "--max-line", "50"];
    let proxy = Server::start(&[&["proxy"], &options[..]].concat());
    let input = [
        "Привет\r\n".as_bytes(),
        b"\x8F\xE0\xA8\xA2\xA5\xE2\r\n",
        b"an ASCII line that is longer than the limit, which is 50 bytes\n",
        // The character that the end of the stream cuts is not decoded by the fallback.
        "Пр".as_bytes(),
        b"\xD0",
    ]
    .concat();
    let expected =
        "line 1: 6 characters: Привет\nline 2: 6 characters: Привет\nline 3: 3 characters: Пр\u{FFFD}\n";
    for chunks in
        [&[&input[..]][..], &input.chunks(1).collect::<Vec<_>>(), &input.chunks(7).collect::<Vec<_>>()]
    {
        assert_eq!(proxy.ask(chunks), expected);
    }
    let reports = proxy.reports();
    let facts: Vec<_> = reports.iter().map(facts).collect();
    assert_eq!(facts, [(14, "UnexpectedContinuation", 1), (89, "Truncated", 1)].repeat(3));

    for (options, reason) in [
        (&["--on-error", "fallback:cp866"][..], "--framing lines"),
        (&["--on-error", "fallback:cp866", "--framing", "lines", "--bom", "strip"], "--bom keep"),
        (&["--on-error", "fallback:utf-16", "--framing", "lines"], "two encodings"),
        (&["--on-error", "fallback:utf-7", "--framing", "lines"], "cannot be the fallback"),
        (&["--on-error", "fall"], "possible values"),
    ] {
        let output = run(&mut program(&[&["proxy"], options].concat()), b"");
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
    }
}

#[test]
fn log_and_reply_are_the_same_for_every_partition() {
    let all = ["--log-rate", "100000"];
    let strict = Server::start(&[&["proxy", "--linger", "0.05"], &all[..]].concat());
    let untouched = Server::start(&[&["proxy", "--direction", "responses"], &all[..]].concat());
    let server = Server::start(&[&["serve"], &all[..]].concat());
    let mut rounds = 0;
    for (input, reply) in [
        (&b"ok\nh\xC3\xA9\xF0\x9F\xFF"[..], "ill-formed UTF-8 at byte 6 (MissingContinuation, 2 bytes)"),
        (b"ok\n\xED\xA0\x80\n", "ill-formed UTF-8 at byte 3 (Surrogate, 1 byte)"),
        (b"ok\nend\xE2\x82", "ill-formed UTF-8 at byte 6 (Truncated, 2 bytes)"),
    ] {
        every_partition(input, |chunks| {
            // All partitions of 8 bytes on three servers take a minute. One in seven is tested.
            if (rounds % 7 == 0) | (chunks.len() == input.len()) {
                let answered = format!("line 1: 2 characters: ok\nline 2: {reply}\n");
                assert_eq!(server.ask(chunks), answered, "{chunks:02X?}");
                assert_eq!(untouched.ask(chunks), answered, "{chunks:02X?}");
                let mut client = strict.connect();
                for chunk in chunks {
                    // The connection may be closed already.
                    let _ = client.write_all(chunk);
                }
                let _ = client.shutdown(Shutdown::Write);
                assert_eq!(read_to_reset(&mut client), "line 1: 2 characters: ok\n");
            }
            rounds += 1;
        });
    }
    let lines_of = |server: Server| -> Vec<String> {
        let reports = server.reports();
        let phrase = |report: &Value| {
            let (offset, kind, len) = facts(report);
            let bytes = if len == 1 { "byte" } else { "bytes" };
            let message = format!("ill-formed UTF-8 at byte {offset} ({kind}, {len} {bytes})");
            assert_eq!(report["message"], message);
            format!("{offset} {kind} {len}")
        };
        reports.iter().map(phrase).collect()
    };
    let (strict, untouched, server) = (lines_of(strict), lines_of(untouched), lines_of(server));
    assert!(strict.len() > 20);
    assert_eq!(strict, server);
    assert_eq!(strict, untouched);
}

#[test]
fn an_end_inside_a_character_is_reported_by_proxy_and_server() {
    let proxy = Server::start(&["proxy", "--on-rejection", "close"]);
    assert_eq!(proxy.ask(&[b"end\xE2\x82"]), "line 1: 3 characters: end\n");
    assert_eq!(facts(&proxy.reports()[0]), (3, "Truncated", 2));

    let proxy = Server::start(&["proxy", "--on-error", "replace"]);
    assert_eq!(proxy.ask(&[b"end\xE2\x82"]), "line 1: 4 characters: end\u{FFFD}\n");

    let server = Server::start(&["serve"]);
    assert_eq!(server.ask(&[b"end\xE2\x82"]), "line 1: ill-formed UTF-8 at byte 3 (Truncated, 2 bytes)\n");
}

#[test]
fn responses_are_filtered_and_half_close_is_forwarded() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = upstream.local_addr().unwrap().to_string();
    let proxy = Server::start(&["proxy", "--upstream", &address]);
    let server = thread::spawn(move || {
        let (mut peer, _) = upstream.accept().unwrap();
        let asked = read_all(&mut peer);
        peer.write_all(b"answer\xC0\xAF").unwrap();
        asked
    });
    assert_eq!(proxy.ask_and_be_reset(&["que", "stión"].map(str::as_bytes)), "answer");
    assert_eq!(server.join().unwrap(), "questión");
    let reports = proxy.reports();
    assert_eq!(facts(&reports[0]), (6, "Overlong", 1));
    assert_eq!((reports.len(), &reports[0]["direction"]), (1, &Value::from("responses")));
}

#[test]
fn a_bom_is_kept_by_default() {
    let start = |policy| Server::start(&["proxy", "--bom", policy]);
    let bom = |policy| start(policy).ask(&[b"\xEF\xBB", b"\xBFa\n"]);
    assert_eq!(bom("keep"), "line 1: 2 characters: \u{FEFF}a\n");
    assert_eq!(bom("strip"), "line 1: 1 characters: a\n");
    assert_eq!(start("reject").ask_and_be_reset(&[b"\xEF\xBB", b"\xBFa\n"]), "");
}

#[test]
fn an_unreachable_upstream_does_not_end_the_proxy() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let proxy = Server::start(&["proxy", "--upstream", &address]);
    assert_eq!(read_to_reset(&mut proxy.connect()), "");
    let upstream = TcpListener::bind(&address).unwrap();
    let server = thread::spawn(move || read_all(&mut upstream.accept().unwrap().0));
    assert_eq!(proxy.ask(&[b"now?"]), "");
    assert_eq!(server.join().unwrap(), "now?");
    proxy.signal("TERM");
    let (status, log) = proxy.wait();
    assert_eq!(status.code(), Some(0));
    assert!(log.iter().any(|line| line["level"] == "WARN" && line["upstream"] == address), "{log:?}");
}

#[test]
fn a_reset_inside_a_character_does_not_end_the_proxy() {
    let proxy = Server::start(&["proxy"]);
    for _ in 0..20 {
        let mut client = proxy.connect();
        client.write_all(b"line\n\xC3").unwrap();
        // The reply is unread, so closing the socket resets the connection.
        client.peek(&mut [0]).unwrap();
    }
    assert_eq!(proxy.ask(&[b"alive\n"]), "line 1: 5 characters: alive\n");
    assert!(proxy.reports().iter().all(|report| facts(report) == (5, "Truncated", 1)));
}

#[test]
fn a_connection_above_the_limit_waits_in_the_queue() {
    let proxy = Server::start(&["proxy", "--max-connections", "1"]);
    let mut first = proxy.connect();
    first.write_all(b"one\n").unwrap();
    assert_eq!(read_line(&mut first), "line 1: 3 characters: one\n");
    let mut second = proxy.connect();
    second.write_all(b"two\n").unwrap();
    second.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(second.read(&mut [0]).is_err(), "it is not served yet");
    drop(first);
    second.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(read_line(&mut second), "line 1: 3 characters: two\n");
}

#[test]
fn an_idle_connection_is_ended() {
    for command in ["proxy", "serve"] {
        let server = Server::start(&[command, "--idle-timeout", "0.2"]);
        let start = Instant::now();
        let mut client = server.connect();
        let answer = if command == "proxy" { read_to_reset(&mut client) } else { read_all(&mut client) };
        assert_eq!(answer, "");
        let idle = start.elapsed();
        assert!((Duration::from_millis(190)..Duration::from_secs(5)).contains(&idle), "{command}: {idle:?}");
    }
}

#[test]
fn a_signal_drains_within_the_grace_period() {
    for (command, signal) in [("proxy", "TERM"), ("serve", "INT")] {
        let server = Server::start(&[command, "--grace", "20"]);
        let mut client = server.connect();
        client.write_all(b"one\n").unwrap();
        assert_eq!(read_line(&mut client), "line 1: 3 characters: one\n");
        server.signal(signal);
        wait_until("the listener to close", || TcpStream::connect(&server.address).is_err());
        client.write_all(b"two\n").unwrap();
        assert_eq!(read_line(&mut client), "line 2: 3 characters: two\n");
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read_all(&mut client), "");
        let start = Instant::now();
        assert_eq!(server.wait().0.code(), Some(0));
        assert!(start.elapsed() < Duration::from_secs(10), "no connection is open");
    }
}

#[test]
fn the_grace_period_or_a_second_signal_resets_connections() {
    for (grace, signals) in [("0.3", 1), ("60", 2)] {
        let proxy = Server::start(&["proxy", "--grace", grace]);
        let mut client = proxy.connect();
        client.write_all(b"one\n").unwrap();
        read_line(&mut client);
        let start = Instant::now();
        proxy.signal("TERM");
        if signals == 2 {
            wait_until("the first signal to be handled", || TcpStream::connect(&proxy.address).is_err());
            proxy.signal("TERM");
        }
        let (status, log) = proxy.wait();
        assert_eq!(status.code(), Some(0));
        assert!(start.elapsed() < Duration::from_secs(10));
        assert!(log.iter().any(|line| line["end"] == "cut"), "{log:?}");
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest);
        assert!(rest.is_empty());
    }
}

#[test]
fn a_peer_that_sends_only_errors_does_not_fill_the_log() {
    let proxy = Server::start(&["proxy", "--on-error", "skip"]);
    let mut client = proxy.connect();
    client.write_all(&[0xFF; 100_000]).unwrap();
    client.write_all(b"through\n").unwrap();
    assert_eq!(read_line(&mut client), "line 1: 7 characters: through\n");
    drop(client);
    assert_eq!(proxy.reports().len(), 100);
}

#[test]
fn logs_never_contain_payload() {
    let proxy = Server::start(&["proxy"]);
    proxy.ask_and_be_reset(&[b"hunter2\nhunter2\xFFhunter2\n"]);
    proxy.signal("TERM");
    let (_, log) = proxy.wait();
    assert!(!log.is_empty());
    assert!(log.iter().all(|line| !line.to_string().contains("hunter2")), "{log:?}");
}

// serve

#[test]
fn an_ill_formed_line_and_the_line_after_it_each_have_a_reply() {
    let server = Server::start(&["serve"]);
    let answer = server.ask(&[b"b\xFFd \xFE\r\ngr\xC3", b"\xBCn\n\n", b"\xC0\xAF\nlast"]);
    let expected = "line 1: ill-formed UTF-8 at byte 1 (InvalidLead, 1 byte)\n\
                    line 2: 4 characters: grün\n\
                    line 3: 0 characters: \n\
                    line 4: ill-formed UTF-8 at byte 14 (Overlong, 1 byte)\n\
                    line 5: 4 characters: last\n";
    assert_eq!(answer, expected);
    assert_eq!(
        server.reports().iter().map(facts).collect::<Vec<_>>(),
        [(1, "InvalidLead", 1), (14, "Overlong", 1)]
    );

    let server = Server::start(&["serve", "--on-error", "replace"]);
    assert_eq!(server.ask(&[b"b\xFFd\n"]), "line 1: 3 characters: b\u{FFFD}d\n");
}

#[test]
fn a_line_that_is_too_long_has_one_reply() {
    let server = Server::start(&["serve", "--max-line", "8"]);
    let answer = server.ask(&[b"12345678\n", &[b'x'; 50_000], &[b'x'; 50_000], b"\nshort\r\r\n"]);
    let expected =
        "line 1: 8 characters: 12345678\nline 2: longer than 8 bytes\nline 3: 6 characters: short\r\n";
    assert_eq!(answer, expected);
}

#[test]
fn a_client_that_reads_late_receives_all_replies() {
    const LINES: usize = 100_000;
    for command in ["serve", "proxy"] {
        let server = Server::start(&[command]);
        let mut client = server.connect();
        let mut writer = client.try_clone().unwrap();
        let written = Arc::<AtomicU64>::default();
        let count = Arc::clone(&written);
        let writing = thread::spawn(move || {
            for chunk in "zeile – 行\n".repeat(LINES).as_bytes().chunks(4096) {
                writer.write_all(chunk).unwrap();
                count.fetch_add(1, Relaxed);
            }
            writer.shutdown(Shutdown::Write).unwrap();
        });
        // Both sides wait until the client reads.
        wait_until_constant("the pipes to fill up", || written.load(Relaxed));
        let answer = read_all(&mut client);
        writing.join().unwrap();
        assert_eq!(answer.lines().count(), LINES);
        assert_eq!(answer.lines().last(), Some("line 100000: 9 characters: zeile – 行"));
    }
}

// The command line

/// Asserts exit status 2 and one line on stderr that contains `what`.
fn fails(args: &[&str], what: &str) {
    let Output { status, stdout, stderr } = run(&mut program(args), b"");
    let stderr = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{args:?}: {stderr}");
    assert!(stdout.is_empty(), "{args:?}");
    assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    assert!(stderr.starts_with("utf8-codec: ") && stderr.contains(what), "{args:?}: {stderr}");
}

#[test]
fn every_invalid_option_is_reported_in_one_line() {
    for command in ["proxy", "serve"] {
        for (flag, value, what) in [
            ("--listen", "nonsense", "HOST:PORT"),
            ("--listen", "127.0.0.1:99999", "HOST:PORT"),
            ("--on-error", "ignore", "possible values: strict, replace, replace-as-java, substitute, escape"),
            ("--bom", "maybe", "possible values: keep, strip, require, reject"),
            ("--max-connections", "0", "--max-connections"),
            ("--max-connections", "-1", "-1"),
            ("--idle-timeout", "soon", "not a number of seconds"),
            ("--idle-timeout", "NaN", "not a number of seconds"),
            ("--grace", "1e300", "the time is too long"),
            ("--grace", "", "not a number of seconds"),
            ("--log", "xml", "possible values: text, json"),
            ("--frobnicate", "1", "--frobnicate"),
            ("--li\nsten", "1", "--li sten"),
        ] {
            fails(&[command, flag, value], what);
        }
        fails(&[command, "--listen"], "--listen");
        fails(&[command, "operand"], "operand");
    }
    fails(
        &["proxy", "--direction", "up", "--listen", "127.0.0.1:0"],
        "possible values: both, requests, responses",
    );
    fails(&["proxy", "--upstream", "nowhere", "--listen", "127.0.0.1:0"], "HOST:PORT");
    fails(&["serve", "--max-line", "long"], "--max-line");
    fails(&["check", "--format", "xml"], "possible values: human, short, json, sarif, github");
    fails(&["frobnicate"], "frobnicate");
}

#[test]
fn without_a_subcommand_the_help_is_printed() {
    let Output { status, stdout, stderr } = run(&mut program(&[]), b"");
    assert_eq!((status.code(), stdout.is_empty()), (Some(2), true));
    assert_eq!(stderr, run(&mut program(&["-h"]), b"").stdout);
}

#[test]
fn a_failure_to_start_is_reported_in_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    fails(&["proxy", "--listen", &address], &format!("cannot listen on {address}"));
    fails(&["serve", "--listen", &address], &format!("cannot listen on {address}"));
    fails(&["serve", "--listen", "no.such.host.invalid:1"], "cannot listen on no.such.host.invalid:1");
    let unresolvable = ["proxy", "--listen", "127.0.0.1:0", "--upstream", "no.such.host.invalid:1"];
    fails(&unresolvable, "cannot resolve the upstream no.such.host.invalid:1");
    drop(taken);
    fails(&["proxy", "--listen", &address, "--upstream", &address], "is this proxy");
}

#[test]
fn a_failure_to_start_is_an_object_in_a_log_of_objects() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (args, level, what) in [
        (&["serve", "--listen", &address][..], None, "cannot listen on"),
        (&["proxy", "--listen", "127.0.0.1:0", "--answer", "no"], None, "--answer needs --framing lines"),
        (&["serve", "--listen", "127.0.0.1:0"], Some("=="), "RUST_LOG: "),
    ] {
        let mut command = program(&[args, &["--log", "json"]].concat());
        level.map(|level| command.env("RUST_LOG", level));
        let Output { status, stdout, stderr } = run(&mut command, b"");
        assert_eq!((status.code(), stdout.is_empty()), (Some(2), true), "{args:?}");
        let error: Value = serde_json::from_slice(&stderr).expect("one object");
        assert_eq!(error["level"], "ERROR");
        assert!(error["message"].as_str().unwrap().contains(what), "{error}");
        // In the other format it is a line for people.
        let mut command = program(args);
        level.map(|level| command.env("RUST_LOG", level));
        let stderr = String::from_utf8(run(&mut command, b"").stderr).unwrap();
        assert!(stderr.starts_with("utf8-codec: ") && stderr.contains(what), "{stderr}");
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    for args in [&["--help"][..], &["proxy", "--help"], &["serve", "-h"], &["--version"]] {
        let Output { status, stdout, stderr } = run(&mut program(args), b"");
        assert_eq!((status.code(), stderr.is_empty()), (Some(0), true), "{args:?}");
        assert!(!stdout.is_empty(), "{args:?}");
    }
}
