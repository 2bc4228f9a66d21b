"""Definitions that several programs use."""

from z3 import BitVec, If, Or, And, UGE, ULT, ZeroExt

from conversions import number, wide, windows_1252
from model import Array, Int, join

BOTH = (False, True)
KINDS = [(windows, wide_units, is_big_endian) for windows in BOTH for wide_units in BOTH for is_big_endian in BOTH]


def symbolic(name, count):
    return [BitVec(f"{name}{i}", 8) for i in range(count)]


def title_of(windows, wide_units, is_big_endian):
    return f"UTF-{32 if wide_units else 16}{'BE' if is_big_endian else 'LE'} to {'windows-1252' if windows else 'ISO 8859-1'}"


def values_of(memory, size, is_big_endian):
    """The code units as numbers of 32 bits."""
    found = []
    for i in range(0, len(memory), size):
        unit = join(list(reversed(memory[i:i + size])) if is_big_endian else memory[i:i + size])
        found.append(unit if size == 4 else ZeroExt(16, unit))
    return found


def character(x, windows):
    """The number of the character of a byte."""
    value = wide(x)
    for byte in range(0x80, 0xA0) if windows else ():
        value = If(x == byte, number(windows_1252(byte)), value)
    return value


def byte_of(value, windows):
    """The byte of a character, and whether there is one."""
    c1 = [(windows_1252(byte), byte) for byte in range(0x80, 0xA0)] if windows else []
    has_byte = ULT(value, number(0x100))
    if windows:
        has_byte = Or(And(has_byte, Or(ULT(value, number(0x80)), UGE(value, number(0xA0)))), *(value == unit for unit, _ in c1))
    found = value
    for unit, byte in c1:
        found = If(value == unit, number(byte), found)
    return found, has_byte


def written_bytes(output):
    """The bytes of the output after all stores, and the condition that each is written."""
    found = {}
    for place, lanes, mask in output.stores:
        assert not place.terms
        for i, lane in enumerate(lanes):
            kept = True if mask is None else mask[i]
            if kept is not False:
                found[place.number + i] = (kept, lane)
    return found


def punctuation_bytes():
    """The bytes of windows-1252 of U+2010 to U+203F, or 0."""
    found = [chr(0x2010 + i).encode("cp1252", "replace") for i in range(0x30)]
    return Array([Int(byte[0] if byte != b"?" else 0, "u8") for byte in found], "u8")
