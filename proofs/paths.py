"""Computes the functions of the conversion kernels: branches on symbolic bytes, masks, and output of symbolic length.

- A condition on symbolic bytes is a branch. `paths` runs a function once for each combination of branches that the premises
  allow, and returns the conditions of each run.
- The loop over the input runs once, from any state that the caller selects by `presets`.
- A mask has a list of bits. Its number of set bits is a `Count`, and a position in the output is a `Total` of counts.
- A compressed vector is either stored, with its mask (`Packed`), or used lane by lane. For the second case the caller selects a
  lane and its rank: after the compression the lane has the index `rank`, and the other lanes have any value.
"""

from z3 import And, BitVec, BitVecVal, Bool, BoolVal, Concat, Extract, If, LShR, Not, Or, SolverFor, UGE, UGT, ULE, ULT, Xor
from z3 import is_bv, is_bool, is_false, is_true, sat, simplify

from model import (
    Array, INSTRUCTIONS, Int, Machine, Pointer, Return, Scope, Slice, WIDTHS, by_lanes, join, look_up, splat, split,
)


def boolean(value):
    """Converts a condition to a Python truth value if it is known."""
    if isinstance(value, bool):
        return value
    value = simplify(value)
    return True if is_true(value) else False if is_false(value) else value


def z3_bool(value):
    return BoolVal(value) if isinstance(value, bool) else value


def either(a, b):
    return boolean(Or(z3_bool(a), z3_bool(b)))


def both(a, b):
    return boolean(And(z3_bool(a), z3_bool(b)))


def opposite(a):
    return boolean(Not(z3_bool(a)))


def differ(a, b):
    return boolean(Xor(z3_bool(a), z3_bool(b)))


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


class Output:
    """The memory that a function writes."""

    def __init__(self, length):
        self.length, self.stores = length, []


class Place:
    """A position in the output."""

    def __init__(self, output, at):
        self.output, self.at = output, at

    def store(self, lanes, mask=None):
        room = len(lanes.lanes if isinstance(lanes, Packed) else lanes)
        if mask is not None:
            room = max((i + 1 for i, bit in enumerate(mask) if bit is not False), default=0)
        assert self.at.most() + room <= self.output.length, f"writes up to {self.at.most() + room} of {self.output.length}"
        self.output.stores.append((self.at, lanes, mask))


class Element:
    """A reference to an element of an array."""

    def __init__(self, array, index):
        self.array, self.index = array, index


class Text(Slice):
    """Text."""


class Stop(Exception):
    """The end of the iteration."""


class Branch(Exception):
    """A condition without a decision."""


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
    "_mm512_maskz_loadu_epi16": masked_read(2, 32),
    "_mm512_mask_loadu_epi8": lambda source, mask, pointer: masked_read(1, 64)(mask, pointer, source),
    "_mm512_maskz_set1_epi8": lambda mask, value: select(1)(mask, [BitVecVal(0, 8)] * 64, splat(value.bits(), 64)),
    "_mm512_storeu_si512": lambda place, lanes: place.store(lanes),
    "_mm256_storeu_si256": lambda place, lanes: place.store(lanes),
    "_mm512_mask_storeu_epi16": lambda place, mask, lanes: place.store(
        lanes, [bit for bit in mask_of(mask, 32) for _ in range(2)]),
    "_pdep_u64": None,
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


class Paths(Machine):
    """A machine for one path through a function."""

    first_is_used = True

    def __init__(self, *sources, constants=(), presets=(), lane=None, rank=None, premises=(), decisions=()):
        super().__init__(*sources, constants=constants)
        self.presets, self.lane, self.rank = dict(presets), lane, rank
        self.premises, self.decisions, self.conditions = list(premises), list(decisions), []
        self.selected, self.fresh, self.depth, self.scope = None, 0, 0, None

    def any_lane(self):
        self.fresh += 1
        return BitVec(f"any_{self.fresh}", 8)

    # Branches.

    def decide(self, condition):
        condition = boolean(condition)
        if isinstance(condition, bool):
            return condition
        if not self.decisions:
            raise Branch(condition, self.conditions)
        decision = self.decisions.pop(0)
        self.conditions.append(condition if decision else Not(condition))
        return decision

    def on_if(self, names, condition, then, otherwise):
        if self.decide(self.evaluate(condition, names)):
            return self.evaluate(then, names)
        return None if otherwise is None else self.evaluate(otherwise, names)

    def on_binary(self, names, operator, left, right):
        if operator in ("&&", "||"):
            left = self.evaluate(left, names)
            if isinstance(left, bool) and left == (operator == "||"):
                return left
            return (either if operator == "||" else both)(left, self.evaluate(right, names))
        return super().on_binary(names, operator, left, right)

    def run(self, name, *arguments, constants=()):
        """Runs a function. Returns its result, or `None` if it stopped after one iteration."""
        self.depth = 1
        try:
            return self.call(name, *arguments, constants=constants)
        except Stop:
            return None

    def call(self, name, *arguments, this=None, constants=()):
        self.depth += 1
        try:
            return super().call(name, *arguments, this=this, constants=constants)
        finally:
            self.depth -= 1

    def constant(self, name):
        before, self.depth = self.depth, 100
        try:
            return super().constant(name)
        finally:
            self.depth = before

    # Statements.

    def on_block(self, names, statements, result):
        names = Scope(names)
        if self.depth == 2 and self.scope is None:
            self.scope = names
        for kind, *rest in statements:
            getattr(self, "do_" + kind)(names, *rest)
        return None if result is None else self.evaluate(result, names)

    def do_let(self, names, pattern, expression):
        super().do_let(names, pattern, expression)
        if names is self.scope:
            for name in list(names):
                if name in self.presets:
                    names[name] = self.presets.pop(name)

    def do_while(self, names, condition, body):
        if names is not self.scope:
            super().do_while(names, condition, body)
            return
        if self.decide(self.evaluate(condition, names)):
            try:
                self.evaluate(body, names)
            except (Continue, Break):
                pass
        raise Stop

    def do_continue(self, names):
        raise Continue

    def do_break(self, names):
        self.broken = True
        raise Break

    def do_for(self, names, pattern, iterator, body):
        for value in self.evaluate(iterator, names):
            inner = Scope(names)
            inner.define(lambda target: self.bind(pattern, value, target))
            self.evaluate(body, inner)

    def do_assign(self, names, operator, target, expression):
        if target[0] == "list":
            value = self.evaluate(expression, names)
            for part, element in zip(target[1], value):
                names.assign(part[1], element)
            return
        if target[0] == "path" and isinstance(element := names[target[1]], Element):
            value = self.evaluate(expression, names)
            assert not operator
            element.array[element.index] = value
            return
        super().do_assign(names, operator, target, expression)

    def bind(self, pattern, value, names):
        match pattern, value:
            case str(), Element():
                names[pattern] = value
            case list(), (tuple() | list()):
                for part, element in zip(pattern, value, strict=True):
                    self.bind(part, element, names)
            case _:
                super().bind(pattern, value, names)

    # Expressions.

    def on_path(self, names, name, constants):
        if name in names:
            value = names[name]
            return value.array[value.index] if isinstance(value, Element) else value
        if name in ("u64::MAX", "u32::MAX"):
            return Int(-1, name[:3])
        return self.constant(name)

    def on_range(self, names, first, last):
        return range(self.number(self.evaluate(first, names)), self.number(self.evaluate(last, names)))

    def on_as(self, names, value, kind):
        value = self.evaluate(value, names)
        match value:
            case Place():
                return value.at
            case Total():
                return value
            case Mask() if sum(bit is not False for bit in value.list) <= 1 and kind == "usize":
                # A single bit.
                return Int(value.bits(), value.kind).to(kind)
            case Mask():
                return value.to(kind)
            case _ if is_bool(value):
                return Int(If(value, BitVecVal(1, WIDTHS[kind]), BitVecVal(0, WIDTHS[kind])), kind)
        return value.to(kind) if isinstance(value, Int) else Int(int(value), kind)

    def on_unary(self, names, operator, value):
        value = self.evaluate(value, names)
        if isinstance(value, Mask):
            return Mask([opposite(bit) for bit in value.list], value.kind)
        if isinstance(value, bool):
            return not value
        if is_bool(value):
            return Not(value)
        if isinstance(value, Int):
            return Int(~value.value if operator == "!" else -value.value, value.kind)
        return ~value if operator == "!" else -value

    def operate(self, operator, left, right):
        if (operator, left) == (">>", -1) and isinstance(left, int):
            return Ones(self.number(right))
        if isinstance(left, PowerOfTwo):
            assert (operator, right) == ("-", 1)
            return Int((BitVecVal(1, 64) << left.exponent.variable()) - 1, "u64")
        if isinstance(left, Total) or isinstance(right, Total):
            return self.operate_totals(operator, left, right)
        if isinstance(left, Mask) or isinstance(right, Mask):
            return self.operate_masks(operator, left, right)
        symbolic = [isinstance(side, Int) and is_bv(side.value) for side in (left, right)]
        if any(symbolic) and operator in ("+", "-"):
            kind = (left if symbolic[0] else right).kind
            left, right = (side if isinstance(side, Int) else Int(side, kind) for side in (left, right))
            # In each use the caller proves the whole result.
            a, b = left.bits(), right.bits()
            return Int(simplify(a + b if operator == "+" else a - b), kind)
        if symbolic[1] and operator in ("<<", ">>"):
            width = WIDTHS[left.kind]
            amount = right.to(left.kind).bits()
            return Int(left.bits() << amount if operator == "<<" else LShR(left.bits(), amount), left.kind)
        return super().operate(operator, left, right)

    def operate_totals(self, operator, left, right):
        if operator == "<<":
            assert left.number() == 1
            return PowerOfTwo(right)
        if operator == "*":
            if isinstance(right, Total):
                left, right = right, left
            return left.times(self.number(right))
        if operator == ">":
            return UGT(left.variable(), BitVecVal(self.number(right), 64))
        left, right = Total.of(left), Total.of(right)
        if operator == "+":
            return left + right
        assert operator == "-" and not right.terms, operator
        return Total(left.number - right.number, left.terms)

    def operate_masks(self, operator, left, right):
        if operator in ("<<", ">>"):
            if isinstance(right, Int) and is_bv(right.value):
                left = Int(left.bits(), left.kind)
                return self.operate(operator, left, right)
            count, width = self.number(right), len(left.list)
            assert 0 <= count < width, f"{operator} by {count}"
            zeros = [False] * count
            return Mask((zeros + left.list)[:width] if operator == "<<" else left.list[count:] + zeros, left.kind)
        kind = left.kind if isinstance(left, Mask) else right.kind
        width = WIDTHS[kind]
        for side in (left, right):
            assert isinstance(side, int) or side.kind == kind, (side.kind, kind)
        a, b = mask_of(left, width), mask_of(right, width)
        if operator in ("==", "!="):
            same = boolean(And(*(z3_bool(opposite(differ(x, y))) for x, y in zip(a, b))))
            return same if operator == "==" else opposite(same)
        return Mask([{"|": either, "&": both, "^": differ}[operator](x, y) for x, y in zip(a, b)], kind)

    def on_call(self, names, function, arguments):
        name, constants = function[1], function[2]
        if name not in names and (name in VECTORS or name in ("_pext_u64", "_bzhi_u64") or "compress" in name):
            arguments = [self.evaluate(argument, names) for argument in arguments]
            constants = [constant if isinstance(constant, int) else self.number(names[constant]) for constant in constants]
            return self.instruction(name, constants, arguments)
        return super().on_call(names, function, arguments)

    def instruction(self, name, constants, arguments):
        if name == "_bzhi_u64":
            value, index = arguments
            bits = mask_of(value, 64)
            if not is_bv(index.value):
                return Mask([bit if i < index.number() else False for i, bit in enumerate(bits)], "u64")
            return Mask([both(bit, UGT(index.value, BitVecVal(i, 32))) for i, bit in enumerate(bits)], "u64")
        if name == "_pdep_u64":
            found, source = [], iter(mask_of(arguments[0], 64))
            for bit in mask_of(arguments[1], 64):
                found.append(next(source) if bit else False)
            return Mask(found, "u64")
        if name == "_pext_u64":
            return self.compressed(mask_of(arguments[1], 64), mask_of(arguments[0], 64), lambda: Bool(f"bit_{self.any_lane()}"))
        if "compress" in name:
            width = int(name.split("epi")[1]) // 8
            bits = mask_of(arguments[0], 64 // width)
            if self.rank is None:
                return Packed(bits, arguments[1], width)
            return self.compressed(bits, arguments[1], self.any_lane)
        arguments = [self.typed(name, argument) for argument in arguments]
        found = VECTORS[name](*constants, *arguments)
        return [simplify(lane) for lane in found] if isinstance(found, list) else found

    @staticmethod
    def typed(name, argument):
        if "_set" in name and isinstance(argument, int):
            return Int(argument, {"8": "u8", "16": "u16", "32": "u32"}.get(name.split("epi")[-1], "u64"))
        return argument

    def compressed(self, mask, lanes, other):
        """The lane of the caller at its rank. All compressions have the same mask, so that the rank is the same."""
        assert self.selected in (None, mask), "two masks"
        self.selected = mask
        found = [other() for _ in lanes]
        found[self.rank] = lanes[self.lane]
        return Mask(found, "u64") if not is_bv(lanes[0]) else found

    def on_method(self, names, value, name, constants, arguments):
        if name == "iter_mut":
            array = self.evaluate(value, names)
            return [Element(array, i) for i in range(len(array))]
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        match name, value:
            case ("as_mut_ptr" | "as_ptr"), Output():
                return Place(value, Total(0))
            case "len", Output():
                return Int(value.length, "usize")
            case ("add" | "wrapping_add"), Place():
                return Place(value.output, value.at + Total.of(arguments[0]))
            case "cast", Place():
                return value
            case "wrapping_add", Pointer():
                return Pointer(value.memory, value.at + self.number(arguments[0]) * value.size, value.size)
            case "wrapping_sub", Pointer():
                return Pointer(value.memory, value.at - self.number(arguments[0]) * value.size, value.size)
            case "count_ones", Mask():
                return value.count()
            case "count_ones", Int():
                return Total(bin(value.value).count("1"))
            case "count_zeros", Mask():
                return Mask([opposite(bit) for bit in value.list], value.kind).count()
            case "trailing_zeros", Mask():
                return value.trailing_zeros()
            case "saturating_sub", int():
                return max(value - self.number(arguments[0]), 0)
            case ("into_iter" | "iter"), list():
                return value
            case "enumerate", list():
                return list(enumerate(value))
            case "zip", list():
                return list(zip(value, arguments[0]))
            case "prefetch", _:
                return None
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])

    def on_value(self, names, value):
        return value


class Continue(Exception):
    pass


class Break(Exception):
    pass


def paths(make, premises):
    """Yields each path: what `make(decisions)` returns, with a machine that has the conditions of the path."""
    todo = [[]]
    while todo:
        decisions = todo.pop()
        try:
            yield make(decisions)
        except Branch as branch:
            condition, conditions = branch.args
            for decision in (False, True):
                solver = SolverFor("QF_BV")
                solver.add(*premises, *conditions, condition if decision else Not(condition))
                if solver.check() == sat:
                    todo.append([*decisions, decision])
