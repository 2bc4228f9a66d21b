"""Rows of the network filter: everything on TCP, in both directions."""

import itertools
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor

from . import envoy as e
from .log import Verdicts
from .samples import ERRORS, GOOD, partitions, possible, random_cuts, random_text
from .upstream import Recorder, Script, Server, echo

numbers = itertools.count(1)


def connect(port, tls=False):
    connection = socket.create_connection(("127.0.0.1", port), timeout=e.PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not tls:
        return connection
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(connection, server_hostname="localhost")


def read_all(connection):
    """What arrives until the end, and `end` or `reset`."""
    parts = []
    try:
        while data := connection.recv(1 << 16):
            parts.append(data)
    except ssl.SSLEOFError:
        return b"".join(parts), "reset"
    except OSError:
        return b"".join(parts), "reset"
    return b"".join(parts), "end"


def send(connection, pieces, pause=0.004):
    for piece in pieces:
        connection.sendall(piece)
        if pause:
            time.sleep(pause)


class Tcp:
    """One Envoy with a listener for each configuration, and its upstreams."""

    def __init__(self, program, module, folder):
        self.recorder = Recorder()
        self.slow = Recorder(delay=0.5, receive_buffer=4096)
        self.script = Script()
        self.echo = Server(echo)
        log = f"{folder}/tcp-access.json"
        self.verdicts = Verdicts(log)
        certificate = e.certificate(folder)
        clusters = [
            e.cluster("recorder", self.recorder.port),
            e.cluster("slow", self.slow.port),
            e.cluster("script", self.script.port),
            e.cluster("echo", self.echo.port),
        ]
        strict = {"on_error": "strict"}
        replace = {"on_error": "replace"}
        listeners = [
            e.tcp_listener("strict", strict, "recorder", log=log),
            e.tcp_listener("replace", {"struct": replace}, "recorder"),
            e.tcp_listener("report", {"action": "report"}, "recorder", log=log),
            e.tcp_listener("ascii", {"subset": "ascii"}, "recorder", log=log),
            e.tcp_listener("bytes", {"forward": "bytes"}, "recorder", log=log),
            e.tcp_listener("bytes-echo", {"forward": "bytes"}, "echo", per_connection_buffer_limit_bytes=32768),
            e.tcp_listener("slow", strict, "slow"),
            e.tcp_listener("answers", strict, "script", log=log),
            e.tcp_listener("answers-replace", replace, "script"),
            e.tcp_listener("requests-only", {"direction": "request"}, "script"),
            e.tcp_listener("tls", strict, "recorder", log=log, certificate=certificate),
            e.tcp_listener("echo", {}, "echo"),
            e.tcp_listener("echo-replace", replace, "echo"),
            e.tcp_listener("small", strict, "recorder", per_connection_buffer_limit_bytes=1024),
            e.tcp_listener("edge", strict, "recorder", per_connection_buffer_limit_bytes=32768),
            e.tcp_listener("edge-echo", strict, "echo", per_connection_buffer_limit_bytes=32768),
        ]
        config = e.bootstrap(listeners, clusters)
        self.envoy = e.Envoy(program, module, config, folder, workers=4, name="tcp")

    def __enter__(self):
        self.envoy.__enter__()
        self.ports = self.envoy.ports()
        return self

    def __exit__(self, *_):
        self.envoy.stop()

    def request(self, listener, pieces, upstream=None, tls=False, pause=0.004):
        """Sends pieces after a first line. Returns what the upstream received, how that ended, and the shift of offsets."""
        number = next(numbers)
        line = b"#%d\n" % number
        with connect(self.ports[listener], tls) as connection:
            connection.sendall(line)
            try:
                send(connection, pieces, pause)
                # TLS has no end of one direction.
                connection.close() if tls else connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            text, end = (upstream or self.recorder).take(number)
        return text, end, len(line)


def parallel(function, cases, workers=48):
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda case: function(*case), cases))


def good_text_passes(tcp):
    cases = [("strict", [piece for piece in pieces]) for text in GOOD for pieces in partitions(text.encode())]

    def one(listener, pieces):
        text, end, _ = tcp.request(listener, pieces)
        assert (text, end) == (b"".join(pieces), "end"), (pieces, text)

    parallel(one, cases)
    return f"{len(cases)} connections"


def every_error_class(tcp, listener="strict", tls=False):
    cases = [(*error, pieces) for error in ERRORS for pieces in partitions(error[0])]

    def one(text, kind, offset, length, pieces):
        received, end, shift = tcp.request(listener, pieces, tls=tls)
        passed = possible(text, offset, length) if listener == "bytes" else offset
        assert (received, end) == (text[:passed], "end"), (pieces, received, end)
        return (kind, offset + shift, length)

    expected = sorted(parallel(one, cases))
    entries = tcp.verdicts.take(len(expected))
    seen = sorted((entry["kind"], int(entry["offset"]), int(entry["len"])) for entry in entries)
    assert seen == expected, (seen[:3], expected[:3])
    assert {entry["verdict"] for entry in entries} == {"rejected"}
    return f"{len(expected)} connections, kind, offset and length of each"


def behind_tls(tcp):
    good = random_text(100_000, 4)
    received, _, _ = tcp.request("tls", random_cuts(good, 5_000, 4), tls=True, pause=0)
    assert received == good, (len(received), len(good))
    return every_error_class(tcp, "tls", tls=True)


def characters_as_they_arrive(tcp):
    """With `forward: bytes`, the upstream has the bytes of a character before the character is complete."""
    with connect(tcp.ports["bytes-echo"]) as connection:
        for byte in "\u7f51".encode():
            connection.sendall(bytes([byte]))
            assert connection.recv(1) == bytes([byte])
    return every_error_class(tcp, "bytes")


def repairs(tcp):
    cases = [(error[0], pieces) for error in ERRORS for pieces in partitions(error[0])]

    def one(text, pieces):
        received, end, _ = tcp.request("replace", pieces)
        assert (received, end) == (text.decode("utf-8", "replace").encode(), "end"), (pieces, received)

    parallel(one, cases)
    return f"{len(cases)} connections, equal to Python's"


def only_reports(tcp):
    cases = [(error[0], [error[0]]) for error in ERRORS]

    def one(text, pieces):
        received, end, _ = tcp.request("report", pieces)
        assert (received, end) == (text, "end"), (pieces, received)

    parallel(one, cases)
    entries = tcp.verdicts.take(len(cases))
    assert {entry["verdict"] for entry in entries} == {"reported"}, entries
    return f"{len(cases)} connections pass unchanged and are reported"


def subset(tcp):
    text, _, shift = tcp.request("ascii", ["plain, naïve".encode()])
    assert text == b"plain, na", text
    entry = tcp.verdicts.take(1)[0]
    assert (entry["kind"], int(entry["offset"]), int(entry["len"])) == ("OutsideSubset", 9 + shift, 2), entry
    return "a character outside ASCII is an error"


def responses(tcp):
    cases = [(error[0], pieces) for error in ERRORS for pieces in partitions(error[0], 5)]

    def one(listener, expected, pieces):
        number = next(numbers)
        tcp.script.pieces[number] = pieces
        with connect(tcp.ports[listener]) as connection:
            connection.sendall(b"%d\n" % number)
            received, _ = read_all(connection)
        assert received == expected, (listener, pieces, received)

    good = {error[0]: error[0][: error[2]] for error in ERRORS}
    parallel(one, [("answers", good[text], pieces) for text, pieces in cases])
    repaired = [("answers-replace", text.decode("utf-8", "replace").encode(), pieces) for text, pieces in cases]
    parallel(one, repaired)
    parallel(one, [("requests-only", text, pieces) for text, pieces in cases])
    entries = tcp.verdicts.take(len(cases))
    assert {entry["direction"] for entry in entries} == {"response"}, entries
    seen = sorted((entry["kind"], int(entry["offset"])) for entry in entries)
    assert seen == sorted(error[1:3] for error in ERRORS for _ in partitions(error[0], 5))
    return f"{3 * len(cases)} connections: strict, replace, and a direction that is not checked"


def large_response(tcp):
    good = random_text(3_000_000, 1)
    number = next(numbers)
    tcp.script.pieces[number] = [good + b"\xff" + good]
    with connect(tcp.ports["answers"]) as connection:
        connection.sendall(b"%d\n" % number)
        time.sleep(0.5)
        received, _ = read_all(connection)
    assert received == good, (len(received), len(good))
    return f"all {len(good)} bytes before the error reach a slow client"


def slow_upstream(tcp):
    good = random_text(4_000_000, 2)
    number = next(numbers)
    with connect(tcp.ports["slow"]) as connection:
        connection.sendall(b"#%d\n" % number)
        try:
            connection.sendall(good + b"\xff")
            connection.sendall(b"more" * 1000)
        except OSError:
            pass
        text, end = tcp.slow.take(number, 2 * e.PATIENCE)
    assert (text, end) == (good, "end"), (len(text), end)
    return f"all {len(good)} bytes before the error reach a slow upstream"


def many_connections(tcp):
    """Both directions of an echo, in random pieces."""

    def one(index):
        has_errors = index % 2 == 1
        data = random_text(20_000, index, error_every=200 if has_errors else 0)
        expected = data.decode("utf-8", "replace").encode()
        port = tcp.ports["echo-replace" if has_errors else "echo"]
        with connect(port) as connection, ThreadPoolExecutor(1) as reader:
            answer = reader.submit(read_all, connection)
            for piece in random_cuts(data, 2_000, index):
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
            received, end = answer.result()
        assert (received, end) == (expected, "end"), (index, len(received), len(expected))

    parallel(one, [(index,) for index in range(300)], workers=60)
    return "300 connections, half of them with errors, on 4 workers"


def small_buffers(tcp):
    good = random_text(500_000, 3)
    text, end, _ = tcp.request("small", random_cuts(good + b"\xff" + good, 9_000, 3), pause=0)
    assert (text, end) == (good, "end"), (len(text), len(good), end)
    return "500 KB through a buffer limit of 1 KiB"


def full_reads(tcp):
    """Every read fills Envoy's slices of 16 KiB, and ends at each position in a character in turn."""
    for unit in ("\u7f51", "\u00fc", "\U0001f600", "\u7f51\u00fcx"):
        good = (unit * 700_000).encode()
        for listener in ("strict", "edge"):
            text, end, _ = tcp.request(listener, [good + b"\xff" + good], pause=0)
            assert (text, end) == (good, "end"), (unit, listener, len(text), len(good), end)
        for listener in ("echo", "edge-echo", "bytes-echo"):
            with connect(tcp.ports[listener]) as connection, ThreadPoolExecutor(1) as pool:
                received = pool.submit(read_all, connection)
                connection.sendall(good)
                connection.shutdown(socket.SHUT_WR)
                assert received.result() == (good, "end"), (unit, listener)
    return "4 texts of 2 MB, buffer limits of 32 KiB and 1 MiB, both directions"


def counters(tcp):
    stat = lambda name: tcp.envoy.stat(f"dynamicmodulescustom.utf8_tcp_{name}")
    before = stat("bytes")
    _, _, length = tcp.request("strict", [b"counted"])
    e.wait(lambda: stat("bytes") >= before + length + 7)
    assert stat("rejected") > 200 and stat("reported") == len(ERRORS) and stat("repaired") > 100
    assert stat("errors_surrogate") > 0 and stat("errors_outside_subset") == 1 and stat("panics") == 0
    kinds = {error[1] for error in ERRORS}
    for text in ["rejected request: ill-formed UTF-8 at byte", *kinds]:
        tcp.envoy.wait_for_log(text)
    log = tcp.envoy.log.read_text(errors="replace")
    assert "caf" not in log and "12345" not in log, "the log has bytes of the payload"
    return f"{stat('rejected')} rejected, {stat('repaired')} repaired; the log has no payload"


CORE = [
    ("TCP: good text in every cut passes", good_text_passes),
    ("TCP: every error class, every cut", every_error_class),
    ("TCP: repaired in every cut", repairs),
    ("TCP: responses", responses),
]

ROWS = [
    *CORE,
    ("TCP: characters as they arrive", characters_as_they_arrive),
    ("TCP: behind TLS", behind_tls),
    ("TCP: report only", only_reports),
    ("TCP: a subset", subset),
    ("TCP: slow upstream", slow_upstream),
    ("TCP: slow client", large_response),
    ("TCP: random cuts on 4 workers", many_connections),
    ("TCP: small buffers", small_buffers),
    ("TCP: full reads", full_reads),
    ("TCP: counters and log", counters),
]
