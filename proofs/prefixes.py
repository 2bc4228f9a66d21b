#!/usr/bin/env python3
"""Proves that the sets of prefixes of the preset subsets have every character outside.

The tables of a set are symbolic, except for the presets. The definition is that of `Prefixes::begins`. docs/verification.md has
the list of claims.
"""

import itertools
import re

from z3 import And, BitVec, BitVecVal, BoolVal, Extract, Implies, LShR, Not, Or, UGE, ULE, ULT, simplify

import formulas
from classes import holds, is_added
from compressed import Kernel
from conversions import number, utf8
from formulas import run_parts, within
from library import Library, Option, Span, Variant
from model import Array, Int, Pointer, Slice, Struct, split
from rust import Source
from vectors import z3_bool

WIDTH, GROUP = 32, 128
PREFIXES = "prefixes.rs"
ALL = [PREFIXES]
EDGES = [0, 1, 14, 15, 16, 17, 30, 31]


def source(name, only=None):
    return Source(formulas.ROOT / name, only)


def symbolic(name, count):
    return [BitVec(f"{name}{i}", 8) for i in range(count)]


def tables(name, count):
    return Array([Int(BitVec(f"{name}{i}", 128), "u128") for i in range(count)], "u128")


def any_set():
    return Struct({"pairs": tables("pair", 4), "whole": Int(BitVec("whole", 8), "u8"), "triples": tables("triple", 6)})


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


class Built:
    """A set that is built by the functions of `prefixes.rs`, and what was added to it."""

    def __init__(self, value, calls=()):
        self.value, self.calls = value, list(calls)


class Builder(Within):
    """A machine that computes the functions of `subset.rs`, and lets another one build the sets."""

    def on_method(self, names, value, name, constants, arguments):
        found = self.evaluate(value, names)
        if isinstance(found, Built):
            given = [self.evaluate(argument, names) for argument in arguments]
            if name == "or":
                (other,) = given
                return Built(computed(name, other.value, this=found.value), found.calls + other.calls)
            return added(found, name, *map(Library.number, given))
        return super().on_method(names, ("value", found), name, constants, arguments)


# The types of the parameters of the methods that take integers.
TYPES = {"with_ascii": ("u8", "u16"), "with_seconds": ("u8", "u64", "u64", None), "with_thirds": ("u8", "u8", "u64")}


def computed(name, *arguments, this=None):
    """The result of a function of `prefixes.rs`. All of its loops are run, not an iteration of the first one."""
    machine = Within(source(PREFIXES))
    machine.depth = 100
    return machine.call(name, *arguments, this=this)


def added(the_set, name, *values):
    given = [value if kind is None else Int(value, kind) for kind, value in zip(TYPES[name], values, strict=True)]
    return Built(computed(name, *given, this=the_set.value), [*the_set.calls, (name, *values)])


def empty():
    return Struct({
        "pairs": Array([Int(0, "u128")] * 4, "u128"), "whole": Int(0, "u8"), "triples": Array([Int(0, "u128")] * 6, "u128"),
        "ascii": Variant("Empty", []),
    })


def prove_equal(report, name, found, expected):
    report.prove(f"{name}: {expected}", BoolVal(found == expected))


def prove_nibbles(report):
    """The sets of nibbles of bytes and bits, and the first bytes of text."""
    bits, value = BitVec("bits", 16), BitVec("value", 128)
    entries = split(computed("spread", Int(bits, "u16")).bits())
    claims = [entry == (Extract(7, 0, LShR(bits, i)) & 1) for i, entry in enumerate(entries)]
    report.prove("spread: an entry for each bit", And(len(entries) == 16, *claims))
    for byte in (0x00, 0x01, 0x10, 0x2F, 0x7F, 0x80, 0xC2, 0xED, 0xF4, 0xFF):
        for name, nibble in (("high_of", byte >> 4), ("low_of", byte & 0xF)):
            prove_equal(report, f"{name}({byte:02X})", Library.number(computed(name, Int(byte, "u8"))), 1 << (8 * nibble))
    the_set, text = any_set(), symbolic("t", 4)
    pairs, triples = ([table.bits() for table in the_set.fields[name]] for name in ("pairs", "triples"))

    def common(tables, first_bytes):
        """The bits that the entries of the nibbles have in common."""
        found = BitVecVal(0xFF, 8)
        for i, table in enumerate(tables):
            byte = Int(first_bytes[i // 2], "u8").to("u128").bits()
            found = found & Extract(7, 0, table >> (8 * (byte & 0xF if i % 2 else LShR(byte, 4))))
        return found

    report.prove("begins: no text", Not(has(the_set, [])))
    for length in range(1, 5):
        first_bytes = (text[:length] + [BitVecVal(0, 8)] * 2)[:3]
        pair = common(pairs, first_bytes)
        is_in = Or(pair & the_set.fields["whole"].bits() != 0, And(pair != 0, common(triples, first_bytes) != 0))
        report.prove(f"begins: {length} bytes", has(the_set, text[:length]) == is_in)


def product_of(*nibbles):
    """A product of sets of nibbles."""
    return Array([Int(sum(1 << (8 * nibble) for nibble in of), "u128") for of in nibbles], "u128")


def elements(product):
    return set(itertools.product(*product))


# Eight products with an element each, and others. Where each of them is added: at bits that are not in `others`, to the product that
# grows least, if no bit is free.
SINGLE = [[{j}, {j + 1}, {15 - j}, {j + 2}] for j in range(8)]
MORE = [
    ([{5}, {6}, {10}, {8}], 0), ([{3}, {4}, {2}, {8}], 0), ([{5}, {6}, {11}, {7}], 0b0010_0000), ([{3}, {4, 7}, {12}, {5}], 0b0000_1000),
    ([{0}, {1}, {15}, {3}], 0xFF), ([{7}, {8}, {8}, {10}], 0x7F), ([{0, 1}, {1, 2}, {14, 15}, {2, 3}], 0b0000_0010), ([set(range(16))] * 4, 0x01),
]


def prove_union(report):
    """`with` adds each product to the first bit that grows least. Eight products are exact."""
    tables, products = Array([Int(0, "u128")] * 4, "u128"), [[set()] * 4 for _ in range(8)]
    for count, (product, others) in enumerate([*((product, 0) for product in SINGLE), *MORE]):
        grown = [[old | new for old, new in zip(products[bit], product)] for bit in range(8)]
        growths = [len(elements(grown[bit])) - len(elements(products[bit]) | elements(product)) for bit in range(8)]
        expected = min(range(8), key=lambda bit: (others >> bit & 1, growths[bit], bit))
        tables, bit = computed("with", product_of(*product), Int(others, "u8"), this=tables)
        prove_equal(report, f"with: the bit of product {count}", Library.number(bit), expected)
        products[expected] = grown[expected]
        for bit in range(8):
            is_right = [table.number() for table in computed("product", Int(bit, "u32"), this=tables)] == [it.number() for it in product_of(*products[bit])]
            report.prove(f"with: product {bit} after product {count}", BoolVal(is_right))


ALL_BITS = (1 << 64) - 1
# What is added to a set with at most 8 products of the first two bytes, and the number of these.
SETS = [
    ([("with_ascii", 0, 0x0001)], 1),
    ([("with_ascii", 0, 0x8000), ("with_ascii", 1, 0x0001), ("with_ascii", 7, 0x0001)], 2),
    ([("with_ascii", 2, 0), ("with_seconds", 0xC2, 0, ALL_BITS, True)], 0),
    ([("with_seconds", 0xC2, 1, ALL_BITS, True)], 1),
    ([("with_seconds", 0xC3, 0x0001_0000_0000_0001, ALL_BITS, True)], 1),
    ([("with_seconds", 0xDF, 0x0001_0003_0001_8000, ALL_BITS, True)], 3),
    ([("with_seconds", 0xE0, 0x8001_8001_0000_0000, 0xFFFF_FFFF_0000_0000, True)], 1),
    ([("with_seconds", 0xED, 0x0000_0000_8000_0001, 0x0000_0000_FFFF_FFFF, True)], 2),
    ([("with_seconds", 0xF4, 0x0004, 0x0000_0000_0000_FFFF, True), ("with_seconds", 0xF1, 0x0004, ALL_BITS, True)], 2),
    ([("with_thirds", 0xE2, 0x80, 0x0001_0000_C000_0001), ("with_seconds", 0xE2, 0x0001, ALL_BITS, False)], 1),
    ([
        ("with_ascii", 0, 0x0001), ("with_seconds", 0xD8, 1 << 28, ALL_BITS, True), ("with_thirds", 0xE2, 0x80, 0x7C00_0000_C000),
        ("with_thirds", 0xE2, 0x81, 0x3C0_0000_0000), ("with_seconds", 0xE2, 0, ALL_BITS, True), ("with_seconds", 0xE2, 0x0003, ALL_BITS, False),
    ], 3),
    # The pairs that do not depend on the third byte are in products of their own.
    ([
        ("with_seconds", 0xE2, 0x0001, ALL_BITS, True), ("with_thirds", 0xE2, 0x81, 1), ("with_seconds", 0xE2, 0x0002, ALL_BITS, False),
        ("with_thirds", 0xE3, 0x80, 2), ("with_seconds", 0xE3, 0x0001, ALL_BITS, False), ("with_seconds", 0xE3, 0x0002, ALL_BITS, True),
    ], 4),
    # Eight products of three bytes.
    ([
        ("with_thirds", 0xE2, 0x80, 0x0001_0002_0004_0008), ("with_seconds", 0xE2, 0x0001, ALL_BITS, False),
        ("with_thirds", 0xE3, 0x81, 0x0010_0020_0040_0080), ("with_seconds", 0xE3, 0x0002, ALL_BITS, False),
    ], 2),
]


def built(calls):
    the_set = Built(empty())
    for call in calls:
        the_set = added(the_set, *call)
    return the_set


def is_exact(the_set):
    """Whether a set has the first bytes of a character exactly if they were added."""
    first, second, third = bytes_ = [BitVec(name, 8) for name in ("first", "second", "third")]
    # Text has no other bytes after these lead bytes.
    least = [(0xE0, 0xA0, 0xBF), (0xED, 0x80, 0x9F), (0xF0, 0x90, 0xBF), (0xF4, 0x80, 0x8F)]
    is_text = [within(byte, 0x80, 0xBF) for byte in (second, third)] + [Implies(first == lead, within(second, *edges)) for lead, *edges in least]
    is_text.append(Or(ULT(first, BitVecVal(0x80, 8)), within(first, 0xC2, 0xF4)))
    return Implies(And(*is_text), has(the_set.value, bytes_) == is_added(the_set.calls, bytes_))


def prove_rows(report, name, the_set):
    """There is a product for each kind of row, with all rows that are equal or impossible."""
    ((_, lead, seconds, possible, _),) = the_set.calls
    rows, possible_rows = ([bits >> 16 * row & 0xFFFF for row in range(4)] for bits in (seconds, possible))
    for bit, columns in enumerate(dict.fromkeys(filter(None, rows))):
        high = {8 + row for row in range(4) if rows[row] == columns or not possible_rows[row]}
        expected = product_of({lead >> 4}, {lead & 0xF}, high, {low for low in range(16) if columns >> low & 1})
        found = computed("product", Int(bit, "u32"), this=the_set.value.fields["pairs"])
        report.prove(f"{name}: product {bit}", BoolVal([table.number() for table in found] == [table.number() for table in expected]))


def prove_sets(report):
    """Sets of few products are exact, and so are the unions of two of them."""
    sets = [built(calls) for calls, _ in SETS]
    for i, (the_set, (_, count)) in enumerate(zip(sets, SETS)):
        report.prove(f"set {i} is exact", is_exact(the_set))
        prove_equal(report, f"used, set {i}", simplify(computed("used", this=the_set.value).bits()).as_long(), (1 << count) - 1)
        if [name for name, *_ in the_set.calls] == ["with_seconds"]:
            prove_rows(report, f"set {i}", the_set)
    for a, b in ((1, 3), (3, 10), (9, 1), (10, 9), (10, 11), (11, 10), (0, 12)):
        union = Built(computed("or", sets[b].value, this=sets[a].value), sets[a].calls + sets[b].calls)
        report.prove(f"sets {a} and {b}: the union is exact", is_exact(union))


def prove_preset(report, name):
    """The set of a preset has every character outside. The set is exact in the bytes that it has."""
    machine = Builder(source("../subset.rs"), source("class.rs"), constants={"Prefixes::EMPTY": Built(empty())})
    fields = machine.constant(name).fields
    built_set = fields["doubtful"].fields["prefixes"]
    the_set = built_set.value
    value = BitVec("character", 32)
    bytes_, _ = utf8(value)
    is_scalar = And(ULE(value, number(0x10FFFF)), Or(ULT(value, number(0xD800)), UGE(value, number(0xE000))))
    is_outside = And(is_scalar, Not(holds(fields["rule"], value)))
    report.prove(f"{name}: the set has every character outside", Implies(is_outside, has(the_set, bytes_[:3])))
    report.prove(f"{name}: the set has no other first bytes", is_exact(built_set))


def preset_names():
    return re.findall(r"pub const (\w+): Self", source("../subset.rs").text)


def parts():
    return [
        (prove_nibbles,), (prove_union,), (prove_sets,),
        *((prove_preset, name) for name in preset_names()),
    ]


if __name__ == "__main__":
    run_parts(parts())
