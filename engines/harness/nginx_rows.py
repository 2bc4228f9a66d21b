"""Rows that only nginx has: its other modules, its operation, its configuration."""

import contextlib
import gzip
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
from . import programs, rpc
from .http1 import Reader, Upstream, answer, chunked, exchange
from .log import Verdicts
from .nginx import Nginx, directives, location, server, stream_server
from .samples import GOOD, random_cuts, random_text
from .tcp import connect, parallel, read_all, send
from .upstream import Recorder, Server, echo

numbers = itertools.count(1)
TEXT = "text/plain; charset=utf-8"
# The descriptor set of `message Text { string text = 1; }`.
TEXT_SET = "base64:CnIKBGVjaG8SBHV0ZjgiFAoEVGV4dBIMCgR0ZXh0GAEgASgJMkYKBEVjaG8SHgoERWNobxIKLnV0ZjguVGV4dBoKLnV0ZjguVGV4dBIeCgRDaGF0EgoudXRmOC5UZXh0GgoudXRmOC5UZXh0YgZwcm90bzM="
TEXT_MESSAGE = {"descriptor_set": TEXT_SET, "messages": {"/protobuf": {"request": "utf8.Text", "response": "utf8.Text"}}}


class Modules:
    """One nginx with a server that uses the other modules of nginx."""

    def __init__(self, program, module, folder):
        self.program, self.module, self.folder = program, module, Path(folder)
        self.upstream, self.recorder = Upstream(), Recorder()
        self.verdicts = Verdicts(self.folder / "access.json")
        self.port, self.proxy_protocol, self.session = (e.free_port() for _ in range(3))
        (self.folder / "html").mkdir()
        self.file("good.txt", random_text(400_000, 1))
        self.file("bad.txt", random_text(100_000, 2) + b"\xff" + random_text(100_000, 3))
        self.file("page.shtml", "sö <!--#include virtual='/upstream' --> end ü".encode())
        self.file("refused.html", b"a page of its own")
        to = self.upstream.port
        dead = e.free_port()
        places = [
            location({}, to),
            location({"direction": "request"}, to, "/closed", "error_page 400 /refused.html;"),
            location({}, to, "/elsewhere", "error_page 400 415 =422 /refused.html;"),
            location({}, to, "/named", "error_page 400 = @named;"),
            location({}, to, "/gzip", "gzip on; gzip_min_length 1; gzip_types text/plain;"),
            location({"on_error": "replace"}, to, "/gzip-repaired", "gzip on; gzip_min_length 1; gzip_types text/plain;"),
            location({}, to, "/gunzip", "gunzip on;"),
            location({"on_error": "replace"}, to, "/cached", "proxy_cache zone; proxy_cache_valid 200 1m; proxy_cache_key $uri;"),
            location({}, to, "/cached-strict", "proxy_cache zone; proxy_cache_valid 200 1m; proxy_cache_key $uri;"),
            location({"on_error": "replace"}, "balanced", "/retried"),
            location({}, to, "/authorized", "auth_request /upstream;"),
            location({}, to, "/mirrored", "mirror /upstream;"),
            location({"json_strings": "strict"}, to, "/json"),
            location({"length_prefixed": "reject"}, to, "/grpc"),
            location({"protobuf": TEXT_MESSAGE}, to, "/protobuf"),
            location({"on_error": "replace"}, to, "/spooled", "client_body_buffer_size 1k;"),
            location({"mode": "buffered", "buffer_size": "8k"}, to, "/limited"),
            location({"mode": "buffered"}, to, "/held", "error_page 502 /refused.html;"),
            location({}, to, "/upstream"),
            "location @named { return 409 named; }\n",
            "location /refused.html { internal; root html; }\n",
            "location /redirect { utf8_validate on; utf8_on_error replace; try_files $uri /index; }\n",
            "location /files/ { utf8_validate on; alias html/; }\n",
            "location /pages/ { utf8_validate on; alias html/; ssi on; ssi_types text/plain; }\n",
            "location /repaired-files/ { utf8_validate on; utf8_on_error replace; alias html/; }\n",
            "location /strict-ranges/ { utf8_validate on; utf8_content_ranges reject; alias html/; }\n",
        ]
        options = f"proxy_cache_path {self.folder}/cache keys_zone=zone:1m; root {self.folder}/html;"
        options += f"upstream balanced {{ server 127.0.0.1:{dead}; server 127.0.0.1:{to} backup; }}"
        text = "".join(places).replace("alias html/", f"alias {self.folder}/html/").replace("root html", f"root {self.folder}/html")
        log = f"access_log {self.folder}/access.json verdict if=$utf8_verdict; client_max_body_size 64m;"
        stream = stream_server(self.proxy_protocol, {}, self.recorder.port, more="proxy_protocol on;")
        stream += stream_server(self.session, {}, Server(echo).port)
        http = options + server(self.port, text, more=log)
        self.nginx = Nginx(program, module, folder, http=http, stream=stream, workers=2, name="modules")

    def file(self, name, data):
        (self.folder / "html" / name).write_bytes(data)

    def __enter__(self):
        self.nginx.__enter__()
        return self

    def __exit__(self, *_):
        self.nginx.stop()

    def get(self, path, fields="", to=None, method="GET", has_body=True):
        number = next(numbers)
        if to is not None:
            self.upstream.answers[str(number)] = to
        head = f"{method} {path} HTTP/1.1\r\nhost: test\r\nx-number: {number}\r\nconnection: close\r\n{fields}\r\n"
        return exchange(self.port, [head.encode("latin-1")], has_body=has_body)

    def post(self, path, pieces, content_type=TEXT, length=None, fields="", to=None):
        number = next(numbers)
        if to is not None:
            self.upstream.answers[str(number)] = to
        head = f"POST {path} HTTP/1.1\r\nhost: test\r\nx-number: {number}\r\nconnection: close\r\ncontent-type: {content_type}\r\n{fields}"
        head += "transfer-encoding: chunked\r\n\r\n" if length is None else f"content-length: {length}\r\n\r\n"
        return number, exchange(self.port, [head.encode(), *(chunked(pieces) if length is None else pieces)])


def error_pages(modules):
    _, response = modules.post("/closed", [b"caf\xff"])
    assert (response.status, response.body) == (400, b"a page of its own"), response
    for content_type in (TEXT, "text/plain; charset=latin1"):
        _, response = modules.post("/elsewhere", [b"caf\xff"], content_type)
        assert (response.status, response.body) == (422, b"a page of its own"), response
    _, response = modules.post("/named", [b"caf\xff"])
    assert (response.status, response.body) == (409, b"named"), response
    _, response = modules.post("/closed", [b"caf\xff"], "text/plain; charset=latin1")
    assert response.status == 415 and json.loads(response.body)["kind"] == "UnsupportedCharset", response
    response = modules.get("/held", to=[answer(b"caf\xff")])
    assert (response.status, response.body) == (502, b"a page of its own"), response
    return "pages of a location, another status, a named location; without one the document"


def subrequests(modules):
    good = "grün".encode()
    response = modules.get("/pages/page.shtml", to=[answer(good)])
    assert response.complete and response.body == "sö grün end ü".encode(), response
    response = modules.get("/pages/page.shtml", to=[answer(b"gr\xfcn")])
    assert not response.complete and b"\xfc" not in response.body, response
    for path in ("/authorized", "/mirrored"):
        _, response = modules.post(path, [b"na\xc3", b"\xafve"], to=[answer(b"ok")])
        assert response.status == 200, (path, response)
        _, response = modules.post(path, [b"caf\xff"])
        assert response.status == 400 and json.loads(response.body)["offset"] == 3, (path, response)
    return "an SSI include in text, and an ill-formed one; auth_request; mirror"


def compression(modules):
    text = random_text(50_000, 4)
    accept = "accept-encoding: gzip\r\n"
    response = modules.get("/gzip", accept, [answer(text)])
    assert response.header("content-encoding") == "gzip" and gzip.decompress(response.body) == text
    response = modules.get("/gzip-repaired", accept, [answer(text + b"\xff")])
    assert gzip.decompress(response.body) == text + "\ufffd".encode(), response.headers
    response = modules.get("/gzip", accept, [answer(text + b"\xff" + text)])
    assert not response.complete
    squeezed = "content-encoding: gzip\r\n"
    for body in (text, text + b"\xff"):
        response = modules.get("/gunzip", accept, [answer(gzip.compress(body), fields=squeezed)])
        assert gzip.decompress(response.body) == body, "a coding passes"
    response = modules.get("/gunzip", "", [answer(gzip.compress(text), fields=squeezed)])
    assert response.complete and response.body == text, response.headers
    response = modules.get("/gunzip", "", [answer(gzip.compress(text + b"\xff" + text), fields=squeezed)])
    assert not response.complete and text.startswith(response.body), len(response.body)
    return "checked before gzip and after gunzip; a compressed response passes"


def cache(modules):
    text = random_text(100_000, 5) + b"\xff"
    expected = text.decode("utf-8", "replace").encode()
    for path in ("/cached/a", "/cached/a", "/cached/a"):
        response = modules.get(path, to=[answer(text)])
        assert response.complete and response.body == expected, (path, len(response.body))
    for _ in range(2):
        response = modules.get("/cached-strict/b", to=[answer(b"x" * 90_000 + text)])
        assert not response.complete and len(response.body) <= 90_000 + len(text) - 1, response
    assert modules.get("/cached/c", to=[answer(b"good")]).body == modules.get("/cached/c").body == b"good"
    return "from the server and from the cache, repaired and rejected"


def ranges(modules):
    good = (modules.folder / "html" / "good.txt").read_bytes()
    response = modules.get("/files/good.txt")
    assert response.complete and response.body == good
    for first, last in ((0, 0), (1, 70_000), (3, 3), (399_000, 399_999)):
        fields = f"range: bytes={first}-{last}\r\n"
        response = modules.get("/files/good.txt", fields)
        assert response.status == 206 and response.body == good[first : last + 1], (first, last, response.status)
        for path in ("/repaired-files", "/strict-ranges"):
            response = modules.get(f"{path}/good.txt", fields)
            assert response.status == 200 and response.body == good, (path, response.status)
    bad = (modules.folder / "html" / "bad.txt").read_bytes()
    response = modules.get("/files/bad.txt")
    assert not response.complete and bad[: bad.index(b"\xff")].startswith(response.body), len(response.body)
    response = modules.get("/repaired-files/bad.txt")
    assert response.complete and response.body == bad.decode("utf-8", "replace").encode()
    assert response.header("etag") is None and response.header("content-length") is None, response.headers
    return "of a file pass, or are not offered; a whole file is checked"


def spooled(modules):
    """A body that nginx writes to a file, and one that it sends to a second server after the first is not available."""

    def one(index):
        path = ("/spooled", "/retried")[index % 2]
        data = random_text(3_000_000 if index < 4 else 20_000, index, error_every=50)
        expected = data.decode("utf-8", "replace").encode()
        length = len(data) if index % 3 else None
        number, response = modules.post(path, random_cuts(data, 60_000, index), length=length, to=[answer(b"ok")])
        request = modules.upstream.take(number)
        assert response.status == 200 and request.complete and request.body == expected, (index, response, len(request.body))
        assert request.header("content-length") == str(len(expected)), (index, request.headers)

    parallel(one, [(index,) for index in range(40)], workers=8)
    return "40 repaired bodies of up to 3 MB, in files and for a second server"


def limits(modules):
    response = modules.get("/limited", to=[answer(b"x" * 8192)])
    assert response.complete and len(response.body) == 8192, response
    response = modules.get("/limited", to=[answer(b"x" * 8193)])
    assert response.status == 502 and json.loads(response.body)["kind"] == "TooLong", response
    return "utf8_buffer_size: 502 above it"


def escapes(modules):
    _, response = modules.post("/json", [b'{"a":"\\ud83d', b'x"}'], "application/json")
    document = json.loads(response.body)
    assert response.status == 400 and document["offset"] == 6, document
    _, response = modules.post("/json", [b'{"a":"\\ud83d', b'\\ude00"}'], "application/json", to=[answer(b"ok")])
    assert response.status == 200, response
    return "a lone surrogate is rejected, a pair passes"


def protobuf(modules):
    good = b"\x0a\x06na\xc3\xafve"
    number, response = modules.post("/protobuf", [good[:5], good[5:]], "application/protobuf", to=[answer(good, content_type="application/protobuf")])
    assert response.complete and response.body == good == modules.upstream.take(number).body, response
    _, response = modules.post("/protobuf", [b"\x0a\x04ca", b"f\xff"], "application/protobuf")
    document = json.loads(response.body)
    assert (response.status, document["offset"], document["field"]) == (400, 5, "text"), document
    _, response = modules.post("/protobuf", [good], "application/protobuf", to=[answer(b"\x0a\x04caf\xff", content_type="application/protobuf")])
    assert response.status == 200 and not response.complete, response
    return "a string is rejected with its field, in a request and in a response"


def grpc(modules):
    _, response = modules.post("/grpc", [b"\0\0\0\0\1x"], "application/grpc")
    assert response.status == 200 and response.body == b"", response
    assert (response.header("grpc-status"), response.header("content-type")) == ("3", "application/grpc"), response.headers
    return "the response to a rejected request has its status"


def keepalive(modules):
    """Requests on one connection. A rejected one closes it, after a response that also a client that still sends receives."""
    with connect(modules.port) as connection:
        reader = Reader(connection)
        for index, text in enumerate(GOOD * 20):
            body = text.encode()
            head = f"POST / HTTP/1.1\r\nhost: a\r\nx-number: {next(numbers)}\r\ncontent-type: {TEXT}\r\ncontent-length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            response = reader.message(is_response=True)
            assert response.complete and response.body == body, (index, response)
    # The rest of a rejected body is not the next request.
    for path in ("/", "/held"):
        with connect(modules.port) as connection:
            body = b"<?xml version='1.0' encoding='koi8-r'?>" + b"x" * 20_000
            smuggled = b"GET /smuggled HTTP/1.1\r\nhost: a\r\nx-number: smuggled\r\n\r\n"
            length = len(body) + len(smuggled)
            head = f"POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: text/xml\r\ncontent-length: {length}\r\n\r\n"
            with contextlib.suppress(OSError):
                send(connection, [head.encode(), body[:100], body[100:], smuggled], 0.05)
            reader = Reader(connection)
            assert reader.message(is_response=True).status == 415 and reader.message(is_response=True) is None, path
    assert "smuggled" not in modules.upstream.requests
    lost = 0
    for _ in range(40):
        with connect(modules.port) as connection:
            head = f"POST / HTTP/1.1\r\nhost: a\r\nx-number: {next(numbers)}\r\ncontent-type: {TEXT}\r\ntransfer-encoding: chunked\r\n\r\n"
            with contextlib.suppress(OSError):
                connection.sendall(head.encode() + b"4\r\ncaf\xff\r\n")
                for _ in range(20):
                    connection.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")
            response = Reader(connection).message(is_response=True)
            lost += response is None or response.status != 400 or not response.complete
    assert lost == 0, f"{lost} of 40 clients lost the response"
    return f"{20 * len(GOOD)} requests on a connection; 40 clients that send on after a rejection read its response"


def slow_clients(modules):
    text = random_text(3_000_000, 6)
    number = next(numbers)
    modules.upstream.answers[str(number)] = [answer(text + b"\xff" + text)]
    with connect(modules.port) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nhost: a\r\nx-number: {number}\r\nconnection: close\r\n\r\n".encode())
        time.sleep(0.5)
        response = Reader(connection).message(is_response=True)
    assert not response.complete and response.body == text, (response.complete, len(response.body), len(text))
    body = random_text(3_000, 7)
    _, response = modules.post("/", list(random_cuts(body, 7, 7)), to=[answer(b"ok")])
    assert response.status == 200
    return f"all {len(text)} bytes before the error reach a client that reads late"


def proxy_protocol(modules):
    with connect(modules.proxy_protocol) as connection:
        send(connection, [b"caf\xc3", b"\xa9 \xff"])
        connection.shutdown(1)
        e.wait(lambda: modules.recorder.received)
        ((line, (text, _)),) = modules.recorder.received.items()
    assert line.startswith(b"PROXY TCP4") and text == "café ".encode(), (line, text)
    assert "rejected request: ill-formed UTF-8 at byte 6 (InvalidLead" in modules.nginx.log.read_text()
    return "its header is not a part of the text"


def sessions(modules):
    """The answer to the text before an error arrives, also if the client sends on."""
    lost = 0
    for index in range(60):
        with connect(modules.session) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(b"caf\xff")
                for _ in range(index):
                    connection.sendall(b"more text " * 1000)
            received, _ = read_all(connection)
            assert b"caf".startswith(received), received
            lost += received != b"caf"
    assert lost == 0, f"{lost} of 60 clients lost the answer"
    return "60 sessions that send on after an error"


def no_payload(modules):
    errors = modules.nginx.errors()
    assert not errors, errors[:3]
    log = modules.nginx.log.read_text(errors="replace")
    assert "rejected request: ill-formed UTF-8 at byte 3 (InvalidLead, 1 byte)" in log and "rejected response" in log
    assert "caf" not in log, "the log has bytes of the payload"
    return "of the payload, and no alert"


MODULES = [
    ("nginx: error_page", error_pages),
    ("nginx: subrequests", subrequests),
    ("nginx: gzip and gunzip", compression),
    ("nginx: proxy_cache", cache),
    ("nginx: files and ranges", ranges),
    ("nginx: bodies in files, a second server", spooled),
    ("nginx: a limit of held responses", limits),
    ("nginx: escapes of JSON", escapes),
    ("nginx: strings of protobuf", protobuf),
    ("nginx: gRPC", grpc),
    ("nginx: keepalive and lingering close", keepalive),
    ("nginx: slow clients", slow_clients),
    ("nginx: PROXY protocol", proxy_protocol),
    ("nginx: the answer to a rejected session", sessions),
    ("nginx: the log", no_payload),
]


def repairs_over_http2(http):
    def one(index):
        data = random_text(200_000, index, error_every=50)
        expected = data.decode("utf-8", "replace").encode()
        number, status, body, code = http.curl("replace", data, to=[answer(data)])
        assert (status, code) == (200, 0) and body == expected, (index, status, code, len(body), len(expected))
        request = http.upstream.take(number)
        assert request.complete and request.body == expected, (index, len(request.body), len(expected))

    parallel(one, [(index,) for index in range(20)], workers=4)
    http.verdicts.take(20)
    return "20 requests and responses of 200 KB, equal to Python's"


class Grpc:
    """One nginx with the servers of the gRPC rows of Envoy."""

    def __init__(self, program, module, folder):
        self.python, self.engines, self.skipped = programs.grpc(), ["nginx"], ""
        self.server = subprocess.Popen([self.python, rpc.PEER, "serve"], stdout=subprocess.PIPE, text=True)
        port = int(self.server.stdout.readline())
        self.ports = {f"nginx-{name}": e.free_port() for name in rpc.LISTENERS}
        servers = [
            server(self.ports[f"nginx-{name}"], f"location / {{ {directives(settings)} grpc_pass grpc://127.0.0.1:{port}; }}", options=" http2")
            for name, (settings, _) in rpc.LISTENERS.items()
        ]
        self.nginx = Nginx(program, module, folder, http="".join(servers), name="grpc")

    def __enter__(self):
        self.nginx.__enter__()
        return self

    def __exit__(self, *_):
        self.nginx.stop()
        self.server.kill()
        self.server.wait()


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
