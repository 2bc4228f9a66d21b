#!/usr/bin/env python3
"""Compares the speed of `utf8-codec check` with other programs in one run, and checks its report.

    cargo build --release -p utf8-codec-cli
    benches/check_speed.py [--size MIB] [--files N] [--rounds N] [--dir DIR] [--docs]

The contenders run alternately. The result is the median of the ratios of each round: time of the other program, divided by
our time. For one file it is the CPU time on one core, so that other programs have little influence. For a tree it is the
elapsed time. Programs that are not installed are left out (apt-get install moreutils ripgrep file).

The files are in the page cache: the size must be far below the free memory. `--docs` writes the table to
docs/checking.md.
"""

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = "utf8-codec check"
ASCII = b"GET /index.html HTTP/1.1 200 5316 \"Mozilla/5.0 (X11; Linux x86_64)\" in 12 ms, from cache\n"
DENSE = (
    "Žluťoučký kůň příšerně úpěl ďábelské ódy; Съешь же ещё этих мягких французских булок.\n"
    "いろはにほへと ちりぬるを わかよたれそ つねならむ 🦀 天地玄黄 宇宙洪荒\n"
).encode()
PYTHON = (
    "import codecs,sys\nd=codecs.getincrementaldecoder('utf-8')()\n"
    "with open(sys.argv[1],'rb') as f:\n while c:=f.read(1<<20): d.decode(c)\nd.decode(b'',True)"
)


def contenders(program, file):
    """Returns the commands for one file, and whether each stops at the first error."""
    commands = {
        "cat FILE > /dev/null": ["cat", file],
        OURS: [program, "check", "--jobs", "1", file],
        "isutf8": ["isutf8", file],
        "iconv -f utf-8 -t utf-8": ["iconv", "-f", "utf-8", "-t", "utf-8", file],
        "grep -axv '.*'": ["grep", "-axv", ".*", file],
        "file": ["file", file],
        "python3, incremental decoder": [sys.executable, "-c", PYTHON, file],
    }
    return {name: command for name, command in commands.items() if shutil.which(command[0])}


def run(command, one_core):
    """Runs a command. Returns its CPU time, its elapsed time and its output."""
    if one_core:
        command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    elapsed = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, elapsed, result.returncode


def measure(commands, rounds, one_core, slow_rounds):
    """Returns the times of each command by round. Slow commands run in fewer rounds."""
    times = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            is_fast = name == OURS or name.startswith(("cat", "rg"))
            if is_fast or number < slow_rounds:
                cpu, elapsed, _ = run(command, one_core)
                times[name].append(cpu if one_core else elapsed)
    return times


def rows(label, times, amount, unit):
    """Returns the lines of the table."""
    ours = times[OURS]
    for name, own in times.items():
        ratio = statistics.median(other / mine for other, mine in zip(own, ours))
        speed = amount / statistics.median(own)
        goal = {"cat": 0.6 if "dense" in label else 0.9, "rg": 1.0}.get(name.split()[0], "")
        met = "" if goal == "" else ("met" if ratio >= goal else "**missed**")
        yield f"| {label} | `{name}` | {speed:.2f} {unit} | {ratio:.2f} | {goal} | {met} |"


def write(path, line, size):
    block = line * (-(-(16 << 20) // len(line)))
    block = block[: len(block) // len(line) * len(line)]
    with open(path, "wb") as file:
        written = 0
        while written + len(block) <= size:
            file.write(block)
            written += len(block)
        file.write(line * ((size - written) // len(line)))


def plant(path, line):
    """Writes three ill-formed bytes to the file. Returns their locations: offset, line, columns in characters, bytes
    and UTF-16 units."""
    size, expected = os.path.getsize(path), []
    with open(path, "r+b") as file:
        for part in (1, 5, 9):
            number, inside = size * part // 10 // len(line), len(line) * 2 // 3
            while line[inside] & 0xC0 == 0x80 or line[inside] >= 0x80:
                inside += 1  # An ASCII character is replaced, so that there is one error.
            offset = number * len(line) + inside
            file.seek(offset)
            file.write(b"\xFF")
            start = line.rfind(b"\n", 0, inside) + 1
            before = line[start:inside].decode()
            columns = [len(before), inside - start, len(before.encode("utf-16-le")) // 2]
            expected.append([offset, number * line.count(b"\n") + line[:inside].count(b"\n") + 1, *(c + 1 for c in columns)])
    return expected


def reported(program, path, jobs):
    command = [program, "check", "--format", "json", "--jobs", str(jobs), path]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
    errors = [json.loads(row) for row in output.splitlines()]
    members = ("offset", "line", "column", "byte_column", "utf16_column")
    return output, [[error[member] for member in members] for error in errors if error["type"] == "error"]


def one_file(options, directory, label, line):
    path = os.path.join(directory, "file")
    write(path, line, options.size << 20)
    size = os.path.getsize(path)
    run(["cat", path], False)
    table = list(rows(label, measure(contenders(options.program, path), options.rounds, True, 2), size / 1e9, "GB/s"))
    expected = plant(path, line)
    outputs = [reported(options.program, path, jobs) for jobs in (1, 2)]
    assert outputs[0][1] == expected, (outputs[0][1], expected)
    assert outputs[0] == outputs[1], "--jobs 1 and 2 differ"
    both = {name: command for name, command in contenders(options.program, path).items() if name == OURS or "cat" in name}
    times = measure(both, options.rounds, True, options.rounds)
    table += list(rows(f"{label}, 3 errors", times, size / 1e9, "GB/s"))
    os.remove(path)
    return table


def tree(options, directory):
    root = os.path.join(directory, "tree")
    numbers = random.Random(1)
    for number in range(options.files):
        folder = os.path.join(root, f"{number // 100:03}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{number}.txt"), "wb") as file:
            file.write((ASCII * 40 + DENSE)[: numbers.randrange(100, 4000)].decode(errors="ignore").encode())
    commands = {OURS: [options.program, "check", root], "rg -c ''": ["rg", "-c", "", root]}
    commands = {name: command for name, command in commands.items() if shutil.which(command[0])}
    run(commands[OURS], False)
    times = measure(commands, 3 * options.rounds, False, 0)
    return list(rows(f"{options.files} small files", times, options.files / 1e3, "thousand files/s"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=2048, metavar="MIB")
    parser.add_argument("--files", type=int, default=20_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=7, metavar="N")
    parser.add_argument("--dir", default=None, help="where the files are written [default: the temporary directory]")
    parser.add_argument("--program", default=str(ROOT / "target/release/utf8-codec"))
    parser.add_argument("--docs", action="store_true")
    options = parser.parse_args()
    head = ["| input | program | speed | its time / ours | goal | |", "|---|---|---:|---:|---:|---|"]
    with tempfile.TemporaryDirectory(dir=options.dir) as directory:
        table = head + one_file(options, directory, f"{options.size} MiB ASCII", ASCII)
        table += one_file(options, directory, f"{options.size} MiB dense text", DENSE)
        table += tree(options, directory)
    print("\n".join(table))
    if options.docs:
        page = ROOT / "docs/checking.md"
        text = page.read_text()
        start, end = text.index("<!-- speed -->"), text.index("<!-- end of speed -->")
        page.write_text(text[:start] + "<!-- speed -->\n" + "\n".join(table) + "\n" + text[end:])


main()
