#!/usr/bin/env python3
"""Proves the pass of AVX2 that validates text and searches it for the characters of a subset (`avx2/within.rs`).

Which marks the formulas of a vector have is proved by `formulas.py`, and which pairs are found by `prefixes.py`. docs/verification.md
has the list of claims.
"""

from z3 import And, BitVec, Bool, BoolVal, Implies, Not, Or, UGE, ULE, ULT, is_bv

import formulas
from formulas import run_parts, state, step
from library import Library, Option, Variant
from model import Array, Int, Slice, Struct, join
from paths import paths
from prefixes import ALL, EDGES, GROUP, KINDS, Loaded, Marks, PREFIXES, WIDTH, Within, any_set, has, source, symbolic
from vectors import Mask, z3_bool

class WithMarks(Within):
    """A machine whose masks are given. What was computed is in `computed`."""

    def __init__(self, *sources, marks, **options):
        super().__init__(*sources, **options)
        self.marks = marks

    def instruction(self, name, constants, arguments):
        found = super().instruction(name, constants, arguments)
        if name == "_mm256_movemask_epi8":
            self.computed, found = found.list, Mask(self.marks, "i32")
        return found


def is_found(the_set, bytes_):
    """Whether `first_in` reports the start of these bytes: it does not require that the pair of a third byte is in the set, too."""
    machine = Within(source(PREFIXES))
    fields = the_set.fields
    nibbles = [part for x in bytes_ for part in (machine.operate(">>", Int(x, "u8"), 4), Int(x, "u8"))]
    pair = machine.call("has", nibbles[:4], this=fields["pairs"]).bits()
    return Or(pair & fields["whole"].bits() != 0, machine.call("has", nibbles, this=fields["triples"]).bits() != 0)


def prove_first_in(report):
    """An iteration of `first_in` returns the index of the first character of the set, and reads nothing outside."""
    the_set, before = any_set(), 3
    # The shortest input that the requirements allow.
    bytes_, marks = symbolic("x", before + WIDTH + 2), [Bool(f"unmarked_{i}") for i in range(WIDTH)]
    lengths = Int(before, "usize"), Int(before + WIDTH, "usize")
    new = {"new": lambda given: Array([Within(*map(source, ALL)).call("table", table) for table in given.fields["pairs"]])}

    def make(decisions):
        machine = WithMarks(*map(source, ALL), decisions=decisions, replaced=new, marks=marks)
        return machine, machine.run("first_in", Slice(bytes_), the_set, *lengths)

    count = 0
    for machine, found in paths(make, [], lambda conditions: True):
        here, count = And(*machine.conditions), count + 1
        for i in EDGES if count == 1 else ():
            begins = is_found(the_set, bytes_[before + i:before + i + 3])
            report.prove(f"first_in: every character of the set that begins at {i} is reported", Implies(has(the_set, bytes_[before + i:before + i + 3]), begins))
            report.prove(f"first_in: lane {i} is marked exactly then", Not(z3_bool(machine.computed[i])) == begins)
        if found is None:
            assert machine.number(machine.scope["at"]) == before + WIDTH
            report.prove("first_in: goes on without a mark", Implies(here, And(*marks)))
            continue
        claims = [(found.value.bits() == before + i) == And(Not(marks[i]), *marks[:i]) for i in range(WIDTH)]
        report.prove("first_in: returns the first mark", Implies(here, And(*claims)))
    assert count == 2
    # The loop takes all vectors of its range.
    machine = Within(*map(source, ALL), presets={"at": lengths[1]}, starts=["at"], replaced=new)
    assert not machine.run("first_in", Slice(bytes_), the_set, *lengths).is_some


def prove_step(report):
    """A step validates a vector with the bytes before it, and looks up each of its bytes with the byte before it."""
    the_set, bytes_, marks, found = any_set(), symbolic("x", 3 + WIDTH), symbolic("m", WIDTH), symbolic("f", WIDTH)
    for four in (False, True):
        calls = []

        def or_marks(*given, name):
            calls.append((name, *given))
            return marks

        machine = Within(
            *map(source, ALL),
            replaced={name: lambda *given, name=name: or_marks(*given, name=name) for name in ("or_marks", "or_marks_in_bmp")},
        )
        pairs = Array([machine.call("table", table) for table in the_set.fields["pairs"]])
        result = machine.call(
            "after", pairs, Slice(bytes_), Int(3, "usize"), this=Struct({"marks": marks, "found": found}), constants=[four],
        )
        ((name, before, x, earlier),) = calls
        assert name == ("or_marks" if four else "or_marks_in_bmp") and len(earlier) == (3 if four else 2)
        title = "a step" if four else "a step without sequences of 4"
        report.prove(f"{title}: the formula has the vector and the bytes before", And(
            join(before) == join(marks), join(x) == join(bytes_[3:]),
            *(join(lanes) == join(bytes_[3 - by:3 - by + WIDTH]) for by, lanes in enumerate(earlier, 1)),
        ))
        definition = machine.call("find", bytes_[2:2 + WIDTH], bytes_[3:], this=pairs)
        report.prove(f"{title}: each byte is looked up with the byte before it", And(*(
            result.fields["found"][i] == found[i] | definition[i] for i in range(WIDTH)
        )))
    for four in (False, True):
        at, groups, read = 4, 3, []
        machine = Within(*map(source, ALL), constants={"WIDTH": Int(WIDTH, "usize")}, replaced={
            "after": lambda step, pairs, bytes_, at: read.append(at) or step, "prefetch": lambda *_: None,
        })
        begin = Struct({"marks": marks, "found": found})
        machine.call("groups_at", None, Slice(symbolic("x", at + groups * GROUP)), Int(at, "usize"), Int(groups, "usize"), begin, constants=[four])
        is_all = [machine.number(it) for it in read] == list(range(at, at + groups * GROUP, WIDTH))
        report.prove(f"groups_at reads every vector once, {four}", z3_bool(is_all))


class Pass:
    """The calls of `text_without`, whose functions are replaced by what is proved about them."""

    def __init__(self, bytes_, kind="Empty"):
        self.kind, self.reported = kind, []
        self.bytes_, self.validated, self.searched, self.calls, self.facts, self.count = bytes_, 0, 0, [], [], 0

    def new_bool(self, name):
        self.count += 1
        return Bool(f"{name}_{self.count}")

    def validate(self, first, end):
        assert first <= self.validated, f"the bytes from {self.validated} to {first} are not validated"
        self.validated = max(self.validated, end)

    def search(self, first, end):
        assert first <= self.searched, f"the bytes from {self.searched} to {first} are not searched"
        self.searched = max(self.searched, end)

    def functions(self, machine):
        def or_marks_at(_, bytes_, at):
            self.validate(Library.number(at), Library.number(at) + WIDTH)
            return Marks(self.new_bool("marked"))

        def or_marks(_, x, before):
            assert before == "start" and x.at == 0
            self.validate(0, WIDTH)
            return Marks(self.new_bool("marked"))

        def first_in(bytes_, the_set, first, end):
            first, end = Library.number(first), Library.number(end)
            assert end + 1 < len(self.bytes_) and (end - first) % WIDTH == 0, "the requirements of first_in"
            if machine().decide(self.new_bool("has_character")):
                self.reported.append(first)
                return Option(Int(first, "usize"), True)
            self.search(first, end)
            return Option()

        def segment_at(_, bytes_, at, groups, four):
            at, groups = Library.number(at), Library.number(groups)
            end = at + groups * GROUP
            assert at >= 4 and groups > 0 and end < len(self.bytes_), "the requirements of segment_at"
            marked, found = self.new_bool("marked"), self.new_bool("found")
            here = And(*machine().conditions, *self.facts)
            self.calls.append((here, at, z3_bool(four)))
            # What the formula without sequences of 4 bytes proves: no byte before another one is their lead byte.
            self.facts.append(Implies(And(Not(marked), Not(z3_bool(four))), And(*(ULT(x, 0xF0) for x in self.bytes_[at - 1:end - 1]))))
            return Marks(marked), Found(found, at, end, self)

        def after_ascii(bytes_, the_set, at):
            at, end = Library.number(at), len(self.bytes_)
            assert at >= 1 and at + WIDTH <= end, "the requirements of after_ascii"
            assert KINDS[machine().mode] == self.kind, "the mode of another kind"
            for after in (end, min(at + WIDTH, end)):
                if machine().decide(self.new_bool("is_ascii")):
                    self.validate(at, after)
                    self.search(at - 1, after)
                    self.facts += [ULT(x, 0x80) for x in self.bytes_[at - 1:after]]
                    return Int(after, "usize")
            return Int(at, "usize")

        def carry_at(bytes_, at):
            at = Library.number(at)
            return Int(join(self.bytes_[at - 4:at]), "u32")

        def load_at(bytes_, at):
            assert Library.number(at) + WIDTH <= len(self.bytes_)
            return Loaded(Library.number(at))

        return {
            "or_marks_at": or_marks_at, "first_in": first_in, "segment_at": segment_at, "after_ascii": after_ascii, "carry_at": carry_at,
            "load_at": load_at, "or_marks": or_marks, "shifted_after": lambda *_: "start", "is_ascii": lambda at: self.new_bool("ascii"),
            "is_zero": lambda found: found.is_zero(machine()), "ascii": lambda the_set: Variant(self.kind, {"first": 0, "last": 0} if "Edges" in self.kind else []), "new": lambda the_set: None,
        }


class Found:
    """What a segment found, which is searched if it is not zero. If it is zero, no character is in it."""

    def __init__(self, has_found, at, end, of):
        self.has_found, self.at, self.end, self.of = has_found, at, end, of

    def is_zero(self, machine):
        # It is only called if the segment has no mark.
        self.of.validate(self.at, self.end)
        if machine.decide(self.has_found):
            return False
        self.of.search(self.at - 1, self.end - 1)
        return True


def run_pass(bytes_, searched, presets, pointer=0, kind="Empty"):
    """Each path through the start of `text_without`, or through an iteration of its loop from a state."""
    def make(decisions):
        found = Pass(bytes_, kind)
        found.validated, found.searched = searched
        machine = Within(*map(source, ALL), decisions=decisions, presets=presets, starts=presets, pointer=pointer, replaced=found.functions(lambda: machine))
        result = machine.run("text_without", Slice(bytes_), any_set())
        if result is not None:
            # All bytes, none, or those before a character that `first_in` found or before the last one.
            index, at = machine.number(result), machine.scope["at"] if machine.scope and "at" in machine.scope else 0
            assert index in (0, len(bytes_), *found.reported) or index < machine.number(at) <= found.validated, "returns another index"
        return machine, found, result

    return paths(make, [], lambda conditions: True)


def has_no_lead(bytes_, at):
    """Neither of the bytes 2 and 3 before an index is a lead byte of 4 bytes, or one that text cannot have."""
    return And(*(ULT(x, 0xF0) for x in bytes_[at - 3:at - 1]))


# The addresses of the input modulo a vector, for which the first segment starts at 32, 31, 4, 35, 34 and 33.
POINTERS = [0, 1, 28, 29, 30, 31]


def prove_start(report, pointer):
    """The same from the start of the text."""
    bytes_ = symbolic("x", 2 * WIDTH + GROUP + 2)
    for machine, of, result in run_pass(bytes_, (0, 0), {}, pointer, KINDS[pointer % 4]):
        check_calls(report, f"text_without, the address {pointer}", of, BoolVal(True))
        if result is None:
            check_end(report, f"text_without, the address {pointer}", machine, of, BoolVal(True))


def prove_short(report):
    """Text of fewer than two vectors is left to the caller, and no other text."""
    for length in (0, WIDTH, 2 * WIDTH - 1, 2 * WIDTH):
        for machine, of, result in run_pass(symbolic("x", length), (0, 0), {}):
            is_right = of.validated >= WIDTH if length == 2 * WIDTH else machine.number(result) == 0 == of.validated
            report.prove(f"text_without, {length} bytes: none is read if there are fewer than two vectors", z3_bool(is_right))


def prove_segments(report):
    """`segment_at` is called with `has_four_bytes` if a sequence of 4 bytes may be unfinished, and no byte is left out."""
    carry = symbolic("c", 4)
    found = Within(source("state.rs")).call("has_lead_of_four", this=Int(join(carry), "u32"))
    report.prove("has_lead_of_four: exactly if one of the last 3 bytes is from F0 on", found == Or(*(UGE(x, 0xF0) for x in carry[1:])))
    four = Bool("has_four_bytes")
    for at in (4, 36):
        for rest in (GROUP + 1, 2 * GROUP, 2 * GROUP + 2, 4 * GROUP + 1):
            bytes_ = symbolic("x", at + rest)
            before = Or(four, has_no_lead(bytes_, at))
            presets = {"at": Int(at, "usize"), "segment": Int(2, "usize"), "has_four_bytes": four}
            # The bytes before `at` are validated, and searched except for the last one.
            for machine, of, result in run_pass(bytes_, (at, at - 1), presets):
                title = f"text_without, {rest} bytes from {at}"
                check_calls(report, title, of, before)
                if result is None:
                    check_end(report, title, machine, of, before)


def check_calls(report, title, of, before):
    for here, at, four in of.calls:
        is_right = Or(four, has_no_lead(of.bytes_, at))
        report.prove(f"{title}: no unfinished sequence of 4 bytes is forgotten at {at}", Implies(And(before, here), is_right))


def check_end(report, title, machine, of, before):
    """The state after an iteration is one that the next one may start from, or the bytes before `at` are returned."""
    at = machine.number(machine.scope["at"])
    assert of.validated >= at and of.searched >= at - 1, "bytes are left out"
    if getattr(machine, "broken", False):
        return
    assert machine.number(machine.scope["segment"]) > 0, "the next segment has no groups"
    four = z3_bool(machine.scope["has_four_bytes"])
    report.prove(f"{title}: the next iteration starts at {at} with all of them", Implies(And(before, *machine.conditions, *of.facts), Or(four, has_no_lead(of.bytes_, at))))


def prove_end(report):
    """The index that is returned is the start of the last character before `at`."""
    at, start = 2 * WIDTH, BitVec("start", 4)
    bytes_ = symbolic("x", at + 1)
    after, states = start, []
    for x in bytes_[at - 4:at]:
        after = step(after, x)
        states.append(after)
    premise = And(ULT(start, state(formulas.NEVER)), *(ULE(it, state(formulas.NEVER)) for it in states))
    presets = {"at": Int(at, "usize"), "has_four_bytes": False}

    def make(decisions):
        machine = Within(*map(source, ALL), decisions=decisions, presets=presets, starts=presets, skips_loop=True, replaced=Pass(bytes_).functions(lambda: machine))
        return machine, machine.run("text_without", Slice(bytes_), None)

    for machine, result in paths(make, [premise]):
        if result is None or (index := machine.number(result)) == 0:
            continue
        is_start = Or(ULT(bytes_[index], 0x80), UGE(bytes_[index], 0xC0)) if index < at else BoolVal(False)
        rest = And(*(And(UGE(x, 0x80), ULT(x, 0xC0)) for x in bytes_[index + 1:at]))
        title = f"text_without: {at - index} bytes before the end, the start of a character"
        report.prove(title, Implies(And(premise, *machine.conditions), And(is_start, rest)))


class AllLoops(Within):
    """A machine for all iterations of the loops. `load_at` is replaced by the index of a vector, which is inside the bytes."""

    def __init__(self, *sources, length, replaced, **options):
        def load_at(bytes_, at):
            at = Library.number(at)
            assert 0 <= at and at + WIDTH <= length, "a vector outside the bytes"
            return Loaded(at)

        super().__init__(*sources, replaced={"load_at": load_at, "prefetch": lambda *_: None, "new": lambda _: Loaded(None)} | replaced, **options)
        self.depth = 10


def covered(starts, conditions):
    """The conditions of the bytes of vectors."""
    return [conditions[at + i] for at in starts for i in range(WIDTH)]


def prove_after_ascii(report):
    """All bytes from the one before `at` to the index that is returned are clean, and it is the end exactly if all bytes are.

    `prefixes.py` proves that vectors are clean exactly if all of their bytes are.
    """
    for at, rest in ((1, WIDTH), (5, WIDTH + 1), (1, 2 * WIDTH - 1), (3, 2 * GROUP - 1), (1, 2 * GROUP), (3, 2 * GROUP + 1), (1, 4 * GROUP + WIDTH + 9)):
        length, bytes_ = at + rest, symbolic("x", at + rest)
        clean = [Bool(f"clean_{i}") for i in range(length)]

        def make(decisions):
            machine = AllLoops(*map(source, ALL), decisions=decisions, length=length, replaced={
                "NONE": list, "with": lambda _, seen, x: [*seen, x.at], "is_clean": lambda _, seen: And(*covered(seen, clean)),
            })
            return machine, machine.number(machine.call("after_ascii", Slice(bytes_), None, Int(at, "usize")))

        for count, (machine, found) in enumerate(paths(make, [], lambda conditions: True), 1):
            here, title = And(*machine.conditions), f"after_ascii, {rest} bytes from {at}, path {count}"
            assert at <= found <= length
            if found > at:
                report.prove(f"{title}: the bytes up to {found} are clean", Implies(here, And(*clean[at - 1:found])))
            report.prove(f"{title}: the end exactly if all are", Implies(here, And(*clean[at - 1:]) == z3_bool(found == length)))


def prove_first_of(report):
    """The first character of the set, in groups and in the rest. `prove_first_in` has what `first_in` returns."""
    for length in (0, 1, WIDTH, GROUP, GROUP + 1, GROUP + 2, 2 * GROUP + 1, 2 * GROUP + 2, 2 * GROUP + WIDTH):
        text = symbolic("x", length)
        # Where a pair of the set begins, and a character. After the end are zeros.
        pair = [Bool(f"pair_{i}") for i in range(length)]
        begins = [Bool(f"begins_{i}") for i in range(length + 2 * GROUP)]
        facts = [Implies(begins[i], pair[i]) for i in range(length)]

        def make(decisions):
            def first_in(bytes_, _, first, end):
                first, end = Library.number(first), Library.number(end)
                given = bytes_.memory if isinstance(bytes_, Slice) else list(bytes_)
                assert end + 1 < len(given) and (end - first) % WIDTH == 0, "the requirements of first_in"
                at = 0
                if given is not text:
                    rest = [x for x in given if is_bv(x) or isinstance(x, Int) and is_bv(x.value)]
                    at = length - len(rest)
                    same = [Library.number(x) == 0 for x in given[len(rest):]]
                    assert all(same) and all((x.value if isinstance(x, Int) else x).eq(y) for x, y in zip(given, text[at:])), "another rest"
                if not machine.decide(Or(*begins[at + first:at + end])):
                    return Option()
                # The index is any of these: it is only added to another one, and compared with the length.
                indexes = sorted({first, end - 1, length - 1 - at, length - at} & set(range(first, end)))
                index = next(i for i in indexes if i == indexes[-1] or machine.decide(Bool(f"is_{at}_{i}")))
                machine.facts = [begins[at + index], *(Not(it) for it in begins[at + first:at + index])]
                return Option(Int(index, "usize"), True)

            def find(_, first, second):
                assert second.at == first.at + 1, "other pairs"
                return [first.at]

            machine = AllLoops(*map(source, ALL), decisions=decisions, length=length, replaced={
                "find": find, "first_in": first_in, "_mm256_setzero_si256": list, "_mm256_or_si256": lambda a, b: a + b,
                "is_zero": lambda starts: machine.decide(Not(Or(*covered(starts, pair)))),
            })
            machine.facts = []
            return machine, machine.call("first_of", Slice(text), None)

        for count, (machine, found) in enumerate(paths(make, [], lambda conditions: True), 1):
            here, title = And(*machine.conditions, *facts, *machine.facts), f"first_of, {length} bytes, path {count}"
            inside = begins[:length]
            if not found.is_some:
                report.prove(f"{title}: no character of the set", Implies(here, Not(Or(*inside))))
                continue
            index = machine.number(found.value)
            assert index < length, "an index outside the text"
            report.prove(f"{title}: {index} is the first character of the set", Implies(here, And(begins[index], *(Not(it) for it in begins[:index]))))


def parts():
    return [
        *((prove_start, pointer) for pointer in POINTERS), (prove_short,), (prove_segments,), (prove_first_in,), (prove_step,), (prove_end,),
        (prove_after_ascii,), (prove_first_of,),
    ]


if __name__ == "__main__":
    run_parts(parts())
