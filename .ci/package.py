#!/usr/bin/env python3
"""Checks the packages, and what releases them.

Fails if cargo warns about a package, or if its README.md, as a registry shows it, has a relative link to a file that is not in the
package. A registry shows no line that starts with `# ` in a code block as hidden, so there must be none either.

Fails if the jobs of release.yml publish in another order than crates, wheels, page, or crates before those on which they depend, or
if a wheel is written to a folder that the
next steps cannot read or write. Packs a program with the script of release.yml, and runs it with that of action.yml.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Shell scripts that run on macOS, whose Bash is 3.2.
ON_MACOS = (".github/action/archive", ".github/action/check")


def published():
    """The metadata of the published packages by their names."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    packages = json.loads(subprocess.check_output(command, cwd=ROOT))["packages"]
    return {package["name"]: package for package in packages if package["publish"] is None}


def of_readme(folder):
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


def of_workflow(text, packages):
    """Yields what is wrong in release.yml."""
    order = re.search(r"for package in (.*); do", text)[1].split()
    if sorted(order) != sorted(packages):
        yield f"publishes {order}, but the packages are {sorted(packages)}"
    for i, name in enumerate(order):
        for dependency in packages.get(name, {}).get("dependencies", []):
            if dependency["kind"] != "dev" and dependency["name"] in order[i:]:
                yield f"publishes {name} before {dependency['name']}"
    jobs = dict(re.findall(r"^  (\w+):\n((?:    .*\n)+)", text.partition("\njobs:\n")[2], flags=re.M))
    needs = {name: re.findall(r"\w+", "".join(re.findall(r"^    needs: (.*)$", job, flags=re.M))) for name, job in jobs.items()}
    expected = {"crates": ["build", "sdist"], "pypi": ["crates"], "github": ["pypi"]}
    for name, before in expected.items():
        if needs.get(name) != before:
            yield f"the job {name} needs {needs.get(name)}, not {before}"
    steps = re.split(r"^      - ", text, flags=re.M)
    wheels = [step for step in steps if step.startswith("uses: PyO3/maturin-action@")]
    if len(wheels) != 2:
        yield f"has {len(wheels)} steps with maturin, not 2"
    for step in wheels:
        # maturin runs in the working directory, perhaps as root in a container. The action changes the owner of a folder with this
        # name in the workspace, where the next steps use `dist`.
        if "working-directory:" in step or "--out dist\n" not in step:
            yield f"writes a wheel to a folder that is not `dist` of the workspace: {step}"
        if " --manifest-path crates/utf8-codec-cli/Cargo.toml " not in step:
            yield f"builds a wheel of another package: {step}"


def of_scripts():
    """Packs a program and installs it as the action does, with a script in place of the program."""
    for name in ON_MACOS:
        for line in (ROOT / name).read_text().split("\n"):
            if re.search(r'(?<!\+)"\$\{\w+\[@\]\}"', line):
                yield f"{name}: Bash 3.2 rejects an empty array: {line}"
    target = "x86_64-unknown-linux-musl"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in (*ON_MACOS, "LICENSE-APACHE", "LICENSE-MIT", "crates/utf8-codec-cli/README.md"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        program = folder / "target" / target / "release" / "utf8-codec"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\nprintf '[%s]' \"$@\"\n")
        program.chmod(0o755)
        subprocess.run([folder / ON_MACOS[0], target, "0.0.0"], check=True)
        (folder / "dist").rename(folder / "v0.0.0")
        environment = {"RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "RUNNER_TEMP": str(folder), "UTF8_CODEC_RELEASES": f"file://{folder}"}
        for arguments, expected in (("", ""), (".", "[.]"), ("a b\n\n--fix\n", "[a b][--fix]")):
            inputs = {"INPUT_ARGS": arguments, "INPUT_VERSION": "0.0.0", "INPUT_SARIF": ""}
            done = subprocess.run([folder / ON_MACOS[1]], env={**os.environ, **environment, **inputs}, cwd=folder, capture_output=True, text=True)
            if done.stdout != f"[check][--format][github]{expected}":
                yield f"{ON_MACOS[1]} runs {done.stdout} for {arguments!r}: {done.stderr}"


def warnings(packages):
    """What cargo says when it creates the packages, such as targets without their file."""
    command = ["cargo", "package", "--no-verify", "--allow-dirty", *(f"--package={name}" for name in packages)]
    packed = subprocess.run(command, cwd=ROOT, text=True, stderr=subprocess.PIPE)
    said = packed.stderr.split("\n")
    # The tests of most packages are not in them, because they need packages that are not published.
    warned = [line for line in said if line.startswith("warning") and not line.startswith("warning: ignoring test ")]
    return warned if packed.returncode == 0 else said


packages = published()
found = [f"{name}: README.md {error}" for name, package in packages.items() for error in of_readme(Path(package["manifest_path"]).parent)]
found += [f"release.yml: {error}" for error in of_workflow((ROOT / ".github/workflows/release.yml").read_text(), packages)]
found += of_scripts()
found += warnings(packages)
print("\n".join(found), end="\n" if found else "")
sys.exit(bool(found))
