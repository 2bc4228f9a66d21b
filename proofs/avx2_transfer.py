#!/usr/bin/env python3
"""Proves the AVX2 decoders of base64 and quoted-printable against RFC 4648 section 4 and RFC 2045 section 6.7.

The bytes of a vector are proved with the real function. The loops are proved for any result of it, where a group of symbols has
always the same bytes. The segments of quoted-printable are those of `transfer.py`. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, BitVecVal, Bool, Concat, Extract, If, Implies, Not, Or

import formulas
from compressed import Kernel, prove_tables, slots_of, sum_of, sum_of_total
from formulas import run_parts
from library import Option
from model import Int, Slice, Struct
from paths import paths
from rust import Source
from transfer import KINDS, STARTS, digit, kinds, symbol_value
from common import written_bytes
from vectors import Mask, Output, Total, boolean, mask_of, z3_bool

BASE64 = ["arch/x86_64/avx2/base64.rs", "functions.rs"]
QUOTED_FILE = "arch/x86_64/avx2/quoted.rs"
QUOTED = [QUOTED_FILE, "arch/portable/quoted.rs", "functions.rs"]
SYMBOLS, DECODED, WINDOW = 32, 24, 64
# Where the loops are in the input and in the output.
GROUPS, READ, WRITTEN = 16, 4, 3


def sources(*names):
    return [Source(formulas.ROOT / name) for name in names]


def symbolic(name, count):
    return [BitVec(f"{name}{i}", 8) for i in range(count)]


# Base64.


def prove_base64_vector(report):
    machine = Kernel(*sources(*BASE64))
    x = symbolic("x", SYMBOLS)
    bad, packed = machine.call("decode", x, this=machine.call("new"))
    values, are_symbols = zip(*map(symbol_value, x))
    for i in range(SYMBOLS):
        report.prove(f"base64: byte {i} is marked exactly if it is no symbol", (bad[i] == 0) == are_symbols[i])
    for i in range(SYMBOLS // 4):
        group = slice(4 * i, 4 * i + 4)
        bits = Concat(*reversed(packed[3 * i:3 * i + 3]))
        expected = Concat(*values[group])
        in_order = Concat(*(Extract(8 * part + 7, 8 * part, expected) for part in range(3)))
        report.prove(f"base64: group {i} has its 24 bits", Implies(And(*are_symbols[group]), bits == in_order))


def name_of(x):
    return x.decl().name()


class Vectors:
    """Replaces the function that decodes a vector: any mark for each symbol, and any bytes for each group."""

    def __init__(self):
        self.read = []

    @staticmethod
    def mark(x):
        return BitVec(f"mark_{name_of(x)}", 8)

    @staticmethod
    def group(symbols):
        of = "_".join(map(name_of, symbols))
        return [BitVec(f"byte_{part}_of_{of}", 8) for part in range(3)]

    def decode(self, _, read):
        self.read.append(read)
        rest = symbolic(f"rest_{len(self.read)}_", SYMBOLS - DECODED)
        return [list(map(self.mark, read)), [byte for i in range(0, SYMBOLS, 4) for byte in self.group(read[i:i + 4])] + rest]


def run_base64(name, arguments, decisions, **options):
    vectors = Vectors()
    machine = Kernel(*sources(*BASE64), decisions=decisions, replaced={"decode": vectors.decode} | options.pop("replaced", {}), **options)
    return machine, vectors, machine.run(name, *arguments)


def all_are_symbols(symbols):
    return And(*(Vectors.mark(x) == 0 for x in symbols))


def prove_base64_groups(report):
    """An iteration of the loop, after another one, with the shortest input and output."""
    start, at = 4 * GROUPS, 3 * GROUPS
    for missing_input, missing_output in ((0, 0), (1, 0), (0, 1)):
        symbols = symbolic("x", start + SYMBOLS - missing_input)

        def make(decisions):
            output = Output(at + 32 - missing_output)
            presets = {"done": Int(GROUPS, "usize")}
            machine, vectors, result = run_base64("decode_groups", [Slice(symbols), output], decisions, presets=presets)
            return machine, output, vectors, result

        count = 0
        for machine, output, vectors, result in paths(make, []):
            here, count = And(*machine.conditions), count + 1
            if missing_input or missing_output:
                assert machine.number(result) == GROUPS and not vectors.read and not output.stores
                continue
            (read,) = vectors.read
            assert all(a.eq(b) for a, b in zip(read, symbols[start:], strict=True)), "other bytes are read"
            done = machine.number(machine.scope["done"])
            if done == GROUPS:
                assert machine.broken and not output.stores
                report.prove("base64: the loop stops only for a byte that is no symbol", Implies(here, Not(all_are_symbols(read))))
                continue
            found = written_bytes(output)
            expected = [byte for i in range(start, start + SYMBOLS, 4) for byte in Vectors.group(symbols[i:i + 4])]
            assert done == GROUPS + SYMBOLS // 4 and min(found) == at
            report.prove("base64: the loop writes the bytes of 32 symbols", Implies(here, And(
                all_are_symbols(read), *(z3_bool(found[at + i][0] is True and found[at + i][1].eq(byte)) for i, byte in enumerate(expected)),
            )))
        assert count == (1 if missing_input or missing_output else 2)


def prove_base64_lines(report):
    for groups in range(1, 20):
        for line_break in (b"\n", b"\r\n"):
            prove_base64_line(report, groups, line_break)


def prove_base64_line(report, groups, line_break, run=run_base64, least=SYMBOLS):
    """Lines of a form: each is decoded exactly if all of its bytes are symbols before the line break of the form.

    Lines of fewer than `least` symbols are left to the portable loop.
    """
    title = f"base64: lines of {4 * groups} symbols and {line_break}"
    length, decoded = 4 * groups + len(line_break), 3 * groups
    form = Struct({"groups": Int(groups, "u8"), "has_cr": len(line_break) == 2})
    # Whole lines, one byte less in the output, and one byte less in the input.
    for lines, whole, room in ((2, 2 * length, 2 * decoded), (1, 2 * length, 2 * decoded - 1), (1, 2 * length - 1, 2 * decoded)):
        encoded, calls, claims = symbolic("x", whole), [], []

        def portable(*arguments):
            calls.append(arguments)
            return Int(7, "usize")

        def make(decisions):
            output, given = Output(room), Slice(encoded)
            machine, vectors, result = run(
                "decode_lines", [given, output, form], decisions, replaced={"decode_lines": portable}, constants={"portable::decode_groups": "groups"},
            )
            return machine, output, given, machine.number(result)

        for machine, output, given, result in paths(make, [], lambda conditions: True):
            here = And(*machine.conditions)
            if 4 * groups < least:
                (arguments,) = calls
                assert arguments[0] is given and arguments[1] is output and arguments[3] == "groups" and result == 7 and not output.stores
                assert arguments[2].fields == form.fields
                continue
            for line in range(min(result + 1, lines)):
                start = line * length
                ends = And(*(x == byte for x, byte in zip(encoded[start + 4 * groups:start + length], line_break, strict=True)))
                is_line = And(ends, all_are_symbols(encoded[start:start + 4 * groups]))
                claims.append(Implies(here, is_line == (line < result)))
            found = written_bytes(output)
            assert set(found) == set(range(result * decoded)), "bytes of other lines are written"
            for at, (kept, byte) in found.items():
                line, part = divmod(at, decoded)
                start = line * length + part // 3 * 4
                assert kept is True and byte.eq(Vectors.group(encoded[start:start + 4])[part % 3]), "other bytes are written"
        if claims or 4 * groups < least:
            report.prove(f"{title}, {lines} in {whole} bytes", And(*claims))


# Quoted-printable.


class Quoted(Kernel):
    """A machine with the arithmetic of masks that `store` uses."""

    def on_method(self, names, value, name, constants, arguments):
        if name in ("wrapping_add", "as_chunks"):
            value = self.evaluate(value, names)
            if name == "wrapping_add" and isinstance(value, Mask):
                (one,) = (self.evaluate(argument, names) for argument in arguments)
                assert self.number(one) == 1
                return increment(value)
            if name == "as_chunks" and isinstance(value, list):
                (size,) = constants
                return [value[i:i + size] for i in range(0, len(value), size)], []
            value = ("value", value)
        return super().on_method(names, value, name, constants, arguments)


def increment(mask):
    """The mask plus 1: a bit changes if all bits before it are set."""
    found, are_set = [], True
    for bit in mask.list:
        found.append(boolean(Not(bit == are_set) if are_set is not True else Not(bit)))
        are_set = boolean(And(z3_bool(are_set), z3_bool(bit)))
    return Mask(found, mask.kind)


def prove_increment(report):
    """`increment` is the addition of 1."""
    mask = Mask([Bool(f"bit_{i}") for i in range(64)], "u64")
    report.prove("quoted-printable: the model adds 1 to a mask", increment(mask).bits() == mask.bits() + 1)


def prove_quoted_bytes(report, kernel=Quoted, names=QUOTED, slots_of=slots_of):
    """The kinds of the bytes of a window, and the bytes that are written."""
    x, windows = symbolic("x", READ + WINDOW), []
    given = x[READ:]
    kept, escapes = ([Bool(f"{name}_{i}") for i in range(WINDOW)] for name in ("kept", "escape"))
    files = sources(*names)
    length = BitVec("len", 8)

    def segment(window):
        windows.append(window.fields)
        found = Struct({"kept": Mask(kept, "u64"), "ends": Int(0, "u64"), "feeds": Int(0, "u64"), "len": Int(length, "u8")})
        return Option((found, Mask(escapes, "u64")), True)

    def make(decisions):
        output, segments = Output(WRITTEN + WINDOW), [Struct({})]
        machine = kernel(
            *files, decisions=decisions, replaced={"segment": segment}, presets={"at": Int(READ, "usize"), "written": Int(WRITTEN, "usize")},
        )
        count = machine.run("decode_segments", Slice(x), output, segments)
        assert machine.number(count) == 1 and segments[0].fields["kept"].list == kept
        return machine, output

    for number, (machine, output) in enumerate(paths(make, [], lambda conditions: True), 1):
        here = And(*machine.conditions)
        slots, terms = slots_of(machine, output, WRITTEN)
        assert len(slots) == WINDOW and not any(obligation is not True for obligation in machine.obligations)
        assert sum_of_total(Total.of(machine.scope["written"])) == sum_of([(WRITTEN, True), *((1, bit) for bit in kept)])
        report.prove(f"quoted-printable: path {number} reads the bytes of the segment", machine.scope["at"].bits() == READ + Concat(BitVecVal(0, 56), length))
        is_whole = all(bit is True for bit, _ in slots)
        if is_whole:
            # The bytes that are kept are the first ones.
            claims = [Implies(kept[i], kept[i - 1]) for i in range(1, WINDOW)]
            report.prove(f"quoted-printable: path {number} leaves out no byte before one that is kept", Implies(here, And(*claims)))
        else:
            assert all(bit.eq(expected) for (bit, _), expected in zip(slots, kept, strict=True)), "other bytes are kept"
        for i, (_, byte) in enumerate(slots):
            if i < STARTS:
                high, low = digit(given[i + 1]), digit(given[i + 2])
                expected = If(escapes[i], high[0] << 4 | low[0], given[i])
                # `segment` sets the bit only for an escape.
                premise = And(Implies(escapes[i], And(given[i] == 0x3D, high[1], low[1])), Implies(kept[i], Or(escapes[i], given[i] != 0x3D)))
            else:
                expected, premise = given[i], given[i] != 0x3D
            report.prove(f"quoted-printable: path {number}, byte {i} is itself or the value of its escape", Implies(And(premise, kept[i]), byte == expected))
    masks = [mask_of(windows[0][kind], WINDOW) for kind in KINDS]
    for i, byte in enumerate(given):
        is_right = And(*(z3_bool(mask[i]) == expected for mask, expected in zip(masks, kinds(byte))))
        report.prove(f"quoted-printable: the kinds of byte {i}", is_right)


def prove_quoted_end(report, kernel=Quoted, names=QUOTED):
    """A window that does not fit is not read, nor one that has another unit written."""
    x = symbolic("x", READ + WINDOW)
    presets = {"at": Int(READ, "usize"), "written": Int(WRITTEN, "usize")}
    for missing_input, missing_output, is_found in ((1, 0, True), (0, 1, True), (0, 0, False)):
        calls, output, segments = [], Output(WRITTEN + WINDOW - missing_output), [None]
        machine = kernel(*sources(*names), replaced={"segment": lambda window: calls.append(window) or Option()}, presets=presets)
        count = machine.run("decode_segments", Slice(x[:len(x) - missing_input]), output, segments)
        is_right = machine.number(count) == 0 and not output.stores and segments == [None] and len(calls) == (not is_found)
        report.prove(f"quoted-printable: nothing is written, {missing_input} and {missing_output} bytes less, {is_found}", z3_bool(is_right))


def prove_quoted_table(report):
    prove_tables(report, sources(QUOTED_FILE))


PARTS = {
    "base64": (prove_base64_vector, prove_base64_groups, prove_base64_lines),
    "quoted": (prove_increment, prove_quoted_table, prove_quoted_bytes, prove_quoted_end),
}


if __name__ == "__main__":
    run_parts([(prove,) for proofs in PARTS.values() for prove in proofs])
