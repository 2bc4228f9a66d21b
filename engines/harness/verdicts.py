"""Rows that run the same texts through every engine: the native module and the WebAssembly one in Envoy, the gateway on
Pingora, and the relay. The verdicts must be the same, byte for byte."""

import itertools
import json
import os
import socket
import struct
import subprocess
import time
from pathlib import Path

from . import envoy as e
from . import programs
from .samples import ERRORS, GOOD, partitions
from .tcp import connect, parallel, read_all, send
from .upstream import Recorder, Server, echo

numbers = itertools.count(1)


def wasm_config(root_id, settings, code):
    value = settings if isinstance(settings, str) else json.dumps(settings)
    vm = {"vm_id": root_id, "runtime": "envoy.wasm.runtime.v8", "code": {"local": {"filename": str(code)}}}
    return {"name": f"{root_id} {value}", "root_id": root_id, "vm_config": vm, "configuration": e.text(value)}


def wasm_http(settings, code):
    kind = f"{e.EXTENSIONS}.filters.http.wasm.v3.Wasm"
    return {"name": "utf8", "typed_config": {"@type": kind, "config": wasm_config("utf8_http", settings, code)}}


def wasm_tcp(settings, code):
    kind = f"{e.EXTENSIONS}.filters.network.wasm.v3.Wasm"
    return {"name": "utf8", "typed_config": {"@type": kind, "config": wasm_config("utf8_tcp", settings, code)}}


def read_message(connection):
    """The first line and the body of a message with one; the rest of the connection is ignored."""
    data = b""

    def more():
        nonlocal data
        part = connection.recv(1 << 16)
        if not part:
            raise ConnectionError("the message is not complete")
        data += part

    while b"\r\n\r\n" not in data:
        more()
    head, _, data = data.partition(b"\r\n\r\n")
    line, *fields = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
    if "chunked" not in fields.get("transfer-encoding", ""):
        length = int(fields.get("content-length", 0))
        while len(data) < length:
            more()
        return line, fields, data[:length]
    body = b""
    while True:
        while b"\r\n" not in data:
            more()
        size, _, data = data.partition(b"\r\n")
        size = int(size, 16)
        while len(data) < size + 2:
            more()
        body += data[:size]
        data = data[size + 2 :]
        if size == 0:
            return line, fields, body


class Mirror(Server):
    """Responds with the body of a request that came whole. `requests` has all bodies."""

    def __init__(self):
        self.requests = []
        super().__init__(self.mirror)

    def mirror(self, connection):
        _, _, body = read_message(connection)
        self.requests.append(body)
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)


class Process:
    """A program on a port of loopback."""

    def __init__(self, command):
        self.port = e.free_port()
        command = [str(part).replace("PORT", str(self.port)) for part in command]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + e.PATIENCE
        while True:
            try:
                connect(self.port).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    raise AssertionError(f"{command[0]} does not listen") from None
                time.sleep(0.05)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Engines:
    """One Envoy with the native and the WebAssembly filters; the gateway on Pingora and the relay if they are built."""

    def __init__(self, program, module, folder):
        if "1.38." in str(program):
            raise programs.Unavailable("the wheel of Envoy 1.38 is compiled without WebAssembly")
        self.program, self.module, self.folder = program, module, folder
        self.code = programs.wasm()
        self.mirror, self.recorder = Mirror(), Recorder()
        upstreams = {"mirror": self.mirror, "recorder": self.recorder, "echo": Server(echo)}
        clusters = [e.cluster(name, server.port) for name, server in upstreams.items()]
        report = wasm_http({"mode": "buffered", "action": "report", "on_error": "replace"}, self.code)
        listeners = [
            e.http_listener("native-http", {}, "mirror"),
            e.http_listener("wasm-http", None, "mirror", filters=[wasm_http({}, self.code)]),
            e.http_listener("wasm-replace", None, "mirror", filters=[wasm_http({"on_error": "replace"}, self.code)]),
            e.http_listener("wasm-buffered", None, "mirror", filters=[wasm_http({"mode": "buffered"}, self.code)]),
            e.http_listener("wasm-report", None, "mirror", filters=[report], per_connection_buffer_limit_bytes=8192),
            e.tcp_listener("native-tcp", {}, "recorder"),
            e.tcp_listener("wasm-tcp", None, "recorder"),
            e.tcp_listener("wasm-echo", None, "echo"),
        ]
        for listener in listeners[-2:]:
            listener["filter_chains"][0]["filters"].insert(0, wasm_tcp({}, self.code))
        self.envoy = e.Envoy(program, module, e.bootstrap(listeners, clusters), folder, workers=2, name="engines")
        self.others = []
        self.missing = []

    def __enter__(self):
        self.envoy.__enter__()
        try:
            self.ports = self.envoy.ports()
            listen = ["--listen", "127.0.0.1:PORT", "--upstream"]
            self.start("pingora", programs.pingora(), [*listen, f"127.0.0.1:{self.mirror.port}"])
            self.start("relay", programs.relay(), ["proxy", *listen, f"127.0.0.1:{self.recorder.port}"])
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self, name, program, arguments):
        if program is None:
            self.missing.append(name)
            return
        process = Process([program, *arguments])
        self.others.append(process)
        self.ports[name] = process.port

    def __exit__(self, *_):
        for process in self.others:
            process.stop()
        self.envoy.stop()

    def post(self, engine, pieces):
        """The status and the body of the response to a chunked request."""
        with connect(self.ports[engine]) as connection:
            head = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
            chunks = [f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces if piece]
            try:
                send(connection, [head.encode(), *chunks, b"0\r\n\r\n"], 0.003)
            except OSError:
                # The engine has responded before the end.
                pass
            line, fields, body = read_message(connection)
            return line.split(" ")[1], fields.get("content-type"), body

    def stream(self, engine, pieces):
        """The bytes that the server received."""
        number = next(numbers)
        with connect(self.ports[engine]) as connection:
            try:
                send(connection, [b"#%d\n" % number, *pieces], 0.003)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            text, _ = self.recorder.take(number)
            read_all(connection)
        return text


def corpus():
    texts = [text for text, *_ in ERRORS] + [text.encode() for text in GOOD]
    return [(text, pieces) for text in texts for pieces in partitions(text, limit=16)]


def same(engines, names, run):
    names = [name for name in names if name in engines.ports]
    cases = corpus()
    found = {name: parallel(run, [(name, pieces) for _, pieces in cases], workers=16) for name in names}
    for index, (text, pieces) in enumerate(cases):
        verdicts = {name: found[name][index] for name in names}
        assert len(set(verdicts.values())) == 1, f"{text!r} in {pieces}: {verdicts}"
    missing = f"; SKIPPED, not built: {', '.join(engines.missing)}" if engines.missing else ""
    return cases, found[names[0]], f"{len(cases)} texts and cuts through {', '.join(names)}{missing}"


def http_verdicts(engines):
    cases, found, detail = same(engines, ["native-http", "wasm-http", "pingora"], engines.post)
    expected = {text: (kind, offset, length) for text, kind, offset, length in ERRORS}
    for (text, _), (status, kind, body) in zip(cases, found):
        if text in expected:
            problem = json.loads(body)
            assert (status, kind) == ("400", "application/problem+json"), (text, status, kind)
            assert (problem["kind"], problem["offset"], problem["len"]) == expected[text], (text, problem)
        else:
            assert (status, body) == ("200", text), (text, status, body)
    return detail


def tcp_verdicts(engines):
    cases, found, detail = same(engines, ["native-tcp", "wasm-tcp", "relay"], engines.stream)
    expected = {text: offset for text, _, offset, _ in ERRORS}
    for (text, _), received in zip(cases, found):
        assert received == text[: expected.get(text, len(text))], (text, received)
    return detail


def wasm_repairs(engines):
    status, _, body = engines.post("wasm-replace", [b"na\xff", b"\xf0\x9f", b"\x98\x80 \xc3"])
    assert (status, body) == ("200", "na\ufffd\U0001f600 \ufffd".encode()), (status, body)
    return "a request that is cut inside a character"


def wasm_trailers(engines):
    def post(body):
        with connect(engines.ports["wasm-replace"]) as connection:
            head = "POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
            send(connection, [head.encode(), b"%x\r\n%s\r\n" % (len(body), body), b"0\r\nx-end: yes\r\n\r\n"])
            try:
                line, _, body = read_message(connection)
                return line.split(" ")[1], body
            except OSError:
                return "reset", b""

    assert post(b"na\xff") == ("200", "na\ufffd".encode())
    status, body = post(b"na\xc3")
    assert status != "200" and b"\xc3" not in body, (status, body)
    assert post(b"good") == ("200", b"good")
    assert "panicked" not in engines.envoy.log.read_text()
    return f"an unfinished character before trailers: {status}"


def wasm_buffers(engines):
    status, _, body = engines.post("wasm-buffered", [b"held ", b"text ", b"\xff"])
    assert status == "400" and json.loads(body)["offset"] == 10, (status, body)
    status, _, body = engines.post("wasm-buffered", [b"na\xc3", b"\xafve"])
    assert (status, body) == ("200", "naïve".encode()), (status, body)
    assert not [body for body in engines.mirror.requests if body.startswith(b"held")]
    return "an ill-formed request does not reach the server"


def wasm_reports(engines):
    pieces = [b"x" * 4096] * 8 + [b"caf\xff"] + [b"y" * 4096] * 8
    status, _, body = engines.post("wasm-report", pieces)
    assert (status, body) == ("200", b"".join(pieces)), (status, len(body))
    engines.envoy.wait_for_log("reported request: ill-formed UTF-8 at byte 32771 (InvalidLead, 1 byte)")
    return "a body above the buffer limit passes unchanged, and its first error is logged"


def wasm_directions(engines):
    with connect(engines.ports["wasm-echo"]) as connection:
        connection.sendall(b"caf\xff")
        received = b""
        while len(received) < 3 and (data := connection.recv(16)):
            received += data
    assert received == b"caf", received
    return "the answer to the text before an error arrives"


def wasm_upgrades(engines):
    fields = "connection: upgrade\r\nupgrade: websocket\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n"
    for listener in ("wasm-http", "wasm-buffered"):
        with connect(engines.ports[listener]) as connection:
            connection.sendall(f"POST / HTTP/1.1\r\nhost: a\r\n{fields}\r\n".encode() + b"caf\xff")
            line, _, body = read_message(connection)
            assert line.split(" ")[1] == "400" and json.loads(body)["offset"] == 3, (listener, line, body)
    return "a body before an upgrade is checked"


def wasm_rejects_settings(engines):
    listener = e.http_listener("http", None, "mirror", filters=[wasm_http({"on_eror": "strict"}, engines.code)])
    path = Path(engines.folder) / "wrong.json"
    path.write_text(json.dumps(e.bootstrap([listener], [e.cluster("mirror", engines.mirror.port)])))
    environment = {**os.environ, "ENVOY_DYNAMIC_MODULES_SEARCH_PATH": str(engines.module)}
    command = [str(engines.program), "--disable-hot-restart", "--concurrency", "1", "-c", str(path), "-l", "warning"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * e.PATIENCE)
    assert done.returncode != 0
    assert "unknown field `on_eror`" in done.stdout + done.stderr, (done.stdout + done.stderr)[-500:]
    return "unknown field `on_eror`"


def wasm_survives_ends(engines):
    for turn in range(60):
        with connect(engines.ports["wasm-tcp"]) as connection:
            connection.sendall([b"good", b"half \xc3", b"bad \xff"][turn % 3])
            if turn % 2:
                # Reset the connection instead of ending it.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for _ in range(20):
        connection = connect(engines.ports["wasm-http"])
        connection.sendall(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf \xc3")
        connection.close()
    time.sleep(0.5)
    assert engines.stream("wasm-tcp", [b"na\xc3", b"\xafve"]) == "naïve".encode()
    assert engines.post("wasm-http", [b"na\xc3", b"\xafve"])[2] == "naïve".encode()
    assert "panicked" not in engines.envoy.log.read_text()
    return "80 connections"


ROWS = [
    ("engines: the same verdicts, HTTP", http_verdicts),
    ("engines: the same verdicts, TCP", tcp_verdicts),
    ("wasm: repair", wasm_repairs),
    ("wasm: trailers", wasm_trailers),
    ("wasm: buffered", wasm_buffers),
    ("wasm: report only", wasm_reports),
    ("wasm: an error in one direction", wasm_directions),
    ("wasm: a body and an upgrade", wasm_upgrades),
    ("wasm: a wrong key is an error", wasm_rejects_settings),
    ("wasm: connections that end anyhow", wasm_survives_ends),
]
CORE = ROWS[:1]
