"""The instructions of NEON that the conversions use.

A register is a list of bytes, and several registers in a row (`uint8x16x4_t`) are a list of registers. `vld1q_u8_x4` returns 64 bytes,
because the validation kernel uses it only as a table.
"""

from z3 import BitVecVal, Extract, LShR, UGE, UGT, ULT, ZeroExt

from avx2 import all_bits, choose_least, choose_most
from model import Int, by_lanes, look_up, saturating_sub, split
from vectors import VECTORS, elements, parts

ZERO = BitVecVal(0, 8)


def kind_of(width, letter="u"):
    return f"{letter}{8 * width}"


def zipped(width, half):
    """Elements of two vectors in turn, from their low or high halves."""
    def apply(a, b):
        a, b = elements(a, width), elements(b, width)
        first = half * len(a) // 2
        return parts(value for i in range(first, first + len(a) // 2) for value in (a[i], b[i]))

    return apply


def every_second(width, first):
    return lambda a, b: parts(elements(a + b, width)[first::2])


def transposed(width, first):
    def apply(a, b):
        a, b = elements(a, width), elements(b, width)
        return parts(value for i in range(first, len(a), 2) for value in (a[i], b[i]))

    return apply


def shifted_in(width, is_left):
    """Shifts `b` and keeps the bits of `a` that no bit of it is shifted to."""
    def apply(n, a, b):
        whole = (1 << 8 * width) - 1
        moved = whole << n & whole if is_left else whole >> n
        kept = BitVecVal(whole & ~moved, 8 * width)
        return by_lanes(width)(lambda x, y: x & kept | (y << n if is_left else LShR(y, n)))(a, b)

    return apply


def reduced(width, operation):
    def apply(a):
        values = elements(a, width)
        found = values[0]
        for value in values[1:]:
            found = operation(found, value)
        return Int(found, kind_of(width))

    return apply


def of_neighbors(width, operation):
    """Results for neighbors, those of the first vector before those of the second."""
    def apply(a, b):
        values = elements(a + b, width)
        return parts(operation(x, y) for x, y in zip(values[::2], values[1::2]))

    return apply


def widened_sums(width):
    def apply(a):
        values = [ZeroExt(8 * width, value) for value in elements(a, width)]
        return parts(x + y for x, y in zip(values[::2], values[1::2]))

    return apply


def set_bits(value):
    return sum((ZeroExt(7, Extract(i, i, value)) for i in range(1, 8)), ZeroExt(7, Extract(0, 0, value)))


def looked_up(table, order):
    return [look_up(table, index, ZERO) for index in order]


def reversed_in(width):
    """The bytes of each element in reverse."""
    return lambda a: [lane for i in range(0, len(a), width) for lane in reversed(a[i:i + width])]


def in_turn(count):
    """Reads elements of `count` bytes, the bytes of the same place to one register."""
    def apply(pointer):
        memory = pointer.read(16 * count)
        return [memory[i::count] for i in range(count)]

    return apply


def stored_in_turn(place, registers):
    place.store([lane for group in zip(*registers) for lane in group])


def splat_of(width, length):
    def apply(value):
        value = value if isinstance(value, Int) else Int(value, kind_of(width))
        return (split(value.bits()) if width > 1 else [value.bits()]) * (length // width)

    return apply


NEON = {
    "vceqzq_u8": by_lanes(1)(lambda a: all_bits(a == 0, 8)),
    "vcltzq_s8": by_lanes(1)(lambda a: all_bits(a < 0, 8)),
    "vcltq_s8": by_lanes(1)(lambda a, b: all_bits(a < b, 8)),
    "vcgtq_s8": by_lanes(1)(lambda a, b: all_bits(a > b, 8)),
    "vshrq_n_s8": lambda n, a: by_lanes(1)(lambda x: x >> n)(a),
    "vmvnq_u8": by_lanes(1)(lambda a: ~a),
    "vmlaq_u8": by_lanes(1)(lambda a, b, c: a + b * c),
    "vcntq_u8": by_lanes(1)(set_bits),
    "vcnt_u8": by_lanes(1)(set_bits),
    "vadd_u8": by_lanes(1)(lambda a, b: a + b),
    "vrev16q_u8": reversed_in(2),
    "vrev32q_u8": reversed_in(4),
    "vqtbl1q_u8": looked_up,
    "vqtbl1_u8": looked_up,
    "vqtbl2q_u8": lambda tables, order: looked_up(sum(tables, []), order),
    "vqtbl3q_u8": lambda tables, order: looked_up(sum(tables, []), order),
    "vqtbl4q_u8": lambda tables, order: looked_up(sum(tables, []) if isinstance(tables[0], list) else tables, order),
    "vqtbx4q_u8": lambda a, tables, order: [look_up(sum(tables, []), index, other) for other, index in zip(a, order)],
    "vpmaxq_u32": of_neighbors(4, choose_most),
    "vpaddq_u16": of_neighbors(2, lambda a, b: a + b),
    "vmovl_u8": lambda a: [lane for value in a for lane in (value, ZERO)],
    "vshrn_n_u16": lambda n, a: parts(Extract(7, 0, LShR(value, n)) for value in elements(a, 2)),
    "vaddvq_u32": reduced(4, lambda a, b: a + b),
    "vld1_u8": lambda pointer: pointer.read(8),
    "vld1q_u32": lambda pointer: pointer.read(16),
    "vld1q_dup_u8": lambda pointer: pointer.read(1) * 16,
    "vld2q_u8": in_turn(2),
    "vld4q_u8": in_turn(4),
    "vst1_u8": lambda place, lanes: place.store(lanes),
    "vst1q_u8": lambda place, lanes: place.store(lanes),
    "vst1q_u8_x4": lambda place, lanes: place.store(sum(lanes, []) if isinstance(lanes[0], list) else lanes),
    "vst3q_u8": stored_in_turn,
    "vst4q_u8": stored_in_turn,
    "vget_low_u8": lambda a: a[:8],
    "vget_high_u8": lambda a: a[8:],
    "vcombine_u8": lambda low, high: low + high,
    "vdup_n_u8": splat_of(1, 8),
    "uint8x16x2_t": lambda *registers: list(registers),
    "uint8x16x3_t": lambda *registers: list(registers),
    "uint8x16x4_t": lambda *registers: list(registers),
}
for width in (1, 2, 4, 8):
    kind, bits = kind_of(width), 8 * width
    NEON |= {
        f"vdupq_n_{kind}": splat_of(width, 16),
        f"vandq_{kind}": by_lanes(width)(lambda a, b: a & b),
        f"vorrq_{kind}": by_lanes(width)(lambda a, b: a | b),
        f"veorq_{kind}": by_lanes(width)(lambda a, b: a ^ b),
        f"vbicq_{kind}": by_lanes(width)(lambda a, b: a & ~b),
        f"vbslq_{kind}": by_lanes(width)(lambda mask, a, b: a & mask | b & ~mask),
        f"vaddq_{kind}": by_lanes(width)(lambda a, b: a + b),
        f"vsubq_{kind}": by_lanes(width)(lambda a, b: a - b),
        f"vqsubq_{kind}": by_lanes(width)(saturating_sub),
        f"vmaxq_{kind}": by_lanes(width)(choose_most),
        f"vminq_{kind}": by_lanes(width)(choose_least),
        f"vceqq_{kind}": by_lanes(width)(lambda a, b: all_bits(a == b, a.size())),
        f"vcgtq_{kind}": by_lanes(width)(lambda a, b: all_bits(UGT(a, b), a.size())),
        f"vcgeq_{kind}": by_lanes(width)(lambda a, b: all_bits(UGE(a, b), a.size())),
        f"vcltq_{kind}": by_lanes(width)(lambda a, b: all_bits(ULT(a, b), a.size())),
        f"vshlq_n_{kind}": lambda n, a, width=width: by_lanes(width)(lambda x: x << n)(a),
        f"vshrq_n_{kind}": lambda n, a, width=width: by_lanes(width)(lambda x: LShR(x, n))(a),
        f"vsliq_n_{kind}": shifted_in(width, True),
        f"vsriq_n_{kind}": shifted_in(width, False),
        f"vextq_{kind}": lambda n, a, b, width=width: (a + b)[n * width:n * width + 16],
        f"vzip1q_{kind}": zipped(width, 0),
        f"vzip2q_{kind}": zipped(width, 1),
        f"vuzp1q_{kind}": every_second(width, 0),
        f"vuzp2q_{kind}": every_second(width, 1),
        f"vtrn1q_{kind}": transposed(width, 0),
        f"vtrn2q_{kind}": transposed(width, 1),
        f"vmaxvq_{kind}": reduced(width, choose_most),
        f"vminvq_{kind}": reduced(width, choose_least),
        f"vpaddlq_{kind}": widened_sums(width),
        f"vget_lane_{kind}": lambda n, a, width=width: Int(elements(a, width)[n], kind_of(width)),
        f"vgetq_lane_{kind}": lambda n, a, width=width: Int(elements(a, width)[n], kind_of(width)),
    }
    if width > 1:
        NEON[f"vmovn_{kind}"] = lambda a, width=width: [lane for i in range(0, len(a), width) for lane in a[i:i + width // 2]]
    for other in (1, 2, 4, 8):
        for to in "us":
            for of in "us":
                for q in ("q", ""):
                    NEON[f"vreinterpret{q}_{kind_of(other, to)}_{kind_of(width, of)}"] = lambda a: a
VECTORS.update(NEON)
