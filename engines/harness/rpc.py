"""Rows with the client and the server of `grpcio`: what a client of gRPC reports for a rejected request."""

import json
import subprocess
import tempfile
from pathlib import Path

from . import envoy as e
from . import programs
from .verdicts import wasm_http

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


class Grpc:
    """One Envoy with the native filters, and those for WebAssembly if it has the runtime, before a server of gRPC."""

    def __init__(self, program, module, folder):
        self.folder = folder
        self.python = programs.grpc()
        self.server = subprocess.Popen([self.python, PEER, "serve"], stdout=subprocess.PIPE, text=True)
        clusters = [e.http_cluster("grpc", int(self.server.stdout.readline()), http2=True)]
        listeners = [e.http_listener(f"native-{name}", settings, "grpc") for name, (settings, _) in LISTENERS.items()]
        self.engines, self.skipped = ["native"], ""
        try:
            if "1.38." in str(program):
                raise programs.Unavailable("the wheel of Envoy 1.38 is compiled without WebAssembly")
            code = programs.wasm()
        except programs.Unavailable as why:
            self.skipped = f"; wasm SKIPPED: {why}"
        else:
            self.engines.append("wasm")
            for name, (settings, _) in LISTENERS.items():
                listeners.append(e.http_listener(f"wasm-{name}", None, "grpc", filters=[wasm_http(settings, code)]))
        self.envoy = e.Envoy(program, module, e.bootstrap(listeners, clusters), folder, name="grpc")

    def __enter__(self):
        try:
            self.envoy.__enter__()
            self.ports = self.envoy.ports()
        except BaseException:
            self.server.kill()
            raise
        return self

    def __exit__(self, *_):
        self.envoy.stop()
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


ROWS = [("gRPC: the codes that a client reports", codes), ("gRPC: an ill-formed header field", fields)]
CORE = ROWS
