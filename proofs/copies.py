#!/usr/bin/env python3
"""Proves the loops of AVX-512 and AVX2 that copy bytes below a limit (`copy.rs`), or convert ASCII to UTF-16 (`encode_ascii`).

After the first group or block, both start at a multiple of a vector in the output. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, BitVecVal, If, Implies, Not, UGE, ULE, ULT, ZeroExt, simplify

import formulas
from classes import parts_about
from compressed import Kernel
from conversions import in_order
from formulas import run_parts
from library import as_int
from model import Slice
from paths import paths
from rust import Source
from common import written_bytes
from vectors import Output, z3_bool

ARCH = "arch/x86_64/"
# The edges of vectors, of their halves and quarters. An instruction does the same in every lane.
EDGES = [0, 1, 15, 16, 30, 31, 32, 33, 47, 48, 62, 63]


def symbolic(count):
    return [BitVec(f"x{i}", 8) for i in range(count)]


def sources(names):
    return [Source(formulas.ROOT / name) for name in names]


def prove_copy(report, file, width, limit, nul, pointer, function="below", kernel=Kernel, edges=EDGES):
    """The first two groups, of which the second may overlap the first. It starts at a multiple of a vector in the output.

    A group is copied exactly if all of its bytes are below the limit, and `00` only if it may occur.
    """
    group_len = 4 * width
    second = group_len - (pointer + group_len) % width
    title = f"below {limit:X}{'' if nul else ' without 00'}, vectors of {width}, the output at {pointer}"

    def is_copied(byte):
        return And(ULT(byte, BitVecVal(limit, 8)), *([] if nul else [byte != 0]))

    both = second + group_len
    for length, room in (
        (both, both), (both - 1, both), (both, both - 1), (group_len - 1, group_len), (group_len, group_len - 1),
    ):
        x, results = symbolic(length), []

        def make(decisions):
            output = Output(room)
            machine = kernel(*sources([file]), decisions=decisions, align=pointer)
            return machine, output, machine.run(function, Slice(x), output, constants=[limit, nul])

        for machine, output, result in paths(make, [], lambda conditions: True):
            here = And(*machine.conditions)
            result = machine.number(machine.scope["at"] if result is None else result)
            results.append(result)
            found = written_bytes(output)
            name = f"{title}, {result} of {length} to {room}"
            is_whole = set(found) == set(range(result)) and all(kept is True for kept, _ in found.values())
            report.prove(f"{name}: exactly these bytes are written", z3_bool(is_whole))
            for i in sorted(at for at in range(result) if at % width in edges) if (length, room) == (both, both) else ():
                of_byte = And(*parts_about([simplify(condition) for condition in machine.conditions], [x[i]]))
                report.prove(f"{name}: byte {i}", Implies(of_byte, And(is_copied(x[i]), found[i][1] == x[i])))
            group = 0 if result == 0 else second
            if result < group + group_len <= min(length, room):
                report.prove(f"{name}: stops only for another byte", Implies(here, Not(And(*map(is_copied, x[group:group + group_len])))))
        most = both if min(length, room) == both else group_len if min(length, room) >= group_len else 0
        expected = sorted({0, group_len, most} if most else {0})
        report.prove(f"{title}, {length} to {room}: the groups are where they are expected", z3_bool(sorted(results) == expected))


def prove_encode_ascii(report, files, width, block, is_big_endian, pointer, kernel=Kernel):
    """Up to three blocks of bytes, of which the second may overlap the first.

    The result is the index of the first other byte of the whole blocks, or the index where the next block would start, for every input.
    The blocks after the first start at a multiple of a vector in the output if its address is even.
    """
    second = block - pointer % width // 2
    title = f"ASCII to UTF-16{'BE' if is_big_endian else 'LE'}, vectors of {width}, the output at {pointer}"
    both, three = second + block, second + 2 * block
    for length, room in (
        (three, 2 * three), (three - 1, 2 * three), (three, 2 * three - 1), (three, 2 * both), (both, 2 * both - 1),
        (block, 2 * block), (block - 1, 2 * block), (block, 2 * block - 1), (0, 0),
    ):
        x, end, name = symbolic(length), min(length, room // 2), f"{title}, {length} bytes to {room}"
        next_block = 0 if end < block else second + (end - second) // block * block
        expected = BitVecVal(next_block, 64)
        for i in reversed(range(max(next_block, block) if next_block else 0)):
            expected = If(UGE(x[i], BitVecVal(0x80, 8)), BitVecVal(i, 64), expected)

        def make(decisions):
            output = Output(room)
            machine = kernel(*sources(files), decisions=decisions, align=pointer)
            return machine, output, machine.run("encode_ascii", Slice(x), output, constants=[is_big_endian])

        for count, (machine, output, result) in enumerate(paths(make, []), 1):
            here, path = And(*machine.conditions), f"{name}, path {count}"
            read, written = (as_int(part, "usize").bits() for part in result)
            report.prove(f"{path}: the bytes before the first other one are read", Implies(here, read == expected))
            report.prove(f"{path}: two bytes are written for each", Implies(here, written == 2 * read))
            found = written_bytes(output)
            units = len(found) // 2
            is_whole = set(found) == set(range(2 * units)) and all(kept is True for kept, _ in found.values())
            report.prove(f"{path}: the units before it are written", And(z3_bool(is_whole), Implies(here, ULE(read, BitVecVal(units, 64)))))
            is_right = And(*(
                found[2 * i + part][1] == byte for i in range(units) for part, byte in enumerate(in_order(ZeroExt(8, x[i]), is_big_endian))
            ))
            report.prove(f"{path}: each unit is that of its byte", is_right)
            later = [place.number for place, _, _ in output.stores[2 * block // width:]]
            is_aligned = all((pointer + at) % width == pointer % 2 for at in later)
            if later:
                report.prove(f"{path}: the blocks after the first are aligned", z3_bool(is_aligned))


def copy_parts(file, width):
    return [(prove_copy, ARCH + file, width, *kind) for kind in ((0x80, True, width - 1), (0xF0, True, 1), (0xF0, False, 0))]


def ascii_parts(files, width, block):
    files, pointers = [ARCH + file for file in files], (0, 1, width - 2, width - 1)
    return [(prove_encode_ascii, files, width, block, order, pointer) for order in (False, True) for pointer in pointers]


PARTS = {
    "avx512_copy": copy_parts("avx512/copy.rs", 64),
    "avx512_ascii": ascii_parts(["avx512/utf16.rs"], 64, 64),
    "avx2_copy": copy_parts("avx2/copy.rs", 32),
    "avx2_ascii": ascii_parts(["avx2/to_utf16.rs", "avx2/utf16.rs"], 32, 64),
}


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
