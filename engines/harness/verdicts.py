"""Rows that run the same texts through every engine: the native module and the WebAssembly one in Envoy, the module for nginx,
the gateway on Pingora, and the relay. The verdicts must be the same, byte for byte."""

import contextlib
import itertools
import json
import os
import re
import socket
import struct
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import envoy as e
from . import nginx, programs
from .http1 import chunked
from .samples import ERRORS, GOOD, partitions, possible
from .tcp import connect, parallel, read_all, send
from .upstream import Recorder, Server, echo

numbers = itertools.count(1)
# The settings, apart from the default, with which engines are compared.
POLICIES = {
    "replace": {"on_error": "replace"},
    "report": {"action": "report"},
    "bytes": {"forward": "bytes"},
    "json": {"json_strings": "strict", "json_subset": "no-nul"},
}
NGINX = ("nginx", "nginx-unbuffered", "nginx-held")
HTTP_REPLACE = ["native-replace", "wasm-replace", "nginx-replace", "pingora-replace"]
TCP_REPLACE = ["native-tcp-replace", "wasm-tcp-replace", "nginx-tcp-replace", "relay-replace"]
TCP_REPORT = ["native-tcp-report", "wasm-tcp-report", "nginx-tcp-report", "relay-report"]
UPGRADES = {"streaming": {"websocket": "pass"}, "buffered": {"mode": "buffered", "websocket": "pass"}}


# JSON with an escape that is not accepted, and the kind, offset and length of the error.
JSON_ERRORS = [
    (b'["\\uD83D"]', "UnpairedSurrogate", 2, 6),
    (b'["\\n\\uDE00x"]', "UnpairedSurrogate", 4, 4),
    (b'["\\u00', "IncompleteEscape", 2, 4),
    ('["é\\u0000"]'.encode(), "OutsideSubset", 4, 6),
]
JSON_GOOD = ['["\\uD83D\\uDE00 \\\\uD83D"]'.encode(), '{"naïve": "\\u00e9"}'.encode()]


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


def read_message(connection, keep=lambda part: None):
    """The first line and the body of a message with one; the rest of the connection is ignored. Calls `keep` with the
    bytes of each read, also if the message does not end."""
    data = b""

    def more():
        nonlocal data
        part = connection.recv(1 << 16)
        if not part:
            raise ConnectionError("the message is not complete")
        keep(part)
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
    """Responds with the body of a request that came whole. `requests` has these bodies, `reads` has all bytes."""

    def __init__(self):
        self.requests = []
        self.reads = []
        super().__init__(self.mirror)

    def mirror(self, connection):
        _, _, body = read_message(connection, self.reads.append)
        self.requests.append(body)
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)


class Upgraded(Server):
    """Accepts an upgrade. `requests` has the head of each request, and the bytes that came before the response."""

    def __init__(self):
        self.requests = []
        super().__init__(self.accept_upgrade)

    def accept_upgrade(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            part = connection.recv(1 << 16)
            if not part:
                return
            data += part
        head, _, early = data.partition(b"\r\n\r\n")
        connection.settimeout(0.3)
        try:
            early += connection.recv(1 << 16)
        except TimeoutError:
            pass
        self.requests.append((head, early))
        connection.settimeout(e.PATIENCE)
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
        while data := connection.recv(1 << 16):
            connection.sendall(data)


class Process:
    """A program on a port of loopback."""

    def __init__(self, command, log):
        self.port = e.free_port()
        command = [str(part).replace("PORT", str(self.port)) for part in command]
        environment = {**os.environ, "RUST_LOG": "warn"}
        with open(log, "wb") as stderr:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, env=environment)
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


ANSWER = b"the answer " * 100


def answering(connection):
    """Responds after the end of the text."""
    while connection.recv(1 << 16):
        pass
    connection.sendall(ANSWER)


class Engines:
    """One Envoy with the native filters, and those for WebAssembly if Rust and Envoy have it; nginx if it is installed; the
    gateway on Pingora and the relay if they are built."""

    def __init__(self, program, module, folder):
        self.program, self.module, self.folder = program, module, folder
        # Why an engine is not there.
        self.missing = {}
        self.trap = self.code = None
        try:
            # The order decides which build stays in the folder of cargo.
            self.trap, self.code = programs.wasm(program, "panic-on-marker"), programs.wasm(program)
        except programs.Unavailable as why:
            self.missing["wasm"] = str(why)
        self.mirror, self.recorder, self.echo, self.upgraded = Mirror(), Recorder(), Server(echo), Upgraded()
        self.answering = Server(answering)
        upstreams = {"mirror": self.mirror, "recorder": self.recorder, "echo": self.echo, "upgraded": self.upgraded}
        upstreams["answering"] = self.answering
        clusters = [e.cluster(name, server.port) for name, server in upstreams.items()]
        report = wasm_http({"mode": "buffered", "action": "report", "on_error": "replace"}, self.code)
        listeners = [
            e.http_listener("native-http", {}, "mirror"),
            e.http_listener("wasm-http", None, "mirror", filters=[wasm_http({}, self.code)]),
            e.http_listener("wasm-replace", None, "mirror", filters=[wasm_http({"on_error": "replace"}, self.code)]),
            e.http_listener("wasm-buffered", None, "mirror", filters=[wasm_http({"mode": "buffered"}, self.code)]),
            e.http_listener("wasm-report-small", None, "mirror", filters=[report], per_connection_buffer_limit_bytes=8192),
            e.tcp_listener("native-tcp", {}, "recorder"),
            e.tcp_listener("wasm-tcp", None, "recorder"),
            e.tcp_listener("native-answering", {}, "answering"),
            e.tcp_listener("wasm-echo", None, "echo"),
        ]
        for listener in [listener for listener in listeners if listener["name"] in ("wasm-tcp", "wasm-echo")]:
            listener["filter_chains"][0]["filters"].insert(0, wasm_tcp({}, self.code))
        for name, settings in POLICIES.items():
            if name != "replace":
                listeners.append(e.http_listener(f"wasm-{name}", None, "mirror", filters=[wasm_http(settings, self.code)]))
            listeners.append(e.http_listener(f"native-{name}", settings, "mirror"))
            listeners.append(e.tcp_listener(f"native-tcp-{name}", settings, "recorder"))
            listeners.append(e.tcp_listener(f"wasm-tcp-{name}", None, "recorder"))
            listeners[-1]["filter_chains"][0]["filters"].insert(0, wasm_tcp(settings, self.code))
        for name, settings in UPGRADES.items():
            listeners.append(e.http_listener(f"native-upgrade-{name}", settings, "upgraded"))
            filters = [wasm_http(settings, self.code)]
            listeners.append(e.http_listener(f"wasm-upgrade-{name}", None, "upgraded", filters=filters))
        if self.code is None:
            listeners = [listener for listener in listeners if not listener["name"].startswith("wasm-")]
        self.envoy = e.Envoy(program, module, e.bootstrap(listeners, clusters), folder, workers=2, name="engines")
        self.others = []
        self.nginx = None

    def __enter__(self):
        self.envoy.__enter__()
        try:
            self.ports = self.envoy.ports()
            listen = ["--listen", "127.0.0.1:PORT", "--upstream"]
            gateway = [*listen, f"127.0.0.1:{self.mirror.port}"]
            relay = ["proxy", *listen, f"127.0.0.1:{self.recorder.port}"]
            self.start_nginx()
            self.start("pingora", programs.pingora(), gateway)
            self.start("relay", programs.relay(), relay)
            for name, settings in POLICIES.items():
                self.start(f"pingora-{name}", programs.pingora(), [*gateway, "--settings", json.dumps(settings)])
            self.start("relay-replace", programs.relay(), [*relay, "--on-error", "replace"])
            answering = ["proxy", *listen, f"127.0.0.1:{self.answering.port}", "--on-rejection", "close"]
            self.start("relay-answering", programs.relay(), answering)
            self.start("relay-bytes", programs.relay(), [*relay, "--hold", "nothing"])
            self.start("relay-json", programs.relay(), [*relay, "--json-strings", "strict", "--json-subset", "no-nul"])
            self.start("relay-report", programs.relay(), [*relay, "--mode", "report"])
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self, name, program, arguments):
        if program is None:
            # Once for each program, in order.
            self.missing[name.partition("-")[0]] = "not built"
            return
        process = Process([program, *arguments], self.log_of(name))
        self.others.append(process)
        self.ports[name] = process.port

    def start_nginx(self):
        try:
            program, module = nginx.available()
        except programs.Unavailable as why:
            self.missing["nginx"] = str(why)
            return
        unbuffered = "proxy_request_buffering off;"
        http = {"nginx": ({}, ""), "nginx-unbuffered": ({}, unbuffered), "nginx-held": ({"mode": "buffered"}, unbuffered)}
        http |= {f"nginx-{name}": (settings, "") for name, settings in POLICIES.items()}
        stream = {"nginx-tcp": {}} | {f"nginx-tcp-{name}": settings for name, settings in POLICIES.items()}
        self.ports |= {name: e.free_port() for name in (*http, *stream, "nginx-answering")}
        servers = [
            nginx.server(self.ports[name], nginx.location(settings, self.mirror.port, more=more))
            for name, (settings, more) in http.items()
        ]
        sessions = [
            nginx.stream_server(self.ports[name], settings, self.recorder.port) for name, settings in stream.items()
        ]
        sessions.append(nginx.stream_server(self.ports["nginx-answering"], {}, self.answering.port))
        self.nginx = nginx.Nginx(program, module, self.folder, http="".join(servers), stream="".join(sessions))
        self.nginx.__enter__()

    def log_of(self, name):
        return Path(self.folder) / f"{name}.stderr"

    def __exit__(self, *_):
        for process in self.others:
            process.stop()
        if self.nginx:
            self.nginx.stop()
        self.envoy.stop()

    def post(self, engine, pieces, content_type="text/plain", has_length=False):
        """The status, the type and the body of the response to a request, which is chunked if it has no length."""
        with connect(self.ports[engine]) as connection:
            head = f"POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: {content_type}\r\n"
            if has_length:
                head += f"content-length: {sum(map(len, pieces))}\r\n\r\n"
            else:
                head += "transfer-encoding: chunked\r\n\r\n"
                pieces = chunked(pieces)
            try:
                send(connection, [head.encode(), *pieces], 0.003)
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


def same(engines, names, run, cases=None):
    names = [name for name in names if name in engines.ports]
    cases = cases or corpus()
    found = {name: parallel(run, [(name, pieces) for _, pieces in cases], workers=16) for name in names}
    for index, (text, pieces) in enumerate(cases):
        verdicts = {name: found[name][index] for name in names}
        assert len(set(verdicts.values())) == 1, f"{text!r} in {pieces}: {verdicts}"
    missing = "".join(f"; SKIPPED {name}: {why}" for name, why in engines.missing.items())
    return cases, found[names[0]], f"{len(cases)} texts and cuts through {', '.join(names)}{missing}"


def http_verdicts(engines):
    cases, found, detail = same(engines, ["native-http", "wasm-http", *NGINX, "pingora"], engines.post)
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
    cases, found, detail = same(engines, ["native-tcp", "wasm-tcp", "nginx-tcp", "relay"], engines.stream)
    expected = {text: offset for text, _, offset, _ in ERRORS}
    for (text, _), received in zip(cases, found):
        assert received == text[: expected.get(text, len(text))], (text, received)
    return detail


def bytes_forwarded(engines):
    cases, found, detail = same(engines, ["native-tcp-bytes", "wasm-tcp-bytes", "nginx-tcp-bytes", "relay-bytes"], engines.stream)
    ends = {text: possible(text, offset, length) for text, _, offset, length in ERRORS}
    for (text, _), received in zip(cases, found):
        assert received == text[: ends.get(text, len(text))], (text, received)
    return detail


def answers(engines):
    """The answer to the text before an error reaches a client that does not stop sending. Under WebAssembly the server does not
    receive the end of the text before the client ends."""

    def one(name):
        with connect(engines.ports[name]) as connection, ThreadPoolExecutor(1) as pool:
            received = pool.submit(read_up_to, connection, len(ANSWER))
            with contextlib.suppress(OSError):
                connection.sendall(b"caf\xff")
                while not received.done():
                    connection.sendall(b"x" * 2000)
            return received.result() == ANSWER

    names = [name for name in ("native-answering", "nginx-answering", "relay-answering") if name in engines.ports]
    for name in names:
        lost = parallel(one, [(name,)] * 100, workers=25).count(False)
        assert lost == 0, (name, lost)
    return f"100 connections through {', '.join(names)}"


def read_up_to(connection, length):
    data = b""
    with contextlib.suppress(OSError):
        while len(data) < length and (more := connection.recv(1 << 16)):
            data += more
    return data


def replaced(engines):
    """Repaired text is the same in every engine, and the same as Python's."""
    details = []
    for names, run, text_of in (
        (HTTP_REPLACE, engines.post, lambda found: found[2]),
        (TCP_REPLACE, engines.stream, lambda found: found),
    ):
        cases, found, detail = same(engines, names, run)
        for (text, _), result in zip(cases, found):
            assert text_of(result) == text.decode("utf-8", "replace").encode(), (text, result)
        details.append(detail)
    return "; ".join(details)


def lengths(engines):
    """The server receives all of a repaired body that had a length, which a repair changes."""
    text = b"\xff" * 20 + b"GET /admin HTTP/1.1\r\n\r\n"
    run = lambda engine, pieces: engines.post(engine, pieces, has_length=True)
    cases = [*corpus(), *[(text, pieces) for pieces in partitions(text, limit=4)]]
    _, found, detail = same(engines, HTTP_REPLACE, run, cases)
    for (text, _), (status, _, body) in zip(cases, found):
        assert (status, body) == ("200", text.decode("utf-8", "replace").encode()), (text, status, body)
    return detail


def json_escapes(engines):
    """Escapes that are no character: the same verdicts for bodies and connections, cut at every byte."""
    errors = {text: (kind, offset, length) for text, kind, offset, length in JSON_ERRORS}
    cases = [(text, pieces) for text in [*errors, *JSON_GOOD] for pieces in partitions(text)]
    details = []
    for names, run in (
        (["native-json", "wasm-json", "nginx-json", "pingora-json"], lambda *case: engines.post(*case, content_type="application/json")),
        (["native-tcp-json", "wasm-tcp-json", "nginx-tcp-json", "relay-json"], engines.stream),
    ):
        _, found, detail = same(engines, names, run, cases)
        details.append(detail)
        for (text, _), result in zip(cases, found):
            expected = errors.get(text)
            if isinstance(result, bytes):
                assert result == text[: expected[1] if expected else len(text)], (text, result)
            elif expected:
                problem = json.loads(result[2])
                assert (problem["kind"], problem["offset"], problem["len"]) == expected, (text, problem)
            else:
                assert (result[0], result[2]) == ("200", text), (text, result)
    return "; ".join(details)


def reported(engines):
    """Nothing is changed, and every engine reports the same kinds, offsets and lengths."""
    start = len(engines.envoy.log.read_text(errors="replace"))
    details = []
    # The first line of a stream is before its text.
    for prefix, names, run, text_of in (
        ("", ["native-report", "wasm-report", "nginx-report", "pingora-report"], engines.post, lambda found: found[2]),
        ("tcp-", TCP_REPORT, engines.stream, lambda found: found),
    ):
        cases, found, detail = same(engines, names, run)
        for (text, _), result in zip(cases, found):
            assert text_of(result) == text, (text, result)
        details.append(detail)
        if not prefix:
            errors = {text: (kind, offset, length) for text, kind, offset, length in ERRORS}
            expected = sorted(errors[text] for text, _ in cases if text in errors)
            lines = {"native": lambda: [line for line in log_lines(engines.envoy.log, start) if "wasm log" not in line]}
            if engines.code:
                lines["wasm"] = lambda: [line for line in log_lines(engines.envoy.log, start) if "wasm log" in line]
            if "pingora-report" in engines.ports:
                lines["pingora"] = lambda: log_lines(engines.log_of("pingora-report"), 0)
            if "nginx-report" in engines.ports:
                lines["nginx"] = lambda: log_lines(engines.nginx.log, 0)
            for engine, read in lines.items():
                e.wait(lambda: len(reports(read())) >= len(expected))
                assert sorted(reports(read())) == expected, engine
    return "; ".join(details)


def log_lines(path, start):
    return path.read_text(errors="replace")[start:].splitlines()


def reports(lines):
    """The kind, offset and length of each report in the log of an Envoy or of the gateway."""
    found = []
    for line in lines:
        if match := re.search(r"reported request: ill-formed UTF-8 at byte (\d+) \((\w+), (\d+) byte", line):
            found.append((match[2], int(match[1]), int(match[3])))
        elif match := re.search(r"reported kind=(\w+) offset=(\d+) len=(\d+)", line):
            found.append((match[1], int(match[2]), int(match[3])))
    return found


def chunked_upgrades(engines):
    """A chunked body of a request with `Upgrade`. Envoy removes `Transfer-Encoding`, and sends the bytes only after the
    server has accepted, as those of the tunnel: no server reads them as text. Pingora keeps the body, and it is checked."""
    head = b"POST / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    head += b"content-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
    body = b"4\r\ncaf\xff\r\n0\r\n\r\n"
    for engine in ("native", "wasm") if engines.code else ("native",):
        for name in UPGRADES:
            engines.upgraded.requests.clear()
            with connect(engines.ports[f"{engine}-upgrade-{name}"]) as connection:
                connection.sendall(head + body)
                received = b""
                while not received.endswith(body) and (data := connection.recv(1 << 16)):
                    received += data
            assert received.startswith(b"HTTP/1.1 101") and received.endswith(body), (engine, name, received)
            ((request, early),) = engines.upgraded.requests
            assert b"transfer-encoding" not in request.lower() and early == b"", (engine, name, request, early)
    if "pingora" in engines.ports:
        with connect(engines.ports["pingora"]) as connection:
            connection.sendall(head + body)
            line, _, document = read_message(connection)
            assert line.split(" ")[1] == "400" and json.loads(document)["offset"] == 3, (line, document)
    return "Envoy: bytes of the tunnel, after 101 only; Pingora: checked"


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
    assert not [part for part in engines.mirror.reads if b"held " in part]
    return "an ill-formed request does not reach the server"


def wasm_reports(engines):
    pieces = [b"x" * 4096] * 8 + [b"caf\xff"] + [b"y" * 4096] * 8
    status, _, body = engines.post("wasm-report-small", pieces)
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


def with_wasm(rows):
    """Rows that are skipped without the filter for WebAssembly."""

    def skips(run):
        def row(engines):
            if engines.code is None:
                raise programs.Unavailable(engines.missing["wasm"])
            return run(engines)

        return row

    return [(name, skips(run)) for name, run in rows]


WASM = [
    ("wasm: repair", wasm_repairs),
    ("wasm: trailers", wasm_trailers),
    ("wasm: buffered", wasm_buffers),
    ("wasm: report only", wasm_reports),
    ("wasm: an error in one direction", wasm_directions),
    ("wasm: a body and an upgrade", wasm_upgrades),
    ("wasm: connections that end anyhow", wasm_survives_ends),
]
ROWS = [
    ("engines: the same verdicts, HTTP", http_verdicts),
    ("engines: the same verdicts, TCP", tcp_verdicts),
    ("engines: the same bytes before an error, TCP", bytes_forwarded),
    ("engines: the answer to a client that keeps sending", answers),
    ("engines: the same repairs", replaced),
    ("engines: the same repairs, with a length", lengths),
    ("engines: the same reports", reported),
    ("engines: the same escapes of JSON", json_escapes),
    ("engines: a chunked body and an upgrade", chunked_upgrades),
    *with_wasm(WASM),
]
CORE = ROWS[:1]
