"""A server and a client of WebSocket, for an interpreter that has `websockets`. `websocket_peer.cjs` is the same with `ws`.

usage: websocket_peer.py serve | websocket_peer.py call PORT... | websocket_peer.py receive PORT COUNT

`serve` prints its port, returns each message, and prints the path and the code of each close frame. `call` exchanges messages
through each port, and prints the extensions that were accepted. `receive` connects that many times, with a path each, and prints
the text that it receives and the code of the close frame.
"""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import serve

MESSAGES = ["naïve 网络 \U0001f600 " * 2000, "", bytes(range(256)) * 300, ["frag", "mén", "ts"]]
lock = threading.Lock()


def report(**values):
    with lock:
        print(json.dumps(values), flush=True)


def closed(error):
    return error.rcvd.code if error.rcvd else None


def echo(connection):
    try:
        while True:
            connection.send(connection.recv())
    except ConnectionClosed as error:
        report(path=connection.request.path, code=closed(error))


def call(port):
    with connect(f"ws://127.0.0.1:{port}/call", open_timeout=60) as connection:
        for message in MESSAGES:
            connection.send(message)
            expected = "".join(message) if isinstance(message, list) else message
            assert connection.recv(60) == expected, message[:20]
        assert connection.ping().wait(60)
        report(extensions=[extension.name for extension in connection.protocol.extensions])


def receive(port, number):
    texts = []
    with connect(f"ws://127.0.0.1:{port}/{number}", open_timeout=60) as connection:
        try:
            while True:
                for part in connection.recv_streaming():
                    texts.append(part)
        except ConnectionClosed as error:
            report(text="".join(texts), code=closed(error))


if sys.argv[1] == "serve":
    # The clients of the rows do not respond to pings, and other load may stop them for seconds.
    with serve(echo, "127.0.0.1", 0, open_timeout=60, close_timeout=60, ping_interval=None) as server:
        print(server.socket.getsockname()[1], flush=True)
        server.serve_forever()
elif sys.argv[1] == "call":
    for argument in sys.argv[2:]:
        call(argument)
else:
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda index: receive(sys.argv[2], index), range(int(sys.argv[3]))))
