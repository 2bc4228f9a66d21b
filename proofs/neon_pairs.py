#!/usr/bin/env python3
"""Proves the NEON conversions between UTF-8 and CESU-8 or Modified UTF-8 (`join` and `split` in `aarch64/pairs/`).

The claims are those of `avx2_pairs.py`. docs/verification.md has the list of them.
"""

from z3 import And, BitVecVal, Bool, Implies, Not, Or, UGE, ULT

from avx2_conversions import prove_masks
from avx2_pairs import Arrays, prove_arithmetic, prove_join, prove_split_bytes, split_bytes, title_of
from compressed import prove_tables, slots_of, sum_of, sum_of_total
from conversions import Encoded
from formulas import BOUNDARY, NEVER, run_parts, state, step
from model import Int, Slice, Struct
from neon_machine import (
    AARCH64, BLOCK, BLOCKS, COMPRESS, CONVERT, KEPT, Neon, SHUFFLES, WIDTH, prove_any, prove_bits, prove_store_kept, prove_sums,
    replace_store_kept, slots_of_block, sources, symbolic,
)
from neon_utf16 import prove_table
from pairs import KINDS
from paths import paths
from units import written_bytes
from vectors import Mask, Output, Place, Text, Total, z3_bool

JOIN = [f"{AARCH64}pairs/join.rs", f"{AARCH64}pairs/mod.rs", BLOCKS, CONVERT, KEPT]
SPLIT = [f"{AARCH64}pairs/split.rs", f"{AARCH64}pairs/mod.rs", COMPRESS, CONVERT, SHUFFLES]
# Where the loops are in the input and in the output.
READ, WRITTEN = 4, 3
VECTORS, WINDOW = 8, BLOCK + 2
STATE = {"read": Int(READ, "usize"), "written": Int(WRITTEN, "usize")}


class Pairs(Neon, Arrays):
    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        self.limits = []

    def on_call(self, names, function, arguments):
        _, name, constants = function
        if name == "copy_below":
            self.limits.append(constants)
        return super().on_call(names, function, arguments)

    def do_while(self, names, condition, body):
        # The first iteration of an inner loop starts where the condition is known.
        if not self.runs_once or names is self.scope or self.depth >= 100 or self.decide(self.evaluate(condition, names)):
            super().do_while(names, condition, body)


# CESU-8 or Modified UTF-8 to UTF-8.


def prove_kept_table(report):
    prove_tables(report, sources(KEPT))


def join_machine(decisions):
    """A block is converted also if it may be the same: the claims hold for it, too."""
    machine = Pairs(*sources(*JOIN), decisions=decisions, runs_once=True, presets=STATE, replaced={"may_change": lambda *_: True})
    return replace_store_kept(machine)


def prove_join_ends(report, modified, lenient):
    """Nothing is done at the end of the input, and in a stretch without a byte."""
    x, title = symbolic("x", READ + 1), title_of("join", modified, lenient)
    for length, constants in ((READ, {}), (READ + 1, {"STRETCH": Int(0, "usize")})):
        output = Output(WRITTEN + BLOCK)
        machine = Pairs(*sources(*JOIN), runs_once=True, presets=STATE, constants=constants)
        result = machine.run("join", Slice(x[:length]), output, constants=[modified, lenient])
        state_ = list(result or (machine.scope["read"], machine.scope["written"]))
        is_right = (result is None) == bool(constants) and [machine.number(it) for it in state_] == [READ, WRITTEN] and not output.stores
        report.prove(f"{title}: nothing is done {'in an empty stretch' if constants else 'at the end'}", z3_bool(is_right))


def prove_join_block(report, modified, lenient, length, room):
    prove_join(report, modified, lenient, length, room, join_machine, slots_of_block)


def prove_join_group(report, modified, lenient):
    """A block is copied only if it has no byte that changes or stops."""
    title = f"{title_of('join', modified, lenient)}, a block"
    for length, room in ((BLOCK, BLOCK), (BLOCK - 1, BLOCK), (BLOCK, BLOCK - 1)):
        x, count = symbolic("x", READ + length), 0

        def make(decisions):
            output = Output(WRITTEN + room)
            joined = [Struct({"bytes": None, "kept": None, "taken": Int(1, "usize")}), False]
            replaced = {"new": lambda *_: joined, "store_kept": lambda *_: Int(0, "usize")}
            machine = Pairs(*sources(*JOIN), decisions=decisions, runs_once=True, presets=STATE, replaced=replaced)
            machine.run("join", Slice(x), output, constants=[modified, lenient])
            return machine, output

        for count, (machine, output) in enumerate(paths(make, []), 1):
            read, written = (machine.number(machine.scope[name]) for name in ("read", "written"))
            if read != READ + BLOCK:
                assert not output.stores and (read, written) == (READ + 1, WRITTEN) or room < BLOCK and read == READ
                continue
            assert (length, room) == (BLOCK, BLOCK) and written == WRITTEN + BLOCK
            found, here = written_bytes(output), And(*machine.conditions)
            assert set(found) == set(range(WRITTEN, WRITTEN + BLOCK))
            for at, byte in enumerate(x[READ:]):
                changes = [byte == 0xED] + ([] if lenient else [UGE(byte, BitVecVal(0xF0, 8))])
                changes += [byte == 0xC0] * modified + [byte == 0] * (modified and not lenient)
                report.prove(f"{title}: byte {at} does not change", Implies(here, And(Not(Or(*changes)), found[WRITTEN + at][1] == byte)))
        assert count == 2 if min(length, room) == BLOCK or room < BLOCK else count == 1


# UTF-8 to CESU-8 or Modified UTF-8.


def split_parts(x, before, modified):
    """The bytes of the output for each byte of a vector, and the obligations."""
    machine, output = Pairs(*sources(*SPLIT)), Output(WRITTEN + 2 * WIDTH)
    made = machine.call("convert", x, before, Place(output, Total(WRITTEN)), constants=[modified])
    slots, terms = slots_of(machine, output, WRITTEN)
    assert sum_of_total(Total(WRITTEN) + Total.of(made)) == sum_of(terms) and all(kept is True for kept, _ in slots[::2])
    return [(first, kept, second) for (_, first), (kept, second) in zip(slots[::2], slots[1::2], strict=True)], machine.obligations


def prove_split_vector(report, modified):
    prove_split_bytes(report, modified, WIDTH, split_parts)


def prove_ends_inside(report):
    before = symbolic("b", WIDTH)
    found = Neon(*sources(*SPLIT)).call("ends_inside", before)
    report.prove("split: `ends_inside` is exact", z3_bool(found) == Or(*(UGE(byte, BitVecVal(0xF0, 8)) for byte in before[-3:])))


def same(a, b):
    return len(a) == len(b) and all(x.eq(y) for x, y in zip(a, b))


def prove_split_loop(report, modified):
    """What the loop does with the vectors, for any result of `copy_below` and of `convert`."""
    start, zeros = WIDTH, [BitVecVal(0, 8)] * WIDTH
    for rest in (WIDTH, 2 * WIDTH + 5, VECTORS * WIDTH, (VECTORS + 1) * WIDTH):
        x, before = symbolic("x", start + rest), symbolic("b", WIDTH)

        def make(decisions):
            calls, copied, output = [], [], Output(2 * (start + rest))

            def convert(given, earlier, out):
                assert out.output is output and out.at.most() + 2 * WIDTH <= output.length, "no room for the vector"
                made = Total(WIDTH, [(1, Mask([Bool(f"second_{len(calls)}_{i}") for i in range(WIDTH)], "u16"))])
                calls.append((given, earlier, out.at, made))
                return made

            def copy_below(*arguments):
                copied.append(arguments)
                return Int(WIDTH if machine.decide(Bool("is_below")) else 0, "usize")

            presets = {"read": Int(start, "usize"), "written": Int(2 * start, "usize"), "before": before}
            machine = Pairs(*sources(*SPLIT), decisions=decisions, presets=presets, replaced={"convert": convert, "copy_below": copy_below})
            assert machine.run("split", Text(x), output, constants=[modified]) is None
            return machine, output, calls, copied

        for count, (machine, output, calls, copied) in enumerate(paths(make, []), 1):
            name, read, written, earlier = f"{title_of('split', modified)}, {rest} bytes, path {count}", start, Total(2 * start), before
            if copied:
                ((given, part),) = copied
                assert machine.limits == [["0xF0", "false" if modified else "true"]]
                assert same(given.memory, x[start:]) and part.output is output and sum_of_total(part.at) == (2 * start, {})
                no_four = And(*(ULT(byte, BitVecVal(0xF0, 8)) for byte in before[-3:]))
                report.prove(f"{name}: no sequence is unfinished where bytes are copied", Implies(And(*machine.conditions), no_four))
            if any(condition.eq(Bool("is_below")) for condition in machine.conditions):
                read, written, earlier = read + WIDTH, written + Total(WIDTH), zeros
            for given, found, at, made in calls:
                assert same(given, x[read:read + WIDTH]) and same(found, earlier) and sum_of_total(at) == sum_of_total(written)
                read, written, earlier = read + WIDTH, written + made, given
            is_right = len(calls) == min(VECTORS, (start + rest - (read - WIDTH * len(calls))) // WIDTH) and not output.stores
            is_right = is_right and machine.number(machine.scope["read"]) == read and same(machine.scope["before"], earlier)
            is_right = is_right and sum_of_total(Total.of(machine.scope["written"])) == sum_of_total(written)
            report.prove(f"{name}: each vector is converted after the one before it", z3_bool(is_right))
        assert count == 3


def well_formed(text, at):
    """The text is well-formed from 3 bytes before a byte to 3 bytes after it or to its end."""
    found, premises = text.start, [ULT(text.start, state(NEVER))]
    for byte in text.text[at - 3:at + 4]:
        found = step(found, byte)
        premises.append(ULT(found, state(NEVER)))
    return premises + [found == BOUNDARY] * (at + 4 >= text.length)


def prove_split_rest(report, modified):
    """The rest of a text, of each length, after a vector and after copied bytes, which matter for 3 bytes."""
    for rest in range(WIDTH):
        for is_known in (True, False) if rest < 4 else (True,):
            text, output = Encoded(WIDTH, rest), Output(2 * (WIDTH + rest))
            before = text.text[:WIDTH] if is_known else [BitVecVal(0, 8)] * WIDTH
            presets = {"read": Int(WIDTH, "usize"), "written": Int(2 * WIDTH, "usize"), "before": before}
            machine = Pairs(*sources(*SPLIT), presets=presets)
            read, written = machine.run("split", Text(text.text), output, constants=[modified])
            name = f"{title_of('split', modified)}, a rest of {rest} bytes {'after a vector' if is_known else 'after copied bytes'}"
            ((part, copied),) = machine.copies
            slots, terms = slots_of(machine, copied.array.written)
            assert machine.number(read) == WIDTH + rest and part.output is output and not output.stores
            assert sum_of_total(part.at) == (2 * WIDTH, {}) and len(slots) == 2 * WIDTH and all(kept is True for kept, _ in slots[::2])
            # Also counted would be the second bytes after the rest, but there are none.
            assert sum_of_total(Total.of(copied.count)) == sum_of([(rest - WIDTH, True), *terms])
            assert sum_of_total(Total.of(written)) == sum_of([(2 * WIDTH + rest - WIDTH, True), *terms])
            prove_masks(report, name, machine, True)
            copied_before = [] if is_known else [ULT(byte, BitVecVal(0xF0, 8)) for byte in text.text[WIDTH - 3:WIDTH]]
            for i in sorted({0, 1, 2, *range(rest - 4, rest)} & set(range(rest))):
                (_, first), (kept, second) = slots[2 * i:2 * i + 2]
                expected, has_second, expected_second = split_bytes(text.text, WIDTH + i, modified)
                claim = And(first == expected, z3_bool(kept) == has_second, Implies(has_second, second == expected_second))
                report.prove(f"{name}: byte {i}", Implies(And(*well_formed(text, WIDTH + i), *copied_before), claim))
            given = And(*well_formed(text, WIDTH + rest - 1), *copied_before)
            none = And(*(Not(z3_bool(kept)) for kept, _ in slots[2 * rest + 1::2]))
            report.prove(f"{name}: no second bytes after them", Implies(given, none))


PARTS = {
    "helpers": [(prove_sums,), (prove_any,), (prove_bits,), (prove_store_kept,), (prove_arithmetic,), (prove_table,), (prove_kept_table,)],
    "join": [
        *((prove, *kind) for prove in (prove_join_group, prove_join_ends) for kind in KINDS),
        *((prove_join_block, *kind, length, BLOCK) for kind in KINDS for length in (BLOCK, WINDOW)),
        *((prove_join_block, *KINDS[1], *sizes) for sizes in ((5, 4), (5, 0), (5, BLOCK), (BLOCK + 1, BLOCK), (WINDOW, BLOCK - 1))),
    ],
    "split": [
        (prove_ends_inside,), *((prove, modified) for modified in (False, True) for prove in (prove_split_vector, prove_split_loop, prove_split_rest)),
    ],
}


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
