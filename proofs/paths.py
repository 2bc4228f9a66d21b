"""Computes the functions of the conversion kernels: branches on symbolic bytes, masks, and output of symbolic length.

- A condition on symbolic bytes is a branch. `paths` runs a function once for each combination of branches that the premises
  allow, and returns the conditions of each run.
- The loop over the input runs once, from any state that the caller selects by `presets`.
"""

from z3 import And, BitVec, BitVecVal, Bool, If, LShR, Not, SolverFor, UGT, is_bv, is_bool, sat, simplify

from model import Int, Machine, Pointer, Scope, WIDTHS, executed
from vectors import (
    bit_by_bit, boolean, z3_bool, either, both, opposite, Mask, mask_of, Total, PowerOfTwo, Packed, Ones, Output, Place,
    Element, Text, VECTORS,
)


class Stop(Exception):
    """The end of the iteration."""


class Branch(Exception):
    """A condition without a decision."""


class Paths(Machine):
    """A machine for one path through a function."""

    first_is_used = True

    def __init__(self, *sources, constants=(), presets=(), starts=(), lane=None, rank=None, premises=(), decisions=(), to_end=False):
        super().__init__(*sources, constants=constants)
        self.presets, self.lane, self.rank = dict(presets), lane, rank
        # Of these presets another claim has the start. Each other one replaces 0: the start of the input or of the output, or no bytes.
        self.starts = starts
        # All loops are run to their end, not one iteration of the main loop.
        self.to_end = to_end
        self.premises, self.decisions, self.conditions, self.decided = list(premises), list(decisions), [], {}
        self.selected, self.fresh, self.depth, self.scope = None, 0, 0, None

    def any_lane(self):
        self.fresh += 1
        return BitVec(f"any_{self.fresh}", 8)

    # Branches.

    def decide(self, condition):
        condition = boolean(condition)
        if isinstance(condition, bool):
            return condition
        number = condition.get_id()
        if number in self.decided:
            return self.decided[number][0]
        if not self.decisions:
            raise Branch(condition, self.conditions)
        decision = self.decisions.pop(0)
        # The number of a term is unique as long as it exists.
        other = Not(condition)
        self.decided |= {number: (decision, condition), other.get_id(): (not decision, other)}
        self.conditions.append(condition if decision else other)
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
                    assert name in self.starts or self.is_zero(names[name]), f"{name} does not start at 0"
                    names[name] = self.presets.pop(name)

    def is_zero(self, value):
        if isinstance(value, list):
            return all(lane.eq(BitVecVal(0, 8)) for lane in map(simplify, value))
        return isinstance(value, (Int, int)) and self.number(value) == 0

    def do_while(self, names, condition, body):
        is_main = names is self.scope and not self.to_end
        for _ in range(self.most_iterations):
            inner = Scope(names)
            if not self.decide(self.evaluate(condition, inner)):
                return
            try:
                self.evaluate(body, inner)
            except Continue:
                pass
            except Break:
                if not is_main:
                    return
            if is_main:
                assert not self.presets, "a preset is not used"
                raise Stop
        raise AssertionError("a loop does not end")

    def do_continue(self, names):
        raise Continue

    def do_break(self, names):
        self.broken = True
        raise Break

    def do_break_to(self, names, label):
        raise BreakTo(label)

    def do_labelled(self, names, label, loop):
        try:
            getattr(self, "do_" + loop[0])(names, *loop[1:])
        except BreakTo as found:
            if found.args != (label,):
                raise
            self.broken = True

    def do_for(self, names, pattern, iterator, body):
        for value in self.evaluate(iterator, names):
            inner = Scope(names)
            inner.define(lambda target: self.bind(pattern, value, target))
            try:
                self.evaluate(body, inner)
            except Continue:
                pass
            except Break:
                return

    def do_assign(self, names, operator, target, expression):
        if target[0] == "list":
            value = self.evaluate(expression, names)
            for part, element in zip(target[1], value):
                if part != ("path", "_", []):
                    super().do_assign(names, "", part, ("value", element))
            return
        if target[0] == "path" and isinstance(element := names[target[1]], Element):
            value = self.evaluate(expression, names)
            if operator:
                value = self.operate(operator, element.array[element.index], value)
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
        if name in ("u128::MAX", "u64::MAX", "u32::MAX"):
            return Int(-1, name.split(":")[0])
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
            same = boolean(And(*map(z3_bool, bit_by_bit("==", a, b))))
            return same if operator == "==" else opposite(same)
        return Mask(bit_by_bit(operator, a, b), kind)

    def on_call(self, names, function, arguments):
        name, constants = function[1], function[2]
        if name not in names and (name in VECTORS or name in ("_pext_u64", "_bzhi_u64", "_bzhi_u32") or "compress" in name):
            arguments = [self.evaluate(argument, names) for argument in arguments]
            constants = [constant if isinstance(constant, int) else self.number(names[constant]) for constant in constants]
            return self.instruction(name, constants, arguments)
        return super().on_call(names, function, arguments)

    def instruction(self, name, constants, arguments):
        if name in ("_bzhi_u64", "_bzhi_u32"):
            value, index = arguments
            kind = name[-3:]
            bits = mask_of(value, WIDTHS[kind])
            if not is_bv(index.value):
                return Mask([bit if i < index.number() else False for i, bit in enumerate(bits)], kind)
            return Mask([both(bit, UGT(index.value, BitVecVal(i, 32))) for i, bit in enumerate(bits)], kind)
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
        return executed(name, VECTORS[name], constants, arguments)

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
            case "is_char_boundary", Text():
                at = self.number(arguments[0])
                return at == len(value.memory) or boolean(value.memory[at] >= BitVecVal(0xC0, 8))
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


class BreakTo(Exception):
    """A `break` out of the loop with a label."""


def paths(make, premises, is_possible=None):
    """Yields each path: what `make(decisions)` returns, with a machine that has the conditions of the path.

    `is_possible` replaces the solver for the decision whether a path exists. A path that does not exist proves nothing wrong.
    """
    todo = [[]]
    while todo:
        decisions = todo.pop()
        try:
            yield make(decisions)
        except Branch as branch:
            condition, conditions = branch.args
            for decision in (False, True):
                if (is_possible or has_model)([*premises, *conditions, condition if decision else Not(condition)]):
                    todo.append([*decisions, decision])


# Whether there are values for which all of these conditions hold, by the numbers of their terms, with these.
HAS_MODEL = {}


def has_model(conditions):
    key = tuple(condition.get_id() for condition in conditions)
    if key not in HAS_MODEL:
        solver = SolverFor("QF_BV")
        solver.add(*conditions)
        # The numbers are unique as long as the terms exist.
        HAS_MODEL[key] = solver.check() == sat, conditions
    return HAS_MODEL[key][0]
