"""Computes Rust functions over symbolic bytes: integers, arrays, memory, and the vector instructions that they name.

A vector is a list of bytes, the first in memory first. Each instruction is written here as its manual describes it
(Intel Intrinsics Guide, Arm Neon Intrinsics Reference); the tests of the lanes run the same functions on a real CPU.
"""

from z3 import (
    And, BitVecVal, Concat, Extract, If, LShR, Or, SignExt, UGE, UGT, ULE, ULT, ZeroExt, is_bv, simplify,
)

WIDTHS = {"u8": 8, "i8": 8, "u16": 16, "i16": 16, "u32": 32, "i32": 32, "u64": 64, "i64": 64, "usize": 64, "u128": 128, "char": 32}


def byte(value):
    return value if is_bv(value) else BitVecVal(value, 8)


class Int:
    """An integer of a Rust type. `value` is a Python integer if it is known, otherwise a bit vector."""

    def __init__(self, value, kind):
        if is_bv(value):
            assert value.size() == WIDTHS[kind], (value.size(), kind)
        else:
            value &= (1 << WIDTHS[kind]) - 1
        self.value, self.kind = value, kind

    def bits(self):
        return self.value if is_bv(self.value) else BitVecVal(self.value, WIDTHS[self.kind])

    def number(self):
        """Returns the value if it is known."""
        assert not is_bv(self.value), "a length or an index is symbolic"
        signed = self.kind.startswith("i") and self.value >> (WIDTHS[self.kind] - 1)
        return self.value - (1 << WIDTHS[self.kind]) if signed else self.value

    def to(self, kind):
        old, new = WIDTHS[self.kind], WIDTHS[kind]
        if not is_bv(self.value):
            return Int(self.number(), kind)
        if new <= old:
            return Int(Extract(new - 1, 0, self.value), kind)
        return Int((SignExt if self.kind.startswith("i") else ZeroExt)(new - old, self.value), kind)


class Pointer:
    """A position in an array of bytes. A read outside the array fails the proof."""

    def __init__(self, memory, at=0, size=1):
        self.memory, self.at, self.size = memory, at, size

    def read(self, length):
        assert 0 <= self.at and self.at + length <= len(self.memory), (
            f"reads {self.at}..{self.at + length} of an array of {len(self.memory)} bytes"
        )
        return [byte(value) for value in self.memory[self.at:self.at + length]]


class Array(list):
    """An array of integers of the same width."""

    def __init__(self, elements, kind="u8"):
        super().__init__(elements)
        self.kind = kind

    def memory(self):
        found = []
        for element in self:
            value = element.bits() if isinstance(element, Int) else element
            value = value if is_bv(value) else BitVecVal(value, WIDTHS[self.kind])
            found += [Extract(8 * i + 7, 8 * i, value) for i in range(value.size() // 8)]
        return [simplify(value) for value in found]


def copy_of(value):
    """Copies an array and the arrays in it."""
    return Array(map(copy_of, value), value.kind) if isinstance(value, Array) else value


def join(lanes):
    """Joins bytes to one number. The first byte is the least significant."""
    return Concat(*reversed(lanes)) if len(lanes) > 1 else lanes[0]


def split(value):
    return [Extract(8 * i + 7, 8 * i, value) for i in range(value.size() // 8)]


def by_lanes(width):
    """An instruction on lanes of `width` bytes."""

    def made(operation):
        def apply(*vectors):
            lanes = [[join(vector[i:i + width]) for i in range(0, len(vector), width)] for vector in vectors]
            return [part for group in zip(*lanes) for part in split(operation(*group))]

        return apply

    return made


def saturating_sub(a, b):
    return If(ULT(a, b), BitVecVal(0, a.size()), a - b)


def signed_saturating_add(a, b):
    width = a.size()
    total = SignExt(1, a) + SignExt(1, b)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    return If(total < low, BitVecVal(low, width), If(total > high, BitVecVal(high, width), Extract(width - 1, 0, total)))


def rounded_average(a, b):
    total = ZeroExt(1, a) + ZeroExt(1, b) + 1
    return Extract(a.size(), 1, total)


def greatest(a, b):
    return If(ULT(a, b), b, a)


def look_up(table, index, otherwise=None):
    """Returns `table[index]`. The table has an entry for each value of the index, or there is an `otherwise`."""
    if otherwise is None and len(table) == 1 << index.size():
        for i in range(index.size()):
            is_set = Extract(i, i, index) == 1
            table = [low if low.eq(high) else If(is_set, high, low) for low, high in zip(table[::2], table[1::2])]
        return table[0]
    found = otherwise if otherwise is not None else table[-1]
    for number in range(len(table) if otherwise is not None else len(table) - 1):
        found = If(index == number, table[number], found)
    return found


def ternary(table):
    def operation(a, b, c):
        result = BitVecVal(0, a.size())
        for row in range(8):
            if table >> row & 1:
                term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
                result = result | term
        return result

    return operation


def splat(value, bytes_):
    return (split(value) if value.size() > 8 else [value]) * (bytes_ * 8 // value.size())


def halves(operation):
    """An instruction on each 128 bits of a vector."""
    return lambda *vectors: [
        lane for i in range(0, len(vectors[0]), 16) for lane in operation(*(vector[i:i + 16] for vector in vectors))
    ]


def shuffle(table, order):
    zero = BitVecVal(0, 8)
    return [If(Extract(7, 7, index) == 1, zero, look_up(table, Extract(3, 0, index))) for index in order]


def masked_load(mask, pointer):
    """Lanes whose bit is not set are not read."""
    bits = mask.number()
    return [
        Pointer(pointer.memory, pointer.at + i).read(1)[0] if bits >> i & 1 else BitVecVal(0, 8) for i in range(64)
    ]


def masked_load_words(pointer, mask):
    found = []
    for i in range(8):
        word = simplify(join(mask[4 * i:4 * i + 4])).as_long()
        read = Pointer(pointer.memory, pointer.at + 4 * i).read(4) if word >> 31 else [BitVecVal(0, 8)] * 4
        found += read
    return found


def permute_halves(select, a, b):
    parts = [a[:16], a[16:], b[:16], b[16:]]
    assert select & 0x88 == 0
    return parts[select & 3] + parts[select >> 4 & 3]


INSTRUCTIONS = {
    # AVX-512
    "_mm512_setzero_si512": lambda: [BitVecVal(0, 8)] * 64,
    "_mm512_set1_epi8": lambda value: splat(value.bits(), 64),
    "_mm512_set1_epi32": lambda value: splat(value.bits(), 64),
    "_mm512_loadu_si512": lambda pointer: pointer.read(64),
    "_mm512_load_si512": lambda pointer: pointer.read(64),
    "_mm512_maskz_loadu_epi8": masked_load,
    "_bzhi_u64": lambda value, index: Int(value.number() & ((1 << min(index.number() & 0xFF, 64)) - 1), "u64"),
    "_mm512_alignr_epi32": lambda n, a, b: (b + a)[4 * n:4 * n + 64],
    "_mm512_shldi_epi32": lambda n, a, b: by_lanes(4)(lambda x, y: Extract(63, 32, Concat(x, y) << n))(a, b),
    "_mm512_subs_epu8": by_lanes(1)(saturating_sub),
    "_mm512_adds_epi8": by_lanes(1)(signed_saturating_add),
    "_mm512_add_epi8": by_lanes(1)(lambda a, b: a + b),
    "_mm512_or_si512": by_lanes(8)(lambda a, b: a | b),
    "_mm512_ternarylogic_epi32": lambda table, a, b, c: by_lanes(4)(ternary(table))(a, b, c),
    "_mm512_permutexvar_epi8": lambda order, table: [look_up(table, Extract(5, 0, index)) for index in order],
    # AVX2
    "_mm256_setzero_si256": lambda: [BitVecVal(0, 8)] * 32,
    "_mm256_set1_epi8": lambda value: splat(value.bits(), 32),
    "_mm256_set1_epi32": lambda value: splat(value.bits(), 32),
    "_mm256_setr_epi32": lambda *values: [lane for value in values for lane in split(value.bits())],
    "_mm256_loadu_si256": lambda pointer: pointer.read(32),
    "_mm_loadu_si128": lambda pointer: pointer.read(16),
    "_mm256_maskload_epi32": masked_load_words,
    "_mm256_broadcastsi128_si256": lambda half: half + half,
    "_mm256_permute2x128_si256": permute_halves,
    "_mm256_alignr_epi8": lambda n, a, b: halves(lambda x, y: (y + x)[n:n + 16])(a, b),
    "_mm256_shuffle_epi8": halves(shuffle),
    "_mm256_srli_epi16": lambda n, a: by_lanes(2)(lambda x: LShR(x, n))(a),
    "_mm256_and_si256": by_lanes(8)(lambda a, b: a & b),
    "_mm256_or_si256": by_lanes(8)(lambda a, b: a | b),
    "_mm256_xor_si256": by_lanes(8)(lambda a, b: a ^ b),
    "_mm256_subs_epu8": by_lanes(1)(saturating_sub),
    "_mm256_avg_epu8": by_lanes(1)(rounded_average),
    "_mm256_max_epu8": by_lanes(1)(greatest),
    "_mm256_set_m128i": lambda high, low: low + high,
    "_mm_shuffle_epi8": shuffle,
    "_mm256_cmpeq_epi32": by_lanes(4)(lambda a, b: If(a == b, BitVecVal(-1, 32), BitVecVal(0, 32))),
    # NEON
    "vdupq_n_u8": lambda value: splat(value.bits(), 16),
    "vdupq_n_s8": lambda value: splat(value.bits(), 16),
    "vdupq_n_u32": lambda value: splat(value.bits(), 16),
    "vld1q_u8": lambda pointer: pointer.read(16),
    "vld1q_u8_x4": lambda pointer: pointer.read(64),
    "vextq_u8": lambda n, a, b: (a + b)[n:n + 16],
    "vqsubq_u8": by_lanes(1)(saturating_sub),
    "vqaddq_s8": by_lanes(1)(signed_saturating_add),
    "vaddq_u8": by_lanes(1)(lambda a, b: a + b),
    "vsubq_u8": by_lanes(1)(lambda a, b: a - b),
    "vorrq_u8": by_lanes(8)(lambda a, b: a | b),
    "veorq_u8": by_lanes(8)(lambda a, b: a ^ b),
    "vandq_u8": by_lanes(8)(lambda a, b: a & b),
    "vqtbl1q_u8": lambda table, order: [look_up(table, index, BitVecVal(0, 8)) for index in order],
    "vqtbl4q_u8": lambda table, order: [look_up(table, index, BitVecVal(0, 8)) for index in order],
    "vreinterpretq_u8_s8": lambda vector: vector,
    "vreinterpretq_s8_u8": lambda vector: vector,
    "vreinterpretq_u8_u32": lambda vector: vector,
    "vcreate_u8": lambda value: split(value.bits()),
    "vcombine_u8": lambda low, high: low + high,
    # WebAssembly
    "u8x16_splat": lambda value: splat(value.bits(), 16),
    "i8x16_splat": lambda value: splat(value.bits(), 16),
    "u32x4_splat": lambda value: splat(value.bits(), 16),
    "u64x2": lambda low, high: split(low.bits()) + split(high.bits()),
    "u8x16": lambda *lanes: [lane.bits() for lane in lanes],
    "v128_load": lambda pointer: pointer.read(16),
    "v128_and": by_lanes(8)(lambda a, b: a & b),
    "v128_or": by_lanes(8)(lambda a, b: a | b),
    "v128_xor": by_lanes(8)(lambda a, b: a ^ b),
    "u8x16_sub": by_lanes(1)(lambda a, b: a - b),
    "u8x16_sub_sat": by_lanes(1)(saturating_sub),
    "i8x16_add_sat": by_lanes(1)(signed_saturating_add),
    "i8x16_min": by_lanes(1)(lambda a, b: If(a < b, a, b)),
    "u8x16_max": by_lanes(1)(lambda a, b: If(UGT(a, b), a, b)),
    "i8x16_le": by_lanes(1)(lambda a, b: If(a <= b, BitVecVal(0xFF, 8), BitVecVal(0, 8))),
    "u8x16_ge": by_lanes(1)(lambda a, b: If(UGE(a, b), BitVecVal(0xFF, 8), BitVecVal(0, 8))),
    "u8x16_swizzle": lambda table, order: [look_up(table, index, BitVecVal(0, 8)) for index in order],
    "u8x16_shuffle": lambda *it: [(it[16] + it[17])[index] for index in it[:16]],
}


# The results of instructions, by their operands. Paths through a function repeat the same instructions.
EXECUTED = {}


def numbers_of(operand):
    """What identifies an operand: the numbers of its terms."""
    return tuple(map(numbers_of, operand)) if isinstance(operand, list) else operand.get_id()


# Terms that were simplified, by their numbers, with what they became.
SIMPLIFIED = {}


def once_simplified(term):
    number = term.get_id()
    if number not in SIMPLIFIED:
        # The number of the term is unique as long as it exists.
        SIMPLIFIED[number] = (term, simplify(term))
    return SIMPLIFIED[number][1]


def simplified(value):
    return [simplified(part) for part in value] if isinstance(value, list) else once_simplified(value)


def executed(name, instruction, constants, arguments):
    """Returns the result of an instruction, simplified."""
    key = None
    if all(isinstance(argument, list) for argument in arguments):
        key = (name, *constants, *map(numbers_of, arguments))
        if key in EXECUTED:
            return EXECUTED[key][0]
    found = instruction(*constants, *arguments)
    if isinstance(found, list):
        found = simplified(found)
    if key is not None:
        # The numbers of the operands are unique as long as these exist.
        EXECUTED[key] = (found, arguments)
    return found


KNOWN = {"true": True, "false": False}


class Return(Exception):
    pass


class Machine:
    """Runs functions of some sources."""

    # Whether several sources may have a function of the same name.
    first_is_used = False
    # No loop of the sources has as many.
    most_iterations = 100_000

    def __init__(self, *sources, constants=()):
        self.sources, self.constants = sources, dict(constants)

    def constant(self, name):
        if name not in self.constants:
            for source in self.sources:
                try:
                    expression = source.constant(name.removeprefix("Self::"))
                except AssertionError:
                    continue
                value = self.evaluate(expression, {})
                if isinstance(value, Array):
                    kind = source.element_kind(name)
                    value = Array([Array(row, kind) if isinstance(row, Array) else row for row in value], kind)
                self.constants[name] = value
                break
            else:
                raise AssertionError(f"unknown name {name}")
        return self.constants[name]

    def call(self, name, *arguments, this=None, constants=()):
        """Calls the only function of that name, a method of `this` if that is given."""
        found = [source for source in self.sources if source.has_function(name)]
        assert len(found) == 1 or found and self.first_is_used, f"{len(found)} sources have a function {name}"
        patterns, body = found[0].function(name, this is not None)
        names = dict(zip(found[0].generics(name), constants), self=this)
        arguments = list(arguments)
        for pattern in patterns:
            if pattern != "self":
                self.bind(pattern, arguments.pop(0), names)
        assert not arguments
        try:
            return self.evaluate(body, names)
        except Return as result:
            return result.args[0]

    def bind(self, pattern, value, names):
        match pattern:
            case str():
                names[pattern] = Array(value, value.kind) if isinstance(value, Array) else value
            case ("Self", inner):
                self.bind(inner, value, names)
            case ("fields", fields, _):
                for field, part in fields.items():
                    self.bind(part, value.fields[field], names)
            case ("typed", inner, kind):
                self.bind(inner, Int(value, kind) if isinstance(value, int) and kind in WIDTHS else value, names)
            case list():
                value = list(value)
                assert len(pattern) == len(value), (pattern, len(value))
                for part, element in zip(pattern, value):
                    self.bind(part, element, names)

    def evaluate(self, node, names):
        return getattr(self, "on_" + node[0])(names, *node[1:])

    def on_block(self, names, statements, result):
        names = Scope(names)
        for kind, *rest in statements:
            getattr(self, "do_" + kind)(names, *rest)
        return None if result is None else self.evaluate(result, names)

    def do_let(self, names, pattern, expression):
        names.define(lambda target: self.bind(pattern, self.evaluate(expression, names), target))

    def do_return(self, names, expression):
        raise Return(self.evaluate(expression, names))

    def do_expression(self, names, expression):
        self.evaluate(expression, names)

    def do_while(self, names, condition, body):
        for _ in range(self.most_iterations):
            if not self.evaluate(condition, names):
                return
            self.evaluate(body, names)
        raise AssertionError("a loop does not end")

    def do_assign(self, names, operator, target, expression):
        value = self.evaluate(expression, names)
        if operator:
            value = self.operate(operator, self.evaluate(target, names), value)
        match target:
            case ("path", name, _):
                names.assign(name, value)
            case ("index", array, index):
                array = self.evaluate(array, names)
                array[self.number(self.evaluate(index, names))] = value
            case ("field", struct, field):
                self.evaluate(struct, names).fields[field] = value
            case _:
                raise AssertionError(f"no target: {target}")

    def on_number(self, names, value, suffix):
        return Int(value, suffix) if suffix else value

    def on_list(self, names, parts):
        return Array([self.evaluate(part, names) for part in parts])

    def on_repeat(self, names, element, length):
        element = self.evaluate(element, names)
        length = self.number(self.evaluate(length, names))
        return Array([copy_of(element) for _ in range(length)])

    def on_if(self, names, condition, then, otherwise):
        condition = self.evaluate(condition, names)
        if not isinstance(condition, bool):
            # Both branches must be values: no statement except `let` is allowed in them.
            assert otherwise is not None, "a branch depends on symbolic data"
            for block in (then, otherwise):
                assert block[0] == "block" and all(kind == "let" for kind, *_ in block[1]), "a branch depends on symbolic data"
            return If(condition, self.evaluate(then, names), self.evaluate(otherwise, names))
        if condition:
            return self.evaluate(then, names)
        return None if otherwise is None else self.evaluate(otherwise, names)

    def on_closure(self, names, parameters, body):
        def run(*arguments):
            inner = Scope(names)
            for parameter, argument in zip(parameters, arguments):
                inner.define(lambda target: self.bind(parameter, argument, target))
            try:
                return self.evaluate(body, inner)
            except Return as result:
                return result.args[0]

        return run

    def on_path(self, names, name, constants):
        if name in names:
            return names[name]
        if name in ("true", "false"):
            return name == "true"
        if name == "Self::new":
            return lambda *arguments: self.call("new", *arguments)
        return self.constant(name)

    def on_field(self, names, value, field):
        value = self.evaluate(value, names)
        if isinstance(value, Struct):
            return value.fields[field]
        # The only field of a newtype.
        assert field == "0", field
        return value

    def on_struct(self, names, fields, rest):
        given = {} if rest is None else self.evaluate(rest, names).fields
        return Struct(given | {field: self.evaluate(value, names) for field, value in fields.items()})

    def on_index(self, names, array, index):
        array, index = self.evaluate(array, names), self.evaluate(index, names)
        if isinstance(index, Int) and is_bv(index.value):
            entries = [entry if isinstance(entry, Int) else Int(entry, getattr(array, "kind", "u8")) for entry in array]
            return Int(look_up([entry.bits() for entry in entries], index.value, entries[-1].bits()), entries[0].kind)
        return array[self.number(index)]

    def on_as(self, names, value, kind):
        value = self.evaluate(value, names)
        return value.to(kind) if isinstance(value, Int) else Int(int(value), kind)

    def on_unary(self, names, operator, value):
        value = self.evaluate(value, names)
        if isinstance(value, Int):
            return Int(~value.value if operator == "!" else -value.value, value.kind)
        # The type of a literal is determined by its use.
        return ~value if operator == "!" else -value

    def on_binary(self, names, operator, left, right):
        return self.operate(operator, self.evaluate(left, names), self.evaluate(right, names))

    def operate(self, operator, left, right):
        if operator in ("==", "!=", "<", "<=", ">", ">="):
            return self.compare(operator, left, right)
        if operator in ("||", "&&"):
            return (Or if operator == "||" else And)(left, right)
        kind = next((side.kind for side in (left, right) if isinstance(side, Int)), None)
        if operator in ("<<", ">>"):
            kind = left.kind if isinstance(left, Int) else None
            count = self.number(right)
            if kind is None:
                return left << count if operator == "<<" else left >> count
            assert 0 <= count < WIDTHS[kind], f"{operator} by {count}"
            if not is_bv(left.value):
                return Int(left.number() << count if operator == "<<" else left.number() >> count, kind)
            shift = {"<<": lambda a: a << count, ">>": lambda a: a >> count if kind[0] == "i" else LShR(a, count)}
            return Int(shift[operator](left.value), kind)
        exact = {
            "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a // b,
            "%": lambda a, b: a % b, "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
        }[operator]
        if kind is None:
            return exact(left, right)
        left, right = (side if isinstance(side, Int) else Int(side, kind) for side in (left, right))
        assert left.kind == right.kind, (left.kind, right.kind)
        if is_bv(left.value) or is_bv(right.value):
            assert operator in "&|^", f"{operator} of symbolic integers could overflow"
            return Int(exact(left.bits(), right.bits()), kind)
        value = exact(left.number(), right.number())
        assert Int(value, kind).number() == value, f"{operator} overflows"
        return Int(value, kind)

    def compare(self, operator, left, right):
        symbolic = any(isinstance(side, Int) and is_bv(side.value) for side in (left, right))
        if not symbolic:
            a, b = self.number(left), self.number(right)
            return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]
        kind = next(side.kind for side in (left, right) if isinstance(side, Int))
        a, b = (side.bits() if isinstance(side, Int) else BitVecVal(side, WIDTHS[kind]) for side in (left, right))
        if kind.startswith("i"):
            return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]
        return {"==": a == b, "!=": a != b, "<": ULT(a, b), "<=": ULE(a, b), ">": UGT(a, b), ">=": UGE(a, b)}[operator]

    @staticmethod
    def number(value):
        return value.number() if isinstance(value, Int) else value

    def on_call(self, names, function, arguments):
        _, name, constants = function
        arguments = [self.evaluate(argument, names) for argument in arguments]
        if name in ("Self", "Aligned"):
            # Arrays are values, so a copy does not change the original.
            return Array(arguments[0], arguments[0].kind) if isinstance(arguments[0], Array) else arguments[0]
        if name in names:
            return names[name](*arguments)
        if name in INSTRUCTIONS:
            arguments = [literal(name, argument) for argument in arguments]
            return executed(name, INSTRUCTIONS[name], constants, arguments)
        if name in ("u64::from", "u32::from"):
            return arguments[0].to(name.split(":")[0])
        if name.endswith("::from_le_bytes"):
            return Int(simplify(join([byte(value) for value in arguments[0]])), name.split(":")[0])
        if name.startswith("Self::"):
            name = name[len("Self::"):]
        return self.call(name, *arguments, constants=[names[it] if it in names else KNOWN.get(it, it) for it in constants])

    def on_method(self, names, value, name, constants, arguments):
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        match name, value:
            case "as_ptr", Array():
                return Pointer(value.memory(), 0, WIDTHS[value.kind] // 8)
            case "as_ptr", Slice():
                return Pointer(value.memory)
            case "len", Slice():
                return Int(len(value.memory), "usize")
            case "add", Pointer():
                return Pointer(value.memory, value.at + self.number(arguments[0]) * value.size, value.size)
            case "cast", Pointer():
                # `cast::<[u8; N]>` is followed by a read of N bytes.
                size = int(constants[0][1:-1].split(";")[1]) if constants else value.size
                return Pointer(value.memory, value.at, size)
            case "read", Pointer():
                return value.read(value.size)
            case "map", list():
                return [arguments[0](element) for element in value]
            case "shifted", list() | Struct():
                return self.call("shifted", arguments[0], this=value)
            case "word", Int():
                return value
            case "cast_signed", Int():
                return value.to("i" + value.kind[1:])
            case "to_le_bytes", Int():
                return [Int(part, "u8") for part in split(value.bits())]
            case "saturating_sub", Int() if value.kind.startswith("u"):
                return Int(saturating_sub(value.bits(), Int(arguments[0], value.kind).bits()), value.kind)
            case "saturating_add", Int() if value.kind.startswith("i"):
                return Int(signed_saturating_add(value.bits(), Int(arguments[0], value.kind).bits()), value.kind)
            case "wrapping_add", Int():
                other = arguments[0] if isinstance(arguments[0], Int) else Int(arguments[0], value.kind)
                return Int(value.bits() + other.bits(), value.kind)
            case "wrapping_sub", Int():
                return Int(value.bits() - Int(self.number(arguments[0]), value.kind).bits(), value.kind)
            case "unbounded_shr", Int():
                count = self.number(arguments[0])
                return Int(LShR(value.bits(), count) if count < WIDTHS[value.kind] else 0, value.kind)
        raise AssertionError(f"unknown method {name} of {type(value)}")


class Struct:
    """A struct with named fields."""

    def __init__(self, fields):
        self.fields = fields


class Slice:
    """A slice of bytes."""

    def __init__(self, memory):
        self.memory = memory


class Scope(dict):
    """The names of a block. Names of enclosing blocks are visible and can be assigned."""

    def __init__(self, outer):
        super().__init__()
        self.outer = outer

    def __missing__(self, name):
        return self.outer[name]

    def __contains__(self, name):
        return super().__contains__(name) or name in self.outer

    def define(self, bind):
        found = {}
        bind(found)
        self.update(found)

    def assign(self, name, value):
        if super().__contains__(name):
            self[name] = value
        elif isinstance(self.outer, Scope):
            self.outer.assign(name, value)
        else:
            self.outer[name] = value


def literal(instruction, argument):
    """Gives a literal the type of the parameter."""
    if isinstance(argument, int) and not isinstance(argument, bool):
        kind = "u64" if instruction in ("_bzhi_u64", "vcreate_u8", "u64x2") else "i32" if "32" in instruction.split("_")[-1] else "u8"
        return Int(argument, kind)
    return argument
