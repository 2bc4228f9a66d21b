#!/usr/bin/env python3
"""Proves the searches for a class of characters (`find_class`, `ascii_without`).

The searches are proved for every class: its tables are symbolic. docs/verification.md has the list of claims.
"""

from functools import reduce
from operator import or_

from z3 import And, BitVec, BitVecVal, Concat, Extract, If, Implies, LShR, Not, Or, UGE, ULT, ZeroExt, is_and, is_false, is_not, is_or

import avx2  # The instructions.
import formulas
from formulas import run_parts
from library import Library, Room
from model import Array, Int, Slice, Struct, look_up
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
    def table(name):
        entries = [ZeroExt(2, BitVec(f"{name}_{i}", 6)) for i in range(64)]
        low = [reduce(or_, entries[i::16]) for i in range(16)]
        high = [reduce(or_, entries[16 * (i % 4):][:16]) for i in range(16)]
        return Struct({"entries": Slice(entries), "halves": [Slice(low), Slice(high)]})

    def word(entries):
        return Concat(*(If(entry != 0, BitVecVal(1, 1), BitVecVal(0, 1)) for entry in reversed(entries)))

    tables = leads, seconds, _ = [table(name) for name in ("leads", "seconds", "thirds")]
    leads, seconds = leads.fields["entries"].memory, seconds.fields["entries"].memory
    of_two = reduce(or_, leads[:32])
    words = [BitVec("below_40", 64), BitVec("below_80", 64), word(leads), word([entry & of_two for entry in seconds])]
    return Struct({"words": Array([Int(word, "u64") for word in words], "u64"), "tables": tables})


class Definition:
    """`Class::has` and `Class::begins` of a class."""

    def __init__(self, the_class):
        self.words = [word.value for word in the_class.fields["words"]]
        self.tables = [table.fields["entries"].memory for table in the_class.fields["tables"]]

    def has(self, x):
        """Whether an ASCII byte or a lead byte is in the class."""
        quarters = [Extract(0, 0, LShR(word, ZeroExt(56, x & 63))) == 1 for word in self.words]
        return If(ULT(x, 0x40), quarters[0], If(ULT(x, 0x80), quarters[1], And(UGE(x, 0xC0), quarters[2])))

    def is_found(self, bytes_, at):
        """Whether a byte must be reported: it is in the class, with the bytes after it that there are."""
        x, products = bytes_[at], BitVecVal(0xFF, 8)
        for byte, entries in zip(bytes_[at:], self.tables):
            products = products & look_up(entries, Extract(5, 0, byte))
        is_continuation = [second & 0xC0 == 0x80 for second in bytes_[at + 1:at + 2]]
        return If(ULT(x, 0x80), self.has(x), And(UGE(x, 0xC0), products != 0, *is_continuation))


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
    """Proves a claim about a byte and the two bytes after it, from the conditions about them."""
    report.prove(f"{title}, byte {at}", Implies(And(*parts_about(conditions, bytes_[at:at + 3])), is_right))


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
        # The second pass is that of `has_leads`, with more premises.
        if left_out == 2:
            continue
        for lane in LANES:
            for at in range(lane, GROUP, BLOCK):
                title = f"find_class, a group of {length} bytes left out, {left_out}"
                prove_lane(report, title, machine.conditions, bytes_, at, Not(definition.is_found(bytes_, at)))
    assert left_out == (1 if has_leads else 2)


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
        is_right = And(ULT(x, BitVecVal(0x80, 8)), Not(definition.has(x)))
        prove_lane(report, f"ascii_without of {name}: a group is ASCII without the class", conditions, bytes_, at, is_right)
    # The other direction, for a byte among bytes that are neither.
    other = [x == BitVecVal(0x61, 8) for x in bytes_]
    without_a = Not(definition.has(BitVecVal(0x61, 8)))
    for lane in LANES[::3]:
        x = bytes_[lane]
        is_in = Or(UGE(x, BitVecVal(0x80, 8)), definition.has(x))
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

    for number_, (of_class, (is_clean, block_bits)) in enumerate(paths(make, []), 1):
        title = f"find_class of AVX2, path {number_}"
        bits = mask_of(block_bits(Slice(bytes_[:BLOCK])), 64)
        for lane in LANES:
            is_right = z3_bool(bits[lane]) == definition.has(bytes_[lane])
            report.prove(f"{title}: marked exactly if in the class, byte {lane}", Implies(And(*of_class), is_right))
        group = bytes_ + [BitVec(f"x{GROUP + i}", 8) for i in range(2)]
        # The third test, of whole sequences, has the tests of `kernels/tests/within.rs`.
        for test in range(2):
            passed = [z3_bool(is_clean(Int(test, "u8"), Slice(group)))]
            if is_false(passed[0]):
                continue
            for lane in LANES:
                for at in (lane + BLOCK * (lane % 4), *[GROUP - 1] * (lane == 63)):
                    here = And(*of_class, *parts_about(passed, group[at:at + 3]))
                    is_right = Not(definition.is_found(group, at))
                    report.prove(f"{title}: nothing is found in a group that passes test {test}, byte {at}", Implies(here, is_right))


def parts():
    return [
        (prove_avx2,),
        *((prove_groups, GROUP + 2, has_leads) for has_leads in (False, True)),
        *((prove_blocks, length) for length in (1, 2, BLOCK, BLOCK + 1, BLOCK + 2)),
        *((prove_ascii_without, files) for files in (AVX512, AVX2) if sources(files[0])[0].has_function("ascii_without")),
    ]


if __name__ == "__main__":
    run_parts(parts())
