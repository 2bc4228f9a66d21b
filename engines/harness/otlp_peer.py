"""The exporters of OpenTelemetry and a receiver, for an interpreter that has them.

usage: otlp_peer.py SCHEMA

Writes the schema, and prints the ports of the receiver for HTTP and gRPC. For each line `http PORT`, `grpc PORT` or `gzip PORT`, which
is gRPC with compression, on its standard input, it exports a batch through this port, with one ill-formed string, and prints whether
the exporter succeeded, and whether the receiver has `nothing`, the `repaired` batch, or `other` requests.
"""

import contextlib
import http.server
import json
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from google.protobuf import descriptor_pb2
from google.protobuf.message import DecodeError
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

SPANS, BROKEN = 1000, 617
# The `#` becomes an ill-formed byte.
MARK, ILL_FORMED = b"caf#-broken", b"caf\xe9-broken"
METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def descriptor_set():
    files = {}

    def add(file):
        for dependency in file.dependencies:
            add(dependency)
        files[file.name] = file.serialized_pb

    add(service.DESCRIPTOR)
    result = descriptor_pb2.FileDescriptorSet()
    for serialized in files.values():
        result.file.add().ParseFromString(serialized)
    return result.SerializeToString()


def batch():
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("otlp_peer")
    for index in range(SPANS):
        text = MARK.decode() if index == BROKEN else f"naïve 🦀 {index}"
        with tracer.start_as_current_span(f"span {index}", attributes={"text": text, "index": index}):
            pass
    return memory.get_finished_spans()


class Receiver:
    """A receiver for HTTP and gRPC. A request is the list of its texts, or `None` if it cannot be parsed."""

    def __init__(self):
        self.requests = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.body()
                if body is None:
                    return
                is_ok = receiver.receive(body)
                self.send_response(200 if is_ok else 400)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def body(self):
                """The body of the request, or `None` if its end is missing."""
                if "Content-Length" in self.headers:
                    length = int(self.headers["Content-Length"])
                    body = self.rfile.read(length)
                    return body if len(body) == length else None
                body = b""
                while size := int(self.rfile.readline() or b"-1", 16):
                    if size < 0:
                        return None
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

        class Service(grpc.GenericRpcHandler):
            def service(self, details):
                if details.method == METHOD:
                    return grpc.unary_unary_rpc_method_handler(self.export)

            def export(self, request, context):
                if not receiver.receive(request):
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "cannot be parsed")
                return b""

        self.grpc = grpc.server(ThreadPoolExecutor(2), handlers=[Service()])
        self.grpc_port = self.grpc.add_insecure_port("127.0.0.1:0")
        self.grpc.start()

    def receive(self, body):
        request = service.ExportTraceServiceRequest()
        try:
            request.ParseFromString(body)
        except DecodeError:
            self.requests.append(None)
            return False
        spans = [span for a in request.resource_spans for b in a.scope_spans for span in b.spans]
        texts = {}
        for span in spans:
            values = {attribute.key: attribute.value for attribute in span.attributes}
            texts[values["index"].int_value] = values["text"].string_value
        self.requests.append(texts)
        return True


def breaking_proxy(port):
    """Returns the port of a proxy that makes the marked text ill-formed."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source, target, replaces):
        held = b""
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                data = (held + data).replace(MARK, ILL_FORMED) if replaces else data
                # The start of a mark at the end waits for the rest.
                length = max(n for n in range(len(MARK)) if data.endswith(MARK[:n])) if replaces else 0
                held = data[len(data) - length :]
                target.sendall(data[: len(data) - length])
            target.shutdown(socket.SHUT_WR)

    def accept():
        while True:
            client, _ = listener.accept()
            server = socket.create_connection(("127.0.0.1", port))
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for pair in ((client, server, True), (server, client, False)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


spans, receiver = batch(), Receiver()
repaired = {index: f"naïve 🦀 {index}" for index in range(SPANS)} | {BROKEN: "caf?-broken"}
Path(sys.argv[1]).write_bytes(descriptor_set())
print(receiver.http.server_port, receiver.grpc_port, flush=True)
for line in sys.stdin:
    kind, port = line.split()
    if kind == "http":
        exporter = HttpExporter(f"http://127.0.0.1:{breaking_proxy(int(port))}/v1/traces")
    elif kind == "grpc":
        exporter = GrpcExporter(f"http://127.0.0.1:{breaking_proxy(int(port))}", insecure=True)
    else:
        exporter = GrpcExporter(f"http://127.0.0.1:{port}", insecure=True, compression=grpc.Compression.Gzip)
        # A proxy cannot break what is compressed.
        exporter._client.Export = exporter._channel.unary_unary(
            METHOD, request_serializer=lambda request: request.SerializeToString().replace(MARK, ILL_FORMED)
        )
    ok = exporter.export(spans) is SpanExportResult.SUCCESS
    known = {"[]": "nothing", str([repaired]): "repaired"}
    print(json.dumps({"ok": ok, "received": known.get(str(receiver.requests), "other")}), flush=True)
    receiver.requests.clear()
