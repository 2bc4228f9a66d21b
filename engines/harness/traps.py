"""Rows about the failure of the WebAssembly filter: a trap in the module, and a configuration that it rejects."""

import json
import os
import socket
import subprocess
from pathlib import Path

from . import envoy as e
from .tcp import connect, read_all
from .verdicts import read_message, wasm_http, wasm_tcp, with_wasm

POLICIES = ("FAIL_CLOSED", "FAIL_OPEN", "FAIL_RELOAD")
TRAP = b"panic in a hook"


def with_policy(filter, policy):
    """The filter with a failure policy, in a VM of its own."""
    config = filter["typed_config"]["config"]
    config["failure_policy"] = policy
    config["vm_config"]["vm_id"] += policy
    return filter


def post(port, body):
    """The status of the response to a request, and its body; no status if the connection ends without a response."""
    with connect(port) as connection:
        head = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: text/plain\r\n"
        connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        try:
            line, _, body = read_message(connection)
        except OSError:
            return None, b""
        return line.split(" ")[1], body


def stream(port, data):
    """The bytes that an echo sends back."""
    with connect(port) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return read_all(connection)[0]


def http_trap(engines):
    listeners = [
        e.http_listener(policy, None, "mirror", filters=[with_policy(wasm_http({}, engines.trap), policy)])
        for policy in POLICIES
    ]
    config = e.bootstrap(listeners, [e.cluster("mirror", engines.mirror.port)])
    with e.Envoy(engines.program, engines.module, config, engines.folder, name="http-trap") as envoy:
        ports = envoy.ports()
        for policy in POLICIES:
            port = ports[policy]
            assert post(port, b"caf\xff")[0] == "400", policy
            status, body = post(port, b"before " + TRAP)
            assert status != "200" and TRAP not in body, (policy, status, body)
        # The module has trapped. What happens to other requests is decided by the policy.
        for text in (b"caf\xff", b"good"):
            assert post(ports["FAIL_CLOSED"], text)[0] in ("503", None), text
            assert post(ports["FAIL_OPEN"], text) == ("200", text), text
        # Envoy waits up to a second between two reloads.
        e.wait(lambda: post(ports["FAIL_RELOAD"], b"good") == ("200", b"good"))
        assert post(ports["FAIL_RELOAD"], b"caf\xff")[0] == "400"
        assert not [part for part in engines.mirror.reads if TRAP in part], "the text of the trap passed"
    return "its request fails; then closed: 503, open: unchecked, reload: checked again"


def tcp_trap(engines):
    listeners = [e.tcp_listener(policy, None, "echo") for policy in POLICIES]
    for policy, listener in zip(POLICIES, listeners):
        listener["filter_chains"][0]["filters"].insert(0, with_policy(wasm_tcp({}, engines.trap), policy))
    config = e.bootstrap(listeners, [e.cluster("echo", engines.echo.port)])
    with e.Envoy(engines.program, engines.module, config, engines.folder, name="tcp-trap") as envoy:
        ports = envoy.ports()
        for policy in POLICIES:
            assert stream(ports[policy], b"caf\xff") == b"caf", policy
            assert stream(ports[policy], TRAP) == b"", policy
        for text in (b"caf\xff", b"good"):
            assert stream(ports["FAIL_CLOSED"], text) == b"", text
            assert stream(ports["FAIL_OPEN"], text) == text, text
        e.wait(lambda: stream(ports["FAIL_RELOAD"], b"good") == b"good")
        assert stream(ports["FAIL_RELOAD"], b"caf\xff") == b"caf"
    return "its connection ends; then closed: none passes, open: unchecked, reload: checked again"


def failed_start(engines):
    """A wrong key, or a file that is not a module, stops Envoy with every policy, also one that passes unchecked text after a
    trap."""
    environment = {**os.environ, "ENVOY_DYNAMIC_MODULES_SEARCH_PATH": str(engines.module)}
    path, no_module = Path(engines.folder) / "wrong.json", Path(engines.folder) / "empty.wasm"
    no_module.write_bytes(b"")
    for policy in POLICIES:
        for wrong, reason in (
            (wasm_http({"on_eror": "strict"}, engines.code), "unknown field `on_eror`"),
            (wasm_http({}, no_module), "Unable to create Wasm plugin"),
        ):
            listener = e.http_listener("http", None, "mirror", filters=[with_policy(wrong, policy)])
            path.write_text(json.dumps(e.bootstrap([listener], [e.cluster("mirror", engines.mirror.port)])))
            command = [str(engines.program), "--disable-hot-restart", "--concurrency", "1", "-c", str(path)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * e.PATIENCE)
            log = done.stdout + done.stderr
            assert done.returncode != 0 and reason in log, (policy, reason, log[-500:])
    return "an unknown field, and a file that is not a module, with every failure policy"


ROWS = with_wasm([
    ("wasm: a trap in an HTTP filter", http_trap),
    ("wasm: a trap in a TCP filter", tcp_trap),
    ("wasm: a start that fails", failed_start),
])
