"""A machine with arrays that functions write, as with the output."""

from z3 import And, Bool, Not

from compressed import Kernel, sum_of_total
from library import Option, Part
from model import Array, Slice
from vectors import Mask, Output, Place, Total, boolean, z3_bool

HAS_ROOM = Bool("has_room")


class ArrayPart:
    """The first elements of an array."""

    def __init__(self, array, count):
        self.array, self.count = array, count


class Arrays(Kernel):
    """A machine with arrays that functions write, as with the output. `copies` has what was copied to the output from them."""

    def __init__(self, *sources, **options):
        super().__init__(*sources, **options)
        self.copies, self.rooms = [], []

    def on_path(self, names, name, constants):
        if name == "usize::from":
            return lambda value: self.on_call(names, ("path", name, []), [("value", value)])
        return super().on_path(names, name, constants)

    def on_index(self, names, array, index):
        found, at = self.evaluate(array, names), self.evaluate(index, names)
        if hasattr(at, "is_inclusive"):
            assert not at.is_inclusive
            if isinstance(found, Array):
                assert self.number(at.start) == 0
                return ArrayPart(found, at.last)
            if isinstance(found, Output) and at.last is not None:
                part = Part(found, Total.of(at.start))
                part.end = Total.of(at.last)
                return part
        return super().on_index(names, ("value", found), ("value", at))

    def on_method(self, names, value, name, constants, arguments):
        if name == "iter_mut":
            return super().on_method(names, value, name, constants, arguments)
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        match name, value:
            case "is_empty", Slice():
                return not value.memory
            case "as_mut_ptr", Array():
                value.written = Output(len(value))
                return Place(value.written, Total(0))
            case "len", ArrayPart():
                return value.count
            case "copy_from_slice", ArrayPart():
                (given,) = arguments
                assert self.number(value.count) == len(given.memory), "other lengths"
                value.array[:len(given.memory)] = given.memory
                return None
            case "copy_from_slice", Part():
                (given,) = arguments
                length = value.end + value.at.times(-1)
                assert sum_of_total(length) == sum_of_total(Total.of(given.count)), "other lengths"
                self.copies.append((value, given))
                return None
            case "get_mut", Part():
                (span,) = arguments
                assert self.number(span.start) == 0 and not span.is_inclusive
                self.rooms.append((span.last, value.output.length - value.at.most()))
                if not self.decide(HAS_ROOM):
                    return Option()
                part = Part(value.output, value.at)
                part.end = value.at + Total.of(span.last)
                return Option(part, True)
            case "wrapping_sub", Mask() if arguments == [1]:
                return Mask(decrement(value), value.kind)
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])

    def operate(self, operator, left, right):
        if operator == "<=" and isinstance(left, Total) and left.terms:
            # A large condition has a name instead.
            self.rooms.append((left, self.number(right)))
            return HAS_ROOM
        if isinstance(left, Mask) and isinstance(right, int) and operator in ("|", "&", "^"):
            assert right < 1 << len(left.list), "a bit that the type does not have"
        return super().operate(operator, left, right)


def decrement(mask):
    """The bits of the mask minus 1: a bit changes if no bit before it is set."""
    found, none = [], True
    for bit in mask.list:
        bit = z3_bool(bit)
        found.append(boolean(Not(bit) if none is True else bit != z3_bool(none)))
        none = boolean(And(z3_bool(none), Not(bit)))
    return found
