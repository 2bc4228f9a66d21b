#!/usr/bin/env python3
"""Proves the AVX2 conversions between UTF-8 and CESU-8 or Modified UTF-8 (`join` and `split` in `avx2/pairs/`).

`join` is proved for a block of 64 bytes from any position, with the shortest input and output of each of its ways; `split` for a
vector after another one, and for the rest of a text. The definitions are those of `pairs.py`. docs/verification.md has the list
of claims.
"""

from z3 import And, BitVec, BitVecVal, Bool, BoolVal, Concat, Extract, If, Implies, LShR, Not, Or, UGE, UGT, ULT

import formulas
from compressed import Kernel, prove_tables, slots_of, sum_of, sum_of_total
from conversions import Encoded, wide
from formulas import run_parts
from library import Option, Part, as_int
from model import Array, Int, Slice, Struct
from pairs import KINDS, Definition
from paths import paths
from rust import Source
from units import written_bytes
from vectors import Mask, Output, Place, Text, Total, boolean, is_never, z3_bool

AVX2 = "arch/x86_64/avx2/"
COPY, MOD, JOIN, SPLIT = (f"{AVX2}{name}.rs" for name in ("copy", "pairs/mod", "pairs/join", "pairs/split"))
KEPT = "arch/kept.rs"
WIDTH, BLOCK, GROUP, WINDOW = 32, 64, 128, 66
# Where the loops are in the input and in the output.
READ, WRITTEN = 4, 3
EDGES = [0, 1, 2, 7, 8, 15, 16, 23, 24, 30, 31]
HAS_ROOM = Bool("has_room")
LANES = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 29, 30, 31, 32, 33, 34, 35, 36, 37, 47, 48, 58, 59, 60, 62, 63]


def symbolic(name, count):
    return [BitVec(f"{name}{i}", 8) for i in range(count)]


def source(path):
    return Source(formulas.ROOT / path)


class ArrayPart:
    """The first elements of an array."""

    def __init__(self, array, count):
        self.array, self.count = array, count


class Arrays(Kernel):
    """A machine with arrays that functions write, as with the output. `copies` has what was copied to the output from them."""

    def __init__(self, *sources, **options):
        super().__init__(*sources, **options)
        self.copies, self.rooms = [], []

    def on_path(self, names, name, constants):
        if name == "usize::from":
            return lambda value: self.on_call(names, ("path", name, []), [("value", value)])
        return super().on_path(names, name, constants)

    def on_index(self, names, array, index):
        found, at = self.evaluate(array, names), self.evaluate(index, names)
        if hasattr(at, "is_inclusive"):
            assert not at.is_inclusive
            if isinstance(found, Array):
                assert self.number(at.start) == 0
                return ArrayPart(found, at.last)
            if isinstance(found, Output) and at.last is not None:
                part = Part(found, Total.of(at.start))
                part.end = Total.of(at.last)
                return part
        return super().on_index(names, ("value", found), ("value", at))

    def on_method(self, names, value, name, constants, arguments):
        if name == "iter_mut":
            return super().on_method(names, value, name, constants, arguments)
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        match name, value:
            case "is_empty", Slice():
                return not value.memory
            case "as_mut_ptr", Array():
                value.written = Output(len(value))
                return Place(value.written, Total(0))
            case "len", ArrayPart():
                return value.count
            case "copy_from_slice", ArrayPart():
                (given,) = arguments
                assert self.number(value.count) == len(given.memory), "other lengths"
                value.array[:len(given.memory)] = given.memory
                return None
            case "copy_from_slice", Part():
                (given,) = arguments
                length = value.end + value.at.times(-1)
                assert sum_of_total(length) == sum_of_total(Total.of(given.count)), "other lengths"
                self.copies.append((value, given))
                return None
            case "get_mut", Part():
                (span,) = arguments
                assert self.number(span.start) == 0 and not span.is_inclusive
                self.rooms.append((span.last, value.output.length - value.at.most()))
                if not self.decide(HAS_ROOM):
                    return Option()
                part = Part(value.output, value.at)
                part.end = value.at + Total.of(span.last)
                return Option(part, True)
            case "wrapping_sub", Mask() if arguments == [1]:
                return Mask(decrement(value), value.kind)
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])

    def operate(self, operator, left, right):
        if operator == "<=" and isinstance(left, Total) and left.terms:
            # A large condition has a name instead.
            self.rooms.append((left, self.number(right)))
            return HAS_ROOM
        if isinstance(left, Mask) and isinstance(right, int) and operator in ("|", "&", "^"):
            assert right < 1 << len(left.list), "a bit that the type does not have"
        return super().operate(operator, left, right)


class Pairs(Arrays):
    def __init__(self, *sources, **options):
        super().__init__(*sources, **options)
        self.below = []

    def call(self, name, *arguments, this=None, constants=()):
        if name == "store" and this is None:
            # `Joined` and `Parts` have a method of this name.
            before, self.sources = self.sources, tuple(source for source in self.sources if source.path.name == "mod.rs")
            try:
                return super().call(name, *arguments, constants=constants)
            finally:
                self.sources = before
        return super().call(name, *arguments, this=this, constants=constants)

    def on_call(self, names, function, arguments):
        _, name, constants = function
        if name == "below" and "below" in self.replaced:
            self.below.append(constants)
        return super().on_call(names, function, arguments)


def decrement(mask):
    """The bits of the mask minus 1: a bit changes if no bit before it is set."""
    found, none = [], True
    for bit in mask.list:
        bit = z3_bool(bit)
        found.append(boolean(Not(bit) if none is True else bit != z3_bool(none)))
        none = boolean(And(z3_bool(none), Not(bit)))
    return found


def prove_arithmetic(report):
    mask = Mask([Bool(f"bit_{i}") for i in range(64)], "u64")
    report.prove("the model subtracts 1 from a mask", Mask(decrement(mask), "u64").bits() == mask.bits() - 1)


def title_of(name, modified, lenient=False):
    return f"{name}, {'Modified UTF-8' if modified else 'CESU-8'}{', lenient' if lenient else ''}"


# CESU-8 or Modified UTF-8 to UTF-8.


class InBlock(Definition):
    """What each byte is in a block. `00` in two bytes is only left to the next block if both are known."""

    def is_left(self, i):
        return Or(And(i >= BLOCK - 5, self.half(i, 0xA0)), And(i == BLOCK - 1, self.zero(i)))


def prove_join_table(report):
    prove_tables(report, [source(KEPT)])


def join_machine(decisions):
    files = [source(path) for path in (JOIN, KEPT, MOD, COPY)]
    return Pairs(*files, decisions=decisions, runs_once=True, presets={"read": Int(READ, "usize"), "written": Int(WRITTEN, "usize")})


def prove_join(report, modified, lenient, length, room, new_machine=join_machine, slots_of=slots_of):
    """A block at `READ`, of which `length` bytes are left, with `room` bytes in the output."""
    x = symbolic("x", READ + length)
    definition, width = InBlock(x[READ:], modified, lenient), min(length, BLOCK)
    title = f"{title_of('join', modified, lenient)}, {length} bytes, room for {room}"

    def make(decisions):
        output, machine = Output(WRITTEN + room), new_machine(decisions)
        result = machine.run("join", Slice(x), output, constants=[modified, lenient])
        return machine, output, result

    ends = [Or(definition.stops(i), definition.is_left(i)) for i in range(width)]
    taken = BitVecVal(width, 64)
    for i in reversed(range(width)):
        taken = If(ends[i], BitVecVal(i, 64), taken)
    count = 0
    for machine, output, result in paths(make, [], lambda conditions: True):
        here = And(*(condition for condition in machine.conditions if not condition.eq(HAS_ROOM) and not condition.eq(Not(HAS_ROOM))))
        if is_never(here):
            continue
        count += 1
        name = f"{title}, path {count}"
        read, written = result or (machine.scope["read"], machine.scope["written"])
        if not output.stores and not machine.copies:
            # There is no room for the bytes that are kept.
            ((_, limit),) = machine.rooms
            assert room < BLOCK and limit == room and result and any(condition.eq(Not(HAS_ROOM)) for condition in machine.conditions)
            assert machine.number(read) == READ and machine.number(written) == WRITTEN
            continue
        if machine.copies:
            ((part, given),) = machine.copies
            assert part.output is output and not output.stores
            slots, terms = slots_of(machine, given.array.written)
            assert sum_of_total(Total.of(given.count)) == sum_of(terms[1:]) and sum_of_total(part.at) == sum_of([(WRITTEN, True)])
            assert sum_of_total(part.end) == sum_of([(WRITTEN, True), *terms[1:]])
            ((made, limit),) = machine.rooms
            assert limit == room and any(condition.eq(HAS_ROOM) for condition in machine.conditions)
            assert sum_of_total(made) == sum_of(terms[1:]), "the room of other bytes is tested"
            terms[0] = (WRITTEN, True)
        else:
            assert room >= BLOCK
            slots, terms = slots_of(machine, output, WRITTEN)
        assert len(slots) == BLOCK and sum_of_total(Total.of(written)) == sum_of(terms)
        if obligations := [z3_bool(it) for it in machine.obligations if it is not True]:
            report.prove(f"{name}: the masks are those of the lanes", Implies(here, And(*obligations)))
        report.prove(f"{name}: the bytes that are read", Implies(here, as_int(read, "usize").bits() == READ + taken))
        stopped = Or(*(And(definition.stops(i), Not(definition.is_left(i)), *(Not(end) for end in ends[:i])) for i in range(width)))
        report.prove(f"{name}: the end is a byte that stops", Implies(here, stopped if result else Not(stopped)))
        # A store of 8 bytes depends on the number of bytes before it.
        report.prove(f"{name}: no byte after them is kept", Implies(here, And(*(
            Implies(z3_bool(slots[i][0]), UGT(taken, BitVecVal(i, 64))) for i in range(BLOCK)
        ))))
        for first in range(0, width, 8):
            claims = []
            for i in range(first, min(first + 8, width)):
                kept, value = definition.output(i)
                is_right = Implies(kept, slots[i][1] == value) if i in LANES else True
                claims.append(Implies(Not(Or(*ends[:i + 1])), And(z3_bool(slots[i][0]) == kept, is_right)))
            report.prove(f"{name}: the bytes from {first} on", Implies(here, And(*claims)))
    assert count


def prove_join_group(report, modified, lenient):
    """A group is copied only if it has no byte that changes or stops."""
    x = symbolic("x", READ + GROUP)
    files = [source(path) for path in (JOIN, KEPT, MOD, COPY)]
    title = f"{title_of('join', modified, lenient)}, a group"
    for room in (GROUP, GROUP - 1):
        def make(decisions):
            output = Output(WRITTEN + room)
            presets = {"read": Int(READ, "usize"), "written": Int(WRITTEN, "usize")}
            block = [Struct({"bytes": None, "kept": Mask([False] * 64, "u64"), "taken": Int(1, "usize")}), False]
            machine = Pairs(
                *files, decisions=decisions, runs_once=True, presets=presets, replaced={"new": lambda *_: block, "store": lambda *given: store(*given)},
            )
            store = lambda first, second: None if isinstance(first, Struct) else first.store(second)
            machine.run("join", Slice(x), output, constants=[modified, lenient])
            return machine, output

        count = 0
        for machine, output in paths(make, []):
            count += 1
            if machine.number(machine.scope["read"]) != READ + GROUP:
                assert not output.stores and machine.number(machine.scope["read"]) == READ + 1
                continue
            assert room == GROUP and machine.number(machine.scope["written"]) == WRITTEN + GROUP
            found, here = written_bytes(output), And(*machine.conditions)
            assert set(found) == set(range(WRITTEN, WRITTEN + GROUP))
            for vector in range(4):
                for i in EDGES:
                    at = WIDTH * vector + i
                    byte = x[READ + at]
                    changes = [byte == 0xED] + ([] if lenient else [UGE(byte, BitVecVal(0xF0, 8))])
                    changes += [byte == 0xC0] * modified + [byte == 0] * (modified and not lenient)
                    is_same = And(Not(Or(*changes)), found[WRITTEN + at][1] == byte)
                    report.prove(f"{title}: byte {at} does not change", Implies(here, is_same))
        assert count == (2 if room == GROUP else 1)


# UTF-8 to CESU-8 or Modified UTF-8.


def prove_split_table(report):
    prove_tables(report, [source(SPLIT)])


def of_surrogate(unit):
    """The sequence of 3 bytes of a surrogate."""
    return [
        Concat(BitVecVal(0xE, 4), Extract(15, 12, unit)), Concat(BitVecVal(2, 2), Extract(11, 6, unit)), Concat(BitVecVal(2, 2), Extract(5, 0, unit)),
    ]


def split_bytes(x, at, modified):
    """The bytes of the output for one byte of text: the first one, whether there is a second one, and the second one."""
    def byte(by):
        return x[at + by] if 0 <= at + by < len(x) else BitVecVal(0, 8)

    first, second, has_second = byte(0), BitVecVal(0, 8), BoolVal(False)
    for place in range(4):
        lead = byte(-place)
        a, b, c, d = (wide(byte(i - place)) for i in range(4))
        value = (a & 7) << 18 | (b & 0x3F) << 12 | (c & 0x3F) << 6 | d & 0x3F
        rest = value - 0x10000
        high, low = (Extract(15, 0, part) for part in (0xD800 | LShR(rest, 10), 0xDC00 | rest & 0x3FF))
        sequence = of_surrogate(high) + of_surrogate(low)
        made = ([0], [1], [2, 3], [4, 5])[place]
        is_here = UGE(lead, BitVecVal(0xF0, 8)) if at - place >= 0 else BoolVal(False)
        first = If(is_here, sequence[made[0]], first)
        if len(made) == 2:
            second, has_second = If(is_here, sequence[made[1]], second), Or(has_second, is_here)
    if modified:
        is_nul = byte(0) == 0
        first, second, has_second = If(is_nul, BitVecVal(0xC0, 8), first), If(is_nul, BitVecVal(0x80, 8), second), Or(has_second, is_nul)
    return first, has_second, second


def split_parts(x, before, modified):
    """The bytes of the output for each byte of a vector, and the obligations."""
    machine = Pairs(source(SPLIT), source(MOD), source(COPY))
    parts = machine.call("new", x, before, constants=[modified]).fields
    return list(zip(parts["firsts"], parts["mask"].list, parts["seconds"])), machine.obligations


def prove_split_bytes(report, modified, width=WIDTH, split_parts=split_parts):
    """The parts of a vector, at the start of a text, after another vector, and after copied bytes, with a text of 3 bytes after it."""
    for at, is_known in ((0, False), (width, True), (width, False)):
        text = Encoded(at, width + 3)
        x, before = text.text[at:at + width], text.text[:at] if is_known else [BitVecVal(0, 8)] * width
        found, obligations = split_parts(x, before, modified)
        name = f"{title_of('split', modified)}, {'after a vector' if is_known else 'after copied bytes' if at else 'at the start'}"
        # No sequence of 4 bytes is unfinished after bytes that were copied.
        copied = [] if is_known else [ULT(byte, BitVecVal(0xF0, 8)) for byte in text.text[:at][-3:]]
        if any(it is not True for it in obligations):
            report.prove(f"{name}: the masks are those of the tables", And(*map(z3_bool, obligations)))
        for i, (first_found, mask, second_found) in enumerate(found):
            premises, _ = text.premises(at + i)
            # The rest of the sequence of the byte, too.
            more = []
            state = formulas.state(formulas.BOUNDARY) if max(at + i - 3, 0) == 0 else text.start
            for j in range(max(at + i - 3, 0), at + i + 4):
                if j < text.length:
                    state = formulas.step(state, text.text[j])
                    more.append(ULT(state, formulas.state(formulas.NEVER)))
            first, has_second, second = split_bytes(text.text, at + i, modified)
            claim = And(first_found == first, z3_bool(mask) == has_second, Implies(has_second, second_found == second))
            report.prove(f"{name}: byte {i}", Implies(And(*premises, *more, *copied), claim))


def prove_split_vector(report, modified):
    prove_split_bytes(report, modified)
    before = symbolic("b", WIDTH)
    machine = Pairs(source(SPLIT), source(MOD), source(COPY))
    is_inside = Or(*(UGE(byte, BitVecVal(0xF0, 8)) for byte in before[-3:]))
    report.prove("split: `ends_inside` is exact", z3_bool(machine.call("ends_inside", before)) == is_inside)


class Parts:
    """Replaces the function that converts a vector: its results are any bytes and any mask."""

    def __init__(self):
        self.calls = []

    def new(self, x, before):
        n = len(self.calls)
        self.calls.append((x, before))
        return Struct({
            "firsts": symbolic(f"first_{n}_", WIDTH), "seconds": symbolic(f"second_{n}_", WIDTH),
            "mask": Mask([Bool(f"mask_{n}_{i}") for i in range(WIDTH)], "u32"),
        })

    def slots(self, n, count=WIDTH):
        return [slot for i in range(count) for slot in (
            (True, BitVec(f"first_{n}_{i}", 8)), (Bool(f"mask_{n}_{i}"), BitVec(f"second_{n}_{i}", 8)),
        )]


def prove_split_loop(report, modified):
    """What the loops do with the parts: for a group, for a vector, and for a rest of each length."""
    files = [source(path) for path in (SPLIT, MOD, COPY)]
    start = WIDTH
    for rest in (GROUP, WIDTH, *range(WIDTH)):
        x, before = symbolic("x", start + rest), symbolic("b", WIDTH)

        def make(decisions):
            parts, given, output = Parts(), [], Output(2 * (start + rest))

            def below(*arguments):
                given.extend(arguments)
                return Int(GROUP if machine.decide(Bool("is_below")) else 0, "usize")

            presets = {"read": Int(start, "usize"), "written": Int(2 * start, "usize"), "before": before}
            machine = Pairs(*files, decisions=decisions, presets=presets, replaced={"new": parts.new, "below": below})
            result = machine.run("split", Text(x), output, constants=[modified])
            return machine, output, parts, given, result

        for count, (machine, output, parts, given, result) in enumerate(paths(make, []), 1):
            name = f"{title_of('split', modified)}, {rest} bytes, path {count}"
            here = And(*machine.conditions)
            read, written = result or (machine.scope["read"], machine.scope["written"])
            if given:
                assert rest == GROUP and machine.below == [["0xF0", "false" if modified else "true"]]
                assert all(a.eq(b) for a, b in zip(given[0].memory, x[start:], strict=True))
                assert given[1].output is output and sum_of_total(given[1].at) == (2 * start, {})
                no_four = And(*(ULT(byte, BitVecVal(0xF0, 8)) for byte in before[-3:]))
                report.prove(f"{name}: no sequence is unfinished where bytes are copied", Implies(here, no_four))
            if given and not parts.calls:
                assert machine.number(read) == start + GROUP and machine.number(written) == 2 * start + GROUP and not output.stores
                zeros = machine.scope["before"]
                report.prove(f"{name}: none is unfinished after them", And(*(lane == 0 for lane in zeros)))
                continue
            assert machine.number(read) == start + rest
            vectors = -(-rest // WIDTH)
            for n, (of, earlier) in enumerate(parts.calls):
                here_x = (x[start + WIDTH * n:start + WIDTH * (n + 1)] + [BitVecVal(0, 8)] * WIDTH)[:WIDTH]
                expected = before if n == 0 else x[start + WIDTH * (n - 1):start + WIDTH * n]
                assert all(a.eq(b) for a, b in zip(of, here_x, strict=True)) and all(a.eq(b) for a, b in zip(earlier, expected, strict=True))
            assert len(parts.calls) == vectors
            if rest >= WIDTH:
                assert all(a.eq(b) for a, b in zip(machine.scope["before"], x[start + rest - WIDTH:], strict=True))
            expected = [slot for n in range(vectors) for slot in parts.slots(n)][:2 * rest]
            if machine.copies:
                ((part, copied),) = machine.copies
                slots, _ = slots_of(machine, copied.array.written)
                assert part.output is output and not output.stores and sum_of_total(part.at) == (2 * start, {})
                assert sum_of_total(Total.of(copied.count)) == sum_of((1, kept) for kept, _ in expected)
                slots = slots[:2 * rest]
            else:
                slots, _ = slots_of(machine, output, 2 * start)
            assert sum_of_total(Total.of(written)) == sum_of([(2 * start, True), *((1, kept) for kept, _ in expected)])
            is_right = len(slots) == len(expected) and all(
                z3_bool(a).eq(z3_bool(b)) and x.eq(y) for (a, x), (b, y) in zip(slots, expected)
            )
            report.prove(f"{name}: the parts are written", z3_bool(is_right))


PARTS = {
    "join": [
        (prove_arithmetic,), (prove_join_table,), *((prove_join_group, *kind) for kind in KINDS),
        *((prove_join, *kind, length, BLOCK) for kind in KINDS for length in (BLOCK, WINDOW)),
        *((prove_join, *KINDS[1], *sizes) for sizes in ((5, 4), (5, 0), (5, BLOCK), (BLOCK + 1, BLOCK), (WINDOW, BLOCK - 1))),
    ],
    "split": [(prove_split_table,), *((prove, modified) for modified in (False, True) for prove in (prove_split_vector, prove_split_loop))],
}


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
