"""Runs the proxy command of the README and sends it a character split by a pause, which must be returned whole."""

import atexit
import json
import signal
import socket
import subprocess
import sys
import time


def start(*flags):
    proxy = subprocess.Popen([*sys.argv[1:], *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # The server is always stopped, even if a check fails.
    atexit.register(proxy.kill)
    first = proxy.stdout.readline()
    assert first.startswith("listening on "), first
    host, port = first.split()[-1].rsplit(":", 1)
    return proxy, (host, int(port))


def talk(address, *writes):
    with socket.create_connection(address, timeout=10) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for bytes in writes:
            client.sendall(bytes)
            time.sleep(0.2)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while chunk := client.recv(4096):
                answer += chunk
        except ConnectionResetError:
            return answer, "reset"
        return answer, "end"


def stop(proxy):
    proxy.send_signal(signal.SIGTERM)
    _, logs = proxy.communicate(timeout=20)
    assert proxy.returncode == 0, proxy.returncode
    return logs


proxy, address = start()
answer = talk(address, b"\x68\xc3", b"\xa9\x0a")
assert answer == ("line 1: 2 characters: hé\n".encode(), "end"), answer
stop(proxy)

proxy, address = start("--listen", "127.0.0.1:0", "--log", "json")
assert talk(address, b"good\n\xff\nlost\n") == (b"line 1: 4 characters: good\n", "reset")
reports = [json.loads(line) for line in stop(proxy).splitlines() if line.startswith("{")]
report = next(report for report in reports if "kind" in report)
assert (report["direction"], report["offset"], report["kind"], report["len"]) == ("requests", 5, "InvalidLead", 1), report

proxy, address = start("--listen", "127.0.0.1:0", "--on-error", "replace")
assert talk(address, b"a\xffb\n") == ("line 1: 3 characters: a\ufffdb\n".encode(), "end")
stop(proxy)
print("the proxy does what README.md says")
