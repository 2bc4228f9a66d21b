#!/usr/bin/env python3
"""Proves the AVX2 functions that count bytes (`count`, `count_range`, `count_ascii`) or find all positions of a byte (`find_all`),
and the functions that the kernels share for them.

The compiler vectorizes the loops that count. They are read as they are written: a count is a sum of conditions, and a lane that
could overflow fails the proof. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, BitVecVal, Bool, Implies, Not, UGE, ULT, is_bool

import formulas
from arrays import Arrays
from compressed import Kernel
from formulas import run_parts
from library import Library, Option, Span
from model import Int, Slice, Struct
from paths import paths
from rust import Source
from vectors import Element, Mask, Total, mask_of, z3_bool

COUNT = ["arch/x86_64/avx2/count.rs", "arch/portable/count.rs", "functions.rs"]
POSITIONS = ["arch/x86_64/avx2/positions.rs", "arch/portable/positions.rs", "functions.rs"]
CLASSES = ["arch/portable/classes.rs", "functions.rs"]
GROUP, BLOCK, CAPACITY = 256, 64, 192


def sources(*names):
    return [Source(formulas.ROOT / name) for name in names]


def symbolic(name, count):
    return [BitVec(f"{name}{i}", 8) for i in range(count)]


class Filtered:
    """The elements of an iterator that satisfy a condition."""

    def __init__(self, conditions):
        self.conditions = conditions


def one_if(condition):
    return Total(0, [(1, Mask([z3_bool(condition)] + [False] * 7, "u8"))])


class Counts(Kernel):
    """A machine whose integers of 8 bits are sums of conditions."""

    def on_path(self, names, name, constants):
        if name == "u8::MAX":
            return Int(255, "u8")
        return super().on_path(names, name, constants)

    def on_call(self, names, function, arguments):
        if function[1] in ("u8::from", "usize::from"):
            value = self.evaluate(arguments[0], names)
            if isinstance(value, Total):
                return value
            if is_bool(value):
                return one_if(value)
            return super().on_call(names, function, [("value", value)])
        return super().on_call(names, function, arguments)

    def on_method(self, names, value, name, constants, arguments):
        if name == "iter_mut":
            return super().on_method(names, value, name, constants, arguments)
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        match name, value:
            case "iter", Slice():
                return [Int(byte, "u8") for byte in value.memory]
            case "zip", list() if isinstance(arguments[0], Slice):
                return list(zip(value, [Int(byte, "u8") for byte in arguments[0].memory]))
            case "chunks", list():
                size = self.number(arguments[0])
                return [value[i:i + size] for i in range(0, len(value), size)]
            case "filter", list():
                return Filtered([arguments[0](element) for element in value])
            case "count", Filtered():
                return sum(map(one_if, value.conditions), Total(0))
            case "sum", list():
                return sum(map(Total.of, value), Total(0))
            case "wrapping_add", (Int() | Total()) if isinstance(arguments[0], Total):
                found = Total.of(value) + arguments[0]
                assert found.most() <= 255, "a lane overflows"
                return found
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])


def total_of(total):
    """The sum as one mask for each 64 conditions, in the order of the bytes."""
    bits = [bit for scale, mask in Total.of(total).terms for bit in mask.list if bit is not False]
    assert all(scale == 1 for scale, _ in Total.of(total).terms) and Total.of(total).number == 0
    return bits


def prove_each_once(report, title, total, conditions):
    """The sum has each condition once, and no other."""
    found = sorted(str(bit) for bit in total_of(total))
    report.prove(title, z3_bool(found == sorted(map(str, conditions))))


def prove_count_if(report):
    for length in (0, 1, 63, 64, 65, 3 * BLOCK + 2, 256 * BLOCK + 1):
        bytes_, conditions = symbolic("x", length), [Bool(f"is_{i}") for i in range(length)]
        of = {byte.get_id(): condition for byte, condition in zip(bytes_, conditions)}
        total = Counts(*sources(*COUNT)).call("count_if", Slice(bytes_), lambda byte: of[byte.value.get_id()])
        prove_each_once(report, f"count_if: each of {length} bytes is counted once", total, conditions)


def closures_of(name, *arguments):
    """Each path through a function that calls `count_if`: the conditions, and the closure."""
    def make(decisions):
        calls = []
        machine = Counts(*sources(*COUNT), decisions=decisions, replaced={"count_if": lambda *given: calls.append(given) or Int(7, "usize")})
        given = Slice(symbolic("x", 3))
        assert machine.number(machine.run(name, given, *arguments)) == 7
        ((bytes_, is_counted),) = calls
        assert bytes_ is given
        return And(*machine.conditions), is_counted

    return paths(make, [])


def prove_count(report):
    byte, wanted = Int(BitVec("byte", 8), "u8"), Int(BitVec("wanted", 8), "u8")
    for here, is_counted in closures_of("count", wanted):
        report.prove("count: the bytes that are equal", Implies(here, is_counted(byte) == (byte.value == wanted.value)))
    limits = Struct({name: Int(BitVec(name, 8), "u8") for name in ("first", "width")})
    expected = byte.value - limits.fields["first"].value
    count = 0
    for here, is_counted in closures_of("count_range", limits):
        count += 1
        is_right = is_counted(byte) == UGE(limits.fields["width"].value, expected)
        report.prove(f"count_range, path {count}: the bytes of the range", Implies(here, is_right))
    assert count == 3


def prove_count_ascii(report):
    """Whole groups of ASCII are counted, and the first other group is not."""
    wanted = BitVec("wanted", 8)
    for length in (GROUP - 1, GROUP, 2 * GROUP + 1):
        bytes_, lengths = symbolic("x", length), []

        def make(decisions):
            machine = Counts(*sources(*COUNT), decisions=decisions)
            return machine, machine.call("count_ascii", Slice(bytes_), Int(wanted, "u8"))

        for machine, (found, total) in paths(make, [], lambda conditions: True):
            found, here = machine.number(found), And(*machine.conditions)
            lengths.append(found)
            title = f"count_ascii of {length} bytes, {found}"
            prove_each_once(report, f"{title}: each byte is counted once", total, [byte == wanted for byte in bytes_[:found]])
            report.prove(f"{title}: they are ASCII", Implies(here, And(*(ULT(byte, 0x80) for byte in bytes_[:found]))))
            if length - found >= GROUP:
                is_ascii = And(*(ULT(byte, 0x80) for byte in bytes_[found:found + GROUP]))
                report.prove(f"{title}: stops only at a byte that is not ASCII", Implies(here, Not(is_ascii)))
        assert sorted(lengths) == list(range(0, length + 1, GROUP))
    # More groups than are counted before the lanes are summed up, all of them ASCII.
    length = 65 * GROUP
    bytes_ = symbolic("x", length)
    machine = Counts(*sources(*COUNT), replaced={"is_ascii": lambda group: True})
    found, total = machine.call("count_ascii_by_lanes", Slice(bytes_), Int(wanted, "u8"))
    assert machine.number(found) == length
    prove_each_once(report, f"count_ascii of {length} bytes of ASCII", total, [byte == wanted for byte in bytes_])


# Positions.


class Bits:
    """A mask of which the number of bits is known, without the first `gone` of them."""

    def __init__(self, count, gone=0):
        self.count, self.gone = count, gone


class Position:
    """The index of the n-th set bit, or that plus `start`."""

    def __init__(self, n, is_moved=False):
        self.n, self.is_moved = n, is_moved


class Writes(Kernel):
    """A machine for `write_positions` with `Bits`."""

    def on_method(self, names, value, name, constants, arguments):
        if name == "iter_mut":
            return super().on_method(names, value, name, constants, arguments)
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        match name, value:
            case "count_ones", Bits():
                return Int(value.count - value.gone, "u32")
            case "trailing_zeros", Bits():
                return Position(value.gone)
            case "wrapping_sub", Bits():
                assert arguments == [1]
                return ("minus 1", value)
            case "for_each", list():
                for element in value:
                    arguments[0](element)
                return None
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])

    def on_as(self, names, value, kind):
        value = self.evaluate(value, names)
        return value if isinstance(value, Position) else super().on_as(names, ("value", value), kind)

    def on_index(self, names, array, index):
        found, at = self.evaluate(array, names), self.evaluate(index, names)
        if isinstance(found, list) and isinstance(at, Span):
            first, end = at.within(len(found))
            assert 0 <= first <= end <= len(found), "positions outside the room"
            return View(found, first, end)
        return super().on_index(names, ("value", found), ("value", at))

    def operate(self, operator, left, right):
        if isinstance(right, Position):
            assert operator == "+" and left == "start" and not right.is_moved
            return Position(right.n, True)
        if isinstance(left, Bits):
            # The step is proved apart.
            assert operator == "&" and right == ("minus 1", left)
            return Bits(left.count, left.gone + 1)
        return super().operate(operator, left, right)


class View(list):
    """A part of an array."""

    def __init__(self, array, first, end):
        super().__init__(Element(array, i) for i in range(first, end))


class Viewed(Writes):
    def on_method(self, names, value, name, constants, arguments):
        if name == "iter_mut":
            value = self.evaluate(value, names)
            return list(value) if isinstance(value, View) else super().on_method(names, ("value", value), name, constants, arguments)
        return super().on_method(names, value, name, constants, arguments)


def prove_write(report):
    """`write_positions` of AVX2, and the one of the loop that follows: the index of each set bit, in order."""
    for file in (POSITIONS[0], POSITIONS[1]):
        name = "AVX2" if "avx2" in file else "portable"
        for count in range(BLOCK + 1):
            # Not an `Array`, which is copied when it is bound.
            room = [None] * BLOCK
            written = Viewed(*sources(file)).call("write_positions", Bits(count), "start", room)
            is_right = Library.number(written) == count and all(isinstance(it, Position) and it.is_moved and it.n == i for i, it in enumerate(room[:count]))
            report.prove(f"write_positions, {name}: {count} positions", z3_bool(is_right))
    bits = BitVec("bits", 64)
    low = mask_of(Int(bits, "u64"), 64)
    index = Mask(low, "u64").trailing_zeros().bits()
    after = bits & (bits - 1)
    claims = []
    for i in range(64):
        is_lowest = And(low[i], *(low[j] == z3_bool(False) for j in range(i)))
        claims.append(Implies(is_lowest, And(index == i, after == bits & ~BitVecVal(1 << i, 64))))
    report.prove("`bits & (bits - 1)` removes the lowest bit", And(*claims))


class Space:
    """The rest of an array of positions."""

    def __init__(self, length, at=Total(0), size=None):
        self.length, self.at, self.size = length, at, size


class Finds(Arrays):
    """A machine for the loops. A test of the room has both results, except that none fails while all blocks could be full."""

    def on_method(self, names, value, name, constants, arguments):
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        match name, value:
            case "get_mut", Space():
                return Option(Space(value.length, value.at + Total.of(arguments[0].start)), True)
            case "and_then", Option():
                return arguments[0](value.value)
            case "first_chunk_mut", Space():
                size = self.size_of(str(constants[0]), names) if constants else BLOCK
                self.sizes.append(size)
                fits = value.at.most() + size <= value.length or Bool(f"fits_{len(self.sizes)}")
                return Option(Space(value.length, value.at, size), True) if self.decide(fits) else Option()
            case "split_first_chunk", Slice():
                if len(value.memory) < BLOCK:
                    return Option()
                return Option([Slice(value.memory[:BLOCK]), Slice(value.memory[BLOCK:])], True)
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])

    def on_index(self, names, array, index):
        found, at = self.evaluate(array, names), self.evaluate(index, names)
        if isinstance(found, Space):
            return Space(found.length, found.at + Total.of(at.start), found.size)
        return super().on_index(names, ("value", found), ("value", at))


def prove_find_all(report):
    """An iteration of the loop over two blocks: the bits of both, and their positions after those before."""
    wanted, start = Int(BitVec("wanted", 8), "u8"), 128
    for length, before in ((2 * BLOCK, 5), (2 * BLOCK, CAPACITY - 2 * BLOCK + 1), (2 * BLOCK - 1, 5), (0, 5)):
        x, ends = symbolic("x", length), 0

        def make(decisions):
            calls, more = [], []

            def write(bits, at, room):
                calls.append((bits, at, room))
                return Total(0, [(1, bits)])

            def find_more(found, rest, positions, equal_bits, closure):
                more.append((found, rest, positions))
                return Int(9, "usize")

            presets = {"count": Int(before, "usize"), "start": Int(start, "usize"), "rest": Slice(x)}
            machine = Finds(*sources(*POSITIONS), decisions=decisions, presets=presets, starts=["rest"], replaced={"write_positions": write, "find_more_with": find_more})
            machine.sizes = []
            space = Space(CAPACITY)
            return machine, calls, more, space, machine.run("find_all", Slice([]), wanted, space)

        for machine, calls, more, space, result in paths(make, [], lambda conditions: True):
            if result is not None:
                ends += 1
                ((found, rest, positions),) = more
                fields = found.fields
                assert not calls and positions is space and rest.memory == x
                assert machine.number(fields["count"]) == before and machine.number(fields["searched"]) == start
                continue
            assert len(calls) == 2 and machine.sizes[0] == 2 * BLOCK and not more and not machine.scope["rest"].memory
            at = Total(before)
            for n, (bits, first, room) in enumerate(calls):
                assert machine.number(first) == start + n * BLOCK and room.at.equals(at)
                for i in range(BLOCK):
                    report.prove(f"find_all: bit {i} of block {n}", z3_bool(bits.list[i]) == (x[n * BLOCK + i] == wanted.value))
                at = at + Total(0, [(1, bits)])
            assert Total.of(machine.scope["count"]).equals(at) and machine.number(machine.scope["start"]) == start + 2 * BLOCK
        # The loop ends only if there is no room or fewer bytes.
        assert ends == (0 if (length, before) == (2 * BLOCK, 5) else 1), (length, before, ends)


def prove_find_more(report):
    """An iteration of the loop over blocks that follows: a block, or the rest of the bytes with zeros after it."""
    start, marks = 128, [Bool(f"bit_{i}") for i in range(BLOCK)]
    for length, before in ((BLOCK + 1, 5), (BLOCK, 5), (BLOCK, CAPACITY - BLOCK + 1), *((length, 5) for length in range(BLOCK))):
        x = symbolic("x", length)

        def make(decisions):
            calls, space = [], Space(CAPACITY)

            def equal_bits(block):
                calls.append([block.memory if isinstance(block, Slice) else list(block)])
                return Mask(marks, "u64")

            def write(bits, at, room):
                calls[-1] += [bits, at, room]
                return Total(0, [(1, bits)])

            machine = Finds(*sources(*POSITIONS), decisions=decisions)
            machine.sizes = []
            found = Struct({"count": Int(before, "usize"), "searched": Int(start, "usize")})
            return machine, calls, machine.run("find_more_with", found, Slice(x), space, equal_bits, write)

        for machine, calls, result in paths(make, [], lambda conditions: True):
            if not calls:
                assert before > CAPACITY - BLOCK and machine.number(result.fields["count"]) == before and machine.number(result.fields["searched"]) == start
                continue
            ((block, bits, at, room),) = calls
            taken = min(length, BLOCK)
            as_bytes = [it if not isinstance(it, (Int, int)) else BitVecVal(Library.number(it), 8) for it in block]
            names = result.fields if result is not None else {"count": machine.scope["count"], "searched": machine.scope["start"]}
            assert machine.number(at) == start and room.at.equals(Total(before)) and machine.number(names["searched"]) == start + taken
            assert Total.of(names["count"]).equals(Total(before, [(1, bits)]))
            report.prove(f"find_more_with, {length} bytes after {before} positions: the bytes and bits of a block", And(
                z3_bool(len(block) == BLOCK), *(a == b for a, b in zip(as_bytes, x[:taken] + [BitVecVal(0, 8)] * (BLOCK - taken))),
                *(z3_bool(bits.list[i]) == (marks[i] if i < taken else z3_bool(False)) for i in range(BLOCK)),
            ))


class Next:
    """The bits that remain: one with the index `at`, if there is one."""

    def __init__(self, at):
        self.at = at


class Classes(Finds):
    """A machine for an iteration of `find_class_with`, and in it one of the loop over lead bytes, for the bit `next_`."""

    def __init__(self, *sources, next_=None, **options):
        super().__init__(*sources, **options)
        self.next_ = next_

    def do_let(self, names, pattern, expression):
        super().do_let(names, pattern, expression)
        if pattern == "leads":
            names["leads"] = Next(self.next_)

    def operate(self, operator, left, right):
        if isinstance(left, Next):
            if operator == "!=":
                assert right == 0
                return left.at is not None
            # `prove_write` has the claim that this removes the lowest bit.
            if operator == "-":
                assert right == 1
                return ("minus 1", left)
            assert operator == "&" and right == ("minus 1", left)
            return Next(None)
        return super().operate(operator, left, right)

    def on_method(self, names, value, name, constants, arguments):
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        match name, value:
            case "trailing_zeros", Next():
                return Int(value.at, "u32")
            case "first_chunk", Slice():
                # In the loop over groups, which has `next`, the call is for a group and the two bytes after it.
                size = GROUP + 2 if "next" in names else BLOCK
                return Option(Slice(value.memory[:size]), True) if size <= len(value.memory) else Option()
            case "get", Slice():
                first, end = arguments[0].within(len(value.memory))
                return Option(Slice(value.memory[first:end]), True) if first <= end <= len(value.memory) else Option()
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])


def prove_find_class(report):
    """An iteration of the loop of `find_class`: groups are passed over only if each has passed a test. In a block, a byte is
    discarded exactly if the text from there does not begin with a character of the class."""
    start, before, marks, begins = 64, 5, [Bool(f"bit_{i}") for i in range(BLOCK)], Bool("begins")
    many = [*((2 * GROUP + 2, None, test, 0) for test in range(3)), (GROUP + 2, None, 0, 0), (GROUP + 1, None, 0, 0), (GROUP + 1, None, 0, 65), (BLOCK, None, 2, 0)]
    few = [(3, None), (0, None), (BLOCK + 1, BLOCK - 1), *((BLOCK, i) for i in range(BLOCK)), (3, 0), (3, 1), (3, 2)]
    for length, lead, first_test, unclean in [*many, *((*case, 0, start + 1) for case in few)]:
        x = symbolic("x", start + length)
        rest = x[start:]

        def make(decisions):
            calls, blocks, groups = [], [], []

            def block_bits(block):
                blocks.append(block.memory if isinstance(block, Slice) else list(block))
                return Mask(marks, "u64")

            def is_clean(test, group):
                at = next(at for at, byte in enumerate(x) if byte.eq(group.memory[0]))
                assert group.memory == x[at:at + GROUP + 2] and first_test <= Library.number(test) < 3
                groups.append((at, Bool(f"passes_{test}_{at}")))
                return groups[-1][1]

            def write(bits, at, room):
                calls.append((bits, at, room))
                return Total(0, [(1, bits)])

            presets = {"count": before, "start": start, "test": first_test, "unclean": unclean}
            presets = {name: Int(value, "u8" if name == "test" else "usize") for name, value in presets.items()}
            texts = []
            replaced = {"write_positions": write, "begins": lambda _, text: texts.append(text) or begins}
            machine = Classes(*sources(*CLASSES), next_=lead, decisions=decisions, presets=presets, replaced=replaced)
            machine.sizes = []
            result = machine.run("find_class_with", Slice(x), Struct({}), Space(CAPACITY), is_clean, block_bits)
            return machine, calls, blocks, groups, texts, result

        for count, (machine, calls, blocks, groups, texts, result) in enumerate(paths(make, [], lambda conditions: True), 1):
            names, here = machine.scope, And(*machine.conditions)
            found = machine.number(names["start"]) - start
            if not calls:
                passed = {at: test for at, test in groups if any(test.eq(condition) for condition in machine.conditions)}
                first = min(start, start + length - GROUP - 2)
                assert found > 0 and list(passed) == list(range(first, start + found, GROUP)) and machine.number(names["count"]) == before
                report.prove("find_class: groups are passed over only after a test", Implies(here, And(*passed.values())))
                continue
            ((bits, at, room),), (block,) = calls, blocks
            taken = min(length, BLOCK)
            as_bytes = [it if not isinstance(it, (Int, int)) else BitVecVal(Library.number(it), 8) for it in block]
            assert found == taken and machine.number(at) == start and room.at.equals(Total(before))
            assert Total.of(names["count"]).equals(Total(before, [(1, bits)]))
            if texts:
                (text,) = texts
                assert text.memory == rest[lead:]
            claims = [a == b for a, b in zip(as_bytes, rest[:taken] + [BitVecVal(0, 8)] * (BLOCK - taken))]
            for i in range(BLOCK):
                expected = marks[i] if i < taken else z3_bool(False)
                if i == lead and i < taken:
                    expected = And(marks[i], begins)
                claims.append(z3_bool(bits.list[i]) == expected)
            report.prove(f"find_class: {length} bytes, the lead byte {lead}, path {count}", Implies(here, And(*claims)))


PARTS = {
    "count": [(prove_count_if,), (prove_count,), (prove_count_ascii,)],
    "positions": [(prove_write,), (prove_find_all,), (prove_find_more,)],
    "classes": [(prove_find_class,)],
}


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
