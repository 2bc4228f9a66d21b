"""Rows of the operation of nginx: configurations, reloads, killed workers, panics, memory, the README."""

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

from . import envoy as e
from . import programs
from .http1 import Upstream, answer, chunked, exchange
from .nginx import Nginx, location, server, stream_server
from .samples import random_text
from .tcp import connect, read_all
from .upstream import Recorder, Server

numbers = itertools.count(1)
TEXT = "text/plain; charset=utf-8"


class Operations:
    """A place for nginxes that a row starts itself."""

    def __init__(self, program, module, folder):
        self.program, self.module, self.folder = program, module, Path(folder)
        self.upstream, self.recorder = Upstream(), Recorder()
        self.port = e.free_port()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def nginx(self, http="", stream="", module=None, **more):
        return Nginx(self.program, module or self.module, self.folder, http=http, stream=stream, **more)

    def post(self, body, path="/", port=None):
        number = next(numbers)
        head = f"POST {path} HTTP/1.1\r\nhost: test\r\nx-number: {number}\r\nconnection: close\r\n"
        head += "content-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
        return exchange(port or self.port, [head.encode(), *chunked(body if isinstance(body, list) else [body])])


def configurations(operations):
    cases = [
        ("utf8_validate maybe;", '"utf8_validate": is `on`, `report` or `off`'),
        ("utf8_on_error strct;", '"utf8_on_error": `strct`: unknown policy; known are'),
        ("utf8_bom kep;", "`kep`: unknown policy"),
        ("utf8_subset klingon;", "unknown `subset`"),
        ("utf8_direction none;", "`direction` is"),
        ("utf8_mode fast;", "unknown variant `fast`"),
        ("utf8_types text;", "`content_types` has an entry"),
        ("utf8_form_data yes;", '"utf8_form_data": is `on` or `off`'),
        ("utf8_buffer_size much;", '"utf8_buffer_size": is a size'),
        ("utf8_bom keep; utf8_bom strip;", '"utf8_bom": is duplicate'),
        ("utf8_validate on; utf8_json_subset no-nul;", "`json_subset` needs `json_strings`"),
        ("utf8_validate;", "invalid number of arguments"),
        ("utf8_validat on;", 'unknown directive "utf8_validat"'),
    ]
    for text, message in cases:
        code, log = operations.nginx(f"server {{ {text} }}", name="test").test()
        assert code != 0 and message in log, (text, log)
    code, log = operations.nginx(stream=f"utf8_mode buffered; server {{ listen {operations.port}; return x; }}").test()
    assert code != 0 and '"utf8_mode" directive is not allowed here' in log, log
    inherited = "utf8_validate on; utf8_subset ascii; server { utf8_subset off; location / { utf8_types text/* +json; utf8_buffer_size 64k; } }"
    code, log = operations.nginx(inherited).test()
    assert code == 0, log
    # Without the module of `stream`, which is then not used.
    nginx = operations.nginx(inherited)
    nginx.path.write_text(nginx.path.read_text().replace("load_module /usr/lib/nginx/modules/ngx_stream_module.so;", ""))
    code, log = nginx.test()
    assert code == 0, log
    return f"{len(cases) + 1} wrong ones are rejected with a reason; also without the module of `stream`"


def inheritance(operations):
    port = operations.upstream.port
    places = [
        location(None, port),
        location({"action": "off"}, port, "/open"),
        location({"action": "report"}, port, "/report"),
        location({"subset": "off"}, port, "/all"),
        location({"on_error": "replace"}, port, "/replace"),
    ]
    http = "utf8_validate on; utf8_direction request;" + server(operations.port, *places, more="utf8_subset ascii;")
    with operations.nginx(http):
        for path, text, expected in (
            ("/", "naïve".encode(), None),
            ("/", b"plain", b"plain"),
            ("/open", b"caf\xff", b"caf\xff"),
            ("/report", b"caf\xff", b"caf\xff"),
            ("/all", "naïve".encode(), "naïve".encode()),
            ("/all", b"caf\xff", None),
            ("/replace", b"caf\xff", b"caf?"),
        ):
            response = operations.post(text, path)
            assert (response.status == 400) == (expected is None), (path, text, response)
            assert expected is None or path == "/replace" or response.body == expected, (path, text, response)
    return "http, server and location"


def under_load(operations, action, name):
    """Runs an action while clients send requests. Returns the number of responses, and of connections without one."""
    http = server(operations.port, location({}, operations.upstream.port))
    counts = {"good": 0, "bad": 0, "lost": 0}
    stop = threading.Event()
    wrong = []

    def client(index):
        text = random_text(20_000, index)
        while not stop.is_set():
            is_bad = next(numbers) % 3 == 0
            try:
                response = operations.post([text, b"\xff"] if is_bad else [text[:9_999], text[9_999:]])
            except OSError:
                response = None
            if response is None or not response.complete:
                counts["lost"] += 1
            elif response.status == (400 if is_bad else 200) and (is_bad or response.body == text):
                counts["bad" if is_bad else "good"] += 1
            else:
                wrong.append(response.start)

    with operations.nginx(http, workers=2, name=name) as nginx:
        threads = [threading.Thread(target=client, args=(index,)) for index in range(12)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            time.sleep(0.6)
            action(nginx)
        time.sleep(0.6)
        stop.set()
        for thread in threads:
            thread.join()
        assert not wrong, wrong[:3]
        assert counts["good"] > 50 and counts["bad"] > 20, counts
        # A killed worker is an alert of its master.
        errors = [line for line in nginx.errors() if "exited on signal 9" not in line]
        assert not errors, errors[:3]
    return counts


def reloads(operations):
    counts = under_load(operations, lambda nginx: nginx.reload(), "reload")
    assert counts["lost"] == 0, counts
    return f"5 reloads, {counts['good']} good and {counts['bad']} bad requests, none lost"


def killed(operations):
    def kill(nginx):
        with contextlib.suppress(ProcessLookupError):
            os.kill(nginx.workers()[0], signal.SIGKILL)

    counts = under_load(operations, kill, "killed")
    return f"5 workers killed, {counts['good']} good and {counts['bad']} bad requests right, {counts['lost']} without a response"


def panics(operations):
    module = programs.nginx_module("panic-on-marker")
    to = operations.upstream.port
    http = server(
        operations.port,
        location({}, to),
        location({"mode": "buffered"}, to, "/held"),
        location({}, to, "/unbuffered", "proxy_request_buffering off;"),
    )
    stream_port = e.free_port()
    stream = stream_server(stream_port, {}, operations.recorder.port)
    with operations.nginx(http, stream, module=module, name="panics") as nginx:
        workers = nginx.workers()
        for path in ("/", "/held", "/unbuffered"):
            response = operations.post(b"a panic in a hook", path)
            assert response.status == 500 and json.loads(response.body)["status"] == 500, (path, response)
        for path in ("/", "/held"):
            number = next(numbers)
            operations.upstream.answers[str(number)] = [answer(b"a panic in a hook")]
            head = f"GET {path} HTTP/1.1\r\nhost: a\r\nx-number: {number}\r\nconnection: close\r\n\r\n"
            response = exchange(operations.port, [head.encode()])
            if path == "/held":
                assert response.status == 500, response
            else:
                assert response is None or not response.complete, response
        with connect(stream_port) as connection:
            connection.sendall(b"a panic in a hook")
            assert read_all(connection)[0] == b""
        assert operations.post(b"good").body == b"good" and operations.post(b"caf\xff").status == 400
        assert nginx.workers() == workers, "a worker ended"
        log = nginx.log.read_text()
        assert "utf8_codec: panic at" in log and "a panic in" not in log, log
    return "500, or the end of the connection; the worker lives"


def sink(connection):
    """Reads a chunked request without keeping it, and responds with the number of bytes."""
    end, count = b"", 0
    while not end.endswith(b"\r\n0\r\n\r\n") and (data := connection.recv(1 << 16)):
        end, count = (end + data)[-7:], count + len(data)
    connection.sendall(answer(b"%d" % count))


def memory(operations):
    """The memory of a worker after a long body is that after a short one, and does not grow with requests or reloads."""
    to, sessions = Server(sink).port, e.free_port()
    more = "proxy_request_buffering off; client_max_body_size 0;"
    http = server(operations.port, location({}, to, more=more), location({"on_error": "replace"}, to, "/replace", more))
    stream = stream_server(sessions, {}, operations.recorder.port)
    unit = "网络把字节切在哪里".encode() * 2000

    def upload(count, path):
        head = f"POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: {TEXT}\r\ntransfer-encoding: chunked\r\n\r\n"
        pieces = (unit + (b"\xff" if path != "/" else b"") for _ in range(count))
        response = exchange(operations.port, [head.encode(), *chunked(pieces)])
        assert response.status == 200 and int(response.body) > count * len(unit), response

    with operations.nginx(http, stream, name="memory") as nginx:
        for path in ("/", "/replace"):
            upload(20, path)
        before = nginx.resident()
        for path in ("/", "/replace"):
            upload(1000, path)
        number = next(numbers)
        with connect(sessions) as connection:
            connection.sendall(b"#%d\n" % number)
            for _ in range(1000):
                connection.sendall(unit)
        assert operations.recorder.take(number)[0] == unit * 1000
        for _ in range(300):
            assert operations.post([unit, b"\xff"]).status == 400
        grown = nginx.resident() - before
        assert grown < 1 << 20, f"{grown} bytes more after 150 MB"
        assert not nginx.errors(), nginx.errors()[:3]
    return f"{grown >> 10} KiB more after 160 MB of requests and sessions"


def readme(operations):
    """The commands of the README, as they are there."""
    folder = programs.ENGINES / "nginx"
    text = (folder / "README.md").read_text()
    (start,) = re.findall(r"^(/usr/sbin/nginx -p .*)$", text, re.MULTILINE)
    examples = re.findall(r"^\$ (printf .*)\n(.*)$", text, re.MULTILINE)
    assert len(examples) >= 2, examples
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    command = ["bash", "-c", f"exec {start}"]
    process = subprocess.Popen(command, cwd=programs.ENGINES.parent, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        e.wait(lambda: process.poll() is not None or subprocess.run(["bash", "-c", "echo > /dev/tcp/127.0.0.1/10000"], stderr=subprocess.DEVNULL).returncode == 0)
        assert process.poll() is None, process.stderr.read()
        for line, expected in examples:
            done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=e.PATIENCE)
            assert done.stdout.strip() == expected.strip(), (line, done.stdout)
    finally:
        process.terminate()
        process.wait()
    return f"{len(examples)} examples with the output that is shown"


OPERATIONS = [
    ("nginx: configurations", configurations),
    ("nginx: inheritance of settings", inheritance),
    ("nginx: reloads under load", reloads),
    ("nginx: killed workers", killed),
    ("nginx: memory", memory),
    ("nginx: the README", readme),
    ("nginx: a panic", panics),
]
