#!/usr/bin/env python3
"""Proves the loops of NEON over ASCII: the copy of bytes below a limit (`copy_below` in `aarch64/convert.rs`), `encode_ascii` of
`to_utf16.rs` and `decode_ascii` of `utf16.rs`, and the tests of a vector with which the other programs replace those of `convert.rs`.

The first two are those of `copies.py`, with groups and blocks that follow each other. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, Implies, Not, ULT, ZeroExt

import copies
from avx2_conversions import premises_about
from common import values_of
from conversions import number
from formulas import run_parts
from model import Slice
from neon_machine import AARCH64, CONVERT, Neon, WIDTH, arch, prove_any
from paths import paths
from common import written_bytes
from vectors import Output, z3_bool

BLOCK = 4 * WIDTH
BOTH = (False, True)


class Whole(Neon):
    """A machine with the functions of `convert.rs`."""

    def __init__(self, *sources, **options):
        super().__init__(*sources, is_real=True, **options)


def prove_decode_ascii(report, is_big_endian):
    """Up to two blocks of UTF-16, each of which is converted exactly if it is ASCII."""
    title = f"UTF-16{'BE' if is_big_endian else 'LE'} to ASCII"
    for units, more, room in (
        (2 * BLOCK, 0, 2 * BLOCK), (2 * BLOCK - 1, 1, 2 * BLOCK), (2 * BLOCK, 0, 2 * BLOCK - 1), (BLOCK - 1, 1, BLOCK), (BLOCK, 0, BLOCK - 1),
    ):
        x, results = [BitVec(f"x{i}", 8) for i in range(2 * units + more)], []
        values = values_of(x[:2 * units], 2, is_big_endian)

        def make(decisions):
            output = Output(room)
            machine = Neon(*arch("utf16", "convert"), decisions=decisions)
            return machine, output, machine.run("decode_ascii", Slice(x), output, constants=[is_big_endian])

        for machine, output, result in paths(make, [], lambda conditions: True):
            result, found = machine.number(result), written_bytes(output)
            results.append(result)
            name = f"{title}, {result} of {units} to {room}"
            assert set(found) == set(range(result)), "other bytes are written"
            for i in range(result) if (units, room) == (2 * BLOCK, 2 * BLOCK) else ():
                premises = premises_about(machine, x[2 * i:2 * i + 2])
                report.prove(f"{name}: unit {i}", Implies(premises, And(ULT(values[i], number(0x80)), ZeroExt(24, found[i][1]) == values[i])))
            if result + BLOCK <= min(units, room):
                is_ascii = And(*(ULT(value, number(0x80)) for value in values[result:result + BLOCK]))
                report.prove(f"{name}: stops only for another unit", Implies(And(*machine.conditions), Not(is_ascii)))
        report.prove(f"{title}, {units} to {room}: every whole block is read", z3_bool(sorted(results) == list(range(0, min(units, room) + 1, BLOCK))))


TO_UTF16, NEON = (f"{AARCH64}{name}.rs" for name in ("to_utf16", "neon"))
PARTS = {
    "convert": [
        (prove_any,), *((copies.prove_copy, CONVERT, WIDTH, *kind, 0, "copy_below", Whole, range(WIDTH)) for kind in ((0x80, True), (0xF0, True), (0xF0, False))),
    ],
    "to_utf16": [(copies.prove_encode_ascii, [TO_UTF16, CONVERT, NEON], WIDTH, BLOCK, order, 0, Neon) for order in BOTH],
    "utf16": [(prove_decode_ascii, order) for order in BOTH],
}


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
