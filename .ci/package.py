#!/usr/bin/env python3
"""Fails if README.md, as a registry shows it, has a relative link to a file that is not in the package.

A registry shows no line that starts with `# ` in a code block as hidden, so there must be none either.
"""

import re
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent
packed = set(subprocess.check_output(["cargo", "package", "--list", "--allow-dirty"], cwd=root, text=True).split("\n"))
readme = (root / "README.md").read_text()

missing = [link for link in re.findall(r"\]\(([^)#\s]+)", readme) if "://" not in link and link not in packed]
code = re.findall(r"```rust\n(.*?)```", readme, flags=re.S)
hidden = [line for block in code for line in block.split("\n") if line.startswith("# ")]

for link in missing:
    print(f"README.md links to {link}, which is not in the package")
for line in hidden:
    print(f"README.md has a hidden line: {line}")
sys.exit(bool(missing or hidden))
