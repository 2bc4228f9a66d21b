#!/usr/bin/env python3
"""Draws docs/check.svg from the real output of `utf8-codec check`: `screenshot.py PROGRAM [--check]`.

With --check it only compares, and fails if the file is not what the program prints now.
"""

import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

IMAGE = Path(__file__).resolve().parents[4] / "docs" / "check.svg"
FILES = {
    "login.js": 'if (level != "user\u202e") { // only for administrators\n'.encode(),
    "menu.html": "<p>The cafÃ© is open until nine.</p>\n".encode(),
    "notes.md": "The log ends here: naï".encode()[:-1],
    "page.html": "<meta charset=iso-8859-1>\n<p>Le problème</p>\n".encode("latin-1"),
}
COMMAND = ["check", "--rule", "bidi", "--rule", "mojibake"]
# The colors of the program, as SGR parameters.
STYLES = {"1;31": "e b", "1;32": "o b", "1;33": "w b", "1": "b", "31": "e", "32": "o", "33": "w", "34": "l", "36": "l"}
CSS = (
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d6deeb}"
    ".e{fill:#ff6b6b}.o{fill:#8fd694}.w{fill:#f5c26b}.l{fill:#6cb6ff}.b{font-weight:bold}"
)
WIDTH, HEIGHT, MARGIN = 8.5, 19, 16


def output(program):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in FILES.items():
            Path(folder, name).write_bytes(content)
        environment = {**os.environ, "CLICOLOR_FORCE": "1", "TERM": "xterm-256color"}
        environment.pop("NO_COLOR", None)
        done = subprocess.run([Path(program).resolve(), *COMMAND], cwd=folder, env=environment, capture_output=True)
    assert done.returncode == 1, done
    return (done.stdout + done.stderr).decode().rstrip("\n").split("\n")


def spans(line):
    """Yields the text of a line in pieces of one style. An unknown style is an error, so that none gets lost."""
    style = ""
    for number, piece in enumerate(re.split(r"\x1b\[([\d;]*)m", line)):
        if number % 2:
            style = STYLES[piece] if piece not in ("", "0") else ""
        elif piece:
            yield f'<tspan class="{style}">{escape(piece)}</tspan>' if style else escape(piece)


def draw(lines):
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    width = round(max(map(len, plain)) * WIDTH) + 2 * MARGIN
    height = len(lines) * HEIGHT + 2 * MARGIN
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" xml:space="preserve" role="img">'
    yield "<title>The output of utf8-codec check: errors in four files, each with its line, its bytes and its reason</title>"
    yield f'<style>{CSS}</style><rect width="{width}" height="{height}" rx="8" fill="#10151f"/>'
    for number, line in enumerate(lines, 1):
        if line:
            yield f'<text x="{MARGIN}" y="{MARGIN + number * HEIGHT - 5}">{"".join(spans(line))}</text>'
    yield "</svg>\n"


prompt = f"\x1b[34m$\x1b[0m \x1b[1mutf8-codec {' '.join(COMMAND)}\x1b[0m"
image = "\n".join(draw([prompt, *output(sys.argv[1])]))
if "--check" not in sys.argv:
    IMAGE.write_text(image)
elif IMAGE.read_text() != image:
    sys.exit(f"{IMAGE} is not current: crates/utf8-codec-cli/tests/installed/screenshot.py {sys.argv[1]}")
