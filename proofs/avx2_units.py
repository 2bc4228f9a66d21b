#!/usr/bin/env python3
"""Proves the AVX2 conversions of UTF-16 and UTF-32 to single bytes (`narrow` in `avx2/units.rs`), with the shortest input and output
of an iteration. The other direction is the loop of the portable kernel. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, Implies, Not, Or, UGE, ULE, ULT, ZeroExt

import formulas
from avx2_pairs import Pairs
from avx2_conversions import premises_about
from formulas import run_parts
from conversions import number
from model import Int, Pointer, Slice, join
from paths import paths
from rust import Source
from units import written_bytes
from vectors import Output, Place, Total

UNITS = [f"arch/x86_64/avx2/{name}.rs" for name in ("units", "utf16")]
WIDTH = 32
# The units before an iteration.
BEFORE = 3
EDGES = [0, 1, 7, 8, 15, 16, 23, 24, 30, 31]
BOTH = (False, True)
KINDS = [(windows, wide_units, is_big_endian) for windows in BOTH for wide_units in BOTH for is_big_endian in BOTH]


class Units(Pairs):
    """A machine whose constant parameters may be numbers in a list of names."""

    def call(self, name, *arguments, this=None, constants=()):
        constants = [int(it) if isinstance(it, str) and it.isdigit() else it for it in constants]
        return super().call(name, *arguments, this=this, constants=constants)


def title_of(windows, wide_units, is_big_endian):
    return f"UTF-{32 if wide_units else 16}{'BE' if is_big_endian else 'LE'} to {'windows-1252' if windows else 'ISO 8859-1'}"


def make_machine(decisions, **options):
    return Units(*(Source(formulas.ROOT / name) for name in UNITS), decisions=decisions, **options)


def values_of(memory, size, is_big_endian):
    """The code units as numbers of 32 bits."""
    found = []
    for i in range(0, len(memory), size):
        unit = join(list(reversed(memory[i:i + size])) if is_big_endian else memory[i:i + size])
        found.append(unit if size == 4 else ZeroExt(16, unit))
    return found


def has_same_byte(value, windows):
    """Whether the character has the byte of the same number. Bytes from 80 to 9F of windows-1252 are left to the portable loop."""
    return And(ULE(value, number(0xFF)), *([Or(ULT(value, number(0x80)), UGE(value, number(0xA0)))] if windows else []))


def prove_stored(report, name, here, memory, values, size, found, at, windows):
    for i, value in enumerate(values):
        if i % WIDTH in EDGES:
            premises = premises_about(here, memory[size * i:size * i + size])
            is_right = And(has_same_byte(value, windows), ZeroExt(24, found[at + i][1]) == value)
            report.prove(f"{name}: unit {i}", Implies(premises, is_right))


def prove_pairs(report, windows, wide_units, is_big_endian):
    """An iteration of `narrow_pairs`: two vectors of bytes are written exactly if each unit has the byte of its number."""
    size = 4 if wide_units else 2
    for units in (2 * WIDTH, 2 * WIDTH - 1):
        memory = [BitVec(f"x{i}", 8) for i in range(size * (BEFORE + units))]
        given = memory[size * BEFORE:]
        values = values_of(given, size, is_big_endian)

        def make(decisions):
            output = Output(BEFORE + units)
            machine = make_machine(decisions, presets={"at": Int(BEFORE, "usize")})
            result = machine.run(
                "narrow_pairs", Pointer(memory), Place(output, Total(0)), Int(BEFORE + units, "usize"), constants=[windows, wide_units, is_big_endian],
            )
            return machine, output, result

        for count, (machine, output, result) in enumerate(paths(make, []), 1):
            name, found = f"{title_of(windows, wide_units, is_big_endian)}, two vectors, path {count}", written_bytes(output)
            at = machine.number(machine.scope["at"])
            if units < 2 * WIDTH:
                assert machine.number(result) == at == BEFORE and not found
            elif getattr(machine, "broken", False):
                assert at == BEFORE and not found
                is_stopped = Not(And(*(has_same_byte(value, windows) for value in values)))
                report.prove(f"{name}: stops only for a unit with another byte", Implies(And(*machine.conditions), is_stopped))
            else:
                assert at == BEFORE + 2 * WIDTH and set(found) == set(range(BEFORE, at))
                prove_stored(report, name, machine, given, values, size, found, BEFORE, windows)


def prove_narrow(report, windows, wide_units, is_big_endian):
    """An iteration of `narrow`: a vector is written, or given to the portable loop, as what is left after the vectors."""
    size = 4 if wide_units else 2
    kind = [windows, wide_units, is_big_endian]
    for units, room, pairs, narrowed in ((WIDTH, WIDTH, 0, 32), (WIDTH, WIDTH, 0, 9), (WIDTH - 1, WIDTH, 0, 5), (WIDTH, WIDTH - 1, 0, 5), (3 * WIDTH - 1, 3 * WIDTH, 64, 5)):
        memory = [BitVec(f"x{i}", 8) for i in range(size * (BEFORE + units) + 1)]
        given = memory[size * BEFORE:size * (BEFORE + units)]
        values = values_of(given, size, is_big_endian)

        def make(decisions):
            output, calls, starts = Output(BEFORE + room), [], []

            def narrow(read, write):
                calls.append((read, write))
                return [Int(size * narrowed, "usize"), Int(narrowed, "usize")]

            def narrow_pairs(pointer, place, count):
                starts.append((pointer, place, machine.number(count)))
                return Int(pairs, "usize")

            machine = make_machine(decisions, presets={"at": Int(BEFORE, "usize")}, replaced={"narrow": narrow, "narrow_pairs": narrow_pairs})
            return machine, output, calls, starts, machine.run("narrow", Slice(memory), output, constants=kind)

        for count, (machine, output, calls, starts, result) in enumerate(paths(make, []), 1):
            name, found = f"{title_of(*kind)}, {units} units, room for {room}, path {count}", written_bytes(output)
            here, at = machine.conditions, machine.number(machine.scope["at"])
            left = min(units, room)
            assert len(starts) == (left >= WIDTH)
            for pointer, place, whole in starts:
                assert pointer.memory is memory and pointer.at == size * BEFORE and place.at.equals(Total(BEFORE)) and whole == left
            if pairs:
                # The loop ends, and the run with it.
                assert machine.broken and at == BEFORE + pairs and not calls and not found
            elif left < WIDTH:
                # Only what is left: the rest of the input and of the output.
                ((read, write),) = calls
                assert read.memory == memory[size * BEFORE:] and write.output is output and write.at.equals(Total(BEFORE))
                assert [machine.number(it) for it in result] == [size * (BEFORE + narrowed), BEFORE + narrowed] and not found
            elif found:
                assert result is None and not calls and at == BEFORE + WIDTH and set(found) == set(range(BEFORE, at))
                prove_stored(report, name, machine, given, values, size, found, BEFORE, windows)
            else:
                ((read, write),) = calls
                assert read.memory == given and write.output is output and write.at.equals(Total(BEFORE)) and write.end.equals(Total(BEFORE + WIDTH))
                if narrowed < WIDTH:
                    assert [machine.number(it) for it in result] == [size * (BEFORE + narrowed), BEFORE + narrowed]
                else:
                    assert result is None and at == BEFORE + WIDTH
                is_stopped = Not(And(*(has_same_byte(value, windows) for value in values)))
                report.prove(f"{name}: the portable loop has only a vector with another byte", Implies(And(*here), is_stopped))


PARTS = [(prove, *kind) for kind in KINDS for prove in (prove_pairs, prove_narrow)]


if __name__ == "__main__":
    run_parts(PARTS)
