"""Writes a log as containerd does: lines are cut after 16 KiB, and records of stdout and stderr alternate. Prints the lines."""

import json, random, sys

SEED, LINES, LIMIT = 54, 300, 16 * 1024
rng = random.Random(SEED)
WORDS = ["hello ", "caf\u00e9 ", "\u65e5\u672c\u8a9e", "\U0001f4a9", "\u0391\u03b8\u03ae\u03bd\u03b1 ", "F ", "stderr P ", ""]


def line():
    size = rng.choice([0, 10, 100, LIMIT - 3, LIMIT, LIMIT + 1, 3 * LIMIT])
    text = b""
    while len(text) < size:
        text += rng.choice(WORDS).encode() * rng.choice([1, 200])
    return text if rng.random() < 0.9 else text + rng.choice([b"\xff", b"\xe2\x82", b"\r"])


def records(text):
    # The parts of a line that has more than the limit, as in the function redirectLogs of containerd.
    while len(text) > LIMIT:
        yield b"P", text[:LIMIT]
        text = text[LIMIT:]
    yield b"F", text


streams, clock = {}, 0
for name in ["stdout", "stderr"]:
    lines = [line() for _ in range(LINES)]
    streams[name] = iter([(text, *record) for text in lines for record in records(text)])
with open(sys.argv[1], "wb") as log:
    while streams:
        name = rng.choice(sorted(streams))
        found = next(streams[name], None)
        if found is None:
            del streams[name]
            continue
        clock += 1
        text, tag, part = found
        log.write(b"2026-11-28T20:00:00.%09dZ %s %s %s\n" % (clock, name.encode(), tag, part))
        if tag == b"F":
            print(json.dumps({"stream": name, "text": text.hex(), "shown": text.decode(errors="replace")}))
