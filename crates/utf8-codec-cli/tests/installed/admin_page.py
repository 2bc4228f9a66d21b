"""Opens the admin page of a proxy in headless Chromium, and compares its content with the events.

The browser opens the page through a small HTTP proxy, which causes events between two requests of the page. If
the page shows them, it updates itself correctly.
"""

import atexit
import http.client
import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


admin_port = free_port()
proxy = subprocess.Popen(
    [*sys.argv[1:], "proxy", "--listen", "127.0.0.1:0", "--admin", f"127.0.0.1:{admin_port}", "--linger", "0.1",
     "--grace", "100"],
    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
)
atexit.register(proxy.kill)
host, port = proxy.stdout.readline().split()[-1].rsplit(":", 1)


def talk(payload):
    """Sends bytes and reads to the end."""
    with socket.create_connection((host, int(port)), timeout=20) as client:
        client.sendall(payload)
        client.shutdown(socket.SHUT_WR)
        try:
            while client.recv(4096):
                pass
        except ConnectionResetError:
            pass


def open_connection():
    """Opens a connection and keeps it open, so that the proxy drains."""
    client = socket.create_connection((host, int(port)), timeout=20)
    client.sendall(b"open\n")
    client.recv(100)
    return client


events = {}
requests_of_metrics = 0


class Between(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        global requests_of_metrics
        if self.path == "/metrics":
            requests_of_metrics += 1
            events.get(requests_of_metrics, lambda: None)()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", admin_port, timeout=20)
            connection.request("GET", self.path)
            response = connection.getresponse()
            body = response.read()
        except OSError:
            # The proxy has ended, so the connection of the browser is closed.
            self.close_connection = True
            return
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("content-length", "date"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


between = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between)
threading.Thread(target=between.serve_forever, daemon=True).start()
chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))


def page():
    """Returns the document as HTML after some seconds of virtual time."""
    global requests_of_metrics
    requests_of_metrics = 0
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--disable-gpu", f"--user-data-dir={profile}", "--virtual-time-budget=8000", "--dump-dom"]
        if os.getuid() == 0:
            flags.append("--no-sandbox")
        address = f"http://127.0.0.1:{between.server_port}/"
        browser = subprocess.run([chromium, *flags, address], capture_output=True, text=True, timeout=120)
    assert browser.returncode == 0, browser.stderr[-2000:]
    return browser.stdout


def state(html):
    return re.search(r'<p id="state">(.*?)</p>', html)[1]


def counters(html):
    """Returns the numbers by their group and their words."""
    table = re.search(r'<table id="counters">(.*?)</table>', html, re.S)[1]
    numbers = {}
    for group in re.findall(r"<tbody>(.*?)</tbody>", table, re.S):
        title = re.search(r"<th.*?>(.*?)</th>", group)[1]
        for words, number in re.findall(r"<tr><td>(.*?)</td><td class=\"number\">(.*?)</td></tr>", group):
            numbers[title, words] = float(number)
    return numbers


def rejections(html):
    table = re.search(r'<tbody id="rejections">(.*?)</tbody>', html, re.S)[1]
    return [re.findall(r"<td.*?>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]


# A page without events.
html = page()
assert state(html) == "ready", state(html)
numbers = counters(html)
assert numbers["Connections", "open now"] == 0, numbers
assert numbers["Connections", "ended, rejected"] == 0, numbers
assert {title for title, _ in numbers} == {"Connections", "Traffic", "Ill-formed text", "Log"}, numbers
assert rejections(html) == [], rejections(html)

# The same page while connections come and go, and while the proxy is drained.
opened = []
events[2] = lambda: (talk(b"good\n"), talk(b"<b>secret</b>\n\xed\xa0\x80"), opened.append(open_connection()))
events[4] = lambda: proxy.send_signal(signal.SIGTERM)
html = page()
assert requests_of_metrics >= 5, f"{requests_of_metrics} updates"
assert state(html) == "draining", state(html)
numbers = counters(html)
assert numbers["Connections", "open now"] == 1, numbers
assert numbers["Connections", "ended, closed"] == 1, numbers
assert numbers["Connections", "ended, rejected"] == 1, numbers
assert numbers["Ill-formed text", "sequences, requests, Surrogate"] == 1, numbers
[row] = rejections(html)
assert (row[3:]) == ["requests", "14", "Surrogate", "1"], row
assert "secret" not in html

# The page when the proxy ends while the page is open.
events.clear()
events[2] = lambda: (opened[0].close(), proxy.wait(20))
assert proxy.poll() is None
html = page()
assert state(html) == "no answer", state(html)
assert proxy.returncode == 0
print("the admin page shows what happened")
