#!/usr/bin/env python3
"""Runs the example servers with real clients: curl, logger of util-linux, vscode-jsonrpc and ws under
Node, paho-mqtt, requests, and websockets. The step `clients` of .ci/run builds the examples and installs the clients.

    .ci/try_clients.py EXAMPLES NODE_MODULES PYTHON
"""

import contextlib
import os
import subprocess
import sys
import threading
import time

import websocket_cases

EXAMPLES, NODE_MODULES, PYTHON = sys.argv[1:]
TIMEOUT = 20


class Server:
    """A server, the port it listens on, and the lines it has printed."""

    def __init__(self, process):
        self.process, self.lines = process, []
        line = process.stdout.readline()
        assert line.startswith("listening on "), line
        self.host, _, self.port = line.removeprefix("listening on ").strip().rpartition(":")
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def wait_for_lines(self, count):
        end = time.monotonic() + TIMEOUT
        while len(self.lines) < count and time.monotonic() < end:
            time.sleep(0.01)
        lines, self.lines = self.lines, []
        assert len(lines) == count, lines
        return lines


@contextlib.contextmanager
def serving(example, *arguments):
    command = [os.path.join(EXAMPLES, example), "--listen", "127.0.0.1:0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    try:
        yield Server(process)
    finally:
        process.kill()
        process.wait()


def run(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=TIMEOUT, **options)
    return result.stdout.decode()


def events_with_curl():
    with serving("sse") as server:
        url = f"http://{server.host}:{server.port}/tokens"
        got = run("curl", "--silent", "--show-error", "--fail", "--no-buffer", url)
        assert got.startswith(": connected\n\nevent: token\nid: 1\nretry: 10\ndata: naïve\n\n"), got
        assert "data: \ndata: Straße\n\n" in got and got.endswith("id: 4\nretry: 10\ndata:  日本\n\n"), got
        got = run("curl", "--silent", "--no-buffer", "--header", "Last-Event-ID: 5", url)
        assert got == ": connected\n\nevent: token\nid: 6\nretry: 10\ndata:  end\n\n", got
        got = run("curl", "--silent", "--write-out", "%{http_code}", "--header", "Last-Event-ID: 6", url)
        assert got == "204", got


def messages_with_logger():
    with serving("syslog_server") as server:
        logger = ["logger", "--tcp", "--server", server.host, "--port", server.port, "--tag", "try", "--rfc3164"]
        # With and without octet counting.
        for options in (["--octet-count"], []):
            run(*logger, *options, "grün 🦀")
            lines = server.wait_for_lines(1)
            assert lines[0].startswith("message: <13>") and lines[0].endswith("try: grün 🦀"), lines
        # Two messages of one connection, one of them ill-formed.
        run(*logger, "--octet-count", input=b"gr\xFCn\nrot\n")
        lines = server.wait_for_lines(2)
        assert lines[0].startswith("error: frame 0: ill-formed UTF-8 at byte "), lines
        assert lines[1].endswith("try: rot"), lines


VSCODE = """
const net = require('net');
const rpc = require('vscode-jsonrpc/node');
const socket = net.connect(Number(process.argv[1]), '127.0.0.1', async () => {
    const connection = rpc.createMessageConnection(
        new rpc.SocketMessageReader(socket), new rpc.SocketMessageWriter(socket));
    connection.listen();
    const texts = ['naïve 🦀', 'x'.repeat(100000) + 'ß', ''];
    const answers = await Promise.all(texts.map(text => connection.sendRequest('count', { text })));
    answers.forEach((answer, i) => {
        if (answer.text !== texts[i]) throw new Error('another text');
    });
    console.log(answers.map(answer => answer.characters).join(' '));
    try {
        await connection.sendRequest('other');
    } catch (error) {
        console.log(error.code);
    }
    connection.dispose();
    socket.end();
});
"""


def requests_with_vscode_jsonrpc():
    with serving("language_server") as server:
        environment = os.environ | {"NODE_PATH": NODE_MODULES}
        got = run("node", "--eval", VSCODE, server.port, env=environment)
        assert got == "7 100001 0\n-32601\n", got


PAHO = """
import sys, paho.mqtt.client as mqtt
got = []
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv311)
client.on_connect = lambda client, *_: client.subscribe('straße')
client.on_subscribe = lambda client, *_: client.publish('straße', 'naïve 🦀')
def on_message(client, _, message):
    got.append((message.topic, message.payload.decode()))
    client.publish('straße', b'\\xFF')
client.on_message = on_message
client.on_disconnect = lambda client, *_: client.loop_stop()
client.connect('127.0.0.1', int(sys.argv[1]))
while client.loop(1) == mqtt.MQTT_ERR_SUCCESS:
    pass
assert got == [('straße', 'naïve 🦀')], got
"""


def messages_with_paho():
    with serving("mqtt_broker") as server:
        run(PYTHON, "-c", PAHO, server.port)
        assert server.wait_for_lines(4) == [
            "connected: MQTT",
            "subscribed: straße",
            "message: straße: naïve 🦀",
            "closed: ill-formed UTF-8 at byte 0 (InvalidLead, 1 byte)",
        ]


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
    with serving("axum_gateway") as server:
        run(PYTHON, "-c", REQUESTS, server.port)


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
const socket = new WebSocket(`ws://127.0.0.1:${process.argv[1]}/`);
const texts = ['naïve 🦀', '', 'ß'.repeat(100000)];
const fail = error => { console.error(error); process.exit(1); };
socket.on('error', fail);
socket.on('open', () => {
    if (socket.extensions) fail(`extensions: ${socket.extensions}`);
    texts.forEach(text => socket.send(text));
    socket.send('gr', { fin: false });
    socket.ping('there?');
    socket.send('ün', { fin: true });
});
let messages = 0, pongs = 0;
socket.on('pong', payload => pongs += payload.toString() === 'there?');
socket.on('message', (message, isBinary) => {
    const expected = [...texts, 'grün'][messages++];
    if (isBinary || message.toString() !== expected) fail(`another text: ${message}`);
    if (messages === 4) socket.send(Buffer.from('gr\\xFCn', 'latin1'), { binary: false });
});
socket.on('close', code => console.log(messages, pongs, code));
"""


def try_websockets(port, is_direct):
    run(PYTHON, "-c", WEBSOCKETS, port)
    environment = os.environ | {"NODE_PATH": NODE_MODULES}
    got = run("node", "--eval", WS, port, env=environment)
    assert got == "4 1 1007\n", got
    websocket_cases.run(int(port), is_direct)


def frames_of_websockets():
    with serving("websocket_text") as server:
        try_websockets(server.port, is_direct=True)


def frames_through_the_gateway():
    with serving("websocket_text") as server:
        upstream = f"{server.host}:{server.port}"
        with serving("websocket_gateway", "--upstream", upstream) as gateway:
            try_websockets(gateway.port, is_direct=False)
        with serving("websocket_gateway", "--upstream", upstream, "--substitute") as gateway:
            websocket_cases.repaired(int(gateway.port))


ATTEMPTS = (
    events_with_curl,
    messages_with_logger,
    requests_with_vscode_jsonrpc,
    messages_with_paho,
    json_with_requests,
    frames_of_websockets,
    frames_through_the_gateway,
)
for attempt in ATTEMPTS:
    started = time.monotonic()
    attempt()
    print(f"{attempt.__name__.replace('_', ' ')}: {time.monotonic() - started:.1f} s")
