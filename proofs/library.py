"""Computes functions that use `core`: options, slices, ranges, references, `match`, and structs with methods."""

import itertools

from z3 import And, BitVec, BitVecVal, If, UDiv, ULT, is_bool, is_bv, simplify

from model import Array, Int, Scope, Slice, Struct, WIDTHS
from paths import Continue, Paths, Stop
from rust import is_type
from vectors import Element, Mask, Output, Place, Total, both, either, mask_of, opposite


class Option:
    """`Some(value)`, or `None`."""

    def __init__(self, value=None, is_some=False):
        self.value, self.is_some = value, is_some


class Variant:
    """A variant of an enum."""

    def __init__(self, name, values):
        self.name, self.values = name, values


class Span:
    """A range of integers."""

    def __init__(self, start, last, is_inclusive):
        self.start, self.last, self.is_inclusive = start, last, is_inclusive

    def __iter__(self):
        first, end = self.within(None)
        return iter(range(first, end))

    def within(self, length):
        """The first index and the index after the last one."""
        end = length if self.last is None else Library.number(self.last) + self.is_inclusive
        return Library.number(self.start), end


class Room:
    """The rest of an array of positions, from the position `at`."""

    def __init__(self, length, at=Total(0)):
        self.length, self.at = length, at


class Part:
    """A slice of the output, from a position."""

    def __init__(self, output, at):
        self.output, self.at = output, at


def copied(value):
    """The value of a variable of a type that is `Copy`."""
    if isinstance(value, Struct):
        return Struct({field: copied(part) for field, part in value.fields.items()})
    return Array(value, value.kind) if isinstance(value, Array) else value


def as_int(value, kind):
    """A number of set bits, or a literal, as an integer."""
    if isinstance(value, Total):
        found = BitVecVal(value.number, WIDTHS[kind])
        for scale, mask in value.terms:
            for bit in mask.list:
                if bit is not False:
                    found = found + If(bit, BitVecVal(scale, WIDTHS[kind]), BitVecVal(0, WIDTHS[kind]))
        return Int(simplify(found), kind)
    return value.to(kind) if isinstance(value, Int) else Int(value, kind)


class Tuple(list):
    """A tuple that is the result of a replaced function. The only field of another list is the list, because it may be a vector."""


class Library(Paths):
    """A machine that computes the functions of `core` that kernels use.

    `replaced` has functions to call instead of others. If `skips_loop`, the loop over the input is left out, so that what
    follows it starts from the state before it. `align_offset` is that of the output. If `runs_once`,
    the function ends after one iteration of an inner loop.
    """

    def __init__(self, *sources, replaced=(), skips_loop=False, runs_once=False, align_offset=0, **options):
        super().__init__(*sources, **options)
        self.runs_once = runs_once
        self.replaced, self.skips_loop, self.align_offset = dict(replaced), skips_loop, align_offset

    def do_while(self, names, condition, body):
        # A constant is computed at a depth of 100.
        if self.runs_once and names is not self.scope and self.depth < 100:
            try:
                self.evaluate(body, names)
            except Continue:
                pass
            raise Stop
        if not (self.skips_loop and names is self.scope):
            super().do_while(names, condition, body)

    # Patterns.

    def matches(self, pattern, value, names):
        """Binds the names of a pattern. Returns the condition that the value matches it."""
        match pattern, value:
            case str(), _:
                if pattern != "_":
                    names.define(lambda target: self.bind(pattern, value, target))
                return True
            case ("between", first, last), _:
                return both(self.compare(">=", value, first), self.compare("<=", value, last))
            case ("at", name, inner), _:
                names.define(lambda target: self.bind(name, value, target))
                return self.matches(inner, value, names)
            case ("or", patterns), _:
                found = False
                for inner in patterns:
                    found = either(found, self.matches(inner, value, names))
                return found
            case ("variant", ("Some" | "None") as name, inner), Option():
                return value.is_some == (name == "Some") and self.all_match(inner, [value.value] * len(inner), names)
            case ("fields", fields, name), Variant():
                return value.name == name and self.all_match(list(fields.values()), [value.values[field] for field in fields], names)
            case ("variant", name, inner), Variant():
                return value.name == name and self.all_match(inner, value.values, names)
            case list(), (list() | Slice()):
                values = value if isinstance(value, list) else [Int(byte, "u8") for byte in value.memory]
                rest = next((i for i, inner in enumerate(pattern) if inner == ("rest",)), None)
                if rest is None:
                    return len(values) == len(pattern) and self.all_match(pattern, values, names)
                after = len(pattern) - rest - 1
                if len(values) < rest + after:
                    return False
                values = values[:rest] + values[len(values) - after:]
                return self.all_match(pattern[:rest] + pattern[rest + 1:], values, names)
        self.bind(pattern, value, names)
        return True

    def all_match(self, patterns, values, names):
        found = True
        for pattern, value in zip(patterns, values, strict=True):
            found = both(found, self.matches(pattern, value, names))
        return found

    def bind(self, pattern, value, names):
        if isinstance(pattern, list) and ("rest",) in pattern:
            scope = Scope(names)
            assert self.matches(pattern, value, scope) is True
            names.update(scope)
            return
        super().bind(pattern, copied(value) if isinstance(value, Struct) else value, names)

    def on_let_condition(self, names, pattern, value):
        return self.decide(self.matches(pattern, self.evaluate(value, names), names))

    def do_let_else(self, names, pattern, value, otherwise):
        found = self.evaluate(value, names)
        if not self.decide(self.matches(pattern, found, names)):
            self.evaluate(otherwise, names)

    def on_if(self, names, condition, then, otherwise):
        return super().on_if(Scope(names), condition, then, otherwise)

    def on_match(self, names, value, arms):
        value = self.evaluate(value, names)
        for pattern, guard, arm in arms:
            inner = Scope(names)
            if self.decide(self.matches(pattern, value, inner)) and (guard is None or self.decide(self.evaluate(guard, inner))):
                return self.evaluate(arm, inner)
        raise AssertionError("no arm matches")

    # Expressions.

    def on_range(self, names, first, last):
        return Span(self.evaluate(first, names), last and self.evaluate(last, names), False)

    def on_through(self, names, first, last):
        return Span(self.evaluate(first, names), self.evaluate(last, names), True)

    def on_borrow(self, names, place):
        value = self.evaluate(place, names)
        if not isinstance(value, (Int, int)):
            return value
        if place[0] == "field":
            return Element(self.evaluate(place[1], names).fields, place[2])
        assert place[0] == "index", place[0]
        return Element(self.evaluate(place[1], names), self.number(self.evaluate(place[2], names)))

    def on_struct_variant(self, names, name, fields):
        return Variant(name, {field: self.evaluate(value, names) for field, value in fields.items()})

    def on_path(self, names, name, constants):
        if name in ("true", "false"):
            return name == "true"
        if name == "None":
            return Option()
        return super().on_path(names, name, constants)

    def constant(self, name):
        if name in self.constants:
            return self.constants[name]
        return super().constant(name.rpartition("::")[2])

    def on_field(self, names, value, field):
        found = self.evaluate(value, names)
        if field == "1" or isinstance(found, Tuple):
            return found[int(field)]
        return super().on_field(names, ("value", found), field)

    def on_index(self, names, array, index):
        found, at = self.evaluate(array, names), self.evaluate(index, names)
        match found, at:
            case Slice(), Span():
                first, end = at.within(len(found.memory))
                assert 0 <= first <= end <= len(found.memory), f"the slice {first}..{end} of {len(found.memory)} bytes"
                return Slice(found.memory[first:end])
            case Slice(), _:
                return Int(found.memory[self.number(at)], "u8")
            case Output(), Span():
                return Part(found, Total.of(at.start).times(found.size))
        return super().on_index(names, ("value", found), ("value", at))

    def on_as(self, names, value, kind):
        value = self.evaluate(value, names)
        if isinstance(value, Mask) and kind == "usize":
            return value.to("u64")
        return super().on_as(names, ("value", value), kind)

    def operate(self, operator, left, right):
        symbolic = any(isinstance(side, Int) and is_bv(side.value) for side in (left, right))
        if isinstance(right, Total) and (operator in ("-", ">>", "*") or symbolic) or isinstance(left, Total) and symbolic:
            kind = next((side.kind for side in (left, right) if isinstance(side, Int)), "u64")
            left, right = as_int(left, kind), as_int(right, kind)
            return self.operate(operator, left, right)
        if symbolic and operator in ("*", "/"):
            kind = (left if isinstance(left, Int) else right).kind
            assert kind.startswith("u"), kind
            a, b = (as_int(side, kind).bits() for side in (left, right))
            return Int(simplify(a * b if operator == "*" else UDiv(a, b)), kind)
        return super().operate(operator, left, right)

    def compare(self, operator, left, right):
        if operator in ("==", "!=") and any(isinstance(side, bool) or is_bool(side) for side in (left, right)):
            return (left == right) if operator == "==" else (left != right)
        return super().compare(operator, left, right)

    def call(self, name, *arguments, this=None, constants=()):
        return super().call(name, *arguments, this=copied(this), constants=constants)

    def on_call(self, names, function, arguments):
        _, name, constants = function
        prefix, _, last = name.rpartition("::")
        if last in self.replaced and name not in names:
            return self.replaced[last](*(self.evaluate(argument, names) for argument in arguments))
        if name == "Some":
            return Option(self.evaluate(arguments[0], names), True)
        if name == "Zmm::prefetch":
            return None
        if prefix in WIDTHS and last == "from":
            value = self.evaluate(arguments[0], names)
            return self.on_as(names, ("value", value), prefix)
        if prefix and prefix != "Self" and is_type(prefix):
            if is_type(last):
                return Variant(last, [self.evaluate(argument, names) for argument in arguments])
            return super().on_call(names, ("path", last, constants), arguments)
        return super().on_call(names, function, arguments)

    def on_method(self, names, value, name, constants, arguments):
        if name == "iter_mut":
            return super().on_method(names, value, name, constants, arguments)
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        if name in self.replaced and isinstance(value, Struct):
            return self.replaced[name](value, *arguments)
        match name, value:
            case "and_then", Option():
                return arguments[0](value.value) if value.is_some else value
            case "len", list():
                return Int(len(value), "usize")
            case "as_chunks", Slice():
                size = self.number(names[constants[0]] if constants[0] in names else self.constant(constants[0]))
                count = len(value.memory) // size
                return [[Slice(value.memory[i * size:i * size + size]) for i in range(count)], Slice(value.memory[count * size:])]
            case "split_at", Slice():
                at = self.number(arguments[0])
                return [Slice(value.memory[:at]), Slice(value.memory[at:])]
            case "get_mut", Room():
                return Option(Room(value.length, Total.of(arguments[0].start)), True)
            case "first_chunk_mut", Room():
                # For a position that is not known both cases are possible.
                fits = value.at.most() + 64 <= value.length or BitVec(f"fits_{value.at.most()}", 1) == 1
                return Option(value, True) if self.decide(fits) else Option()
            case ("as_mut_ptr" | "as_ptr"), Part():
                return Place(value.output, value.at)
            case "align_offset", Place():
                return Int(self.align_offset, "usize")
            case ("min" | "max"), (Int() | int()):
                other = arguments[0]
                kind = next((side.kind for side in (value, other) if isinstance(side, Int)), None)
                if kind is None or not any(isinstance(side, Int) and is_bv(side.value) for side in (value, other)):
                    number = (min if name == "min" else max)(self.number(value), self.number(other))
                    return number if kind is None else Int(number, kind)
                a, b = (as_int(side, kind).bits() for side in (value, other))
                return Int(simplify(If(ULT(a, b) == (name == "min"), a, b)), kind)
            case "saturating_sub", Int() if not is_bv(value.value) and value.kind.startswith("u"):
                return Int(max(value.number() - self.number(arguments[0]), 0), value.kind)
            case "checked_sub", Int() if not is_bv(value.value) and value.kind.startswith("u"):
                found = value.number() - self.number(arguments[0])
                return Option(Int(found, value.kind), True) if found >= 0 else Option()
            case "is_power_of_two", Int() if not is_bv(value.value):
                return value.value.bit_count() == 1
            case "trailing_zeros", Int() if not is_bv(value.value):
                return Int((value.value & -value.value).bit_length() - 1 if value.value else WIDTHS[value.kind], "u32")
            case "is_power_of_two", Int() if is_bv(value.value):
                return And(value.value != 0, value.value & (value.value - 1) == 0)
            case "trailing_zeros", Int() if is_bv(value.value):
                return Mask(mask_of(value, WIDTHS[value.kind]), value.kind).trailing_zeros()
            case "trailing_ones", Mask():
                return Mask([opposite(bit) for bit in value.list], value.kind).trailing_zeros()
            case ("wrapping_mul" | "wrapping_sub"), Int():
                other = as_int(arguments[0], value.kind)
                if not is_bv(value.value) and not is_bv(other.value):
                    return Int(value.value * other.value if name == "wrapping_mul" else value.value - other.value, value.kind)
                a, b = value.bits(), other.bits()
                return Int(simplify(a * b if name == "wrapping_mul" else a - b), value.kind)
            case "cast_signed", int():
                return value
            case "cast_unsigned", (Mask() | Int()):
                return value.to(value.kind.replace("i", "u"))
            case ("start" | "end"), Span():
                return value.start if name == "start" else value.last
            case ("each_ref" | "into_iter" | "iter"), list():
                return value
            case "zip", list() if value and isinstance(value[0], Element) and not isinstance(arguments[0][0], Element):
                return list(zip(value, [Element(arguments[0], i) for i in range(len(arguments[0]))]))
            case "take_while", list():
                return list(itertools.takewhile(lambda element: self.decide(arguments[0](element)), value))
            case "count", list():
                return len(value)
            case _, Struct():
                return self.call(name, *arguments, this=value)
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])
