#!/usr/bin/env python3
"""Changes the sources one place at a time, in a copy, and checks that the proof or test of that source fails.

    proofs/mutate.py                 a part of the changes: for CI
    proofs/mutate.py --all           every change
    proofs/mutate.py --all avx2      only those of one group

Groups with an SMT proof: `formula`, `avx512`, `avx2`, `neon` and `simd128` of `formulas.py`, and those of `OTHERS`: the conversions
of AVX-512 (`utf16`, `utf32`, `latin`), `classes.py`, `searches.py`, `transfer.py`, `copies.py`, `ascii.py`, `portable.py`, `prefixes.py`,
and the programs for AVX2 and NEON. Every number and every shift
that the proof reads from the Rust source is changed: the lowest and the highest set bit of a number, and `<<` to `>>`. Only the
parts of the proof that read the changed place are run again.

Group `grammar`: every bound of every row in `encoding/grammar.rs` and `encoding/dialects.rs` is changed by 1, up and down.
The tests are `proofs/tests/grammar.rs` and `four_bytes.rs`, and those of the transcoder for the other encodings.

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

import ascii
import avx2_conversions
import avx2_searches
import avx2_transfer
import conversions
import classes
import copies
import formulas
import model
import neon_base64
import neon_copies
import neon_utf16
import paths
import portable
import rust
import searches
import transfer
from equivalent import EQUIVALENT
from z3 import set_param

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
KERNELS = REPOSITORY / "src" / "kernels"
AVX512 = "arch/x86_64/avx512"
# The functions that prove a group, with their arguments, and the file whose numbers are changed.
OTHERS = {
    "utf16": (f"{AVX512}/utf16.rs", [*conversions.PARTS["utf16"], *copies.PARTS["avx512_ascii"]]),
    "utf32": (f"{AVX512}/utf32.rs", conversions.PARTS["utf32"]),
    "latin": (f"{AVX512}/latin.rs", conversions.PARTS["latin"]),
    "find_class": (f"{AVX512}/classes.rs", [
        (classes.prove_blocks, 66), (classes.prove_groups, 258, False), (classes.prove_ascii_without, classes.AVX512),
        (searches.prove_write,),
    ]),
    "find_class_avx2": ("arch/x86_64/avx2/classes.rs", [(classes.prove_avx2,)]),
    "count": (f"{AVX512}/count.rs", [(searches.prove_count,), (searches.prove_count_ascii,)]),
    "positions": (f"{AVX512}/positions.rs", [(searches.prove_find_all,)]),
    "base64": (f"{AVX512}/base64.rs", [(prove,) for prove in transfer.PARTS["base64"]]),
    "avx2_base64": ("arch/x86_64/avx2/base64.rs", [(prove,) for prove in avx2_transfer.PARTS["base64"]]),
    "avx2_quoted": ("arch/x86_64/avx2/quoted.rs", [(prove,) for prove in avx2_transfer.PARTS["quoted"]]),
    "copy": (f"{AVX512}/copy.rs", copies.PARTS["avx512_copy"]),
    "avx2_copy": ("arch/x86_64/avx2/copy.rs", copies.PARTS["avx2_copy"]),
    "ascii_len": ("arch/vector/large.rs", [part for kernel in ("avx2", "neon") for part in ascii.PARTS[kernel]]),
    "ascii_count": ("count.rs", ascii.PARTS["count"]),
    "avx2_count": ("arch/x86_64/avx2/count.rs", avx2_searches.PARTS["count"]),
    **{
        f"portable_{name}": (f"arch/portable/{name}.rs", parts)
        for name, parts in portable.PARTS.items()
    },
    "windows_1252": ("../encoding/windows_1252.rs", [(portable.prove_tables,)]),
    "portable_count": ("arch/portable/count.rs", avx2_searches.PARTS["count"]),
    "avx2_positions": ("arch/x86_64/avx2/positions.rs", avx2_searches.PARTS["positions"]),
    "portable_positions": ("arch/portable/positions.rs", avx2_searches.PARTS["positions"]),
    "portable_classes": ("arch/portable/classes.rs", avx2_searches.PARTS["classes"]),
    "neon_base64": ("arch/aarch64/base64.rs", neon_base64.PARTS),
    "neon_convert": ("arch/aarch64/convert.rs", neon_copies.PARTS["convert"]),
    "neon_encode_ascii": ("arch/aarch64/to_utf16.rs", neon_copies.PARTS["to_utf16"]),
    "neon_decode_ascii": ("arch/aarch64/utf16.rs", neon_copies.PARTS["utf16"]),
    "window": ("arch/portable/quoted.rs", [(transfer.prove_quoted_segment,)]),
    "shuffles": ("arch/shuffles.rs", [(avx2_conversions.prove_table, avx2_conversions.SHUFFLES)]),
    **{
        f"avx2_{name.replace('/', '_')}": (f"arch/x86_64/avx2/{name}.rs", [
            *parts, *(copies.PARTS["avx2_ascii"] if name == "to_utf16" else []),
        ])
        for name, parts in avx2_conversions.GROUPS.items()
    },
    "neon_compress": ("arch/aarch64/compress.rs", [*neon_utf16.PARTS["compress"], *neon_utf16.PARTS["to_utf16"]]),
    "neon_utf16": ("arch/aarch64/utf16.rs", neon_utf16.PARTS["utf16"]),
    "neon_to_utf16": ("arch/aarch64/to_utf16.rs", neon_utf16.PARTS["to_utf16"]),
}
SMT_GROUPS = ["formula", "avx512", "avx2", "neon", "simd128", *OTHERS]
# In CI, one in this many changes is tried.
SAMPLE = {"smt": 20, "conversions": 100, "grammar": 150}


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


def prove(parts, report, readers=None):
    """The claim that fails, or `None`, of all parts or of those that read the changed place. The part with this claim is then the
    first, because the next change is near."""
    if len(model.SIMPLIFIED) > 2_000_000:
        model.EXECUTED.clear()
        model.SIMPLIFIED.clear()
        paths.HAS_MODEL.clear()
    for part in [part for part in parts if readers is None or part in readers]:
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
    """Where the parts of a proof read numbers and shifts: the parts by (path, start, end). Their claims are `known` from then on."""
    found = collections.defaultdict(list)
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
            place = found[sources[tokens.text], *match.span(part)]
            if reader not in place:
                place.append(reader)
        return token

    def skip_type(tokens):
        rust.Tokens.next = read_next
        read_type(tokens)
        rust.Tokens.next = record

    read_type = rust.Tokens.skip_type
    rust.Tokens.next, rust.Tokens.skip_type, rust.Source.__init__ = record, skip_type, remember
    try:
        for reader in list(parts):
            # Each part reads the source again.
            rust.parsed_function.cache_clear()
            if failed := prove([reader], Baseline()):
                break
    finally:
        rust.Tokens.next, rust.Tokens.skip_type, rust.Source.__init__ = read_next, read_type, read_source
    if failed:
        sys.exit(f"{group} is not proved without a change: {failed}")
    return sorted(found.items())


def changed_numbers(text):
    if text in ("<<", ">>"):
        return [">>" if text == "<<" else "<<"]
    number = int(text.replace("_", ""), 0)
    values = {number ^ 1, number ^ (1 << max(number.bit_length() - 1, 0))}
    return [hex(value) if text.startswith("0x") else str(value) for value in sorted(values - {number})]


def smt_changes(group, parts):
    file = {"formula": "formula.rs"} | {name: path for name, path, _ in formulas.KERNELS}
    file |= {name: path for name, (path, _) in OTHERS.items()}
    for (path, start, end), readers in places_read(group, parts):
        # `formula.rs` has a group of its own.
        if path.resolve() == (KERNELS / file[group]).resolve() or (group == "neon" and path.name == "short.rs"):
            text = path.read_text()
            # The ranges of the presets are what the classes are compared with.
            if group == "subset" and start < text.index("const fn doubtful("):
                continue
            for change in changed_numbers(text[start:end]):
                yield path.resolve().relative_to(REPOSITORY), start, end, change, readers


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
                        yield path, line.start() + number.start(), line.start() + number.end(), change, None


def run_smt(parts, change, copy):
    path, start, end, new, readers = change
    mutant = copy / path
    original = mutant.read_text()
    mutant.write_text(original[:start] + new + original[end:])
    formulas.ROOT = copy / "src" / "kernels"
    try:
        return prove(parts, Silent(), readers)
    finally:
        formulas.ROOT = KERNELS
        mutant.write_text(original)


def run_grammar(change, copy):
    path, start, end, new, _ = change
    mutant = copy / path
    original = mutant.read_text()
    mutant.write_text(original[:start] + new + original[end:])
    # The crate is compiled for each change: faster without debug information.
    profile = {"CARGO_INCREMENTAL": "1", "CARGO_PROFILE_DEV_DEBUG": "0"}
    environment = os.environ | profile | {"CARGO_TARGET_DIR": str(REPOSITORY / "target/mutants")}
    transcode = ["cargo", "test", "--no-default-features", "--features", "std,transcode"]
    commands = [
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
    # The longest loops of the sources have 256. Some changes make a loop endless.
    model.Machine.most_iterations = 300
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
                path, start, end, new, _ = change
                text = (REPOSITORY / path).read_text()
                line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
                line, marked = text[line_start:line_end].strip(), f"{text[line_start:start]}^{text[start:line_end]}"
                failed = run_grammar(change, copy) if group == "grammar" else run_smt(parts, change, copy)
                total += 1
                if failed is None:
                    known = [reason for file, part, values, reason in EQUIVALENT if (file, new in values) == (path.name, True) and (part in line or part in marked)]
                    counts[group, f"equivalent: {known[0]}" if known else "PASSES"] += 1
                    if not known:
                        survivors.append(f"{path}:{text.count(chr(10), 0, start) + 1}: {marked.strip()}: {text[start:end]} to {new}")
                        print(survivors[-1], flush=True)
                else:
                    counts[group, re.sub(r"lane \d+|, path.*|: \d+ bytes at.*", "", failed)] += 1
    for (group, failed), count in sorted(counts.items()):
        print(f"{group:8} {count:4}  {failed}")
    print(f"{total} changes, {len(survivors)} pass")
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main())
