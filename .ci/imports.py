#!/usr/bin/env python3
"""Fails if imports between files of a crate form a cycle. Cargo checks that there is none between crates.

Checks all crates of the repository: every `src/lib.rs` and `src/main.rs`, and every test that is a folder.

An import is a path in a `use` or in the code, followed through re-exports to the file that defines the name. `mod`
declarations, `#[cfg(test)]` modules, and re-exports (`pub use`) that their own file does not use do not count.
`.ci/imports.py --list` prints every import.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def without_comments_and_strings(text):
    pattern = r'//[^\n]*|/\*.*?\*/|b?r#*"(?:.*?)"#*|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\])\''
    return re.sub(pattern, lambda m: '""' if m.group()[0] not in "/" else " ", text, flags=re.S)


def block_end(text, start):
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0 and text[at] == "}":
            return at + 1
    return len(text)


def without_tests(text):
    while found := re.search(r"#\[cfg\((?:test|all\(test\b[^\]]*)\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))? )?mod \w+ \{", text):
        text = text[: found.start()] + text[block_end(text, found.end() - 1) :]
    return re.sub(r"#\[cfg\(test\)\]\s*use [^;]*;", "", text)


def with_inline_modules_flat(text):
    """`super` in an inline module is the file itself."""
    for found in reversed(list(re.finditer(r"\bmod \w+ \{", text))):
        end = block_end(text, found.end() - 1)
        body = re.sub(r"\bsuper::", "self::", text[found.end() : end - 1])
        text = text[: found.start()] + body + text[end:]
    return text


def leaves(tree, prefix=()):
    """Returns the paths of a `use` tree, each with the name that it imports."""
    tree = tree.strip()
    if "{" in tree:
        head, body = tree[: tree.index("{")], tree[tree.index("{") + 1 : tree.rindex("}")]
        prefix = prefix + tuple(part for part in re.split(r"\s*::\s*", head.strip()) if part)
        depth, item = 0, ""
        for character in body + ",":
            if character == "," and depth == 0:
                if item.strip():
                    yield from leaves(item, prefix)
                item = ""
                continue
            depth += {"{": 1, "}": -1}.get(character, 0)
            item += character
        return
    path, _, alias = tree.partition(" as ")
    parts = prefix + tuple(part for part in re.split(r"\s*::\s*", path.strip()) if part)
    if parts and parts[-1] == "self":
        parts = parts[:-1]
    if parts:
        yield parts, (alias.strip() or parts[-1])


class Module:
    def __init__(self, path, parts, file):
        self.path, self.parts = path, parts
        text = with_inline_modules_flat(without_tests(without_comments_and_strings(file)))
        uses = [use.groups() for use in re.finditer(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);", text)]
        self.uses = [leaf for _, tree in uses for leaf in leaves(tree)]
        rest = re.sub(r"\buse\s+[^;]+;|\bpub\([^)]*\)", "", text)
        used = set(re.findall(r"(?<![.:\w])(?<!fn )(?<!mod )\w+", rest))
        self.imports = [path for public, tree in uses for path, name in leaves(tree) if not public or name in used]
        inline = re.findall(r"(?<![:\w])\w+(?:\s*::\s*\w+)+", rest)
        self.paths = [tuple(re.split(r"\s*::\s*", path)) for path in inline]


def read(file, parts, modules):
    text = file.read_text()
    modules[parts] = Module(file, parts, text)
    folder = file.parent if file.name in ("mod.rs", "lib.rs", "main.rs") else file.parent / file.stem
    code = without_tests(re.sub(r"//[^\n]*", "", text))
    for found in re.finditer(r'((?:#\[[^\n]*\]\s*)*)(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;', code):
        attributes, name = found.groups()
        if "cfg(test)" in attributes:
            continue
        named = re.findall(r'path\s*=\s*"([^"]+)"', attributes)
        candidates = [file.parent / path for path in named] or [folder / f"{name}.rs", folder / name / "mod.rs"]
        for candidate in candidates:
            if candidate.is_file():
                read(candidate, parts + (name,), modules)


def absolute(module, path):
    if path[0] == "crate":
        return path[1:]
    if path[0] == "self":
        return module.parts + path[1:]
    if path[0] == "super":
        up = 0
        while up < len(path) and path[up] == "super":
            up += 1
        return module.parts[: len(module.parts) - up] + path[up:]
    return None


def definition(modules, module, path, seen=()):
    """Returns the module that defines the item of the path, or None if it is in another crate."""
    parts = absolute(module, path)
    if parts is None:
        if module.parts + path[:1] in modules:
            parts = module.parts + path
        else:
            named = next((use for use, name in module.uses if name == path[0]), None)
            if named is None or named[0] == path[0] or len(seen) > 20:
                return None
            return definition(modules, module, named + path[1:], seen + ((module.parts, path),))
    at = next((n for n in range(len(parts), -1, -1) if parts[:n] in modules), None)
    if at is None:
        return None
    home = modules[parts[:at]]
    if at == len(parts) or (home.parts, parts) in seen:
        return home
    for use, name in home.uses:
        if name == parts[at] and use[0] != parts[at]:
            found = definition(modules, home, use, seen + ((home.parts, parts),))
            return found or home
    return home


def arrows(modules):
    found = {}
    for module in modules.values():
        for path in module.imports + module.paths:
            target = definition(modules, module, path)
            if target and target.path != module.path:
                found.setdefault((module.path, target.path), set()).add(path[-1])
    return found


def loops(edges):
    following = {}
    for start, end in edges:
        following.setdefault(start, set()).add(end)
    index, low, stack, result = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(following.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                result.append(sorted(group))

    for node in sorted({start for start, _ in edges}):
        if node not in index:
            visit(node)
    return result


def crate_roots():
    """Returns the root files of all crates that are not ignored by Git."""
    patterns = ["src/lib.rs", "src/main.rs", "*/src/lib.rs", "*/src/main.rs", "tests/*/main.rs", "*/tests/*/main.rs"]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    return [ROOT / path for path in sorted(set(listed)) if (ROOT / path).is_file()]


def main():
    sys.setrecursionlimit(10_000)
    edges = {}
    roots = crate_roots()
    for root in roots:
        modules = {}
        read(root, (), modules)
        edges |= arrows(modules)
    name = lambda path: str(path.relative_to(ROOT))
    if "--list" in sys.argv:
        for (start, end), names in sorted(edges.items()):
            print(f"{name(start)} -> {name(end)}: {', '.join(sorted(names))}")
        return
    found = loops(edges)
    for group in found:
        print("import loop: " + ", ".join(map(name, group)))
        for (start, end), names in sorted(edges.items()):
            if start in group and end in group:
                print(f"  {name(start)} -> {name(end)}: {', '.join(sorted(names))}")
    if found:
        sys.exit(1)
    print(f"{len(edges)} imports between the files of {len(roots)} crates, no loop")


main()
