#!/usr/bin/env python3
"""Proves the AVX-512 functions that count bytes (`count`, `count_range`, `count_ascii`) or find all positions of a byte
(`find_all`), and the function that writes the positions of a class. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, BitVecVal, Bool, Implies, UGE, UGT, ULT

import formulas
from classes import LANES, parts_about
from conversions import PAIRS, stored_at
from formulas import run_parts
from library import Library
from model import Int, Slice, Struct, join, splat
from paths import paths
from rust import Source
from vectors import Mask, Output, Total, mask_of, z3_bool

COUNT = ["arch/x86_64/avx512/count.rs", "functions.rs"]
POSITIONS = ["arch/x86_64/avx512/positions.rs", "arch/x86_64/avx512/classes.rs", "functions.rs"]
CLASSES = ["arch/x86_64/avx512/classes.rs", "functions.rs"]
GROUP, BLOCK = 256, 64


def sources(*names):
    return [Source(formulas.ROOT / name) for name in names]


def symbolic(name, count):
    return [BitVec(f"{name}{i}", 8) for i in range(count)]


def prove_total(report, title, total, bytes_, is_counted):
    """The total is the number of bytes for which `is_counted` holds."""
    total = Total.of(total)
    assert total.number == 0 and all(scale == 1 for scale, _ in total.terms)
    bits = [bit for _, mask in total.terms for bit in mask.list]
    assert all(bit is False for bit in bits[len(bytes_):]), "bytes after the end are counted"
    for first in range(0, len(bytes_), BLOCK):
        claims = [z3_bool(bit) == is_counted(x) for bit, x in zip(bits[first:first + BLOCK], bytes_[first:first + BLOCK])]
        report.prove(f"{title}: the bytes from {first}", And(*claims))


def prove_count(report):
    wanted, files = BitVec("wanted", 8), sources(*COUNT)
    limits = Struct({name: Int(BitVec(name, 8), "u8") for name in ("first", "width")})
    for length in (0, 1, 63, 64, 65, 2 * BLOCK + 3):
        bytes_, machine = symbolic("x", length), Library(*files)
        total = machine.run("count", Slice(bytes_), Int(wanted, "u8"))
        prove_total(report, f"count of {length} bytes", total, bytes_, lambda x: x == wanted)
        total = machine.run("count_range", Slice(bytes_), limits)
        has = Library(*files)
        prove_total(report, f"count_range of {length} bytes", total, bytes_, lambda x: has.call("has", Int(x, "u8"), this=limits))


def prove_count_ascii(report):
    """Whole groups of ASCII are counted, and the first other group is not."""
    wanted, files = BitVec("wanted", 8), sources(*COUNT)
    for length in (GROUP - 1, GROUP, 2 * GROUP + 1):
        bytes_ = symbolic("x", length)

        def make(decisions):
            machine = Library(*files, decisions=decisions)
            return machine, machine.run("count_ascii", Slice(bytes_), Int(wanted, "u8"))

        lengths = []
        for machine, (found, total) in paths(make, [], lambda conditions: True):
            found, here = machine.number(found), And(*machine.conditions[-1:])
            lengths.append(found)
            title = f"count_ascii of {length} bytes, {found}"
            prove_total(report, title, total, bytes_[:found], lambda x: x == wanted)
            for lane in LANES:
                for x in bytes_[lane:found:BLOCK]:
                    is_ascii = Implies(And(*parts_about(machine.conditions, [x])), ULT(x, BitVecVal(0x80, 8)))
                    report.prove(f"{title}: {x} is ASCII", is_ascii)
                if length - found >= GROUP:
                    # In a group of zeros except one byte.
                    zeros = [x == 0 for x in bytes_[found:found + GROUP]]
                    rest = zeros[:lane] + zeros[lane + 1:]
                    is_other = UGE(bytes_[found + lane], BitVecVal(0x80, 8))
                    report.prove(f"{title}: stops only at a byte that is not ASCII, byte {lane}", Implies(And(here, *rest), is_other))
        assert sorted(lengths) == list(range(0, length + 1, GROUP))


def prove_positions(report, title, start, bits, make):
    """The positions of the set bits are written: a lane with `rank` bits before it has the index `rank`."""
    for lane, rank in PAIRS:
        if rank > lane:
            continue
        for machine, output, count in paths(lambda decisions: make(decisions, lane, rank), []):
            assert Total.of(count).equals(Total(0, [(1, Mask(bits, "u64"))])), "the count is not that of the bits"
            number = next(mask for _, mask in count.terms)
            size = Total(0, [(1, number)]).variable()
            here = And(*machine.conditions, bits[lane], UGT(size, BitVecVal(rank, 64)))
            _, found = stored_at(output, 2 * rank, 2)
            is_right = z3_bool(False) if found is None else join(found) == start + lane
            report.prove(f"{title}: bit {lane} as position {rank}", Implies(here, is_right))


def prove_find_all(report):
    bits, start, wanted = [Bool(f"bit_{i}") for i in range(BLOCK)], BitVec("start", 16), BitVec("wanted", 8)
    files, block = sources(*POSITIONS), symbolic("x", BLOCK)

    def captured(decisions=(), **options):
        closures = []
        machine = Library(*files, decisions=decisions, replaced={"find_all_with": lambda *found: closures.extend(found[2:])}, **options)
        machine.run("find_all", Slice([]), Int(wanted, "u8"), Output(0))
        return machine, *closures

    machine, equal_bits, _ = captured()
    found = mask_of(equal_bits(Slice(block)), BLOCK)
    report.prove("find_all: a bit is set for each equal byte", And(*(z3_bool(bit) == (x == wanted) for bit, x in zip(found, block))))
    report.prove("find_all: the first block starts at 0", join(machine.scope["start"]) == 0)

    def make(decisions, lane, rank):
        machine, _, write = captured(decisions, lane=lane, rank=rank)
        machine.scope["start"] = splat(start, 64)
        output = Output(2 * BLOCK, size=2)
        count = write(Mask(bits, "u64"), Int(0, "u16"), output)
        assert_equal(report, "find_all: the next block starts 64 later", join(machine.scope["start"]), join(splat(start + BLOCK, 64)), (lane, rank) == PAIRS[0])
        return machine, output, count

    prove_positions(report, "find_all", start, bits, make)


def assert_equal(report, title, found, expected, is_first):
    """Proves a claim once."""
    if is_first:
        report.prove(title, found == expected)


def prove_write(report):
    bits, start, files = [Bool(f"bit_{i}") for i in range(BLOCK)], BitVec("start", 16), sources(*CLASSES)

    def make(decisions, lane, rank):
        machine, output = Library(*files, decisions=decisions, lane=lane, rank=rank), Output(2 * BLOCK, size=2)
        return machine, output, machine.run("write", Mask(bits, "u64"), Int(start, "u16"), output)

    prove_positions(report, "write", start, bits, make)


PARTS = {"count": (prove_count, prove_count_ascii), "positions": (prove_find_all, prove_write)}


if __name__ == "__main__":
    run_parts([(prove,) for proofs in PARTS.values() for prove in proofs])
