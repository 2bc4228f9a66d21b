"""An nginx with the module: its configuration, its process, and fixtures with the interface of those of Envoy."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from . import envoy as e
from . import programs
from .http import Http
from .http1 import Upstream
from .log import Verdicts
from .tcp import Tcp
from .upstream import Recorder, Script, Server, echo

VERDICT = """log_format verdict escape=json '{"verdict":"$utf8_verdict","direction":"$utf8_direction","kind":"$utf8_kind",'
'"offset":"$utf8_offset","len":"$utf8_len"}';"""
MODULES = Path("/usr/lib/nginx/modules")


def directives(settings):
    """Settings of the other engines, as directives."""
    lines = []
    for key, value in {"action": "enforce", **settings}.items():
        if key == "protobuf":
            value = f"'{json.dumps(value)}'"
        if key == "action":
            key, value = "validate", {"enforce": "on"}.get(value, value)
        if key == "content_types":
            key, value = "types", " ".join(value)
        value = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
        lines.append(f"utf8_{key} {value};")
    return "".join(lines)


def location(settings, port, path="/", more=""):
    """A location that passes requests to the server on a port, or to an upstream group."""
    checks = "" if settings is None else directives(settings)
    host = f"127.0.0.1:{port}" if isinstance(port, int) else port
    forward = f"proxy_http_version 1.1; proxy_read_timeout {e.PATIENCE}s; proxy_pass http://{host};"
    upgrade = "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $http_connection;"
    return f"location {path} {{ {checks} {upgrade} {more} {forward} }}\n"


def server(port, *locations, options="", more=""):
    return f"server {{ listen 127.0.0.1:{port}{options}; {more}\n{''.join(locations)} }}\n"


def stream_server(port, settings, upstream, options="", more=""):
    checks = "" if settings is None else directives(settings)
    return f"server {{ listen 127.0.0.1:{port}{options}; {checks} {more} proxy_pass 127.0.0.1:{upstream}; }}\n"


class Nginx:
    """A running nginx. As a context manager, it is always killed."""

    def __init__(self, program, module, folder, http="", stream="", workers=1, name="nginx", ports=None):
        self.program, self.folder = str(program), Path(folder)
        self.log = self.folder / f"{name}.log"
        self.path = self.folder / f"{name}.conf"
        self.pid = self.folder / f"{name}.pid"
        self.module = module
        self.count = workers
        self.names = ports or {}
        self.process = None
        self.configure(http, stream)

    def configure(self, http="", stream=""):
        temporary = "".join(
            f"{name}_temp_path {self.folder}/temp;" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;" if os.geteuid() == 0 else ""
        config = [
            f"load_module {MODULES}/ngx_stream_module.so; load_module {self.module};",
            f"{user} daemon off; pid {self.pid}; error_log {self.log} info; worker_processes {self.count};",
            "worker_rlimit_nofile 8192; events { worker_connections 4096; }",
            f"http {{ access_log off; {temporary} server_names_hash_bucket_size 128; {VERDICT}\n{http} }}" if http else "",
            f"stream {{ {VERDICT} proxy_half_close on; proxy_timeout {e.PATIENCE}s;\n{stream} }}" if stream else "",
        ]
        self.path.write_text("\n".join(config))

    def test(self):
        """What nginx says about its configuration."""
        done = subprocess.run([self.program, "-t", "-c", str(self.path)], capture_output=True, text=True, timeout=e.PATIENCE)
        return done.returncode, done.stderr

    def __enter__(self):
        quiet = subprocess.DEVNULL
        self.pid.unlink(missing_ok=True)
        self.process = subprocess.Popen([self.program, "-c", str(self.path)], stdout=quiet, stderr=subprocess.PIPE)
        try:
            # It is written when all ports are open.
            e.wait(lambda: self.pid.exists() and self.workers() or self.process.poll() is not None)
            if self.process.poll() is not None:
                raise AssertionError(f"nginx exited: {self.process.stderr.read().decode()}")
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
                for worker in self.workers():
                    os.kill(worker, signal.SIGKILL)
                self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def workers(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    def ports(self):
        return self.names

    def share_core(self):
        """As for Envoy."""
        core = {max(os.sched_getaffinity(0))}
        for pid in (*self.workers(), os.getpid()):
            for task in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setaffinity(int(task.name), core)

    def reload(self):
        """Reloads the configuration. Returns when no worker is an old one."""
        old = set(self.workers())
        self.process.send_signal(signal.SIGHUP)
        e.wait(lambda: len(set(self.workers()) - old) >= 1)
        return old

    def errors(self):
        """Lines of the log that are no information about clients and servers."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return [line for line in lines if re.search(r"\[(alert|emerg|crit)\]", line)]

    def cpu(self):
        """Nanoseconds of CPU of the workers so far."""
        return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in self.workers())

    def resident(self):
        """Bytes of private memory of the workers."""
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.workers())
        return pages * os.sysconf("SC_PAGE_SIZE")


class NginxHttp(Http):
    """One nginx with a server for each configuration of the HTTP rows of Envoy. It has no server over HTTP/2."""

    keeps_chunks = False

    def __init__(self, program, module, folder):
        self.folder = folder
        self.program, self.module = program, module
        self.upstream = Upstream()
        log = f"{folder}/http-access.json"
        self.verdicts = Verdicts(log)
        self.has_struct_routes = False
        certificate = e.certificate(folder)
        logged = f"access_log {log} verdict if=$utf8_verdict;"
        unbuffered = "proxy_request_buffering off; proxy_buffering off;"
        buffered = {"mode": "buffered"}
        port = self.upstream.port
        routes = [
            location({"direction": "response"}, port, "/open"),
            location({"on_error": "replace"}, port, "/repaired"),
        ]
        servers = {
            "streaming": ({}, {"more": logged, "options": " http2"}, unbuffered, routes),
            "buffered": (buffered, {"more": logged}, unbuffered, []),
            "buffered-small": (buffered, {"more": "client_max_body_size 8k;"}, "", []),
            "replace": ({"on_error": "replace"}, {}, unbuffered, []),
            "replace-buffered": ({**buffered, "on_error": "replace"}, {}, "", []),
            "report": ({"action": "report", "headers": "both"}, {"more": logged}, "", []),
            "tls": ({}, {"options": " ssl http2", "more": tls(certificate)}, "", []),
            "http2": ({}, {"options": " http2"}, unbuffered, []),
            "http2-buffered": (buffered, {"options": " http2"}, "", []),
            "strict-types": ({"content_types": ["image/*"], "missing_content_type": "reject"}, {}, "", []),
            "all-fields": ({"headers": "both", "trailers": "both"}, {}, "", []),
            "charset": ({"missing_charset": "reject", "form_data": True, "direction": "request"}, {}, "", []),
            # The defaults of nginx: a body is read before it is sent, here in part to a file.
            "default": ({}, {"more": "client_body_buffer_size 1k;"}, "proxy_buffers 4 4k; proxy_busy_buffers_size 8k;", []),
        }
        self.ports = {name: e.free_port() for name in servers}
        # A request to a server over HTTP/2 without TLS needs a port of its own in nginx 1.22.
        self.ports["streaming-http2"] = e.free_port()
        config = []
        for name, (settings, options, more, others) in servers.items():
            if name == "streaming":
                options = {**options, "options": ""}
                http2 = {"options": " http2", "more": logged}
                config.append(server(self.ports["streaming-http2"], location({}, port, more=unbuffered), **http2))
            config.append(server(self.ports[name], location(settings, port, more=more), *others, **options))
        for name in ("buffered", "replace"):
            self.ports[f"{name}-http2"] = e.free_port()
            settings, _, more, _ = servers[name]
            options = {"options": " http2", "more": logged}
            config.append(server(self.ports[f"{name}-http2"], location(settings, port, more=more), **options))
        self.nginx = Nginx(program, module, folder, http="".join(config), workers=4, name="http")

    def curl(self, listener, body, *arguments, **more):
        listener = f"{listener}-http2" if f"{listener}-http2" in self.ports else listener
        return super().curl(listener, body, *arguments, **more)

    def __enter__(self):
        self.nginx.__enter__()
        return self

    def __exit__(self, *_):
        self.nginx.stop()


class NginxTcp(Tcp):
    """One nginx with a server of `stream` for each configuration of the TCP rows of Envoy."""

    def __init__(self, program, module, folder):
        self.recorder = Recorder()
        self.slow = Recorder(delay=0.5, receive_buffer=4096)
        self.script = Script()
        self.echo = Server(echo)
        log = f"{folder}/tcp-access.json"
        self.verdicts = Verdicts(log)
        certificate = e.certificate(folder)
        logged = f"access_log {log} verdict if=$utf8_verdict;"
        strict, replace = {"on_error": "strict"}, {"on_error": "replace"}
        servers = {
            "strict": (strict, self.recorder, logged),
            "bytes": ({"forward": "bytes"}, self.recorder, logged),
            "bytes-echo": ({"forward": "bytes"}, self.echo, "proxy_buffer_size 32k;"),
            "replace": (replace, self.recorder, ""),
            "report": ({"action": "report"}, self.recorder, logged),
            "ascii": ({"subset": "ascii"}, self.recorder, logged),
            "slow": (strict, self.slow, ""),
            "answers": (strict, self.script, logged),
            "answers-replace": (replace, self.script, ""),
            "requests-only": ({"direction": "request"}, self.script, ""),
            "tls": (strict, self.recorder, logged + tls(certificate)),
            "echo": ({}, self.echo, ""),
            "echo-replace": (replace, self.echo, ""),
            "small": (strict, self.recorder, "proxy_buffer_size 1k;"),
            "edge": (strict, self.recorder, "proxy_buffer_size 32k;"),
            "edge-echo": (strict, self.echo, "proxy_buffer_size 32k;"),
        }
        self.ports = {name: e.free_port() for name in servers}
        config = [
            stream_server(self.ports[name], settings, upstream.port, " ssl" if name == "tls" else "", more)
            for name, (settings, upstream, more) in servers.items()
        ]
        self.nginx = Nginx(program, module, folder, stream="".join(config), workers=4, name="tcp")

    def __enter__(self):
        self.nginx.__enter__()
        return self

    def __exit__(self, *_):
        self.nginx.stop()


def tls(certificate):
    return f"ssl_certificate {certificate}.pem; ssl_certificate_key {certificate}.key;"


def available():
    """The program and the module, which is built."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not program:
        raise programs.Unavailable("nginx is not installed")
    return program, programs.nginx_module()
