"""Scripted edits of Rust sources. An edit finds its position by a few words and contains only the new lines.

An edit is a table of a row (`rows.toml`). It has a `file`, at most one `inside` (an item that contains the
position), one of the keys below, and `with`, the new lines. The words must be found exactly once.

    delete = true               the whole file
    item = "fn name"            an item with its attributes and doc comments
    body = "fn name"            the code between the braces of an item
    lines = ["first", "last"]   from the line that has the first words to the next one that has the last
    line = "words"              one line
    after, before = "words"     nothing; `with` is inserted after or before that line
    text = "words"              these words (`all = true`: every occurrence)
"""

import re
import textwrap
from pathlib import Path

PREFIX = r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?(?:(?:default|async|const|unsafe)[ \t]+)*"


class EditError(Exception):
    """The position of an edit was not found, or is ambiguous."""


def code_only(source: str) -> str:
    """The source with comments, strings and character literals blanked, so that braces can be counted."""
    token = re.compile(
        r"""
        //[^\n]*
        | /\*.*?\*/
        | b?r(?P<hashes>\#*)".*?"(?P=hashes)
        | b?"(?:\\.|[^"\\])*"
        | b?'(?:\\(?:x[0-9A-Fa-f]{2}|u\{[^}]*\}|.)|[^'\\\n])'
        """,
        re.VERBOSE | re.DOTALL,
    )

    def blank(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    return token.sub(blank, source)


def line_start(source: str, at: int) -> int:
    return source.rfind("\n", 0, at) + 1


def line_end(source: str, at: int) -> int:
    """Returns the position after the line break that ends the line of `at`."""
    end = source.find("\n", at)
    return len(source) if end < 0 else end + 1


def item_end(code: str, at: int) -> tuple[int, int | None]:
    """Returns the end of the item that starts at `at`, and the position of its opening brace if it has one."""
    depth, opening = 0, None
    for index in range(at, len(code)):
        character = code[index]
        if character in "([{":
            if character == "{" and depth == 0 and opening is None:
                opening = index
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0 and character == "}" and opening is not None:
                return index + 1, opening
        elif character == ";" and depth == 0:
            return index + 1, None
    raise EditError("an item that does not end")


def with_attributes(source: str, start: int) -> int:
    """Returns the start of the attributes and doc comments of an item."""
    while start > 0:
        above = line_start(source, start - 1)
        if not re.match(r"[ \t]*(#\[|///|//)", source[above:start]):
            break
        start = above
    return start


def only(found: list[int], words: str) -> int:
    if len(found) != 1:
        raise EditError(f"{words!r} is there {len(found)} times")
    return found[0]


def find_item(source: str, code: str, words: str, start: int, end: int) -> int:
    whole = r"(?!\w)" if re.match(r"\w", words[-1]) else ""
    pattern = re.compile(PREFIX + re.escape(words) + whole, re.MULTILINE)
    return only([m.start() for m in pattern.finditer(code[:end], start)], words)


def find_words(source: str, words: str, start: int, end: int) -> int:
    return only([m.start() for m in re.finditer(re.escape(words), source[start:end])], words) + start


def module(path: Path, name: str) -> str | None:
    """Returns the code of a module, or `None` if there is none."""
    source = path.read_text()
    found = re.search(rf"^mod {name.replace('-', '_')} ", source, re.MULTILINE)
    if found is None:
        return None
    end, opening = item_end(code_only(source), found.start())
    return textwrap.dedent(source[opening + 1 : end - 1].lstrip("\n"))


def apply(source: str, edit: dict) -> str:
    """Returns the source after one edit."""
    code = code_only(source)
    start, end = 0, len(source)
    if "inside" in edit:
        for words in [edit["inside"]] if isinstance(edit["inside"], str) else edit["inside"]:
            start = find_item(source, code, words, start, end)
            end, _ = item_end(code, start)
    new = edit.get("with", "")
    if "item" in edit:
        at = find_item(source, code, edit["item"], start, end)
        cut_end, _ = item_end(code, at)
        cut = (with_attributes(source, at), line_end(source, cut_end - 1))
    elif "body" in edit:
        at = find_item(source, code, edit["body"], start, end)
        cut_end, opening = item_end(code, at)
        if opening is None:
            raise EditError(f"{edit['body']!r} has no body")
        new = "\n" + new
        cut = (opening + 1, line_start(source, cut_end))
    elif "lines" in edit:
        first = line_start(source, find_words(source, edit["lines"][0], start, end))
        words = edit["lines"][1]
        # Indented words must be at the start of a line.
        last = re.compile(("^" if words[0].isspace() else "") + re.escape(words), re.MULTILINE).search(
            source, first, end
        )
        if last is None:
            raise EditError(f"no {words!r} after {edit['lines'][0]!r}")
        cut = (first, line_end(source, last.end() - 1))
    elif "line" in edit:
        at = find_words(source, edit["line"], start, end)
        cut = (line_start(source, at), line_end(source, at))
    elif "before" in edit:
        at = line_start(source, find_words(source, edit["before"], start, end))
        cut = (at, at)
    elif "after" in edit:
        at = line_end(source, find_words(source, edit["after"], start, end))
        cut = (at, at)
    elif "text" in edit:
        words = edit["text"]
        if edit.get("all"):
            return source[:start] + source[start:end].replace(words, new) + source[end:]
        at = find_words(source, words, start, end)
        cut = (at, at + len(words))
    else:
        raise EditError(f"an edit without a place: {edit}")
    return source[: cut[0]] + new + source[cut[1] :]


def apply_all(folder: Path, edits: list[dict]) -> None:
    """Applies the edits of a row, in their order, to the copy of a package."""
    for edit in edits:
        path = folder / edit["file"]
        try:
            if edit.get("delete"):
                path.unlink()
            else:
                path.write_text(apply(path.read_text(), edit))
        except (EditError, OSError) as error:
            raise EditError(f"{edit['file']}: {error}") from error
