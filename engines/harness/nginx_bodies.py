"""Rows of nginx about request bodies, before each handler that reads one: their length after a repair, and that of a request
that was rejected."""

import base64
import contextlib
import itertools
import json
import shutil
import socket
import subprocess
from pathlib import Path

from . import envoy as e
from . import programs
from .http1 import Reader, Upstream, chunked, exchange
from .nginx import Nginx, directives, server
from .samples import random_text
from .tcp import connect, parallel

numbers = itertools.count(1)
PEER = Path(__file__).with_name("gateway_peer.py")
# What each policy writes for the byte FF.
REPAIRS = {"replace": "\ufffd".encode(), "skip": b"", "escape": rb"\xff", "replace-with=-": b"-"}
BODIES = [b"caf\xff", b"\xff" * 20, random_text(50_000, 1).replace(b" ", b"\xff")]
# A kept connection to a server, and one to the server of copies and of pages.
FORWARD = 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://kept;'
COPY = FORWARD.replace("kept", "copies")
# What reads and passes on a body.
HANDLERS = {
    "proxy": FORWARD,
    "unbuffered": f"proxy_request_buffering off; {FORWARD}",
    "file": f"client_body_in_file_only clean; {FORWARD}",
    "single": f"client_body_in_single_buffer on; client_body_buffer_size 1m; proxy_set_body $request_body; {FORWARD}",
    "number": f"proxy_set_header Content-Length $content_length; {FORWARD}",
    "field": f"proxy_set_header Content-Length $http_content_length; {FORWARD}",
    "cached": f"if ($content_length = 1) {{ return 400; }} proxy_set_header Content-Length $content_length; {FORWARD}",
    "cached-field": f"if ($http_content_length = 1) {{ return 400; }} proxy_set_header Content-Length $http_content_length; {FORWARD}",
    "cached-digest": f"if ($http_content_digest = 1) {{ return 400; }} proxy_set_header Content-Digest $http_content_digest; {FORWARD}",
    "mirrored": f"mirror /copy; {FORWARD}",
    "authorized": f"auth_request /authorize; {FORWARD}",
    "included": f"ssi on; ssi_types text/plain; {FORWARD}",
    "grpc": "grpc_pass grpc://127.0.0.1:%HOP%;",
}
DIGEST = "content-digest: sha-256=:x:"
GATEWAYS = ("fastcgi", "scgi", "uwsgi")
# The page of an error, the settings of the location that rejects, and whether it reads first.
PAGES = list(itertools.product(("/page", "@page", "@unbuffered", "@fastcgi"), ({}, {"mode": "buffered"}), ("on", "off")))


class Bodies:
    """One nginx with a location for each handler and policy, over HTTP/1.1 and HTTP/2."""

    def __init__(self, program, module, folder):
        self.folder = Path(folder)
        self.upstream, self.copies = Upstream(), Upstream()
        self.port, self.http2, hop = (e.free_port() for _ in range(3))
        self.gateways = {name: e.free_port() for name in GATEWAYS}
        self.peer = None
        (self.folder / "dav").mkdir()
        handlers = {name: text.replace("%HOP%", str(hop)) for name, text in HANDLERS.items()}
        for name, port in self.gateways.items():
            forward = f"include /etc/nginx/{name}_params; {name}_param X_LENGTH $content_length; {name}_pass 127.0.0.1:{port};"
            handlers |= {name: forward, f"{name}-unbuffered": f"{name}_request_buffering off; {forward}"}
        handlers["dav"] = f"alias {self.folder}/dav/; dav_methods PUT; create_full_put_path on;"
        checked = {"strict": {}, "buffered": {"mode": "buffered"}}
        checked |= {policy: {"on_error": policy} for policy in REPAIRS}
        places = [
            f"location /{name}/{policy}/ {{ {directives({**settings, 'direction': 'request'})} {text} }}\n"
            for name, text in handlers.items()
            for policy, settings in checked.items()
        ]
        places += [
            f"location = /copy {{ internal; {COPY} }}\n",
            f"location = /include {{ {COPY} }}\n",
            f'location = /authorize {{ proxy_pass_request_body off; proxy_set_header Content-Length ""; {COPY} }}\n',
            f"location = /page {{ {COPY} }}\n",
            f"location @page {{ {COPY} }}\n",
            f"location @unbuffered {{ proxy_request_buffering off; {COPY} }}\n",
            f"location @fastcgi {{ include /etc/nginx/fastcgi_params; fastcgi_pass 127.0.0.1:{self.gateways['fastcgi']}; }}\n",
        ]
        for index, (page, settings, buffering) in enumerate(PAGES):
            text = f"error_page 400 415 = {page}; proxy_request_buffering {buffering}; {FORWARD}"
            places.append(f"location /page/{index}/ {{ {directives({**settings, 'direction': 'request'})} {text} }}\n")
        options = f"upstream kept {{ server 127.0.0.1:{self.upstream.port}; keepalive 1; }}\n"
        options += f"upstream copies {{ server 127.0.0.1:{self.copies.port}; keepalive 1; }}\n"
        options += "client_body_buffer_size 1k; client_max_body_size 64m;\n"
        config = options + server(self.port, *places, more=f"listen 127.0.0.1:{self.http2} http2;")
        config += server(hop, f"location / {{ {FORWARD} }}", options=" http2")
        self.nginx = Nginx(program, module, folder, http=config, name="bodies")

    def __enter__(self):
        self.nginx.__enter__()
        return self

    def __exit__(self, *_):
        self.nginx.stop()
        if self.peer is not None:
            self.peer.terminate()
            self.peer.wait()

    def serve_gateways(self):
        """Starts uWSGI, which has a server for each of the three protocols."""
        if self.peer is not None:
            return
        program = shutil.which("uwsgi_python3") or shutil.which("uwsgi_python311")
        if program is None:
            raise programs.Unavailable("uWSGI is not installed: apt install uwsgi-plugin-python3")
        sockets = [f"--{name}-socket=127.0.0.1:{port}" for name, port in self.gateways.items()]
        options = ["--master", "--die-on-term", "--processes=4", "--disable-logging", f"--socket-timeout={e.PATIENCE}"]
        with open(self.folder / "uwsgi.log", "wb") as log:
            self.peer = subprocess.Popen([program, *sockets, *options, f"--wsgi-file={PEER}"], stdout=log, stderr=log)
        for port in self.gateways.values():
            e.wait(lambda: self.peer.poll() is None and is_open(port))

    def send(self, way, path, body, method="POST", content_type="text/plain"):
        """Sends a request with a length, in chunks, or over HTTP/2. Returns its number, the status and the body of its response."""
        number = next(numbers)
        if way.startswith("HTTP/2"):
            command = ["curl", "-s", "--max-time", str(e.PATIENCE), "--http2-prior-knowledge", "-X", method, "-w", "\n%{http_code}"]
            command += ["-H", f"content-type: {content_type}", "-H", f"x-number: {number}", "-H", DIGEST]
            # An upload from a pipe has no length.
            command += ["--data-binary", "@-"] if way == "HTTP/2" else ["-T", "-"]
            done = subprocess.run([*command, f"http://127.0.0.1:{self.http2}{path}"], input=body, capture_output=True)
            text, _, status = done.stdout.rpartition(b"\n")
            return number, int(status), text
        head = f"{method} {path} HTTP/1.1\r\nhost: a\r\nx-number: {number}\r\nconnection: close\r\ncontent-type: {content_type}\r\n{DIGEST}\r\n"
        head += "transfer-encoding: chunked\r\n\r\n" if way == "chunks" else f"content-length: {len(body)}\r\n\r\n"
        cut = len(body) // 2
        pieces = [body[:cut], body[cut:]]
        response = exchange(self.port, [head.encode(), *(chunked(pieces) if way == "chunks" else pieces)], pause=0.003)
        assert response is not None and response.complete, (path, response)
        return number, response.status, response.body


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def repaired(body, policy):
    return body.replace(b"\xff", REPAIRS[policy])


WAYS = ("length", "chunks", "HTTP/2", "HTTP/2 without a length")
WITHOUT_LENGTH = ("chunks", "HTTP/2 without a length")
# curl may lose a response that arrives before the end of its upload.
OF_REJECTED = WAYS[:3]


def lengths(bodies):
    """The server receives the repaired body with its length, whatever reads it and wherever the length is taken from."""

    def one(name, policy, body, way):
        expected = repaired(body, policy)
        case = (name, policy, way, len(body))
        number, status, _ = bodies.send(way, f"/{name}/{policy}/", body)
        assert status == 200, (case, status)
        request = bodies.upstream.take(number)
        assert request.complete and request.body == expected, (case, request.headers, len(request.body), len(expected))
        if request.header("transfer-encoding") is None:
            assert request.header("content-length") == str(len(expected)), (case, request.headers)
        assert request.header("content-digest") is None, (case, request.headers)

    names = [name for name in HANDLERS if name not in ("mirrored", "authorized", "included")]
    cases = list(itertools.product(names, REPAIRS, BODIES, WAYS))
    # A request without a length has no value for the field.
    cases = [case for case in cases if not (case[0].endswith("field") and case[3] in WITHOUT_LENGTH)]
    parallel(one, cases, workers=4)
    return f"{len(cases)} repaired bodies: buffered or not, in files, over gRPC, the length from variables"


def smuggling(bodies):
    """A request in the part of a body that exceeds its former length is not a request for a server with kept connections."""
    smuggled = b"GET /admin HTTP/1.1\r\nx-number: smuggled\r\n\r\n".ljust(60)
    for name in ("proxy", "number", "field", "cached", "cached-field"):
        for way in ("length", "HTTP/2"):
            number, status, _ = bodies.send(way, f"/{name}/escape/", b"\xff" * 20 + smuggled)
            assert status == 200, (name, way, status)
            request = bodies.upstream.take(number)
            assert request.body == repaired(b"\xff" * 20, "escape") + smuggled, (name, way, request)
            number, status, body = bodies.send(way, "/proxy/strict/", b"own")
            assert (status, body) == (200, b"own"), (name, way, "the next client has the answer to another request")
    assert "smuggled" not in bodies.upstream.requests, "the server has a request that was a part of a body"
    # Two requests of one client, in one packet.
    for policy in REPAIRS:
        with connect(bodies.port) as connection:
            head = "POST /number/%s/ HTTP/1.1\r\nhost: a\r\nx-number: 0\r\ncontent-type: text/plain\r\ncontent-length: 24\r\n\r\n" % policy
            connection.sendall(2 * (head.encode() + b"\xff" * 20 + b"text"))
            reader = Reader(connection)
            for _ in range(2):
                response = reader.message(is_response=True)
                assert response.complete and response.body == repaired(b"\xff" * 20, policy) + b"text", (policy, response)
    return "the rest of a longer body is not a request on a kept connection"


def subrequests(bodies):
    """What was copied from a request has the length of the repaired body."""
    for policy, body, way in itertools.product(REPAIRS, BODIES, WAYS):
        expected = repaired(body, policy)
        number, status, _ = bodies.send(way, f"/mirrored/{policy}/", body)
        copy = bodies.copies.take(number)
        assert status == 200 and copy.body == expected == bodies.upstream.take(number).body, (policy, way, copy.headers)
        number, status, _ = bodies.send(way, f"/authorized/{policy}/", body)
        assert status == 200 and bodies.copies.take(number).body == b"", (policy, way)
        assert bodies.upstream.take(number).body == expected, (policy, way)
    include = b"<!--# include virtual='/include' --> "
    for policy, way in itertools.product(REPAIRS, WAYS):
        body = include + b"\xff" * 7
        number, status, text = bodies.send(way, f"/included/{policy}/", body)
        copy = bodies.copies.take(number)
        assert copy.body == repaired(body, policy) and status == 200 and copy.body in text, (policy, way, copy, text)
    return "mirror, auth_request, an SSI include"


def gateway(name):
    def run(bodies):
        bodies.serve_gateways()

        def one(place, policy, body, way):
            expected = repaired(body, policy)
            _, status, text = bodies.send(way, f"/{place}/{policy}/", body)
            case = (place, policy, way, len(body))
            assert status == 200, (case, status, text[:200])
            answer = json.loads(text)
            received = base64.b64decode(answer["body"])
            length = str(len(expected))
            assert answer["lengths"] == [length] * 3 and received == expected, (case, answer["lengths"], received[:40])

        cases = list(itertools.product((name, f"{name}-unbuffered"), REPAIRS, BODIES, WAYS))
        # Otherwise nginx does not know the length before it has read the body.
        cases = [case for case in cases if not (case[0].endswith("unbuffered") and case[3] in WITHOUT_LENGTH)]
        parallel(one, cases, workers=4)
        for policy, way in itertools.product(("strict", "buffered"), OF_REJECTED):
            _, status, text = bodies.send(way, f"/{name}/{policy}/", b"caf\xff")
            assert status == 400 and json.loads(text)["offset"] == 3, (policy, way, text)
            _, status, text = bodies.send(way, f"/{name}/{policy}/", "café".encode())
            assert status == 200 and json.loads(text)["lengths"][0] == "5", (policy, way, text)
        return f"{len(cases)} repaired bodies have their length; an ill-formed one is rejected"

    return run


def dav(bodies):
    """A body that is held or repaired is written to its file."""
    folder = bodies.folder / "dav"
    count = itertools.count()
    for policy, way in itertools.product(("strict", "buffered", *REPAIRS), WAYS):
        for body in (*BODIES, b"good", b"\xff", random_text(50_000, 2)):
            is_rejected = policy not in REPAIRS and b"\xff" in body
            if is_rejected and way not in OF_REJECTED:
                continue
            name = f"{next(count)}.txt"
            _, status, text = bodies.send(way, f"/dav/{policy}/{name}", body, method="PUT")
            if not is_rejected:
                expected = repaired(body, policy) if policy in REPAIRS else body
                assert status == 201, (policy, way, status, text)
                assert (folder / name).read_bytes() == expected, (policy, way, len(body))
            else:
                assert status == 400 and json.loads(text)["kind"] == "InvalidLead", (policy, way, status, text)
                assert not (folder / name).exists(), (policy, way)
    left = [path for path in (bodies.folder / "temp").rglob("*") if path.is_file()]
    assert not left, left
    return f"{next(count)} files, with a length or without, over HTTP/1.1 and HTTP/2; a rejected one is not stored"


def error_pages(bodies):
    """The server of an error's page receives a request without a body, and does not wait for one."""
    bodies.serve_gateways()
    texts = [(b"caf\xff", "text/plain"), (b"x" * 5000 + b"\xff" + b"x" * 50_000, "text/plain"), (b"x" * 5000, "text/plain; charset=latin1")]

    def one(index, case, way):
        page, settings, buffering = PAGES[index]
        body, content_type = case
        case = (page, settings, buffering, way, len(body))
        number, status, text = bodies.send(way, f"/page/{index}/", body, content_type=content_type)
        assert status == 200, (case, status, text)
        if page == "@fastcgi":
            answer = json.loads(text)
            assert (answer["lengths"][0], answer["body"]) == ("0", ""), (case, answer)
            return
        request = bodies.copies.take(number)
        assert request.start.split()[0] == ("GET" if page == "/page" else "POST"), (case, request)
        assert request.complete and request.body == b"" and request.header("content-length") == "0", (case, request)
        assert request.header("transfer-encoding") is None, (case, request)

    cases = list(itertools.product(range(len(PAGES)), texts, OF_REJECTED))
    parallel(one, cases, workers=4)
    lost = 0
    for index, _ in itertools.product((0, 4), range(20)):
        with connect(bodies.port) as connection:
            head = f"POST /page/{index}/ HTTP/1.1\r\nhost: a\r\nx-number: {next(numbers)}\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
            with contextlib.suppress(OSError):
                connection.sendall(head.encode() + b"4\r\ncaf\xff\r\n")
                for _ in range(20):
                    connection.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")
            response = Reader(connection).message(is_response=True)
            lost += response is None or response.status != 200 or not response.complete
    assert lost == 0, f"{lost} of 40 clients lost the response"
    return f"{len(cases)} requests to the pages of a server; 40 clients that send on read the response"


def no_alert(bodies):
    errors = bodies.nginx.errors()
    assert not errors, errors[:3]
    return "has no alert and no critical error"


BODY_ROWS = [
    ("nginx: the length of a repaired body", lengths),
    ("nginx: a kept connection to a server", smuggling),
    ("nginx: copies of a request", subrequests),
    *[(f"nginx: {title}", gateway(name)) for title, name in (("FastCGI", "fastcgi"), ("SCGI", "scgi"), ("uwsgi", "uwsgi"))],
    ("nginx: WebDAV", dav),
    ("nginx: error_page of a server", error_pages),
    ("nginx: the log of these rows", no_alert),
]
