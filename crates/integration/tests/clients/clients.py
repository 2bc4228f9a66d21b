#!/usr/bin/env python3
"""Runs the example servers with real clients: curl, ws under Node, requests, and websockets. The step `clients` of .ci/run builds
the examples and installs the clients.

    crates/integration/tests/clients/clients.py EXAMPLES NODE_MODULES PYTHON
"""

import contextlib
import os
import subprocess
import sys
import time

import websocket_cases

EXAMPLES, NODE_MODULES, PYTHON = sys.argv[1:]
TIMEOUT = 20


@contextlib.contextmanager
def running(*command):
    """Starts a server. Returns its port."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith("listening on 127.0.0.1:"), line
        yield line.strip().rpartition(":")[2]
    finally:
        process.kill()
        process.wait()


def serving(example, *arguments):
    return running(os.path.join(EXAMPLES, example), "--listen", "127.0.0.1:0", *arguments)


def run(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=TIMEOUT, **options)
    return result.stdout.decode()


def events_with_curl():
    with serving("sse") as port:
        url = f"http://127.0.0.1:{port}/tokens"
        got = run("curl", "--silent", "--show-error", "--fail", "--no-buffer", url)
        assert got.startswith(": connected\n\nevent: token\nid: 1\nretry: 10\ndata: naïve\n\n"), got
        assert "data: \ndata: Straße\n\n" in got and got.endswith("id: 4\nretry: 10\ndata:  日本\n\n"), got
        got = run("curl", "--silent", "--no-buffer", "--header", "Last-Event-ID: 5", url)
        assert got == ": connected\n\nevent: token\nid: 6\nretry: 10\ndata:  end\n\n", got
        got = run("curl", "--silent", "--write-out", "%{http_code}", "--header", "Last-Event-ID: 6", url)
        assert got == "204", got


REQUESTS = """
import json, random, sys, requests
url, random = f'http://127.0.0.1:{sys.argv[1]}/event', random.Random(1)
session = requests.Session()
session.headers['content-type'] = 'application/json'
for text, offset in [
    ({'text': 'na\\xefve \U0001f980'}, None),
    ({'a': 1, 'text': 'x\\ud83d'}, 19),
    ({'text': ['\\ude00\\ud83d']}, 11),
    ({'text': 'a\\0'}, 11),
]:
    body = json.dumps(text).encode()
    for ends in [[], range(len(body)), *(random.choices(range(len(body)), k=3) for _ in range(20))]:
        ends = [0, *sorted({*ends} - {0}), len(body)]
        response = session.post(url, data=(body[start:end] for start, end in zip(ends, ends[1:])))
        if offset is None:
            assert (response.status_code, response.json()) == (200, text), response.text
        else:
            assert (response.status_code, response.json()['offset']) == (400, offset), response.text
"""


def json_with_requests():
    with serving("axum_gateway") as port:
        run(PYTHON, "-c", REQUESTS, port)


WEBSOCKETS = """
import random, sys
from websockets.sync.client import connect
from websockets.exceptions import ConnectionClosed
url = f'ws://127.0.0.1:{sys.argv[1]}/'
with connect(url, max_size=None) as socket:
    assert not socket.protocol.extensions, socket.protocol.extensions
    for text in ['naïve 🦀', '', 'ß' * 100000]:
        socket.send(text)
        assert socket.recv() == text
    cuts = random.Random(1)
    for _ in range(100):
        text = ''.join(cuts.choices('aß€🦀', k=50))
        fragments = [text[i:i + 7] for i in range(0, 50, 7)]
        socket.send(iter(fragments))
        assert socket.ping(b'there?').wait(20)
        assert socket.recv() == text
    socket.send(b'\\xFF' * 70000)
    assert socket.recv() == b'\\xFF' * 70000
with connect(url) as socket:
    socket.send(b'gr\\xFCn', text=True)
    try:
        raise SystemExit(repr(socket.recv()))
    except ConnectionClosed as closed:
        assert closed.rcvd.code == 1007, closed
"""

WS = """
const WebSocket = require('ws');
const [port, extensions, last] = process.argv.slice(1);
const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { perMessageDeflate: { threshold: 0 } });
const texts = ['naïve 🦀', '', 'ß'.repeat(100000)];
const fail = error => { console.error(error); process.exit(1); };
socket.on('error', fail);
socket.on('open', () => {
    if (socket.extensions !== extensions) fail(`extensions: ${socket.extensions}`);
    texts.forEach(text => socket.send(text));
    socket.send('gr', { fin: false });
    socket.ping('there?');
    socket.send('ün', { fin: true });
});
let messages = 0, pongs = 0;
socket.on('pong', payload => pongs += payload.toString() === 'there?');
socket.on('message', (message, isBinary) => {
    const expected = [...texts, 'grün', last][messages++];
    if (isBinary || message.toString() !== expected) fail(`another text: ${message}`);
    if (messages === 5) socket.close(1000);
    if (messages === 4) socket.send(Buffer.from('gr\\xFCn', 'latin1'), { binary: false });
});
socket.on('close', code => console.log(messages, pongs, code));
"""


ECHO = """
const { WebSocketServer } = require('ws');
const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: { threshold: 0 } });
server.on('listening', () => console.log(`listening on 127.0.0.1:${server.address().port}`));
server.on('connection', socket => {
    socket.on('error', () => {});
    socket.on('message', (message, isBinary) => socket.send(message, { binary: isBinary }));
});
"""


def frames_through_the_gateway():
    os.environ["NODE_PATH"] = NODE_MODULES
    with running("node", "--eval", ECHO) as upstream:
        with serving("websocket_gateway", "--upstream", f"127.0.0.1:{upstream}") as port:
            run(PYTHON, "-c", WEBSOCKETS, port)
            got = run("node", "--eval", WS, port, "")
            assert got == "4 1 1007\n", got
            websocket_cases.run(int(port))
        with serving("websocket_gateway", "--upstream", f"127.0.0.1:{upstream}", "--substitute") as port:
            websocket_cases.repaired(int(port))
        inflating = "--upstream", f"127.0.0.1:{upstream}", "--inflate"
        for arguments, last, expected in (((), "", "4 1 1007\n"), (("--substitute",), "gr?n", "5 1 1000\n")):
            with serving("websocket_gateway", *inflating, *arguments) as port:
                got = run("node", "--eval", WS, port, "permessage-deflate", last)
                assert got == expected, got


ATTEMPTS = (
    events_with_curl,
    json_with_requests,
    frames_through_the_gateway,
)
for attempt in ATTEMPTS:
    started = time.monotonic()
    attempt()
    print(f"{attempt.__name__.replace('_', ' ')}: {time.monotonic() - started:.1f} s")
