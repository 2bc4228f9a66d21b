#!/usr/bin/env python3
"""Prints lines of code and bytes of machine code of each part of each kernel, as a table in Markdown.

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


def cell(code, module, path):
    """The lines and the bytes of a module, which is a file or a folder."""
    files = [path] if path.exists() else sorted(path.with_suffix("").glob("*.rs"))
    if not files:
        return ""
    size = sum(size for name, size in code.items() if name == module or name.startswith(f"{module}::"))
    size = code.get(module, 0) if path.stem == "mod" else size
    count = sum(map(lines, files))
    return f"{count}, {size:,}" if size else f"{count}"


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    code = sizes(sys.argv[1])
    arch = KERNELS / "arch"
    kernels = {
        "portable": ("arch::portable", arch / "portable", "validation"),
        "AVX2": ("arch::x86_64::avx2", arch / "x86_64/avx2", "mod"),
        "AVX-512": ("arch::x86_64::avx512", arch / "x86_64/avx512", "mod"),
        "NEON": ("arch::aarch64", arch / "aarch64", "neon"),
        "simd128": ("arch::wasm32", arch / "wasm32", "simd128"),
    }
    parts = {path.stem for _, folder, _ in kernels.values() for path in folder.iterdir()}
    parts -= {"mod", "validation", "neon", "simd128"}
    print("|", " | ".join(["part", *kernels]), "|\n|---" + "|---:" * len(kernels) + "|")
    for part in ["validation", *sorted(parts)]:
        row = []
        for name, folder, first in kernels.values():
            stem = first if part == "validation" else part
            module = name if stem == "mod" else f"{name}::{stem}"
            row.append(cell(code, module, folder / f"{stem}.rs"))
        print("|", " | ".join([part, *row]), "|")
    shared = [path for path in sorted(KERNELS.rglob("*.rs")) if path.parent in {KERNELS, arch / "vector"} or path.stem == "shuffles"]
    print(f"\nShared by the kernels: {sum(map(lines, shared)):,} lines.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
