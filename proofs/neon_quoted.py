#!/usr/bin/env python3
"""Proves the NEON decoder of quoted-printable against RFC 2045 section 6.7.

The claims are those of `avx2_transfer.py`, and the segments those of `transfer.py`. docs/verification.md has the list of claims.
"""

from avx2_transfer import prove_quoted_bytes, prove_quoted_end
from compressed import prove_tables
from formulas import run_parts
from neon_machine import AARCH64, BLOCKS, KEPT, Neon, prove_bits, prove_store_kept, replace_store_kept, slots_of_block, sources

QUOTED = [f"{AARCH64}quoted.rs", f"{AARCH64}lookup.rs", BLOCKS, "arch/portable/quoted.rs", "functions.rs"]


class Quoted(Neon):
    """A machine that has `store_kept` as its proof describes it."""

    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        replace_store_kept(self)


def prove_bytes(report):
    prove_quoted_bytes(report, Quoted, QUOTED, slots_of_block)


def prove_end(report):
    prove_quoted_end(report, Quoted, QUOTED)


def prove_kept_table(report):
    prove_tables(report, sources(KEPT))


PARTS = {"blocks": [(prove_bits,), (prove_store_kept,), (prove_kept_table,)], "quoted": [(prove_bytes,), (prove_end,)]}


if __name__ == "__main__":
    run_parts([part for parts in PARTS.values() for part in parts])
