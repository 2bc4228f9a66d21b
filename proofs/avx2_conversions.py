#!/usr/bin/env python3
"""Proves one iteration of each conversion loop of the AVX2 kernel, on every path through it, after any text.

An iteration starts inside the input and the output, which have the shortest length that it needs. What it writes is compared with
the definitions of `conversions.py`. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, Implies, Not, Or, is_true, simplify

import formulas
from classes import parts_about
from compressed import Kernel, prove_tables, slots_of, sum_of, sum_of_total
from conversions import Encoded, FromUtf16, name_of, normal, pair_to_utf8, utf16_unit
from formulas import BOUNDARY, run_parts, state
from model import Int, Slice, join
from paths import paths
from rust import Source
from vectors import Mask, Output, Text, Total, z3_bool

WIDTH = 32
# Where the loops are in the input and in the output.
READ, WRITTEN = 4, 3
STATE = {"read": Int(READ, "usize"), "written": Int(WRITTEN, "usize")}


def sources(*names):
    return [Source(formulas.ROOT / f"{name}.rs") for name in names]


AVX2 = "arch/x86_64/avx2/"
SHUFFLES = "arch/shuffles"
UTF16 = [AVX2 + "utf16", SHUFFLES]
TO_UTF16 = [AVX2 + "to_utf16", *UTF16]


def all_paths(files, name, arguments, premises=(), generics=(), presets=(), align=0, kernel=Kernel, **options):
    """Runs an iteration on each path: the machine, the output, and the result if the function returned."""
    def make(decisions):
        machine = kernel(*sources(*files), decisions=decisions, presets=dict(presets), align=align, **options)
        given, output = arguments()
        result = machine.run(name, given, output, constants=generics)
        return machine, output, result

    return paths(make, list(premises))


def premises_about(machine, bytes_):
    return And(*parts_about([simplify(condition) for condition in machine.conditions], bytes_))


def prove_masks(report, name, machine, here):
    obligations = [z3_bool(it) for it in machine.obligations if it is not True]
    if obligations:
        report.prove(f"{name}: the masks are those of the tables", Implies(here, And(*obligations)))


def prove_end(report, title, files, function, generics, length, room, presets=STATE, taken_back=0, **options):
    """With one byte less in the input or in the output, there is no iteration."""
    for given, made in ((length - 1, room), (length, room - 1)):
        memory = [BitVec(f"x{i}", 8) for i in range(READ + given)]
        runs = list(all_paths(files, function, lambda: (Slice(memory), Output(WRITTEN + made)), generics=generics, presets=presets, **options))
        ((machine, output, result),) = runs
        is_right = [machine.number(it) for it in result] == [READ - taken_back, WRITTEN] and not output.stores
        report.prove(f"{title}: nothing is written for {given} bytes and room for {made}", z3_bool(is_right))


LANES = (0, 1, 3, 4, 7, 8, 11, 12, 15, 16, 23, 24, 31)


def prove_from_units(report, title, files, function, generics, size, units, room, expected, align=0, lanes=LANES, **options):
    """A conversion from units of a fixed size: each has the bytes of its character. Returns how many bytes each path reads."""
    length, all_read = size * units, set()
    memory = [BitVec(f"x{i}", 8) for i in range(READ + length)]
    given, count = memory[READ:], 0
    for machine, output, _ in all_paths(
        files, function, lambda: (Slice(memory), Output(WRITTEN + room)), generics=generics, presets=STATE, align=align, **options,
    ):
        names, count = machine.scope, count + 1
        here, name = And(*machine.conditions), f"{title}, path {count}"
        read, written = machine.number(names["read"]) - READ, Total.of(names["written"])
        if getattr(machine, "broken", False) and read == 0:
            assert not output.stores and written.number == WRITTEN and not written.terms
            stopped = given if expected.taken is None else given[:expected.taken]
            report.prove(f"{name}: stops only for a unit without a character", Implies(here, expected.stops(stopped)))
            continue
        all_read.add(read)
        slots, terms = slots_of(machine, output, WRITTEN)
        # A first half at the end is written, but not counted.
        is_split = expected.taken is not None and read == expected.taken - size
        done = (read + size * is_split) // size
        per_unit = len(slots) // done
        if per_unit * done != len(slots) or sum_of_total(written) != sum_of(terms + ([(-2, True)] if is_split else [])):
            # A store of ASCII may write more units than are counted: they are written again.
            per_unit = (written.number - WRITTEN) // done
            assert not written.terms and written.number == WRITTEN + per_unit * done and len(slots) >= per_unit * done
            assert all(kept is True for kept, _ in slots)
        prove_masks(report, name, machine, here)
        report.prove(f"{name}: {read} bytes are read, no more than have a character", Implies(here, expected.reads(given, read, size * done)))
        for i in sorted({*lanes, done - 2, done - 1} & set(range(done))):
            found = normal(slots[i * per_unit:(i + 1) * per_unit])
            if is_split and i == done - 1:
                report.prove(f"{name}: 2 bytes of the first half are not counted", Implies(here, found == normal(expected(given, i, read + size)) ))
                continue
            report.prove(f"{name}: unit {i} has the bytes of its character", Implies(here, found == normal(expected(given, i, read))))
    assert count
    return all_read


class Utf16(FromUtf16):
    """`taken` is the number of bytes that are read where there are surrogates."""

    def __init__(self, is_big_endian, made, taken=WIDTH):
        super().__init__(is_big_endian, made)
        self.taken = taken


def prove_text(report, title, files, generics, unit_bytes, expected, has_pairs, at, align=0):
    """Text to code units: the last byte of each sequence, and the third one of 4 if it has pairs, has its unit."""
    rest = WIDTH + 1
    text = Encoded(at, rest)
    before = unit_bytes * at
    third_before = Mask([text.is_third_of_four(at - 1) if at else False] + [False] * 31, "i32")
    presets = {"at": Int(at, "usize"), "written": Int(before, "usize")} | ({"third_before": third_before} if has_pairs else {})
    lanes = [0, 1, 2, 3, 7, 8, 15, 16, 23, 24, 30, 31]
    for count, (machine, output, _) in enumerate(all_paths(
        files, "encode", lambda: (Text(text.text), Output(unit_bytes * (at + rest))), generics=generics, presets=presets, align=align,
    ), 1):
        names, name = machine.scope, f"{title}, {rest} bytes at {at}, path {count}"
        done = machine.number(names["at"]) - at
        slots, terms = slots_of(machine, output, before)
        assert len(slots) == unit_bytes * WIDTH
        if done == WIDTH:
            assert sum_of_total(Total.of(names["written"])) == sum_of(terms), "the length is not that of the units"
        else:
            assert machine.number(names["written"]) == before + unit_bytes * done and all(kept is True for kept, _ in slots)
        if has_pairs and all(kept is True for kept, _ in slots):
            # ASCII does not follow the third byte of 4.
            claim = Not(z3_bool(names["third_before"].list[0]))
            report.prove(f"{name}: no third byte is before the next vector", Implies(And(*text.premises(at)[0], *machine.conditions), claim))
        for lane in lanes:
            premises, here = text.premises(at + lane)
            ends = here == state(BOUNDARY)
            third = text.is_third_of_four(at + lane) if has_pairs else z3_bool(False)
            bytes_ = text.text[max(at + lane - 4, 0):at + lane + 2]
            given = And(*premises, premises_about(machine, bytes_))
            unit = slots[unit_bytes * lane:unit_bytes * lane + unit_bytes]
            kept = z3_bool(unit[0][0])
            assert all(z3_bool(other).eq(kept) for other, _ in unit)
            claims = [kept == Or(ends, third), Implies(kept, join([byte for _, byte in unit]) == join(expected(text, at + lane, third)))]
            if has_pairs and lane == WIDTH - 1 and kept is not True and not is_true(kept):
                claims.append(z3_bool(names["third_before"].list[0]) == third)
            report.prove(f"{name}: byte {lane}", Implies(given, And(*claims)))


def prove_text_end(report, title, files, generics, unit_bytes, has_pairs, width=WIDTH, presets=(), **options):
    """No iteration without a byte after the vector. The units of an unfinished sequence are not counted."""
    at = width
    x, written = [BitVec(f"x{i}", 8) for i in range(2 * at)], unit_bytes * at
    presets = {"at": Int(at, "usize"), "written": Int(written, "usize"), **dict(presets)}
    for inside in range(4):
        cuts = []

        def truncate(text, length):
            cuts.append((text, length))
            return Text(text.memory[:at - inside])

        runs = list(all_paths(
            files, "encode", lambda: (Text(x), Output(2 * written)), generics=generics, presets=presets, replaced={"truncate": truncate}, **options,
        ))
        ((machine, output, result),) = runs
        ((text, length),) = cuts
        is_right = not output.stores and text.memory == x and machine.number(length) == at
        # The third byte of 4 has a unit.
        expected = [at - inside, written - 2 * (has_pairs and inside == 3)]
        is_right = is_right and [machine.number(it) for it in result] == expected
        report.prove(f"{title}: the end, after {inside} bytes of a sequence", z3_bool(is_right))


def prove_units(report, title, files, function, generics, size, units, room, expected):
    prove_from_units(report, title, files, function, generics, size, units, room, expected, lanes=range(units))
    prove_end(report, title, files, function, generics, size * units, room)


def prove_utf16(report, is_big_endian):
    title, expected = f"{name_of(16, is_big_endian)} to UTF-8", Utf16(is_big_endian, pair_to_utf8)
    prove_units(report, title, UTF16, "decode", [is_big_endian], 2, 32, 100, expected)
    # A block of ASCII that follows is converted, too.
    units, title = 32 + 64, f"{title}, with ASCII that follows"
    assert 2 * units in prove_from_units(report, title, UTF16, "decode", [is_big_endian], 2, units, 100, expected, lanes=range(units))


def prove_to_utf16(report, is_big_endian):
    title = f"UTF-8 to {name_of(16, is_big_endian)}"
    for at in (0, 64):
        prove_text(report, title, TO_UTF16, [is_big_endian], 2, utf16_unit(is_big_endian), True, at)
    prove_text_end(report, title, TO_UTF16, [is_big_endian], 2, True)


def prove_table(report, name):
    prove_tables(report, sources(name))


BOTH = (False, True)
# By the file with the loop.
GROUPS = {
    "utf16": [*((prove_utf16, order) for order in BOTH)],
    "to_utf16": [(prove_to_utf16, order) for order in BOTH],
}


def parts():
    return [(prove_table, SHUFFLES), *(part for group in GROUPS.values() for part in group)]


if __name__ == "__main__":
    run_parts(parts())
