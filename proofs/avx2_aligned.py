#!/usr/bin/env python3
"""Proves the loops of AVX2 that the programs for an iteration replace: those over ASCII and over units that are not surrogates, which
start aligned in the output after the first block (`widen_ascii`, `widen_units`, `narrow_units`, `encode_ascii` and `decode_ascii` of
UTF-32), and the groups of four vectors in `decode` of `latin.rs`. docs/verification.md has the list of claims.
"""

from z3 import And, Bool, Extract, Implies, Not, Or, ULE, ULT

from avx2_conversions import BOTH, LATIN, PAIRS, READ, STATE, UNITS_32, UTF32, WIDTH, WRITTEN, sources
from avx2_latin import sign, symbolic
from compressed import Kernel, sum_of_total
from conversions import in_order, is_surrogate, name_of, wide, windows_words
from formulas import run_parts, within
from library import Option
from model import Int, Slice, join
from paths import paths
from units import written_bytes
from vectors import Output, Place, Text, Total, z3_bool

GROUP = 4 * WIDTH


class Units:
    """A conversion between units of two sizes. A unit is converted if it is `good`; `made` has the bytes of its number."""

    def __init__(self, sizes, orders, good):
        (self.read, self.written), self.orders, self.good = sizes, orders, good

    def values(self, memory):
        found = []
        for i in range(0, len(memory) - self.read + 1, self.read):
            bytes_ = memory[i:i + self.read]
            found.append(wide(join(list(reversed(bytes_)) if self.orders[0] else bytes_)))
        return found

    def made(self, value):
        return in_order(value if self.written == 4 else Extract(8 * self.written - 1, 0, value), self.orders[1])


def prove_blocks(report, title, files, function, units, block, tail, pointer, generics, is_given=False):
    """Up to three blocks, of which the second may overlap the first. It starts at a multiple of a vector in the output.

    A block is converted exactly if all of its units are, and if `tail` more units may be read and written. If `is_given`, the caller has
    found the first block, and there is room for all of the input.
    """
    counts_output = function in ("narrow_units", "decode_ascii")
    title = f"{title}, the output at {pointer}"
    second = block - pointer % WIDTH // units.written
    starts = [0, second, second + block, second + 2 * block]
    most = second + 2 * block + tail
    for length, room in (
        *((units.read * count, units.written * count) for count in (most, block + tail, block + tail - 1)),
        (units.read * most - 1, units.written * most), (units.read * most, units.written * most - 1),
    ):
        limit = min(length // units.read, room // units.written)
        if (function == "narrow_units" or is_given) and limit < block or is_given and room < units.written * length:
            # Their requirements.
            continue
        x, results = symbolic("x", length), set()
        values, name = units.values(x), f"{title}, {length} bytes to {room}"
        is_known = And(*map(units.good, values[:block])) if is_given else z3_bool(True)

        def make(decisions):
            output = Output(room)
            machine = Kernel(*sources(*files), decisions=decisions, align=pointer)
            start = symbolic("before", READ)
            arguments = (Slice(start + x), Int(READ, "usize"), Place(output, Total(0))) if is_given else (Slice(x), output)
            return machine, output, machine.call(function, *arguments, constants=generics)

        for machine, output, result in paths(make, [], lambda conditions: True):
            here = And(is_known, *machine.conditions)
            result = [machine.number(it) for it in result] if isinstance(result, list) else machine.number(result)
            if function == "widen_ascii":
                assert result[1] == units.written * result[0]
                result = result[0]
            counted = units.written if counts_output else units.read
            done = result // counted
            results.add(done)
            assert done * counted == result
            found, path = written_bytes(output), f"{name}, {done} units"
            premise = And(*map(units.good, values[:done]))
            if done:
                report.prove(f"{path}: they are converted", Implies(here, premise))
            if done in starts and done + block + tail <= limit:
                report.prove(f"{path}: stops only for another unit", Implies(here, Not(And(*map(units.good, values[done:done + block])))))
            if not done:
                continue
            is_right = [
                found[units.written * i + part][1] == byte for i, value in enumerate(values[:done]) for part, byte in enumerate(units.made(value))
            ]
            report.prove(f"{path}: each has the bytes of its number", Implies(premise, And(*is_right)))
            later = [place.number for place, _, _ in output.stores[units.written * block // WIDTH:]]
            if later:
                is_aligned = all((pointer + at) % WIDTH == pointer % units.written for at in later)
                report.prove(f"{path}: the blocks after the first are aligned", z3_bool(is_aligned))
        expected = {0 if not is_given else second} | {end for at, end in zip(starts, starts[1:]) if at + block + tail <= limit}
        report.prove(f"{name}: the blocks are where they are expected", z3_bool(results == expected))


POINTERS = (0, 20, 31)


def prove_widen_ascii(report, is_big_endian, pointer):
    units = Units((1, 4), (False, is_big_endian), lambda value: ULT(value, 0x80))
    prove_blocks(report, f"ASCII to {name_of(32, is_big_endian)}", UTF32, "widen_ascii", units, 2 * WIDTH, 8, pointer, [is_big_endian])


def prove_encode_ascii(report, is_big_endian, pointer):
    units = Units((1, 4), (False, is_big_endian), lambda value: ULT(value, 0x80))
    title = f"ASCII in text to {name_of(32, is_big_endian)}"
    prove_blocks(report, title, UTF32, "encode_ascii", units, WIDTH, 1, pointer, [is_big_endian], is_given=True)


def prove_decode_ascii(report, is_big_endian, pointer):
    units = Units((4, 1), (is_big_endian, False), lambda value: ULT(value, 0x80))
    prove_blocks(report, f"ASCII in {name_of(32, is_big_endian)} to UTF-8", UTF32, "decode_ascii", units, WIDTH, 0, pointer, [is_big_endian])


def prove_widen_units(report, order, other, pointer):
    units = Units((2, 4), (order, other), lambda value: Not(is_surrogate(value & 0xF800, 0xD800)))
    prove_blocks(report, f"{name_of(16, order)} to {name_of(32, other)}", UNITS_32, "widen_units", units, WIDTH, 0, pointer, [order, other])


def prove_narrow_units(report, order, other, pointer):
    units = Units((4, 2), (order, other), lambda value: And(ULE(value, 0xFFFF), Not(is_surrogate(value & 0xF800, 0xD800))))
    prove_blocks(report, f"{name_of(32, order)} to {name_of(16, other)}", UNITS_32, "narrow_units", units, WIDTH // 2, 0, pointer, [order, other])


def prove_caller(report, function, inner, size):
    """What the loops over units return is added to both positions, once in an iteration. The vector after it is read only if it is
    whole and there is room for it."""
    for length in (0, 2, 64):
        read, written = (length, 2 * length) if inner == "widen_units" else (2 * length, length)
        x = symbolic("x", READ + read + size)
        # A byte less than the next vector, so that the iteration ends after the loop.
        for given, room in ((size - 1, 4 * WIDTH), (size, 2 * WIDTH - 1)):
            calls, given = [], x[:READ + read + given]

            def called(*operands):
                calls.append(operands)
                return Int(length, "usize")

            machine = Kernel(*sources(*UNITS_32), presets=STATE, replaced={inner: called}, decisions=[False] * 4)
            machine.run(function, Slice(given), Output(WRITTEN + written + room), constants=[False, False])
            ends = [machine.number(machine.scope[name]) for name in ("read", "written")]
            expected = [READ + read, WRITTEN + written] if calls else [READ, WRITTEN]
            is_right = ends == expected and len(calls) == (1 if length else 0)
            is_right = is_right and all(rest.memory == given[READ:] and place.at.equals(Total(WRITTEN)) for rest, place in calls)
            report.prove(f"{function}: {length} bytes of `{inner}` before {len(given) - READ - read} bytes and room for {room}", z3_bool(is_right))


def prove_ascii_callers(report):
    """What the loops over ASCII of UTF-32 return is added to both positions, after the bytes that the caller has converted itself."""
    block, at = 2 * WIDTH, 2 * WIDTH
    for count in (1, 40):
        for function, inner, given, presets, first, converted, sizes in (
            ("decode", "decode_ascii", Slice(symbolic("x", READ + block + 4 * count)), STATE, (READ, WRITTEN), (block, WIDTH // 2), (4, 1)),
            ("encode", "encode_ascii", Text(symbolic("x", at + WIDTH + count)), {
                "at": Int(at, "usize"), "written": Int(4 * at - 8, "usize"),
            }, (at, 4 * at - 8), (0, 0), (1, 4)),
        ):
            calls = []

            def called(*operands):
                calls.append(operands)
                return Int(count, "usize")

            machine = Kernel(*sources(*UTF32), presets=presets, replaced={inner: called}, decisions=[True])
            machine.run(function, given, Output(4 * len(given.memory)), constants=[False])
            ends = [machine.number(machine.scope[name]) for name in presets]
            starts = [sum(part) for part in zip(first, converted)]
            # The place in the input is that of a slice, or an index.
            rest, *index, place = calls[0]
            expected_rest = given.memory if index else given.memory[starts[0]:]
            is_right = len(calls) == 1 and rest.memory == expected_rest and [machine.number(it) for it in index] in ([], [starts[0]])
            is_right = is_right and place.at.equals(Total(starts[1])) and ends == [start + size * count for start, size in zip(starts, sizes)]
            report.prove(f"{function} of UTF-32: {count} bytes of `{inner}`", z3_bool(is_right))


class Decodes:
    """The calls of an iteration of `decode`, whose functions have any result. `lengths` are those of the vectors."""

    def __init__(self, machine, lengths):
        self.machine, self.lengths, self.calls, self.masks, self.ascii = machine, lengths, [], None, []

    def decoded(self, name, x, mask, place, most):
        assert place.at.most() + most <= place.output.length, "the requirements of a vector"
        self.calls.append((name, x, mask, place))
        return Int(self.lengths[name], "usize")

    def decode_two(self, x, mask, place):
        return self.decoded("decode_two", x, mask, place, 2 * WIDTH)

    def decode_three(self, x, mask, place):
        return self.decoded("decode_three", x, mask, place, 3 * WIDTH + 4)

    def only(self, masks):
        self.masks = masks
        for i in range(4):
            if self.machine().decide(Bool(f"only_{i}")):
                return Option(Int(i, "usize"), True)
        return Option()

    def copy_ascii(self, given, room):
        self.ascii.append((given, room))
        return Int(0 if self.machine().decide(Bool("is_not_ascii")) else GROUP, "usize")


def prove_decode_groups(report, windows):
    """An iteration of `decode` with the shortest input and output of a group, and one byte less, for vectors of any length.

    `avx2_conversions.py` has the bytes of a vector.
    """
    title, most = ("windows-1252" if windows else "ISO 8859-1") + " to UTF-8, a group", 3 * WIDTH + 4 if windows else 2 * WIDTH
    for length, room in ((GROUP, 4 * most), (GROUP - 1, 4 * most), (GROUP, 4 * most - 1)):
        for lengths in ({"decode_two": 2 * WIDTH, "decode_three": 3 * WIDTH}, {"decode_two": WIDTH, "decode_three": WIDTH + 1}):
            x = symbolic("x", READ + GROUP + length)

            def make(decisions):
                output, calls = Output(WRITTEN + GROUP + room), Decodes(lambda: machine, lengths)
                replaced = {name: getattr(calls, name) for name in ("decode_two", "decode_three", "only", "copy_ascii")}
                constants = {"WINDOWS_1252_C1": windows_words()}
                machine = Kernel(*sources(*LATIN), decisions=decisions, presets=STATE, replaced=replaced, constants=constants)
                machine.run("decode", Slice(x), output, constants=[windows])
                return machine, output, calls

            for count, (machine, output, calls) in enumerate(paths(make, [], lambda conditions: True), 1):
                if any(it.eq(Bool("is_not_ascii")) for it in machine.conditions):
                    # There is more input than a group.
                    continue
                name, here = f"{title}, {length} bytes to {room}, vectors of {lengths['decode_two']}, path {count}", And(*machine.conditions)
                ((given, part),) = calls.ascii
                assert given.memory == x[READ:] and part.at.equals(Total(WRITTEN)) and part.output is output
                read, written = READ + GROUP, WRITTEN + GROUP
                is_group = (length, room) == (GROUP, 4 * most)
                assert (calls.masks is not None) == is_group
                stores, vectors = written_bytes(output), 1
                if is_group:
                    bits = [bit for mask in calls.masks for bit in mask.list[:WIDTH]]
                    report.prove(f"{name}: the masks", And(*(z3_bool(bit) == sign(byte) for bit, byte in zip(bits, x[read:], strict=True))))
                    chosen = [i for i in range(4) if any(it.eq(Bool(f"only_{i}")) for it in machine.conditions)]
                    if chosen:
                        # The vectors before the one that is not ASCII are copied: `only` is proved by `avx2_latin.py`.
                        assert set(stores) == set(range(written, written + GROUP))
                        report.prove(f"{name}: the group is copied", And(*(stores[written + i][1] == x[read + i] for i in range(GROUP))))
                        read, written = read + WIDTH * chosen[0], written + WIDTH * chosen[0]
                    else:
                        assert not stores
                        vectors = 4
                else:
                    assert not stores
                assert len(calls.calls) == vectors
                for i, (function, vector, mask, place) in enumerate(calls.calls):
                    bytes_ = x[read:read + WIDTH]
                    assert all(a.eq(b) for a, b in zip(vector, bytes_, strict=True)) and sum_of_total(place.at) == (written, {}), "another vector"
                    report.prove(f"{name}: the bytes that are not ASCII of vector {i}", And(*(z3_bool(bit) == sign(byte) for bit, byte in zip(mask.list, bytes_))))
                    assert windows or function == "decode_two"
                    if windows:
                        # Sequences of 3 are expected in all vectors of a group, or in none.
                        tested = x[READ + GROUP:READ + 2 * GROUP] if vectors == 4 else bytes_
                        is_c1 = Or(*(within(byte, 0x80, 0x9F) for byte in tested))
                        report.prove(f"{name}: vector {i}: sequences of 3", Implies(here, is_c1 == z3_bool(function == "decode_three")))
                    read, written = read + WIDTH, written + lengths[function]
                assert [machine.number(machine.scope[it]) for it in ("read", "written")] == [read, written]


PARTS = {
    "utf32/utf8": [
        (prove, order, pointer) for prove in (prove_widen_ascii, prove_encode_ascii, prove_decode_ascii) for order in BOTH for pointer in POINTERS
    ],
    "utf32/utf16": [
        *((prove, *orders, pointer) for prove in (prove_widen_units, prove_narrow_units) for orders in PAIRS for pointer in POINTERS),
    ],
    "latin": [(prove_decode_groups, windows) for windows in BOTH],
}
# The functions with the other loops, of which `avx2_conversions.py` has the rest.
CALLERS = {
    "utf32/utf8": [(prove_ascii_callers,)],
    "utf32/utf16": [(prove_caller, "from_utf16", "widen_units", WIDTH), (prove_caller, "to_utf16", "narrow_units", 2 * WIDTH)],
}


if __name__ == "__main__":
    run_parts([part for group in (PARTS, CALLERS) for parts in group.values() for part in parts])
