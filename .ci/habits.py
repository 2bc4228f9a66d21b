#!/usr/bin/env python3
"""Fails if a package binds several values in one `let`, or closures to names, more often than its limit.

The limits are per 10,000 lines outside tests: 10 for `let (a, b) = (x, y)`, which is written as two statements, and 15 for
`let f = |x| ...`, which is a function unless it captures what a function could not reasonably take.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ["kernels", "encodings", "media", "mail", "http", "proxy", "utf8-codec-cli"]
ENGINES = ["core", "envoy", "nginx", "pingora", "wasm"]
PACKAGES = ["src", *(f"crates/{name}/src" for name in CRATES), *(f"engines/{name}/src" for name in ENGINES)]
TESTS = re.compile(r"^#\[cfg\((?:all\()?test\b.*\]\nmod \w+ \{", re.M)
HABITS = {
    "let (..) = (..)": (10, re.compile(r"^\s*let \([^=;]*\)(?:: [^=]*)? =\s*\(", re.M)),
    "let name = |..|": (15, re.compile(r"^\s*let (?:mut )?\w+(?:: [^=]*)? =\s*(?:move )?\|", re.M)),
}

failed = False
for habit, (limit, pattern) in HABITS.items():
    for package in PACKAGES:
        files = subprocess.check_output(["git", "ls-files", f"{package}/*.rs"], cwd=ROOT, text=True).split()
        texts = {file: TESTS.split((ROOT / file).read_text())[0] for file in files if "/tests" not in file}
        lines = sum(text.count("\n") for text in texts.values())
        counts = {file: len(pattern.findall(text)) for file, text in texts.items()}
        if sum(counts.values()) * 10_000 > limit * lines:
            failed = True
            print(f"{package}: {sum(counts.values())} times `{habit}` in {lines} lines, at most {limit} in 10,000")
            print("".join(f"  {file}: {count}\n" for file, count in counts.items() if count), end="")
sys.exit(failed)
