"""Texts with and without errors, and what is expected of them."""

import random

# An ill-formed text, and the kind, offset and length of its first error.
ERRORS = [
    (b"caf\xffe", "InvalidLead", 3, 1),
    ("caf\u00e9 ".encode() + b"\x80x", "UnexpectedContinuation", 6, 1),
    (b"a\xc3(", "MissingContinuation", 1, 1),
    (b"ab\xe2\x82(", "MissingContinuation", 2, 2),
    (b"abc\xf0\x9f\x98(", "MissingContinuation", 3, 3),
    (b"\xc0\xaf", "Overlong", 0, 1),
    (b"x\xe0\x80\x80", "Overlong", 1, 1),
    (b"x\xf0\x80\x80\x80", "Overlong", 1, 1),
    ("\u7f51".encode() + b"\xed\xa0\x80", "Surrogate", 3, 1),
    ("\U0001f600".encode() + b"\xf4\x90\x80\x80", "AboveMax", 4, 1),
    (b"12345\xf5\x80", "AboveMax", 5, 1),
    ("\u7f51\u7edc".encode() + b"\xe7\xbd", "Truncated", 6, 2),
    (b"abc\xf0\x9f\x98", "Truncated", 3, 3),
]



def possible(text, offset, length):
    """The number of bytes before the first one that is part of no character: all of the sequence of the error, unless it is a
    byte that starts none."""
    return offset + length if text[offset] in range(0xC2, 0xF5) else offset


GOOD = ["plain ASCII", "Grüße aus Köln", "网络把字节切在哪里", "\U0001f600\U0001f468‍\U0001f469", "\ufeffwith a BOM", ""]

MIXED = "Grüße aus Köln, ça va très bien. 网络 \U0001f600 "


def partitions(data, limit=64):
    """Ways to cut the data: in one piece, byte by byte, at every position, and some at random."""
    yield [data]
    yield [data[i : i + 1] for i in range(len(data))]
    for cut in range(1, min(len(data), limit)):
        yield [data[:cut], data[cut:]]


def random_cuts(data, most, seed):
    """The data in pieces of 1 to `most` bytes."""
    numbers = random.Random(seed)
    at = 0
    while at < len(data):
        size = numbers.randint(1, most)
        yield data[at : at + size]
        at += size


def random_text(length, seed, error_every=0):
    """Text of about `length` bytes, with ill-formed bytes between characters if `error_every` is not 0."""
    numbers = random.Random(seed)
    alphabet = list(MIXED)
    pieces = []
    size = 0
    while size < length:
        piece = numbers.choice(alphabet).encode()
        if error_every and numbers.randrange(error_every) == 0:
            piece = numbers.choice([b"\xff", b"\xc3", b"\xe2\x82", b"\x80", b"\xed\xa0"])
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)
