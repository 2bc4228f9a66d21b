#!/usr/bin/env python3
"""Proves the formulas of the validation kernels against the grammar of RFC 3629, with an SMT solver.

The functions are read from the Rust sources (`rust.py`) and computed over symbolic bytes
(`model.py`), so that a change of the sources changes what is proved. docs/verification.md has the list of claims.
"""

import concurrent.futures
import os
import pathlib
import sys
import time

from z3 import And, BitVec, BitVecs, BitVecVal, BoolVal, Extract, If, Implies, Not, Or, SolverFor, UGE, ULE, ULT, sat, simplify, unsat

from model import Int, Machine, Slice, Struct, join
from rust import Source

ROOT = pathlib.Path(__file__).resolve().parent.parent / "src" / "kernels"

# The grammar of RFC 3629 section 4 as a state machine. `NEVER` is the state after C0, C1 or F5..=FF, which the formula
# marks one byte later; `BAD` is the state after a byte that text cannot contain at this position.
BOUNDARY, TAIL_1, TAIL_2, TAIL_3, AFTER_E0, AFTER_ED, AFTER_F0, AFTER_F4, NEVER, BAD = range(10)


def state(number):
    return BitVecVal(number, 4)


def within(x, first, last):
    return And(ULE(BitVecVal(first, 8), x), ULE(x, BitVecVal(last, 8)))


def choose(otherwise, *cases):
    found = otherwise
    for condition, value in reversed(cases):
        found = If(condition, value, found)
    return found


def step(before, x):
    """Returns the state after one more byte."""

    def tail(first, last, then):
        return If(within(x, first, last), state(then), state(BAD))

    lead = choose(
        state(BAD),
        (within(x, 0x00, 0x7F), state(BOUNDARY)),
        (within(x, 0xC2, 0xDF), state(TAIL_1)),
        (x == 0xE0, state(AFTER_E0)),
        (x == 0xED, state(AFTER_ED)),
        (within(x, 0xE1, 0xEF), state(TAIL_2)),
        (x == 0xF0, state(AFTER_F0)),
        (within(x, 0xF1, 0xF3), state(TAIL_3)),
        (x == 0xF4, state(AFTER_F4)),
        (Or(within(x, 0xC0, 0xC1), within(x, 0xF5, 0xFF)), state(NEVER)),
    )
    return choose(
        state(BAD),
        (before == BOUNDARY, lead),
        (before == TAIL_1, tail(0x80, 0xBF, BOUNDARY)),
        (before == TAIL_2, tail(0x80, 0xBF, TAIL_1)),
        (before == TAIL_3, tail(0x80, 0xBF, TAIL_2)),
        (before == AFTER_E0, tail(0xA0, 0xBF, TAIL_1)),
        (before == AFTER_ED, tail(0x80, 0x9F, TAIL_1)),
        (before == AFTER_F0, tail(0x90, 0xBF, TAIL_2)),
        (before == AFTER_F4, tail(0x80, 0x8F, TAIL_2)),
    )


def is_good(found):
    return ULE(found, state(NEVER))


class Failed(Exception):
    pass


class Report:
    def __init__(self):
        self.count, self.started = 0, time.monotonic()

    def prove(self, name, claim):
        start = time.monotonic()
        solver = SolverFor("QF_BV")
        solver.add(Not(claim))
        found = solver.check()
        print(f"  {name}: {'proved' if found == unsat else found}, {time.monotonic() - start:.1f} s", flush=True)
        if found != unsat:
            raise Failed(f"{name}: {solver.model() if found == sat else found}")
        self.count += 1


class Kernel:
    """One implementation of `Vector`, read from its source."""

    def __init__(self, name, path, length):
        self.name, self.length = name, length
        shared = [] if length > 32 else [Source(ROOT / "arch/vector/short.rs")]
        self.machine = Machine(Source(ROOT / path), *shared, Source(ROOT / "formula.rs"))
        self.machine.constants["Self::LEN"] = Int(length, "usize")

    def vector(self, function, *arguments, this=None):
        return self.machine.call(function, *arguments, this=this)

    def zero(self):
        return self.wrapped([BitVecVal(0, 8)] * self.length)

    def wrapped(self, lanes):
        """A value of the type that implements `Vector`."""
        return self.vector("new", lanes) if self.name == "simd128" else lanes

    def shifted(self, function, before, x):
        """The three vectors of the bytes before each byte."""
        before = self.wrapped(before) if isinstance(before, list) else before
        return self.vector(function, before, this=self.wrapped(x))

    def any_marks(self):
        """The marks of other vectors."""
        marks = self.zero()
        if not isinstance(marks, Struct):
            return [BitVec(f"mark_{i}", 8) for i in range(self.length)]
        return Struct({name: [BitVec(f"{name}_{i}", 8) for i in range(self.length)] for name in marks.fields})

    def marks(self, x, p, in_bmp=False, earlier=None):
        """Whether each lane is marked."""
        p = [self.wrapped(lanes) if isinstance(lanes, list) else lanes for lanes in (p[:2] if in_bmp else p)]
        function, this = "or_marks_in_bmp" if in_bmp else "or_marks", self.zero() if earlier is None else earlier
        return self.are_marked(self.vector(function, self.wrapped(x), p, this=this))

    def are_marked(self, found):
        if isinstance(found, Struct):
            found = self.vector("marks", this=found)
        return [is_marked(self.name, lane) for lane in found]


def is_marked(name, lane):
    # AVX2 and simd128 test a lane for zero, the others test bit 7.
    return lane != 0 if name in ("avx2", "simd128") else Extract(7, 7, lane) == 1


def lanes_of(vector):
    return vector.fields["bytes"] if isinstance(vector, Struct) else vector


KERNELS = [
    ("avx512", "arch/x86_64/avx512/mod.rs", 64),
    ("avx2", "arch/x86_64/avx2/mod.rs", 32),
    ("neon", "arch/aarch64/neon.rs", 16),
    ("simd128", "arch/wasm32/simd128.rs", 16),
]


def prove_one_byte(report):
    """The formula for one byte, and the functions of the carry."""
    p3, p2, p1, x = BitVecs("p3 p2 p1 x", 8)
    before, other = BitVecs("before other", 4)

    def after(start):
        return step(step(step(start, p3), p2), p1)

    here = And(is_good(before), is_good(after(before)))
    formula = Machine(Source(ROOT / "formula.rs"))
    carry = Int(join([BitVecVal(0, 8), p3, p2, p1]), "u32")
    marked = formula.call("is_ill_formed", carry, Int(x, "u8"))
    report.prove("is_ill_formed(carry, x) exactly if the grammar rejects x", Implies(here, marked == (step(after(before), x) == BAD)))
    report.prove(
        "ends_well_formed exactly if the grammar accepts x",
        Implies(
            here,
            formula.call("ends_well_formed", Int(join([p3, p2, p1, x]), "u32"))
            == And(step(after(before), x) != BAD, step(after(before), x) != NEVER),
        ),
    )
    report.prove(
        "is_never_a_lead exactly after C0, C1, F5..=FF",
        Implies(here, formula.call("is_never_a_lead", Int(p1, "u8")) == (after(before) == NEVER)),
    )
    report.prove(
        "the last 3 bytes decide the state",
        Implies(And(here, is_good(other), is_good(after(other))), after(before) == after(other)),
    )
    report.prove("3 zero bytes are the start of a stream", Implies(And(p1 == 0, p2 == 0, p3 == 0, here), after(before) == BOUNDARY))
    report.prove("a zero byte is rejected exactly in an unfinished sequence", Implies(here, (step(after(before), BitVecVal(0, 8)) == BAD) == (after(before) != BOUNDARY)))


def prove_lanes(report, kernel):
    """Proves one lane, with any bytes in the others: data flows between the lanes of a formula only in `shifted`."""
    n = kernel.length
    p3, p2, p1, x = ([BitVec(f"{name}{i}", 8) for i in range(n)] for name in ("p3_", "p2_", "p1_", "x_"))
    before = BitVec("before", 4)
    whole, in_bmp = kernel.marks(x, [p1, p2, p3]), kernel.marks(x, [p1, p2], in_bmp=True)
    earlier = kernel.any_marks()
    marked = kernel.are_marked(earlier)
    added = [(whole, kernel.marks(x, [p1, p2, p3], earlier=earlier)), (in_bmp, kernel.marks(x, [p1, p2], in_bmp=True, earlier=earlier))]
    for i in (range(n) if n <= 16 else (0, 1, n // 2 - 1, n // 2, n - 1)):
        report.prove(f"lane {i}: marks of earlier vectors are kept", And(*(both[i] == Or(marked[i], new[i]) for new, both in added)))
        after = step(step(step(before, p3[i]), p2[i]), p1[i])
        here = And(is_good(before), is_good(after))
        report.prove(f"lane {i}: marked exactly if the grammar rejects the byte", Implies(here, whole[i] == (step(after, x[i]) == BAD)))
        report.prove(
            f"lane {i}: without sequences of 4, the same, and every byte after a lead of 4 is marked",
            Implies(And(here, ULT(p2[i], BitVecVal(0xF0, 8)), ULT(p3[i], BitVecVal(0xF0, 8))), in_bmp[i] == Or(whole[i], UGE(p1[i], BitVecVal(0xF0, 8)))),
        )


def prove_movement(report, kernel):
    """Proves that `shifted` and `load_rest` only move bytes."""
    n = kernel.length
    x, before = [BitVec(f"x{i}", 8) for i in range(n)], [BitVec(f"b{i}", 8) for i in range(n)]
    moved = [lanes_of(lanes) for lanes in kernel.shifted("shifted", before, x)]
    report.prove(
        "shifted moves in the last bytes of the vector before",
        And(*(join(moved[k - 1]) == join((before + x)[n - k:2 * n - k]) for k in (1, 2, 3))),
    )
    claims = []
    for length in range(4, 3 * n):
        chunk = [BitVec(f"c{i}", 8) for i in range(length)]
        for at in sorted({0, length - n, length - n + 1, length - n // 2, length - 1, length}):
            if 0 <= at and (at == 0 or length >= n) and length - at <= n:
                found = lanes_of(kernel.vector("load_rest", Slice(chunk), Int(at, "usize")))
                expected = (chunk[at:] + [BitVecVal(0, 8)] * n)[:n]
                claims.append(simplify(join(found) == join(expected)))
    report.prove(f"load_rest reads the chunk and zeros, and nothing outside ({len(claims)} lengths and positions)", And(*claims))
    if kernel.name != "avx2":
        return
    claims = []
    for length in range(4, n + 1):
        chunk = [BitVec(f"c{i}", 8) for i in range(length)]
        found = lanes_of(kernel.vector("load_whole", Slice(chunk)))
        claims.append(simplify(join(found) == join(chunk + [BitVecVal(0, 8)] * (n - length))))
    report.prove(f"load_whole reads the chunk and zeros, and nothing outside ({len(claims)} lengths)", And(*claims))


def prove_vector(report, kernel):
    """Proves a whole vector after any well-formed stream, with a symbolic carry."""
    length = kernel.length
    history = [BitVec(f"h{i}", 8) for i in range(4)]
    x = [BitVec(f"x{i}", 8) for i in range(length)]
    start = BitVec("start", 4)
    found = start
    here = [is_good(start)]
    for past in history:
        found = step(found, past)
    here.append(is_good(found))
    carry = Int(join(history), "u32")
    shifted = kernel.shifted("shifted_after", carry, x)
    for in_bmp in (False, True):
        marks = kernel.marks(x, shifted, in_bmp)
        claims, so_far, current = [], BoolVal(True), found
        for i in range(length):
            after = step(current, x[i])
            if in_bmp:
                # If no 4-byte lead precedes, the marks are those of the grammar up to the first such lead. The byte after it is marked.
                lead_before = UGE(history[-1], BitVecVal(0xF0, 8)) if i == 0 else UGE(x[i - 1], BitVecVal(0xF0, 8))
                claims.append(Implies(so_far, marks[i] == Or(after == BAD, lead_before)))
            else:
                claims.append(Implies(so_far, marks[i] == (after == BAD)))
            so_far, current = And(so_far, Not(marks[i])), after
        conditions = list(here)
        if in_bmp:
            conditions += [ULT(past, BitVecVal(0xF0, 8)) for past in history[-3:-1]]
        report.prove(
            f"{length} bytes after any stream: the first mark is the first byte that the grammar rejects"
            + (" (without sequences of 4)" if in_bmp else ""),
            Implies(And(*conditions), And(*claims)),
        )


def prove_formula(report):
    print("formula.rs")
    prove_one_byte(report)


def prove_kernel(report, prove, name, path, length):
    print(f"{name}: {path}")
    prove(report, Kernel(name, path, length))


def kernel_parts(*kernel):
    return [(prove_kernel, prove, *kernel) for prove in (prove_lanes, prove_movement, prove_vector)]


def run_part(prove, arguments):
    """The number of claims proved, and the claim that is not."""
    report = Report()
    try:
        prove(report, *arguments)
    except Failed as failed:
        return report.count, str(failed)
    return report.count, None


def run_parts(parts):
    """Runs functions with their arguments, each in a process, and exits if a claim is not proved."""
    started, count = time.monotonic(), 0
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run_part, prove, arguments) for prove, *arguments in parts]):
            proved, failed = done.result()
            if failed is not None:
                pool.shutdown(wait=False, cancel_futures=True)
                sys.exit(f"NOT PROVED: {failed}")
            count += proved
    print(f"{count} claims proved in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    run_parts([(prove_formula,), *(part for kernel in KERNELS for part in kernel_parts(*kernel))])
