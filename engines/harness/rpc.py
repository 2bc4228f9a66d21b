"""Rows with the client and the server of `grpcio`: what a client of gRPC reports for a rejected request. The strings of
protobuf, with the exporters of OpenTelemetry too."""

import base64
import itertools
import json
import subprocess
import tempfile
from pathlib import Path

from . import envoy as e
from . import programs
from .verdicts import Process, wasm_http

PEER = Path(__file__).with_name("grpc_peer.py")
REJECTED = "messages with a length prefix are not accepted"
# The listeners, and the code that a client reports.
LISTENERS = {
    "pass": ({}, "OK"),
    "repair": ({"on_error": "replace", "content_types": ["*/*"]}, "OK"),
    "buffered": ({"mode": "buffered", "content_types": ["*/*"]}, "OK"),
    "request": ({"length_prefixed": "reject"}, "INVALID_ARGUMENT"),
    "response": ({"length_prefixed": "reject", "direction": "response"}, "INTERNAL"),
}


def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def message(*fields):
    """A message of protobuf, of numbers of fields and their values."""
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(varint(number << 3) + varint(value))
        else:
            value = value.encode() if isinstance(value, str) else value
            parts.append(varint(number << 3 | 2) + varint(len(value)) + value)
    return b"".join(parts)


def methods():
    """The descriptor set of `message Text { string text = 1; }` and the methods of `grpc_peer.py`."""
    text = message((1, "Text"), (2, message((1, "text"), (3, 1), (4, 1), (5, 9))))
    calls = [(2, message((1, name), (2, ".utf8.Text"), (3, ".utf8.Text"))) for name in ("Echo", "Chat")]
    file = message((1, "echo"), (2, "utf8"), (4, text), (6, message((1, "Echo"), *calls)), (12, "proto3"))
    return {"descriptor_set": in_base64(message((1, file)))}


def in_base64(data):
    return "base64:" + base64.b64encode(data).decode()


# The policies, and the strings that come back of those that `grpc_peer.py` sends.
CHATS = {
    "chat-strict": ({"on_error": "strict"}, ["naïve", ""]),
    "chat-repair": ({"on_error": "substitute=?"}, ["naïve", "", "caf?", "good"]),
}
# The policies, and what the exporters of OpenTelemetry and their receiver get.
BATCHES = {
    "strict": ({"on_error": "strict"}, {"ok": False, "received": "nothing"}),
    "repair": ({"on_error": "substitute=?"}, {"ok": True, "received": "repaired"}),
}
TRACES = "opentelemetry.proto.collector.trace.v1.ExportTraceService"


class Exporters:
    """The exporters and their receiver, in another process."""

    def __init__(self, folder):
        self.schema = Path(folder) / "otlp.bin"
        command = [programs.otlp(), "-I", PEER.with_name("otlp_peer.py"), self.schema]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ports = dict(zip(("http", "grpc"), map(int, self.process.stdout.readline().split()), strict=True))

    def settings(self, policy, inline):
        schema = in_base64(self.schema.read_bytes()) if inline else str(self.schema)
        types = {"request": f"{TRACES}Request", "response": f"{TRACES}Response"}
        messages = {"/v1/traces": types}
        return {**policy, "protobuf": {"descriptor_set": schema, "messages": messages, "max_inflated_message": 4 << 20}}

    def export(self, kind, port):
        self.process.stdin.write(f"{kind} {port}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.kill()
        self.process.wait()


class Grpc:
    """One Envoy with the native filters, and those for WebAssembly if it has the runtime, before servers of gRPC. The gateway
    on Pingora too, if it is built."""

    def __init__(self, program, module, folder):
        self.folder = folder
        self.python = programs.grpc()
        self.server = subprocess.Popen([self.python, PEER, "serve"], stdout=subprocess.PIPE, text=True)
        self.exporters = Exporters(folder)
        self.upstreams = {"grpc": int(self.server.stdout.readline())}
        self.upstreams |= {f"otlp-{kind}": port for kind, port in self.exporters.ports.items()}
        clusters = [e.http_cluster(name, port, http2=name != "otlp-http") for name, port in self.upstreams.items()]
        listeners = [e.http_listener(f"native-{name}", settings, to) for name, settings, to in self.routes()]
        self.engines, self.skipped = ["native"], ""
        try:
            code = programs.wasm(program)
        except programs.Unavailable as why:
            self.skipped = f"; wasm SKIPPED: {why}"
        else:
            self.engines.append("wasm")
            for name, settings, to in self.routes(inline=True):
                listeners.append(e.http_listener(f"wasm-{name}", None, to, filters=[wasm_http(settings, code)]))
        self.envoy = e.Envoy(program, module, e.bootstrap(listeners, clusters), folder, name="grpc")
        self.others = [self.exporters]

    def routes(self, inline=False):
        """The name, the settings and the upstream of each listener."""
        for name, (settings, _) in LISTENERS.items():
            yield name, settings, "grpc"
        for name, (policy, _) in CHATS.items():
            yield name, {**policy, "protobuf": methods()}, "grpc"
        for name, (policy, _) in BATCHES.items():
            for kind in self.exporters.ports:
                yield f"otlp-{kind}-{name}", self.exporters.settings(policy, inline), f"otlp-{kind}"

    def __enter__(self):
        try:
            self.envoy.__enter__()
            self.ports = self.envoy.ports()
            if (gateway := programs.pingora()) is None:
                self.skipped += "; pingora SKIPPED, not built"
            else:
                self.engines.append("pingora")
                for name, settings, to in self.routes():
                    command = [gateway, "--listen", "127.0.0.1:PORT", "--upstream", f"127.0.0.1:{self.upstreams[to]}"]
                    command += ["--settings", json.dumps(settings), *(["--upstream-http2"] if to != "otlp-http" else [])]
                    self.others.append(Process(command, Path(self.folder) / f"pingora-{name}.stderr"))
                    self.ports[f"pingora-{name}"] = self.others[-1].port
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.envoy.stop()
        for process in self.others:
            process.stop()
        self.server.kill()
        self.server.wait()


def codes(grpc):
    names = [f"{engine}-{name}" for engine in grpc.engines for name in LISTENERS]
    command = [grpc.python, PEER, "call", *(str(grpc.ports[name]) for name in names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10 * e.PATIENCE)
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        found = json.loads(line)
        code = LISTENERS[name.partition("-")[2]][1]
        expected = {"code": code, "details": "" if code == "OK" else REJECTED, "same": code == "OK"}
        assert found == expected, (name, found)
    return f"grpcio through {', '.join(names)}{grpc.skipped}"


def fields(grpc):
    """An ill-formed field, which `grpcio` does not send. There is no body, because curl 7.88 fails at times if a response over
    HTTP/2 comes before the end of its request."""
    for engine in grpc.engines:
        for version in ("--http2-prior-knowledge", "--http1.1"):
            with tempfile.NamedTemporaryFile() as config:
                config.write(b'header = "x-note: na\xefve"\n')
                config.flush()
                url = f"http://localhost:{grpc.ports[f'{engine}-pass']}/utf8.Echo/Echo"
                command = ["curl", "-sS", "-i", version, "-K", config.name, "-H", "content-type: application/grpc", "-H", "te: trailers"]
                done = subprocess.run([*command, "-X", "POST", url], capture_output=True, timeout=2 * e.PATIENCE)
            assert done.returncode == 0, (engine, version, done.stderr)
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            line, *rest = head.decode().split("\r\n")
            found = dict(field.split(": ", 1) for field in rest)
            assert line.split()[1] == "200" and not body, (engine, version, done.stdout)
            assert found["content-type"] == "application/grpc" and found["grpc-status"] == "3", (engine, found)
            assert found["grpc-message"].startswith("field x-note: ill-formed UTF-8 at byte 2"), (engine, found)
    return "status 200 without a body, grpc-status 3, over HTTP/1.1 and HTTP/2"


def chats(grpc):
    """A stream of messages, of which one has an ill-formed string."""
    names = [f"{engine}-{name}" for engine in grpc.engines for name in CHATS]
    command = [grpc.python, PEER, "chat", *(str(grpc.ports[name]) for name in names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10 * e.PATIENCE)
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        found, (_, strings) = json.loads(line), CHATS[name.partition("-")[2]]
        # After the start of the response a stream can only be reset, for which a client reports several codes.
        assert found["strings"] == strings and (found["code"] == "OK") == (len(strings) == 4), (name, line)
    return f"one of 4 messages of a stream, through {', '.join(names)}{grpc.skipped}"


def batches(grpc):
    """A batch of 1,000 spans with one ill-formed string."""
    kinds = {"http": "http", "grpc": "grpc", "gzip": "grpc"}
    for engine, kind, (name, (_, expected)) in itertools.product(grpc.engines, kinds, BATCHES.items()):
        found = grpc.exporters.export(kind, grpc.ports[f"{engine}-otlp-{kinds[kind]}-{name}"])
        assert found == expected, (engine, kind, name, found)
    engines = ", ".join(grpc.engines)
    return f"OTLP over HTTP, gRPC and gRPC in gzip, strict and repaired, through {engines}{grpc.skipped}"


ROWS = [("gRPC: the codes that a client reports", codes), ("gRPC: an ill-formed header field", fields)]
ROWS += [("gRPC: the strings of a stream of messages", chats), ("protobuf: the exporters of OpenTelemetry", batches)]
CORE = ROWS
