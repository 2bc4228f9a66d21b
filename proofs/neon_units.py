#!/usr/bin/env python3
"""Proves the NEON conversions of UTF-16 and UTF-32 to single bytes (`narrow` in `aarch64/units.rs`), with the shortest input and
output of an iteration. The other direction is the loop of the portable kernel. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, Implies, Not, ZeroExt

from avx2_conversions import premises_about
from avx2_units import KINDS, has_same_byte, title_of, values_of
from formulas import run_parts
from model import Int, Slice
from neon_machine import Neon, WIDTH, arch
from paths import paths
from units import written_bytes
from vectors import Output, Total

UNITS = ["units", "convert", "latin"]
BLOCK = 2 * WIDTH
# The units before an iteration.
BEFORE = 3


def prove_narrow(report, windows, wide_units, is_big_endian):
    """An iteration of `narrow`: two vectors are written, or given to the portable loop, as what is left after the blocks."""
    size, kind = 4 if wide_units else 2, [windows, wide_units, is_big_endian]
    for units, room, narrowed in (
        (BLOCK, BLOCK, BLOCK), (BLOCK, BLOCK, 9), (BLOCK - 1, BLOCK, 5), (BLOCK, BLOCK - 1, 5), (2 * BLOCK, 2 * BLOCK, BLOCK - 1),
    ):
        # One byte more is no unit.
        memory = [BitVec(f"x{i}", 8) for i in range(size * (BEFORE + units) + 1)]
        given = memory[size * BEFORE:size * (BEFORE + BLOCK)]
        values = values_of(given, size, is_big_endian) if units >= BLOCK else []

        def make(decisions):
            output, calls = Output(BEFORE + room), []

            def narrow(read, write):
                calls.append((read, write))
                return [Int(size * narrowed, "usize"), Int(narrowed, "usize")]

            machine = Neon(*arch(*UNITS), decisions=decisions, presets={"at": Int(BEFORE, "usize")}, replaced={"narrow": narrow})
            return machine, output, calls, machine.run("narrow", Slice(memory), output, constants=kind)

        count = 0
        for machine, output, calls, result in paths(make, []):
            count += 1
            name, found = f"{title_of(*kind)}, {units} units, room for {room}, path {count}", written_bytes(output)
            at = machine.number(machine.scope["at"])
            assert [it for it in machine.generics if it] == [kind] * len(calls), "other conversions"
            if min(units, room) < BLOCK:
                # Only what is left: the rest of the input and of the output.
                ((read, write),) = calls
                assert read.memory == memory[size * BEFORE:] and write.output is output and write.at.equals(Total(BEFORE))
                assert [machine.number(it) for it in result] == [size * (BEFORE + narrowed), BEFORE + narrowed] and not found
            elif found:
                assert result is None and not hasattr(machine, "broken") and not calls and at == BEFORE + BLOCK and set(found) == set(range(BEFORE, at))
                for i, value in enumerate(values):
                    premises = premises_about(machine, given[size * i:size * i + size])
                    is_right = And(has_same_byte(value, windows), ZeroExt(24, found[BEFORE + i][1]) == value)
                    report.prove(f"{name}: unit {i}", Implies(premises, is_right))
            else:
                ((read, write),) = calls
                assert read.memory == given and write.output is output and write.at.equals(Total(BEFORE)) and write.end.equals(Total(BEFORE + BLOCK))
                if narrowed < BLOCK:
                    assert [machine.number(it) for it in result] == [size * (BEFORE + narrowed), BEFORE + narrowed]
                else:
                    assert result is None and not hasattr(machine, "broken") and at == BEFORE + BLOCK
                is_stopped = Not(And(*(has_same_byte(value, windows) for value in values)))
                report.prove(f"{name}: the portable loop has only a block with another byte", Implies(And(*machine.conditions), is_stopped))
        assert count == (1 if min(units, room) < BLOCK else 2)


PARTS = [(prove_narrow, *kind) for kind in KINDS]


if __name__ == "__main__":
    run_parts(PARTS)
