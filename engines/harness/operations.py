"""Rows of operations: configurations, reloads, hot restarts, panics, and the commands of the README."""

import contextlib
import itertools
import json
import os
import socket
import subprocess
import threading
import time
from pathlib import Path

from . import envoy as e
from . import programs
from .http1 import Upstream, chunked, exchange
from .samples import random_text
from .tcp import connect, parallel, read_all
from .upstream import Server, echo

ENGINES = Path(__file__).resolve().parent.parent
numbers = itertools.count(1)


class Operations:
    """A place for Envoys that a row starts itself."""

    def __init__(self, program, module, folder):
        self.program, self.module, self.folder = program, module, Path(folder)
        self.upstream = Upstream()
        self.echo = Server(echo)
        self.clusters = [e.http_cluster("upstream", self.upstream.port), e.cluster("echo", self.echo.port)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def envoy(self, config, name, **more):
        return e.Envoy(self.program, more.pop("module", self.module), config, self.folder, name=name, **more)


def post(port, body, path="/"):
    head = f"POST {path} HTTP/1.1\r\nhost: test\r\nx-number: {next(numbers)}\r\nconnection: close\r\n"
    head += "content-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
    return exchange(port, [head.encode(), *chunked([body])])


def bad_configurations(operations):
    cases = [
        ("tcp", '{"on_eror": "strict"}', "unknown field `on_eror`, expected one of"),
        ("tcp", '{"on_error": "strct"}', "`strct`: unknown policy; known are"),
        ("tcp", {"mode": "buffered"}, "`mode` is a setting of the HTTP filter"),
        ("tcp", {"struct": {"subset": "klingon"}}, "unknown `subset`"),
        ("http", '["strict"]', "not a JSON object"),
        ("http", '{"on_error": "strict"', "EOF"),
        ("http", {"content_types": ["text"]}, "`content_types` has an entry"),
        ("http", {"struct": {"direction": "none"}}, "`direction` is"),
        ("route", {"mode": "fast"}, "unknown variant `fast`"),
    ]

    def one(index, kind, settings, reason):
        if kind == "tcp":
            listener = e.tcp_listener("one", settings, "echo")
        elif kind == "http":
            listener = e.http_listener("one", settings, "upstream")
        else:
            route = {"match": {"prefix": "/a"}, "route": {"cluster": "upstream"}}
            route["typed_per_filter_config"] = {"utf8": e.route_settings(settings)}
            listener = e.http_listener("one", {}, "upstream", routes=[route])
        envoy = operations.envoy(e.bootstrap([listener], operations.clusters), f"bad-{index}")
        command = [*envoy.command, "--mode", "validate"]
        done = subprocess.run(command, env=envoy.environment, capture_output=True, text=True, timeout=2 * e.PATIENCE)
        # In this mode Envoy logs to standard error.
        assert done.returncode == 1 and reason in done.stderr, (settings, done.returncode, done.stderr[-500:])

    parallel(one, [(index, *case) for index, case in enumerate(cases)], workers=2)
    return f"{len(cases)} configurations rejected, with the reason in the log"


def reload(operations):
    folder = operations.folder
    path = folder / "listeners.json"

    def write(settings, version):
        kind = "type.googleapis.com/envoy.config.listener.v3.Listener"
        listener = {"@type": kind, **e.http_listener("reloaded", settings, "upstream")}
        listener["address"] = e.address(port)
        (folder / "new").write_text(json.dumps({"version_info": version, "resources": [listener]}))
        (folder / "new").rename(path)

    port = e.free_port()
    write({"on_error": "strict"}, "1")
    lds = {"lds_config": {"path_config_source": {"path": str(path), "watched_directory": {"path": str(folder)}}}}
    config = e.bootstrap(None, operations.clusters, dynamic_resources=lds, node={"id": "test", "cluster": "test"})
    with operations.envoy(config, "reload") as envoy:
        e.wait(lambda: envoy.ports().get("reloaded"))
        assert post(port, b"caf\xff").status == 400
        write({"on_error": "wrong"}, "2")
        e.wait(lambda: envoy.stat("listener_manager.lds.update_rejected") == 1)
        envoy.wait_for_log("`wrong`: unknown policy")
        assert post(port, b"caf\xff").status == 400, "the old configuration is not kept"
        write({"on_error": "replace"}, "3")
        # A connection that the old configuration accepted may end without a response.
        e.wait(lambda: (response := post(port, b"caf\xff")) and response.status == 200)
    return "a bad configuration is rejected and the old one stays; the next good one is used"


def hot_restart(operations):
    port = e.free_port()
    listener = e.tcp_listener("one", {}, "echo")
    listener["address"] = e.address(port)
    config = e.bootstrap([listener], operations.clusters)
    times = ["--parent-shutdown-time-s", "10", "--drain-time-s", "5"]
    base_id = operations.folder / "base-id"
    old = operations.envoy(config, "old", arguments=[*times, "--use-dynamic-base-id", "--base-id-path", str(base_id)])
    with old, connect(port) as connection:
        new = operations.envoy(config, "new", arguments=[*times, "--base-id", base_id.read_text(), "--restart-epoch", "1"])
        connection.sendall(b"na\xc3")
        assert connection.recv(10) == b"na"
        failed = []

        def traffic(index):
            data = random_text(5_000, index)
            deadline = time.monotonic() + 2 * e.PATIENCE
            while time.monotonic() < deadline and not stop:
                with connect(port) as other:
                    other.sendall(data)
                    other.shutdown(socket.SHUT_WR)
                    if read_all(other) != (data, "end"):
                        failed.append(index)
                time.sleep(0.02)

        stop = []
        threads = [threading.Thread(target=traffic, args=(index,)) for index in range(8)]
        [thread.start() for thread in threads]
        try:
            with new:
                connection.sendall(b"\xaf")
                assert connection.recv(10) == "ï".encode(), "the old process lost the start of a character"
                e.wait(lambda: old.process.poll() is not None)
                with connect(port) as other:
                    other.sendall(b"caf\xff")
                    assert read_all(other)[0] == b"caf"
                stop.append(True)
                [thread.join(e.PATIENCE) for thread in threads]
        finally:
            stop.append(True)
        assert not failed, f"{len(failed)} connections failed during the restart"
    return "a connection ends in the old process; no new one fails"


def panics(operations):
    module = programs.module("panic-on-marker")
    marker = b"panic in a hook"
    listeners = [
        e.tcp_listener("tcp", {}, "echo"),
        e.http_listener("http", {}, "upstream"),
        e.http_listener("buffered", {"mode": "buffered"}, "upstream"),
    ]
    with operations.envoy(e.bootstrap(listeners, operations.clusters), "panics", module=module) as envoy:
        ports = envoy.ports()
        with connect(ports["tcp"]) as witness:
            witness.sendall(b"one ")
            for _ in range(20):
                with connect(ports["tcp"]) as connection:
                    connection.sendall(marker)
                    received, _ = read_all(connection)
                    assert received == b"", received
                for listener in ("http", "buffered"):
                    response = post(ports[listener], marker)
                    assert response.status == 500 and b"Internal Server Error" in response.body, response
            witness.sendall(b"two")
            witness.shutdown(socket.SHUT_WR)
            assert read_all(witness) == (b"one two", "end")
        assert post(ports["http"], b"good").status == 200
        assert envoy.stat("dynamicmodulescustom.utf8_tcp_panics") == 20
        assert envoy.stat("dynamicmodulescustom.utf8_http_panics") == 40
        assert marker not in envoy.log.read_bytes()
    return "60 panics: each ends its own connection or answers 500, the others go on"


def readme(operations):
    """Runs the commands of the README with its configuration."""
    text = (ENGINES / "envoy" / "README.md").read_text()
    for command in (
        "cargo build --release --manifest-path engines/envoy/Cargo.toml",
        "export ENVOY_DYNAMIC_MODULES_SEARCH_PATH=$PWD/engines/envoy/target/release",
        "envoy -c engines/envoy/envoy.yaml",
    ):
        assert command in text, command
    expected = text.split("http://127.0.0.1:10000/\n", 1)[1].splitlines()[0]
    environment = {**os.environ, "ENVOY_DYNAMIC_MODULES_SEARCH_PATH": str(ENGINES / "envoy" / "target" / "release")}
    # The library of the last build may be the one that panics for the tests.
    programs.module()
    # Other ports than those of the README, which another program may use.
    config = (ENGINES / "envoy" / "envoy.yaml").read_text()
    ports = {port: e.free_port() for port in (9901, 10000, 10001, 10002, 10003)}
    for port, free in ports.items():
        assert f"port_value: {port}}}" in config, port
        config = config.replace(f"port_value: {port}}}", f"port_value: {free}}}")
    path = operations.folder / "readme.yaml"
    path.write_text(config)
    command = [str(operations.program), "-c", str(path), "--disable-hot-restart"]
    log = open(operations.folder / "readme.log", "w")
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        e.wait(lambda: process.poll() is not None or all(is_open(port) for port in ports.values()))
        assert process.poll() is None, (operations.folder / "readme.log").read_text()[-500:]
        response = post(ports[10000], b"caf\xff")
        assert response.status == 400 and response.body.decode() == expected, response.body
        assert post(ports[10000], "café".encode()).body == b"the text is well-formed\n"
        with connect(ports[10001]) as connection:
            connection.sendall(b"caf\xff\n")
            # The echo filter of Envoy does not answer after the end of its input.
            assert connection.recv(100) == "caf\ufffd\n".encode()
    finally:
        process.kill()
        process.wait()
    return "three commands start both filters; the answers are those of the README"


def is_open(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


CORE = [("configurations that are rejected", bad_configurations)]

ROWS = [
    *CORE,
    ("reload of a bad configuration", reload),
    ("hot restart", hot_restart),
    ("panic in a hook", panics),
    ("README", readme),
]
