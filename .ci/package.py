#!/usr/bin/env python3
"""Fails if cargo warns about a package, or if its README.md, as a registry shows it, has a relative link to a file that is not
in the package.

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


def warnings():
    """What cargo says when it creates both packages, such as targets without their file."""
    command = ["cargo", "package", "--workspace", "--exclude", "integration", "--no-verify", "--allow-dirty"]
    packed = subprocess.run(command, cwd=ROOT, text=True, stderr=subprocess.PIPE)
    said = packed.stderr.split("\n")
    return [line for line in said if line.startswith("warning")] if packed.returncode == 0 else said


found = [f"{folder / 'README.md'} {error}" for folder in (ROOT, ROOT / "crates/utf8-codec-cli") for error in errors(folder)]
found += warnings()
print("\n".join(found), end="\n" if found else "")
sys.exit(bool(found))
