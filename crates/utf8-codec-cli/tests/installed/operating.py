"""Runs the program beside HAProxy, systemd-socket-activate and promtool: `operating.py PROGRAM`."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

PROGRAM = sys.argv[1]
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def connect(port):
    """Connects to a server that may still be starting."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, port
            time.sleep(0.05)


def ask(port, *writes):
    """Returns the response to these writes, and the address of this client."""
    with connect(port) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for write in writes:
            client.sendall(write)
            time.sleep(0.1)
        client.shutdown(socket.SHUT_WR)
        own, response = client.getsockname(), b""
        while chunk := client.recv(4096):
            response += chunk
    return response.decode(), f"{own[0]}:{own[1]}"


class Running:
    """A process that is ended at the end of a `with` block, after which `log` has what it wrote on stderr."""

    def __init__(self, *command):
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.stderr.seek(0)
        self.log = self.stderr.read().decode()
        self.stderr.close()


def haproxy(folder, listen, server):
    """HAProxy that accepts as `bind LISTEN` says and forwards as `server SERVER` says."""
    config = Path(folder, "haproxy.cfg")
    config.write_text(
        f"defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 20s\n  timeout server 20s\n"
        f"listen test\n  bind {listen}\n  server one {server}\n"
    )
    return Running("haproxy", "-db", "-f", str(config))


def proxy(*options):
    return Running(PROGRAM, "proxy", "--log", "json", *options)


def accept_from_haproxy():
    """The client of HAProxy is in the log, whatever HAProxy sends, and LOCAL of its checks is accepted."""
    for options in ("send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options crc32c,unique-id check inter 50ms"):
        front, own = free_port(), free_port()
        with tempfile.TemporaryDirectory() as folder:
            filter = proxy("--listen", f"127.0.0.1:{own}", "--accept-proxy-protocol", "127.0.0.1")
            with filter, haproxy(folder, f"127.0.0.1:{front}", f"127.0.0.1:{own} {options}"):
                connect(own).close()
                response, client = ask(front, b"gr\xc3", b"\xbcn\n")
                assert response == "line 1: 4 characters: grün\n", (options, response)
        assert f'"peer":"{client}"' in filter.log, (options, client, filter.log)
        # The one that `connect` closed without a header.
        assert filter.log.count("no valid PROXY protocol header") == 1, (options, filter.log)


def send_to_haproxy():
    """HAProxy accepts both headers, and forwards the addresses in them, as its own header of version 1 shows."""
    for version in ("v1", "v2"):
        front, between, end = free_port(), free_port(), free_port()
        with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", end)) as server:
            options = ("--upstream", f"127.0.0.1:{between}", "--send-proxy-protocol", version)
            with (
                proxy("--listen", f"127.0.0.1:{front}", *options),
                haproxy(folder, f"127.0.0.1:{between} accept-proxy", f"127.0.0.1:{end} send-proxy"),
            ):
                connect(between).close()
                with connect(front) as client:
                    client.sendall(b"x")
                    client.shutdown(socket.SHUT_WR)
                    received = b""
                    with server.accept()[0] as peer:
                        while chunk := peer.recv(4096):
                            received += chunk
                    expected = f"PROXY TCP4 127.0.0.1 127.0.0.1 {client.getsockname()[1]} {front}\r\nx"
                    assert received.decode() == expected, (version, received)


def activated():
    """systemd passes the sockets of the traffic and of the admin listener. The first connection starts the program."""
    traffic, admin = free_port(), free_port()
    activate = [word for port in (traffic, admin) for word in ("-l", f"127.0.0.1:{port}")]
    command = [PROGRAM, "proxy", "--listen", "systemd", "--admin", "systemd"]
    with Running("systemd-socket-activate", *activate, "--fdname=traffic:admin", *command):
        assert ask(traffic, b"x\n")[0] == "line 1: 1 characters: x\n"
        assert get(admin, "/readyz") == "ready\n"


def get(port, path, accept="*/*"):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Accept": accept})
    return urllib.request.urlopen(request, timeout=10).read().decode()


def run(*command, stdin=None):
    done = subprocess.run(command, input=stdin, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout, done.stderr, stdin)
    return done.stdout + done.stderr


def scraped():
    """promtool finds nothing wrong in the text format, and Prometheus reads the samples of OpenMetrics."""
    traffic, admin = free_port(), free_port()
    with proxy("--listen", f"127.0.0.1:{traffic}", "--admin", f"127.0.0.1:{admin}", "--on-error", "replace"):
        ask(traffic, b"a\xff\n")
        text = get(admin, "/metrics", "text/plain; version=0.0.4")
        open_metrics = get(admin, "/metrics", OPEN_METRICS)
    assert "repaired_total" in text, text
    complaints = run("promtool", "check", "metrics", stdin=text)
    assert complaints == "", complaints
    # It imports only samples with a time, which a scrape does not have.
    timed = re.sub(r"^([^#\n].*)$", r"\1 1700000000", open_metrics, flags=re.M)
    samples = len(re.findall(r"^[^#\n]", open_metrics, flags=re.M))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "metrics").write_text(timed)
        run("promtool", "tsdb", "create-blocks-from", "openmetrics", f"{folder}/metrics", f"{folder}/data")
        Path(folder, "data", "wal").mkdir()  # `dump` expects one.
        series = re.findall(r"(?:utf8_codec|process)_\w+", run("promtool", "tsdb", "dump", f"{folder}/data"))
    assert samples > 20 and len(series) == samples, (samples, series)


for test in (accept_from_haproxy, send_to_haproxy, activated, scraped):
    test()
    print(f"{test.__name__.replace('_', ' ')}: passed")
