"""Upstreams: servers that record what arrives, on threads."""

import contextlib
import socket
import threading
import time

from .envoy import PATIENCE


class Server:
    """A TCP server on loopback. `serve` is called for each connection on a thread of its own."""

    def __init__(self, serve, receive_buffer=0):
        self.serve = serve
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(1024)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.settimeout(2 * PATIENCE)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.run, args=(connection,), daemon=True).start()

    def run(self, connection):
        with connection, contextlib.suppress(OSError):
            self.serve(connection)

    def close(self):
        self.listener.close()


class Recorder(Server):
    """Reads to the end, and records what was read under the number in the first line: `#17\\n`."""

    def __init__(self, delay=0.0, receive_buffer=0):
        self.delay = delay
        self.received = {}
        self.ended = threading.Condition()
        super().__init__(self.record, receive_buffer)

    def record(self, connection):
        time.sleep(self.delay)
        parts = []
        end = "reset"
        try:
            while data := connection.recv(1 << 16):
                parts.append(data)
                if self.delay:
                    time.sleep(self.delay / 100)
            end = "end"
        except OSError:
            pass
        number, _, text = b"".join(parts).partition(b"\n")
        with self.ended:
            self.received[number] = (text, end)
            self.ended.notify_all()

    def take(self, number, timeout=PATIENCE):
        """The text after the first line, and how it ended."""
        number = b"#%d" % number
        with self.ended:
            arrived = self.ended.wait_for(lambda: number in self.received, timeout)
            assert arrived, "the upstream did not see the end"
            return self.received.pop(number)


def echo(connection):
    """Sends back what arrives."""
    while data := connection.recv(1 << 16):
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


class Script(Server):
    """Reads a line with a number and sends the pieces that are registered under it."""

    def __init__(self):
        self.pieces = {}
        super().__init__(self.play)

    def play(self, connection):
        line = b""
        while not line.endswith(b"\n"):
            data = connection.recv(1)
            if not data:
                return
            line += data
        for piece in self.pieces.pop(int(line)):
            connection.sendall(piece)
            if len(piece) < 64:
                time.sleep(0.003)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass
