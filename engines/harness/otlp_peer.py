"""The exporters of OpenTelemetry and a receiver, for an interpreter that has them.

usage: otlp_peer.py SCHEMA

Writes the schema, and prints the ports of the receiver for HTTP and gRPC. For each line `http PORT` or `grpc PORT` on its standard
input, it exports a batch through this port, with one ill-formed string, and prints whether the exporter succeeded, and whether the
receiver has `nothing`, the `repaired` batch, or `other` requests.
"""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / ".ci"))
import try_otlp as otlp  # noqa: E402

spans, receiver = otlp.batch(), otlp.Receiver()
repaired = {index: f"naïve 🦀 {index}" for index in range(otlp.SPANS)} | {otlp.BROKEN: "caf?-broken"}
Path(sys.argv[1]).write_bytes(otlp.descriptor_set())
print(receiver.http.server_port, receiver.grpc_port, flush=True)
for line in sys.stdin:
    kind, port = line.split()
    port = otlp.breaking_proxy(int(port))
    if kind == "http":
        exporter = otlp.HttpExporter(f"http://127.0.0.1:{port}/v1/traces")
    else:
        exporter = otlp.GrpcExporter(f"http://127.0.0.1:{port}", insecure=True)
    ok = exporter.export(spans) is otlp.SpanExportResult.SUCCESS
    known = {"[]": "nothing", str([repaired]): "repaired"}
    print(json.dumps({"ok": ok, "received": known.get(str(receiver.requests), "other")}), flush=True)
    receiver.requests.clear()
