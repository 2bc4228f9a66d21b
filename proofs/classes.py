#!/usr/bin/env python3
"""Proves the searches for a class of characters (`find_class`, `ascii_without`), and the classes of the preset subsets.

The searches are proved for every class: its words are symbolic. The definition is that of `Class::has` and
`Class::has_second`. The classes of the presets and of some other ranges are computed with the constant functions of `subset.rs`,
and compared with these ranges. docs/verification.md has the list of claims.
"""

import re

from z3 import And, BitVec, BitVecVal, If, Implies, LShR, Not, Or, UGE, ULE, ULT, is_and, is_false, is_not, is_or

import avx2  # The instructions.
import formulas
from conversions import number, utf8
from formulas import run_parts
from library import Library, Recorder, Room, Span, Variant, as_int
from model import Array, Int, Slice, Struct
from paths import Stop, paths
from rust import Source
from vectors import Total, mask_of, z3_bool

CAPACITY, BLOCK, GROUP = 192, 64, 256
# The lanes for which claims are proved: the edges of vectors, of halves and of quarters.
LANES = [0, 1, 15, 16, 31, 32, 47, 48, 62, 63]
AVX512 = ["arch/x86_64/avx512/classes.rs", "class.rs", "functions.rs"]
AVX2 = ["arch/x86_64/avx2/classes.rs", "arch/portable/classes.rs", "class.rs", "functions.rs"]


def sources(*names):
    return [Source(formulas.ROOT / name) for name in names]


def any_class():
    words = Array([Int(BitVec(f"words_{i}", 64), "u64") for i in range(4)], "u64")
    rest = {name: Int(BitVec(name, 64), "u64") for name in ("seconds_of_long", "thirds")}
    return Struct({"words": words} | rest)


class Definition:
    """`Class::has` and `Class::has_second` of a class."""

    def __init__(self, the_class):
        self.the_class = the_class
        self.sources = sources("class.rs")

    def all_paths(self, name, *arguments):
        """The condition of each path through a method, and its result."""
        def make(decisions):
            machine = Library(*self.sources, decisions=decisions)
            found = machine.call(name, *arguments, this=self.the_class)
            return And(*machine.conditions), z3_bool(found)

        return list(paths(make, [], lambda conditions: True))

    def result(self, name, *arguments):
        (_, found), *others = self.all_paths(name, *arguments)
        for condition, other in others:
            found = If(condition, other, found)
        return found

    def is_found(self, bytes_, at):
        """Whether a byte must be reported: it is in the class, and the byte after a lead byte is possible or unknown."""
        x = bytes_[at]
        has = self.result("has", Int(x, "u8"))
        if at + 1 == len(bytes_):
            return has
        second = self.result("has_second", Int(x, "u8"), Int(bytes_[at + 1], "u8"))
        return And(has, Or(ULT(x, BitVecVal(0x80, 8)), second))


def variables(term, known={}):
    """The names of the variables in a formula."""
    if term.get_id() not in known:
        found = {str(term)} if term.num_args() == 0 else set()
        for child in term.children():
            found |= variables(child)
        # The number is unique as long as the formula exists.
        known[term.get_id()] = (term, found)
    return known[term.get_id()][1]


def parts_about(conditions, bytes_):
    """The parts of a conjunction with these bytes. Fewer premises prove no more."""
    names, found = {str(x) for x in bytes_}, []
    for condition in conditions:
        if is_and(condition):
            found += parts_about(condition.children(), bytes_)
        elif is_not(condition) and is_or(condition.arg(0)):
            found += parts_about([Not(part) for part in condition.arg(0).children()], bytes_)
        elif variables(condition) & names:
            found.append(condition)
    return found


def prove_lane(report, title, conditions, bytes_, at, is_right):
    """Proves a claim about a byte and the byte after it, from the conditions about them."""
    report.prove(f"{title}, byte {at}", Implies(And(*parts_about(conditions, bytes_[at:at + 2])), is_right))


def prove_blocks(report, length):
    """The search of `find_class` in blocks, of which the last one may be incomplete."""
    the_class = any_class()
    definition = Definition(the_class)
    bytes_ = [BitVec(f"x{i}", 8) for i in range(length)]
    count = 0
    for machine, calls, found in search(bytes_, the_class, {}):
        count += 1
        searched = found.fields["searched"] if found else machine.scope["start"]
        assert machine.number(searched) == min(len(calls) * BLOCK, length), "blocks are left out"
        total = Total.of(found.fields["count"] if found else machine.scope["count"])
        assert total.equals(Total(0, [(1, bits) for bits, _ in calls])), "the count is not that of the positions"
        for block, (bits, start) in enumerate(calls):
            assert machine.number(start) == block * BLOCK
            bits = mask_of(bits, 64)
            assert not any(bit is not False for bit in bits[length - block * BLOCK:]), "reports a byte after the end"
            # Each block is the same function of the bytes from its start.
            for lane in LANES if block == 0 else (0, 63):
                at = block * BLOCK + lane
                if at < length:
                    is_right = z3_bool(bits[lane]) == definition.is_found(bytes_, at)
                    prove_lane(report, f"find_class, {length} bytes, path {count}: reported exactly if in the class", machine.conditions, bytes_, at, is_right)


def search(bytes_, the_class, presets, is_first_only=False):
    """Each path through an iteration of `find_class`: the machine, the calls of `write`, and the result."""
    files = sources(*AVX512)

    def make(decisions):
        calls = []

        def write(bits, start, room):
            calls.append((bits, start))
            if is_first_only:
                raise Stop
            return Total(0, [(1, bits)])

        machine = Library(*files, decisions=decisions, presets=presets, replaced={"write": write})
        found = machine.run("find_class", Slice(bytes_), the_class, Room(CAPACITY))
        return machine, calls, found

    return paths(make, [], lambda conditions: True)


def prove_groups(report, length, has_leads):
    """A group of blocks is left out only if no byte of it must be reported."""
    the_class = any_class()
    definition = Definition(the_class)
    bytes_ = [BitVec(f"x{i}", 8) for i in range(length)]
    left_out = 0
    for machine, calls, _ in search(bytes_, the_class, {"has_leads": has_leads}, is_first_only=True):
        if calls:
            continue
        left_out += 1
        assert machine.number(machine.scope["start"]) == GROUP
        for lane in LANES:
            for at in range(lane, GROUP, BLOCK):
                title = f"find_class, a group of {length} bytes left out, {left_out}"
                prove_lane(report, title, machine.conditions, bytes_, at, Not(definition.is_found(bytes_, at)))
    assert left_out == (2 if (length, has_leads) == (GROUP + 1, False) else 1)


def prove_ascii_without(report, files):
    name = files[0].split("/")[2]
    the_class = any_class()
    definition = Definition(the_class)
    files = sources(*files)
    bytes_ = [BitVec(f"x{i}", 8) for i in range(GROUP)]

    def make(decisions):
        machine = Library(*files, decisions=decisions)
        return machine, machine.run("ascii_without", Slice(bytes_), the_class)

    found = {machine.number(length): machine for machine, length in paths(make, [], lambda conditions: True)}
    assert sorted(found) == [0, GROUP]
    conditions = found[GROUP].conditions
    for lane in LANES[::3]:
        at = lane + BLOCK * (lane % 4)
        x = bytes_[at]
        is_right = And(ULT(x, BitVecVal(0x80, 8)), Not(definition.result("has", Int(x, "u8"))))
        prove_lane(report, f"ascii_without of {name}: a group is ASCII without the class", conditions, bytes_, at, is_right)
    # The other direction, for a byte among bytes that are neither.
    other = [x == BitVecVal(0x61, 8) for x in bytes_]
    without_a = Not(definition.result("has", Int(0x61, "u8")))
    for lane in LANES[::3]:
        x = bytes_[lane]
        is_in = Or(UGE(x, BitVecVal(0x80, 8)), definition.result("has", Int(x, "u8")))
        here = And(without_a, *found[0].conditions, *other[:lane], *other[lane + 1:])
        report.prove(f"ascii_without of {name}: stops only at a group with such a byte, byte {lane}", Implies(here, is_in))


def prove_avx2(report):
    """The marks that `find_class` of AVX2 gives to the loop of all kernels."""
    the_class = any_class()
    definition = Definition(the_class)
    files, bytes_ = sources(*AVX2), [BitVec(f"x{i}", 8) for i in range(GROUP)]

    def make(decisions):
        closures = []
        machine = Library(*files, decisions=decisions, replaced={"find_class_with": lambda *found: closures.append(found[3:])})
        machine.run("find_class", Slice([]), the_class, Room(CAPACITY))
        return machine.conditions, *closures

    # Some classes have a search of their own.
    for number_, (of_class, (is_clean, block_bits)) in enumerate(paths(make, []), 1):
        title = f"find_class of AVX2, path {number_}"
        bits = mask_of(block_bits(Slice(bytes_[:BLOCK])), 64)
        for lane in LANES:
            is_right = z3_bool(bits[lane]) == definition.result("has", Int(bytes_[lane], "u8"))
            report.prove(f"{title}: marked exactly if in the class, byte {lane}", Implies(And(*of_class), is_right))
        group = bytes_ + [BitVec(f"x{GROUP}", 8)]
        for test in range(3):
            passed = [z3_bool(is_clean(Int(test, "u8"), Slice(group)))]
            if is_false(passed[0]):
                continue
            for lane in LANES:
                for at in (lane + BLOCK * (lane % 4), *[GROUP - 1] * (lane == 63)):
                    here = And(*of_class, *parts_about(passed, group[at:at + 2]))
                    is_right = Not(definition.is_found(group, at))
                    report.prove(f"{title}: nothing is found in a group that passes test {test}, byte {at}", Implies(here, is_right))


def holds(rule, value):
    """Whether a code point is in a subset: in one of its ranges, or in all of its subsets."""
    if rule.name == "AnyOf":
        ranges = [(Library.number(it.start), Library.number(it.last)) for it in rule.values[0]]
        return Or(*(And(ULE(number(first), value), ULE(value, number(last))) for first, last in ranges))
    return And(*(holds(subset.fields["rule"], value) for subset in rule.values[0]))


def presets():
    """The preset subsets and the values of their fields."""
    machine = Library(*sources("../subset.rs", "class.rs"), constants={"Prefixes::EMPTY": Recorder()})
    for name in re.findall(r"pub const (\w+): Self", machine.sources[0].text):
        yield name, machine.constant(name).fields


def is_added(calls, bytes_):
    """Whether the first bytes of a character are added to a set of prefixes, of which the third bytes may be added apart."""
    first, second, third = bytes_[:3]
    found, in_thirds = [], Or(*(
        And(first == lead, second == before, bit_of(bits, third)) for name, lead, before, bits in
        ([*call] for call in calls if call[0] == "with_thirds")
    ))
    for name, *values in calls:
        if name == "with_ascii":
            high, lows = values
            found.append(And(LShR(first, 4) == high, bit_of(lows, first & 0x0F)))
        elif name == "with_seconds":
            lead, bits, _, is_whole = values
            found.append(And(first == lead, bit_of(bits, second), is_whole or in_thirds))
        else:
            assert name == "with_thirds", name
    return Or(*found)


def bit_of(bits, x):
    """The bit of the low 6 bits of a byte."""
    return Or(*(x & 0x3F == i for i in range(64) if bits >> i & 1))


def prove_preset(report, name, fields):
    """The search finds the first byte of every character outside the subset, and `begins` keeps it."""
    value = BitVec("character", 32)
    bytes_, length = utf8(value)
    is_scalar = And(ULE(value, number(0x10FFFF)), Or(ULT(value, number(0xD800)), UGE(value, number(0xE000))))
    is_outside = And(is_scalar, Not(holds(fields["rule"], value)))
    doubtful = fields["doubtful"].fields
    the_class = doubtful["class"].fields if "class" in doubtful else doubtful
    words = Array([as_int(word, "u64") for word in the_class["words"]], "u64")
    the_class = Struct({name: as_int(word, "u64") for name, word in the_class.items() if name != "words"} | {"words": words})
    definition = Definition(the_class)
    found = definition.is_found(bytes_, 0)
    if "prefixes" in doubtful:
        found = And(found, is_added(doubtful["prefixes"].calls, bytes_))
    begins = [] if not definition.sources[0].has_function("begins") else [Implies(And(condition, length == len_), result) for len_ in range(1, 5)
              for condition, result in definition.all_paths("begins", Slice(bytes_[:len_] + [BitVecVal(0x61, 8)]))]
    report.prove(f"{name}: every character outside is found", Implies(is_outside, And(found, *begins)))


def prove_presets(report):
    for name, fields in presets():
        prove_preset(report, name, fields)
        prove_first_bytes(report, name, fields["rule"], fields["doubtful"].fields)


# Limits of `subset.rs`: up to so many ranges and pairs have third bytes of their own.
MANY_RANGES, MANY_PAIRS = 24, 24
LAST = 0x10FFFF


def outside_of(ranges):
    """The ranges of scalar values that are outside some ranges."""
    found, next_ = [], 0
    for first, last in sorted([*ranges, (0xD800, 0xDFFF), (LAST + 1, LAST + 1)]):
        if first > next_:
            found.append((next_, first - 1))
        next_ = max(next_, last + 1)
    return found


def first_bytes_of(ranges):
    """The first bytes of the characters outside: ASCII and lead bytes, pairs, and the third bytes of pairs (`None` for all)."""
    outside, bytes_, pairs, long_pairs = outside_of(ranges), set(), {}, 0

    def has_outside(first, count):
        return any(start < first + count and first <= end for start, end in outside)

    bytes_ |= {byte for byte in range(0x80) if has_outside(byte, 1)}
    for lead in range(0xC2, 0xF5):
        bits = 6 if lead < 0xE0 else 12 if lead < 0xF0 else 18
        base = (lead & (0x7F >> (bits // 6 + 1))) << bits
        least = {6: 0x80, 12: 0x800, 18: 0x10000}[bits]
        for second in range(64):
            first, count = base + (second << bits - 6), 1 << bits - 6
            if first + count <= least or not has_outside(first, count):
                continue
            bytes_.add(lead)
            thirds = 0xFFFF_FFFF_FFFF_FFFF
            if bits > 6 and long_pairs < MANY_PAIRS and len(ranges) <= MANY_RANGES:
                long_pairs += 1
                thirds = sum(1 << i for i in range(64) if has_outside(first + (i * count >> 6), count >> 6))
            pairs[lead, second] = thirds
    return bytes_, pairs


def possible_after(lead):
    """A bit for each second byte that text has after a lead byte."""
    first, last = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}.get(lead, (0x80, 0xBF))
    return sum(1 << (second & 63) for second in range(first, last + 1))


def first_bytes_of_rule(rule):
    if rule.name == "AnyOf":
        return first_bytes_of([(Library.number(it.start), Library.number(it.last)) for it in rule.values[0]])
    bytes_, pairs = set(), {}
    for subset in rule.values[0]:
        others, other_pairs = first_bytes_of_rule(subset.fields["rule"])
        bytes_ |= others
        pairs |= {pair: bits | pairs.get(pair, 0) for pair, bits in other_pairs.items()}
    return bytes_, pairs


def prove_first_bytes(report, name, rule, doubtful):
    """The class and the set have the first bytes of the characters outside the subset, and no other ones."""
    bytes_, pairs = first_bytes_of_rule(rule)
    fields = doubtful["class"].fields
    words = [Library.number(word) for word in (*fields["words"], fields["seconds_of_long"])]
    expected = [sum(1 << (byte & 63) for byte in bytes_ if byte >> 6 == i) for i in range(4)] + [0]
    for lead, second in pairs:
        expected[2 if lead < 0xE0 else 4] |= 1 << second
    report.prove(f"{name}: the class has no other bytes", z3_bool(words == expected))
    calls = doubtful["prefixes"].calls
    added, added_pairs, thirds, is_possible = set(), {}, {}, True
    for function, *values in calls:
        if function == "with_ascii":
            high, lows = values
            added |= {high << 4 | low for low in range(lows.bit_length()) if lows >> low & 1}
        elif function == "with_thirds":
            lead, second, bits = values
            thirds[lead, second] = thirds.get((lead, second), 0) | bits
        else:
            is_possible &= values[2] == possible_after(values[0])
    for function, *values in calls:
        if function == "with_seconds":
            lead, seconds, _, is_whole = values
            for second in range(seconds.bit_length()):
                if seconds >> second & 1:
                    bits = 0xFFFF_FFFF_FFFF_FFFF if is_whole else thirds.get((lead, 0x80 | second), 0)
                    added_pairs[lead, second] = added_pairs.get((lead, second), 0) | bits
    report.prove(f"{name}: the set has no other ASCII bytes", z3_bool(added == {byte for byte in bytes_ if byte < 0x80}))
    report.prove(f"{name}: the set has no other first bytes", z3_bool(added_pairs == pairs))
    report.prove(f"{name}: second bytes are possible exactly if text has them", z3_bool(is_possible))


# The characters at the edges of lengths, of lead bytes, of second and third bytes, and of blocks that are left out.
ALONE = [
    0, 0xF, 0x10, 0x7F, 0x80, 0xBF, 0xC0, 0x7FF, 0x800, 0x83F, 0x840, 0xFFF, 0x1000, 0xCFFF, 0xD000, 0xD7FF, 0xE000, 0xFFFF, 0x1_0000,
    0x1_003F, 0x1_0FFF, 0x1_1000, 0x3_FFFF, 0x4_0000, 0xF_FFFF, 0x10_0000, 0x10_FFFF,
]


def ranges_without(*characters):
    ranges, next_ = [], 0
    for character in characters:
        ranges += [(next_, character - 1)] * (character > next_)
        next_ = character + 1
    return [*ranges, (next_, 0x7FFF_FFFF)]


# Ranges that meet or overlap in any order, at the end of the values of a lead byte and inside, and characters with more pairs than have
# third bytes of their own.
RANGES = [
    [(0x410, 0x7FF), (0, 0x40F), (0x800, 0x7FFF_FFFF)], [(0x20, 0x7FFF_FFFF), (0, 0x10), (0xF, 0x1F)], [(0x2000, 0x10_FFFF), (0x30, 0x1FFE), (0, 0x40)],
    [(0, 0xD7FF), (0xE000, 0x10_FFFF)], [(0, 0xD7FE), (0xE001, 0x10_FFFE)], [(0, 0x7FFF_FFFF)], *(ranges_without(character) for character in ALONE),
    ranges_without(*(at - i for at in range(0x1000, 0x1000 + 13 * 0x80, 0x80) for i in (1, 0))),
]


def prove_ranges(report, ranges):
    """The first bytes outside some ranges."""
    machine = Library(*sources("../subset.rs", "class.rs"), constants={"Prefixes::EMPTY": Recorder()})
    given = [Span(Int(first, "u32"), Int(last, "u32"), True) for first, last in ranges]
    found = machine.call("doubtful", given).fields
    title = ", ".join(f"{first:X}..={last:X}" for first, last in ranges)
    prove_first_bytes(report, title, Variant("AnyOf", [given]), found)


def parts():
    return [
        *((prove_ranges, ranges) for ranges in RANGES), (prove_presets,),
        (prove_avx2,),
        *((prove_groups, *case) for case in ((GROUP, False), (GROUP + 1, False), (GROUP + 1, True))),
        *((prove_blocks, length) for length in (1, BLOCK, BLOCK + 1)),
        *((prove_ascii_without, files) for files in (AVX512, AVX2) if sources(files[0])[0].has_function("ascii_without")),
    ]


if __name__ == "__main__":
    run_parts(parts())
