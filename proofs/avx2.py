"""The instructions of AVX2 that the conversions use, and the tables of shuffles with which they compress a vector.

AVX2 has no instruction that compresses a vector. A mask of 8 bits selects a row of a table, and the row is the order of a shuffle.
Here such a shuffle returns a new variable for each byte. A `Layout` describes which bytes of the vector these are, by the bits of the
mask. `prove_tables` compares each layout with all rows of the table, which is read from the source.
"""

from z3 import BitVecVal, Extract, If, LShR, SignExt, UGT, ULT, ZeroExt

from model import Int, WIDTHS, by_lanes, join, shuffle, signed_saturating_add, splat, split
from vectors import Mask, VECTORS, both, boolean, either, elements, in_reverse, madd, opposite, packed, parts, permuted_by, widened

HALF = 16


def unsigned_add(a, b):
    return If(ULT(a + b, a), BitVecVal(-1, a.size()), a + b)


def choose_least(a, b):
    return If(ULT(a, b), a, b)


def choose_most(a, b):
    return If(UGT(a, b), a, b)


def all_bits(condition, width):
    return If(condition, BitVecVal(-1, width), BitVecVal(0, width))


def interleaved(width, is_high):
    """Elements of two vectors in turn, from the low or the high half of each 128 bits."""
    def apply(a, b):
        found = []
        for i in range(8 if is_high else 0, len(a), HALF):
            for j in range(i, i + 8, width):
                found += a[j:j + width] + b[j:j + width]
        return found

    return apply


def packed_signed(width):
    """Narrows signed elements of two vectors, in each 128 bits the first vector before the second."""
    most = (1 << (4 * width - 1)) - 1

    def narrow(value):
        low = Extract(4 * width - 1, 0, value)
        return If(value < -most - 1, BitVecVal(-most - 1, 4 * width), If(value > most, BitVecVal(most, 4 * width), low))

    def apply(a, b):
        return [part for i in range(0, len(a), HALF) for half in (a, b) for value in elements(half[i:i + HALF], width) for part in split(narrow(value))]

    return apply


def maddubs(a, b):
    """Adds the products of neighbors, of which the first operand is unsigned. The sum saturates."""
    found = []
    for i in range(0, len(a), 2):
        products = [ZeroExt(10, a[j]) * SignExt(10, b[j]) for j in (i, i + 1)]
        total = products[0] + products[1]
        found += split(If(total > 0x7FFF, BitVecVal(0x7FFF, 16), If(total < -0x8000, BitVecVal(-0x8000, 16), Extract(15, 0, total))))
    return found


def permuted_halves(select, a, b):
    """Bit 3 of a selection makes the half zero."""
    given = [a[:HALF], a[HALF:], b[:HALF], b[HALF:]]
    zeros = [BitVecVal(0, 8)] * HALF
    return [lane for by in (select, select >> 4) for lane in (zeros if by & 8 else given[by & 3])]


def permuted_quarters(select, a):
    return [lane for i in range(4) for lane in a[8 * (select >> 2 * i & 3):][:8]]


def permuted_words(select, a):
    return [lane for i in range(0, len(a), HALF) for j in range(4) for lane in a[i + 4 * (select >> 2 * j & 3):][:4]]


def shuffled(vector, order):
    return [lane for i in range(0, len(vector), HALF) for lane in shuffle(vector[i:i + HALF], order[i:i + HALF])]


def signs_of(width, kind):
    def apply(a):
        bits = [boolean(Extract(8 * width - 1, 8 * width - 1, value) == 1) for value in elements(a, width)]
        return Mask(bits + [False] * (WIDTHS[kind] - len(bits)), kind)

    return apply


AVX2 = {
    "_mm256_andnot_si256": by_lanes(1)(lambda a, b: ~a & b),
    "_mm256_adds_epi8": by_lanes(1)(signed_saturating_add),
    "_mm256_adds_epu8": by_lanes(1)(unsigned_add),
    "_mm256_adds_epu16": by_lanes(2)(unsigned_add),
    "_mm256_blendv_epi8": by_lanes(1)(lambda a, b, mask: If(Extract(7, 7, mask) == 1, b, a)),
    "_mm256_blend_epi16": lambda select, a, b: [(b if select >> i // 2 % 8 & 1 else a)[i] for i in range(32)],
    "_mm256_castsi256_ps": lambda a: a,
    "_mm256_castsi256_si128": lambda a: a[:HALF],
    "_mm256_extracti128_si256": lambda n, a: a[HALF * n:HALF * n + HALF],
    "_mm256_set_m128i": lambda high, low: low + high,
    "_mm256_cvtepu8_epi16": lambda a: widened(1, 2)(a[:16]),
    "_mm256_cvtepu8_epi32": lambda a: widened(1, 4)(a[:8]),
    "_mm256_cvtepu16_epi32": lambda a: widened(2, 4)(a[:16]),
    "_mm256_cvtepi16_epi32": lambda a: parts(SignExt(16, value) for value in elements(a[:16], 2)),
    "_mm256_madd_epi16": madd(2),
    "_mm256_maddubs_epi16": maddubs,
    "_mm256_movemask_ps": signs_of(4, "i32"),
    "_mm256_packs_epi16": packed_signed(2),
    "_mm256_packs_epi32": packed_signed(4),
    "_mm256_packus_epi16": packed(2),
    "_mm256_packus_epi32": packed(4),
    "_mm256_permute2x128_si256": permuted_halves,
    "_mm256_permute4x64_epi64": permuted_quarters,
    "_mm256_permutevar8x32_epi32": lambda a, order: permuted_by(4, 3)(order, a),
    "_mm256_set_epi32": in_reverse(4),
    "_mm256_set_epi64x": in_reverse(8),
    "_mm256_set1_epi64x": lambda value: splat(Int(value, "u64").bits() if isinstance(value, int) else value.bits(), 32),
    "_mm256_shuffle_epi32": permuted_words,
    "_mm256_shuffle_epi8": shuffled,
    "_mm_shuffle_epi8": shuffled,
    "_mm_setr_epi8": lambda *values: [value.bits() for value in values],
    "_mm_srli_si128": lambda n, a: a[n:] + [BitVecVal(0, 8)] * n,
    "_mm_unpackhi_epi64": interleaved(8, True),
    "_mm_extract_epi64": lambda n, a: Int(join(a[8 * n:8 * n + 8]), "i64"),
    "_mm_loadl_epi64": lambda pointer: pointer.read(8) + [BitVecVal(0, 8)] * 8,
    "_mm_storeu_si128": lambda place, lanes: place.store(lanes),
    "_mm_storel_epi64": lambda place, lanes: place.store(lanes[:8]),
}
for width in (1, 2, 4, 8):
    bits = 8 * width
    AVX2 |= {
        f"_mm256_add_epi{bits}": by_lanes(width)(lambda a, b: a + b),
        f"_mm256_sub_epi{bits}": by_lanes(width)(lambda a, b: a - b),
        f"_mm256_cmpeq_epi{bits}": by_lanes(width)(lambda a, b: all_bits(a == b, a.size())),
        f"_mm256_cmpgt_epi{bits}": by_lanes(width)(lambda a, b: all_bits(a > b, a.size())),
        f"_mm256_max_epu{bits}": by_lanes(width)(choose_most),
        f"_mm256_min_epu{bits}": by_lanes(width)(choose_least),
        f"_mm256_unpacklo_epi{bits}": interleaved(width, False),
        f"_mm256_unpackhi_epi{bits}": interleaved(width, True),
        f"_mm256_slli_epi{bits}": lambda n, a, width=width: by_lanes(width)(lambda x: x << n)(a),
        f"_mm256_srli_epi{bits}": lambda n, a, width=width: by_lanes(width)(lambda x: LShR(x, n))(a),
    }
AVX2["_mm256_set1_epi16"] = lambda value: splat(value.bits(), 32)
VECTORS.update(AVX2)


class Layout:
    """The bytes that a row of a table moves to the front, by the bits of its mask.

    `slots` returns a list: the condition that there is a byte, and the index of the byte for each condition. `valid` is the condition
    that the mask occurs. `size` is the number of bytes of a row.
    """

    def __init__(self, slots, bits=8, size=16, valid=lambda bits: True, length=None):
        self.slots, self.bits, self.size, self.valid, self.length = slots, bits, size, valid, length


def kept_lanes(width, is_kept=lambda bit: bit):
    return lambda bits: [(is_kept(bits[i]), [(True, width * i + part)]) for i in range(8) for part in range(width)]


def one_or_two(bits):
    return [slot for i in range(8) for slot in ((True, [(True, 2 * i)]), (bits[i], [(True, 2 * i + 1)]))]


def one_to_three(bits):
    return [slot for i in range(4) for slot in (
        (True, [(True, 4 * i)]), (bits[i], [(True, 4 * i + 1)]), (bits[i + 4], [(True, 4 * i + 2)]),
    )]


def in_bmp(bits):
    found = []
    for i in range(4):
        two, three, at = bits[i], bits[i + 4], 4 * i
        found += [
            (True, [(three, at + 2), (two, at + 3), (True, at)]),
            (two, [(three, at + 3), (True, at + 1)]),
            (three, [(True, at + 1)]),
        ]
    return found


def each_three_is_two(bits):
    found = True
    for i in range(4):
        found = both(found, either(bits[i], opposite(bits[i + 4])))
    return found


def one_to_four(bits):
    """The length minus 1 is `low + 2 * high`. The last byte of a sequence is the first in its lane."""
    found = []
    for i in range(4):
        low, high, at = bits[i], bits[i + 4], 4 * i
        four, three, two = both(low, high), both(opposite(low), high), both(low, opposite(high))
        found += [
            (True, [(four, at + 3), (three, at + 2), (two, at + 1), (True, at)]),
            (either(low, high), [(four, at + 2), (three, at + 1), (True, at)]),
            (high, [(four, at + 1), (True, at)]),
            (four, [(True, at)]),
        ]
    return found


def lengths_of_four(bits):
    return 4, [(1, bits[:4]), (2, bits[4:])]


def one_or_two_units(is_swapped):
    def slots(bits):
        return [
            (True if unit == 0 else bits[i], [(True, 4 * i + 2 * unit + (part ^ is_swapped))]) for i in range(4) for unit in range(2) for part in range(2)
        ]

    return slots


def inserted(bits):
    return [slot for i in range(8) for slot in ((True, [(True, i)]), (bits[i], [(True, i + 8)]))]


# By the file and the name of the table.
LAYOUTS = {
    ("shuffles.rs", "UNITS"): Layout(kept_lanes(2)),
    ("shuffles.rs", "ONE_OR_TWO"): Layout(one_or_two),
    ("shuffles.rs", "ONE_TO_THREE"): Layout(one_to_three, valid=each_three_is_two),
    ("shuffles.rs", "IN_BMP"): Layout(in_bmp, valid=each_three_is_two),
    ("quoted.rs", "KEPT"): Layout(kept_lanes(1), size=8),
}
