#!/usr/bin/env python3
"""Changes the sources one place at a time, in a copy, and checks that the proof or test of that source fails.

    proofs/mutate.py                 a part of the changes: for CI
    proofs/mutate.py --all           every change
    proofs/mutate.py --all avx2      only those of one group

Groups with an SMT proof: `formula`, `avx512`, `avx2`, `neon` and `simd128` of `formulas.py`, and those of `OTHERS`: the conversions
of AVX-512 (`utf16`, `utf32`, `latin`), `classes.py`, `searches.py`, `transfer.py`, `pairs.py`, `copies.py`, `units.py`, `prefixes.py`,
`within.py`, and the programs for AVX2 and NEON. Every number and every shift
that the proof reads from the Rust source is changed: the lowest and the highest set bit of a number, and `<<` to `>>`.

Group `grammar`: every bound of every row in `encoding/grammar.rs` and `encoding/dialects.rs` is changed by 1, up and down.
The tests are the unit tests of `encoding`, `proofs/tests/grammar.rs` and `four_bytes.rs`, and those of the transcoder for
the other encodings.

Prints a table, and fails if a change passes that is not in `EQUIVALENT`.
"""

import collections
import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import avx2_conversions
import avx2_latin
import avx2_pairs
import avx2_searches
import avx2_transfer
import avx2_units
import conversions
import classes
import copies
import formulas
import model
import neon_base64
import neon_copies
import neon_latin
import neon_pairs
import neon_quoted
import neon_units
import neon_utf16
import neon_utf32
import pairs
import prefixes
import rust
import searches
import transfer
import units
import within
from z3 import set_param

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
KERNELS = REPOSITORY / "src" / "kernels"
AVX512 = "arch/x86_64/avx512"
# The functions that prove a group, with their arguments, and the file whose numbers are changed.
OTHERS = {
    "utf16": (f"{AVX512}/utf16.rs", [*conversions.PARTS["utf16"], *copies.PARTS["avx512_ascii"]]),
    "utf32": (f"{AVX512}/utf32.rs", conversions.PARTS["utf32"]),
    "latin": (f"{AVX512}/latin.rs", [*conversions.PARTS["latin"], *units.parts()["latin"]]),
    "find_class": (f"{AVX512}/classes.rs", [
        (classes.prove_blocks, 65), (classes.prove_groups, 257, False), (classes.prove_ascii_without, classes.AVX512),
        (searches.prove_write,),
    ]),
    "find_class_avx2": ("arch/x86_64/avx2/classes.rs", [(classes.prove_avx2,)]),
    "subset": ("../subset.rs", [(classes.prove_presets,)]),
    "count": (f"{AVX512}/count.rs", [(searches.prove_count,), (searches.prove_count_ascii,)]),
    "positions": (f"{AVX512}/positions.rs", [(searches.prove_find_all,)]),
    "base64": (f"{AVX512}/base64.rs", [(prove,) for prove in transfer.PARTS["base64"]]),
    "quoted": (f"{AVX512}/quoted.rs", [(prove,) for prove in transfer.PARTS["quoted"]]),
    "avx2_base64": ("arch/x86_64/avx2/base64.rs", [(prove,) for prove in avx2_transfer.PARTS["base64"]]),
    "avx2_quoted": ("arch/x86_64/avx2/quoted.rs", [(prove,) for prove in avx2_transfer.PARTS["quoted"]]),
    "kept": ("arch/kept.rs", [(avx2_pairs.prove_join_table,)]),
    "avx2_join": ("arch/x86_64/avx2/pairs/join.rs", [
        *((avx2_pairs.prove_join_group, *kind) for kind in avx2_pairs.KINDS),
        (avx2_pairs.prove_join, False, False, 66, 64), (avx2_pairs.prove_join, True, False, 66, 64), (avx2_pairs.prove_join, True, False, 5, 4),
    ]),
    "avx2_split": ("arch/x86_64/avx2/pairs/split.rs", avx2_pairs.PARTS["split"]),
    "copy": (f"{AVX512}/copy.rs", copies.PARTS["avx512_copy"]),
    "avx2_copy": ("arch/x86_64/avx2/copy.rs", copies.PARTS["avx2_copy"]),
    "avx2_latin_encode": ("arch/x86_64/avx2/latin.rs", avx2_latin.PARTS),
    "avx2_count": ("arch/x86_64/avx2/count.rs", avx2_searches.PARTS["count"]),
    "portable_count": ("arch/portable/count.rs", avx2_searches.PARTS["count"]),
    "avx2_positions": ("arch/x86_64/avx2/positions.rs", avx2_searches.PARTS["positions"]),
    "portable_positions": ("arch/portable/positions.rs", avx2_searches.PARTS["positions"]),
    "portable_classes": ("arch/portable/classes.rs", avx2_searches.PARTS["classes"]),
    "avx2_units": ("arch/x86_64/avx2/units.rs", avx2_units.PARTS),
    "neon_units": ("arch/aarch64/units.rs", neon_units.PARTS),
    "neon_base64": ("arch/aarch64/base64.rs", neon_base64.PARTS),
    "neon_lookup": ("arch/aarch64/lookup.rs", [(neon_base64.prove_lookup,)]),
    "neon_sums": ("arch/aarch64/compress.rs", [*neon_latin.PARTS["compress"], (neon_latin.prove_decode_vector, True, True)]),
    "neon_latin": ("arch/aarch64/latin.rs", neon_latin.PARTS["latin"]),
    "neon_convert": ("arch/aarch64/convert.rs", neon_copies.PARTS["convert"]),
    "neon_encode_ascii": ("arch/aarch64/to_utf16.rs", neon_copies.PARTS["to_utf16"]),
    "neon_decode_ascii": ("arch/aarch64/utf16.rs", neon_copies.PARTS["utf16"]),
    "window": ("arch/portable/quoted.rs", [(transfer.prove_quoted_segment,)]),
    "pairs": (f"{AVX512}/pairs.rs", [(pairs.prove_join, False, False, 69), (pairs.prove_join, True, False, 69)]),
    "units": (f"{AVX512}/units.rs", units.parts()["units"]),
    "within": ("arch/x86_64/avx2/within.rs", [
        *within.parts(), (prefixes.prove_pairs,), *((prefixes.prove_ascii, kind) for kind in range(4)),
    ]),
    "prefixes": ("prefixes.rs", [(prefixes.prove_preset, name) for name in ("NO_CONTROLS", "NO_BIDI_CONTROLS", "MQTT_5_RECOMMENDED")]),
    "shuffles": ("arch/shuffles.rs", [(avx2_conversions.prove_table, avx2_conversions.SHUFFLES)]),
    **{
        f"avx2_{name.replace('/', '_')}": (f"arch/x86_64/avx2/{name}.rs", [*parts, *(copies.PARTS["avx2_ascii"] if name == "to_utf16" else [])])
        for name, parts in avx2_conversions.GROUPS.items()
    },
    "neon_compress": ("arch/aarch64/compress.rs", [*neon_utf16.PARTS["compress"], *neon_utf16.PARTS["to_utf16"]]),
    "neon_utf16": ("arch/aarch64/utf16.rs", neon_utf16.PARTS["utf16"]),
    "neon_utf32": ("arch/aarch64/utf32.rs", neon_utf32.PARTS["utf32"]),
    "neon_join": ("arch/aarch64/pairs/join.rs", neon_pairs.PARTS["join"]),
    "neon_split": ("arch/aarch64/pairs/split.rs", neon_pairs.PARTS["split"]),
    "neon_blocks": ("arch/aarch64/blocks.rs", [*neon_quoted.PARTS["blocks"], *neon_quoted.PARTS["quoted"]]),
    "neon_quoted": ("arch/aarch64/quoted.rs", neon_quoted.PARTS["quoted"]),
    "neon_to_utf16": ("arch/aarch64/to_utf16.rs", neon_utf16.PARTS["to_utf16"]),
}
SMT_GROUPS = ["formula", "avx512", "avx2", "neon", "simd128", *OTHERS]
# In CI, one in this many changes is tried.
SAMPLE = {"smt": 20, "conversions": 100, "grammar": 150}
# Changes that have no effect on a caller: the file, a part of the line, in which `^` may mark the change, the new values, and
# the reason.
EQUIVALENT = [
    ("short.rs", "0xFF, 0xFF", {"0x7f", "0xfe"}, "any index from 16 on selects 0"),
    ("formula.rs", "[0x80; 64]", {"0x81"}, "only 7F differs, and it is marked because a continuation is due"),
    ("mod.rs", "ternarylogic_epi32::<0xFE>", {"0x7e"}, "no byte is due from all three bytes before it"),
    ("base64.rs", "0, 1, 2, 4, 5, 6, 7, 7", {"3", "6"}, "the bytes after the 24 are any bytes"),
    ("latin.rs", "_mm256_permute2x128_si256::<0x08>(x, x)", {"0x9"}, "the low half is set to 0"),
    ("latin.rs", "order = [0; WIDTH]", {"1"}, "every element is assigned"),
    ("latin.rs", "let mut i = 0;", {"1"}, "the first element is 0 already"),
    ("latin.rs", "let zero = all(0);", {"1"}, "no fourth byte is kept"),
    ("latin.rs", "let after_lead = _mm256_subs_epu8(p1, all(0x40))", {"0x41"}, "every byte after C0 is marked in any case"),
    ("latin.rs", "veorq_u8(is_at_least(p1, 0xC0)", {"0xc1"}, "every byte after C0 is marked in any case"),
    ("latin.rs", "if ascii > 0 {", {"1"}, "groups of 64 bytes are copied"),
    ("compress.rs", "(vpaddq_u16(pairs, pairs))", {"1"}, "both halves are the same"),
    ("convert.rs", "vpmaxq_u32(bits, bits)", {"1"}, "both halves are the same"),
    ("utf16.rs", "all(0x3F00)", {"0x3f01"}, "bit 0 is 0 after the shift"),
    ("utf32.rs", "all(0x3F00)", {"0x3f01"}, "bit 0 is 0 after the shift"),
    ("utf16.rs", "kept, all(0x80_0000)", {"0x800001"}, "only bit 7 of each byte is used"),
    ("utf32.rs", "kept, all(0x80_0000)", {"0x800001"}, "only bit 7 of each byte is used"),
    ("count.rs", "in 0..ASCII_GROUP / WIDTH", {"1"}, "only what is prefetched changes"),
    ("positions.rs", "if count > BLOCK / 2 {", {"3"}, "positions that are not used are stored, too"),
    ("classes.rs", "if count > BLOCK / 2 {", {"3"}, "positions that are not used are stored, too"),
    ("count.rs", "fold(0, |any, &byte| any | byte) < 0x80", {"1"}, "only bit 7 is used"),
    ("quoted.rs", "_mm256_permute2x128_si256::<0x81>(high, high)", {"0x1"}, "no escape starts at the last 2 bytes"),
    ("quoted.rs", "if kept & kept.wrapping_add(1) == 0", {"1"}, "a block whose first bytes are kept is compressed"),
    ("base64.rs", "0x10,", {"0x11"}, "the bytes that this marks are marked in any case"),
    ("quoted.rs", "const TEXT: u8", {"0x41"}, "any class that is no digit, blank or stop"),
    ("quoted.rs", "const BLANK: u8", {"0x61", "0x20"}, "any class that is no digit, text or stop"),
    ("quoted.rs", "classes = [TEXT; 128]", {"129"}, "the last element is not read"),
    ("base64.rs", "values = [0x80; 128]", {"0x81"}, "only bit 7 is used"),
    ("base64.rs", "values = [0x80; 128]", {"129"}, "the last element is not read"),
    ("base64.rs", "0, 16, 19, 4, -65", {"1"}, "no symbol has this high half"),
    ("base64.rs", "2, 1, 0, 6, 5, 4", {"0"}, "the bytes after the 24 are any bytes"),
    ("kept.rs", "kept = [[0; 8]; 256]", {"1"}, "what is after the kept bytes is overwritten or not used"),
    ("kept.rs", "kept = [[0; 8]; 256]", {"9"}, "does not compile"),
    ("kept.rs", "let mut mask = 0;", {"1"}, "the row of no bytes is not used"),
    ("kept.rs", "while mask < 256", {"257"}, "no bit of the low 8 is set in 256"),
    ("kept.rs", "while i < 8", {"9"}, "bit 8 of a mask of 8 bits is 0"),
    ("positions.rs", "const FEW: usize = 1", {"0"}, "the positions are written after the next test"),
    ("positions.rs", "const MORE: usize = 3", {"1", "2"}, "the positions are written after the next test"),
    ("positions.rs", "const FEW: usize = 4", {"0", "5"}, "positions that are not used are stored, too"),
    ("positions.rs", "const STRETCH: usize = 4096", {"4097"}, "a call may search one more block"),
    *(
        ("classes.rs", "^" + ", ".join(str(1 << j) for j in range(i, 8)) + "];", {"0", str(1 << i | 1)}, "no class has a byte from 80 to BF")
        for i in range(8)
    ),
    ("classes.rs", "_mm256_srli_epi16::<4>(x), _mm256_set1_epi8(0x0F)", {"0x7"}, "both halves of the table are the same"),
    ("classes.rs", "_mm512_ternarylogic_epi32::<0xF8>(any, flags, group)", {"0xf9"}, "a group is searched in vain"),
    ("classes.rs", "let mut numbers = [0; BLOCK];", {"1"}, "every element is assigned"),
    ("classes.rs", "let mut number = 0;", {"1"}, "the first element is 0 already"),
    ("classes.rs", "_mm512_maskz_sub_epi8(higher, _mm512_set1_epi8(0x40)", {"0x41"}, "the sum of a byte of the class may be above 80"),
    ("classes.rs", "const STRETCH: usize = 4096", {"4097"}, "a call may search one more block"),
    ("latin.rs", "signs(_mm256_subs_epu8(greatest, all(0x60)))", {"0x20"}, "text without sequences of 3 may be converted as with them"),
    ("subset.rs", "first < 0xD800 && last >=", {"0xd801"}, "no block ends at D800, and one that starts there returns before"),
    ("to_utf16.rs", "first = [0; 3 + WIDTH + 1]", {"1"}, "any ASCII byte before the text"),
    ("utf8.rs", "first = [0; 3 + WIDTH + 1]", {"1"}, "any ASCII byte before the text"),
    ("utf16.rs", "indexes = [[0; 8]; 256]", {"1"}, "what is after the kept units is overwritten"),
    ("shuffles.rs", "shuffles = [[0x80; 16]; 256]", {"0x0", "0x81"}, "what is after the kept bytes is overwritten"),
    ("utf16.rs", "_mm512_srli_epi16::<8>(units))", {"9"}, "the high byte of a unit of ASCII is 0: the group utf16 fails"),
    ("to_utf16.rs", "_mm256_or_si256(c, d))) == 0 {", {"1"}, "both halves of the mask are the same, and of 0 the other mask is 0, too"),
    ("to_utf16.rs", "let mut shuffle = [0x80; WIDTH]", {"0x81"}, "only bit 7 is used"),
    ("units.rs", "_mm512_set1_epi16(0xFFE0_u16 as i16)", {"0x7fe0"}, "a unit above FF has no byte in any case"),
    ("units.rs", "table = [[0; 64]; 2]", {"1"}, "does not compile"),
    ("classes.rs", "set1_epi8(seconds_of_long, 8)", {"5", "9"}, "the bits of ASCII are set for every byte"),
    ("classes.rs", "_mm512_ternarylogic_epi32::<0xF8>(any, both", {"0xf9"}, "a group is searched in vain"),
    ("utf32.rs", "all(0x80_8080), all(0x80_8000)", {"0x808001"}, "only bit 7 of each byte is used"),
    ("utf16.rs", "if bits < 0x800 {", {"0x0"}, "units below U+0800 are converted as other units"),
    ("utf16.rs", "vdupq_n_u16(0xD800)));", {"0xd801"}, "only the bits from 11 on decide"),
    ("utf16.rs", "if vminvq_u16(vminq_u16(a, b)) >= 0x800", {"0x801"}, "U+D000 is converted as if there were surrogates"),
    ("utf16.rs", "let free = vdupq_n_u16(0x3F00)", {"0x3f01"}, "bit 0 is 0 after the shifts"),
    ("utf16.rs", "let value = vaddq_u16(vandq_u16(x, vdupq_n_u16(0x3FF))", {"0x3fe"}, "the lowest 2 bits are not used"),
    ("to_utf16.rs", "vcgeq_u8(p2, vdupq_n_u8(0xE0))", {"0xe1"}, "the low half of E0 is 0"),
    ("to_utf16.rs", "if vmaxvq_u8(vmaxq_u8(p2, p3)) >= 0xF0", {"0x70"}, "other text is converted as with sequences of 4"),
    ("to_utf16.rs", "vdupq_n_s8(-0x41)", {"0x40"}, "text has no byte C0"),
    ("utf32.rs", "sums(kept)[0]", {"1"}, "both halves are the same"),
    ("utf32.rs", "vcgeq_u8(p2, vdupq_n_u8(0xE0))", {"0xe1"}, "the low half of E0 is 0"),
    *(("utf32.rs", f"greatest < {limit} {{", {"0x0"}, "characters are converted as longer ones") for limit in ("0x80", "0x800", "0x1_0000")),
    ("utf32.rs", "vdupq_n_u32(0x3F00)", {"0x3f01"}, "bit 0 is 0 after the shift"),
    ("utf32.rs", "vdupq_n_u32(0x3F_0000)", {"0x3f0001"}, "bit 0 is 0 after the shift"),
    ("utf32.rs", "vdupq_n_u32(0x700_0000)", {"0x7000001"}, "bit 0 is 0 after the shift"),
    ("utf32.rs", "vdupq_n_s8(-0x41)", {"0x40"}, "text has no byte C0"),
    ("compress.rs", "vgetq_lane_u64::<0>(vreinterpretq_u64_u16(vpaddq_u16(pairs, pairs)))", {"1"}, "both halves are the same"),
    ("quoted.rs", "let mut classes = [[0; 16]; 8];", {"1"}, "every element is assigned"),
    ("quoted.rs", "let mut classes = [[0; 16]; 8];", {"17"}, "no compiler accepts another length"),
    ("quoted.rs", "let even = |x, y| vbslq_u8(vdupq_n_u8(0x55)", {"0x54"}, "bit 0 is no class"),
    ("quoted.rs", "let mut byte = 0;", {"1"}, "00 has no class"),
    ("quoted.rs", "_ => 0,", {"1"}, "bit 0 is no class"),
    ("quoted.rs", "next(first, vdupq_n_u8(0))", {"1"}, "no escape starts at the last 2 bytes"),
    ("quoted.rs", "next(values, vdupq_n_u8(0))", {"1"}, "no escape starts at the last 2 bytes"),
    ("split.rs", "let mut table = [[0; 16]; 256];", {"1"}, "the first elements are assigned, and the others are not stored"),
    ("split.rs", "let mut table = [[0; 16]; 256];", {"17"}, "the last element is not read"),
    ("split.rs", "if same > 0 {", {"1"}, "the length is a multiple of 64"),
    ("split.rs", ">> 8 != 0", {"9"}, "all bits of a lane are equal"),
    ("split.rs", "[0; 2 * WIDTH]", {"1", "3"}, "a larger array, or what is overwritten"),
    ("join.rs", "const STRETCH: usize = 3 * GROUP", {"1", "2"}, "groups are tested more often"),
    ("join.rs", "const STRETCH: usize = 6 * BLOCK", {"2", "7"}, "groups are tested more or less often"),
    ("join.rs", "last = [0; WINDOW];", {"1"}, "the bytes after the end are not used"),
    ("join.rs", "[BLOCK, BLOCK + 1].map", {"0"}, "a pair that starts at the last byte is left to the next block"),
    ("join.rs", "const WINDOW: usize = BLOCK + 2", {"3"}, "the last bytes are copied one block earlier"),
    ("join.rs", "let mut last = [0; WINDOW]", {"1"}, "the bytes after the end are not used"),
    ("join.rs", "let mut last = [0; BLOCK]", {"1"}, "what is copied is written before"),
    ("join.rs", "let mut zeros = [zero; 2]", {"0", "3"}, "no compiler accepts another length"),
    ("join.rs", "let mut end = [0; BLOCK]", {"1"}, "what is copied is written before"),
    ("formula.rs", "= 0x00;", {"0x1"}, "only 7F and FF differ, and they are marked because a continuation is due"),
]


class Silent(formulas.Report):
    """A report that prints nothing, so that the table is the only output, and solves no claim twice.

    A change leaves most claims as they are. `known` has those of the source without a change: a claim that is kept has an
    identifier of its own, which an equal claim has, too.
    """

    known = {}

    def prove(self, name, claim):
        if claim.get_id() in self.known:
            return
        solver = formulas.SolverFor("QF_BV")
        solver.add(formulas.Not(claim))
        if solver.check() != formulas.unsat:
            raise formulas.Failed(name)
        self.proved(claim)

    def proved(self, claim):
        pass


class Baseline(Silent):
    def proved(self, claim):
        self.known[claim.get_id()] = claim


def parts_of(group):
    """The functions that prove a group, with their arguments."""
    if group in OTHERS:
        return list(OTHERS[group][1])
    kernels = [kernel for kernel in formulas.KERNELS if group in (kernel[0], "formula")]
    parts = [part for kernel in kernels for part in formulas.kernel_parts(*kernel)]
    return [(formulas.prove_one_byte,), *parts] if group == "formula" else parts


def prove(parts, report):
    """The claim that fails, or `None`. The part with this claim is then the first, because the next change is near."""
    model.EXECUTED.clear()
    for part in parts:
        function, *arguments = part
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                function(report, *arguments)
        except Exception as error:
            parts.remove(part)
            parts.insert(0, part)
            return str(error) if isinstance(error, formulas.Failed) else f"the model stops: {type(error).__name__}"
    return None


def places_read(group, parts):
    """Where the proof of a group reads numbers and shifts: (path, start, end). Its claims are `known` from then on."""
    found = set()
    read_next = rust.Tokens.next
    sources = {}
    read_source = rust.Source.__init__

    def remember(source, path, *only):
        read_source(source, path, *only)
        sources[source.text] = path

    def record(tokens):
        token = read_next(tokens)
        match = tokens.match
        if tokens.text in sources and (match.group("number") or token in ("<<", ">>")):
            part = "number" if match.group("number") else "op"
            found.add((sources[tokens.text], *match.span(part)))
        return token

    def skip_type(tokens):
        rust.Tokens.next = read_next
        read_type(tokens)
        rust.Tokens.next = record

    read_type = rust.Tokens.skip_type
    rust.Tokens.next, rust.Tokens.skip_type, rust.Source.__init__ = record, skip_type, remember
    try:
        failed = prove(parts, Baseline())
    finally:
        rust.Tokens.next, rust.Tokens.skip_type, rust.Source.__init__ = read_next, read_type, read_source
    if failed:
        sys.exit(f"{group} is not proved without a change: {failed}")
    return sorted(found)


def changed_numbers(text):
    if text in ("<<", ">>"):
        return [">>" if text == "<<" else "<<"]
    number = int(text.replace("_", ""), 0)
    values = {number ^ 1, number ^ (1 << max(number.bit_length() - 1, 0))}
    return [hex(value) if text.startswith("0x") else str(value) for value in sorted(values - {number})]


def smt_changes(group, parts):
    file = {"formula": "formula.rs"} | {name: path for name, path, _ in formulas.KERNELS}
    file |= {name: path for name, (path, _) in OTHERS.items()}
    for path, start, end in places_read(group, parts):
        # `formula.rs` has a group of its own.
        if path.resolve() == (KERNELS / file[group]).resolve() or (group == "neon" and path.name == "short.rs"):
            text = path.read_text()
            # The ranges of the presets are what the classes are compared with.
            if group == "subset" and start < text.index("const fn doubtful("):
                continue
            for change in changed_numbers(text[start:end]):
                yield path.resolve().relative_to(REPOSITORY), start, end, change


def grammar_changes():
    for name in ("grammar.rs", "dialects.rs"):
        path = pathlib.Path("src/encoding") / name
        text = (REPOSITORY / path).read_text()
        for line in re.finditer(r"^ +(?:row|reject_lead|reject_second)\(.*$", text, re.MULTILINE):
            code = line[0].split("//")[0]
            for number in re.finditer(r"0x[0-9A-F]{2}|\b[1-6](?=\))", code):
                for value in (int(number[0], 0) - 1, int(number[0], 0) + 1):
                    if 0 <= value <= 0xFF:
                        change = f"0x{value:02X}" if number[0].startswith("0x") else str(value)
                        yield path, line.start() + number.start(), line.start() + number.end(), change


def run_smt(parts, change, copy):
    path, start, end, new = change
    mutant = copy / path
    original = mutant.read_text()
    mutant.write_text(original[:start] + new + original[end:])
    formulas.ROOT = copy / "src" / "kernels"
    try:
        return prove(parts, Silent())
    finally:
        formulas.ROOT = KERNELS
        mutant.write_text(original)


def run_grammar(change, copy):
    path, start, end, new = change
    mutant = copy / path
    original = mutant.read_text()
    mutant.write_text(original[:start] + new + original[end:])
    # The crate is compiled for each change: faster without debug information.
    profile = {"CARGO_INCREMENTAL": "1", "CARGO_PROFILE_DEV_DEBUG": "0"}
    environment = os.environ | profile | {"CARGO_TARGET_DIR": str(REPOSITORY / "target/mutants")}
    transcode = ["cargo", "test", "--no-default-features", "--features", "std,transcode"]
    commands = [
        (".", [*transcode, "--lib", "encoding::"]),
        ("proofs", ["cargo", "test", "--test", "grammar", "--test", "four_bytes"]),
        (".", [*transcode, "--test", "transcode"]),
    ]
    try:
        for directory, command in commands:
            done = subprocess.run(command, cwd=copy / directory, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                failed = re.search(r"^test (\S+) \.\.\. FAILED|^error.*", done.stdout + done.stderr, re.MULTILINE)
                return failed[0] if failed else "fails"
        return None
    finally:
        mutant.write_text(original)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--all"]
    is_all = "--all" in sys.argv
    groups = arguments or [*SMT_GROUPS, "grammar"]
    set_param("timeout", 60_000)
    counts, survivors, total = collections.Counter(), [], 0
    with tempfile.TemporaryDirectory() as directory:
        copy = pathlib.Path(directory)
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True).stdout
        for name in listed.decode().split("\0")[:-1]:
            if (REPOSITORY / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(REPOSITORY / name, copy / name)
        for group in groups:
            parts = [] if group == "grammar" else parts_of(group)
            Silent.known.clear()
            changes = list(grammar_changes() if group == "grammar" else smt_changes(group, parts))
            kind = "grammar" if group == "grammar" else "conversions" if group in OTHERS else "smt"
            step = 1 if is_all else SAMPLE[kind]
            for change in changes[:: step]:
                path, start, end, new = change
                text = (REPOSITORY / path).read_text()
                line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
                line, marked = text[line_start:line_end].strip(), f"{text[line_start:start]}^{text[start:line_end]}"
                failed = run_grammar(change, copy) if group == "grammar" else run_smt(parts, change, copy)
                total += 1
                if failed is None:
                    known = [reason for file, part, values, reason in EQUIVALENT if (file, new in values) == (path.name, True) and (part in line or part in marked)]
                    counts[group, f"equivalent: {known[0]}" if known else "PASSES"] += 1
                    if not known:
                        survivors.append(f"{path}:{text.count(chr(10), 0, start) + 1}: {line}: {text[start:end]} to {new}")
                        print(survivors[-1], flush=True)
                else:
                    counts[group, re.sub(r"lane \d+|, path.*|: \d+ bytes at.*", "", failed)] += 1
    for (group, failed), count in sorted(counts.items()):
        print(f"{group:8} {count:4}  {failed}")
    print(f"{total} changes, {len(survivors)} pass")
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main())
