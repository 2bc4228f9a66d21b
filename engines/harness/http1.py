"""HTTP/1.1 by hand, so that every byte and every cut is under control: a reader of messages, and an upstream."""

import contextlib
import socket
import threading
import time
from dataclasses import dataclass, field

from .envoy import PATIENCE
from .upstream import Server


@dataclass
class Message:
    start: str = ""
    headers: list = field(default_factory=list)
    body: bytes = b""
    trailers: list = field(default_factory=list)
    # Whether the message was received to its end.
    complete: bool = False

    def header(self, name):
        return next((value for key, value in self.headers if key == name), None)

    @property
    def status(self):
        return int(self.start.split()[1])


class Reader:
    def __init__(self, connection):
        self.connection = connection
        self.buffer = b""

    def more(self):
        data = self.connection.recv(1 << 16)
        if not data:
            raise EOFError
        self.buffer += data

    def line(self):
        while b"\r\n" not in self.buffer:
            self.more()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def exactly(self, count):
        while len(self.buffer) < count:
            self.more()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def fields(self):
        fields = []
        while line := self.line():
            name, _, value = line.partition(b":")
            fields.append((name.decode().lower(), value.strip().decode("latin-1")))
        return fields

    def message(self, is_response=False, has_body=True):
        """The next message, or what there is of it; None at the end of the connection."""
        message = Message()
        try:
            message.start = self.line().decode("latin-1")
            message.headers = self.fields()
            if message.header("transfer-encoding") == "chunked":
                while size := int(self.line(), 16):
                    self.part(message, size)
                    self.exactly(2)
                message.trailers = self.fields()
            elif length := message.header("content-length"):
                if has_body:
                    self.part(message, int(length))
            elif is_response and message.status >= 200 and message.status != 204 and has_body:
                with contextlib.suppress(EOFError):
                    while True:
                        self.part(message, 1)
            message.complete = True
        except (EOFError, OSError):
            return message if message.start else None
        return message

    def part(self, message, size):
        """Reads `size` bytes of a body. Keeps those before the end of the connection."""
        while size:
            if not self.buffer:
                self.more()
            data, self.buffer = self.buffer[:size], self.buffer[size:]
            message.body += data
            size -= len(data)


class Upstream(Server):
    """Records requests under their `x-number`, and answers with what is registered for it, or with the request's body."""

    def __init__(self):
        self.requests = {}
        self.answers = {}
        self.changed = threading.Condition()
        super().__init__(self.talk)

    def talk(self, connection):
        reader = Reader(connection)
        while request := reader.message():
            number = request.header("x-number")
            with self.changed:
                self.requests[number] = request
                self.changed.notify_all()
            if not request.complete:
                return
            if request.header("upgrade"):
                head = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
                # Text, so the response would be checked if the filter did not detect the tunnel.
                connection.sendall(head + b"content-type: text/plain\r\n\r\n")
                while data := reader.buffer or connection.recv(1 << 16):
                    reader.buffer = b""
                    connection.sendall(data)
                return
            for piece in self.answers.pop(number, None) or [answer(request.body)]:
                connection.sendall(piece)
                time.sleep(0.002)

    def take(self, number, timeout=PATIENCE):
        with self.changed:
            arrived = self.changed.wait_for(lambda: str(number) in self.requests, timeout)
            assert arrived, "no request reached the upstream"
            return self.requests.pop(str(number))


def answer(body, status="200 OK", content_type="text/plain", fields=""):
    head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n{fields}\r\n"
    return head.encode("latin-1") + body


def chunked(pieces, trailers=b""):
    """The pieces of a chunked body, each in a chunk of its own."""
    for piece in pieces:
        if piece:
            yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n" + trailers + b"\r\n"


def chunked_answer(pieces, trailers=b"", content_type="text/plain"):
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head.encode(), *chunked(pieces, trailers)]


def exchange(port, pieces, pause=0.0, has_body=True, wrap=lambda connection: connection):
    """Sends the pieces of a request. Returns the response, or None."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain, wrap(plain) as connection:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):
            for piece in pieces:
                connection.sendall(piece)
                if pause:
                    time.sleep(pause)
        return Reader(connection).message(is_response=True, has_body=has_body)
