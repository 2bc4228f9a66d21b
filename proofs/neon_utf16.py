#!/usr/bin/env python3
"""Proves the NEON conversions between UTF-8 and UTF-16: one iteration of each loop, on every path through it.

An iteration starts inside the input and the output, which have the shortest length that it needs. What it writes is compared with
the definitions of `conversions.py`. The loops over ASCII have other proofs. docs/verification.md has the list of claims.
"""

from z3 import And, BitVecVal, Implies, Or

from avx2_conversions import READ, STATE, WRITTEN, Utf16, all_paths, premises_about, prove_end, prove_from_units, prove_masks, prove_text_end
from compressed import prove_tables, slots_of, sum_of, sum_of_total
from conversions import Encoded, pair_to_utf8, utf16_unit
from formulas import BOUNDARY, run_parts, state
from model import Int, Slice, join
from neon_machine import AARCH64, COMPRESS, CONVERT, Neon, SHUFFLES, WIDTH, prove_any, prove_sums, sources, symbolic
from vectors import Output, Text, Total, z3_bool

SHARED = [name.removesuffix(".rs") for name in (COMPRESS, CONVERT, SHUFFLES)]
UTF16, TO_UTF16 = ([AARCH64 + name, *SHARED] for name in ("utf16", "to_utf16"))
# 16 units of 3 bytes, and the rest of the last store.
ROOM = 3 * WIDTH + 4
BOTH = (False, True)
# Any vector before the end.
BEFORE = {"before": symbolic("b", WIDTH)}


def prove_table(report):
    prove_tables(report, sources(SHUFFLES))


def name_of(is_big_endian):
    return "BE" if is_big_endian else "LE"


# UTF-16 to UTF-8.


def prove_decode(report, is_big_endian):
    expected = Utf16(is_big_endian, pair_to_utf8, WIDTH)
    title = f"UTF-16{name_of(is_big_endian)} to UTF-8"
    prove_from_units(
        report, title, UTF16, "decode", [is_big_endian], 2, WIDTH, ROOM, expected,
        lanes=range(WIDTH), kernel=Neon, replaced={"decode_ascii": lambda *_: Int(0, "usize")},
    )
    prove_end(report, title, UTF16, "decode", [is_big_endian], 2 * WIDTH, ROOM, kernel=Neon)


def prove_decode_rest(report, is_big_endian):
    """`decode_ascii` is called for what follows 16 units of ASCII, and what it converts is counted."""
    x, more, calls = symbolic("x", READ + 2 * WIDTH + 12), 5, []

    def decode_ascii(given, output):
        calls.append((given, output))
        return Int(more, "usize")

    for machine, output, result in all_paths(
        UTF16, "decode", lambda: (Slice(x), Output(WRITTEN + ROOM)), generics=[is_big_endian], presets=STATE, kernel=Neon,
        replaced={"decode_ascii": decode_ascii},
    ):
        if not calls:
            continue
        ((given, part),) = calls
        calls.clear()
        is_rest = len(given.memory) == 12 and all(a.eq(b) for a, b in zip(given.memory, x[READ + 2 * WIDTH:]))
        is_rest = is_rest and part.output is output and sum_of_total(part.at) == (WRITTEN + WIDTH, {})
        state_ = [machine.number(machine.scope[name]) for name in ("read", "written")]
        is_right = is_rest and result is None and state_ == [READ + 2 * WIDTH + 2 * more, WRITTEN + WIDTH + more]
        report.prove(f"UTF-16{name_of(is_big_endian)} to UTF-8: ASCII that follows is converted", z3_bool(is_right))
        return
    raise AssertionError("`decode_ascii` is not called")


# UTF-8 to UTF-16 or UTF-32.


def prove_text(report, title, files, generics, unit_bytes, expected, has_pairs, at):
    """A vector of text: the last byte of each sequence, and the third one of 4 if it has pairs, has its unit."""
    rest = WIDTH + 1
    text, written = Encoded(at, rest), unit_bytes * at
    before, x = text.text[max(at - WIDTH, 0):at] or [BitVecVal(0, 8)] * WIDTH, text.text[at:at + WIDTH]
    presets = {"at": Int(at, "usize"), "written": Int(written, "usize"), "before": before}
    count = 0
    for count, (machine, output, result) in enumerate(all_paths(
        files, "encode", lambda: (Text(text.text), Output(unit_bytes * (at + rest))), generics=generics, presets=presets, kernel=Neon,
    ), 1):
        names, name = machine.scope, f"{title}, {rest} bytes at {at}, path {count}"
        assert result is None and machine.number(names["at"]) == at + WIDTH
        assert all(a.eq(b) for a, b in zip(names["before"], x, strict=True)), "another vector is before the next one"
        slots, terms = slots_of(machine, output, written)
        assert len(slots) == unit_bytes * WIDTH
        assert sum_of_total(Total.of(names["written"])) == sum_of(terms), "the length is not that of the units"
        prove_masks(report, name, machine, And(*machine.conditions))
        for lane in range(WIDTH):
            premises, here = text.premises(at + lane)
            third = text.is_third_of_four(at + lane) if has_pairs else z3_bool(False)
            given = And(*premises, premises_about(machine, text.text[max(at + lane - 4, 0):at + lane + 2]))
            unit = slots[unit_bytes * lane:unit_bytes * lane + unit_bytes]
            kept = z3_bool(unit[0][0])
            assert all(z3_bool(other).eq(kept) for other, _ in unit)
            is_right = Implies(kept, join([byte for _, byte in unit]) == join(expected(text, at + lane, third)))
            report.prove(f"{name}: byte {lane}", Implies(given, And(kept == Or(here == state(BOUNDARY), third), is_right)))
    assert count > 1


def prove_encode(report, is_big_endian):
    title = f"UTF-8 to UTF-16{name_of(is_big_endian)}"
    for at in (0, WIDTH):
        prove_text(report, title, TO_UTF16, [is_big_endian], 2, utf16_unit(is_big_endian), True, at)
    prove_text_end(report, title, TO_UTF16, [is_big_endian], 2, True, WIDTH, BEFORE, kernel=Neon)


PARTS = {
    "compress": [(prove_sums,), (prove_any,), (prove_table,)],
    "utf16": [(prove, order) for prove in (prove_decode, prove_decode_rest) for order in BOTH],
    "to_utf16": [(prove_encode, order) for order in BOTH],
}


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
