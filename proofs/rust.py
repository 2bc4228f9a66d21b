"""Reads functions of the Rust sources and computes them over symbolic values.

It supports the subset of Rust that the vector kernels use: `let` with patterns, `unsafe` blocks, loops, closures, calls,
tuples, arrays, and integer operators. Anything else is an error, so that a change of the source is never skipped.
"""

import functools
import re

TOKEN = re.compile(
    r"""\s*(?://[^\n]*\n\s*)*(?:
        (?P<number>0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|[0-9][0-9_]*)(?P<suffix>_?[iu](?:8|16|32|64|size))?
      | (?P<char>b?'(?:\\u\{[0-9A-Fa-f]+\}|\\.|[^'\\])')
      | (?P<bytes>b"[^"\\]*")
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<op>::<|::|>>=|<<|>>|->|=>|\|=|&=|\+=|-=|\*=|==|!=|<=|>=|&&|\|\||\.\.=|\.\.|[-+*/%&|^!<>=(){}\[\],;:.\#'@])
    )""",
    re.VERBOSE,
)

INT_TYPES = {"u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64"}
ASSIGNMENTS = ("=", "|=", "&=", "+=", "-=", "*=", ">>=")
ESCAPES = {"n": 0x0A, "r": 0x0D, "t": 0x09, "0": 0x00, "\\": 0x5C, "'": 0x27}


def integer_limit(kind, name):
    """`MAX` or `MIN` of a type of integers."""
    width = int(kind[1:]) if kind[1:].isdigit() else 64
    low = -(1 << (width - 1)) if kind[0] == "i" else 0
    return {"MIN": low, "MAX": low + (1 << width) - 1}[name]


def is_type(name):
    """Whether a name is that of a type or of a variant, and not of a constant or a variable."""
    return name[0].isupper() and any(letter.islower() for letter in name)


def character(text):
    """The number of a character or a byte in quotes."""
    inner = text[text.index("'") + 1:-1]
    if inner.startswith("\\u"):
        return int(inner[3:-1], 16)
    return ESCAPES[inner[1]] if inner.startswith("\\") else ord(inner)


class Source:
    """One Rust file, or only the block of it that starts with a line."""

    def __init__(self, path, only=None):
        self.path = path
        self.text = path.read_text().split("#[cfg(test)]\nmod tests")[0]
        if only is not None:
            start = self.text.index(only)
            end = self.text.index("\n}\n", start)
            # The places in the text stay the same.
            self.text = " " * start + self.text[start:end] + "\n}" + " " * (len(self.text) - end - 2)

    def constant(self, name):
        """Returns the value of a `const` or a `static`."""
        match = re.search(rf"\b(?:const|static) {name}\b[^=]*=\s", self.text)
        assert match, f"{self.path} has no constant {name}"
        return Tokens(self.text, match.end()).expression()

    @functools.cache
    def has_function(self, name):
        return f"fn {name}(" in self.text or f"fn {name}<" in self.text

    @functools.cache
    def generics(self, name):
        """Returns the names of the constant parameters of a function."""
        found = re.search(rf"\bfn {name}<([^>(]*)>", self.text)
        return re.findall(r"const (\w+)", found.group(1)) if found else []

    def element_kind(self, name):
        """Returns the type of the elements of a constant array."""
        declared = re.search(rf"\b(?:const|static) {name}: ([^=]*)=", self.text).group(1)
        found = re.search(r"\[([iu][0-9]+);", declared)
        return found.group(1) if found else "u8"

    def function(self, name, is_method=False):
        """Returns the patterns and the body of the function with that name. There must be exactly one, or one method."""
        return parsed_function(self.path, self.text, name, is_method)


@functools.lru_cache(1000)
def parsed_function(path, text, name, is_method):
    starts = [match.start() for match in re.finditer(rf"\bfn {name}\b", text)]
    if len(starts) > 1:
        method = re.compile(rf"fn {name}\((?:&|mut )*self\b")
        starts = [start for start in starts if bool(method.match(text, start)) == is_method]
    assert len(starts) == 1, f"{path} has {len(starts)} functions {name}"
    tokens = Tokens(text, starts[0])
    tokens.expect("fn")
    tokens.next()
    if tokens.peek() in ("<", "::<"):
        tokens.skip_balanced("<", ">")
    tokens.expect("(")
    parameters = []
    while tokens.peek() != ")":
        while tokens.peek() in ("&", "mut"):
            tokens.next()
        pattern = tokens.pattern()
        if tokens.peek() == ":":
            tokens.next()
            tokens.skip_type()
        parameters.append(pattern)
        if tokens.peek() == ",":
            tokens.next()
    tokens.expect(")")
    if tokens.peek() == "->":
        tokens.next()
        tokens.skip_type()
    # The bounds of its types.
    while tokens.peek() != "{":
        tokens.next()
    return parameters, tokens.block()


class Tokens:
    def __init__(self, text, at):
        self.text, self.at = text, at
        self.ahead = None

    def peek(self):
        if self.ahead is None:
            match = TOKEN.match(self.text, self.at)
            assert match, f"not understood: {self.text[self.at:self.at + 60]!r}"
            self.ahead = (match, match[match.lastgroup] if match.lastgroup != "suffix" else match["number"])
        return self.ahead[1]

    def next(self):
        token = self.peek()
        match = self.ahead[0]
        self.at, self.ahead = match.end(), None
        self.match = match
        return token

    def expect(self, token):
        found = self.next()
        assert found == token, f"expected {token}, found {found} before {self.text[self.at:self.at + 60]!r}"

    def skip_balanced(self, opening, closing):
        depth = 0
        while True:
            token = self.next()
            depth += (token in (opening, "::" + opening)) - (token == closing) - 2 * (token == closing * 2)
            if depth <= 0:
                return

    def skip_type(self):
        depth = 0
        while depth > 0 or self.peek() not in (",", ")", "{", "=", ";", "|"):
            token = self.next()
            depth += (token in "([<") - (token in ")]>") if len(token) == 1 else -2 * (token == ">>")

    def literal(self, token):
        """The number of a token that was just read, or `None`."""
        if self.match["char"]:
            return character(token)
        return int(token.replace("_", ""), 0) if self.match["number"] else None

    def pattern(self):
        while self.peek() in ("mut", "&", "&&"):
            self.next()
        token = self.next()
        if token == "-":
            number = -self.literal(self.next())
            return ("between", number, number)
        if token in INT_TYPES and self.peek() == "::":
            self.next()
            number = integer_limit(token, self.next())
            return ("between", number, number)
        if token in ("(", "["):
            return self.patterns({"(": ")", "[": "]"}[token])
        if token == "..":
            return ("rest",)
        if (first := self.literal(token)) is not None:
            if self.peek() not in ("..", "..="):
                return ("between", first, first)
            is_inclusive = self.next() == "..="
            last = self.literal(self.next())
            return ("between", first, last if is_inclusive else last - 1)
        while self.peek() == "::":
            self.next()
            token = self.next()
        if self.peek() == "(":
            self.next()
            inner = self.patterns(")")
            return ("Self", inner[0]) if token == "Self" else ("variant", token, inner)
        if self.peek() == "{" and is_type(token):
            self.next()
            fields = {}
            while self.peek() != "}":
                if self.peek() == "mut":
                    self.next()
                field = self.next()
                if field != "..":
                    fields[field] = field
                    if self.peek() == ":":
                        self.next()
                        fields[field] = self.pattern()
                if self.peek() == ",":
                    self.next()
            self.expect("}")
            return ("fields", fields, token)
        if self.peek() == "@":
            self.next()
            return ("at", token, self.pattern())
        return ("variant", token, []) if is_type(token) else token

    def alternatives(self):
        """The pattern of an arm of a `match`."""
        found = [self.pattern()]
        while self.peek() == "|":
            self.next()
            found.append(self.pattern())
        return found[0] if len(found) == 1 else ("or", found)

    def patterns(self, closing):
        found = []
        while self.peek() != closing:
            found.append(self.pattern() if closing == "|" else self.alternatives())
            if self.peek() == ":":
                # The type of a parameter of a closure.
                self.next()
                kind = self.peek()
                self.skip_type()
                found[-1] = ("typed", found[-1], kind)
            if self.peek() == ",":
                self.next()
        self.expect(closing)
        return found

    def block(self):
        """`{ statement; ... result }`: the statements and the result, which may be absent."""
        self.expect("{")
        statements = []
        while self.peek() != "}":
            if self.peek() in ("let", "const"):
                self.next()
                if self.peek() == "fn":
                    # `Source.function` finds it.
                    while self.peek() != "{":
                        self.next()
                    self.skip_balanced("{", "}")
                    continue
                pattern = self.pattern()
                if self.peek() == ":":
                    self.next()
                    self.skip_type()
                if self.peek() == ";":
                    # A variable that is assigned later.
                    self.next()
                    statements.append(("let", pattern, ("number", 0, "")))
                    continue
                self.expect("=")
                value = self.expression()
                if self.peek() == "else":
                    self.next()
                    statements.append(("let_else", pattern, value, self.block()))
                else:
                    statements.append(("let", pattern, value))
                self.expect(";")
                continue
            if self.peek() in ("'", "while", "loop", "for"):
                statements.append(self.loop())
                continue
            if self.peek() in ("break", "continue", "return"):
                kind = self.next()
                if kind == "return":
                    statements.append((kind, ("list", []) if self.peek() == ";" else self.expression()))
                elif self.peek() == "'":
                    self.next()
                    statements.append((kind + "_to", self.next()))
                else:
                    statements.append((kind,))
                if self.peek() != "}":
                    self.expect(";")
                continue
            # As in Rust, a block at the start of a statement is the whole statement.
            is_block = self.peek() in ("if", "unsafe", "match")
            value = self.primary() if is_block else self.expression()
            if self.peek() == "}":
                self.expect("}")
                return ("block", statements, value)
            if self.peek() in ASSIGNMENTS:
                operator = self.next()
                statements.append(("assign", operator[:-1], value, self.expression()))
                self.expect(";")
            else:
                statements.append(("expression", value))
                if not is_block or self.peek() == ";":
                    self.expect(";")
        self.expect("}")
        return ("block", statements, None)

    def loop(self):
        kind = self.next()
        if kind == "'":
            label = self.next()
            self.expect(":")
            return ("labelled", label, self.loop())
        if kind == "for":
            pattern = self.pattern()
            self.expect("in")
            return ("for", pattern, self.expression(), self.block())
        return ("while", self.expression() if kind == "while" else ("path", "true", []), self.block())

    LEVELS = [("||",), ("&&",), ("==", "!=", "<", ">", "<=", ">="), ("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "%")]

    def expression(self, level=0):
        if level == 0:
            start = self.expression(1)
            start = self.operators(start, 0)
            if self.peek() in ("..", "..="):
                kind = "range" if self.next() == ".." else "through"
                has_end = self.peek() not in ("]", ")", "{", ",")
                return (kind, start, self.expression(1) if has_end else None)
            return start
        if level == len(self.LEVELS):
            return self.cast()
        return self.operators(self.expression(level + 1), level)

    def operators(self, left, level):
        while self.peek() in self.LEVELS[level]:
            operator = self.next()
            left = ("binary", operator, left, self.expression(level + 1))
        return left

    def cast(self):
        value = self.unary()
        while self.peek() == "as":
            self.next()
            value = ("as", value, self.next())
        return value

    def unary(self):
        if self.peek() in ("!", "-"):
            return ("unary", self.next(), self.unary())
        if self.peek() in ("&", "*"):
            is_reference = self.next() == "&"
            if is_reference and self.peek() == "mut":
                self.next()
                return ("borrow", self.unary())
            return self.unary()
        return self.postfix()

    def arguments(self, closing):
        found = []
        while self.peek() != closing:
            found.append(self.expression())
            if self.peek() == ",":
                self.next()
        self.expect(closing)
        return found

    def postfix(self):
        value = self.primary()
        if self.peek() == "!" and value in (("path", "debug_assert", []), ("path", "assert", [])):
            # Not read, so that its numbers are no numbers of the proof.
            self.next()
            depth, self.ahead = 0, None
            while depth > 0 or self.text[self.at] == "(":
                depth += (self.text[self.at] == "(") - (self.text[self.at] == ")")
                self.at += 1
            return ("list", [])
        if self.peek() == "!" and value == ("path", "matches", []):
            self.next()
            self.expect("(")
            given = self.expression()
            self.expect(",")
            arms = [(self.alternatives(), None, ("path", "true", [])), ("_", None, ("path", "false", []))]
            self.expect(")")
            return ("match", given, arms)
        while True:
            if self.peek() == ".":
                self.next()
                name = self.next()
                generics = self.generics()
                if self.peek() == "(":
                    self.next()
                    value = ("method", value, name, generics, self.arguments(")"))
                else:
                    value = ("field", value, name)
            elif self.peek() == "(":
                self.next()
                value = ("call", value, self.arguments(")"))
            elif self.peek() == "[":
                self.next()
                value = ("index", value, self.expression())
                self.expect("]")
            else:
                return value

    def generics(self):
        if self.peek() != "::<":
            return []
        start = self.next() and self.at
        depth = 1
        while depth:
            token = self.next()
            depth += (token == "<") - (token == ">")
        text = self.text[start:self.at - 1].strip()
        if re.fullmatch(r"[0-9A-Fa-fxb_, ]+", text):
            return [int(number.replace("_", ""), 0) for number in text.split(",")]
        return [part.strip() for part in text.split(",")] if "[" not in text else [text]

    def primary(self):
        token = self.next()
        match = self.match
        if match.group("number"):
            return ("number", int(token.replace("_", ""), 0), (match.group("suffix") or "").strip("_"))
        if match["char"]:
            return ("number", character(token), "u8" if token.startswith("b") else "")
        if match["bytes"]:
            return ("list", [("number", byte, "u8") for byte in token[2:-1].encode()])
        if token in ("..", "..="):
            has_end = self.peek() not in ("]", ")", "{", ",")
            return ("range" if token == ".." else "through", ("number", 0, ""), self.expression(1) if has_end else None)
        if token == "let":
            pattern = self.alternatives()
            self.expect("=")
            return ("let_condition", pattern, self.expression(2))
        if token == "match":
            return self.arms(self.expression())
        if token == "return":
            return ("block", [("return", self.expression())], None)
        if token == "break":
            return ("block", [("break",)], None)
        if token == "[":
            first = self.expression() if self.peek() != "]" else None
            if self.peek() == ";":
                self.next()
                length = self.expression()
                self.expect("]")
                return ("repeat", first, length)
            if self.peek() == ",":
                self.next()
            rest = self.arguments("]")
            return ("list", [first, *rest] if first else rest)
        if token == "(":
            parts = self.arguments(")")
            return parts[0] if token == "(" and len(parts) == 1 else ("list", parts)
        if token == "unsafe":
            return self.block()
        if token == "{":
            self.at, self.ahead = match.start(), None
            return self.block()
        if token == "|":
            return ("closure", self.patterns("|"), self.expression())
        if token == "||":
            return ("closure", [], self.expression())
        if token == "if":
            condition = self.expression()
            then = self.block()
            otherwise = None
            if self.peek() == "else":
                self.next()
                otherwise = self.primary() if self.peek() == "if" else self.block()
            return ("if", condition, then, otherwise)
        assert match.group("name"), f"not understood: {token} before {self.text[self.at:self.at + 60]!r}"
        if is_type(token) and token != "None" and self.peek() == "{":
            return ("struct", *self.fields())
        path = [token]
        constants = []
        while self.peek() in ("::", "::<"):
            if self.peek() == "::<":
                constants = self.generics()
            else:
                self.next()
                path.append(self.next())
        if len(path) > 1 and is_type(path[-1]) and self.peek() == "{":
            return ("struct_variant", path[-1], self.fields()[0])
        return ("path", "::".join(path), constants)

    def fields(self):
        """The fields of a struct, and the struct that has the others."""
        self.expect("{")
        fields, rest = {}, None
        while self.peek() != "}":
            if self.peek() == "..":
                self.next()
                rest = self.expression()
            else:
                field = self.next()
                fields[field] = ("path", field, [])
                if self.peek() == ":":
                    self.next()
                    fields[field] = self.expression()
            if self.peek() == ",":
                self.next()
        self.expect("}")
        return fields, rest

    def arms(self, value):
        """The arms of a `match`."""
        self.expect("{")
        found = []
        while self.peek() != "}":
            pattern, guard = self.alternatives(), None
            if self.peek() == "if":
                self.next()
                guard = self.expression()
            self.expect("=>")
            # A block is the whole arm, also if the pattern of the next arm is in brackets.
            arm = self.primary() if self.peek() == "{" else self.expression()
            if self.peek() in ASSIGNMENTS:
                arm = ("block", [("assign", self.next()[:-1], arm, self.expression())], None)
            found.append((pattern, guard, arm))
            if self.peek() == ",":
                self.next()
        self.expect("}")
        return ("match", value, found)
