"""Runs the commands of the README on a pseudoterminal: `terminal.py PROGRAM...`.

Other tests use pipes, and a program may behave differently if it detects a terminal.
"""

import os
import pty
import re
import select
import shlex
import signal
import socket
import sys
import time

SGR = "\x1b["
CTRL_C = b"\x03"
ERROR = "ill-formed UTF-8 at byte 5 (InvalidLead, 1 byte)"


class Terminal:
    """A command in the foreground of its own pseudoterminal."""

    def __init__(self, command, **environment):
        environment = {**os.environ, "TERM": "xterm-256color", **environment}
        self.shown = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            try:
                os.execvpe(command[0], command, environment)
            finally:
                os._exit(127)

    def read(self, deadline):
        """Appends the output of the command to `shown`. Returns False when the command has closed the terminal."""
        ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, ("the command neither wrote nor ended in time", self.shown.decode())
        try:
            chunk = os.read(self.master, 65536)
        except OSError:  # EIO: no process has the terminal open.
            return False
        self.shown += chunk
        return bool(chunk)

    def line(self, start, seconds):
        """Returns the first line that starts with `start`, and all lines before it."""
        deadline = time.monotonic() + seconds
        while True:
            lines = self.shown.decode().splitlines(keepends=True)
            for number, line in enumerate(lines):
                if line.startswith(start) and line.endswith("\n"):
                    return line, lines[:number]
            assert self.read(deadline), self.shown.decode()

    def wait_for(self, text, seconds):
        deadline = time.monotonic() + seconds
        while text not in self.shown.decode():
            assert self.read(deadline), self.shown.decode()

    def interrupt(self, seconds):
        """Presses Ctrl-C and waits for the end. Returns the exit status."""
        os.write(self.master, CTRL_C)
        deadline = time.monotonic() + seconds
        while self.read(deadline):
            pass
        _, status = os.waitpid(self.pid, 0)
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def close(self):
        if self.pid is not None:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)


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
    """Starts a server, sends it a request, ends it with Ctrl-C. Returns its terminal output after the address."""
    terminal = Terminal([*shlex.split(command), "--listen", "127.0.0.1:0"], **environment)
    try:
        first, before = terminal.line("listening on ", seconds=600)
        # Only cargo may write output before that line.
        assert not before or command.startswith("cargo"), (command, before)
        assert "panicked" not in "".join(before), (command, before)
        host, port = first.split()[-1].rsplit(":", 1)
        assert talk((host, int(port)), "hé\n".encode()).decode() == "line 1: 2 characters: hé\n", command
        talk((host, int(port)), b"good\n\xff\n")
        terminal.wait_for(ERROR, seconds=20)
        status = terminal.interrupt(seconds=20)
        shown = terminal.shown.decode().split(first, 1)[1].replace("^C", "")
        assert status == 0, (command, status, shown)
    finally:
        terminal.close()
    for complaint in ("panicked", "not compiled", "feature", "tracing-subscriber"):
        assert complaint not in shown, (command, shown)
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
