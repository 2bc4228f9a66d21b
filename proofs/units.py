#!/usr/bin/env python3
"""Proves the AVX-512 conversions between single bytes and code units (`units.rs`), and the groups of four vectors of `latin.rs`.

The characters of windows-1252 are those of Python's table. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, BitVecVal, Extract, If, Implies, Or, UGE, ULT, ZeroExt

import formulas
from classes import parts_about
from conversions import LANES, first_of, in_order, normal, number, slots_of, utf8, wide, windows_1252, windows_words
from formulas import run_parts, within
from library import Library, Tuple, as_int
from model import Slice, join
from paths import paths
from rust import Source
from vectors import Output, Total, z3_bool

UNITS = [f"arch/x86_64/avx512/{name}.rs" for name in ("units", "utf16", "utf32")] + ["../encoding/windows_1252.rs"]
LATIN = ["arch/x86_64/avx512/latin.rs"]
WIDTH, GROUP = 64, 256
BOTH = (False, True)


def sources(*names):
    return [Source(formulas.ROOT / name) for name in names]


def symbolic(name, count):
    return [BitVec(f"{name}{i}", 8) for i in range(count)]


def character(x, windows):
    """The number of the character of a byte."""
    value = wide(x)
    for byte in range(0x80, 0xA0) if windows else ():
        value = If(x == byte, number(windows_1252(byte)), value)
    return value


def byte_of(value, windows):
    """The byte of a character, and whether there is one."""
    c1 = [(windows_1252(byte), byte) for byte in range(0x80, 0xA0)] if windows else []
    has_byte = ULT(value, number(0x100))
    if windows:
        has_byte = Or(And(has_byte, Or(ULT(value, number(0x80)), UGE(value, number(0xA0)))), *(value == unit for unit, _ in c1))
    found = value
    for unit, byte in c1:
        found = If(value == unit, number(byte), found)
    return found, has_byte


def written_bytes(output):
    """The bytes of the output after all stores, and the condition that each is written."""
    found = {}
    for place, lanes, mask in output.stores:
        assert not place.terms
        for i, lane in enumerate(lanes):
            kept = True if mask is None else mask[i]
            if kept is not False:
                found[place.number + i] = (kept, lane)
    return found


def prove_widen(report, windows, wide_units, is_big_endian):
    """Each byte becomes the code unit of its character, for each alignment of the output."""
    size = 4 if wide_units else 2
    title = f"{'windows-1252' if windows else 'ISO 8859-1'} to UTF-{8 * size}{'BE' if is_big_endian else 'LE'}"
    files = sources(*UNITS)
    for length, head in ((0, 0), (1, 0), (WIDTH // size, 1), (3 * WIDTH // size + 1, size), (2 * WIDTH // size - 1, WIDTH - size)):
        x, output = symbolic("x", length), Output(size * length)
        machine = Library(*files, align_offset=head)
        read, written = machine.run("widen", Slice(x), output, constants=[windows, wide_units, is_big_endian])
        assert (machine.number(read), machine.number(written)) == (length, size * length)
        found = written_bytes(output)
        assert set(found) == set(range(size * length)) and all(kept is True for kept, _ in found.values())
        for i in sorted({0, 1, length // 3, length // 2, length - 2, length - 1} & set(range(length))):
            value = character(x[i], windows)
            unit = value if wide_units else Extract(15, 0, value)
            claim = join([found[size * i + part][1] for part in range(size)]) == join(in_order(unit, is_big_endian))
            report.prove(f"{title}: {length} bytes, the output aligned after {head}, byte {i}", claim)


def prove_narrow(report, windows, wide_units, is_big_endian):
    """The units before the first one without a byte become bytes."""
    size = 4 if wide_units else 2
    title = f"UTF-{8 * size}{'BE' if is_big_endian else 'LE'} to {'windows-1252' if windows else 'ISO 8859-1'}"
    files = sources(*UNITS)
    for units in (1, 31, 32, 33, WIDTH):
        memory = symbolic("x", size * units)
        values = []
        for i in range(units):
            bytes_ = memory[size * i:size * i + size]
            unit = join(list(reversed(bytes_)) if is_big_endian else bytes_)
            values.append(unit if wide_units else ZeroExt(16, unit))

        def make(decisions):
            machine, output = Library(*files, decisions=decisions), Output(units)
            machine.run("narrow", Slice(memory), output, constants=[windows, wide_units, is_big_endian])
            return machine, output

        for count, (machine, output) in enumerate(paths(make, [], lambda conditions: True), 1):
            at, found = as_int(machine.scope["at"], "usize").bits(), written_bytes(output)
            here, name = machine.conditions, f"{title}: {units} units, path {count}"
            expected = [byte_of(value, windows) for value in values]
            taken = BitVecVal(units if len(found) == WIDTH else min(units, 32), 64)
            for i in reversed(range(min(units, len(found)))):
                taken = If(expected[i][1], taken, BitVecVal(i, 64))
            if len(found) == WIDTH:
                # Also a lane of each double word, because some paths move these.
                for i in sorted({*LANES, *range(2, WIDTH, 4), 32, 33, 46, 47, 48, 49, 62, 63}):
                    premises = And(*parts_about(here, memory[size * i:size * i + size]))
                    is_right = And(expected[i][1], ZeroExt(24, found[i][1]) == expected[i][0])
                    report.prove(f"{name}: unit {i}", Implies(premises, is_right))
                assert machine.number(machine.scope["at"]) == WIDTH
                continue
            report.prove(f"{name}: stops at the first unit without a byte", Implies(And(*here), at == taken))
            kept = And(*(z3_bool(found[i][0]) == ULT(BitVecVal(i, 64), at) for i in range(min(units, 32))))
            report.prove(f"{name}: the units before it are written", kept)
            for i in LANES:
                if i < min(units, 32):
                    is_right = Implies(expected[i][1], ZeroExt(24, found[i][1]) == expected[i][0])
                    report.prove(f"{name}: unit {i}", is_right)


# The lengths of the input and of the output of `decode`: the shortest of an iteration of each loop, and one byte less.
DECODED = [
    (False, GROUP, 4 * GROUP, GROUP), (False, GROUP - 1, 4 * GROUP, WIDTH), (False, GROUP, 4 * GROUP - 1, WIDTH),
    *((windows, WIDTH, 4 * WIDTH, WIDTH) for windows in BOTH), (False, WIDTH - 1, 4 * WIDTH, 0), (False, WIDTH, 4 * WIDTH - 1, 0),
]


def prove_decode(report, windows, length, room, expected):
    """The bytes that an iteration reads: each lane has the bytes of its character."""
    x, files = symbolic("x", length), sources(*LATIN)
    name = f"{'windows-1252' if windows else 'ISO 8859-1'} to UTF-8, {length} bytes to {room}"

    def make(decisions):
        constants = {"WINDOWS_1252_C1": windows_words()}
        machine, output = Library(*files, decisions=decisions, constants=constants), Output(room)
        machine.run("decode", Slice(x), output, constants=[windows])
        return machine, output

    for count, (machine, output) in enumerate(paths(make, [], lambda conditions: True), 1):
        names = machine.scope
        assert machine.number(names["read"]) == expected, "an iteration of another loop"
        slots = slots_of(output, names["written"])
        if not expected:
            assert not slots
            continue
        per_byte = len(slots) // expected
        for at in (vector * WIDTH + i for vector in range(expected // WIDTH) for i in (0, 31, 32, 63)):
            premises = And(*parts_about(machine.conditions, [x[at]]))
            found = normal(slots[at * per_byte:(at + 1) * per_byte])
            is_right = found == normal(first_of(*utf8(character(x[at], windows))))
            report.prove(f"{name}, path {count}: byte {at}", Implies(premises, is_right))


class Groups(Library):
    """The machine of `encode_groups`. `marks` are those with which a loop ended."""

    marks = None

    def do_break(self, names):
        self.marks = names["marks"]
        super().do_break(names)


def prove_encode_groups(report, before):
    """Four vectors of UTF-8 to ISO 8859-1, at the start of the input or after a vector."""
    x, files = symbolic("x", before + GROUP), sources(*LATIN)
    for length, room in ((GROUP - 1, GROUP), (GROUP, GROUP - 1)):
        result = Library(*files).run("encode_groups", Slice(x[:length]), Output(room))
        assert list(map(Library.number, result)) == [0, 0], "a group is read that is not there"

    def make(decisions):
        machine, output = Groups(*files, decisions=decisions, presets={"read": as_int(before, "usize")}), Output(GROUP)
        machine.run("encode_groups", Slice(x), output)
        return machine, output

    def is_good(at):
        """Whether a byte of the group is allowed after the one before it."""
        byte = x[before + at]
        p1 = x[before + at - 1] if before + at else BitVecVal(0, 8)
        is_tail = within(byte, 0x80, 0xBF)
        return p1, byte, Or(
            And(ULT(p1, BitVecVal(0xC0, 8)), Or(ULT(byte, BitVecVal(0x80, 8)), UGE(byte, BitVecVal(0xC0, 8)))),
            And(p1 == 0xC2, is_tail, UGE(byte, BitVecVal(0xA0, 8))),
            And(p1 == 0xC3, is_tail),
        )

    converted = broken = 0
    for count, (machine, output) in enumerate(paths(make, [], lambda conditions: True), 1):
        title = f"UTF-8 to ISO 8859-1, a group after {before} bytes, path {count}"
        if machine.marks is not None:
            broken += 1
            for i, lane in enumerate(machine.marks):
                all_good = And(*(is_good(WIDTH * vector + i)[-1] for vector in range(4)))
                report.prove(f"{title}: lane {i} is not marked if its bytes are converted", Implies(all_good, lane & 0x80 == 0))
            continue
        converted += 1
        assert machine.number(machine.scope["read"]) == before + GROUP
        slots = slots_of(output, machine.scope["written"])
        for vector in range(4):
            for i in (0, 31, 32, 63):
                at = WIDTH * vector + i
                p1, byte, good = is_good(at)
                premises = And(*parts_about(machine.conditions, [p1, byte]))
                kept, lane = slots[at]
                expected = If(p1 == 0xC3, byte + 0x40, byte)
                is_right = And(z3_bool(kept) == ULT(byte, BitVecVal(0xC0, 8)), Implies(z3_bool(kept), lane == expected))
                report.prove(f"{title}: byte {at}", Implies(premises, And(good, is_right)))
    assert converted and broken


def prove_end_of_groups(report):
    """After the last group, a lead byte at its end is not read."""
    x, read, written = symbolic("x", 2 * GROUP - 1), GROUP, 5
    presets = {"read": as_int(read, "usize"), "written": as_int(written, "usize")}
    claims = []

    def make(decisions):
        machine = Library(*sources(*LATIN), decisions=decisions, presets=presets)
        return machine, machine.run("encode_groups", Slice(x), Output(2 * GROUP))

    for machine, result in paths(make, [], lambda conditions: True):
        taken, made = (as_int(part, "usize").bits() for part in result)
        expected = If(UGE(x[read - 1], BitVecVal(0xC0, 8)), BitVecVal(read - 1, 64), BitVecVal(read, 64))
        claims.append(Implies(And(*machine.conditions), And(taken == expected, made == written)))
    report.prove("UTF-8 to ISO 8859-1, the end of the groups: a lead byte is left", And(*claims))


def prove_encode(report):
    """An iteration of `encode` reads groups and then at most a group of vectors. It is the last one if it does not read all of these.

    The last byte of the vectors may be a lead byte, which is not read.
    """
    files, x = sources(*LATIN), symbolic("x", 4 * GROUP)
    for start in (2 * GROUP, 3 * GROUP + WIDTH):
        for read in (0, WIDTH, GROUP - 2, GROUP - 1, GROUP):
            output, calls = Output(4 * GROUP), []

            def called(name, given, place, result):
                calls.append((name, given.memory, Total.of(place.at).number))
                return Tuple(result)

            machine = Library(*files, replaced={
                "encode_groups": lambda *given: called("groups", *given, [start, 7]), "encode_vectors": lambda *given: called("vectors", *given, [read, 5]),
            })
            result = machine.run("encode", Slice(x), output)
            found = [machine.number(machine.scope[name]) for name in ("read", "written")] if result is None else list(map(machine.number, result))
            is_right = calls == [("groups", x, 0), ("vectors", x[start:start + GROUP], 7)] and found == [start + read, 12] and (result is None) == (read >= GROUP - 1)
            report.prove(f"UTF-8 to ISO 8859-1: {start} bytes of groups and {read} of vectors", z3_bool(is_right))


def parts():
    kinds = [(windows, wide_units, is_big_endian) for windows in BOTH for wide_units in BOTH for is_big_endian in BOTH]
    return {
        "units": [(prove, *kind) for kind in kinds for prove in (prove_widen, prove_narrow)],
        "latin": [*((prove_decode, *shortest) for shortest in DECODED), (prove_encode_groups, 0), (prove_encode_groups, WIDTH), (prove_end_of_groups,), (prove_encode,)],
    }


if __name__ == "__main__":
    run_parts([part for proofs in parts().values() for part in proofs])
