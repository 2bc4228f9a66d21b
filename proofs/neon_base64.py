#!/usr/bin/env python3
"""Proves the NEON decoder of base64 (`aarch64/base64.rs`) against RFC 4648 section 4.

The lookup, the table, the bits of a block and the loops are proved apart: the loops for any marks of the symbols, where a group of
symbols has always the same bytes. docs/verification.md has the list of claims.
"""

from z3 import And, BitVecVal, Concat, Extract, If, Implies, Not, Or, UGE, ULE, ULT

from avx2_transfer import Vectors, all_are_symbols, prove_base64_line, symbolic
from formulas import run_parts
from model import Array, Pointer, Slice, look_up
from neon_machine import Neon, WIDTH, arch, sources
from paths import paths
from transfer import ALPHABET
from common import written_bytes
from vectors import Output, z3_bool

SYMBOLS, DECODED = 4 * WIDTH, 3 * WIDTH
# The mark of a symbol.
SYMBOL = 0x40


def make_machine(**options):
    return Neon(*arch("base64"), *sources("functions.rs"), **options)


def prove_lookup(report):
    """The entry of each byte below 80, and 0 for the others, for any table."""
    machine, table = make_machine(), [symbolic(f"t{row}_", WIDTH) for row in range(8)]
    block = [symbolic(f"x{i}_", WIDTH) for i in range(4)]
    lookup = machine.call("new", Array([Array(row, "u8") for row in table], "u8"))
    entries = sum(table, [])
    for i, register in enumerate(block):
        found = machine.call("of", register, this=lookup)
        for lane in (0, 1, 7, 8, 14, 15):
            x = register[lane]
            expected = If(ULT(x, 0x80), look_up(entries, Extract(6, 0, x)), BitVecVal(0, 8))
            report.prove(f"lookup: byte {lane} of register {i}", found[lane] == expected)


def prove_values(report):
    """The table: for each symbol the mark and its value, for other bytes 0."""
    rows = make_machine().constant("VALUES")
    found = [Neon.number(value) for row in rows for value in row]
    expected = [SYMBOL | ALPHABET.index(byte) if byte in ALPHABET else 0 for byte in range(0x80)]
    report.prove("base64: the value of each symbol", z3_bool(len(rows) == 8 and found == expected))


def prove_block(report):
    """The bits of a block, and the test that all are symbols, for any values."""
    memory, values, blocks = symbolic("x", SYMBOLS), symbolic("v", SYMBOLS), []

    def of(_, register):
        blocks.append(register)
        return values[len(blocks) - 1::4]

    machine = make_machine(replaced={"of": of})
    lookup = machine.call("new", machine.constant("VALUES"))
    are_symbols, registers = machine.call("decode", lookup, Pointer(memory))
    assert all(a.eq(b) for i in range(4) for a, b in zip(blocks[i], memory[i::4], strict=True)), "other bytes are read"
    premises = [Or(value == 0, And(UGE(value, SYMBOL), ULE(value, SYMBOL | 0x3F))) for value in values]
    is_marked = [UGE(value, SYMBOL) for value in values]
    report.prove("base64: a block is good exactly if all are symbols", Implies(And(*premises), z3_bool(are_symbols) == And(*is_marked)))
    for i in range(WIDTH):
        group = values[4 * i:4 * i + 4]
        bits = Concat(*(register[i] for register in registers))
        report.prove(f"base64: group {i} has its 24 bits", Implies(
            And(*premises[4 * i:4 * i + 4], *is_marked[4 * i:4 * i + 4]), bits == Concat(*(Extract(5, 0, value) for value in group)),
        ))


class Blocks(Vectors):
    """Replaces the function that decodes a block."""

    def decode(self, _, pointer):
        read = pointer.read(SYMBOLS)
        self.read.append(read)
        groups = [self.group(read[i:i + 4]) for i in range(0, SYMBOLS, 4)]
        return all_are_symbols(read), [list(register) for register in zip(*groups)]


def run(name, arguments, decisions, replaced=(), **options):
    blocks = Blocks()
    machine = make_machine(decisions=decisions, replaced={"decode": blocks.decode} | dict(replaced), **options)
    return machine, blocks, machine.run(name, *arguments)


def prove_groups(report):
    """Up to two blocks, with the shortest input and output: each is decoded exactly if all are symbols."""
    for length, room in (
        (2 * SYMBOLS, 2 * DECODED), (2 * SYMBOLS - 1, 2 * DECODED), (2 * SYMBOLS, 2 * DECODED - 1), (SYMBOLS - 1, DECODED), (SYMBOLS, DECODED - 1),
    ):
        x, blocks, results = symbolic("x", length), min(length // SYMBOLS, room // DECODED), []

        def make(decisions):
            output = Output(room)
            machine, _, result = run("decode_groups", [Slice(x), output], decisions)
            return machine, output, result

        for machine, output, result in paths(make, [], lambda conditions: True):
            groups = machine.number(result)
            here, done = And(*machine.conditions), groups // WIDTH
            results.append(groups)
            name, found = f"base64: {groups} groups of {length} symbols to {room} bytes", written_bytes(output)
            expected = [byte for i in range(0, 4 * groups, 4) for byte in Vectors.group(x[i:i + 4])]
            assert set(found) == set(range(3 * groups)) and all(found[i][1].eq(byte) for i, byte in enumerate(expected)), "other bytes are written"
            claims = [all_are_symbols(x[:4 * groups])]
            if done < blocks:
                claims.append(Not(all_are_symbols(x[4 * groups:4 * groups + SYMBOLS])))
            report.prove(f"{name}: stops only for a block with another byte", Implies(here, And(*claims)))
        assert sorted(results) == [WIDTH * i for i in range(blocks + 1)]


def prove_line(report, groups, line_break):
    prove_base64_line(report, groups, line_break, run, SYMBOLS)


PARTS = [
    (prove_lookup,), (prove_values,), (prove_block,), (prove_groups,),
    *((prove_line, groups, line_break) for groups in range(1, 20) for line_break in (b"\n", b"\r\n")),
]


if __name__ == "__main__":
    run_parts(PARTS)
