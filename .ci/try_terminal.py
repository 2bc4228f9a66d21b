"""Runs README's commands under a pseudo-terminal, as a person does: `try_terminal.py PROGRAM...`.

A test has pipes, and a program that asks whether it talks to a terminal behaves differently there.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time

SGR = "\x1b["


def start(command, **environment):
    """The command in a terminal of its own: `script` makes one and copies what the command writes to its stdout."""
    environment = {**os.environ, "TERM": "xterm-256color", **environment}
    return subprocess.Popen(
        ["script", "-qefc", command, "/dev/null"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True,
    )


def talk(address, request):
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while chunk := client.recv(4096):
                answer += chunk
        except ConnectionResetError:
            pass
        return answer


def run(command, **environment):
    """Starts a server, talks to it, ends it with Ctrl-C's signal. All that its terminal showed."""
    terminal = start(f"{command} --listen 127.0.0.1:0", **environment)
    try:
        before = []
        for first in terminal.stdout:
            if first.startswith("listening on "):
                break
            before.append(first)
        # Only cargo may write anything before.
        assert not before or command.startswith("cargo"), (command, before)
        assert "panicked" not in "".join(before), (command, before)
        host, port = first.split()[-1].rsplit(":", 1)
        assert talk((host, int(port)), "hé\n".encode()).decode() == "line 1: 2 characters: hé\n", command
        talk((host, int(port)), b"good\n\xff\n")
        time.sleep(0.3)
        children = subprocess.run(["pgrep", "-P", str(terminal.pid)], capture_output=True, text=True).stdout.split()
        for child in children:
            os.kill(int(child), signal.SIGINT)
        shown, _ = terminal.communicate(timeout=20)
        assert terminal.returncode == 0, (command, terminal.returncode, shown)
    finally:
        if terminal.poll() is None:
            os.killpg(terminal.pid, signal.SIGKILL)
    for complaint in ("panicked", "not compiled", "feature", "tracing-subscriber"):
        assert complaint not in shown, (command, shown)
    assert "ill-formed UTF-8 at byte 5 (InvalidLead, 1 byte)" in shown, (command, shown)
    return shown


program = " ".join(sys.argv[1:])
for subcommand in ("proxy", "serve"):
    shown = run(f"{program} {subcommand}")
    assert SGR in shown, f"{subcommand}: a terminal gets colors"
    assert SGR not in run(f"{program} {subcommand}", NO_COLOR="1"), f"{subcommand}: NO_COLOR"
    shown = run(f"{program} {subcommand} --log json")
    assert SGR not in shown, f"{subcommand}: JSON has no colors"
    lines = [line for line in shown.splitlines() if line.strip()]
    assert all(re.fullmatch(r"\{.*\}", line.strip()) for line in lines), (subcommand, lines)
print("proxy and serve run on a terminal")
