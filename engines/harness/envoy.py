"""An Envoy with the filter: its configuration, its process, its statistics."""

import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

MODULE = {"name": "utf8_codec_envoy", "do_not_close": True}
# The longest time that a row waits for anything, in seconds. Long, because other load may stop a process for seconds.
PATIENCE = 60
EXTENSIONS = "type.googleapis.com/envoy.extensions"
METADATA = {key: f"%DYNAMIC_METADATA(utf8_codec:{key})%" for key in ("verdict", "direction", "kind", "offset", "len")}


def text(value):
    """A message for `filter_config`: a string, or a structure of protobuf if `value` is a dictionary with `struct`."""
    if isinstance(value, dict) and "struct" in value:
        return {"@type": "type.googleapis.com/google.protobuf.Struct", "value": value["struct"]}
    value = value if isinstance(value, str) else json.dumps(value)
    return {"@type": "type.googleapis.com/google.protobuf.StringValue", "value": value}


def network_filter(settings):
    kind = f"{EXTENSIONS}.filters.network.dynamic_modules.v3.DynamicModuleNetworkFilter"
    config = {"@type": kind, "dynamic_module_config": MODULE, "filter_name": "utf8", "filter_config": text(settings)}
    return {"name": "utf8", "typed_config": config}


def http_filter(settings):
    kind = f"{EXTENSIONS}.filters.http.dynamic_modules.v3.DynamicModuleFilter"
    config = {"@type": kind, "dynamic_module_config": MODULE, "filter_name": "utf8", "filter_config": text(settings)}
    return {"name": "utf8", "typed_config": config}


def route_settings(settings):
    kind = f"{EXTENSIONS}.filters.http.dynamic_modules.v3.DynamicModuleFilterPerRoute"
    return {
        "@type": kind,
        "dynamic_module_config": MODULE,
        "per_route_config_name": "utf8",
        "filter_config": text(settings),
    }


def access_log(path):
    format = {"json_format": {**METADATA, "details": "%RESPONSE_CODE_DETAILS%"}}
    kind = f"{EXTENSIONS}.access_loggers.file.v3.FileAccessLog"
    return [{"name": "file", "typed_config": {"@type": kind, "path": path, "log_format": format}}]


def address(port, host="127.0.0.1"):
    return {"socket_address": {"address": host, "port_value": port}}


def cluster(name, port, **more):
    endpoint = {"endpoint": {"address": address(port)}}
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "5s",
        "circuit_breakers": {"thresholds": [{"max_connections": 8192, "max_pending_requests": 8192, "max_requests": 8192}]},
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
        **more,
    }


def http_cluster(name, port, http2=False):
    kind = f"{EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions"
    protocol = {"http2_protocol_options": {}} if http2 else {"http_protocol_options": {"enable_trailers": True}}
    options = {kind.removeprefix("type.googleapis.com/"): {"@type": kind, "explicit_http_config": protocol}}
    # The name of the extension has the package of its message.
    options = {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": next(iter(options.values()))}
    return cluster(name, port, typed_extension_protocol_options=options)


def tls(certificate, alpn=()):
    chain = {"certificate_chain": {"filename": f"{certificate}.pem"}, "private_key": {"filename": f"{certificate}.key"}}
    kind = f"{EXTENSIONS}.transport_sockets.tls.v3.DownstreamTlsContext"
    context = {"@type": kind, "common_tls_context": {"tls_certificates": [chain], "alpn_protocols": list(alpn)}}
    return {"name": "envoy.transport_sockets.tls", "typed_config": context}


def tcp_listener(name, settings, upstream, log=None, certificate=None, **more):
    kind = f"{EXTENSIONS}.filters.network.tcp_proxy.v3.TcpProxy"
    proxy = {"@type": kind, "stat_prefix": name, "cluster": upstream, "idle_timeout": f"{PATIENCE}s"}
    if log:
        proxy["access_log"] = access_log(log)
    filters = [] if settings is None else [network_filter(settings)]
    chain = {"filters": [*filters, {"name": "envoy.filters.network.tcp_proxy", "typed_config": proxy}]}
    if certificate:
        chain["transport_socket"] = tls(certificate)
    return {"name": name, "address": address(0), "filter_chains": [chain], **more}


def http_listener(name, settings, upstream, log=None, certificate=None, routes=(), filters=None, **more):
    kind = f"{EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager"
    routes = [*routes, {"match": {"prefix": "/"}, "route": {"cluster": upstream, "timeout": f"{PATIENCE}s"}}]
    own = [] if settings is None else [http_filter(settings)]
    router = {"@type": f"{EXTENSIONS}.filters.http.router.v3.Router"}
    manager = {
        "@type": kind,
        "stat_prefix": name,
        "codec_type": "AUTO",
        "http_protocol_options": {"enable_trailers": True},
        "upgrade_configs": [{"upgrade_type": "websocket"}],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
        "http_filters": [*own, *(filters or []), {"name": "envoy.filters.http.router", "typed_config": router}],
    }
    if log:
        manager["access_log"] = access_log(log)
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    if certificate:
        chain["transport_socket"] = tls(certificate, ("h2", "http/1.1"))
    return {"name": name, "address": address(0), "filter_chains": [chain], **more}


def bootstrap(listeners, clusters, **more):
    static = {"clusters": clusters, **({"listeners": listeners} if listeners is not None else {})}
    return {"admin": {"address": address(0)}, "static_resources": static, **more}


class Envoy:
    """A running Envoy. As a context manager, it is always killed."""

    def __init__(self, program, module, config, folder, workers=1, arguments=("--disable-hot-restart",), name="envoy"):
        self.folder = Path(folder)
        self.name = name
        self.log = self.folder / f"{name}.log"
        self.admin_file = self.folder / f"{name}.admin"
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(config))
        self.command = [str(program), "-c", str(path), "--concurrency", str(workers), "-l", "info"]
        self.command += ["--admin-address-path", str(self.admin_file), "--log-path", str(self.log)]
        self.command += ["--file-flush-interval-msec", "50", *arguments]
        self.environment = {**os.environ, "ENVOY_DYNAMIC_MODULES_SEARCH_PATH": str(module)}
        self.process = None

    def __enter__(self):
        self.admin_file.unlink(missing_ok=True)
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(self.command, env=self.environment, stdout=quiet, stderr=quiet)
        try:
            deadline = time.monotonic() + 60
            while not self.is_ready():
                if self.process.poll() is not None:
                    raise AssertionError(f"Envoy exited with {self.process.returncode}: {self.errors()}")
                if time.monotonic() > deadline:
                    raise AssertionError(f"Envoy is not ready after a minute: {self.errors()}")
                time.sleep(0.05)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    def is_ready(self):
        if not self.admin_file.exists() or not self.admin_file.read_text():
            return False
        try:
            return self.admin("/ready").startswith("LIVE")
        # A `ValueError` is for an address that is not whole yet.
        except (OSError, ValueError):
            return False

    def admin(self, path, post=False):
        request = urllib.request.Request(f"http://{self.admin_file.read_text()}{path}", method="POST" if post else "GET")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def ports(self):
        """The port of each listener that has one, by its name."""
        listeners = json.loads(self.admin("/listeners?format=json")).get("listener_statuses", [])
        addresses = {one["name"]: one["local_address"].get("socket_address") for one in listeners}
        return {name: address["port_value"] for name, address in addresses.items() if address}

    def stat(self, name):
        """The value of a counter or gauge; 0 if Envoy does not have it."""
        for line in self.admin(f"/stats?filter={name}").splitlines():
            key, _, value = line.partition(": ")
            if key == name or key.endswith(f".{name}"):
                return int(value)
        return 0

    def wait_for_log(self, text):
        """Envoy writes its log from several threads: an entry can be written after the response that it is about."""
        wait(lambda: text in self.log.read_text(errors="replace"))

    def errors(self):
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return " | ".join(line for line in lines if "][error]" in line or "][critical]" in line)[-800:]

    def cpu(self):
        """Nanoseconds of CPU of all threads so far."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)

    def share_core(self):
        """Lets Envoy and the threads of this process run on one core only. If they ran at the same time, Envoy would wait more
        or less often for the others, depending on its own speed, and waiting costs CPU."""
        core = {max(os.sched_getaffinity(0))}
        for pid in (self.process.pid, os.getpid()):
            for task in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setaffinity(int(task.name), core)

    def resident(self):
        """Bytes of memory of the process."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def certificate(folder):
    """A certificate for tests, signed by itself. Returns its path without `.pem` and `.key`."""
    path = Path(folder) / "certificate"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "1", "-subj", "/CN=localhost", "-keyout", f"{path}.key", "-out", f"{path}.pem"]
    subprocess.run(command, check=True, capture_output=True)
    return path


def wait(condition, timeout=PATIENCE):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "nothing changed in time"
        time.sleep(0.05)


def free_port():
    """A port for a program that cannot report the one it chose. If possible, it is below the range from which the system
    takes ports for clients, so no other connection takes it before the program does, and a client cannot connect to
    itself."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    last = first if first > 2048 else 65_536
    for _ in range(1000):
        port = random.randrange(max(1024, last - 20_000), last)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise AssertionError("no port is free")


def folder():
    return tempfile.TemporaryDirectory(prefix="utf8-codec-engines-")
