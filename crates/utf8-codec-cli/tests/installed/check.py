"""Tests the installed program in typical use: `check.py PROGRAM SCHEMA WHEELS BIN`.

SARIF is validated against the schema of the standard, the completions and manual pages are loaded, the hooks install the wheel
in the directory WHEELS and run in a repository, with the prek and the pre-commit in the directory BIN, the wheel runs as a module
of Python, excerpts are not wider than the terminal, and the progress bar is drawn only on a terminal.
"""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata
from pathlib import Path

import jsonschema

program, schema, wheels, tools = map(os.path.abspath, sys.argv[1:5])
root = Path(__file__).resolve().parents[4]


def run(command, directory, status=0, **environment):
    result = subprocess.run(command, cwd=directory, capture_output=True, env={**os.environ, **environment})
    assert result.returncode == status, (command, result)
    return result.stdout.decode()


def try_sarif(directory):
    content = json.loads(Path(schema).read_text())
    validator = jsonschema.validators.validator_for(content)(content)
    assert list(validator.iter_errors({"version": "2.0.0", "runs": [{}]})), "the schema accepts anything"
    for command, status, results in [
        (["check", "--exclude", "many.txt", "--rule", "bidi", "--rule", "mojibake", "."], 1, 4),
        (["check", "--bom", "require", "good.txt"], 1, 1),
        (["check", "--encoding", "utf-16le", "wide"], 1, 1),
        (["check", "good.txt"], 0, 0),
        (["check", os.path.join(directory, "bad.txt")], 1, 1),
        (["check", "--max-errors", "0", "bad.txt"], 1, 2),
        (["detect", "--exclude", "many.txt", "."], 1, 4),
        (["check", "good.txt", "absent"], 2, 0),
        (["check", "many.txt"], 1, 1),
        (["check", "--max-errors", "0", "many.txt"], 1, 25_000),
        (["detect", "good.txt", "absent"], 2, 1),
    ]:
        log = json.loads(run([program, *command, "--format", "sarif"], directory, status))
        errors = list(validator.iter_errors(log))
        assert not errors, (command, errors)
        run_log = log["runs"][0]
        assert len(run_log["results"]) == results, command
        rules = {rule["id"] for rule in run_log["tool"]["driver"]["rules"]}
        assert {result["ruleId"] for result in run_log["results"]} <= rules, command


def try_gitlab(directory):
    """The fields that GitLab requires of a Code Quality report, and no path with `./`."""
    issues = json.loads(run([program, "check", "--rule", "bidi", "--format", "gitlab", "."], directory, 1))
    for issue in issues:
        assert {"description", "check_name", "fingerprint", "severity", "location"} <= issue.keys(), issue
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker"), issue
        path, line = issue["location"]["path"], issue["location"]["lines"]["begin"]
        assert line >= 1 and os.path.exists(os.path.join(directory, path)) and not path.startswith("."), issue
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) > 3


def try_shell(directory):
    for shell in ("bash", "zsh", "fish", "powershell", "elvish"):
        script = run([program, "completions", shell], directory)
        assert "max-errors" in script and "utf8-codec" in script, shell
        if shutil.which(shell) and shell in ("bash", "zsh", "fish"):
            subprocess.run([shell, "-n"], input=script.encode(), check=True)
    for page in ([], ["check"], ["detect"]):
        assert ".TH utf8-codec" in run([program, "man", *page], directory), page


def try_hooks(directory):
    """The hooks of this repository, at its last commit, in a repository with ill-formed and well-formed files."""
    commit = run(["git", "rev-parse", "HEAD"], root).strip()
    hooks = "".join(f"    - id: {hook}\n" for hook in ("utf8-codec", "utf8-codec-mojibake"))
    Path(directory, ".pre-commit-config.yaml").write_text(f"repos:\n- repo: {root}\n  rev: {commit}\n  hooks:\n{hooks}")
    run(["git", "init", "-q"], directory)
    names = {"bad.txt": b"caf\xe9 \n", "twice.txt": "BeyoncÃ©\n".encode(), "good.txt": "café\n".encode(), "old.txt": b"old\n"}
    names |= {"-weird.txt": b"\xff\n", "--encoding=latin1": b"\xff\n"}
    for name, content in names.items():
        Path(directory, name).write_bytes(content)
    add = ["git", "add", "--"]
    for tool in ("prek", "pre-commit"):
        environment = {"PIP_FIND_LINKS": wheels, "UV_FIND_LINKS": wheels}
        environment |= {f"{name}_HOME": os.path.join(directory, ".git", tool) for name in ("PREK", "PRE_COMMIT")}
        environment["PATH"] = f"{tools}:{os.environ['PATH']}"
        hooks = [os.path.join(tools, tool), "run", "--all-files"]
        run([*add, "good.txt", "old.txt", ".pre-commit-config.yaml"], directory)
        run(hooks, directory, **environment)
        # A file that was renamed, and one that was deleted.
        os.rename(os.path.join(directory, "old.txt"), os.path.join(directory, "new.txt"))
        run(["git", "rm", "-q", "--cached", "old.txt", "good.txt"], directory)
        run([*add, "new.txt", "twice.txt"], directory)
        shown = run(hooks, directory, 1, **environment)
        assert "twice.txt:1" in shown and "encoded twice" in shown, shown
        run([*add, "bad.txt", "-weird.txt", "--encoding=latin1"], directory)
        shown = run(hooks, directory, 1, **environment)
        for name in ("bad.txt", "-weird.txt", "--encoding=latin1"):
            assert f"--> {name}:1:" in shown, shown
        run(["git", "rm", "-q", "--cached", "-r", "."], directory)
        os.rename(os.path.join(directory, "new.txt"), os.path.join(directory, "old.txt"))


def try_module(directory):
    """`python -m utf8_codec`, with arguments, standard input and the exit status of the program."""
    python = os.path.join(directory, "venv", "bin", "python")
    subprocess.run([sys.executable, "-m", "venv", os.path.join(directory, "venv")], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", wheels, "utf8-codec"], check=True)
    for text, status in ((b"caf\xc3\xa9\n", 0), (b"caf\xe9\n", 1)):
        result = subprocess.run([python, "-m", "utf8_codec", "check", "--format", "short", "-"], input=text, capture_output=True)
        assert result.returncode == status and bool(result.stdout) == bool(status), result


def try_width(directory):
    """On a terminal of 80 columns, an excerpt has at most 80, and its carets are under the error."""
    text = "日本語の文章がここに書かれています。" * 4
    Path(directory, "long.txt").write_bytes(f"{text} caf".encode() + b"\xe9" + text.encode() + b"\n")
    primary, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    child = subprocess.Popen([program, "check", "--color", "never", "long.txt"], cwd=directory, stdout=secondary)
    os.close(secondary)
    shown = b""
    try:
        while chunk := os.read(primary, 65536):
            shown += chunk
    except OSError:  # EIO: the program has ended.
        pass
    assert child.wait() == 1
    lines = shown.decode().splitlines()
    columns = lambda text: sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
    excerpt, carets = next((line, lines[number + 1]) for number, line in enumerate(lines) if line.startswith("1 | "))
    assert 76 < columns(excerpt) <= 80, excerpt
    assert columns(excerpt[: excerpt.index("\\xE9")]) == carets.index("^"), shown


def try_progress(directory):
    """The progress bar counts bytes, and is drawn on stderr after a second if that is a terminal, whatever stdout is."""
    Path(directory, "a.txt").write_bytes(b"\xff\n" * 20)
    Path(directory, "b.txt").write_text("text\n" * 1000)
    os.mkfifo(os.path.join(directory, "pipe"))
    for terminals in ((), (1,), (2,), (1, 2)):
        for is_slow in (False, True):
            files = ["a.txt", *["pipe"] * is_slow, "b.txt"]
            primary, secondary = pty.openpty()
            streams = {fd: secondary if fd in terminals else subprocess.PIPE for fd in (1, 2)}
            child = subprocess.Popen(
                [program, "check", "--format", "short", "--max-errors", "0", *files], cwd=directory, stdin=subprocess.DEVNULL,
                stdout=streams[1], stderr=streams[2], env={**os.environ, "TERM": "xterm-256color"},
            )
            os.close(secondary)
            output = b""
            has_bar = is_slow and 2 in terminals
            if is_slow:
                with open(os.path.join(directory, "pipe"), "wb") as pipe:
                    pipe.write(b"slow\n\xff\n")
                    pipe.flush()
                    # Without a bar, the program is not waited for: the pipe is closed after its delay.
                    while has_bar and b" KiB" not in output:
                        output += os.read(primary, 65536)
                    if not has_bar:
                        time.sleep(1.5)
            try:
                while chunk := os.read(primary, 65536):
                    output += chunk
            except OSError:  # EIO: the program has ended.
                pass
            os.close(primary)
            piped = b"".join(stream for stream in child.communicate() if stream)
            case = (terminals, is_slow, output, piped)
            assert child.returncode == 1, case
            assert (b"KiB" in output) == has_bar and b"KiB" not in piped, case
            # The bar was cleared before the report was written, so each line of the report starts at the left.
            shown = re.split(rb"[\r\n]+", re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"\r", output + piped))
            lines = [line for line in shown if re.fullmatch(rb"[a-z.]+:\d+:\d+: FF is never part of UTF-8", line)]
            assert len(lines) == 20 + is_slow, case


with tempfile.TemporaryDirectory() as directory:
    files = {"good.txt": "café\n".encode(), "bad.txt": b"caf\xe9 \xff\n", "wide": b"\xff\xfea\0\x3e\xd8"}
    files["many.txt"] = b"\xff\n" * 25_001
    files["sub dir/\u202ex%.txt"] = "\u202e BeyoncÃ©\n".encode()
    for name, content in files.items():
        path = Path(directory, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    try_sarif(directory)
    try_gitlab(directory)
    try_shell(directory)
for attempt in (try_hooks, try_module, try_width, try_progress):
    with tempfile.TemporaryDirectory() as directory:
        attempt(directory)
print("SARIF, completions, manual pages, hooks, the module, excerpts and the progress bar work")
