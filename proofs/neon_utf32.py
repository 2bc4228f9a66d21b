#!/usr/bin/env python3
"""Proves the NEON conversions of UTF-32: one iteration of each loop, on every path through it, as in `neon_utf16.py`.

docs/verification.md has the list of claims.
"""

from z3 import And, BitVecVal, If, Implies, Not, ULT

import neon_utf16
from avx2_conversions import READ, STATE, WRITTEN, Utf32, all_paths, prove_end, prove_from_units, prove_masks, prove_text_end
from compressed import slots_of, sum_of, sum_of_total
from conversions import FromUtf16, first_of, in_order, is_surrogate, normal, pair, to_utf16, utf32_unit, utf8, wide
from formulas import run_parts
from model import Slice, join
from neon_machine import AARCH64, Neon, WIDTH, symbolic
from neon_utf16 import BEFORE, BOTH, SHARED, name_of, prove_text
from units import written_bytes
from vectors import Output, Total, elements, parts

UTF32 = [AARCH64 + "utf32", AARCH64 + "utf16", *SHARED]
UNITS = 16
ROOM = 4 * WIDTH
ORDERS = [(order, other) for order in BOTH for other in BOTH]


def prove_encode(report, is_big_endian):
    title = f"UTF-8 to UTF-32{name_of(is_big_endian)}"
    for at in (0, WIDTH):
        prove_text(report, title, UTF32, [is_big_endian], 4, utf32_unit(is_big_endian), False, at)
    prove_text_end(report, title, UTF32, [is_big_endian], 4, False, WIDTH, BEFORE, kernel=Neon)


def prove_from_utf32(report, title, function, generics, made):
    expected = Utf32(generics[0], made)
    prove_from_units(report, title, UTF32, function, generics, 4, UNITS, ROOM, expected, lanes=range(UNITS), kernel=Neon)
    prove_end(report, title, UTF32, function, generics, 4 * UNITS, ROOM, kernel=Neon)


def prove_decode(report, is_big_endian):
    prove_from_utf32(report, f"UTF-32{name_of(is_big_endian)} to UTF-8", "decode", [is_big_endian], lambda value: first_of(*utf8(value)))


def prove_to_utf16(report, is_big_endian, other):
    title = f"UTF-32{name_of(is_big_endian)} to UTF-16{name_of(other)}"
    prove_from_utf32(report, title, "to_utf16", [is_big_endian, other], to_utf16(other))


def firsts_of(vector):
    """The mask of the first halves of pairs."""
    return parts(If(is_surrogate(unit, 0xD800), BitVecVal(-1, 16), BitVecVal(0, 16)) for unit in elements(vector, 2))


def prove_from_utf16(report, is_big_endian, other):
    """A vector after any other one, which may end with the first half of a pair."""
    title = f"UTF-16{name_of(is_big_endian)} to UTF-32{name_of(other)}"
    memory, before = symbolic("x", READ + WIDTH), symbolic("b", WIDTH)
    given, units = memory[READ:], FromUtf16(is_big_endian, None)
    values, earlier = [units.unit(given, i) for i in range(WIDTH // 2)], join(before[14:])
    firsts = [is_surrogate(unit, 0xD800) for unit in [earlier, *values]]
    is_paired = And(*(firsts[i] == is_surrogate(unit, 0xDC00) for i, unit in enumerate(values)))
    presets = STATE | {"before": before, "firsts_before": firsts_of(before)}
    count = 0
    for count, (machine, output, result) in enumerate(all_paths(
        UTF32, "from_utf16", lambda: (Slice(memory), Output(WRITTEN + 2 * WIDTH)), generics=[is_big_endian, other], presets=presets, kernel=Neon,
    ), 1):
        state, name = machine.scope, f"{title}, path {count}"
        here = And(*machine.conditions)
        assert result is None
        if getattr(machine, "broken", False):
            assert machine.number(state["read"]) == READ and sum_of_total(Total.of(state["written"])) == (WRITTEN, {}) and not output.stores
            report.prove(f"{name}: stops only for an unpaired surrogate", Implies(here, Not(is_paired)))
            continue
        assert machine.number(state["read"]) == READ + WIDTH
        slots, terms = slots_of(machine, output, WRITTEN)
        assert sum_of_total(Total.of(state["written"])) == sum_of(terms) and len(slots) == 2 * WIDTH
        prove_masks(report, name, machine, here)
        report.prove(f"{name}: all surrogates are paired", Implies(here, is_paired))
        kept = And(*(join(a) == join(b) for a, b in ((state["before"], parts(values)), (state["firsts_before"], firsts_of(parts(values))))))
        report.prove(f"{name}: the vector and its first halves are kept", Implies(here, kept))
        for i, unit in enumerate(values):
            value = If(is_surrogate(unit, 0xDC00), pair(values[i - 1] if i else earlier, unit), wide(unit))
            expected = [(Not(firsts[i + 1]), byte) for byte in in_order(value, other)]
            report.prove(f"{name}: unit {i}", Implies(here, normal(slots[4 * i:4 * i + 4]) == normal(expected)))
    assert count == 3


def prove_from_utf16_end(report, is_big_endian, other):
    """With one byte less there is no iteration. A first half at the end is not counted."""
    title = f"UTF-16{name_of(is_big_endian)} to UTF-32{name_of(other)}"
    before = symbolic("b", WIDTH)
    presets = STATE | {"before": before, "firsts_before": firsts_of(before)}
    is_first = is_surrogate(join(before[14:]), 0xD800)
    for length, room in ((WIDTH - 1, 2 * WIDTH), (WIDTH, 2 * WIDTH - 1)):
        count = 0
        for count, (machine, output, result) in enumerate(all_paths(
            UTF32, "from_utf16", lambda: (Slice(symbolic("x", READ + length)), Output(WRITTEN + room)), generics=[is_big_endian, other],
            presets=presets, kernel=Neon,
        ), 1):
            read, written = map(machine.number, result)
            assert written == WRITTEN and not output.stores and read in (READ, READ - 2)
            is_right = Implies(And(*machine.conditions), is_first == (read == READ - 2))
            report.prove(f"{title}: the end, {length} bytes and room for {room}, path {count}", is_right)
        assert count == 2


def prove_widen_ascii(report, is_big_endian):
    """Two blocks: each byte becomes its unit, up to a block with another byte."""
    block, title = 2 * WIDTH, f"ASCII to UTF-32{name_of(is_big_endian)}"
    for length, room, most in ((2 * block, 8 * block, 2), (2 * block - 1, 8 * block, 1), (2 * block, 8 * block - 1, 1)):
        x = symbolic("x", length)
        ascii_blocks = [And(*(ULT(byte, BitVecVal(0x80, 8)) for byte in x[block * i:block * i + block])) for i in range(most)]
        done = set()
        for machine, output, result in all_paths(UTF32, "widen_ascii", lambda: (Slice(x), Output(room)), generics=[is_big_endian], kernel=Neon):
            here, (read, written) = And(*machine.conditions), map(machine.number, result)
            blocks = read // block
            done.add(blocks)
            assert read == blocks * block and written == 4 * read
            found = written_bytes(output)
            assert set(found) == set(range(written))
            is_right = And(*ascii_blocks[:blocks], *(Not(it) for it in ascii_blocks[blocks:blocks + 1]))
            report.prove(f"{title}, {length} bytes and room for {room}: {blocks} blocks of ASCII", Implies(here, is_right))
            for i in range(read):
                unit = in_order(wide(x[i]), is_big_endian)
                is_unit = And(*(found[4 * i + part][1] == byte for part, byte in enumerate(unit)))
                report.prove(f"{title}, {length} bytes and room for {room}: {blocks} blocks, byte {i}", Implies(here, is_unit))
        assert done == set(range(most + 1))


# `compress` has the proofs of what other files have.
PARTS = {
    "compress": neon_utf16.PARTS["compress"],
    "utf32": [
        *((prove, order) for prove in (prove_encode, prove_decode, prove_widen_ascii) for order in BOTH),
        *((prove, *orders) for prove in (prove_from_utf16, prove_from_utf16_end, prove_to_utf16) for orders in ORDERS),
    ],
}


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
