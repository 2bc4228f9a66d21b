#!/usr/bin/env python3
"""Proves the AVX-512 conversion of CESU-8 and Modified UTF-8 to UTF-8 (`join` in `pairs.rs`): one vector, from any position.

The definition of a surrogate pair of 6 bytes is that of Unicode Technical Report 26. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, BitVecVal, BoolVal, Concat, Extract, If, Implies, Not, Or, UGE, UGT, ULT

import formulas
from conversions import pair, utf8
from formulas import run_parts, within
from library import Library, as_int
from model import Int, Slice
from paths import Stop, paths
from rust import Source
from units import written_bytes
from vectors import Mask, Output, Packed, is_never, mask_of, z3_bool

FILES = [f"arch/x86_64/avx512/{name}.rs" for name in ("pairs", "classes")]
WIDTH, GROUP = 64, 256
# Where the loop is in the input and in the output, if it is not at the start.
READ, WRITTEN = 4, 3
LANES = [0, 1, 2, 3, 4, 5, 6, 31, 32, 58, 59, 60, 62, 63]


def sources():
    return [Source(formulas.ROOT / name) for name in FILES]


def first(length):
    """A mask of the first bytes."""
    if isinstance(length, int) or not hasattr(length.value, "size"):
        return Int((1 << Library.number(length)) - 1, "u64")
    return Mask([UGT(length.value, BitVecVal(i, 64)) for i in range(WIDTH)], "u64")


def unit_of(bytes_):
    """The code unit of a sequence of 3 bytes."""
    a, b, c = bytes_
    return Concat(Extract(3, 0, a), Extract(5, 0, b), Extract(5, 0, c))


class Definition:
    """What each byte of the input is, read alone."""

    def __init__(self, x, modified, lenient):
        self.x, self.length = x, len(x)
        self.modified, self.lenient = modified, lenient

    def at(self, i):
        return self.x[i] if 0 <= i < self.length else BitVecVal(0, 8)

    def half(self, i, high):
        return And(self.at(i) == 0xED, self.at(i + 1) & 0xF0 == high)

    def pair(self, i):
        if i < 0:
            return BoolVal(False)
        tails = And(within(self.at(i + 2), 0x80, 0xBF), within(self.at(i + 5), 0x80, 0xBF))
        return And(self.half(i, 0xA0), self.half(i + 3, 0xB0), tails)

    def zero(self, i):
        return And(self.at(i) == 0xC0, self.at(i + 1) == 0x80) if self.modified and i >= 0 else BoolVal(False)

    def stops(self, i):
        x = self.at(i)
        found = [And(self.half(i, 0xA0), Not(self.pair(i))), And(self.half(i, 0xB0), Not(self.pair(i - 3)))]
        if not self.lenient:
            found.append(UGE(x, BitVecVal(0xF0, 8)))
        if self.modified:
            found.append(And(x == 0xC0, Not(self.zero(i))))
            found += [] if self.lenient else [x == 0]
        return Or(*found)

    def is_left(self, i):
        """Whether a pair or zero that starts here is left to the next vector."""
        return Or(And(i >= WIDTH - 5, self.half(i, 0xA0)), And(i == WIDTH - 1, self.modified, self.at(i) == 0xC0))

    def output(self, i):
        """Whether this byte is written, and its value."""
        found, kept = self.x[i], Not(Or(self.pair(i - 3), self.pair(i - 4), self.zero(i - 1)))
        for back, part in ((0, 0), (1, 1), (2, 2), (5, 3)):
            start = i - back
            if start >= 0 and start + 6 <= self.length:
                units = [unit_of(self.x[at:at + 3]) for at in (start, start + 3)]
                found = If(self.pair(start), utf8(pair(*units))[0][part], found)
        return kept, If(self.zero(i), BitVecVal(0, 8), found)


def prove_join(report, modified, lenient, length):
    x = [BitVec(f"x{i}", 8) for i in range(length)]
    files, definition, width = sources(), Definition(x, modified, lenient), min(length, WIDTH)
    title = f"{'Modified UTF-8' if modified else 'CESU-8'}{', lenient' if lenient else ''}, {length} bytes"

    def make(decisions):
        machine, output = Library(*files, decisions=decisions, runs_once=True, replaced={"first": first}), Output(256)
        result = machine.run("join", Slice(x), output, constants=[modified, lenient])
        return machine, output, result

    taken, returns = BitVecVal(width, 64), BoolVal(False)
    for i in reversed(range(width)):
        stops, is_left = definition.stops(i), definition.is_left(i)
        taken = If(Or(stops, is_left), BitVecVal(i, 64), taken)
        returns = Or(And(stops, Not(is_left)), And(Not(is_left), returns))
    for count, (machine, output, result) in enumerate(paths(make, [], lambda conditions: True), 1):
        here = And(*machine.conditions)
        if is_never(here):
            continue
        read = result[0] if result else machine.scope["read"]
        report.prove(f"{title}, path {count}: the bytes that are read", Implies(here, as_int(read, "usize").bits() == taken))
        report.prove(f"{title}, path {count}: returns only at a byte that stops", Implies(here, returns == (result is not None)))
        (place, lanes, mask), = output.stores
        assert place.number == 0 and not place.terms
        packed = isinstance(lanes, Packed)
        for i in LANES:
            if i < width:
                is_kept = lanes.mask[i] if packed else mask_of(mask, WIDTH)[i] if isinstance(mask, Mask) else mask[i]
                kept, value = definition.output(i)
                is_right = And(z3_bool(is_kept) == kept, Implies(kept, (lanes.lanes if packed else lanes)[i] == value))
                report.prove(f"{title}, path {count}: byte {i}", Implies(And(here, ULT(BitVecVal(i, 64), taken)), is_right))


def prove_join_group(report, modified, lenient):
    """A group is copied only if it has no byte that changes or stops. If it is not, it is converted vector by vector."""
    title = f"{'Modified UTF-8' if modified else 'CESU-8'}{', lenient' if lenient else ''}, a group"

    def vector_by_vector(_):
        raise Stop

    for length, room in ((GROUP, GROUP), (GROUP - 1, GROUP), (GROUP, GROUP - 1)):
        x = [BitVec(f"x{i}", 8) for i in range(READ + length)]

        def make(decisions):
            presets = {"read": Int(READ, "usize"), "written": Int(WRITTEN, "usize")}
            machine, output = Library(*sources(), decisions=decisions, presets=presets, replaced={"first": vector_by_vector}), Output(WRITTEN + room)
            assert machine.run("join", Slice(x), output, constants=[modified, lenient]) is None
            return machine, output

        copies = 0
        for machine, output in paths(make, []):
            read, written = machine.number(machine.scope["read"]), machine.number(machine.scope["written"])
            if not output.stores:
                assert (read, written) == (READ, WRITTEN)
                continue
            copies += 1
            assert (read, written) == (READ + GROUP, WRITTEN + GROUP)
            found, here = written_bytes(output), And(*machine.conditions)
            assert set(found) == set(range(WRITTEN, WRITTEN + GROUP))
            for at in range(GROUP):
                if at % WIDTH in LANES:
                    byte = x[READ + at]
                    changes = [byte == 0xED] + ([] if lenient else [UGE(byte, BitVecVal(0xF0, 8))])
                    changes += [byte == 0xC0] * modified + [byte == 0] * (modified and not lenient)
                    is_same = And(Not(Or(*changes)), found[WRITTEN + at][1] == byte)
                    report.prove(f"{title}: byte {at} does not change", Implies(here, is_same))
        assert copies == (length == room == GROUP), "the length of a group"


KINDS = [(False, False), (True, False), (True, True)]
PARTS = [
    *((prove_join, *kind, length) for kind in KINDS for length in (5, WIDTH, WIDTH + 5)), *((prove_join_group, *kind) for kind in KINDS),
]


if __name__ == "__main__":
    run_parts(PARTS)
