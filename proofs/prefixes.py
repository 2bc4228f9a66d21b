#!/usr/bin/env python3
"""Proves that the sets of prefixes of the preset subsets have every character outside, and the tests of AVX2 for pairs of bytes and
for ASCII bytes of a set (`avx2/within.rs`).

The tables of a set are symbolic, except for the presets. The definition is that of `Prefixes::begins`. docs/verification.md has
the list of claims.
"""

import re

from z3 import And, BitVec, BitVecVal, Extract, Implies, Not, Or, UGE, ULE, ULT, simplify

import formulas
from classes import holds
from compressed import Kernel
from conversions import number, utf8
from formulas import run_parts
from library import Library, Option, Span, Variant
from model import Array, Int, Pointer, Slice, Struct, split
from rust import Source
from vectors import z3_bool

WIDTH, GROUP = 32, 128
FILE, PREFIXES = "arch/x86_64/avx2/within.rs", "prefixes.rs"
ALL = [FILE, PREFIXES, "arch/vector/mod.rs", "state.rs"]
EDGES = [0, 1, 14, 15, 16, 17, 30, 31]


def source(name, only=None):
    return Source(formulas.ROOT / name, only)


def symbolic(name, count):
    return [BitVec(f"{name}{i}", 8) for i in range(count)]


def tables(name, count):
    return Array([Int(BitVec(f"{name}{i}", 128), "u128") for i in range(count)], "u128")


def any_set(ascii_set=None):
    return Struct({"pairs": tables("pair", 4), "whole": Int(BitVec("whole", 8), "u8"), "triples": tables("triple", 6), "ascii": ascii_set})


class Marks:
    """Marks of which only a condition is known: that there is one."""

    def __init__(self, is_marked):
        self.is_marked = is_marked


class Loaded:
    """The vector at an index."""

    def __init__(self, at):
        self.at = at


class Within(Kernel):
    """A machine for sets of prefixes. `replaced` has methods of vectors, too."""

    def __init__(self, *sources, pointer=0, **options):
        super().__init__(*sources, **options)
        self.pointer = pointer
        self.constants |= {"Ymm::LEN": Int(WIDTH, "usize"), "Carry::START": None}
        self.replaced.setdefault("load", lambda pointer: pointer.read(WIDTH))
        self.replaced["from_ref"] = lambda value: Pointer(split(value.bits()))

    def call(self, name, *arguments, this=None, constants=()):
        if name in ("product", "with", "has", "size", "growth"):
            of = this if this is not None else arguments[0]
            if isinstance(of, Array):
                self.constants["N"] = Int(len(of), "usize")
        return super().call(name, *arguments, this=this, constants=constants)

    def on_call(self, names, function, arguments):
        _, name, constants = function
        if name == "after_ascii":
            (self.mode,) = constants
        if name in ("u128::from_le_bytes", "u128::from_ne_bytes") or name == "Carry::from_word":
            value = self.evaluate(arguments[0], names)
            return value if isinstance(value, Int) else Int(int.from_bytes(bytes(map(self.number, value)), "little"), "u128")
        return super().on_call(names, function, arguments)

    def on_path(self, names, name, constants):
        prefix, _, last = name.rpartition("::")
        return Variant(last, []) if prefix == "AsciiSet" else super().on_path(names, name, constants)

    def on_as(self, names, value, kind):
        value, kind = self.evaluate(value, names), "u128" if kind == "Nibbles" else kind
        return Int(value.at + self.pointer, kind) if isinstance(value, Pointer) else super().on_as(names, ("value", value), kind)

    def on_method(self, names, value, name, constants, arguments):
        if name == "iter_mut":
            return super().on_method(names, value, name, constants, arguments)
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        match name, value:
            case "is_marked", Marks():
                return value.is_marked
            case _, (list() | Loaded()) if name in self.replaced:
                return self.replaced[name](value, *arguments)
            case ("with" | "product" | "has"), list():
                return self.call(name, *arguments, this=value)
            case "find", list():
                return self.call(name, *arguments, this=value)
            case "has_lead_of_four", Int():
                return self.call(name, this=value)
            case "get", Slice():
                at = arguments[0]
                if isinstance(at, Span):
                    first, end = at.within(len(value.memory))
                    return Option(Slice(value.memory[first:end]), first <= end)
                index = self.number(at)
                fits = 0 <= index < len(value.memory)
                return Option(Int(value.memory[index], "u8") if fits else None, fits)
            case "unwrap_or_default", Option():
                return value.value
            case "is_some_and", Option():
                return arguments[0](value.value) if value.is_some else False
            case "take_while", Span():
                found = []
                for i in value:
                    if not self.decide(arguments[0](Int(i, "usize"))):
                        break
                    found.append(i)
                return found
            case "count", list():
                return Int(len(value), "usize")
            case "zip", list() if isinstance(arguments[0], Slice):
                return list(zip(value, [Int(byte, "u8") for byte in arguments[0].memory]))
            case "next_multiple_of", Int():
                of = self.number(arguments[0])
                return Int(-(-value.number() // of) * of, "usize")
            case "map", Option():
                return Option(arguments[0](value.value), True) if value.is_some else value
            case "filter", Option():
                return value if value.is_some and self.decide(arguments[0](value.value)) else Option()
            case "start" | "end", Span():
                return value.start if name == "start" else value.last
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])


def has(the_set, bytes_):
    """`Prefixes::begins`."""
    machine = Within(source(PREFIXES))
    return z3_bool(machine.call("begins", Slice(list(bytes_)), this=the_set))


def prove_pairs(report):
    """The bits of a pair of bytes are those of the tables, for all vectors that `find` and `first_in` read."""
    the_set, first, second = any_set(), symbolic("a", WIDTH), symbolic("b", WIDTH)
    machine = Within(source(FILE, "impl Pairs {"), source(FILE), source(PREFIXES))
    pairs = machine.call("new", the_set)
    found = machine.call("find", first, second, this=pairs)
    definition = Within(source(PREFIXES))
    for i in EDGES:
        a, b = Int(first[i], "u8"), Int(second[i], "u8")
        nibbles = [definition.operate(">>", a, 4), a, definition.operate(">>", b, 4), b]
        report.prove(f"find, lane {i}: the bits of the pair", found[i] == definition.call("has", nibbles, this=the_set.fields["pairs"]).bits())


def is_in(the_set, byte):
    """Whether the entries of an ASCII byte have a bit in common."""
    high, low = (table.bits() for table in the_set.fields["pairs"][:2])

    def entry(table, nibble):
        return Extract(7, 0, table >> (8 * nibble))

    wide = BitVecVal(byte, 128) if isinstance(byte, int) else simplify(Int(byte, "u8").to("u128").bits())
    return entry(high, wide >> 4) & entry(low, wide & 0x0F) != 0


def describes(the_set, kind, first, last):
    """What `AsciiSet` says about a set, as its documentation has it."""
    found = [ULE(first, last), ULE(last, BitVecVal(0x7F, 8))] if kind in (1, 2) else []
    for byte in range(0x80):
        here = is_in(the_set, byte)
        if kind == 0:
            found.append(Not(here))
        if kind in (1, 2):
            is_between = And(ULE(first, byte), ULE(byte, last))
            found.append(Implies(is_between, Not(here)))
            if kind == 1 or byte >= 0x10:
                found.append(Implies(Not(is_between), here))
            else:
                found.append(Implies(ULT(last, byte), here))
    return found


KINDS = ["Empty", "Edges", "EdgesBut", "Other"]


def prove_ascii(report, kind):
    """The vectors of `after_ascii` are clean exactly if all bytes are ASCII and not in the set."""
    first, last = BitVec("first", 8), BitVec("last", 8)
    fields = {"first": Int(first, "u8"), "last": Int(last, "u8")}
    the_set = any_set(Variant(KINDS[kind], fields if kind in (1, 2) else []))
    machine = Within(source(FILE, "impl<const MODE: u8> Ascii<MODE> {"), source(FILE), source(PREFIXES))
    machine.constants["MODE"] = kind
    ascii_ = machine.call("new", the_set)
    premises = And(*describes(the_set, kind, first, last))

    def is_clean(*vectors):
        seen = machine.call("NONE")
        for x in vectors:
            seen = machine.call("with", seen, x, this=ascii_)
        return z3_bool(machine.call("is_clean", seen, this=ascii_))

    byte = BitVec("byte", 8)
    title = f"bytes that are ASCII and not in a set of kind {KINDS[kind]}"

    def is_right(byte):
        return And(ULT(byte, BitVecVal(0x80, 8)), Not(is_in(the_set, byte)))

    # The result is a conjunction about lanes, and a lane is a function of its bytes. A byte among equal bytes is exact.
    rest = [byte] * WIDTH
    report.prove(f"{title}: a vector of one byte is clean exactly if it is such a byte", Implies(premises, is_clean(rest) == is_right(byte)))
    clean = BitVecVal(0x41, 8)
    for lane in (0, 15, 16, 31):
        vector = [clean] * lane + [byte] + [clean] * (WIDTH - lane - 1)
        for vectors in ((vector, [clean] * WIDTH), ([clean] * WIDTH, vector)):
            here = And(premises, is_right(clean))
            report.prove(f"{title}: lane {lane} of two vectors", Implies(here, is_clean(*vectors) == is_right(byte)))


class Built:
    """A set that is built by the functions of `prefixes.rs`."""

    machine = None

    def __init__(self, value):
        self.value = value


class Builder(Within):
    """A machine that computes the functions of `subset.rs`, and lets another one build the sets."""

    def on_method(self, names, value, name, constants, arguments):
        found = self.evaluate(value, names)
        if isinstance(found, Built):
            given = [self.evaluate(argument, names) for argument in arguments]
            given = [argument.value if isinstance(argument, Built) else argument for argument in given]
            machine = Within(source(PREFIXES))
            # All loops are run, not an iteration of the first one.
            machine.depth = 100
            return Built(machine.call(name, *(typed(name, i, argument) for i, argument in enumerate(given)), this=found.value))
        return super().on_method(names, ("value", found), name, constants, arguments)


# The types of the parameters of the methods that take integers.
TYPES = {"with_ascii": ("u8", "u16"), "with_seconds": ("u8", "u64", "u64", None), "with_thirds": ("u8", "u8", "u64")}


def typed(name, i, value):
    kind = TYPES.get(name, (None,) * 4)[i]
    return value if kind is None else Int(Library.number(value), kind)


def empty():
    return Struct({
        "pairs": Array([Int(0, "u128")] * 4, "u128"), "whole": Int(0, "u8"), "triples": Array([Int(0, "u128")] * 6, "u128"),
        "ascii": Variant("Empty", []),
    })


def prove_preset(report, name):
    """The set of a preset has every character outside, and its kind of ASCII bytes is right."""
    machine = Builder(source("../subset.rs"), source("class.rs"), constants={"Prefixes::EMPTY": Built(empty())})
    fields = machine.constant(name).fields
    the_set = fields["doubtful"].fields["prefixes"].value
    value = BitVec("character", 32)
    bytes_, _ = utf8(value)
    is_scalar = And(ULE(value, number(0x10FFFF)), Or(ULT(value, number(0xD800)), UGE(value, number(0xE000))))
    is_outside = And(is_scalar, Not(holds(fields["rule"], value)))
    report.prove(f"{name}: the set has every character outside", Implies(is_outside, has(the_set, bytes_[:3])))
    kind = the_set.fields["ascii"]
    edges = kind.values if isinstance(kind.values, dict) else {"first": 0, "last": 0}
    first, last = (BitVecVal(Library.number(edges[field]), 8) for field in ("first", "last"))
    report.prove(f"{name}: the kind {kind.name} describes its ASCII bytes", And(*describes(the_set, KINDS.index(kind.name), first, last)))


def preset_names():
    return re.findall(r"pub const (\w+): Self", source("../subset.rs").text)


def parts():
    return [(prove_pairs,), *((prove_ascii, kind) for kind in range(4)), *((prove_preset, name) for name in preset_names())]


if __name__ == "__main__":
    run_parts(parts())
