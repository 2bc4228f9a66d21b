"""Reads functions of the Rust sources and computes them over symbolic values.

It supports the subset of Rust that the vector kernels use: `let` with patterns, `unsafe` blocks, loops, closures, calls,
tuples, arrays, and integer operators. Anything else is an error, so that a change of the source is never skipped.
"""

import re

TOKEN = re.compile(
    r"""\s*(?://[^\n]*\n\s*)*(?:
        (?P<number>0x[0-9A-Fa-f_]+|[0-9][0-9_]*)(?P<suffix>_?[iu](?:8|16|32|64|size))?
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<op>::<|::|>>=|<<|>>|->|\|=|&=|\+=|-=|==|!=|<=|>=|&&|\|\||\.\.|[-+*/%&|^!<>=(){}\[\],;:.\#'])
    )""",
    re.VERBOSE,
)

INT_TYPES = {"u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64"}


class Source:
    """One Rust file."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text().split("#[cfg(test)]\nmod tests")[0]

    def constant(self, name):
        """Returns the value of a `const` or a `static`."""
        match = re.search(rf"\b(?:const|static) {name}\b[^=]*= ", self.text)
        assert match, f"{self.path} has no constant {name}"
        return Tokens(self.text, match.end()).expression()

    def generics(self, name):
        """Returns the names of the constant parameters of a function."""
        found = re.search(rf"\bfn {name}<([^>(]*)>", self.text)
        return re.findall(r"const (\w+)", found.group(1)) if found else []

    def element_kind(self, name):
        """Returns the type of the elements of a constant array."""
        declared = re.search(rf"\b(?:const|static) {name}: ([^=]*)=", self.text).group(1)
        found = re.search(r"\[([iu][0-9]+);", declared)
        return found.group(1) if found else "u8"

    def function(self, name):
        """Returns the patterns and the body of the function with that name. There must be exactly one."""
        starts = [match.start() for match in re.finditer(rf"\bfn {name}\b", self.text)]
        assert len(starts) == 1, f"{self.path} has {len(starts)} functions {name}"
        tokens = Tokens(self.text, starts[0])
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
        return parameters, tokens.block()


class Tokens:
    def __init__(self, text, at):
        self.text, self.at = text, at
        self.ahead = None

    def peek(self):
        if self.ahead is None:
            match = TOKEN.match(self.text, self.at)
            assert match, f"not understood: {self.text[self.at:self.at + 60]!r}"
            self.ahead = (match, match.group("number") or match.group("name") or match.group("op"))
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
        while depth > 0 or self.peek() not in (",", ")", "{", "=", ";"):
            token = self.next()
            depth += (token in "([<") - (token in ")]>") if len(token) == 1 else 0

    def pattern(self):
        token = self.next()
        if token == "mut":
            token = self.next()
        if token in ("(", "["):
            return self.patterns({"(": ")", "[": "]"}[token])
        if token == "Self" and self.peek() == "(":
            self.next()
            (inner,) = self.patterns(")")
            return ("Self", inner)
        if token == "Self" and self.peek() == "{":
            self.next()
            fields = {}
            while self.peek() != "}":
                field = self.next()
                if field != "..":
                    fields[field] = field
                    if self.peek() == ":":
                        self.next()
                        fields[field] = self.pattern()
                if self.peek() == ",":
                    self.next()
            self.expect("}")
            return ("fields", fields)
        return token

    def patterns(self, closing):
        found = []
        while self.peek() != closing:
            found.append(self.pattern())
            if self.peek() == ":":
                # The type of a parameter of a closure.
                self.next()
                found[-1] = ("typed", found[-1], self.next())
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
                pattern = self.pattern()
                if self.peek() == ":":
                    self.next()
                    self.skip_type()
                self.expect("=")
                statements.append(("let", pattern, self.expression()))
                self.expect(";")
                continue
            if self.peek() == "while":
                self.next()
                statements.append(("while", self.expression(), self.block()))
                continue
            if self.peek() == "for":
                self.next()
                pattern = self.pattern()
                self.expect("in")
                statements.append(("for", pattern, self.expression(), self.block()))
                continue
            if self.peek() in ("break", "continue"):
                statements.append((self.next(),))
                self.expect(";")
                continue
            if self.peek() == "return":
                self.next()
                statements.append(("return", self.expression()))
                self.expect(";")
                continue
            # As in Rust, a block at the start of a statement is the whole statement.
            is_block = self.peek() in ("if", "unsafe")
            value = self.primary() if is_block else self.expression()
            if self.peek() == "}":
                self.expect("}")
                return ("block", statements, value)
            if self.peek() in ("=", "|=", "&=", "+=", "-=", ">>="):
                operator = self.next()
                statements.append(("assign", operator[:-1], value, self.expression()))
                self.expect(";")
            else:
                statements.append(("expression", value))
                if not is_block or self.peek() == ";":
                    self.expect(";")
        self.expect("}")
        return ("block", statements, None)

    LEVELS = [("||",), ("&&",), ("==", "!=", "<", ">", "<=", ">="), ("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "%")]

    def expression(self, level=0):
        if level == 0:
            start = self.expression(1)
            if self.peek() == "..":
                self.next()
                return ("range", start, self.expression(1))
            return self.operators(start, 0)
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
            self.next()
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
        if self.peek() == "!" and value == ("path", "debug_assert", []):
            # Not read, so that its numbers are no numbers of the proof.
            self.next()
            depth, self.ahead = 0, None
            while depth > 0 or self.text[self.at] == "(":
                depth += (self.text[self.at] == "(") - (self.text[self.at] == ")")
                self.at += 1
            return ("list", [])
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
            self.ahead = (match, token)
            self.at = match.start()
            self.ahead = None
            return self.block()
        if token == "|":
            parameters = self.patterns("|")
            return ("closure", parameters, self.expression())
        if token == "if":
            condition = self.expression()
            then = self.block()
            otherwise = None
            if self.peek() == "else":
                self.next()
                otherwise = self.primary() if self.peek() == "if" else self.block()
            return ("if", condition, then, otherwise)
        assert match.group("name"), f"not understood: {token} before {self.text[self.at:self.at + 60]!r}"
        if token == "Self" and self.peek() == "{":
            self.next()
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
            return ("struct", fields, rest)
        path = [token]
        constants = []
        while self.peek() in ("::", "::<"):
            if self.peek() == "::<":
                constants = self.generics()
            else:
                self.next()
                path.append(self.next())
        return ("path", "::".join(path), constants)
