//! The admin listener: metrics, readiness, the last rejections.

use core::time::Duration;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use crate::support::server::{Server, get, read_all, read_line, read_to_reset, wait_for_metric};
use crate::support::wait::wait_until;

#[test]
fn a_rejected_bom_is_not_counted_as_repaired() {
    let admin = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let options = ["--admin", &admin, "--linger", "0.1", "--on-error", "replace", "--bom", "reject"];
    let proxy = Server::start(&[&["proxy"], &options[..]].concat());
    assert_eq!(proxy.ask(&[b"a\xFF\n"]), "line 1: 2 characters: a\u{FFFD}\n");
    proxy.ask_and_be_reset(&["\u{FEFF}a\n".as_bytes()]);
    let (_, metrics) = get(&admin, "/metrics");
    for line in [
        "utf8_codec_repaired_total{direction=\"requests\"} 1",
        "utf8_codec_rejected_total{direction=\"requests\"} 1",
        "utf8_codec_ill_formed_total{direction=\"requests\",kind=\"UnexpectedBom\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }
}

/// Starts a proxy with an admin listener, and returns the address of the latter.
fn with_admin(flags: &[&str]) -> (Server, String) {
    Server::start_with_admin(&[&["proxy"], flags].concat())
}

#[test]
fn each_rejected_stream_is_counted_and_listed_with_its_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (proxy, admin) = with_admin(&["--upstream", &address, "--linger", "2"]);
    let mut client = proxy.connect();
    let (mut peer, _) = listener.accept().unwrap();
    client.write_all(b"a\xC0").unwrap();
    wait_for_metric(&admin, "utf8_codec_rejected_total{direction=\"requests\"} 1");
    peer.write_all(b"no\xFF").unwrap();
    assert_eq!(read_to_reset(&mut client), "no");
    assert_eq!(listed(&admin), [("responses", 2.into(), "InvalidLead"), ("requests", 1.into(), "Overlong")]);
    let metrics = get(&admin, "/metrics").1;
    for direction in ["requests", "responses"] {
        let line = format!("utf8_codec_rejected_total{{direction=\"{direction}\"}} 1");
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }

    let (proxy, admin) = with_admin(&["--mode", "report", "--direction", "requests"]);
    proxy.ask(&[b"abc\xFF\n"]);
    assert_eq!(listed(&admin), [("requests", 3.into(), "InvalidLead")]);

    let (proxy, admin) = with_admin(&["--hold", "lines", "--max-line", "3", "--linger", "0.1"]);
    proxy.ask_and_be_reset(&[b"abcd\n"]);
    assert_eq!(listed(&admin), [("requests", serde_json::Value::Null, "TooLong")]);
}

/// Returns the direction, the offset and the kind of each rejection that the admin listener lists.
fn listed(admin: &str) -> Vec<(&'static str, serde_json::Value, &'static str)> {
    let rejections: Vec<serde_json::Value> = serde_json::from_str(&get(admin, "/rejections").1).unwrap();
    let text = |value: &serde_json::Value| -> &'static str { value.as_str().unwrap().to_owned().leak() };
    rejections
        .iter()
        .map(|rejection| {
            (text(&rejection["direction"]), rejection["offset"].clone(), text(&rejection["kind"]))
        })
        .collect()
}

#[test]
fn a_connection_to_the_admin_listener_has_one_request() {
    let (_proxy, admin) = with_admin(&[]);
    let mut client = TcpStream::connect(&admin).unwrap();
    // Less than the time limit of a connection.
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.write_all(b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let answer = read_all(&mut client);
    assert!(answer.contains("connection: close\r\n") && answer.ends_with("ready\n"), "{answer}");
}

#[test]
fn idle_admin_connections_do_not_delay_a_health_check() {
    let (_proxy, admin) = with_admin(&[]);
    let start = Instant::now();
    let _idle: Vec<_> = (0..50).map(|_| TcpStream::connect(&admin).unwrap()).collect();
    assert_eq!(get(&admin, "/readyz"), (200, "ready\n".to_owned()));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn the_admin_listener_serves_metrics_and_readiness() {
    let admin = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let proxy = Server::start(&["proxy", "--admin", &admin, "--linger", "0.1", "--grace", "20"]);
    assert_eq!(get(&admin, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get(&admin, "/readyz"), (200, "ready\n".to_owned()));
    assert_eq!(proxy.ask(&[b"good\n"]), "line 1: 4 characters: good\n");
    proxy.ask_and_be_reset(&[b"secret\n\xED\xA0\x80"]);
    let mut open = proxy.connect();
    open.write_all(b"open\n").unwrap();
    read_line(&mut open);
    open.write_all(b"\xE2\x82").unwrap();
    wait_for_metric(&admin, "utf8_codec_held_bytes{direction=\"requests\"} 2");
    wait_for_metric(&admin, "utf8_codec_connections_open 1");

    let (status, metrics) = get(&admin, "/metrics");
    assert_eq!(status, 200);
    for line in [
        "utf8_codec_connections_open 1",
        "utf8_codec_connections_total{end=\"closed\"} 1",
        "utf8_codec_connections_total{end=\"rejected\"} 1",
        "utf8_codec_connections_total{end=\"unreachable\"} 0",
        "utf8_codec_bytes_read_total{direction=\"requests\"} 22",
        "utf8_codec_bytes_written_total{direction=\"requests\"} 17",
        "utf8_codec_ill_formed_total{direction=\"requests\",kind=\"Surrogate\"} 1",
        "utf8_codec_rejected_total{direction=\"requests\"} 1",
        "utf8_codec_repaired_total{direction=\"requests\"} 0",
        "utf8_codec_held_bytes{direction=\"requests\"} 2",
        "utf8_codec_held_bytes{direction=\"responses\"} 0",
        "utf8_codec_log_lines_dropped_total 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }
    let (_, rejections) = get(&admin, "/rejections");
    let rejections: serde_json::Value = serde_json::from_str(&rejections).unwrap();
    assert_eq!((&rejections[0]["offset"], &rejections[0]["kind"]), (&7.into(), &"Surrogate".into()));
    assert!(!rejections.to_string().contains("secret"));
    assert!(get(&admin, "/").1.contains("Last rejections"));
    assert_eq!(get(&admin, "/nothing").0, 404);

    proxy.signal("TERM");
    wait_until("the end of readiness", || get(&admin, "/readyz") == (503, "draining\n".to_owned()));
    assert_eq!(get(&admin, "/healthz").0, 200);
}

#[test]
fn the_format_of_the_metrics_is_the_one_that_accept_asks_for() {
    let (_proxy, admin) = with_admin(&[]);
    let metrics = |accept: &str| {
        let mut client = TcpStream::connect(&admin).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(client, "GET /metrics HTTP/1.1\r\nhost: x\r\n{accept}\r\n").unwrap();
        let response = read_all(&mut client);
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let content_type = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap();
        (content_type.to_owned(), body.to_owned())
    };
    for accept in ["", "accept: */*\r\n", "accept: text/plain\r\n", "accept: text/plain; version=0.0.4\r\n"] {
        let (content_type, text) = metrics(accept);
        assert_eq!(content_type, "text/plain; version=0.0.4; charset=utf-8", "{accept}");
        // What `promtool check metrics` checks: a counter has the name of its samples and a help text.
        assert!(!text.contains("# EOF"));
        let described = |kind: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.strip_prefix("# ")?.strip_prefix(kind));
            lines.map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
        };
        assert_eq!(described("HELP"), described("TYPE"));
        let sampled = text.lines().filter(|line| !line.starts_with('#'));
        let mut sampled: Vec<&str> = sampled.map(|line| line.split(['{', ' ']).next().unwrap()).collect();
        sampled.dedup();
        assert_eq!(described("TYPE"), sampled, "{text}");
        assert!(text.lines().filter(|line| line.ends_with(" counter")).all(|line| line.contains("_total ")));
    }
    let prometheus = "accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2\r\n";
    for accept in [prometheus, "accept: application/openmetrics-text\r\n"] {
        let (content_type, text) = metrics(accept);
        assert_eq!(content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert!(
            text.contains("# TYPE utf8_codec_connections counter\n") && text.ends_with("# EOF\n"),
            "{text}"
        );
    }
}

/// A counter that first appears with the value 1 has no increase for Prometheus.
#[test]
fn every_kind_of_error_is_counted_from_the_start() {
    let (_proxy, admin) = with_admin(&["--json-strings", "strict", "--json-subset", "no-nul"]);
    let metrics = get(&admin, "/metrics").1;
    for direction in ["requests", "responses"] {
        for kind in [
            "InvalidLead",
            "UnexpectedContinuation",
            "MissingContinuation",
            "Overlong",
            "Surrogate",
            "AboveMax",
            "Truncated",
            "MissingBom",
            "UnexpectedBom",
            "UnpairedSurrogate",
            "OutsideSubset",
            "IncompleteEscape",
        ] {
            let line = format!("utf8_codec_ill_formed_total{{direction=\"{direction}\",kind=\"{kind}\"}} 0");
            assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
        }
    }
    assert_eq!(metrics.matches("utf8_codec_ill_formed_total{").count(), 24);
}

#[test]
fn the_metrics_describe_the_build_and_the_process() {
    let (proxy, admin) = with_admin(&[]);
    let metrics = get(&admin, "/metrics").1;
    let build = concat!("utf8_codec_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\",revision=\"");
    assert!(metrics.lines().any(|line| line.starts_with(build) && line.ends_with("\"} 1")), "{metrics}");
    if cfg!(target_os = "linux") {
        let value = |name: &str| -> f64 {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("{name} in {metrics}")).parse().unwrap()
        };
        let proc = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", proxy.id())).unwrap();
        let limit =
            proc("limits").lines().find(|line| line.starts_with("Max open files")).unwrap().to_owned();
        let soft: f64 = limit.split_whitespace().nth(3).unwrap().parse().unwrap();
        assert_eq!(value("process_max_fds"), soft);
        let open = value("process_open_fds");
        assert!((5.0..soft).contains(&open), "{open}");
        let (resident, all) = (value("process_resident_memory_bytes"), value("process_virtual_memory_bytes"));
        assert!(resident > 500_000.0 && all > resident, "{resident} {all}");
        assert!(value("process_cpu_seconds_total") >= 0.0);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        let start = value("process_start_time_seconds");
        // The time of the start of the system has whole seconds.
        assert!((now - 600.0..now + 2.0).contains(&start), "{start} {now}");
    }
}

#[test]
fn the_admin_page_has_words_for_every_metric() {
    let (_proxy, admin) = with_admin(&[]);
    let (metrics, page) = (get(&admin, "/metrics").1, get(&admin, "/").1);
    let names = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let names = names.map(|name| name.strip_prefix("utf8_codec_").unwrap_or(name));
    let missing: Vec<&str> = names.filter(|name| !page.contains(&format!(" {name}: \""))).collect();
    assert_eq!(missing, [""; 0]);
}
