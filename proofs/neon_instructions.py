#!/usr/bin/env python3
"""Compares the descriptions of the NEON instructions that the kernels use with the instructions: `qemu` runs them on random operands.

It needs a Rust target, a linker for it, and `qemu-aarch64` (`.ci/run neon` installs them). Each number that an instruction has in its
name or as a constant is tried. An instruction without a description, or with another result, is an error.
"""

import pathlib
import random
import re
import subprocess
import sys

from z3 import BitVecVal, simplify

import formulas
# Adds the descriptions to `VECTORS`.
import neon  # noqa: F401
from model import INSTRUCTIONS, Int, Pointer
from vectors import Output, Place, Total, VECTORS

TARGET = "aarch64-unknown-linux-gnu"
NAME = re.compile(r"\bv[a-z0-9]+_(?:(?:n|lane|dup)_)?[us][0-9]+(?:_x4|_[us][0-9]+)?\b")
ROUNDS, FUNCTION = 6, 40
# The bytes that are read or written, if they are not 16.
MEMORY = {
    "vld1_u8": 8, "vld1q_dup_u8": 1, "vld2q_u8": 32, "vld4q_u8": 64, "vld1q_u8_x4": 64, "vst1_u8": 8, "vst3q_u8": 48, "vst4q_u8": 64, "vst1q_u8_x4": 64,
}
PROGRAM = """#![allow(unsafe_op_in_unsafe_fn)]
use core::arch::aarch64::*;
unsafe fn to<A: Copy, B: Copy>(a: A) -> B {
    assert_eq!(size_of::<A>(), size_of::<B>());
    core::mem::transmute_copy(&std::hint::black_box(a))
}
fn print<T: Copy>(value: T) {
    let bytes = (&raw const value).cast::<u8>();
    (0..size_of::<T>()).for_each(|i| print!("{:02x}", unsafe { *bytes.add(i) }));
    println!();
}
"""


def operands(name):
    """The operands of an instruction, and the values of its constant. A `q` is 16 bytes, a `d` 8 bytes, and an `i` or `j` are indexes."""
    size = int(re.findall(r"[us](\d+)", name)[0])
    if "reinterpret" in name:
        return "q" if name.startswith("vreinterpretq") else "d", [None]
    if "_lane_" in name:
        bits = 128 if name.startswith("vgetq") else 64
        return "q" if bits == 128 else "d", range(bits // size)
    if name.startswith("vextq"):
        return "qq", range(1, 128 // size)
    if name.startswith("vshrn_n"):
        return "q", range(1, size // 2 + 1)
    if name.startswith(("vsliq_n", "vsriq_n")):
        return "qq", range(1, size)
    if "_n_" in name:
        return "q", range(1, size)
    if found := re.match(r"vqtb([lx])(\d)(q?)_", name):
        tables = "q" if found[2] == "1" else found[2]
        return ("q" if found[1] == "x" else "") + tables + ("i" if found[3] else "j"), [None]
    if re.match(r"v(bsl|mla)q", name):
        return "qqq", [None]
    if re.match(r"v(combine|add)_", name):
        return "dd", [None]
    if re.match(r"v(cnt|movl)_", name):
        return "d", [None]
    is_unary = re.match(r"v((mvn|cnt|rev16|rev32|maxv|minv|addv|paddl|ceqz|cltz)q|movn|get_low|get_high)_", name)
    return "q" if is_unary else "qq", [None]


def random_bytes(count, are_indexes=False):
    if are_indexes:
        return [random.randrange(random.choice((20, 70, 256))) for _ in range(count)]
    edges = (0, 1, 0x40, 0x7F, 0x80, 0xF0, 0xFF)
    return [random.choice(edges) if random.random() < 0.4 else random.randrange(256) for _ in range(count)]


def values(given):
    return [BitVecVal(byte, 8) for byte in given]


def bytes_of(found):
    """The bytes of a result."""
    if isinstance(found, Int):
        return list(simplify(found.bits()).as_long().to_bytes(found.bits().size() // 8, "little"))
    if isinstance(found[0], list):
        return [byte for register in found for byte in bytes_of(register)]
    return [simplify(byte).as_long() for byte in found]


def case(name, described, constant):
    """A line of Rust that prints the result of an instruction for random operands, and the result that is expected."""
    if name.startswith(("vld", "vst")):
        given = random_bytes(MEMORY.get(name, 16))
        start = f"let x: [u8; {len(given)}] = {given}; "
        if name.startswith("vld"):
            return f"{{ {start}print({name}(x.as_ptr().cast())); }}", bytes_of(described(Pointer(given)))
        output, registers = Output(len(given)), [values(given[i:i + 16]) for i in range(0, len(given), 16)]
        described(Place(output, Total(0)), registers if len(registers) > 1 else registers[0])
        return f"{{ {start}let mut y = x.map(|_| 0); {name}(y.as_mut_ptr(), to(x)); print(y); }}", bytes_of(output.stores[0][1])
    if name.startswith(("vdup", "vcreate")):
        size = 64 if name.startswith("vcreate") else int(re.search(r"\d+$", name)[0])
        number = random.getrandbits(size - 1)
        return f"print({name}({number}));", bytes_of(described(Int(number, f"u{size}")))
    given, written = [], []
    for operand in operands(name)[0]:
        if operand.isdigit():
            tables = [random_bytes(16) for _ in range(int(operand))]
            given.append([values(table) for table in tables])
            written.append(f"to::<[[u8; 16]; {operand}], _>({tables})")
        else:
            bytes_ = random_bytes(8 if operand in "dj" else 16, operand in "ij")
            given.append(values(bytes_))
            written.append(f"to::<[u8; {len(bytes_)}], _>({bytes_})")
    constants = [] if constant is None else [constant]
    generics = "".join(f"::<{it}>" for it in constants)
    return f"print({name}{generics}({', '.join(written)}));", bytes_of(described(*constants, *given))


def main():
    random.seed(1)
    sources = sorted((formulas.ROOT / "arch" / "aarch64").rglob("*.rs"))
    names = sorted({name for path in sources for name in NAME.findall(path.read_text())})
    cases = []
    for name in names:
        described = VECTORS.get(name) or INSTRUCTIONS[name]
        constants = [None] if name.startswith(("vld", "vst", "vdup", "vcreate")) else operands(name)[1]
        cases += [(name, *case(name, described, constant)) for constant in constants for _ in range(ROUNDS)]
    program = PROGRAM
    parts = range(0, len(cases), FUNCTION)
    for first in parts:
        program += f"unsafe fn part_{first}() {{\n" + "\n".join(line for _, line, _ in cases[first:first + FUNCTION]) + "\n}\n"
    program += "fn main() {\n" + "\n".join(f"unsafe {{ part_{first}() }}" for first in parts) + "\n}\n"
    folder = pathlib.Path("target/neon_instructions")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.rs").write_text(program)
    subprocess.run(
        ["rustc", "--edition", "2024", "--target", TARGET, "-C", "linker=aarch64-linux-gnu-gcc", "-o", folder / "main", folder / "main.rs"], check=True,
    )
    printed = subprocess.run(["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", folder / "main"], check=True, capture_output=True, text=True)
    lines = printed.stdout.split()
    assert len(lines) == len(cases)
    for (name, line, expected), found in zip(cases, lines):
        if bytes(expected).hex() != found:
            sys.exit(f"{name} differs from its description: {line} is {found} and not {bytes(expected).hex()}")
    print(f"{len(names)} NEON instructions are as they are described, {len(cases)} results")


if __name__ == "__main__":
    main()
