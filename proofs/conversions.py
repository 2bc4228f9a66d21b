#!/usr/bin/env python3
"""Proves one iteration of each conversion loop of the AVX-512 kernel, with an SMT solver.

An iteration reads a vector of symbolic bytes after any text, on every path through it. What it writes is compared with the
definitions of the encodings: RFC 3629 section 3, RFC 2781 section 2.1, and the numbers of the characters. docs/verification.md
has the list of claims.
"""

from z3 import And, BitVec, BitVecVal, Concat, Extract, If, Implies, LShR, Not, Or, UGE, UGT, ULE, ULT, ZeroExt, is_false, simplify, substitute

import formulas
from formulas import BOUNDARY, run_parts, state, step
from model import Array, Int, Slice, join, split
from paths import Paths, paths
from rust import Source
from vectors import Mask, Output, Packed, Place, Text, Total, z3_bool

BITS = 32


def number(value):
    return BitVecVal(value, BITS)


def wide(value):
    return ZeroExt(BITS - value.size(), value)


def byte_of(value):
    return Extract(7, 0, value)


def utf8(value):
    """The bytes of a character, and their number (RFC 3629 section 3)."""
    def tail(shift):
        return 0x80 | LShR(value, shift) & 0x3F

    forms = [
        (1, ULT(value, number(0x80)), [value]),
        (2, ULT(value, number(0x800)), [0xC0 | LShR(value, 6), tail(0)]),
        (3, ULT(value, number(0x10000)), [0xE0 | LShR(value, 12), tail(6), tail(0)]),
    ]
    found = [0xF0 | LShR(value, 18), tail(12), tail(6), tail(0)]
    length = number(4)
    for count, here, bytes_ in reversed(forms):
        bytes_ = bytes_ + [number(0)] * (4 - count)
        found = [If(here, a, b) for a, b in zip(bytes_, found)]
        length = If(here, number(count), length)
    return [byte_of(part) for part in found], length


def in_order(value, is_big_endian):
    return list(reversed(split(value))) if is_big_endian else split(value)


def is_surrogate(unit, first):
    return unit & 0xFC00 == first


def pair(high, low):
    return 0x10000 + ((wide(high) & 0x3FF) << 10) + (wide(low) & 0x3FF)


def normal(slots):
    """The bytes whose condition is true as one number, and how many they are."""
    value, length = BitVecVal(0, 64), BitVecVal(0, 64)
    for kept, found in slots:
        kept = z3_bool(kept)
        value = If(kept, value | ZeroExt(56, found) << (8 * length), value)
        length = If(kept, length + 1, length)
    return Concat(length, value)


def first_of(bytes_, length):
    """The first bytes as slots."""
    return [(UGT(length, number(i)), found) for i, found in enumerate(bytes_)]


def slots_of(output, written):
    """All bytes written, each with the condition that it is a part of the output. The stores follow each other."""
    slots, at = [], Total(0)
    for place, lanes, mask in output.stores:
        assert mask is None and place.equals(at), "a store is not at the end of the bytes before it"
        if isinstance(lanes, Packed):
            kept = [bit for bit in lanes.mask for _ in range(lanes.width)]
            slots += list(zip(kept, lanes.lanes))
            at = at + Total(0, [(lanes.width, Mask(lanes.mask + [False] * (64 - len(lanes.mask)), "u64"))])
        else:
            slots += [(True, lane) for lane in lanes]
            at = at + Total(len(lanes))
    assert Total.of(written).equals(at), "the returned length is not that of the bytes written"
    return slots


def source(*names):
    return [Source(formulas.ROOT / "arch/x86_64/avx512" / f"{name}.rs") for name in names]


class Function:
    """A function, the file with it, and other files with functions that it calls."""

    def __init__(self, name, file, others=(), constants=(), generics=()):
        self.name, self.file, self.others = name, file, others
        self.constants, self.generics = dict(constants), generics

    def all_paths(self, arguments, premises, **options):
        """Runs an iteration on each path."""
        def make(decisions):
            machine = Paths(*source(self.file, *self.others), constants=self.constants, decisions=decisions, **options)
            given = arguments()
            result = machine.run(self.name, *given, constants=self.generics)
            return machine, given, result

        return paths(make, premises)


# The lanes for which the claims about single lanes are proved: the edges of vectors, of halves and of quarters. An instruction does
# the same in every lane.
LANES = [0, 1, 14, 15, 16, 17, 30, 31]


def prove_decode(report, function, title, unit_bytes, units, expected):
    """A conversion from units of a fixed size: each lane has the bytes of its unit. There is room for two vectors."""
    length, room = unit_bytes * units, 128
    memory = [BitVec(f"x{i}", 8) for i in range(length)]
    for given, made in ((length - 1, room), (length, room - 1)):
        ((_, (_, output), result),) = function.all_paths(lambda: (Slice(memory[:given]), Output(made)), [])
        is_right = [Total.of(it).number for it in result] == [0, 0] and not output.stores
        report.prove(f"{title}: nothing is written for {given} bytes and room for {made}", z3_bool(is_right))
    count = 0
    for machine, (_, output), _ in function.all_paths(lambda: (Slice(memory), Output(room)), []):
        names, count = machine.scope, count + 1
        here = And(*machine.conditions)
        name = f"{title}, path {count}"
        read, written = Total.of(names["read"]), Total.of(names["written"])
        if getattr(machine, "broken", False):
            assert not output.stores and read.number == 0 and written.number == 0
            report.prove(f"{name}: stops only for a unit without a character", Implies(here, expected.stops(memory)))
            continue
        assert not read.terms
        slots = slots_of(output, written)
        per_unit = len(slots) // units
        assert per_unit * units == len(slots)
        report.prove(f"{name}: {read.number} bytes are read, no more than have a character", Implies(here, expected.reads(memory, read.number, length)))
        lanes = LANES if units <= 32 else LANES + [32, 33, 46, 47, 48, 49, 62, 63]
        claims = [
            normal(slots[i * per_unit:(i + 1) * per_unit]) == normal(expected(memory, i, read.number))
            for i in lanes
            if i < units
        ]
        report.prove(f"{name}: each lane has the bytes of its character", Implies(here, And(*claims)))
    assert count


class FromUtf16:
    """What follows from UTF-16 units: UTF-8 or UTF-32."""

    def __init__(self, is_big_endian, made):
        self.is_big_endian, self.made = is_big_endian, made

    def unit(self, memory, i):
        bytes_ = memory[2 * i:2 * i + 2]
        return Concat(*bytes_) if self.is_big_endian else join(bytes_)

    def reads(self, memory, read, length):
        # A first half at the end is left for the next vector.
        ends_with_first = is_surrogate(self.unit(memory, length // 2 - 1), 0xD800)
        return ends_with_first if read == length - 2 else And(read == length, Not(ends_with_first))

    def stops(self, memory):
        units = [self.unit(memory, i) for i in range(len(memory) // 2)]
        unpaired = [is_surrogate(units[0], 0xDC00)]
        for a, b in zip(units, units[1:]):
            unpaired.append(is_surrogate(a, 0xD800) != is_surrogate(b, 0xDC00))
        return Or(*unpaired)

    def __call__(self, memory, i, read):
        unit = self.unit(memory, i)
        first, second = is_surrogate(unit, 0xD800), is_surrogate(unit, 0xDC00)
        if 2 * i >= read:
            return []
        after = self.unit(memory, i + 1) if 2 * i + 2 < len(memory) else unit
        before = self.unit(memory, i - 1) if i > 0 else unit
        return self.made(wide(unit), first, pair(unit, after), second, pair(before, unit))


def pair_to_utf8(unit, first, pair_after, second, pair_before):
    """The first half of a pair has the first 2 bytes of the character, the second half the others."""
    bytes_, length = utf8(unit)
    start, end = utf8(pair_after)[0][:2], utf8(pair_before)[0][2:]
    plain = And(Not(first), Not(second))
    return (
        [(And(plain, UGT(length, number(i))), found) for i, found in enumerate(bytes_)]
        + [(first, found) for found in start]
        + [(second, found) for found in end]
    )


def pair_to_utf32(is_big_endian):
    def made(unit, first, pair_after, second, pair_before):
        return [(Not(second), found) for found in in_order(If(first, pair_after, unit), is_big_endian)]

    return made


def prove_latin_vector(report, windows, title):
    """A vector of single bytes: each lane has the bytes of its character."""
    function = Function("decode_vector", "latin", generics=[windows], constants={"WINDOWS_1252_C1": windows_words()})
    x = [BitVec(f"x{i}", 8) for i in range(64)]
    for count, (machine, (_, place), written) in enumerate(function.all_paths(lambda: (x, Place(Output(256), Total(0))), []), 1):
        slots = slots_of(place.output, written)
        per_byte = len(slots) // 64
        claims = []
        for i in LANES + [32, 33, 46, 47, 48, 49, 62, 63]:
            value = wide(x[i])
            if windows:
                for byte in range(0x80, 0xA0):
                    value = If(x[i] == byte, number(windows_1252(byte)), value)
            claims.append(normal(slots[i * per_byte:(i + 1) * per_byte]) == normal(first_of(*utf8(value))))
        report.prove(f"{title}, path {count}: each lane has the bytes of its character", Implies(And(*machine.conditions), And(*claims)))


def windows_1252(byte):
    """The table of the WHATWG Encoding Standard: that of Python, with the C1 control for the bytes without a character."""
    try:
        return ord(bytes([byte]).decode("cp1252"))
    except UnicodeDecodeError:
        return byte


def windows_words():
    words = [int.from_bytes(chr(windows_1252(byte)).encode(), "little") for byte in range(0x80, 0xA0)]
    return Array([Int(word, "u32") for word in words], "u32")


class Encoded:
    """Text before, in and after a vector."""

    def __init__(self, at, rest):
        self.at, self.length = at, at + rest
        self.text = [BitVec(f"x{i}", 8) for i in range(self.length)]
        self.start = BitVec("start", 4)

    def premises(self, at):
        """The text is well-formed from 3 bytes before this index to the byte after it. Returns the state after it, too."""
        first = max(at - 3, 0)
        found = state(BOUNDARY) if first == 0 else self.start
        premises = [ULT(self.start, state(formulas.NEVER))]
        here = None
        for i in range(first, min(at + 2, self.length)):
            found = step(found, self.text[i])
            premises.append(ULT(found, state(formulas.NEVER)))
            if i == at:
                here = found
        if at + 1 >= self.length:
            premises.append(here == state(BOUNDARY))
        return premises, here

    def before(self, at, by):
        return self.text[at - by] if at >= by else BitVecVal(0, 8)

    def value(self, at):
        """The number of the character whose last byte is here, by the position of its lead byte."""
        x, p1, p2, p3 = (wide(self.before(at, by)) for by in range(4))
        one = x
        two = (p1 & 0x1F) << 6 | x & 0x3F
        three = (p2 & 0x0F) << 12 | (p1 & 0x3F) << 6 | x & 0x3F
        four = (p3 & 0x07) << 18 | (p2 & 0x3F) << 12 | (p1 & 0x3F) << 6 | x & 0x3F
        return If(ULT(x, number(0x80)), one, If(UGE(p1, number(0xC0)), two, If(UGE(p2, number(0xE0)), three, four)))

    def is_third_of_four(self, at):
        return UGE(self.before(at, 2), BitVecVal(0xF0, 8))


def stored_at(output, index, size):
    """The bytes at this index of the output, and the condition that they are written."""
    for place, lanes, mask in output.stores:
        assert not place.terms
        start = place.number
        if start <= index and index + size <= start + len(lanes):
            kept = True if mask is None else mask[index - start]
            return kept, lanes[index - start:index - start + size]
    return False, None


def fits(output, units, most, room):
    """Whether the stores are inside the output for at most this number of units. A store with a mask writes no more for fewer."""
    count = Total(0, [(1, units)]).variable()

    def is_written(bit):
        return not is_false(simplify(substitute(z3_bool(bit), (count, BitVecVal(most, 64)))))

    return all(
        place.number + i < room for place, lanes, mask in output.stores for i in range(len(lanes)) if mask is None or is_written(mask[i])
    )


def prove_encode(report, function, title, unit_bytes, expected, has_pairs, rests, pairs):
    for at, rest in rests:
        text = Encoded(at, rest)
        third_before = Mask([text.is_third_of_four(at - 1) if at else False] + [False] * 63, "u64")
        for lane, rank in pairs:
            if lane >= rest:
                continue
            premises, here = text.premises(at + lane)
            ends = here == state(BOUNDARY)
            third = text.is_third_of_four(at + lane) if has_pairs else z3_bool(False)
            presets = {"at": Int(at, "usize")} | ({"third_before": third_before} if has_pairs else {})
            claims = []
            for machine, (_, output), _ in function.all_paths(
                lambda: (Text(text.text), Output(max(unit_bytes * rest, 2 * 64))), premises, presets=presets, lane=lane, rank=rank,
            ):
                names = machine.scope
                conditions = And(*machine.conditions)
                advance = Total.of(names["out"].at)
                last_third = names["third_before"] if has_pairs else None
                if not advance.terms:
                    # ASCII: one unit for each byte.
                    assert advance.number == 64 * unit_bytes
                    kept, found = stored_at(output, lane * unit_bytes, unit_bytes)
                    claims.append(Implies(conditions, And(ends, join(found) == join(expected(text, at + lane, third)))))
                    continue
                (scale, units), = advance.terms
                assert scale == unit_bytes and advance.number == 0
                assert machine.selected == units.list, "the number of units is not that of the compressed mask"
                assert fits(output, units, min(rest, 64), unit_bytes * rest), "writes outside the output"
                selected = z3_bool(units.list[lane])
                count = Total(0, [(1, units)]).variable()
                size = [UGT(count, BitVecVal(rank, 64)), ULE(count, BitVecVal(min(rest, 64), 64))]
                kept, found = stored_at(output, rank * unit_bytes, unit_bytes)
                claims.append(Implies(conditions, selected == Or(ends, third)))
                is_right = z3_bool(False) if found is None else And(z3_bool(kept), join(found) == join(expected(text, at + lane, third)))
                claims.append(Implies(And(conditions, selected, *size), is_right))
                if has_pairs and lane == 63:
                    claims.append(Implies(conditions, z3_bool(last_third.list[0]) == third))
            report.prove(f"{title}: {min(rest, 64)} bytes at {at}, byte {lane} as unit {rank}", Implies(And(*premises), And(*claims)))


def prove_encode_end(report, function, title):
    """There is no iteration without a byte after the vector. An unfinished sequence before the vector is not counted."""
    for rest in (0, 64):
        for inside in range(4 if rest else 1):
            of_sequence = [0xF0, 0x90, 0x80, 0x80] if inside else [0x41] * 4
            text = [0x41] * (64 - inside) + of_sequence + [0x41] * 64
            text = [BitVecVal(byte, 8) for byte in text[:64 + rest]]
            ((_, (_, output), result),) = function.all_paths(
                lambda: (Text(text), Output(4 * len(text))), [], presets={"at": Int(64, "usize")}, to_end=True,
            )
            is_right = [Total.of(it).number for it in result] == [64 - inside, 0] and not output.stores
            report.prove(f"{title}: the end, {rest} bytes from a vector on, after {inside} bytes of a sequence", z3_bool(is_right))


def utf16_unit(is_big_endian):
    def expected(text, at, third):
        value = text.value(at)
        # At the third byte of 4, the first half: the last 6 bits of the character are not in it.
        x, p1, p2 = (wide(text.before(at, by)) for by in range(3))
        high = 0xD7C0 + ((p2 & 7) << 8 | (p1 & 0x3F) << 2 | LShR(x & 0x3F, 4))
        low = 0xDC00 | value & 0x3FF
        unit = If(third, high, If(UGE(value, number(0x10000)), low, value))
        return in_order(Extract(15, 0, unit), is_big_endian)

    return expected


def utf32_unit(is_big_endian):
    return lambda text, at, third: in_order(text.value(at), is_big_endian)


# Lanes and their ranks after the compression: at the edges of each vector of the output.
PAIRS = [(0, 0), (1, 0), (15, 15), (16, 15), (16, 16), (31, 16), (31, 31), (32, 31), (32, 32), (47, 20), (48, 48), (63, 15), (63, 32), (63, 63)]
FEW_PAIRS = [(1, 0), (32, 20), (63, 63)]


def name_of(bits, is_big_endian):
    return f"UTF-{bits}{'BE' if is_big_endian else 'LE'}"


def prove_utf16(report, is_big_endian, rests, pairs):
    """UTF-8 to UTF-16."""
    function = Function("encode", "utf16", generics=[is_big_endian])
    title = f"UTF-8 to {name_of(16, is_big_endian)}"
    prove_encode(report, function, title, 2, utf16_unit(is_big_endian), True, rests, pairs)


def prove_utf32(report, is_big_endian, rests, pairs):
    """UTF-8 to UTF-32."""
    function = Function("encode", "utf32", generics=[is_big_endian])
    title = f"UTF-8 to {name_of(32, is_big_endian)}"
    prove_encode(report, function, title, 4, utf32_unit(is_big_endian), False, rests, pairs)
    prove_encode_end(report, function, title)


def prove_from_utf16(report, is_big_endian):
    function = Function("decode", "utf16", ["latin"], generics=[is_big_endian])
    prove_decode(report, function, f"{name_of(16, is_big_endian)} to UTF-8", 2, 32, FromUtf16(is_big_endian, pair_to_utf8))


def prove_utf16_to_utf32(report, is_big_endian, other):
    function = Function("from_utf16", "utf32", ["utf16", "latin"], generics=[is_big_endian, other])
    title = f"{name_of(16, is_big_endian)} to {name_of(32, other)}"
    prove_decode(report, function, title, 2, 32, FromUtf16(is_big_endian, pair_to_utf32(other)))


def prove_latin(report, windows):
    name = "windows-1252" if windows else "ISO 8859-1"
    prove_latin_vector(report, windows, f"{name} to UTF-8")


# By the file with the functions: what proves them, with its arguments.
ORDERS = [(is_big_endian, other) for is_big_endian in (False, True) for other in (False, True)]
RESTS = [(0, 64), (64, 64), (64, 3), (64, 33), (64, 63)]
PARTS = {
    "utf16": [
        (prove_utf16, False, [(64, 65)], PAIRS), (prove_utf16, True, [(64, 65)], FEW_PAIRS),
        (prove_utf16, False, RESTS, FEW_PAIRS), (prove_utf16, True, [(64, 33)], FEW_PAIRS),
        (prove_utf16, False, [(0, 1), (64, 1)], [(0, 0)]), (prove_utf16, False, [(64, 33), (64, 63)], [(32, 32), (62, 62)]),
        (prove_from_utf16, False), (prove_from_utf16, True),
    ],
    "utf32": [
        (prove_utf32, False, [(0, 65)], FEW_PAIRS), (prove_utf32, True, [(0, 65)], FEW_PAIRS),
        (prove_utf32, True, [(64, 65)], FEW_PAIRS), (prove_utf32, False, [(64, 65)], PAIRS),
        *((prove_utf16_to_utf32, *orders) for orders in ORDERS),
    ],
    "latin": [(prove_latin, False), (prove_latin, True)],
}


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
