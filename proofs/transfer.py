#!/usr/bin/env python3
"""Proves the AVX-512 decoder of base64 against RFC 4648 section 4, and the segments of quoted-printable against RFC 2045 section
6.7.

The tables, the bits of each byte and the loops are proved apart: the loops for any result of the function that decodes a vector.
docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, BitVecVal, Bool, BoolVal, Concat, Extract, If, Implies, Not, Or, ULT

import formulas
from formulas import run_parts, within
from library import Library, as_int
from model import Int, Slice, Struct
from paths import paths
from rust import Source
from vectors import Mask, Output, mask_of, z3_bool

BASE64 = ["arch/x86_64/avx512/base64.rs", "functions.rs"]
QUOTED = ["arch/portable/quoted.rs", "functions.rs"]


def sources(*names):
    return [Source(formulas.ROOT / name) for name in names]


def symbolic(name, count):
    return [BitVec(f"{name}{i}", 8) for i in range(count)]


# Base64.

ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def symbol_value(x):
    """The 6 bits of a symbol (RFC 4648 section 4, table 1), and whether the byte is one."""
    found, is_symbol = BitVecVal(0, 6), BoolVal(False)
    for value, byte in enumerate(ALPHABET):
        found = If(x == byte, BitVecVal(value, 6), found)
        is_symbol = Or(is_symbol, x == byte)
    return found, is_symbol


def prove_base64_vector(report):
    machine = Library(*sources(*BASE64))
    x = symbolic("x", 64)
    bad, packed = machine.call("decode", x, this=machine.call("new"))
    values, are_symbols = zip(*map(symbol_value, x))
    for i in range(64):
        report.prove(f"base64: byte {i} is marked exactly if it is no symbol", z3_bool(bad.list[i]) == Not(are_symbols[i]))
    for i in range(16):
        group = slice(4 * i, 4 * i + 4)
        bits = Concat(*reversed(packed[3 * i:3 * i + 3]))
        expected = Concat(*values[group])
        in_order = Concat(*(Extract(8 * part + 7, 8 * part, expected) for part in range(3)))
        report.prove(f"base64: group {i} has its 24 bits", Implies(And(*are_symbols[group]), bits == in_order))


class Vectors:
    """Replaces the function that decodes a vector: its results are any mask and any bytes."""

    def __init__(self):
        self.read, self.bad, self.bytes = [], [], []

    def decode(self, tables, read):
        number = len(self.read)
        self.read.append(read)
        self.bad.append([Bool(f"bad_{number}_{i}") for i in range(64)])
        self.bytes.append(symbolic(f"made_{number}_", 64))
        return [Mask(self.bad[-1], "u64"), self.bytes[-1]]


def run_base64(name, arguments, decisions, **options):
    vectors = Vectors()
    machine = Library(*sources(*BASE64), decisions=decisions, replaced={"decode": vectors.decode}, **options)
    return machine, vectors, machine.run(name, *arguments)


def is_stored(store, at, lanes, count):
    """Whether a store writes `count` of these lanes at this position, and nothing else."""
    place, found, mask = store
    assert place.terms == [] and place.number == at, f"a store at {place.number}, not at {at}"
    same = [a.eq(b) for a, b in zip(found, lanes, strict=True)]
    assert all(same), "other lanes are stored"
    return And(*(z3_bool(bit) == ULT(BitVecVal(i, 64), count) for i, bit in enumerate(mask)))


def good_groups(bad, count):
    """The number of groups before the first one with a marked byte, at most `count`."""
    found = BitVecVal(count, 64)
    for group in reversed(range(count)):
        found = If(Or(*bad[4 * group:4 * group + 4]), BitVecVal(group, 64), found)
    return found


def prove_base64_groups(report):
    """An iteration of the loop over whole vectors, after another one, with the shortest input and output."""
    for missing_input, missing_output in ((0, 0), (1, 0), (0, 1)):
        symbols = symbolic("x", 128 - missing_input)

        def make(decisions):
            output, presets = Output(96 - missing_output), {"done": Int(16, "usize")}
            machine, vectors, _ = run_base64("decode_groups", [Slice(symbols), output], decisions, presets=presets)
            return machine, output, vectors

        for machine, output, vectors in paths(make, []):
            here, bad = And(*machine.conditions), vectors.bad[0]
            if missing_input or missing_output:
                # The last step has the other 15 groups.
                filler = [BitVecVal(ord("A"), 8)] * 4
                assert all(a.eq(b) for a, b in zip(vectors.read[0], symbols[64:124] + filler, strict=True))
                continue
            done = machine.number(machine.scope["done"])
            assert all(a.eq(b) for a, b in zip(vectors.read[0], symbols[64:], strict=True))
            if not output.stores:
                assert machine.broken and done == 16
                report.prove("base64: the loop stops only for a byte that is no symbol", Implies(here, Or(*bad)))
                continue
            assert done == 32
            is_right = And(Not(Or(*bad)), is_stored(output.stores[0], 48, vectors.bytes[0], BitVecVal(48, 64)))
            report.prove("base64: the loop writes 48 bytes for 64 symbols", Implies(here, is_right))


def prove_base64_rest(report):
    """The last step, for every number of groups. If more than 16 are left, one of the next 16 is none."""
    for count in (*range(1, 17), 17, 31):
        symbols, read = symbolic("x", 4 * (count + 16)), 4 * min(count, 16)
        output, presets = Output(3 * (count + 16)), {"done": Int(16, "usize")}
        machine, vectors, done = run_base64("decode_groups", [Slice(symbols), output], [], skips_loop=True, presets=presets)
        expected = symbols[64:64 + read] + [BitVecVal(ord("A"), 8)] * (64 - read)
        assert all(a.eq(b) for a, b in zip(vectors.read[0], expected, strict=True))
        premise, good = Or(count <= 16, *vectors.bad[0]), good_groups(vectors.bad[0], min(count, 16))
        (store,) = output.stores
        is_right = And(as_int(done, "usize").bits() == good + 16, is_stored(store, 48, vectors.bytes[0], 3 * good))
        report.prove(f"base64: the last {count} groups are decoded up to the first that is none", Implies(premise, is_right))


def prove_base64_lines(report):
    for groups in range(1, 20):
        for line_break in (b"\n", b"\r\n"):
            prove_base64_line(report, groups, line_break)


def prove_base64_line(report, groups, line_break):
    """One line of a form, or two: each is decoded exactly if all of its bytes are symbols before the line break of the form."""
    length, decoded = 4 * groups + len(line_break), 3 * groups
    lines = 2 if groups in (1, 16, 17) else 1
    encoded = symbolic("x", lines * length)
    form = Struct({"groups": Int(groups, "u8"), "has_cr": len(line_break) == 2})
    claims = []

    def make(decisions):
        output = Output(lines * decoded)
        machine, vectors, result = run_base64("decode_lines", [Slice(encoded), output, form], decisions)
        return machine, (output, vectors, result)

    for machine, (output, vectors, result) in paths(make, [], lambda conditions: True):
        result, here = machine.number(result), And(*machine.conditions)
        first = min(4 * groups, 64)
        for line in range(min(result + 1, lines)):
            start = line * length
            symbols, rest = encoded[start:start + first], encoded[start + first:start + 4 * groups]
            for read, expected in zip(vectors.read[2 * line:2 * line + 2], (symbols, rest), strict=True):
                filler = [BitVecVal(ord("A"), 8)] * (64 - len(expected))
                assert all(a.eq(b) for a, b in zip(read, expected + filler, strict=True)), "other bytes are read"
            ends = And(*(x == byte for x, byte in zip(encoded[start + 4 * groups:start + length], line_break, strict=True)))
            is_line = And(ends, Not(Or(*vectors.bad[2 * line], *vectors.bad[2 * line + 1])))
            claims.append(Implies(here, is_line == (line < result)))
            if line < result:
                sizes = (first // 4 * 3, (4 * groups - first) // 4 * 3)
                for part, size in enumerate(sizes):
                    store, at = output.stores[2 * line + part], line * decoded + sum(sizes[:part])
                    claims.append(is_stored(store, at, vectors.bytes[2 * line + part], BitVecVal(size, 64)))
        assert len(output.stores) == 2 * result
    report.prove(f"base64: lines of {4 * groups} symbols and {line_break}", And(*claims))


# Quoted-printable.

STARTS = 62
KINDS = ("signs", "digits", "crs", "lfs", "blanks", "stops")


def digit(x):
    """The value of a hexadecimal digit, and whether the byte is one."""
    forms = [(0x30, 0x39, 0), (0x41, 0x46, 10), (0x61, 0x66, 10)]
    value = BitVecVal(0, 8)
    for first, last, start in forms:
        value = If(within(x, first, last), x - first + start, value)
    return value, Or(*(within(x, first, last) for first, last, _ in forms))


def kinds(x):
    """The kinds of a byte (RFC 2045 section 6.7)."""
    is_plain = Or(within(x, 0x20, 0x7E), x == 0x09, x == 0x0A, x == 0x0D)
    return [x == 0x3D, digit(x)[1], x == 0x0D, x == 0x0A, Or(x == 0x20, x == 0x09), Not(is_plain)]


class Units:
    """The units of a window, read one after the other: what each byte is, if a unit starts at it."""

    def __init__(self, masks):
        signs, digits, crs, lfs, blanks, stops = masks
        no = BoolVal(False)
        self.fails, self.kept, self.ends, self.feeds, self.escapes = no, [no] * 64, [no] * 64, [no] * 64, [no] * 64
        starts = [BoolVal(True)] + [no] * 66
        for i in range(STARTS):
            sign, second, third = signs[i], i + 1, i + 2
            escape = And(sign, digits[second], digits[third])
            soft_3, soft_2 = And(sign, crs[second], lfs[third]), And(sign, lfs[second])
            crlf, lf = And(crs[i], lfs[second]), lfs[i]
            breaks = [Or(crs[at], lfs[at]) for at in (second, third)]
            trails = And(blanks[i], breaks[0])
            if i == STARTS - 1:
                trails = Or(trails, And(blanks[i], blanks[second], Or(blanks[third], breaks[1])))
            plain = And(Not(Or(sign, crs[i], lf, stops[i])), Not(trails))
            self.fails = Or(self.fails, And(starts[i], Not(Or(escape, soft_3, soft_2, crlf, lf, plain))))

            def put(list_, at, condition):
                list_[at] = Or(list_[at], And(starts[i], condition))

            put(self.escapes, i, escape)
            put(self.kept, i, Or(escape, crlf, lf, plain))
            put(self.kept, second, crlf)
            put(self.ends, i, Or(crlf, lf))
            put(self.ends, second, Or(soft_3, soft_2))
            put(self.feeds, i, lf)
            put(self.feeds, second, Or(crlf, soft_2))
            put(self.feeds, third, soft_3)
            put(starts, i + 1, Or(lf, plain))
            put(starts, i + 2, Or(crlf, soft_2))
            put(starts, i + 3, Or(escape, soft_3))
        self.len = If(starts[62], BitVecVal(62, 8), If(starts[63], BitVecVal(63, 8), BitVecVal(64, 8)))


def prove_quoted_segment(report):
    """`Window::segment`, for any masks of kinds: a byte has one kind, or none."""
    masks = {kind: [Bool(f"{kind}_{i}") for i in range(64)] for kind in KINDS}
    exclusive = [
        Not(And(masks[a][i], masks[b][i])) for i in range(64) for at, a in enumerate(KINDS) for b in KINDS[:at]
    ]
    units = Units([masks[kind] for kind in KINDS])
    files = sources(*QUOTED)

    def make(decisions):
        machine = Library(*files, decisions=decisions)
        window = Struct({kind: Mask(bits, "u64") for kind, bits in masks.items()})
        return machine, machine.call("segment", this=window)

    for machine, found in paths(make, [], lambda conditions: True):
        here = And(*exclusive, *machine.conditions)
        if not found.is_some:
            report.prove("quoted-printable: other bytes are refused only if a unit is", Implies(here, units.fails))
            continue
        segment, escapes = found.value
        fields = segment.fields | {"escapes": escapes}
        report.prove("quoted-printable: a segment has no unit that is refused", Implies(here, Not(units.fails)))
        for name in ("kept", "ends", "feeds", "escapes"):
            bits, expected = mask_of(fields[name], 64), getattr(units, name)
            claim = And(*(z3_bool(a) == b for a, b in zip(bits, expected)))
            report.prove(f"quoted-printable: the bits `{name}` of a segment", Implies(here, claim))
        report.prove("quoted-printable: the length of a segment", Implies(here, as_int(fields["len"], "u8").bits() == units.len))


PARTS = {
    "base64": (prove_base64_vector, prove_base64_groups, prove_base64_rest, prove_base64_lines),
    "quoted": (prove_quoted_segment,),
}


if __name__ == "__main__":
    run_parts([(prove,) for proofs in PARTS.values() for prove in proofs])
