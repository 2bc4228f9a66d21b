#!/usr/bin/env python3
"""Compares the legacy encodings of `utf8-codec convert` with those of CPython and of iconv (glibc).

    cargo build -p utf8-codec-cli && crates/encodings/tests/differences.py target/debug/utf8-codec

Every sequence of one and of two bytes is decoded alone, and so are random strings, most of which are ill-formed. The table
(Markdown) has the numbers of sequences that both decode to other text, that only utf8-codec decodes, and that only the other
program decodes, each with an example. For random strings only the verdicts are compared: well-formed or not. Their number
without those that contain a sequence from the table is printed last; the exit status is 1 if it is not 0.
"""

import ctypes
import ctypes.util
import random
import subprocess
import sys

# The names of utf8-codec, CPython and glibc: what each calls the same encoding.
ENCODINGS = [
    *[(f"ibm{n}", f"cp{n}", f"CP{n}") for n in (437, 850, 852, 855, 858, 866)],
    *[(f"iso-8859-{n}", f"iso8859-{n}", f"ISO-8859-{n}") for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)],
    ("koi8-r", "koi8-r", "KOI8-R"),
    ("koi8-u", "koi8-u", "KOI8-U"),
    ("macintosh", "mac-roman", "MACINTOSH"),
    ("windows-874", "cp874", "CP874"),
    *[(f"windows-125{n}", f"cp125{n}", f"CP125{n}") for n in (0, 1, 3, 4, 5, 6, 7, 8)],
    ("x-mac-cyrillic", "mac-cyrillic", "MAC-CYRILLIC"),
    ("gbk", "gbk", "CP936"),
    ("gb18030", "gb18030", "GB18030"),
    ("big5", "big5hkscs", "BIG5-HKSCS"),
    ("euc-jp", "euc_jp", "EUC-JP-MS"),
    ("shift_jis", "cp932", "CP932"),
    ("euc-kr", "cp949", "CP949"),
]

libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
libc.iconv_open.restype = ctypes.c_void_p
libc.iconv.restype = ctypes.c_size_t
libc.iconv.argtypes = [ctypes.c_void_p] + 2 * [ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_size_t)]


def iconv(name):
    handle = libc.iconv_open(b"UTF-8", name.encode())
    if handle in (None, ctypes.c_size_t(-1).value):
        return None
    buffer = ctypes.create_string_buffer(256)

    def decode(data):
        libc.iconv(handle, None, None, None, None)
        source, left = ctypes.c_char_p(data), ctypes.c_size_t(len(data))
        target, room = ctypes.cast(buffer, ctypes.c_char_p), ctypes.c_size_t(256)
        args = [ctypes.byref(it) for it in (source, left, target, room)]
        if libc.iconv(handle, *args) == ctypes.c_size_t(-1).value or left.value:
            return None
        # Some converters keep a character back, in case a combining one follows.
        args[:2] = None, None
        libc.iconv(handle, *args)
        return buffer.raw[: 256 - room.value].decode("utf-8", "surrogatepass")

    return decode


def python(name):
    def decode(data):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            return None

    return decode


def ours(program, name, cases):
    """A case that is ill-formed gets a U+FFFD, and each case is a line: LF is a part of no character."""
    command = [program, "convert", "--from", name, "--on-error", "replace"]
    out = subprocess.run(command, input=b"\n".join(cases), capture_output=True, check=True).stdout.decode()
    lines = out.split("\n")
    assert len(lines) == len(cases), name
    return [None if "\ufffd" in line else line for line in lines]


def shown(data, *texts):
    names = [text and " ".join(f"U+{ord(it):04X}" for it in text) for text in texts]
    return f"`{data.hex(' ').upper()}`" + (f" {names[0]}, not {names[1]}" if all(names) else f" {names[0] or names[1]}")


def main():
    program, rng, unexplained = sys.argv[1], random.Random(44), []
    high = range(0x80, 0x100)
    cases = [bytes([it]) for it in range(256) if it != 10]
    cases += [bytes([lead, trail]) for lead in high for trail in range(0x20, 0x100)]
    hostile = [bytes(rng.choice([0x30, 0x41, 0x81, 0x8F, 0xA1, 0xFE, rng.randrange(32, 256)]) for _ in range(8)) for _ in range(20000)]
    print("| encoding | compared with | other text | only utf8-codec | only the other |\n|---|---|---|---|---|")
    for name, *peers in ENCODINGS:
        results = ours(program, name, cases + hostile)
        alone = dict(zip(cases, results))
        # A pair that consists of two characters has their differences, so it is not counted.
        is_pair = {data for data in cases if len(data) == 2 and alone[data[:1]] is None}
        for peer, decode in zip(peers, (python(peers[0]), iconv(peers[1]))):
            if decode is None:
                continue
            sets, known = {"other": [], "ours": [], "theirs": []}, set()
            for data, mine in alone.items():
                theirs = decode(data)
                if mine != theirs:
                    known.add(data)
                    if len(data) == 1 or data in is_pair:
                        kind = "ours" if theirs is None else "theirs" if mine is None else "other"
                        sets[kind].append(shown(data, mine, theirs))
            for data, mine in zip(hostile, results[len(cases):]):
                parts = {data[at : at + size] for at in range(8) for size in (1, 2)}
                # GBK is decoded as GB 18030, so its sequences of four bytes are known.
                is_other = name != "gbk" and (mine is None) != (decode(data) is None)
                if is_other and not parts & known:
                    unexplained.append(f"{peer} {data.hex(' ')} {mine}")
            if any(sets.values()):
                columns = [f"{len(it)}: {it[0]}" if it else "" for it in sets.values()]
                kind = "CPython" if peer == peers[0] else "glibc"
                print(f"| {name} | {kind} `{peer}` | " + " | ".join(columns) + " |")
    print(f"\n{len(unexplained)} random strings differ for another reason", *unexplained[:200], sep="\n")
    return len(unexplained) > 0


sys.exit(main())
