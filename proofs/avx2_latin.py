#!/usr/bin/env python3
"""Proves the AVX2 conversions of UTF-8 to ISO 8859-1 and windows-1252 (`encode` in `avx2/latin.rs`).

A vector is proved for any bytes and any bytes before it, the loop for any result of the functions that it calls. The characters of
windows-1252 are those of Python's table. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, BitVecVal, Bool, BoolVal, Extract, If, Implies, Not, Or, UGE, ULT

from avx2_conversions import LATIN, sources
from compressed import Kernel, slots_of, sum_of, sum_of_total
from conversions import number, wide
from formulas import run_parts, within
from library import Option
from model import Array, Int, Pointer, Slice, Struct
from paths import paths
from units import byte_of, written_bytes
from vectors import Output, Place, Total, z3_bool

WIDTH, GROUP = 32, 128
# Where the loop is in the input and in the output.
READ, WRITTEN = 32, 3


def symbolic(name, count):
    return [BitVec(f"{name}{i}", 8) for i in range(count)]


def punctuation_bytes():
    """The bytes of windows-1252 of U+2010 to U+203F, or 0."""
    found = [chr(0x2010 + i).encode("cp1252", "replace") for i in range(0x30)]
    return Array([Int(byte[0] if byte != b"?" else 0, "u8") for byte in found], "u8")


class Definition:
    """What a byte of UTF-8 is after the two bytes before it, which are well-formed and have a character that is converted."""

    def __init__(self, p2, p1, x, windows, three):
        is_tail = within(x, 0x80, 0xBF)
        two = (wide(p1) & 0x1F) << 6 | wide(x) & 0x3F
        of_two, has_two = byte_of(two, windows)
        of_three, has_three = byte_of((wide(p2) & 0x0F) << 12 | (wide(p1) & 0x3F) << 6 | wide(x) & 0x3F, windows)
        if windows:
            # C1 characters are left to the caller.
            has_two = And(has_two, UGE(two, number(0xA0)))
        after_two = Or(p1 == 0xC2, p1 == 0xC3)
        # All characters of three bytes that windows-1252 has start with E2.
        after_e2, third = (p1 == 0xE2, p2 == 0xE2) if three else (BoolVal(False), BoolVal(False))
        self.is_good = If(
            after_two, And(is_tail, has_two),
            If(after_e2, is_tail, If(third, And(is_tail, has_three), And(Not(UGE(p1, 0xC0)), Or(ULT(x, 0x80), UGE(x, 0xC0))))),
        )
        self.is_dropped = Or(UGE(x, 0xC0), after_e2)
        self.value = If(after_two, Extract(7, 0, of_two), If(third, Extract(7, 0, of_three), x))


def lanes_of(x, before):
    """The two bytes before each byte, and the byte."""
    all_bytes = before + x
    return [(all_bytes[i], all_bytes[i + 1], all_bytes[i + 2]) for i in range(len(x))]


def is_possible(p1, p2, three):
    """What was before is not marked: after E2 is a continuation byte."""
    return Implies(p2 == 0xE2, within(p1, 0x80, 0xBF)) if three else BoolVal(True)


def make_machine(**options):
    return Kernel(*sources(*LATIN), **options)


def prove_step(report, windows, three, make=make_machine, width=WIDTH):
    """`of_two` and `of_three`: a byte is marked exactly if it is not converted, if no byte before it in its sequence is marked."""
    machine, x, before = make(constants={"PUNCTUATION_BYTES": punctuation_bytes()}), symbolic("x", width), symbolic("b", 2)
    all_bytes = before + x
    p1, p2 = all_bytes[1:-1], all_bytes[:-2]
    step = machine.call("of_three", x, [p1, p2]) if three else machine.call("of_two", x, p1, constants=[windows])
    title = f"{'of_three' if three else 'of_two'}, {'windows-1252' if windows else 'ISO 8859-1'}"
    for i, (p2, p1, byte) in enumerate(lanes_of(x, before)):
        is_marked, is_dropped = (Extract(7, 7, step.fields[name][i]) == 1 for name in ("marks", "dropped"))
        definition = Definition(p2, p1, byte, windows, three)
        premise = is_possible(p1, p2, three)
        report.prove(f"{title}: byte {i} is marked exactly if it is not converted", Implies(premise, is_marked == Not(definition.is_good)))
        report.prove(f"{title}: byte {i}", Implies(And(premise, definition.is_good), And(
            is_dropped == definition.is_dropped, Implies(Not(is_dropped), step.fields["bytes"][i] == definition.value),
        )))


class Step:
    """Replaces `of_two` and `of_three`: any bytes and any marks."""

    def __init__(self, width=WIDTH):
        self.calls, self.values, self.width = [], [], width

    def made(self, name, *arguments):
        n = len(self.calls)
        self.calls.append((name, *arguments))
        fields = {field: symbolic(f"{field}_{n}_", self.width) for field in ("bytes", "dropped", "marks")}
        self.values.append(fields)
        return Struct(fields)


def sign(byte):
    return Extract(7, 7, byte) == 1


def prove_vector(report, windows):
    """The bytes before the first mark are written, without those that are dropped."""
    step, output = Step(), Output(WRITTEN + WIDTH)
    machine = Kernel(*sources(*LATIN), replaced={name: lambda *given, name=name: step.made(name, *given) for name in ("of_two", "of_three")})
    x, before = symbolic("x", WIDTH), [symbolic("p", WIDTH), symbolic("q", WIDTH)]
    taken, length = machine.call("encode_vector", x, before, Place(output, Total(WRITTEN)), constants=[windows])
    ((name, given, earlier),) = step.calls
    assert name == ("of_three" if windows else "of_two") and given is x
    assert earlier is before or not windows and earlier is before[0], "other bytes before"
    (values,) = step.values
    title = f"encode_vector, {'windows-1252' if windows else 'ISO 8859-1'}"
    slots, terms = slots_of(machine, output, WRITTEN)
    assert len(slots) == WIDTH and sum_of_total(Total.of(length)) == sum_of(terms[1:]), "the length is not that of the bytes"
    marks = [sign(byte) for byte in values["marks"]]
    first = BitVecVal(WIDTH, 64)
    for i in reversed(range(WIDTH)):
        first = If(marks[i], BitVecVal(i, 64), first)
    report.prove(f"{title}: the bytes that are read", taken.bits() == first)
    for i, (kept, byte) in enumerate(slots):
        is_kept = And(*(Not(mark) for mark in marks[:i + 1]), Not(sign(values["dropped"][i])))
        report.prove(f"{title}: byte {i}", And(z3_bool(kept) == is_kept, byte == values["bytes"][i]))


def prove_group(report, windows, three):
    """A group is four vectors, each with the bytes before it."""
    x = symbolic("x", 2 + GROUP)
    title = f"encode_group, {'windows-1252' if windows else 'ISO 8859-1'}{', sequences of 3' if three else ''}"

    def make(decisions):
        step, output = Step(), Output(WRITTEN + GROUP)
        machine = Kernel(
            *sources(*LATIN), decisions=decisions,
            replaced={name: lambda *given, name=name: step.made(name, *given) for name in ("of_two", "of_three")},
        )
        found = machine.call("encode_group", Pointer(x, 2), Place(output, Total(WRITTEN)), constants=[windows, three])
        return machine, step, output, found

    for machine, step, output, found in paths(make, []):
        for vector, (name, given, earlier) in enumerate(step.calls):
            earlier = earlier if three else [earlier]
            assert name == ("of_three" if three else "of_two") and len(earlier) == 1 + three
            for by, lanes in enumerate([given, *earlier]):
                start = 2 + vector * WIDTH - by
                assert all(a.eq(b) for a, b in zip(lanes, x[start:start + WIDTH], strict=True)), "other bytes are read"
        assert len(step.calls) == 4
        slots, terms = slots_of(machine, output, WRITTEN)
        marks = Or(*(sign(byte) for values in step.values for byte in values["marks"]))
        report.prove(f"{title}: {'converted' if found.is_some else 'not converted'} exactly without a mark", Implies(
            And(*machine.conditions), Not(marks) if found.is_some else marks,
        ))
        if found.is_some:
            assert sum_of_total(Total.of(found.value)) == sum_of(terms[1:])
            claims = []
            for i, (kept, byte) in enumerate(slots):
                values = step.values[i // WIDTH]
                claims.append(And(z3_bool(kept) == Not(sign(values["dropped"][i % WIDTH])), byte == values["bytes"][i % WIDTH]))
            report.prove(f"{title}: the bytes that are not dropped are written", And(*claims))


def prove_unfinished(report, make_kernel=make_machine):
    """The number of bytes of an unfinished sequence at the end of bytes that are converted."""
    for length in (1, 2, 3):
        x = symbolic("x", length)
        bytes_ = [BitVecVal(0, 8)] * 3 + x
        p1, p2 = bytes_[-2], bytes_[-3]
        last = bytes_[-1]

        def make(decisions):
            machine = make_kernel(decisions=decisions)
            return machine, machine.call("unfinished", Slice(x))

        for machine, found in paths(make, []):
            found, here = machine.number(found), And(*machine.conditions, is_possible(last, p1, True), is_possible(p1, p2, True))
            expected = If(UGE(last, 0xC0), BitVecVal(1, 8), If(UGE(p1, 0xE0), BitVecVal(2, 8), BitVecVal(0, 8)))
            report.prove(f"unfinished: {found} of {length} bytes", Implies(here, expected == found))


def prove_only(report):
    """The index of the only mask that is not zero."""
    masks = Array([Int(BitVec(f"mask_{i}", 32), "u32") for i in range(4)], "u32")
    is_set = [mask.value != 0 for mask in masks]

    def make_only(decisions):
        machine = Kernel(*sources(*LATIN), decisions=decisions)
        return machine, machine.call("only", masks)

    for machine, found in paths(make_only, []):
        here = And(*machine.conditions)
        alone = [And(is_set[i], *(Not(other) for j, other in enumerate(is_set) if j != i)) for i in range(4)]
        if found.is_some:
            index = machine.number(found.value)
            report.prove(f"only: the mask {index}", Implies(here, alone[index]))
        else:
            report.prove("only: none", Implies(here, Not(Or(*alone))))


class Calls:
    """The calls of an iteration of the loop, whose functions have any result."""

    def __init__(self, machine, x):
        self.machine, self.x, self.vectors, self.groups, self.masks, self.ascii, self.ends = machine, x, [], [], None, [], []

    def encode_vector(self, x, before, place):
        self.vectors.append((x, before, place))
        return [Int(5, "usize"), Int(4, "usize")]

    def encode_group(self, pointer, place):
        # What its requirements allow it to read.
        assert pointer.at >= 2 and pointer.at + GROUP <= len(pointer.memory)
        assert place.at.most() + GROUP <= place.output.length
        self.groups.append((pointer.at, place))
        return Option(Int(100, "usize"), True) if self.machine().decide(Bool("is_group")) else Option()

    def only(self, masks):
        self.masks = masks
        for i in range(4):
            if self.machine().decide(Bool(f"only_{i}")):
                return Option(Int(i, "usize"), True)
        return Option()

    def copy_ascii(self, given, place):
        self.ascii.append((given, place))
        return Int(0, "usize")

    def unfinished(self, given):
        self.ends.append(given.memory)
        return Int(next(n for n in (0, 1, 2) if n == 2 or self.machine().decide(Bool(f"is_{n}_unfinished"))), "usize")


def prove_loop(report, windows):
    """An iteration of the loop, with the shortest input and output of a vector and of a group."""
    title = f"encode, {'windows-1252' if windows else 'ISO 8859-1'}"
    for length, room in ((WIDTH, WIDTH), (WIDTH - 1, WIDTH), (WIDTH, WIDTH - 1), (GROUP, GROUP), (GROUP, GROUP - 1)):
        x, is_inside = symbolic("x", READ + length), Bool("is_inside")

        def make(decisions):
            output = Output(WRITTEN + room)
            calls = Calls(lambda: machine, x)
            names = ("encode_vector", "encode_group", "only", "copy_ascii", "unfinished")
            presets = {"read": Int(READ, "usize"), "written": Int(WRITTEN, "usize"), "is_converted": True, "is_inside": is_inside}
            replaced = {name: getattr(calls, name) for name in names}
            machine = Encode(
                *sources(*LATIN), decisions=decisions, presets=presets, starts=presets, replaced=replaced,
            )
            result = machine.run("encode", Slice(x), output, constants=[windows])
            return machine, output, calls, result

        for count, (machine, output, calls, result) in enumerate(paths(make, [], lambda conditions: True), 1):
            name, here = f"{title}, {length} bytes, room for {room}, path {count}", And(*machine.conditions)
            vectors = calls.vectors[1:]
            read, written = machine.number(machine.scope["read"]) - READ, machine.number(machine.scope["written"]) - WRITTEN
            report.prove(f"{name}: only bytes that are no part of a sequence are copied as ASCII", Implies(here, Not(is_inside) if calls.ascii else is_inside))
            if min(length, room) < WIDTH:
                assert not vectors and not calls.groups and not output.stores and (read, written) == (0, 0)
                continue
            assert len(calls.ends) == 2 and calls.ends[1] == x[:READ + read], "the end of other bytes"
            is_end = not any(it.eq(Bool("is_0_unfinished")) for it in machine.conditions)
            assert machine.scope["is_inside"] is is_end, "`is_inside` is for an unfinished sequence"
            stores = written_bytes(output)
            if calls.masks is None:
                assert min(length, room) < GROUP and not stores and not calls.groups
                skipped = 0
            else:
                chosen = [i for i in range(4) if any(it.eq(Bool(f"only_{i}")) for it in machine.conditions)]
                skipped = WIDTH * chosen[0] if chosen else 0
                for i, mask in enumerate(calls.masks):
                    group = x[READ + WIDTH * i:READ + WIDTH * (i + 1)]
                    others = Or(*(UGE(byte, 0x80) for byte in group), *([is_inside] if i == 0 else []))
                    report.prove(f"{name}: the mask {i} is of the bytes that are not ASCII", Implies(here, (mask.bits() != 0) == others))
                if chosen:
                    # `only` is proved apart: the masks before it are zero.
                    assert set(stores) == set(range(WRITTEN, WRITTEN + GROUP)) and not calls.groups
                    report.prove(f"{name}: the group is copied", And(*(stores[WRITTEN + i][1] == x[READ + i] for i in range(GROUP))))
                else:
                    ((start, place, three),) = [(*group, three) for group, three in zip(calls.groups, machine.threes)]
                    assert start == READ and sum_of_total(place.at) == (WRITTEN, {}) and place.output is output and not stores
                    is_needed = Or(is_inside, *(UGE(byte, 0xE0) for byte in x[READ:]))
                    if windows and not three:
                        report.prove(f"{name}: there is no sequence of 3", Implies(here, Not(is_needed)))
                    assert windows or not three
                    if any(it.eq(Bool("is_group")) for it in machine.conditions):
                        assert (read, written) == (GROUP, 100) and not vectors
                        continue
            ((of, before, place),) = vectors
            start = READ + skipped
            for by, lanes in enumerate([of, *before]):
                assert all(a.eq(b) for a, b in zip(lanes, x[start - by:start - by + WIDTH], strict=True)), "other bytes are read"
            assert place.output is output and sum_of_total(place.at) == (WRITTEN + skipped, {}) and place.at.most() + WIDTH <= output.length
            assert (read, written) == (skipped + 5, skipped + 4)
            report.prove(f"{name}: stops if the vector is not converted", z3_bool(machine.scope["is_converted"] is False))


class Encode(Kernel):
    """A machine that records the constants of `encode_group`."""

    def __init__(self, *sources, **options):
        super().__init__(*sources, **options)
        self.threes = []

    def on_call(self, names, function, arguments):
        if function[1] == "encode_group":
            self.threes.append(function[2][1] == "true")
        return super().on_call(names, function, arguments)


def prove_start(report, windows):
    """The first vector has no bytes before it, and an input or output without a vector is not touched."""
    for length, room in ((WIDTH, WIDTH), (WIDTH - 1, WIDTH), (WIDTH, WIDTH - 1)):
        x, output, calls = symbolic("x", length), Output(room), []

        def encode_vector(given, before, place):
            calls.append((given, before, place))
            return [Int(7, "usize"), Int(6, "usize")]

        machine = Kernel(*sources(*LATIN), replaced={"encode_vector": encode_vector, "unfinished": lambda _: Int(1, "usize")})
        read, written = map(machine.number, machine.run("encode", Slice(x), output, constants=[windows]))
        assert min(length, room) < WIDTH or machine.scope["is_inside"] is True, "there is an unfinished sequence"
        title = f"encode, {'windows-1252' if windows else 'ISO 8859-1'}, {length} bytes, room for {room}"
        if min(length, room) < WIDTH:
            assert not calls and (read, written) == (0, 0)
            continue
        ((given, before, place),) = calls
        zeros = [BitVecVal(0, 8)] * 2
        assert sum_of_total(place.at) == (0, {}) and (read, written) == (6, 6)
        report.prove(f"{title}: the first vector", And(*(
            lane == expected for by, lanes in enumerate([given, *before]) for lane, expected in zip(lanes, (zeros + x)[2 - by:], strict=False)
        )))


def prove_copy_ascii(report):
    """A group is copied exactly if it is ASCII."""
    at = 4
    for length, room in ((GROUP, GROUP), (GROUP - 1, GROUP), (GROUP, GROUP - 1)):
        x = symbolic("x", at + length)

        def make(decisions):
            output = Output(at + room)
            machine = Kernel(*sources(*LATIN), decisions=decisions, presets={"at": Int(at, "usize")})
            return machine, output, machine.run("copy_ascii", Slice(x), output)

        for machine, output, result in paths(make, []):
            is_ascii, found = And(*(ULT(byte, 0x80) for byte in x[at:])), written_bytes(output)
            if min(length, room) < GROUP:
                assert machine.number(result) == at and not found
                continue
            here, done = And(*machine.conditions), machine.number(machine.scope["at"])
            assert set(found) == set(range(at, done)) and (done == at) == getattr(machine, "broken", False)
            report.prove(f"copy_ascii: {done - at} bytes", Implies(here, is_ascii if done > at else Not(is_ascii)))
            report.prove(f"copy_ascii: {done - at} bytes are the same", And(*(found[i][1] == x[i] for i in found)))


BOTH = (False, True)
PARTS = [
    (prove_step, False, False), (prove_step, True, False), (prove_step, True, True), (prove_unfinished,), (prove_only,), (prove_copy_ascii,),
    *((prove, windows) for prove in (prove_vector, prove_start, prove_loop) for windows in BOTH),
    (prove_group, False, False), (prove_group, True, False), (prove_group, True, True),
]


if __name__ == "__main__":
    run_parts(PARTS)
