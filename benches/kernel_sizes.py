#!/usr/bin/env python3
"""Prints lines of code and bytes of machine code of each kernel, as a table in Markdown.

    benches/kernel_sizes.py PROGRAM     a release build with symbols, as benches/ratios/target/release/ratios

Lines are without comments, blank lines and tests. The machine code of a module is that of its functions in the
symbol table (`nm`); code that was inlined elsewhere is not counted.
"""

import collections
import pathlib
import re
import subprocess
import sys

KERNELS = pathlib.Path(__file__).resolve().parent.parent / "src" / "kernels"


def lines(path):
    text = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
    code = (line.strip() for line in text.splitlines())
    return sum(1 for line in code if line and not line.startswith("//"))


def sizes(program):
    found = collections.Counter()
    output = subprocess.run(["nm", "-S", "-C", program], check=True, capture_output=True, text=True).stdout
    for size, name in re.findall(r"^\S+ (\S+) [tT] (?:<?)(utf8_codec::kernels::\S+)", output, re.M):
        found["::".join(name.split("::")[2:-1])] += int(size, 16)
    return found


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    code = sizes(sys.argv[1])
    print("| module | lines | bytes |\n|---|---:|---:|")
    for path in sorted(KERNELS.rglob("*.rs")):
        if "tests" in path.parts:
            continue
        module = str(path.relative_to(KERNELS).with_suffix("")).removesuffix("/mod").replace("/", "::")
        size = code.get(module)
        print(f"| `{module}` | {lines(path)} | {size or ''} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
