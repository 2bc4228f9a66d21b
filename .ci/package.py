#!/usr/bin/env python3
"""Fails if the README.md of a package, as a registry shows it, has a relative link to a file that is not in the package.

A registry shows no line that starts with `# ` in a code block as hidden, so there must be none either.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def errors(folder):
    command = ["cargo", "package", "--list", "--allow-dirty"]
    packed = set(subprocess.check_output(command, cwd=folder, text=True).split("\n"))
    readme = (folder / "README.md").read_text()
    for link in re.findall(r"\]\(([^)#\s]+)", readme):
        if "://" not in link and link not in packed:
            yield f"links to {link}, which is not in the package"
    for block in re.findall(r"```rust\n(.*?)```", readme, flags=re.S):
        for line in block.split("\n"):
            if line.startswith("# "):
                yield f"has a hidden line: {line}"


found = [f"{folder / 'README.md'} {error}" for folder in (ROOT, ROOT / "crates/kernels", ROOT / "crates/utf8-codec-cli") for error in errors(folder)]
print("\n".join(found), end="\n" if found else "")
sys.exit(bool(found))
