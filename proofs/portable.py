#!/usr/bin/env python3
"""Proves functions of the portable kernel that AVX2 and NEON call for what is left, the groups and lines of `base64.rs`, and the tables of
windows-1252.

The functions are read as they are written: their vector code is that of the compiler. docs/verification.md has the list of claims.
"""

import re

from z3 import And, BitVec, BitVecVal, Bool, Concat, Extract, Implies, Not, Or, UGE, ULT, ZeroExt, is_bool, is_bv, is_bv_value, simplify

from avx2_searches import Counts, sources, symbolic
from conversions import windows_1252, windows_words
from formulas import run_parts
from library import Library, Option, Span
from model import Int, Slice, Struct, join, look_up, split
from paths import paths
from transfer import symbol_value
from common import BOTH, byte_of, character, punctuation_bytes
from vectors import Element, either, z3_bool

UNITS = ["arch/portable/units.rs", "arch/portable/utf16.rs", "../encoding/windows_1252.rs"]
LATIN = ["arch/portable/latin.rs", "../encoding/windows_1252.rs"]
BASE64 = ["arch/portable/base64.rs", "functions.rs"]
BLOCK = 32


class Cells:
    """A slice of the output: elements of `size` bytes, or blocks of these. A byte outside it cannot be named."""

    def __init__(self, memory, first, count, size=1):
        assert 0 <= first and first + count * size <= len(memory), "a slice outside the output"
        self.memory, self.first, self.count, self.size = memory, first, count, size

    def part(self, first, end):
        assert 0 <= first <= end <= self.count, f"the slice {first}..{end} of {self.count}"
        return Cells(self.memory, self.first + first * self.size, end - first, self.size)

    def __getitem__(self, index):
        return self.part(index, index + 1) if self.size > 1 else self.memory[self.first + index]

    def __setitem__(self, index, value):
        assert 0 <= index < self.count, "an element outside the slice"
        bytes_ = [as_byte(value)] if self.size == 1 else [as_byte(byte) for byte in value]
        assert len(bytes_) == self.size, "another length"
        self.memory[self.first + index * self.size:self.first + (index + 1) * self.size] = bytes_


def as_byte(value):
    return value.to("u8").bits() if isinstance(value, Int) else BitVecVal(value, 8) if isinstance(value, int) else value


def new_output(room):
    """An output of which no byte is written."""
    return Cells([None] * room, 0, room)


class Scalar(Counts):
    """A machine for scalar code. `pointer` is the address of the output."""

    def __init__(self, *given, pointer=0, **options):
        super().__init__(*given, **options)
        self.pointer, self.unit = pointer, None
        # All iterations of each loop.
        self.depth = 10

    def constant(self, name):
        # The length of a table is that of its type.
        for source in self.sources:
            declared = re.search(rf"\b(?:const|static) {name}: \[u8; (0x\w+)\] = bytes_from", source.text)
            if declared and name not in self.constants:
                self.constants["N"] = Int(int(declared[1], 0), "usize")
        return super().constant(name)

    def call(self, name, *arguments, this=None, constants=()):
        kind = {"order": "u16", "order_32": "u32", "windows_1252_byte": "u32"}.get(name)
        constants = [int(it) if isinstance(it, str) and it.isdigit() else it for it in constants]
        if name == "narrow_from":
            self.unit = constants[2]
        if kind:
            arguments = [argument.to(kind) for argument in arguments]
        return super().call(name, *arguments, this=this, constants=constants)

    def on_path(self, names, name, constants):
        if name == "Into::into":
            return lambda value: value
        if name not in names and any(source.has_function(name) for source in self.sources):
            return lambda *given: self.call(name, *given, constants=[names[it] for it in constants])
        return super().on_path(names, name, constants)

    def on_call(self, names, function, arguments):
        name = function[1]
        if name == "T::default":
            return Int(0, self.unit)
        if name in ("u16::from_be_bytes", "u32::from_be_bytes", "u16::from_le_bytes", "u32::from_le_bytes"):
            value = self.evaluate(arguments[0], names)
            bytes_ = value.memory if isinstance(value, Slice) else list(map(as_byte, value))
            found = simplify(join(bytes_[::-1] if "_be_" in name else bytes_))
            return Int(found.as_long() if is_bv_value(found) else found, name[:3])
        if name == "u8::try_from":
            value = self.evaluate(arguments[0], names)
            fits = self.decide(self.compare("<=", value, 0xFF))
            return Option(value.to("u8") if fits else None, fits)
        if name in ("u64::from", "u32::from") or name == "usize::from" and is_bv(getattr(self.evaluate(arguments[0], names), "value", None)):
            return self.evaluate(arguments[0], names).to(name.split(":")[0])
        return super().on_call(names, function, arguments)

    def on_index(self, names, array, index):
        found, at = self.evaluate(array, names), self.evaluate(index, names)
        if isinstance(at, Span) and isinstance(found, (list, Cells)):
            count = found.count if isinstance(found, Cells) else len(found)
            first, end = at.within(count)
            assert 0 <= first <= end <= count, f"the slice {first}..{end} of {count}"
            return found.part(first, end) if isinstance(found, Cells) else found[first:end]
        if array == ("path", "WINDOWS_1252", []) and is_bv(getattr(at, "value", None)):
            # What `prove_tables` proves.
            return Int(Extract(15, 0, character_of(simplify(Extract(7, 0, at.value)), True)), "u16")
        return super().on_index(names, ("value", found), ("value", at))

    def operate(self, operator, left, right):
        if operator == "|" and all(isinstance(side, bool) or is_bool(side) for side in (left, right)):
            return either(left, right)
        return super().operate(operator, left, right)

    def on_method(self, names, value, name, constants, arguments):
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        size = lambda: self.number(names[constants[0]] if constants[0] in names else self.constant(constants[0]))
        chunks = lambda items, n: [items[i:i + n] for i in range(0, len(items) - n + 1, n)]
        match name, value:
            case ("into" | "copied" | "into_iter" | "iter" | "ok"), (Int() | Option() | list()):
                return value
            case ("to_be_bytes" | "to_le_bytes"), Int():
                bytes_ = [Int(part, "u8") for part in split(value.bits())]
                return bytes_[::-1] if "_be_" in name else bytes_
            case "len", Cells():
                return Int(value.count, "usize")
            case "as_ptr", Cells():
                return value
            case "align_offset", Cells():
                of = self.number(arguments[0])
                offsets = [i for i in range(of) if (self.pointer + value.first + i * value.size) % of == 0]
                # An implementation may return no offset in any case.
                return Int(offsets[0] if offsets and self.decide(Bool("has_offset")) else -1, "usize")
            case "as_chunks_mut", Cells():
                count = value.count // size()
                parts = Cells(value.memory, value.first, count, value.size)
                parts.size = value.size * size()
                if value.size > 1:
                    parts = [value.part(i * size(), (i + 1) * size()) for i in range(count)]
                return [parts, value.part(count * size(), value.count)]
            case ("split_at" | "split_at_mut"), Cells():
                at = self.number(arguments[0])
                return [value.part(0, at), value.part(at, value.count)]
            case "first_chunk_mut", Cells():
                fits = value.count >= BLOCK
                return Option(value.part(0, BLOCK) if fits else None, fits)
            case "chunks_exact_mut", Cells():
                n = self.number(arguments[0])
                return [value.part(i, i + n) for i in range(0, value.count - n + 1, n)]
            case "chunks_exact", Slice():
                return list(map(Slice, chunks(value.memory, self.number(arguments[0]))))
            case "copy_from_slice", Cells():
                (given,) = arguments
                assert value.size == 1 and len(given) == value.count, "other lengths"
                for i, byte in enumerate(given):
                    value[i] = byte
                return None
            case "as_chunks", list():
                n = size()
                return [chunks(value, n), value[len(value) // n * n:]]
            case "get", list():
                index = arguments[0].to("usize") if isinstance(arguments[0], Int) else arguments[0]
                if is_bv(getattr(index, "value", None)):
                    if not self.decide(ULT(index.value, len(value))):
                        return Option()
                    entries = [BitVecVal(self.number(entry), 8) for entry in value]
                    return Option(Int(look_up(entries, index.value, entries[-1]), "u8"), True)
                at = self.number(index)
                return Option(value[at] if at < len(value) else None, at < len(value))
            case "zip", list() if isinstance(arguments[0], Cells):
                return list(zip(value, [Element(arguments[0], i) for i in range(arguments[0].count)]))
            case "or_else", Option():
                return value if value.is_some else arguments[0]()
            case "map", Option():
                return Option(arguments[0](value.value), True) if value.is_some else value
            case "find", list():
                return next((Option(it, True) for it in value if self.decide(arguments[0](it))), Option())
            case "is_multiple_of", Int():
                return self.number(value) % self.number(arguments[0]) == 0
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])

    def bind(self, pattern, value, names):
        if isinstance(pattern, str) and isinstance(value, (Cells, list)):
            # A slice, which is not copied.
            names[pattern] = value
        else:
            super().bind(pattern, value, names)


CHARACTERS = {}


def character_of(x, windows):
    """`character`, computed once for each byte."""
    key = (x.get_id(), windows)
    if key not in CHARACTERS:
        # The identifier is unique as long as the byte exists.
        CHARACTERS[key] = (character(x, windows), x)
    return CHARACTERS[key][0]


def written_of(output):
    return {i: byte for i, byte in enumerate(output.memory) if byte is not None}


# The tables.


def prove_tables(report):
    """The tables of windows-1252 are those of Python."""
    units = Scalar(*sources(*UNITS))
    found = [Library.number(units.call("windows_1252", Int(byte, "u8"))) for byte in range(256)]
    expected = [windows_1252(byte) if 0x80 <= byte < 0xA0 else byte for byte in range(256)]
    report.prove("windows_1252 is the table of Python", z3_bool(found == expected))
    report.prove("WINDOWS_1252 has the unit of each byte", z3_bool([Library.number(unit) for unit in units.constant("WINDOWS_1252")] == expected))
    latin = Scalar(*sources(*LATIN))
    for name, values in (("LATIN_1", range(256)), ("WINDOWS_1252", expected)):
        rows = [bytes(Library.number(part) for part in row) for row in latin.constant(name)]
        sequences = [chr(value).encode() for value in values]
        is_right = rows == [sequence.ljust(3, b"\0") + bytes([len(sequence)]) for sequence in sequences]
        report.prove(f"{name} has the sequence of each byte", z3_bool(is_right))
    words = [Library.number(word) for word in latin.constant("WINDOWS_1252_C1")]
    report.prove("WINDOWS_1252_C1 has the words that the other programs use", z3_bool(words == [Library.number(word) for word in windows_words()]))
    punctuation = [Library.number(byte) for byte in latin.constant("PUNCTUATION_BYTES")]
    report.prove("PUNCTUATION_BYTES has the bytes that the other programs use", z3_bool(punctuation == [Library.number(byte) for byte in punctuation_bytes()]))


def prove_byte(report):
    """`windows_1252_byte` has the byte of each character above U+007F that has one."""
    value = BitVec("value", 32)
    expected, has_byte = byte_of(value, True)

    def make(decisions):
        machine = Scalar(*sources(*LATIN), decisions=decisions)
        return machine, machine.call("windows_1252_byte", Int(value, "u32"))

    for count, (machine, found) in enumerate(paths(make, []), 1):
        here = And(UGE(value, 0x80), *machine.conditions)
        is_right = And(has_byte, ZeroExt(24, as_byte(found.value)) == expected) if found.is_some else Not(has_byte)
        report.prove(f"windows_1252_byte, path {count}", Implies(here, is_right))


def prove_group(report):
    """The bits of four symbols, or the mark of a byte that is no symbol."""
    x = symbolic("x", 4)
    found = Scalar(*sources(*BASE64)).call("group", Slice(x)).bits()
    values, are_symbols = zip(*map(symbol_value, x))
    is_bad = Extract(31, 31, found) == 1
    report.prove("base64: a group is marked exactly if a byte is no symbol", is_bad == Not(And(*are_symbols)))
    report.prove("base64: a group has its 24 bits", Implies(Not(is_bad), found == Concat(BitVecVal(0, 8), *values)))


def prove_groups(report):
    """The groups before the first one with a byte that is no symbol, as pairs of groups and then one by one."""
    for symbols, room in ((20, 15), (19, 15), (20, 14), (16, 11), (4, 3), (3, 3), (0, 0)):
        x, groups = symbolic("x", symbols), min(symbols // 4, room // 3)
        bits = [BitVec(f"group_{i}", 32) for i in range(symbols // 4)]
        is_bad = [Extract(31, 31, it) == 1 for it in bits]
        of = {x[4 * i].get_id(): i for i in range(symbols // 4)}

        def group(given):
            i = of[given.memory[0].get_id()]
            assert given.memory == x[4 * i:4 * i + 4], "another group"
            return Int(bits[i], "u32")

        def make(decisions):
            output, machine = new_output(room), Scalar(*sources(*BASE64), decisions=decisions, replaced={"group": group})
            return machine, output, machine.call("decode_groups", Slice(x), output)

        for path, (machine, output, result) in enumerate(paths(make, []), 1):
            done, found = machine.number(result), written_of(output)
            # What `prove_group` proves.
            here = And(*machine.conditions, *(Or(bad, ULT(it, 1 << 24)) for bad, it in zip(is_bad, bits)))
            claims = [z3_bool(done <= groups and set(found) == set(range(3 * done)))]
            for i in range(done):
                claims += [Not(is_bad[i]), Concat(*(found[3 * i + part] for part in range(3))) == Extract(23, 0, bits[i])]
            if done < groups:
                claims.append(is_bad[done])
            report.prove(f"base64, {symbols} symbols to {room}, path {path}: {done} groups", Implies(here, And(*claims)))


def prove_lines(report, has_cr):
    """Up to two lines, for any result of the function that decodes a line."""
    for symbols in (4, 28, 60):
        length, decoded = symbols + 1 + has_cr, symbols // 4 * 3
        form = Struct({"groups": Int(symbols // 4, "u8"), "has_cr": has_cr})
        for given, room in ((2 * length, 2 * decoded), (2 * length - 1, 2 * decoded), (2 * length, 2 * decoded - 1), (length - 1, decoded)):
            x, most = symbolic("x", given), min(given // length, room // decoded)

            def make(decisions):
                output, calls = new_output(room), []

                def decode(line, rest):
                    found = symbols // 4 - (not machine.decide(Bool(f"is_decoded_{len(calls)}")))
                    calls.append((line, rest, found))
                    return Int(found, "usize")

                machine = Scalar(*sources(*BASE64), decisions=decisions)
                return machine, output, calls, machine.call("decode_lines", Slice(x), output, form, decode)

            for path, (machine, output, calls, result) in enumerate(paths(make, [], lambda conditions: True), 1):
                done, here = machine.number(result), And(*machine.conditions)
                claims = [z3_bool(done <= most and done <= len(calls) <= done + 1)]
                for i, (line, rest, found) in enumerate(calls):
                    assert line.memory == x[i * length:i * length + symbols] and (rest.first, rest.first + rest.count) == (i * decoded, room)
                    claims.append(z3_bool((found == symbols // 4) == (i < done)))
                breaks = [And(*(byte == end for byte, end in zip(x[(i + 1) * length - 1 - has_cr:], b"\r\n" if has_cr else b"\n"))) for i in range(most)]
                claims += breaks[:done]
                if done < most:
                    claims.append(Or(Not(breaks[done]), z3_bool(len(calls) > done)))
                report.prove(f"lines of {symbols} symbols and {'CR LF' if has_cr else 'LF'}, {given} bytes to {room}, path {path}: {done}", Implies(here, And(*claims)))


PARTS = {
    "latin": [(prove_tables,), (prove_byte,)],
    "base64": [(prove_group,), (prove_groups,), *((prove_lines, has_cr) for has_cr in BOTH)],
}


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
