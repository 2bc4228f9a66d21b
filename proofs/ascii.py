#!/usr/bin/env python3
"""Proves `ascii_len` of every kernel, and the function that calls it (`kernels/count.rs`).

The loop is that of `arch/vector/large.rs`, with the vectors of the kernel. docs/verification.md has the list of claims.
"""

from z3 import And, Bool, Extract, Implies, Not, ULT

from avx2_searches import Counts, sources, symbolic
from formulas import run_parts
from model import Int, Pointer, Slice, Struct
from neon_machine import Neon
from paths import paths
from vectors import Mask, VECTORS, boolean

LARGE, VECTOR = "arch/vector/large.rs", "arch/vector/mod.rs"
# The files of each kernel, and the number of bytes of a group.
KERNELS = {
    "avx512": (["arch/x86_64/avx512/count.rs", "arch/x86_64/avx512/mod.rs"], 256),
    "avx2": (["arch/x86_64/avx2/count.rs", "arch/x86_64/avx2/mod.rs"], 128),
    "neon": (["arch/aarch64/neon.rs"], 128),
    "simd128": (["arch/wasm32/simd128.rs"], 256),
    "portable": (["arch/portable/count.rs", "functions.rs"], 256),
}
COUNT, LONGEST_GROUP, ALIGNMENT = "count.rs", 512, 64

VECTORS["u8x16_bitmask"] = lambda a: Mask([boolean(Extract(7, 7, lane) == 1) for lane in a], "u16")


def are_ascii(bytes_):
    return And(*(ULT(byte, 0x80) for byte in bytes_))


class Generic(Neon):
    """A machine for a function that is generic over the vector `V`."""

    def __init__(self, *given, **options):
        super().__init__(*given, is_real=True, **options)
        self.loads = 0

    def call(self, name, *arguments, this=None, constants=()):
        self.loads += name == "load"
        assert self.loads < 100, "a loop does not end"
        # The vectors have a method `is_ascii`, and the kernel has an `ascii_len` that calls this one.
        is_shared = this is None and self.depth > 1
        before, self.sources = self.sources, sorted(self.sources, key=lambda source: (source.path.name == "large.rs") != is_shared)
        try:
            return super().call(name, *arguments, this=this, constants=constants)
        finally:
            self.sources = before

    def on_call(self, names, function, arguments):
        kind, name, constants = function
        last = name.rpartition("::")[2]
        if last == "prefetches_ascii":
            return Bool("prefetches_ascii")
        if last == "prefetch":
            return None
        if name.startswith("V::") or last == "ascii_len":
            name = last
        return super().on_call(names, (kind, name, [it for it in constants if it in ("true", "false")]), arguments)

    def on_method(self, names, value, name, constants, arguments):
        value = self.evaluate(value, names)
        if name in ("or", "is_ascii") and isinstance(value, list):
            return self.call(name, *(self.evaluate(argument, names) for argument in arguments), this=value)
        return super().on_method(names, ("value", value), name, constants, arguments)


class Portable(Counts):
    """A machine for the loop of the portable kernel."""

    def on_method(self, names, value, name, constants, arguments):
        value = self.evaluate(value, names)
        match name, value:
            case "iter", list():
                return value
            case "take_while", list():
                is_taken, found = self.evaluate(arguments[0], names), []
                for element in value:
                    if not self.decide(is_taken(element)):
                        break
                    found.append(element)
                return found
            case "count", list():
                return Int(len(value), "usize")
        return super().on_method(names, ("value", value), name, constants, arguments)


def prove_groups(report, kernel):
    """The groups before the first byte that is not ASCII, for each number of groups up to 2 and one byte more or less."""
    files, group = KERNELS[kernel]
    machine_of = Portable if kernel == "portable" else Generic
    for length in (0, group - 1, group, group + 1, 2 * group - 1, 2 * group, 2 * group + 1):
        x, results = symbolic("x", length), set()

        def make(decisions):
            machine = machine_of(*sources(*files, LARGE, VECTOR), decisions=decisions)
            return machine, machine.run("ascii_len", Slice(x))

        for machine, found in paths(make, [], lambda conditions: True):
            found, here = machine.number(found), And(*machine.conditions)
            results.add(found)
            prove_length(report, f"ascii_len, {kernel}, {found} of {length} bytes", here, x, found, group)
        assert results == set(range(0, length + 1, group))


def prove_iteration(report, kernel):
    """The same from any index: what follows a group starts after it."""
    files, group = KERNELS[kernel]
    for at, length in ((3, group), (3, group - 1), (group, group)):
        x = symbolic("x", at + length)

        def make(decisions):
            machine = Generic(*sources(*files, LARGE, VECTOR), decisions=decisions)
            return machine, machine.run("skip_ascii", Slice(x), Int(at, "usize"))

        for machine, found in paths(make, [], lambda conditions: True):
            found, here = machine.number(found), And(*machine.conditions)
            assert found in (at, at + group)
            prove_length(report, f"ascii_len, {kernel}, {found - at} of {length} bytes from {at}", here, x[at:], found - at, group)


def prove_length(report, title, here, x, found, group):
    report.prove(f"{title}: they are ASCII", Implies(here, are_ascii(x[:found])))
    if found + group <= len(x):
        report.prove(f"{title}: stops only at a group with another byte", Implies(here, Not(are_ascii(x[found:found + group]))))


class Aligned(Counts):
    """A machine for the function that calls `ascii_len` of a kernel. `pointer` is the address of the bytes."""

    def __init__(self, *given, pointer, **options):
        super().__init__(*given, **options)
        self.pointer = pointer

    def on_method(self, names, value, name, constants, arguments):
        value = self.evaluate(value, names)
        match name, value:
            case "is_ascii", Slice():
                return are_ascii(value.memory)
            case "align_offset", Pointer():
                of = self.number(self.evaluate(arguments[0], names))
                return Int(-(self.pointer + value.at) % of, "usize")
        return super().on_method(names, ("value", value), name, constants, arguments)


def prove_caller(report):
    """All bytes before the result are ASCII, and the ASCII after it is shorter than the longest group, if the kernel's are."""
    for length, pointer in ((0, 0), (3, 1), (1023, 1), (1024, 0), (1024, 1), (1024, 63), (1100, 32)):
        x = symbolic("x", length)

        def make(decisions):
            facts = []

            def ascii_len(_, given):
                bytes_ = given.memory
                ends = range(0, len(bytes_) + 1, 256)
                end = next(end for end in ends if end == ends[-1] or machine.decide(Bool(f"is_{end}")))
                facts.append(are_ascii(bytes_[:end]))
                if end + LONGEST_GROUP <= len(bytes_):
                    facts.append(Not(are_ascii(bytes_[end:end + LONGEST_GROUP])))
                starts = length - len(bytes_)
                assert length < 1024 or (pointer + starts) % ALIGNMENT == 0, "long bytes are not aligned"
                return Int(end, "usize")

            machine = Aligned(*sources(COUNT), pointer=pointer, decisions=decisions, replaced={"ascii_len": ascii_len})
            found = machine.run("ascii_len_by", Struct({}), Slice(x))
            return machine, facts, found

        for count, (machine, facts, found) in enumerate(paths(make, [], lambda conditions: True), 1):
            found, here = machine.number(found), And(*machine.conditions, *facts)
            title = f"count::ascii_len, {found} of {length} bytes at {pointer}, path {count}"
            report.prove(f"{title}: they are ASCII", Implies(here, are_ascii(x[:found])))
            after = x[found:found + LONGEST_GROUP]
            if after:
                report.prove(f"{title}: the ASCII after them is shorter than a group", Implies(here, Not(are_ascii(after))))


PARTS = {kernel: [(prove_groups, kernel), *([(prove_iteration, kernel)] if kernel != "portable" else [])] for kernel in KERNELS}
PARTS["count"] = [(prove_caller,)]


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
