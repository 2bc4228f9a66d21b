"""Rows of nginx with its other modules: error pages, subrequests, caches, ranges, gRPC."""

import contextlib
import gzip
import itertools
import json
import subprocess
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
        self.file("image.jpg", b"\xff" * 1000)
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
            location({"direction": "request"}, to, "/requests"),
            location({"action": "report"}, to, "/reported"),
            location(None, to, "/unchecked"),
            "location @named { return 409 named; }\n",
            "location /refused.html { internal; root html; }\n",
            "location /redirect { utf8_validate on; utf8_on_error replace; try_files $uri /index; }\n",
            "location /absent/ { utf8_validate on; alias html/; error_page 404 = /retried; }\n",
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
    # The type is not known when the fields of the request are removed.
    for path, status, size in (("/files", 206, 10), ("/repaired-files", 200, 1000), ("/strict-ranges", 206, 10)):
        response = modules.get(f"{path}/image.jpg", "range: bytes=1-10\r\n")
        assert (response.status, len(response.body)) == (status, size), (path, response.status)
    # Also if another location has decided how the request is checked.
    number = next(numbers)
    head = f"GET /absent/none HTTP/1.1\r\nhost: test\r\nx-number: {number}\r\nconnection: close\r\nrange: bytes=1-\r\n\r\n"
    exchange(modules.port, [head.encode()])
    assert modules.upstream.take(number).header("range") is None
    tag = modules.get("/files/good.txt").header("etag")
    for path, expected in (("/files", tag), ("/repaired-files", None)):
        response = modules.get(f"{path}/good.txt", f"if-none-match: {tag}\r\n", has_body=False)
        assert (response.status, response.header("etag")) == (304, expected), (path, response.headers)
    bad = (modules.folder / "html" / "bad.txt").read_bytes()
    response = modules.get("/files/bad.txt")
    assert not response.complete and bad[: bad.index(b"\xff")].startswith(response.body), len(response.body)
    response = modules.get("/repaired-files/bad.txt")
    assert response.complete and response.body == bad.decode("utf-8", "replace").encode()
    assert response.header("etag") is None and response.header("content-length") is None, response.headers
    # The fields of HEAD are those of GET.
    for path, offered in (("/files", "bytes"), ("/repaired-files", None), ("/strict-ranges", None)):
        for method in ("GET", "HEAD"):
            response = modules.get(f"{path}/good.txt", method=method, has_body=method == "GET")
            assert (response.status, response.header("accept-ranges")) == (200, offered), (path, method, response.headers)
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


def tunnels(modules):
    """No filter receives the bytes of a tunnel, so nginx opens none for a checked location."""

    def ask(path, request=b"GET"):
        with connect(modules.port) as connection:
            fields = b"host: test\r\nx-number: 0\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
            connection.sendall(b"%b %b HTTP/1.1\r\n%b" % (request, path.encode(), fields))
            reader = Reader(connection)
            response = reader.message(is_response=True)
            if response.status == 101:
                connection.sendall(b"\x81\x01\xff")
                assert reader.exactly(3) == b"\x81\x01\xff", path
            return response

    for path in ("/upstream", "/requests"):
        response = ask(path)
        assert response.status == 502 and json.loads(response.body)["kind"] == "Tunnel", (path, response)
        assert b"rejected tunnel" in modules.nginx.log.read_bytes(), path
    for path in ("/reported", "/unchecked"):
        assert ask(path).status == 101, path
    # This version of nginx itself rejects it, and does not parse its usual form.
    assert [ask(path, b"CONNECT").status for path in ("/upstream", "/unchecked", "test:80")] == [405, 405, 400]
    return "an upgrade is 502, with report or off it passes"


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
    ("nginx: tunnels", tunnels),
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


class Grpc(rpc.Grpc):
    """One nginx before the servers of the gRPC rows of Envoy."""

    def __init__(self, program, module, folder):
        self.python, self.engines, self.skipped = programs.grpc(), ["nginx"], ""
        self.server = subprocess.Popen([self.python, rpc.PEER, "serve"], stdout=subprocess.PIPE, text=True)
        self.exporters = rpc.Exporters(folder)
        upstreams = {"grpc": int(self.server.stdout.readline())}
        upstreams |= {f"otlp-{kind}": port for kind, port in self.exporters.ports.items()}
        self.ports, servers = {}, []
        for name, settings, to in self.routes():
            port = self.ports[f"nginx-{name}"] = e.free_port()
            more = "client_max_body_size 64m;"
            if to == "otlp-http":
                servers.append(server(port, location(settings, upstreams[to]), more=more))
            else:
                place = f"location / {{ {directives(settings)} grpc_pass grpc://127.0.0.1:{upstreams[to]}; }}"
                servers.append(server(port, place, options=" http2", more=more))
        self.nginx = Nginx(program, module, folder, http="".join(servers), name="grpc")

    def __enter__(self):
        self.nginx.__enter__()
        return self

    def __exit__(self, *_):
        self.nginx.stop()
        self.exporters.stop()
        self.server.kill()
        self.server.wait()


# Without the row of header fields: in nginx 1.22 a port has HTTP/2 or HTTP/1.1.
GRPC = [(f"nginx: {name}", run) for name, run in rpc.ROWS if run is not rpc.fields]
