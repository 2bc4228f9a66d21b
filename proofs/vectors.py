"""Symbolic masks, counts and compressed vectors, and the instructions of AVX-512 on them.

- A mask has a list of bits. A position in the output is a `Total`: a number plus the numbers of set bits of masks.
- A compressed vector is either stored, with its mask (`Packed`), or used lane by lane. For the second case the caller of `Paths`
  selects a lane and its rank: after the compression the lane has the index `rank`, and the other lanes have any value.
"""

from z3 import And, BitVec, BitVecVal, BoolVal, Concat, Extract, If, LShR, Not, Or, SolverFor, UGE, UGT, ULE, ULT, Xor, is_bv, is_false, is_true, unsat

from model import EXECUTED, Int, Pointer, Slice, WIDTHS, by_lanes, join, look_up, once_simplified, saturating_sub, splat, split


def boolean(value):
    """Converts a condition to a Python truth value if it is known."""
    if isinstance(value, bool):
        return value
    value = once_simplified(value)
    return True if is_true(value) else False if is_false(value) else value


def z3_bool(value):
    return BoolVal(value) if isinstance(value, bool) else value


def either(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        known, other = (a, b) if isinstance(a, bool) else (b, a)
        return known or other
    return boolean(Or(a, b))


def both(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        known, other = (a, b) if isinstance(a, bool) else (b, a)
        return known and other
    return boolean(And(a, b))


def opposite(a):
    return not a if isinstance(a, bool) else boolean(Not(a))


def differ(a, b):
    return boolean(Xor(z3_bool(a), z3_bool(b)))


OF_BITS = {"|": either, "&": both, "^": differ, "==": lambda a, b: opposite(differ(a, b))}


def bit_by_bit(operator, left, right):
    """Returns the bits of the result of an operation on two lists of bits."""
    key = (operator, *(-1 - bit if isinstance(bit, bool) else bit.get_id() for bit in (*left, *right)))
    if key not in EXECUTED:
        EXECUTED[key] = [OF_BITS[operator](a, b) for a, b in zip(left, right)], (left, right)
    return EXECUTED[key][0]


class Mask:
    """An integer as a list of bits, the lowest first."""

    def __init__(self, bits, kind):
        assert len(bits) == WIDTHS[kind]
        self.list, self.kind = list(bits), kind

    def to(self, kind):
        width = WIDTHS[kind]
        return Mask((self.list + [False] * width)[:width], kind)

    def bits(self):
        one, zero = BitVecVal(1, 1), BitVecVal(0, 1)
        return Concat(*(If(z3_bool(bit), one, zero) for bit in reversed(self.list)))

    def any(self):
        return boolean(Or(*map(z3_bool, self.list)))

    def count(self):
        return Total(0, [(1, self)])

    def trailing_zeros(self):
        width = len(self.list)
        found = BitVecVal(width, 32)
        for i in reversed(range(width)):
            found = If(z3_bool(self.list[i]), BitVecVal(i, 32), found)
        return Int(found, "u32")


def mask_of(value, width):
    """The first bits of an integer."""
    if isinstance(value, Mask):
        return value.list[:width]
    if isinstance(value, Int) and is_bv(value.value):
        return [boolean(Extract(i, i, value.value) == 1) for i in range(width)]
    if isinstance(value, Ones):
        return [i < width - value.shift for i in range(width)]
    number = value.value if isinstance(value, Int) else value
    return [bool(number >> i & 1) for i in range(width)]


class Total:
    """A number plus multiples of the numbers of set bits of masks."""

    def __init__(self, number, terms=()):
        self.number, self.terms = number, list(terms)

    @staticmethod
    def of(value):
        return value if isinstance(value, Total) else Total(value.number() if isinstance(value, Int) else value)

    def __add__(self, other):
        return Total(self.number + other.number, self.terms + other.terms)

    def times(self, factor):
        return Total(self.number * factor, [(scale * factor, mask) for scale, mask in self.terms])

    def equals(self, other):
        """Whether the terms are the same. The widths of the masks may differ."""
        def bits(mask):
            return mask.list + [False] * (64 - len(mask.list))

        return self.number == other.number and len(self.terms) == len(other.terms) and all(
            a == b and all(x is y or z3_bool(x).eq(z3_bool(y)) for x, y in zip(bits(mask), bits(expected)))
            for (a, mask), (b, expected) in zip(self.terms, other.terms)
        )

    def most(self):
        """An upper bound."""
        return self.number + sum(scale * sum(bit is not False for bit in mask.list) for scale, mask in self.terms)

    def variable(self):
        """A variable for a single count. The same count has the same variable."""
        (scale, mask), = self.terms
        assert scale == 1 and self.number == 0
        return BitVec(f"count_{id(mask)}", 64)


class PowerOfTwo:
    """`1 << count`."""

    def __init__(self, exponent):
        self.exponent = exponent


class Packed:
    """A vector compressed to the elements of `width` bytes whose bit is set."""

    def __init__(self, mask, lanes, width):
        self.mask, self.lanes, self.width = mask, lanes, width


class Ones:
    """`!0 >> shift`, whose type is determined by its use."""

    def __init__(self, shift):
        self.shift = shift


def is_never(condition):
    solver = SolverFor("QF_BV")
    solver.add(condition)
    return solver.check() == unsat


class Output:
    """The memory that a function writes, in bytes. `size` is that of an element."""

    def __init__(self, length, size=1):
        self.length, self.size, self.stores = length, size, []


class Place:
    """A position in the output."""

    def __init__(self, output, at):
        self.output, self.at = output, at

    def store(self, lanes, mask=None):
        room = len(lanes.lanes if isinstance(lanes, Packed) else lanes)
        if mask is not None:
            room = max((i + 1 for i, bit in enumerate(mask) if bit is not False), default=0)
            # Bits that depend on data may be unset in each case.
            end = max(self.output.length - self.at.most(), 0)
            if room > end and is_never(Or(*map(z3_bool, mask[end:]))):
                room = end
        assert self.at.most() + room <= self.output.length, f"writes up to {self.at.most() + room} of {self.output.length}"
        self.output.stores.append((self.at, lanes, mask))


class Element:
    """A reference to an element of an array."""

    def __init__(self, array, index):
        self.array, self.index = array, index


class Text(Slice):
    """Text."""


def elements(vector, width):
    return [join(vector[i:i + width]) for i in range(0, len(vector), width)]


def parts(values):
    return [part for value in values for part in split(value)]


def number_of(count):
    return {64: "u64", 32: "u32", 16: "u16", 8: "u8"}[count]


def compare_lanes(operation, width):
    def apply(a, b):
        bits = [boolean(operation(x, y)) for x, y in zip(elements(a, width), elements(b, width))]
        return Mask(bits, number_of(len(bits)))

    return apply


def select(width):
    """An instruction that selects lanes of `a` or `b` by a mask."""

    def apply(mask, a, b):
        a, b = elements(a, width), elements(b, width)
        return parts(If(z3_bool(bit), y, x) for bit, x, y in zip(mask_of(mask, len(a)), a, b))

    return apply


def masked(width, operation):
    return lambda source, mask, *vectors: select(width)(mask, source, operation(*vectors))


def widened(from_width, to_width):
    def apply(vector):
        zero = BitVecVal(0, 8)
        return [lane for i in range(0, len(vector), from_width) for lane in vector[i:i + from_width] + [zero] * (to_width - from_width)]

    return apply


def permuted(width, index_bits):
    def apply(a, order, b):
        table = elements(a + b, width)
        return parts(look_up(table, Extract(index_bits - 1, 0, index)) for index in elements(order, width))

    return apply


def masked_read(width, count):
    def apply(mask, pointer, otherwise=None):
        found = []
        for i, bit in enumerate(mask_of(mask, count)):
            assert isinstance(bit, bool), "the mask of a load is symbolic"
            zero = [BitVecVal(0, 8)] * width if otherwise is None else otherwise[i * width:(i + 1) * width]
            found += Pointer(pointer.memory, pointer.at + i * width).read(width) if bit else zero
        return found

    return apply


def madd(pairs_signed_by):
    """Adds the products of neighbors."""
    def apply(a, b):
        found = []
        width = pairs_signed_by
        extend = 8 * width
        for i in range(0, len(a), 2 * width):
            products = []
            for j in (i, i + width):
                x, y = join(a[j:j + width]), join(b[j:j + width])
                # The bytes of the first operand are unsigned, words are signed. No sum that occurs here saturates.
                left = Concat(BitVecVal(0, extend), x) if width == 1 else Concat(*[Extract(extend - 1, extend - 1, x)] * extend, x)
                right = Concat(*[Extract(extend - 1, extend - 1, y)] * extend, y)
                products.append(left * right)
            found += split(products[0] + products[1])
        return found

    return apply


def packed(width):
    """Narrows signed elements of two vectors to unsigned ones, in each 128 bits the first vector before the second."""
    most = (1 << (4 * width)) - 1

    def narrow(value):
        low = Extract(4 * width - 1, 0, value)
        return If(value < 0, BitVecVal(0, 4 * width), If(value > most, BitVecVal(most, 4 * width), low))

    def apply(a, b):
        return [part for i in range(0, len(a), 16) for half in (a, b) for value in elements(half[i:i + 16], width) for part in split(narrow(value))]

    return apply


def in_reverse(width):
    """The elements of a vector are named from the last to the first."""
    return lambda *values: [part for value in reversed(values) for part in split(Extract(8 * width - 1, 0, (Int(value, "u64") if isinstance(value, int) else value.to("u64")).bits()))]


def unsigned_saturated(value):
    return If(UGT(value, BitVecVal(0xFFFF, 32)), BitVecVal(0xFFFF, 16), Extract(15, 0, value))


def permuted_by(width, index_bits):
    """An instruction that selects elements of one vector."""
    def apply(order, a):
        table = elements(a, width)
        return parts(look_up(table, Extract(index_bits - 1, 0, index)) for index in elements(order, width))

    return apply


COMPARISONS = {
    "eq": (lambda a, b: a == b, lambda a, b: a == b),
    "lt": (lambda a, b: a < b, ULT), "le": (lambda a, b: a <= b, ULE),
    "gt": (lambda a, b: a > b, UGT), "ge": (lambda a, b: a >= b, UGE),
}

VECTORS = {
    "_mm512_movepi8_mask": lambda a: Mask([boolean(Extract(7, 7, lane) == 1) for lane in a], "u64"),
    "_mm512_and_si512": by_lanes(8)(lambda a, b: a & b),
    "_mm512_castsi512_si256": lambda a: a[:32],
    "_mm512_castsi512_si128": lambda a: a[:16],
    "_mm512_extracti64x4_epi64": lambda n, a: a[32 * n:32 * n + 32],
    "_mm512_extracti32x4_epi32": lambda n, a: a[16 * n:16 * n + 16],
    "_mm512_cvtepu8_epi16": widened(1, 2),
    "_mm512_cvtepu8_epi32": widened(1, 4),
    "_mm512_cvtepu16_epi32": widened(2, 4),
    "_mm512_cvtepi16_epi8": lambda a: a[::2],
    "_mm512_set4_epi32": lambda *values: [lane for value in reversed(values) for lane in split(value.bits())] * 4,
    "_mm512_shldi_epi16": lambda n, a, b: by_lanes(2)(lambda x, y: Extract(31, 16, Concat(x, y) << n))(a, b),
    "_mm512_shuffle_epi8": lambda a, order: [
        If(Extract(7, 7, index) == 1, BitVecVal(0, 8), look_up(a[i // 16 * 16:i // 16 * 16 + 16], Extract(3, 0, index)))
        for i, index in enumerate(order)
    ],
    "_mm512_permutex2var_epi8": permuted(1, 7),
    "_mm512_permutex2var_epi16": permuted(2, 6),
    "_mm512_permutex2var_epi32": permuted(4, 5),
    "_mm512_maddubs_epi16": madd(1),
    "_mm512_madd_epi16": madd(2),
    "_mm512_maskz_loadu_epi8": masked_read(1, 64),
    "_mm512_mask_permutexvar_epi8": lambda source, mask, order, table: [
        look_up(table, Extract(5, 0, index)) if bit else old for old, bit, index in zip(source, mask_of(mask, 64), order)
    ],
    "_mm512_maskz_loadu_epi16": masked_read(2, 32),
    "_mm512_mask_loadu_epi8": lambda source, mask, pointer: masked_read(1, 64)(mask, pointer, source),
    "_mm512_maskz_set1_epi8": lambda mask, value: select(1)(mask, [BitVecVal(0, 8)] * 64, splat(value.bits(), 64)),
    "_mm512_storeu_si512": lambda place, lanes: place.store(lanes),
    "_mm256_storeu_si256": lambda place, lanes: place.store(lanes),
    "_mm512_mask_storeu_epi8": lambda place, mask, lanes: place.store(lanes, mask_of(mask, 64)),
    "_mm512_mask_storeu_epi16": lambda place, mask, lanes: place.store(
        lanes, [bit for bit in mask_of(mask, 32) for _ in range(2)]),
    "_pdep_u64": None,
    "_mm512_setzero_si512": lambda: [BitVecVal(0, 8)] * 64,
    "_mm512_maskz_sub_epi8": lambda mask, a, b: select(1)(mask, [BitVecVal(0, 8)] * 64, by_lanes(1)(lambda x, y: x - y)(a, b)),
    "_mm512_mask_cmpeq_epi8_mask": lambda mask, a, b: Mask(
        [both(bit, boolean(x == y)) for bit, x, y in zip(mask_of(mask, 64), a, b)], "u64"),
    "_mm_maskz_loadu_epi8": masked_read(1, 16),
    "_mm256_maskz_loadu_epi8": masked_read(1, 32),
    "_mm512_maskz_loadu_epi32": masked_read(4, 16),
    "_mm256_cmpeq_epi8_mask": compare_lanes(lambda a, b: a == b, 1),
    "_mm256_zextsi128_si256": lambda a: a + [BitVecVal(0, 8)] * 16,
    "_mm512_castsi256_si512": lambda a: a + a,
    "_mm512_inserti64x4": lambda n, a, b: a[:32] + b if n else b + a[32:],
    "_mm512_cvtusepi32_epi16": lambda a: parts(map(unsigned_saturated, elements(a, 4))),
    "_mm512_testn_epi16_mask": compare_lanes(lambda a, b: a & b == 0, 2),
    "_mm512_mullo_epi16": by_lanes(2)(lambda a, b: a * b),
    "_mm512_packus_epi16": packed(2),
    "_mm512_packus_epi32": packed(4),
    "_mm512_permutexvar_epi64": permuted_by(8, 3),
    "_mm512_permutexvar_epi32": permuted_by(4, 4),
    "_mm512_mask_permutexvar_epi16": lambda source, mask, order, a: select(2)(mask, source, permuted_by(2, 5)(order, a)),
    "_mm512_set_epi64": in_reverse(8),
    "_mm512_set_epi32": in_reverse(4),
    "_mm256_mask_storeu_epi8": lambda place, mask, lanes: place.store(lanes, mask_of(mask, 32)),
    "_mm512_mask_storeu_epi32": lambda place, mask, lanes: place.store(
        lanes, [bit for bit in mask_of(mask, 16) for _ in range(4)]),
    "_mm512_subs_epu8": by_lanes(1)(saturating_sub),
    "_mm512_max_epu8": by_lanes(1)(lambda a, b: If(ULT(a, b), b, a)),
    "_mm512_min_epu8": by_lanes(1)(lambda a, b: If(ULT(a, b), a, b)),
    "_mm256_cmpeq_epi8": by_lanes(1)(lambda a, b: If(a == b, BitVecVal(0xFF, 8), BitVecVal(0, 8))),
    "_mm256_movemask_epi8": lambda a: Mask([boolean(Extract(7, 7, lane) == 1) for lane in a], "i32"),
    "_mm256_testz_si256": lambda a, b: If(join(a) & join(b) == 0, BitVecVal(1, 32), BitVecVal(0, 32)),
}
for count in (8, 16, 32):
    width = count // 8
    for name, (signed, unsigned) in COMPARISONS.items():
        VECTORS[f"_mm512_cmp{name}_epi{count}_mask"] = compare_lanes(signed, width)
        VECTORS[f"_mm512_cmp{name}_epu{count}_mask"] = compare_lanes(unsigned, width)
    VECTORS[f"_mm512_test_epi{count}_mask"] = compare_lanes(lambda a, b: a & b != 0, width)
    VECTORS[f"_mm512_set1_epi{count}"] = lambda value: splat(value.bits(), 64)
    VECTORS[f"_mm512_add_epi{count}"] = by_lanes(width)(lambda a, b: a + b)
    VECTORS[f"_mm512_sub_epi{count}"] = by_lanes(width)(lambda a, b: a - b)
    VECTORS[f"_mm512_slli_epi{count}"] = lambda n, a, width=width: by_lanes(width)(lambda x: x << n)(a)
    VECTORS[f"_mm512_srli_epi{count}"] = lambda n, a, width=width: by_lanes(width)(lambda x: LShR(x, n))(a)
    VECTORS[f"_mm512_mask_add_epi{count}"] = masked(width, VECTORS[f"_mm512_add_epi{count}"])
    VECTORS[f"_mm512_mask_mov_epi{count}"] = masked(width, lambda a: a)
    VECTORS[f"_mm512_maskz_mov_epi{count}"] = lambda mask, a, width=width: select(width)(mask, [BitVecVal(0, 8)] * 64, a)
    VECTORS[f"_mm512_mask_blend_epi{count}"] = select(width)
