"""Rows of the HTTP filter: requests and responses, HTTP/1.1 and HTTP/2."""

import itertools
import json
import subprocess

from . import envoy as e
from .http1 import Reader, Upstream, answer, chunked, chunked_answer, exchange
from .log import Verdicts
from .samples import ERRORS, GOOD, partitions, possible, random_cuts, random_text
from .tcp import connect, parallel

numbers = itertools.count(1)
TEXT = "text/plain; charset=utf-8"


class Http:
    """One Envoy with a listener for each configuration, and an upstream over HTTP/1.1 and HTTP/2."""

    # Whether a chunked request is always forwarded as such.
    keeps_chunks = True

    def __init__(self, program, module, folder):
        self.folder = folder
        self.upstream = Upstream()
        log = f"{folder}/http-access.json"
        self.verdicts = Verdicts(log)
        certificate = e.certificate(folder)
        hop = e.free_port()
        clusters = [
            e.http_cluster("upstream", self.upstream.port),
            e.http_cluster("over-http2", hop, http2=True),
        ]
        buffered = {"mode": "buffered"}
        routes = [
            route("/open", {"direction": "response", "websocket": "pass"}),
            route("/pass", {"websocket": "pass"}),
            route("/repaired", {"on_error": "replace"}),
        ]
        # Envoy 1.38 passes a Struct of a route as it is serialized, not as JSON.
        self.has_struct_routes = "1.38." not in str(program)
        if self.has_struct_routes:
            routes.append(route("/struct", {"struct": {"on_error": "replace"}}))
        plain_hop = e.http_listener("hop", None, "upstream")
        plain_hop["address"] = e.address(hop)
        listeners = [
            plain_hop,
            e.http_listener("streaming", {}, "upstream", log=log, routes=routes),
            e.http_listener("buffered", {"struct": {**buffered, "websocket": "pass"}}, "upstream", log=log),
            e.http_listener("buffered-small", buffered, "upstream", per_connection_buffer_limit_bytes=8192),
            e.http_listener("replace", {"on_error": "replace"}, "upstream"),
            e.http_listener("replace-buffered", {**buffered, "on_error": "replace"}, "upstream"),
            e.http_listener("report", {"action": "report", "headers": "both"}, "upstream", log=log),
            e.http_listener("tls", {}, "upstream", certificate=certificate),
            e.http_listener("http2", {}, "over-http2"),
            e.http_listener("http2-buffered", buffered, "over-http2"),
            e.http_listener("strict-types", {"content_types": ["image/*"], "missing_content_type": "reject"}, "upstream"),
            e.http_listener("all-fields", {"headers": "both", "trailers": "both"}, "upstream"),
            e.http_listener("charset", {"missing_charset": "reject", "form_data": True, "direction": "request"}, "upstream"),
        ]
        self.envoy = e.Envoy(program, module, e.bootstrap(listeners, clusters), folder, workers=4, name="http")

    def __enter__(self):
        self.envoy.__enter__()
        self.ports = self.envoy.ports()
        return self

    def __exit__(self, *_):
        self.envoy.stop()

    def post(self, listener, pieces, trailers=None, length=None, fields="", content_type=TEXT, path="/", pause=0.0, to=None):
        """Posts a body. With `length` it has a `Content-Length`, otherwise it is chunked. Returns the number of the
        request and the response."""
        number = next(numbers)
        if to is not None:
            self.upstream.answers[str(number)] = to
        head = f"POST {path} HTTP/1.1\r\nhost: test\r\nx-number: {number}\r\nconnection: close\r\n{fields}"
        if content_type:
            head += f"content-type: {content_type}\r\n"
        head += "transfer-encoding: chunked\r\n\r\n" if length is None else f"content-length: {length}\r\n\r\n"
        body = pieces if length is not None else chunked(pieces, trailers or b"")
        response = exchange(self.ports[listener], [head.encode("latin-1"), *body], pause)
        return number, response

    def curl(self, listener, body, *arguments, scheme="http", to=None):
        """Posts a body with curl. Returns the number, the status, the response and the exit code."""
        number = next(numbers)
        if to is not None:
            self.upstream.answers[str(number)] = to
        version = "--http2" if scheme == "https" else "--http2-prior-knowledge"
        command = ["curl", "-sk", "--max-time", str(e.PATIENCE), version, "-H", f"x-number: {number}", "-H", f"content-type: {TEXT}"]
        command += ["-w", "\n%{http_code} %{http_version}", "--data-binary", "@-", *arguments]
        command += [f"{scheme}://localhost:{self.ports[listener]}/"]
        done = subprocess.run(command, input=body, capture_output=True, timeout=2 * e.PATIENCE)
        text, _, line = done.stdout.rpartition(b"\n")
        status, version = line.split()
        # There is no version if the stream was reset before its first byte.
        assert version == b"2" or done.returncode != 0, version
        return number, int(status), text, done.returncode


def route(prefix, settings):
    return {
        "match": {"prefix": prefix},
        "route": {"cluster": "upstream"},
        "typed_per_filter_config": {"utf8": e.route_settings(settings)},
    }


def problem(response, status=400):
    """The kind, offset and length of a problem document."""
    assert response is not None and response.complete, response
    assert response.status == status, (response.start, response.body)
    assert response.header("content-type") == "application/problem+json"
    document = json.loads(response.body)
    assert document["status"] == status and document["type"] == "about:blank"
    return document["kind"], document.get("offset"), document.get("len")


def good_requests(http):
    cases = [(text.encode(), pieces, length) for text in GOOD for pieces in partitions(text.encode(), 12) for length in (0, 1)]

    def one(text, pieces, has_length):
        length = len(text) if has_length else None
        number, response = http.post("streaming", pieces, length=length, pause=0.003)
        assert response.status == 200 and response.body == text, (pieces, response)
        request = http.upstream.take(number)
        assert request.complete and request.body == text
        if has_length or http.keeps_chunks:
            assert (request.header("content-length") == str(len(text))) == bool(has_length)

    parallel(one, cases)
    return f"{len(cases)} requests and their responses, chunked and with Content-Length"


def bad_requests(http):
    cases = [
        (*error, pieces, length, listener)
        for error in ERRORS
        for pieces in partitions(error[0], 6)
        for length in (0, 1)
        for listener in ("streaming", "buffered")
    ]

    def one(text, kind, offset, length, pieces, has_length, listener):
        _, response = http.post(listener, pieces, length=len(text) if has_length else None, pause=0.003)
        assert problem(response) == (kind, offset, length), (pieces, response.body)
        return kind, offset, length

    expected = sorted(parallel(one, cases))
    seen = sorted((entry["kind"], int(entry["offset"]), int(entry["len"])) for entry in http.verdicts.take(len(cases)))
    assert seen == expected
    return f"{len(cases)} requests answered 400 with kind, offset and length; the same in the access log"


def no_bad_request_arrives(http):
    rejected = set()
    for error in ERRORS:
        number, response = http.post("buffered", [b"x" * 5000, error[0]])
        rejected.add(str(number))
        kind, offset, length = problem(response)
        assert (kind, offset, length) == (error[1], error[2] + 5000, error[3])
    http.verdicts.take(len(ERRORS))
    _, response = http.post("buffered-small", [b"x" * 4096] * 20)
    assert response.status == 413, response.start
    number, response = http.post("buffered-small", [b"x" * 4096])
    assert response.status == 200 and http.upstream.take(number).body == b"x" * 4096
    assert not rejected & set(http.upstream.requests), "the upstream has a request that was rejected"
    return "no bad request reaches the upstream; 413 above the limit"


def trailers(http):
    good = "x-note: naïve\r\n".encode()
    for listener in ("streaming", "buffered"):
        number, response = http.post(listener, ["naï".encode()[:3], "ï".encode()[1:]], trailers=good)
        assert response.status == 200, response.start
        request = http.upstream.take(number)
        assert request.body == "naï".encode() and request.trailers == [("x-note", "na\u00c3\u00afve")], request
        number, response = http.post(listener, [b"text"], trailers=b"x-note: na\xefve\r\n")
        assert problem(response) == ("MissingContinuation", 2, 1)
        assert json.loads(response.body)["detail"].startswith("trailer x-note")
        number, response = http.post(listener, [b"tex\xe7\xbd"], trailers=good)
        assert problem(response) == ("Truncated", 3, 2)
    http.verdicts.take(4)
    for listener in ("replace", "replace-buffered"):
        digest = b"content-digest: sha-256=:x:\r\n"
        answered = chunked_answer([b"tex\xe7\xbd"], good + digest)
        number, response = http.post(listener, [b"tex\xe7\xbd"], trailers=good + digest, to=answered)
        for message in (http.upstream.take(number), response):
            assert message.complete and message.body == "tex\ufffd".encode(), (listener, message)
            # The digest is that of the body before its repair.
            assert [name for name, _ in message.trailers] == ["x-note"], (listener, message)
    number, response = http.post("all-fields", [b"ok"], to=chunked_answer([b"good"], b"x-note: na\xefve\r\n"))
    assert response.body == b"good" and not response.complete, response
    return "good ones arrive, ill-formed ones are rejected, a repair comes before them and removes their digests"


def requests_over_http2(http):
    cases = [(*error, listener) for error in ERRORS for listener in ("streaming", "buffered", "http2")]

    def one(text, kind, offset, length, listener):
        _, status, body, _ = http.curl(listener, text)
        document = json.loads(body)
        assert (status, document["kind"], document["offset"], document["len"]) == (400, kind, offset, length)

    parallel(one, cases, workers=12)
    http.verdicts.take(2 * len(ERRORS))
    good = random_text(300_000, 5)
    for listener, scheme in (("streaming", "http"), ("http2", "http"), ("http2-buffered", "http"), ("tls", "https")):
        number, status, body, code = http.curl(listener, good, scheme=scheme)
        assert (status, code) == (200, 0) and body == good, (listener, status, code, len(body))
    number, status, body, _ = http.curl("tls", b"caf\xff", scheme="https")
    assert status == 400 and json.loads(body)["offset"] == 3
    return f"{len(cases)} requests answered 400, also to an upstream over HTTP/2; 300 KB pass, also behind TLS"


def responses(http):
    cases = [(*error, pieces) for error in ERRORS for pieces in partitions(error[0], 5)]

    def one(text, kind, offset, length, pieces):
        # More text follows, so that the error is not in the last chunk; a truncated character is at the end.
        tail = [] if kind == "Truncated" else [b" more", b" text"]
        _, response = http.post("streaming", [b"ok"], to=chunked_answer([*pieces, *tail]))
        assert response.status == 200 and not response.complete, (pieces, response)
        assert response.body == text[: possible(text, offset, length)], (pieces, response)
        _, response = http.post("buffered", [b"ok"], to=chunked_answer([*pieces, *tail]))
        assert problem(response, 502) == (kind, offset, length), (pieces, response.body)

    parallel(one, cases, workers=24)
    entries = http.verdicts.take(2 * len(cases))
    assert {entry["direction"] for entry in entries} == {"response"}
    _, response = http.post("streaming", [b"ok"], to=[answer(b"abc\xff")])
    assert response is None or not response.complete, response
    http.verdicts.take(1)
    return f"{2 * len(cases)} responses: cut off after the good text, or 502"


def responses_over_http2(http):
    for error in ERRORS:
        text, kind, offset, length = error
        tail = [] if kind == "Truncated" else [b" more"]
        for listener in ("http2", "streaming"):
            _, status, body, code = http.curl(listener, b"ok", to=chunked_answer([text, *tail]))
            assert status in (0, 200) and code != 0, (listener, status, code, body)
            assert text[: possible(text, offset, length)].startswith(body), (listener, body)
        _, status, body, code = http.curl("http2-buffered", b"ok", to=chunked_answer([text, *tail]))
        document = json.loads(body)
        assert (status, document["kind"], document["offset"], document["len"]) == (502, kind, offset, length)
    http.verdicts.take(len(ERRORS))
    return f"{3 * len(ERRORS)} responses: a reset stream, or 502"


def repairs(http):
    def one(index, listener):
        data = random_text(20_000, index, error_every=100)
        expected = data.decode("utf-8", "replace").encode()
        pieces = random_cuts(data, 3_000, index)
        fields = 'etag: "x"\r\ncontent-md5: x\r\n'
        answered = [answer(data, fields=fields)]
        length = len(data) if index % 2 else None
        ranged = f'{fields}range: bytes=9-\r\nif-range: "x"\r\n'
        number, response = http.post(listener, pieces, length=length, fields=ranged, to=answered)
        request = http.upstream.take(number)
        assert request.complete and request.body == expected, (index, len(request.body), len(expected))
        assert response.complete and response.body == expected, (index, len(response.body), len(expected))
        for message in (request, response):
            names = [name for name, _ in message.headers]
            assert not {"etag", "content-md5", "range", "if-range"} & set(names), names

    cases = [(index, listener) for index in range(75) for listener in ("replace", "replace-buffered")]
    parallel(one, cases, workers=24)
    return "150 requests and responses in random cuts, equal to Python's; digests, lengths and ranges removed"


def many_connections(http):
    def one(index):
        data = random_text(20_000, index)
        listener = ("streaming", "buffered")[index % 2]
        number, response = http.post(listener, random_cuts(data, 1_500, index))
        assert response.complete and response.body == data and http.upstream.take(number).body == data

    parallel(one, [(index,) for index in range(300)], workers=60)
    return "300 connections on 4 workers"


def rules(http):
    def status(listener, content_type, body=b"\xff", fields="", length=None):
        ok = [answer(b"ok")]
        _, response = http.post(listener, [body], content_type=content_type, fields=fields, length=length, to=ok)
        return response.status, json.loads(response.body)["kind"] if response.status >= 400 else None

    assert status("streaming", "text/plain; charset=latin1") == (415, "UnsupportedCharset")
    assert status("streaming", "text/plain; charset=utf-8; charset=latin1") == (400, "ConflictingCharset")
    assert status("streaming", TEXT, fields="content-encoding: gzip\r\n") == (415, "ContentCoding")
    assert status("streaming", TEXT, fields="content-range: bytes 1-2/3\r\n") == (400, "ContentRange")
    assert status("streaming", "text") == (400, "ContentType")
    assert status("streaming", None) == (400, "InvalidLead")
    assert status("streaming", "image/png") == (200, None)
    assert status("strict-types", "image/png") == (400, "InvalidLead")
    assert status("strict-types", TEXT) == (200, None)
    assert status("strict-types", None) == (415, "MissingContentType")
    assert status("charset", "text/plain", b"ok") == (415, "MissingCharset")
    assert status("charset", "application/json", b"1") == (200, None)
    assert status("streaming", "application/x-www-form-urlencoded", b"a=%C3%A9&b=%C3") == (400, "Truncated")
    assert status("streaming", "application/x-www-form-urlencoded", b"a=%C3%A9&b=%C3%A9") == (200, None)
    form = b'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nna\xefve\r\n--x--\r\n'
    assert status("charset", "multipart/form-data; boundary=x", form) == (400, "MissingContinuation")
    assert status("charset", "multipart/form-data; boundary=x", form.replace(b"\xef", "ï".encode())) == (200, None)
    http.verdicts.take(7)
    return "415 and 400 for what cannot be checked; forms after decoding"


def documents(http):
    """The encoding that a document declares decides how it is read, also if its start arrives in pieces."""
    latin1 = b"<?xml version='1.0' encoding='iso-8859-1'?><a>G\xfcnther</a>"
    html = b"<p>" + b"x" * 1500 + "é".encode() + b"<meta charset=koi8-r>"
    for document, content_type in ((latin1, "text/xml"), (b"<meta charset=koi8-r>\xc1", "text/html"), (b"\xff\xfe<\0", "text/xml")):
        for listener in ("streaming", "buffered", "replace", "replace-buffered"):
            for cut in (1, 2, 7, len(document) - 1, len(document)):
                pieces = [document[:cut], document[cut:]] if cut < len(document) else [document]
                _, response = http.post(listener, pieces, content_type=content_type)
                assert problem(response, 415)[0] == "UnsupportedCharset", (listener, cut, response.body)
                _, response = http.post(listener, [b"ok"], to=chunked_answer(pieces, content_type=content_type))
                assert response.complete and response.body == document, (listener, cut, response)
    http.verdicts.take(30)
    for pieces in ([html], [html[:1], html[1:]], [html[:1504], html[1504:]], [b"<", b"a", b">"]):
        text = b"".join(pieces)
        for listener in ("streaming", "buffered", "replace", "replace-buffered"):
            number, response = http.post(listener, pieces, content_type="text/html", pause=0.003)
            assert response.status == 200 and http.upstream.take(number).body == text, (listener, response)
            trailers = b"x-note: a\r\n"
            number, response = http.post(listener, pieces, content_type="text/html", trailers=trailers, pause=0.003)
            assert response.status == 200, (listener, response)
            assert http.upstream.take(number).body == text, (listener, pieces)
    return "415 for requests, unchanged responses; text in UTF-8 passes, also before trailers"


def header_fields(http):
    number, response = http.post("streaming", [b"ok"], fields="x-name: na\u00efve\r\n")
    assert problem(response) == ("MissingContinuation", 2, 1)
    assert json.loads(response.body)["detail"].startswith("field x-name")
    http.verdicts.take(1)
    latin = [answer(b"ok", fields="x-name: na\u00efve\r\n")]
    _, response = http.post("streaming", [b"ok"], to=latin)
    assert response.status == 200
    _, response = http.post("all-fields", [b"ok"], to=latin)
    assert problem(response, 502) == ("MissingContinuation", 2, 1)
    return "of requests; of responses if set"


def routes(http):
    number, response = http.post("streaming", [b"caf\xff"], path="/open", to=[answer(b"ok")])
    assert response.status == 200 and http.upstream.take(number).body == b"caf\xff"
    paths = ["/repaired", "/struct"] if http.has_struct_routes else ["/repaired"]
    for path in paths:
        number, response = http.post("streaming", [b"caf\xff"], path=path)
        assert response.status == 200 and http.upstream.take(number).body == "caf\ufffd".encode()
    entries = http.verdicts.take(len(paths))
    assert {entry["verdict"] for entry in entries} == {"repaired"}
    lacks = "" if http.has_struct_routes else "; as a StringValue only, this Envoy does not decode a Struct of a route"
    return f"they replace those of the filter{lacks}"


def without_a_body(http):
    for method, path in (("GET", "/"), ("HEAD", "/"), ("DELETE", "/")):
        number = next(numbers)
        head = f"{method} {path} HTTP/1.1\r\nhost: test\r\nx-number: {number}\r\nconnection: close\r\n\r\n"
        for listener in ("streaming", "buffered", "strict-types"):
            response = exchange(http.ports[listener], [head.encode()], has_body=method != "HEAD")
            assert response.status == 200, (method, listener, response)
    number, response = http.post("buffered", [b"ok"], to=[b"HTTP/1.1 204 No Content\r\n\r\n"])
    assert response.status == 204
    # The fields are those of the response to GET, whose text may be repaired.
    fields = b'content-type: text/plain\r\ncontent-length: 4\r\netag: "x"\r\n\r\n'
    for method, status in (("HEAD", b"200 OK"), ("GET", b"304 Not Modified")):
        for listener, stay in (("streaming", True), ("replace", False)):
            number = next(numbers)
            http.upstream.answers[str(number)] = [b"HTTP/1.1 " + status + b"\r\n" + fields]
            head = f"{method} / HTTP/1.1\r\nhost: test\r\nx-number: {number}\r\nconnection: close\r\n\r\n"
            response = exchange(http.ports[listener], [head.encode()], has_body=False)
            names = [name for name, _ in response.headers]
            assert ("etag" in names, "content-length" in names) == (stay, stay), (method, listener, names)
    # A 304 without a type describes text, too.
    for listener, stay in (("streaming", True), ("replace", False)):
        number = next(numbers)
        http.upstream.answers[str(number)] = [b'HTTP/1.1 304 Not Modified\r\netag: "x"\r\n\r\n']
        head = f'GET / HTTP/1.1\r\nhost: test\r\nx-number: {number}\r\nconnection: close\r\nrange: bytes=9-\r\n\r\n'
        response = exchange(http.ports[listener], [head.encode()], has_body=False)
        request = http.upstream.take(number)
        assert (response.header("etag"), request.header("range")) == (('"x"', "bytes=9-") if stay else (None, None)), listener
    return "GET, HEAD, DELETE, 204 and 304"


def upgrades(http):
    fields = "connection: upgrade\r\nupgrade: websocket\r\n"
    # `/open` checks responses only.
    for listener, path in (("streaming", "/pass"), ("streaming", "/open"), ("buffered", "/")):
        with connect(http.ports[listener]) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nhost: test\r\nx-number: 0\r\n{fields}\r\n".encode())
            reader = Reader(connection)
            response = reader.message(is_response=True, has_body=False)
            assert response.status == 101, (listener, path, response)
            connection.sendall(b"\x82\xff\xfe")
            assert reader.exactly(3) == b"\x82\xff\xfe", (listener, path)
    for listener in ("streaming", "buffered"):
        with connect(http.ports[listener]) as connection:
            head = f"POST / HTTP/1.1\r\nhost: test\r\nx-number: 0\r\n{fields}content-type: {TEXT}\r\ncontent-length: 4\r\n\r\n"
            connection.sendall(head.encode() + b"caf\xff")
            assert problem(Reader(connection).message(is_response=True)) == ("InvalidLead", 3, 1), listener
    http.verdicts.take(2)
    return "the bytes after an upgrade pass, a body before it is checked"


def only_reports(http):
    for error in ERRORS:
        number, response = http.post("report", [error[0]])
        assert response.complete and response.body == error[0] == http.upstream.take(number).body
    entries = http.verdicts.take(len(ERRORS))
    assert {entry["verdict"] for entry in entries} == {"reported"}
    return f"{len(ERRORS)} requests and responses pass unchanged and are reported"


def counters(http):
    stat = lambda name: http.envoy.stat(f"dynamicmodulescustom.utf8_http_{name}")
    before = stat("bytes")
    http.post("streaming", [b"counted"], to=[answer(b"too")])
    e.wait(lambda: stat("bytes") >= before + 10)
    assert stat("rejected") > 200 and stat("reported") == 2 * len(ERRORS) and stat("repaired") > 1000
    assert stat("errors_overlong") > 0 and stat("errors_other") > 5 and stat("panics") == 0
    for text in ["rejected request: ill-formed UTF-8 at byte", "rejected response"]:
        http.envoy.wait_for_log(text)
    log = http.envoy.log.read_text(errors="replace")
    assert "caf" not in log and "12345" not in log, "the log has bytes of the payload"
    return f"{stat('rejected')} rejected, {stat('repaired')} repaired; the log has no payload"


CORE = [
    ("HTTP/1.1: good requests, chunked and not", good_requests),
    ("HTTP/1.1: every error class in a request", bad_requests),
    ("HTTP/1.1: responses, streaming and buffered", responses),
    ("HTTP: trailers", trailers),
    ("HTTP/2: requests", requests_over_http2),
    ("HTTP: settings of a route", routes),
]

ROWS = [
    *CORE,
    ("HTTP/2: responses", responses_over_http2),
    ("HTTP: buffered, and its limit", no_bad_request_arrives),
    ("HTTP: repaired in random cuts", repairs),
    ("HTTP: random cuts on 4 workers", many_connections),
    ("HTTP: content rules", rules),
    ("HTTP: documents that declare their encoding", documents),
    ("HTTP: header fields", header_fields),
    ("HTTP: messages without a body", without_a_body),
    ("HTTP: upgrades", upgrades),
    ("HTTP: report only", only_reports),
    ("HTTP: counters and log", counters),
]
