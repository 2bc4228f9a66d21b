"""Rows of the end of a TCP client that is rejected and keeps sending, in the listener that accepts it and behind an internal
one."""

import contextlib
import itertools
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import envoy as e
from .tcp import connect, parallel, read_all
from .upstream import Server

FEATURE = "envoy.reloadable_features.connection_close_through_filter_manager"
LISTENERS = ("accepting", "outer")
ANSWER = b"the answer " * 100
# The seconds of `linger.rs`.
LINGER = 5


def answering(connection):
    """Responds after the end of the text, to `later` in half a second; to a line with an error after the answer."""
    text = b""
    while b"\n" not in text and (data := connection.recv(1 << 16)):
        text += data
    time.sleep(0.5 if text == b"later" else 0)
    connection.sendall(ANSWER + b"\xff" if b"\n" in text else ANSWER)
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(1 << 16):
        pass


def internal(name, settings, upstream):
    """An internal listener, and the cluster that connects to it."""
    listener = e.tcp_listener(name, settings, upstream)
    del listener["address"]
    address = {"envoy_internal_address": {"server_listener_name": name}}
    cluster = e.cluster(name, 0)
    cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]["address"] = address
    return {**listener, "internal_listener": {}}, cluster


class Linger:
    """An Envoy with the filter in a listener, and in an internal one."""

    def __init__(self, program, module, folder):
        self.upstream = Server(answering)
        inner, cluster = internal("inner", {}, "answering")
        listeners = [e.tcp_listener("accepting", {}, "answering"), e.tcp_listener("outer", None, "inner"), inner]
        kind = f"{e.EXTENSIONS}.bootstrap.internal_listener.v3.InternalListener"
        config = e.bootstrap(
            listeners,
            [e.cluster("answering", self.upstream.port), cluster],
            bootstrap_extensions=[{"name": "internal", "typed_config": {"@type": kind}}],
            layered_runtime={"layers": [{"name": "static", "static_layer": {FEATURE: True}}]},
        )
        self.envoy = e.Envoy(program, module, config, folder, workers=2, name="linger")

    def __enter__(self):
        self.envoy.__enter__()
        self.ports = self.envoy.ports()
        return self

    def __exit__(self, *_):
        self.envoy.stop()

    def threads(self):
        names = [task.read_text().strip() for task in Path(f"/proc/{self.envoy.process.pid}/task").glob("*/comm")]
        return names.count("utf8-linger")

    def rejected(self, name):
        """A connection that has the answer and its end, and has not ended."""
        connection = connect(self.ports[name])
        connection.sendall(b"caf\xff")
        assert read_all(connection) == (ANSWER, "end"), name
        return connection

    def all_rejected(self, count):
        return parallel(self.rejected, [(name,) for name in LISTENERS] * count, workers=25)


def has_ended(linger):
    def one(name):
        with connect(linger.ports[name]) as connection:
            connection.sendall(b"later\xff")
            connection.shutdown(socket.SHUT_WR)
            assert read_all(connection) == (ANSWER, "end"), name

    parallel(one, [(name,) for name in LISTENERS] * 50)
    active = [f"listener.{address}.downstream_cx_active" for address in ("127.0.0.1_0", "envoy_internal_inner")]
    e.wait(lambda: not any(linger.envoy.stat(name) for name in active), LINGER - 1)
    return "100 connections do not linger"


def answers(linger):
    def read(connection):
        received = read_all(connection)
        # The sender may wait.
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        return received

    def one(name, text):
        with connect(linger.ports[name]) as connection, ThreadPoolExecutor(1) as pool:
            received = pool.submit(read, connection)
            with contextlib.suppress(OSError):
                connection.sendall(text)
                while not received.done():
                    connection.sendall(b"x" * 2000)
            return received.result() == (ANSWER, "end")

    for name, text in itertools.product(LISTENERS, (b"caf\xff", b"to an answer with an error\n")):
        lost = parallel(one, [(name, text)] * 100, workers=25).count(False)
        assert lost == 0, (name, text, lost)
    return "200 connections, and 200 behind an internal listener; half of them with an error in the answer"


def never_ends(linger):
    resident = []
    for _ in range(3):
        start = time.monotonic()
        connections = linger.all_rejected(150)
        assert linger.threads() == 1
        closed = []
        while connections:
            assert time.monotonic() < start + e.PATIENCE, f"{len(connections)} connections are not closed"
            time.sleep(0.1)
            for connection in list(connections):
                try:
                    connection.sendall(b"x")
                except OSError:
                    connections.remove(connection)
                    closed.append(time.monotonic() - start)
        assert min(closed) > LINGER - 1, min(closed)
        resident.append(linger.envoy.resident())
    e.wait(lambda: linger.threads() == 0)
    grown = (resident[-1] - resident[0]) >> 10
    assert grown < 4096, resident
    return f"3 times 300 connections, closed after {min(closed):.1f} to {max(closed):.1f} s; {grown} KiB more memory"


def ends(linger):
    connections = linger.all_rejected(100)
    linger.envoy.admin("/drain_listeners?graceful", post=True)
    assert linger.threads() == 1
    start = time.monotonic()
    linger.envoy.process.terminate()
    code = linger.envoy.process.wait(e.PATIENCE)
    took = time.monotonic() - start
    for connection in connections:
        connection.close()
    assert code == 0 and took < LINGER - 1, (code, took)
    return f"Envoy ends in {took:.1f} s with {len(connections)} such connections"


CORE = [("TCP: a rejected client that keeps sending", answers)]
ROWS = [
    # First, because the clients of the other rows linger.
    ("TCP: a rejected client that has ended", has_ended),
    *CORE,
    ("TCP: a rejected client that never ends", never_ends),
    ("TCP: Envoy ends while clients do not", ends),
]
