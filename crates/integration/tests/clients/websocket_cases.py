"""The classes 2 to 7 of Autobahn's test suite, for a gateway before a WebSocket server that echoes: pings and pongs, reserved bits, opcodes,
fragmentation, text, close frames. Each case is sent as a whole, byte by byte, and cut at random.

A case is frames to send, and the frames that must come back. Frames are (first byte of the header, payload).
"""

import base64
import itertools
import os
import random
import socket
import struct

TEXT, BINARY, CLOSE, PING, PONG = 0x81, 0x82, 0x88, 0x89, 0x8A
START, START_BINARY, MORE, LAST = 0x01, 0x02, 0x00, 0x80
COSMOS = "κόσμε".encode()


def encode(first, payload, length=None):
    length = len(payload) if length is None else length
    key = os.urandom(4)
    head = bytes([first, 0x80 | length]) if length < 126 else (
        struct.pack("!BBH", first, 0xFE, length) if length < 1 << 16 else struct.pack("!BBQ", first, 0xFF, length))
    return head + key + bytes(byte ^ key[i % 4] for i, byte in enumerate(payload))


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n").encode())
        self.stream = self.socket.makefile("rb")
        assert self.stream.readline().startswith(b"HTTP/1.1 101 ")
        for line in iter(self.stream.readline, b"\r\n"):
            assert not line.lower().startswith(b"sec-websocket-extensions"), line

    def frame(self):
        """Returns the next frame, or `None` at the end."""
        head = self.stream.read(2)
        if len(head) < 2:
            return None
        length = head[1]
        assert length < 128, "a server does not mask"
        if length > 125:
            size = 2 if length == 126 else 8
            length = int.from_bytes(self.stream.read(size), "big")
        return head[0], self.stream.read(length)

    def message(self):
        """Returns the next message or control frame. The fragments of a message become one frame."""
        frame = self.frame()
        if frame is None or frame[0] & 0x88:
            return frame
        first, payload = frame
        while not first & 0x80:
            more, part = self.frame()
            assert more in (MORE, LAST), more
            first, payload = first | more, payload + part
        return first, payload

    def send(self, data, cuts):
        try:
            while data:
                size = max(cuts(len(data)), 1)
                self.socket.sendall(data[:size])
                data = data[size:]
        except (BrokenPipeError, ConnectionResetError):
            pass  # The server closes as soon as a case fails.


def code(number, reason=b""):
    return struct.pack("!H", number) + reason


BYE = (CLOSE, code(1000))


def cases():
    """Returns name, frames, what comes back, and the code of the close frame that fails the connection."""
    def good(name, *frames, back):
        return name, [*frames, BYE], [*back, BYE], None

    def bad(name, number, *frames, back=()):
        return name, [*frames, (TEXT, b"never read")], list(back), number

    # 2: pings and pongs.
    for payload in (b"", b"Hello", b"\0\xFF\xFE\xFD\xFC\xFB\0\xFF", b"\xFE" * 125):
        yield good("2.1-2.4", (PING, payload), back=[(PONG, payload)])
    yield bad("2.5", 1002, (PING, b"\xFE" * 126))
    yield good("2.7-2.9", (PONG, b""), (PONG, b"unsolicited"), (PING, b"p"), back=[(PONG, b"p")])
    pings = [(PING, b"payload-%d" % i) for i in range(10)]
    yield good("2.10-2.11", *pings, back=[(PONG, payload) for _, payload in pings])
    # 3: reserved bits.
    for bits in range(1, 8):
        yield bad("3.1-3.7", 1002, (TEXT, b"a"), (TEXT | bits << 4, b"b"), back=[(TEXT, b"a")])
        yield bad("3.6", 1002, (BINARY | bits << 4, b"b"))
        yield bad("3.7", 1002, (PING | bits << 4, b"b"))
    # 4: reserved opcodes.
    for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15):
        yield bad("4.1-4.2", 1002, (TEXT, b"a"), (0x80 | opcode, b"b"), (PING, b""), back=[(TEXT, b"a")])
    # 5: fragmentation.
    yield bad("5.1", 1002, (0x09, b"a"), (LAST, b"b"))
    yield bad("5.2", 1002, (0x0A, b"a"), (LAST, b"b"))
    yield good("5.3", (START, b"a"), (LAST, b"b"), back=[(TEXT, b"ab")])
    yield good("5.6", (START, b"a"), (PING, b"p"), (LAST, b"b"), back=[(PONG, b"p"), (TEXT, b"ab")])
    for first in (MORE, LAST):
        yield bad("5.9-5.14", 1002, (first, b"a"), (TEXT, b"b"))
    yield bad("5.15", 1002, (START, b"a"), (LAST, b"b"), (MORE, b"c"), back=[(TEXT, b"ab")])
    yield bad("5.18", 1002, (START, b"a"), (TEXT, b"b"))
    many = [(START, b"a"), (MORE, b"b"), (PING, b"1"), (MORE, b"c"), (MORE, b"d"), (PING, b"2"), (LAST, b"e")]
    yield good("5.19-5.20", *many, back=[(PONG, b"1"), (PONG, b"2"), (TEXT, b"abcde")])
    yield good("5, binary", (START_BINARY, b"\xFF"), (LAST, b"\xC3"), back=[(BINARY, b"\xFF\xC3")])
    # 6: text.
    yield good("6.1.1", (TEXT, b""), back=[(TEXT, b"")])
    yield good("6.1.2", (START, b""), (MORE, b""), (LAST, b""), back=[(TEXT, b"")])
    yield good("6.1.3", (START, b""), (MORE, b"middle"), (LAST, b""), back=[(TEXT, b"middle")])
    text = "Hello-µ@ßöäüàá-UTF-8!!".encode()
    yield good("6.2.1", (TEXT, text), back=[(TEXT, text)])
    yield good("6.2.3", (START, b""), *((MORE, bytes([byte])) for byte in text), (LAST, b""), back=[(TEXT, text)])
    broken = COSMOS + b"\xED\xA0\x80edited"
    yield bad("6.3.1", 1007, (TEXT, broken))
    yield bad("6.3.2", 1007, (START, b""), *((MORE, bytes([byte])) for byte in broken))
    yield bad("6.4.1", 1007, (START, COSMOS), (MORE, b"\xF4\x90\x80\x80"))
    for text in ("\0", "\x7F", "\x80", "\u07FF", "\u0800", "\uD7FF", "\uE000", "\uFFFD", "\uFFFE", "\uFFFF", "\U00010000",
                 "\U0001FFFE", "\U0010FFFF"):
        yield good("6.5-6.9, 6.22-6.23", (TEXT, text.encode()), back=[(TEXT, text.encode())])
    for text in (b"\x80", b"\xBF", b"\x80\xBF", b"\xC0 ", b"\xDF ", b"\xE0 ", b"\xF0 ", b"\xF8 ", b"\xC3", b"\xE0\x80", b"\xEF\xBF",
                 b"\xF7\xBF\xBF", b"\xFE", b"\xFF", b"\xC0\xAF", b"\xE0\x80\xAF", b"\xF0\x80\x80\xAF", b"\xC1\xBF", b"\xE0\x9F\xBF",
                 b"\xC0\x80", b"\xED\xA0\x80", b"\xED\xBF\xBF", b"\xED\xA0\x80\xED\xB0\x80", b"\xF5", b"\xF4\x90\x80\x80"):
        yield bad("6.10-6.21", 1007, (TEXT, text))
    # 7: close frames.
    yield "7.1.1", [(TEXT, b"a"), BYE, (TEXT, b"b"), (PING, b"")], [(TEXT, b"a"), BYE], None
    yield "7.1.5", [(START, b"a"), BYE, (LAST, b"b")], [BYE], None
    yield "7.3.1", [(CLOSE, b"")], [(CLOSE, b"")], None
    yield bad("7.3.2", 1002, (CLOSE, b"a"))
    for payload in (code(1000), code(1000, b"Hello"), code(1000, b"*" * 123)):
        yield "7.3.3-7.3.5", [(CLOSE, payload)], [(CLOSE, payload)], None
    yield bad("7.3.6", 1002, (CLOSE, code(1000, b"*" * 124)))
    yield bad("7.5.1", 1007, (CLOSE, code(1000, COSMOS + b"\xED\xA0\x80edited")))
    for number in (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999):
        yield "7.7", [(CLOSE, code(number))], [(CLOSE, code(number))], None
    for number in (0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65535):
        yield bad("7.9", 1002, (CLOSE, code(number)))


def check(port, case, cuts):
    """A gateway may close the connection before the server has returned what precedes the error."""
    name, frames, back, number = case
    client = Client(port)
    client.send(b"".join(encode(*frame) for frame in frames), cuts)
    try:
        got = list(iter(client.message, None))
    except ConnectionResetError as error:
        raise AssertionError(f"{name}: no close frame") from error
    if number is not None:
        assert got and got[-1][0] == CLOSE and got[-1][1][:2] == code(number), (name, frames, got)
        got.pop()
        back = back[: len(got)]
    assert got == back, (name, frames, got)
    client.socket.close()


def run(port):
    cuts = random.Random(6455)
    ways = (lambda left: left, lambda left: 1, lambda left: cuts.randint(1, min(left, 9)))
    count = 0
    for case, way in itertools.product(cases(), ways):
        check(port, case, way)
        count += 1
    # 6.4.3: the connection fails before the frame is complete.
    client = Client(port)
    client.send(encode(TEXT, COSMOS + b"\xF4\x90", 1 << 20), lambda left: left)
    first, payload = client.message()
    assert (first, payload[:2]) == (CLOSE, code(1007)), payload
    print(f"{count} cases of Autobahn's classes 2 to 7")


def repaired(port):
    """Through a gateway that repairs, ill-formed text comes back with a substitute for each byte."""
    cuts = random.Random(1007)
    for way in (lambda left: left, lambda left: 1, lambda left: cuts.randint(1, min(left, 9))):
        frames = [(START, b"caf\xE9 \xE2"), (PING, b"p"), (MORE, b"\x82"), (LAST, b"x\xF0\x9F")]
        check(port, ("repaired", [*frames, BYE], [(PONG, b"p"), (TEXT, b"caf? ??x??"), BYE], None), way)
