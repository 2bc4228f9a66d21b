#!/usr/bin/env python3
"""Proves the NEON conversions between UTF-8 and ISO 8859-1 or windows-1252 (`aarch64/latin.rs` and `aarch64/compress.rs`).

A vector is proved for any bytes and any bytes before it, the loops for any result of the functions that they call. The definitions
are those of `avx2_latin.py`. docs/verification.md has the list of claims.
"""

from z3 import And, BitVec, BitVecVal, Bool, If, Implies, Not, Or, UGE, ULT

from avx2_conversions import premises_about, prove_masks
from avx2_latin import Definition, Step, prove_step, prove_unfinished, punctuation_bytes, sign, symbolic
from compressed import prove_tables, slots_of, sum_of, sum_of_total
from conversions import first_of, normal, utf8, windows_words
from formulas import run_parts, within
from model import Int, Slice
from neon_machine import Neon, SHUFFLES, WIDTH, arch, mask_lanes, prove_sums, sources
from paths import paths
from units import character
from vectors import Output, Place, Total, z3_bool

VECTORS = 4
# Where the loops are in the input and in the output.
READ, WRITTEN = WIDTH, 3
BOTH = (False, True)


def make_machine(**options):
    return Neon(*arch("latin", "compress", "convert"), *sources(SHUFFLES), **options)


def title_of(windows):
    return "windows-1252" if windows else "ISO 8859-1"


def room_of_vector(windows):
    """The room for the UTF-8 of a vector."""
    return 3 * WIDTH + 4 if windows else 2 * WIDTH


def prove_drop_bytes(report):
    """The bytes that are not dropped, one after the other."""
    output, machine, bytes_ = Output(WRITTEN + WIDTH), make_machine(), symbolic("x", WIDTH)
    bits = [Bool(f"dropped_{i}") for i in range(WIDTH)]
    length = machine.call("drop_bytes", bytes_, mask_lanes(bits), Place(output, Total(WRITTEN)))
    slots, terms = slots_of(machine, output, WRITTEN)
    assert len(slots) == WIDTH and sum_of_total(Total.of(length)) == sum_of(terms[1:]), "the length is not that of the bytes"
    prove_masks(report, "drop_bytes", machine, And())
    for i, (kept, byte) in enumerate(slots):
        report.prove(f"drop_bytes: byte {i}", And(z3_bool(kept) == Not(bits[i]), byte == bytes_[i]))


# Single bytes to UTF-8.


def prove_decode_vector(report, windows, three):
    """A vector of bytes, for `decode_two` of windows-1252 without bytes from 80 to 9F."""
    name = "decode_three" if three else "decode_two"
    x, output = symbolic("x", WIDTH), Output(WRITTEN + room_of_vector(windows))
    machine = make_machine(constants={"WINDOWS_1252_C1": windows_words()})
    length = machine.call(name, x, Place(output, Total(WRITTEN)))
    slots, terms = slots_of(machine, output, WRITTEN)
    assert sum_of_total(Total.of(length)) == sum_of(terms[1:]), "the length is not that of the bytes"
    title, per_byte = f"{name}, {title_of(windows)}", len(slots) // WIDTH
    assert len(slots) == per_byte * WIDTH
    prove_masks(report, title, machine, And())
    for i, byte in enumerate(x):
        premise = Not(within(byte, 0x80, 0x9F)) if windows and not three else And()
        found = normal(slots[per_byte * i:per_byte * i + per_byte])
        report.prove(f"{title}: byte {i}", Implies(premise, found == normal(first_of(*utf8(character(byte, windows))))))


def is_at(place, output, at):
    return place.output is output and sum_of_total(place.at) == (at, {})


def are_same(lanes, expected):
    return all(a.eq(b) for a, b in zip(lanes, expected, strict=True))


class Copies:
    """Replaces `copy_below`: `copied` bytes are copied."""

    def __init__(self, copied):
        self.copied, self.calls = copied, []

    def copy_below(self, given, room):
        self.calls.append((given, room))
        return Int(self.copied, "usize")


def prove_decode(report, windows):
    """An iteration of the loop: what is not copied as ASCII is converted, four vectors at most, and each if there is room."""
    # What a vector writes.
    made, most = 17, room_of_vector(windows)
    for copied, length, room, vectors in (
        (0, 4 * WIDTH, 3 * made + most, 4), (0, 4 * WIDTH - 1, 5 * most, 3), (0, 5 * WIDTH, 3 * made + most - 1, 3), (0, WIDTH, most, 1),
        (0, WIDTH - 1, most, 0), (0, WIDTH, most - 1, 0), (64, 64 + WIDTH, 64 + most, 1), (64, 63 + WIDTH, 64 + most, 0), (64, 64 + WIDTH, 63 + most, 0),
    ):
        x = symbolic("x", READ + length)
        title = f"decode, {title_of(windows)}, {length} bytes, room for {room}, {copied} copied"

        def make(decisions):
            output, calls, ascii = Output(WRITTEN + room), [], Copies(copied)

            def converted(name, given, place):
                calls.append((name, given, place))
                return Int(made, "usize")

            replaced = {name: lambda *given, name=name: converted(name, *given) for name in ("decode_two", "decode_three")}
            presets = {"read": Int(READ, "usize"), "written": Int(WRITTEN, "usize")}
            machine = make_machine(decisions=decisions, presets=presets, replaced=replaced | {"copy_below": ascii.copy_below})
            return machine, output, calls, ascii, machine.run("decode", Slice(x), output, constants=[windows])

        for count, (machine, output, calls, ascii, result) in enumerate(paths(make, [], lambda conditions: True), 1):
            name = f"{title}, path {count}"
            ((given, place),) = ascii.calls
            assert given.memory == x[READ:] and is_at(place, output, WRITTEN) and machine.generics.count(["0x80", "true"]) == 1
            assert len(calls) == vectors and not output.stores
            end = [READ + copied + WIDTH * vectors, WRITTEN + copied + made * vectors]
            assert [machine.number(machine.scope[name]) for name in ("read", "written")] == end
            if vectors < VECTORS:
                assert [machine.number(it) for it in result] == end
            else:
                assert result is None and not hasattr(machine, "broken")
            for i, (function, lanes, place) in enumerate(calls):
                start = READ + copied + WIDTH * i
                expected = x[start:start + WIDTH]
                assert are_same(lanes, expected) and is_at(place, output, WRITTEN + copied + made * i)
                assert place.at.number + most <= output.length and function in ("decode_two", "decode_three")
                has_c1 = Or(*(within(byte, 0x80, 0x9F) for byte in expected)) if windows else Or()
                report.prove(f"{name}: the vector {i} is converted by {function}", Implies(
                    premises_about(machine, expected), has_c1 if function == "decode_three" else Not(has_c1),
                ))


# UTF-8 to single bytes.


def prove_vectors(report, windows, three):
    """`of_two` and `of_three`: the definition, and lanes of `dropped` that are 00 or FF."""
    prove_step(report, windows, three, make_machine, WIDTH)
    machine, x, (p1, p2) = make_machine(constants={"PUNCTUATION_BYTES": punctuation_bytes()}), symbolic("x", WIDTH), (symbolic("p", WIDTH), symbolic("q", WIDTH))
    step = machine.call("of_three", x, [p1, p2]) if three else machine.call("of_two", x, p1, constants=[windows])
    is_mask = And(*(Or(lane == 0, lane == 0xFF) for lane in step.fields["dropped"]))
    report.prove(f"{'of_three' if three else 'of_two'}, {title_of(windows)}: a byte is dropped or not", is_mask)


def prove_definition(report):
    """Bytes that the loop does not read do not change the definition."""
    p2, p1, x, a, b = (BitVec(name, 8) for name in ("p2", "p1", "x", "a", "b"))
    zero = BitVecVal(0, 8)

    def same(first, second):
        claims = [first.is_good == second.is_good, first.is_dropped == second.is_dropped]
        return And(*claims, Implies(And(first.is_good, Not(first.is_dropped)), first.value == second.value))

    for windows, three in ((False, False), (True, False), (True, True)):
        of_ascii = And(
            same(Definition(a, b, x, windows, three), Definition(zero, zero, x, windows, three)),
            same(Definition(a, p1, x, windows, three), Definition(zero, p1, x, windows, three)),
        )
        title = f"{title_of(windows)}{', sequences of 3' if three else ''}"
        report.prove(f"{title}: all ASCII before a byte is the same", Implies(And(ULT(a, 0x80), ULT(b, 0x80)), of_ascii))
    report.prove("windows-1252: without bytes from E0 there are no sequences of 3", Implies(
        And(*(ULT(byte, 0xE0) for byte in (p2, p1, x))), same(Definition(p2, p1, x, True, False), Definition(p2, p1, x, True, True)),
    ))


def prove_first_mark(report):
    machine, marks = make_machine(), symbolic("m", WIDTH)
    first = BitVecVal(WIDTH, 64)
    for i in reversed(range(WIDTH)):
        first = If(sign(marks[i]), BitVecVal(i, 64), first)
    report.prove("first_mark: the index of the first mark", machine.call("first_mark", marks).bits() == first)


def prove_encode(report, windows):
    """An iteration of the loop, for a mark at some places: four vectors at most, and each if there is room."""
    # What a vector writes.
    made, proved = 9, {}

    def prove_once(name, claim):
        """Other paths have the same claims."""
        if proved.setdefault(claim.get_id(), claim) is claim:
            report.prove(name, claim)

    for unfinished, copied, length, room, vectors, taken in (
        (0, 0, 4 * WIDTH, 3 * made + WIDTH, 4, 5), (1, 0, 4 * WIDTH, 3 * made + WIDTH, 4, 0), (0, 0, 4 * WIDTH - 1, 5 * WIDTH, 3, 1),
        (0, 0, 5 * WIDTH, 3 * made + WIDTH - 1, 3, 15), (2, 0, WIDTH, WIDTH, 1, 9), (0, 0, WIDTH - 1, WIDTH, None, 5), (0, 0, WIDTH, WIDTH - 1, None, 5),
        (0, 64, 64 + WIDTH, 64 + WIDTH, 1, 7), (0, 64, 63 + WIDTH, 64 + WIDTH, 0, 5), (0, 64, 64 + WIDTH, 63 + WIDTH, 0, 5),
    ):
        x = symbolic("x", READ + length)
        title = f"encode, {title_of(windows)}, {length} bytes, room for {room}, {copied} copied, {unfinished} unfinished"

        def make(decisions):
            output, step, ascii, dropped, ends = Output(WRITTEN + room), Step(WIDTH), Copies(copied), [], []

            def drop_bytes(*given):
                dropped.append(given)
                return Int(made, "usize")

            def unfinished_of(given):
                ends.append(given.memory)
                return Int(unfinished, "usize")

            replaced = {name: lambda *given, name=name: step.made(name, *given) for name in ("of_two", "of_three")} | {
                "copy_below": ascii.copy_below, "drop_bytes": drop_bytes, "unfinished": unfinished_of, "first_mark": lambda _: Int(taken, "usize"),
            }
            presets = {"read": Int(READ, "usize"), "written": Int(WRITTEN, "usize"), "before": x[:READ]}
            machine = make_machine(decisions=decisions, presets=presets, replaced=replaced)
            return machine, output, step, ascii, dropped, ends, machine.run("encode", Slice(x), output, constants=[windows])

        for count, (machine, output, step, ascii, dropped, ends, result) in enumerate(paths(make, [], lambda conditions: True), 1):
            name = f"{title}, path {count}"
            assert not output.stores
            read, written = (machine.number(machine.scope[name]) for name in ("read", "written"))
            if result is not None:
                assert ends[-1] == x[:read] and [machine.number(it) for it in result] == [read - unfinished, written]
            if vectors is None:
                assert result is not None and (read, written) == (READ, WRITTEN) and not step.calls and not ascii.calls
                continue
            assert ends[0] == x[:READ] and len(ends) == 1 + (result is not None)
            # Only after whole sequences.
            assert len(ascii.calls) == (unfinished == 0)
            for given, place in ascii.calls:
                assert given.memory == x[READ:] and is_at(place, output, WRITTEN) and machine.generics.count(["0x80", "true"]) == 1
            assert [it for it in machine.generics if it and it != ["0x80", "true"]] == [[windows]] * sum(call[0] == "of_two" for call in step.calls)
            memory = [BitVecVal(0, 8)] * (READ + copied) + x[READ + copied:] if copied else x
            at, to, is_marked = READ + copied, WRITTEN + copied, False
            assert len(dropped) == len(step.calls)
            for i, ((function, lanes, earlier), values, (bytes_, without, place)) in enumerate(zip(step.calls, step.values, dropped)):
                three = function == "of_three"
                earlier = earlier if three else [earlier]
                assert not is_marked and len(earlier) == 1 + three and (windows or not three)
                for by, found in enumerate([lanes, *earlier]):
                    assert are_same(found, memory[at - by:at - by + WIDTH]), "other bytes are read"
                assert bytes_ is values["bytes"] and is_at(place, output, to) and to + WIDTH <= output.length
                if windows:
                    seen = memory[at - 2:at + WIDTH]
                    here, has_three = premises_about(machine, seen), Or(*(UGE(byte, 0xE0) for byte in seen))
                    prove_once(f"{name}: the vector {i} is converted by {function}", Implies(here, has_three if three else Not(has_three)))
                is_marked = without is not values["dropped"]
                has_mark, here = Or(*map(sign, values["marks"])), premises_about(machine, values["marks"])
                prove_once(f"{name}: the vector {i} has {'a' if is_marked else 'no'} mark", Implies(here, has_mark if is_marked else Not(has_mark)))
                if is_marked:
                    expected = [BitVecVal(0xFF, 8) if lane >= taken else values["dropped"][lane] for lane in range(WIDTH)]
                    report.prove(f"{name}: only the bytes before the mark are written", And(*(a == b for a, b in zip(without, expected, strict=True))))
                at, to = at + (taken if is_marked else WIDTH), to + made
            assert (read, written) == (at, to) and (len(step.calls) == vectors or is_marked)
            assert (result is None) == (vectors == VECTORS and not is_marked)


def prove_table(report):
    prove_tables(report, sources(SHUFFLES))


STEPS = [(False, False), (True, False), (True, True)]
PARTS = {
    "compress": [(prove_sums,)],
    "latin": [
        (prove_table,), (prove_drop_bytes,), (prove_first_mark,), (prove_definition,), (prove_unfinished, make_machine),
        *((prove_vectors, *step) for step in STEPS), *((prove_decode_vector, *step) for step in STEPS),
        *((prove, windows) for prove in (prove_decode, prove_encode) for windows in BOTH),
    ],
}


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
