"""Tests the installed program in typical use: `try_check.py PROGRAM SCHEMA PREK`.

SARIF is validated against the schema of the standard, the completions and manual pages are loaded, the pre-commit hooks
run in a repository, and the progress bar is drawn only on a terminal.
"""

import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema

program, schema, prek = map(os.path.abspath, sys.argv[1:4])
root = Path(__file__).resolve().parent.parent


def run(command, directory, status=0, **environment):
    result = subprocess.run(command, cwd=directory, capture_output=True, env={**os.environ, **environment})
    assert result.returncode == status, (command, result)
    return result.stdout.decode()


def try_sarif(directory):
    content = json.loads(Path(schema).read_text())
    validator = jsonschema.validators.validator_for(content)(content)
    assert list(validator.iter_errors({"version": "2.0.0", "runs": [{}]})), "the schema accepts anything"
    for command, status, results in [
        (["check", "--rule", "bidi", "--rule", "mojibake", "."], 1, 7),
        (["check", "--bom", "require", "good.txt"], 1, 1),
        (["check", "--encoding", "utf-16le", "wide"], 1, 1),
        (["check", "good.txt"], 0, 0),
        (["check", os.path.join(directory, "bad.txt")], 1, 2),
        (["detect", "."], 1, 4),
    ]:
        log = json.loads(run([program, *command, "--format", "sarif"], directory, status))
        errors = list(validator.iter_errors(log))
        assert not errors, (command, errors)
        assert len(log["runs"][0]["results"]) == results, (command, log)


def try_shell(directory):
    for shell in ("bash", "zsh", "fish", "powershell", "elvish"):
        script = run([program, "completions", shell], directory)
        assert "max-errors" in script and "utf8-codec" in script, shell
        if shutil.which(shell) and shell in ("bash", "zsh", "fish"):
            subprocess.run([shell, "-n"], input=script.encode(), check=True)
    for page in ([], ["check"], ["detect"]):
        assert ".TH utf8-codec" in run([program, "man", *page], directory), page


def try_hooks(directory):
    """The hooks of this repository, at its last commit, in a repository with an ill-formed and a well-formed file."""
    commit = run(["git", "rev-parse", "HEAD"], root).strip()
    hooks = "".join(f"    - id: {hook}\n" for hook in ("utf8-codec", "utf8-codec-mojibake"))
    Path(directory, ".pre-commit-config.yaml").write_text(f"repos:\n- repo: {root}\n  rev: {commit}\n  hooks:\n{hooks}")
    environment = {
        "PATH": f"{os.path.dirname(program)}:{os.environ['PATH']}",
        "PREK_HOME": os.path.join(directory, "home"),
    }
    run(["git", "init", "-q"], directory)
    names = {"bad.txt": b"caf\xe9 \n", "twice.txt": "BeyoncÃ©\n".encode(), "good.txt": "café\n".encode()}
    for name, content in names.items():
        Path(directory, name).write_bytes(content)
    run(["git", "add", "good.txt", ".pre-commit-config.yaml"], directory)
    run([prek, "run", "--all-files"], directory, **environment)
    run(["git", "add", "twice.txt"], directory)
    shown = run([prek, "run", "--all-files"], directory, 1, **environment)
    assert "twice.txt:1" in shown and "encoded twice" in shown, shown
    run(["git", "add", "bad.txt"], directory)
    shown = run([prek, "run", "--all-files"], directory, 1, **environment)
    assert "bad.txt:1" in shown and "the second byte after E9" in shown, shown


def try_progress(directory):
    """The progress bar is on stderr, and only if that is a terminal and stdout is not."""
    for number in range(300):
        Path(directory, f"{number}.txt").write_text("text\n")
    drawn = {}
    for name, terminals in {"neither": (), "stderr": (2,), "both": (1, 2)}.items():
        master, slave = pty.openpty()
        streams = {fd: slave if fd in terminals else subprocess.PIPE for fd in (1, 2)}
        child = subprocess.Popen(
            [program, "check", "."], cwd=directory, stdin=subprocess.DEVNULL, stdout=streams[1], stderr=streams[2],
            env={**os.environ, "TERM": "xterm-256color"},
        )
        os.close(slave)
        output = b""
        try:
            while chunk := os.read(master, 65536):
                output += chunk
        except OSError:  # EIO: the program has ended.
            pass
        os.close(master)
        piped = b"".join(stream for stream in child.communicate() if stream)
        assert child.returncode == 0, (name, output, piped)
        assert b"/300 files" not in piped, (name, piped)
        drawn[name] = b"/300 files" in output
    assert drawn == {"neither": False, "stderr": True, "both": False}, drawn


with tempfile.TemporaryDirectory() as directory:
    files = {"good.txt": "café\n".encode(), "bad.txt": b"caf\xe9 \xff\n", "wide": b"\xff\xfea\0\x3e\xd8"}
    files["sub dir/\u202ex%.txt"] = "\u202e BeyoncÃ©\n".encode()
    for name, content in files.items():
        path = Path(directory, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    try_sarif(directory)
    try_shell(directory)
for attempt in (try_hooks, try_progress):
    with tempfile.TemporaryDirectory() as directory:
        attempt(directory)
print("SARIF, completions, manual pages, hooks and the progress bar work")
