"""Computes the conversions of NEON, which compress parts of a vector by tables of shuffles (`compressed.py`).

NEON has no instruction that moves a bit of each lane to a general register. The functions that do so are computed once, over any
mask (`prove_sums`, `prove_any`, `prove_bits`). Where a kernel calls them, their results are masks of conditions, and the
obligation remains that all bits of a lane are equal.
"""

from z3 import And, BitVec, BitVecVal, Bool, Extract, If, LShR, Not, Or, UGE, UGT, ULE, ULT, ZeroExt, is_bv, simplify

import formulas
# Adds the instructions to `VECTORS`.
import neon  # noqa: F401
from compressed import Kernel, leaves, sum_of_total
from model import Array, Int, Slice, WIDTHS, split
from rust import Source
from vectors import Mask, Place, Total, VECTORS, boolean, both, either, elements, is_never, opposite, z3_bool

AARCH64 = "arch/aarch64/"
COMPRESS, CONVERT = (f"{AARCH64}{name}.rs" for name in ("compress", "convert"))
SHUFFLES = "arch/shuffles.rs"
WIDTH, BLOCK = 16, 64
REGISTERS = ("uint8x16x2_t", "uint8x16x3_t", "uint8x16x4_t", "vld4q_u8", "vqtbl4q_u8", "vqtbx4q_u8", "vst4q_u8", "vst1q_u8_x4")


def sources(*names):
    return [Source(formulas.ROOT / name) for name in names]


def arch(*names):
    return sources(*(f"{AARCH64}{name}.rs" for name in names))


def has_any(lanes):
    """`any`: whether a bit is set."""
    return boolean(Or(*(lane != 0 for lane in lanes)))


def are_ascii(lanes):
    """`is_ascii`."""
    return opposite(boolean(Or(*(UGE(lane, 0x80) for lane in lanes))))


def symbolic(name, count):
    return [BitVec(f"{name}{i}", 8) for i in range(count)]


class Sum:
    """A mask of 8 bits in the low byte, and in the high byte the number of its bits."""

    def __init__(self, bits):
        self.mask = Mask(bits, "u8")


class Widths:
    """The result of `widths`: the bits of both masks."""

    def __init__(self, low, high):
        self.low, self.high = low, high


class Extreme(Int):
    """The greatest or the least of some numbers. It is compared with a number by a comparison of each."""

    def __init__(self, found, values, is_most):
        super().__init__(found.value, found.kind)
        self.values, self.is_most = values, is_most

    def compare(self, operator, number):
        number = BitVecVal(number, WIDTHS[self.kind])
        if self.is_most:
            below = And(*((ULT if operator in ("<", ">=") else ULE)(value, number) for value in self.values))
            return below if operator in ("<", "<=") else Not(below)
        above = And(*((UGE if operator in ("<", ">=") else UGT)(value, number) for value in self.values))
        return above if operator in (">", ">=") else Not(above)


class Added(Int):
    """The sum of all lanes, of which the low byte is a mask of 8 bits, and the others may be the number of these bits."""


class MaskBytes(list):
    """The bytes of a mask of 64 bits."""

    def __init__(self, mask):
        super().__init__(split(mask.bits()))
        self.masks = [Mask(mask.list[i:i + 8], "u8") for i in range(0, 64, 8)]


class Neon(Kernel):
    """A machine for NEON. With `is_real` it computes the functions that have proofs below."""

    def __init__(self, *given, replaced=(), is_real=False, **options):
        helpers = {} if is_real else {
            "sums": self.sums, "sums_of_4_bytes": self.sums_of_4_bytes, "widths": self.widths, "sums_of_4": self.sums_of_4,
            "any": has_any, "is_ascii": are_ascii, "bits": self.bits,
        }
        super().__init__(*given, replaced=helpers | dict(replaced), **options)
        # What `store_kept` counts, and the mask of bytes that it writes without a shuffle.
        self.counts, self.first_bytes = {}, None
        self.bits_of = {}
        # The constants of the calls of functions that are replaced.
        self.generics = []

    # The functions that have proofs below.

    def bits_of_lanes(self, lanes, width=1):
        """A condition for each lane of a mask."""
        found = []
        for lane in elements(lanes, width):
            ones = BitVecVal(-1, 8 * width)
            self.oblige(Or(lane == 0, lane == ones))
            found.append(boolean(Extract(0, 0, lane) == 1))
        return found

    def oblige(self, claim):
        claim = boolean(claim)
        if claim is not True:
            self.obligations.append(claim)

    def sums(self, mask):
        bits = self.bits_of_lanes(mask)
        return Array([Sum(bits[:8]), Sum(bits[8:])])

    def sums_of_4_bytes(self, low, high):
        low, high = self.bits_of_lanes(low), self.bits_of_lanes(high)
        return Array([Sum(low[i:i + 4] + high[i:i + 4]) for i in range(0, WIDTH, 4)])

    def widths(self, low, high):
        return Widths(self.bits_of_lanes(low, 2), self.bits_of_lanes(high, 2))

    @staticmethod
    def sums_of_4(widths):
        return Array([Sum(it.low[i:i + 4] + it.high[i:i + 4]) for it in widths for i in (0, 4)])

    def bits(self, block):
        lanes = [self.bits_of_lanes(vector) for vector in block]
        return Mask([lanes[i % 4][i // 4] for i in range(BLOCK)], "u64")

    # Masks in general registers.

    def named_bits(self, value, count=8):
        """The low bits of a number as new conditions, which a premise defines."""
        key = value.get_id()
        if key not in self.bits_of:
            bits = []
            for i in range(count):
                bit = boolean(Extract(i, i, value) == 1)
                if not isinstance(bit, bool):
                    if is_never(bit):
                        bit = False
                    else:
                        name = Bool(f"bit_{len(self.bits_of)}_{i}")
                        self.conditions.append(name == bit)
                        bit = name
                bits.append(bit)
            # The number of the term is unique as long as it exists.
            self.bits_of[key] = (bits, value)
        return self.bits_of[key][0]

    def number_of_bits(self, value):
        """The `Total` that a number is: the bits of the first bytes of a mask."""
        names = leaves(value.value)
        masks = [mask for name, (_, mask) in self.counts.items()]
        few = And(*(ULE(count, BitVecVal(8, 8)) for count, _ in self.counts.values()))
        assert names.keys() <= self.counts.keys(), "an unknown number"
        total = BitVecVal(0, 64)
        for length in range(len(masks) + 1):
            if length > 0:
                total = total + ZeroExt(56, list(self.counts.values())[length - 1][0])
            if is_never(And(few, ZeroExt(64 - value.value.size(), value.value) != total)):
                return Total(0, [(1, mask) for mask in masks[:length]])
        raise AssertionError("not the number of bits of the first bytes")

    def total_of(self, value):
        return self.number_of_bits(value) if isinstance(value, Int) and is_bv(value.value) else value

    # The source.

    def bind(self, pattern, value, names):
        if isinstance(pattern, tuple) and pattern[0] == "variant" and pattern[1] in REGISTERS:
            registers = value if isinstance(value[0], list) else [value[i:i + WIDTH] for i in range(0, len(value), WIDTH)]
            self.bind(pattern[2], registers, names)
        else:
            super().bind(pattern, value, names)

    def call(self, name, *arguments, this=None, constants=()):
        if name == "lanes":
            # The type of the parameter.
            arguments = [Array(arguments[0], "u32")]
        if name == "compress":
            assert constants[0] == len(arguments[0]) == len(arguments[2]), "another number of vectors"
        found = super().call(name, *arguments, this=this, constants=constants)
        return self.total_of(found) if name == "store_kept" else found

    def instruction(self, name, constants, arguments):
        if name in REGISTERS:
            found = VECTORS[name](*constants, *arguments)
            if isinstance(found, list) and not isinstance(found[0], list):
                found = [simplify(lane) for lane in found]
            return found
        if name in ("vqtbl1q_u8", "vqtbl1_u8") and any(self.row_of(index) for index in arguments[1]):
            return self.moved_by(*arguments, 1)
        if name == "vcnt_u8" and isinstance(arguments[0], MaskBytes):
            found = []
            for mask in arguments[0].masks:
                count = BitVec(f"count_{len(self.counts)}", 8)
                self.counts[count.decl().name()] = (count, mask)
                found.append(count)
            return found
        found = super().instruction(name, constants, arguments)
        if name.startswith(("vmaxvq_", "vminvq_")):
            return Extreme(found, elements(arguments[0], WIDTHS[found.kind] // 8), name.startswith("vmaxvq_"))
        if name == "vaddvq_u32":
            return Added(found.value, found.kind)
        if name == "vst1q_u8":
            self.merge(arguments[0].output.stores)
        return found

    def merge(self, stores):
        """Two stores of the elements of one row, one after the other, are one store."""
        if len(stores) < 2:
            return
        (place, lanes, _), (after, more, _) = stores[-2:]
        rows = [{id(self.moved[name][0].row) for lane in part for name in leaves(lane) if name in self.moved} for part in (lanes, more)]
        if len(rows[0]) == 1 and rows[0] == rows[1] and sum_of_total(after) == sum_of_total(place + Total(len(lanes))):
            stores[-2:] = [(place, lanes + more, None)]

    def compare(self, operator, left, right):
        if isinstance(left, Extreme) and operator in ("<", "<=", ">", ">=") and not is_bv(getattr(right, "value", None)):
            return left.compare(operator, self.number(right))
        return super().compare(operator, left, right)

    def operate(self, operator, left, right):
        if operator in ("&", "|") and not any(isinstance(side, (Int, int, Mask)) and not isinstance(side, bool) for side in (left, right)):
            return (both if operator == "&" else either)(left, right)
        if isinstance(left, Added):
            bits = self.named_bits(left.value)
            if operator == "&":
                return Mask([bit if self.number(right) >> i & 1 else False for i, bit in enumerate(bits)] + [False] * (WIDTHS[left.kind] - 8), left.kind)
            assert (operator, self.number(right)) == (">>", 8), operator
            count = sum((If(z3_bool(bit), BitVecVal(1, 64), BitVecVal(0, 64)) for bit in bits), BitVecVal(0, 64))
            self.oblige(LShR(left.value, 8) == count)
            return Total(0, [(1, Mask(bits, "u8"))])
        return super().operate(operator, left, right)

    def on_as(self, names, value, kind):
        value = self.evaluate(value, names)
        if isinstance(value, Added):
            return Mask(self.named_bits(value.value), "u8") if kind == "u8" else Added(value.to(kind).value, kind)
        if isinstance(value, Int) and self.counts and is_bv(value.value) and leaves(value.value).keys() & self.counts.keys():
            return value.to(kind)
        return super().on_as(names, ("value", value), kind)

    def on_path(self, names, name, constants):
        if name == "u16::to_le_bytes" and name not in names:
            return lambda value: self.on_method(names, ("value", value), "to_le_bytes", [], [])
        return super().on_path(names, name, constants)

    def on_call(self, names, function, arguments):
        _, name, constants = function
        if name == "Neon":
            # The only field of a newtype.
            return self.evaluate(arguments[0], names)
        if name.rpartition("::")[2] in self.replaced:
            self.generics.append([names[it] if it in names else it for it in constants])
        if name == "vcreate_u8":
            value = self.evaluate(arguments[0], names)
            return MaskBytes(value) if isinstance(value, Mask) else super().on_call(names, function, [("value", value)])
        if name == "usize::from" and name not in names:
            value = self.evaluate(arguments[0], names)
            if isinstance(value, Int) and is_bv(value.value):
                bits = [boolean(Extract(i, i, value.value) == 1) for i in range(WIDTHS[value.kind])]
                unknown = [(i, bit) for i, bit in enumerate(bits) if bit is not False]
                if len(unknown) == 1:
                    # Both numbers are known.
                    ((at, bit),) = unknown
                    return Int(int(self.decide(bit)) << at, "usize")
                return value.to("usize")
            return super().on_call(names, function, [("value", value)])
        return super().on_call(names, function, arguments)

    def on_field(self, names, value, field):
        value = self.evaluate(value, names)
        if isinstance(value, list) and not is_bv(value[0]):
            return value[int(field)]
        return super().on_field(names, ("value", value), field)

    def on_method(self, names, value, name, constants, arguments):
        if name == "iter_mut":
            return super().on_method(names, value, name, constants, arguments)
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        match name, value:
            case "to_le_bytes", Sum():
                return [value.mask, value.mask.count()]
            case "add", Place():
                return Place(value.output, value.at + Total.of(self.total_of(arguments[0])))
            case "into", Total():
                return value
            case "into", Int():
                return value.to("usize")
            case "as_chunks", Slice():
                size = self.size_of(constants[0], names)
                return [Slice(value.memory[i:i + size]) for i in range(0, len(value.memory) - size + 1, size)], None
            case "first_mark_before", list():
                return self.call(name, *arguments, this=value)
            case "flatten", list():
                return [it for part in value for it in part]
            case "trailing_ones", Mask():
                # `prove_bits` has the claim that both are the same where this condition holds.
                zero = self.operate("==", self.operate("&", value, increment(value)), 0)
                assert zero is True or any(condition.eq(zero) for condition in self.conditions), "the bits that are set need not be the first"
                self.first_bytes = value
                return value.count()
            case "wrapping_add", Mask() if self.number(arguments[0]) == 1:
                return increment(value)
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])


def increment(mask):
    """The mask plus 1: a bit changes if all bits before it are set."""
    found, are_set = [], True
    for bit in mask.list:
        found.append(opposite(bit) if are_set is True else boolean(z3_bool(bit) != z3_bool(are_set)))
        are_set = boolean(And(z3_bool(are_set), z3_bool(bit)))
    return Mask(found, mask.kind)


def set_bits(bits, width):
    return sum((If(z3_bool(bit), BitVecVal(1, width), BitVecVal(0, width)) for bit in bits), BitVecVal(0, width))


def mask_lanes(bits, width=1):
    return [lane for bit in bits for lane in [If(bit, BitVecVal(0xFF, 8), BitVecVal(0, 8))] * width]


def prove_sums(report):
    """`sums`, `sums_of_4_bytes`, and `sums_of_4` of `widths` have the mask of each table and the number of its bits."""
    machine = Neon(*sources(COMPRESS, CONVERT), is_real=True)
    bits, low, high = ([Bool(f"{name}_{i}") for i in range(WIDTH)] for name in ("bit", "low", "high"))
    found = machine.call("sums", mask_lanes(bits))
    expected = [bits[:8], bits[8:]]
    widths = [machine.call("widths", mask_lanes(low[i:i + 8], 2), mask_lanes(high[i:i + 8], 2)) for i in (0, 8)]
    for name, found, masks in (
        ("sums", found, expected),
        ("sums_of_4_bytes", machine.call("sums_of_4_bytes", mask_lanes(low), mask_lanes(high)), [low[i:i + 4] + high[i:i + 4] for i in range(0, WIDTH, 4)]),
        ("sums_of_4", machine.call("sums_of_4", widths), [low[i:i + 4] + high[i:i + 4] for i in range(0, WIDTH, 4)]),
    ):
        assert len(found) == len(masks)
        for i, (it, mask) in enumerate(zip(found, masks)):
            assert it.kind == "u16"
            claim = And(Extract(7, 0, it.bits()) == Mask(mask, "u8").bits(), Extract(15, 8, it.bits()) == set_bits(mask, 8))
            report.prove(f"`{name}`: mask {i} and the number of its bits", claim)


def prove_any(report):
    """The functions that replace `any` and `is_ascii` are exact."""
    machine = Neon(*sources(CONVERT), is_real=True)
    x = symbolic("x", WIDTH)
    report.prove("`any`: whether a bit is set", z3_bool(machine.call("any", x)) == has_any(x))
    report.prove("`is_ascii`: whether all bytes are ASCII", z3_bool(machine.call("is_ascii", x)) == are_ascii(x))
