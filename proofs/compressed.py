"""Computes the conversions of AVX2, which compress parts of a vector by tables of shuffles (`avx2.py`).

A shuffle by a row of a table returns variables, and a store of them has a slot for each byte that the row may move. The slots
of all stores, one after the other, are the output.
"""

from z3 import BitVec, If, is_bv, is_not, is_true, simplify, substitute

from avx2 import LAYOUTS
from library import Library, Option, Part, Span
from model import Array, Int, Pointer, Slice, WIDTHS, join, split
from rust import Tokens
from vectors import Element, Mask, Output, Place, Total, mask_of, opposite, z3_bool

TABLES = {}


class Table(Array):
    """A constant array with a layout. It is never changed."""

    layout = None


class Row:
    """A row of a table, selected by symbolic bits. Its bytes are variables."""

    def __init__(self, layout, bits, number):
        self.layout, self.bits = layout, bits
        self.lanes = [BitVec(f"row_{number}_{i}", 8) for i in range(layout.size)]


class Compressed:
    """The bytes of a vector in the order of a row: variables. `source` has the bytes that the row moves, by its indexes."""

    def __init__(self, row, source, width, number):
        self.row, self.source, self.width = row, source, width
        self.lanes = [BitVec(f"moved_{number}_{i}", 8) for i in range(row.layout.size * width)]


class Tail:
    """The last elements of an array, as many as are assigned."""

    def __init__(self, array):
        self.array = array

    def __setitem__(self, _, values):
        self.array[-len(values):] = values


def leaves(term, limit=400):
    """The variables in a term."""
    found, todo, seen = {}, [term], set()
    while todo:
        term = todo.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        assert len(seen) < limit, "a large term"
        if term.num_args() == 0:
            if term.decl().name() not in ("bv", "true", "false"):
                found[term.decl().name()] = term
        todo += term.children()
    return found


def sum_of(terms):
    """Adds conditions with factors: the number, and the factor of each condition that is not known."""
    number, factors = 0, {}
    for factor, condition in terms:
        if not isinstance(condition, bool) and is_not(condition):
            number, factor, condition = number + factor, -factor, condition.arg(0)
        if isinstance(condition, bool) or is_true(condition):
            number += factor * (condition is not False)
        else:
            before = factors.get(condition.get_id(), (condition, 0))[1]
            factors[condition.get_id()] = (condition, before + factor)
    return number, {key: factor for key, (_, factor) in factors.items() if factor}


def sum_of_total(total):
    number, factors = sum_of((scale, bit) for scale, mask in total.terms for bit in mask.list)
    return total.number + number, factors


class Kernel(Library):
    """A machine with the tables of shuffles. `align` is the address of the output."""

    def __init__(self, *sources, align=0, **options):
        super().__init__(*sources, **options)
        self.align, self.rows, self.moved, self.obligations = align, {}, {}, []

    # Tables.

    def constant(self, name):
        if name in self.constants:
            return self.constants[name]
        name = name.rpartition("::")[2]
        for source in self.sources:
            for (file, table), layout in LAYOUTS.items():
                if table == name and str(source.path).endswith("/" + file) and f"static {name}:" in source.text:
                    self.constants[name] = self.table(source, name, layout)
                    return self.constants[name]
        return super().constant(name)

    def table(self, source, name, layout):
        key = (name, source.text)
        if key not in TABLES:
            value = super().constant(name)
            if isinstance(layout, list):
                value = Array([Table(rows, "u8") for rows in value])
                for rows, its_layout in zip(value, layout):
                    rows.layout = its_layout
            else:
                value = Table(value, "u8")
                value.layout = layout
            TABLES[key] = value
        return TABLES[key]

    def bind(self, pattern, value, names):
        if isinstance(pattern, str) and isinstance(value, Table):
            names[pattern] = value
        elif isinstance(pattern, tuple) and pattern[0] == "variant" and isinstance(value, list) and len(pattern[2]) == 1:
            # A newtype.
            self.bind(pattern[2][0], value, names)
        else:
            super().bind(pattern, value, names)

    def on_index(self, names, array, index):
        found, at = self.evaluate(array, names), self.evaluate(index, names)
        if isinstance(found, Table) and (isinstance(at, Mask) or is_bv(getattr(at, "value", None))):
            layout = found.layout
            bits = mask_of(at, 64)
            assert all(bit is False for bit in bits[layout.bits:]), "the index is outside the table"
            bits = bits[:layout.bits]
            if layout.slots is None:
                number, terms = layout.length(bits)
                return Total(number, [(scale, Mask(mask + [False] * (8 - len(mask)), "u8")) for scale, mask in terms])
            self.obligations.append(layout.valid(bits))
            row = Row(layout, bits, len(self.rows))
            self.rows |= {lane.decl().name(): (row, i) for i, lane in enumerate(row.lanes)}
            return Array(row.lanes, "u8")
        if isinstance(found, Part) and isinstance(at, Span) and at.last is not None:
            assert not at.is_inclusive
            part = Part(found.output, found.at + Total.of(at.start))
            part.end = found.at + Total.of(at.last)
            assert part.end.most() <= found.output.length, "a slice outside the output"
            return part
        if isinstance(found, Part) and isinstance(at, Span):
            assert Library.number(at.start) + found.at.most() <= found.output.length
            return Part(found.output, found.at + Total.of(at.start))
        if isinstance(found, Mask) or isinstance(at, Mask):
            at = Int(simplify(at.bits()), at.kind)
        return super().on_index(names, ("value", found), ("value", at))

    # Shuffles by a row.

    def instruction(self, name, constants, arguments):
        if name in ("_mm256_shuffle_epi8", "_mm_shuffle_epi8", "_mm256_permutevar8x32_epi32"):
            vector, order = arguments
            width = 4 if "32" in name else 1
            if any(self.row_of(index) for index in order):
                return self.moved_by(vector, order, width)
        return super().instruction(name, constants, arguments)

    def row_of(self, index):
        """The row and the place in it that an index depends on."""
        if not self.rows or index.num_args() > 3:
            return None
        try:
            names = leaves(index, 30)
        except AssertionError:
            return None
        found = [self.rows[name] for name in names if name in self.rows]
        assert not found or len(names) == 1, "an index depends on more than a row"
        return found[0] if found else None

    def moved_by(self, vector, order, width):
        found, at = [], 0
        order = order[::width]
        while at < len(order):
            of_row = self.row_of(order[at])
            if of_row is None:
                # The rest of a vector of 16 bytes of which 8 are used.
                found += [BitVec(f"unused_{len(self.moved)}_{at}_{i}", 8) for i in range(width)]
                at += 1
                continue
            row, first = of_row
            half = vector if width > 1 else vector[at // 16 * 16:at // 16 * 16 + 16]
            effects = []
            for i in range(len(row.lanes)):
                assert self.row_of(order[at + i]) == (row, i), "the indexes of a row are not in order"
                effects.append(order[at + i])
            source = {}
            for index in range(16 if width == 1 else 8):
                values = {simplify(substitute(effect, (lane, lane * 0 + index))).as_long() for effect, lane in zip(effects, row.lanes)}
                (value,) = values
                if value < 0x80 and width * (value + 1) <= len(half):
                    source[index] = half[width * value:width * value + width]
            moved = Compressed(row, source, width, len(self.moved))
            self.moved |= {lane.decl().name(): (moved, i) for i, lane in enumerate(moved.lanes)}
            found += moved.lanes
            at += len(row.lanes)
        return found

    # What `core` has.

    def on_list(self, names, parts):
        found = super().on_list(names, parts)
        kinds = {value.kind for value in found if isinstance(value, Int)}
        if len(kinds) == 1:
            kind = kinds.pop()
            return Array([Int(value, kind) if isinstance(value, int) and not isinstance(value, bool) else value for value in found], kind)
        return found

    def on_as(self, names, value, kind):
        value = self.evaluate(value, names)
        if isinstance(value, Place):
            return value.at + Total(self.align)
        return super().on_as(names, ("value", value), kind)

    def on_field(self, names, value, field):
        value = self.evaluate(value, names)
        return value[int(field)] if isinstance(value, tuple) else super().on_field(names, ("value", value), field)

    def operate(self, operator, left, right):
        if isinstance(left, Total) and operator in ("%", "/") or isinstance(right, Total) and operator == "/":
            assert not Total.of(left).terms
            return super().operate(operator, Int(Total.of(left).number, "usize"), right)
        if operator == "*" and any(isinstance(side, Total) and side.terms for side in (left, right)):
            total, factor = (left, right) if isinstance(left, Total) else (right, left)
            return total.times(self.number(factor))
        if operator == "-" and isinstance(right, Total) and right.terms:
            left = Total.of(left)
            return left + right.times(-1)
        if isinstance(left, Mask) and operator in ("<", ">=") and right == 0:
            is_negative = left.list[-1]
            return is_negative if operator == "<" else opposite(is_negative)
        return super().operate(operator, left, right)

    def compare(self, operator, left, right):
        if isinstance(left, Total) or isinstance(right, Total):
            left, right = (Total.of(side).number if not Total.of(side).terms else side for side in (left, right))
        return super().compare(operator, left, right)

    def on_call(self, names, function, arguments):
        _, name, constants = function
        if name == "Ymm":
            return self.evaluate(arguments[0], names)
        if name == "compress":
            return self.call(name, *(self.evaluate(argument, names) for argument in arguments), constants=constants)
        if name in ("usize::from", "u32::from") and arguments:
            value = self.evaluate(arguments[0], names)
            if isinstance(value, (Total, Place)):
                return value
            if isinstance(value, bool) or not isinstance(value, (Int, Mask, int)):
                return Int(int(self.decide(value)), name.split(":")[0])
            return super().on_call(names, function, [("value", value)])
        if name == "i64::from_le_bytes":
            row = self.evaluate(arguments[0], names)
            return Int(join(list(row)), "i64")
        if name == "array::from_fn":
            make = self.evaluate(arguments[0], names)
            count = self.number(names[constants[1]] if constants[1] in names else self.constant(constants[1]))
            return Array([make(Int(i, "usize")) for i in range(count)])
        return super().on_call(names, function, arguments)

    def on_method(self, names, value, name, constants, arguments):
        if name == "iter_mut":
            return super().on_method(names, value, name, constants, arguments)
        value = self.evaluate(value, names)
        arguments = [self.evaluate(argument, names) for argument in arguments]
        match name, value:
            case "to_le_bytes", Mask():
                return [Mask(value.list[i:i + 8], "u8") for i in range(0, len(value.list), 8)]
            case "sub", Pointer():
                return Pointer(value.memory, value.at - self.number(arguments[0]) * value.size, value.size)
            case "sub", Place():
                return Place(value.output, value.at + Total.of(arguments[0]).times(-1))
            case "write_unaligned", Place():
                return value.store(split(arguments[0].bits()))
            case "addr", Place():
                return value.at + Total(self.align)
            case "len", Part():
                return Int(value.output.length - value.at.most(), "usize")
            case "as_chunks_mut", (Part() | Output()):
                size = self.number(constants[0]) if not isinstance(constants[0], str) else self.size_of(constants[0], names)
                output, at = (value, Total(0)) if isinstance(value, Output) else (value.output, value.at)
                count = (output.length - at.most()) // size
                return [Part(output, at + Total(size * i)) for i in range(count)], None
            case "as_chunks", Slice() if isinstance(constants[0], str) and not constants[0].isidentifier():
                size = self.size_of(constants[0], names)
                return [Slice(value.memory[i:i + size]) for i in range(0, len(value.memory) - size + 1, size)], None
            case "swap_bytes", (Int() | int()):
                value = value if isinstance(value, Int) else Int(value, "u32")
                return Int(int.from_bytes((value.value).to_bytes(WIDTHS[value.kind] // 8, "little"), "big"), value.kind)
            case "as_bytes", Slice():
                return value
            case "last_chunk_mut", Array():
                return Option(Element(Tail(value), 0), True)
            case "first_chunk", Slice():
                size = self.size_of(constants[0], names)
                return Option(value.memory[:size], True) if size <= len(value.memory) else Option()
            case "fold", list():
                found = arguments[0]
                for part in value:
                    found = arguments[1](found, part)
                return found
            case "cast_signed", Mask():
                return value.to("i" + value.kind[1:])
            case "then_some", _:
                return Option(arguments[0], True) if self.decide(value) else Option()
            case "first_and_width", _:
                return self.call(name, this=value)
        return super().on_method(names, ("value", value), name, constants, [("value", argument) for argument in arguments])

    def size_of(self, text, names):
        """The value of a constant in braces."""
        return self.number(self.evaluate(Tokens(text.strip().removeprefix("{").removesuffix("}") + ";", 0).expression(), names))


def slots_of_store(machine, lanes):
    """The bytes that a store writes for certain, each with its condition, and the sum of their number."""
    found = [leaves(lane) for lane in lanes]
    moved = {}
    for names in found:
        moved |= {name: machine.moved[name] for name in names if name in machine.moved}
    if not moved:
        return [(True, lane) for lane in lanes], [(len(lanes), True)]
    rows = {id(part.row): part.row for part, _ in moved.values()}
    (row,) = rows.values()
    layout, bits = row.layout, row.bits
    slots = layout.slots(bits)
    part = next(iter(moved.values()))[0]
    if len(part.lanes) <= len(lanes) and all(lane.eq(other) for lane, other in zip(lanes, part.lanes)) and part.width == 1:
        made = []
        for kept, choices in slots:
            byte = None
            for condition, index in reversed(choices):
                value = part.source[index][0]
                byte = value if byte is None else simplify_if(condition, value, byte)
            made.append((kept, byte))
        if layout.length:
            number, terms = layout.length(bits)
            return made, [(number, True), *((scale, bit) for scale, mask in terms for bit in mask)]
        return made, [(1, kept) for kept, _ in made]
    return slots_of_elements(lanes, found, moved, row)


def simplify_if(condition, a, b):
    return a if condition is True else b if condition is False else If(condition, a, b)


def slots_of_elements(lanes, found, moved, row):
    """The same for elements that were changed after they were moved: all by the same function."""
    width = next(iter(moved.values()))[0].width * (len(row.layout.slots(row.bits)) // 8)
    per_lane = len(lanes) // 8
    by_part = {}
    for part, _ in moved.values():
        by_part[part.lanes[0].decl().name()] = part
    for i in range(8):
        renamed = [
            (part.lanes[b], part.lanes[i * width + b]) for part in by_part.values() for b in range(width)
        ]
        for b in range(per_lane):
            expected = simplify(substitute(lanes[b], *renamed))
            assert expected.eq(simplify(lanes[i * per_lane + b])), "the elements are not changed by the same function"
    made, slots = [], row.layout.slots(row.bits)
    per_slot = len(slots) // 8
    for i in range(8):
        kept, indexes = slots[i * per_slot][0], [slots[i * per_slot + j][1][0][1] for j in range(per_slot)]
        given = []
        for part in by_part.values():
            bytes_ = [byte for index in indexes for byte in part.source[index]]
            given += list(zip(part.lanes[:width], bytes_))
        made += [(kept, simplify(substitute(lanes[b], *given))) for b in range(per_lane)]
    return made, [(1, kept) for kept, _ in made]


def slots_of(machine, output, start=0):
    """All bytes that are written, each with the condition that it is a part of the output, and the sum of their number.

    Each store starts where the bytes of the one before it end, and overwrites the others.
    """
    slots, terms = [], [(start, True)]
    for place, lanes, mask in output.stores:
        assert mask is None
        assert sum_of_total(place) == sum_of(terms), f"a store is not at the end of the bytes before it {sum_of_total(place)} {sum_of(terms)}"
        made, more = slots_of_store(machine, lanes)
        slots += made
        terms += more
    return slots, terms


def prove_tables(report, sources):
    """Each row of a table moves the bytes that its layout has."""
    for source in sources:
        for (file, name), layouts in LAYOUTS.items():
            if not str(source.path).endswith("/" + file):
                continue
            # A table that was moved would otherwise have no claim.
            assert f"static {name}:" in source.text, f"{source.path} has no table {name}"
            found = Kernel(source, *sources).constant(name)
            tables = list(zip(found, layouts)) if isinstance(layouts, list) else [(found, layouts)]
            for rows, layout in tables:
                claims = []
                for mask in range(1 << layout.bits):
                    bits = [bool(mask >> i & 1) for i in range(layout.bits)]
                    if not layout.valid(bits):
                        continue
                    length = layout.length and (lambda number, terms: number + sum(scale * sum(part) for scale, part in terms))(*layout.length(bits))
                    row = rows[mask]
                    if layout.slots is None:
                        claims.append(Library.number(row) == length)
                        continue
                    expected = [next(index for condition, index in choices if condition) for kept, choices in layout.slots(bits) if kept]
                    assert length is None or length == len(expected)
                    claims.append([Library.number(index) for index in row][:len(expected)] == expected)
                report.prove(f"{file}: each row of {name} moves the bytes of its mask", z3_bool(len(rows) == 1 << layout.bits and all(claims)))
