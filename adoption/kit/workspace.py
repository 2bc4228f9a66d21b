"""The two workspaces that the tests run in: `before` has the packages as released, `after` has them edited."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from . import edits

ADOPTION = Path(__file__).resolve().parent.parent
REPOSITORY = ADOPTION.parent
WORK = ADOPTION / "target"
SIDES = ("before", "after")
CASE = "utf8_codec_case"
SPEED = "utf8_codec_speed"
TEXTS = "utf8_codec_texts"
# Their lock file and toolchain are for their own repository.
LEFT_OUT = ("Cargo.lock", "Cargo.toml.orig", "rust-toolchain*", ".cargo*")

WORKSPACE = """\
[workspace]
members = [{members}]
resolver = "2"

[patch.crates-io]
{patches}

[profile.dev]
debug = false
incremental = false

# Dependencies are not tested here, and the kernels are very slow without optimizations.
[profile.dev.package."*"]
opt-level = 1
"""


@dataclass
class Row:
    """A crate and its edits: a table of `rows.toml`."""

    name: str
    crate: str
    features: list[str]
    default_features: bool
    tests: list[str]
    keep_dev: list[str]
    utf8_codec: list[str]
    extra: str
    extra_after: str
    bug: str
    source: str
    without: dict[str, str]
    patch: bool
    drop: list[str]
    bench: str
    edits: list[dict] = field(repr=False)
    problem: str = ""

    @classmethod
    def read(cls, name: str, table: dict) -> "Row":
        unknown = set(table) - {"edit"} - {f for f in cls.__dataclass_fields__}
        if unknown:
            raise SystemExit(f"{name}: unknown keys {sorted(unknown)}")
        defaults = dict(features=[], default_features=True, keep_dev=[], utf8_codec=[], extra="", extra_after="")
        defaults |= dict(bug="", source="", without={}, patch=False, drop=[], bench="", tests=["--lib"])
        table["edits"] = table.pop("edit", [])
        return cls(**(defaults | {"name": name, "crate": name} | table))

    def folder(self, side: str) -> Path:
        return WORK / side / self.name

    def case(self) -> str | None:
        """Returns our test for this crate."""
        return edits.module(ADOPTION / "cases.rs", self.name)

    def speed(self) -> str | None:
        """Returns the workload for this crate."""
        program = edits.module(ADOPTION / "speed.rs", self.name)
        texts = edits.module(ADOPTION / "speed.rs", TEXTS)
        return program and f"{program}\nmod {TEXTS} {{\n{texts}}}\n"


def rows(names: list[str]) -> list[Row]:
    tables = tomllib.loads((ADOPTION / "rows.toml").read_text())
    every = [Row.read(name, table) for name, table in tables.items()]
    missing = set(names) - {row.name for row in every}
    if missing:
        raise SystemExit(f"no row is called {', '.join(sorted(missing))}")
    return every


def cargo(*arguments: str, cwd: Path, jobs: int | None = None, timeout: int = 1800) -> subprocess.CompletedProcess:
    """Runs cargo with one target folder for everything. Lints are disabled, because the code is not ours."""
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(WORK / "build"),
        "RUSTFLAGS": "--cap-lints=allow",
        "CARGO_TERM_COLOR": "never",
        "RUST_BACKTRACE": "0",
    }
    if jobs:
        environment["CARGO_BUILD_JOBS"] = str(jobs)
    environment.pop("CARGO_ENCODED_RUSTFLAGS", None)
    return subprocess.run(
        ["cargo", *arguments], cwd=cwd, env=environment, text=True, capture_output=True, timeout=timeout
    )


def checked(done: subprocess.CompletedProcess, what: str) -> str:
    if done.returncode != 0:
        raise SystemExit(f"{what} failed:\n{done.stderr[-4000:]}")
    return done.stdout


def fetch() -> dict[str, tuple[str, Path]]:
    """Fetches the released crates with cargo, which compares checksums. Returns the version and folder of each name."""
    output = checked(cargo("metadata", "--locked", "--format-version", "1", cwd=ADOPTION), "cargo metadata")
    metadata = json.loads(output)
    root = next(p for p in metadata["packages"] if p["name"] == "adoption")
    wanted = {d["name"]: d["req"].lstrip("=") for d in root["dependencies"]}
    return {
        p["name"]: (p["version"], Path(p["manifest_path"]).parent)
        for p in metadata["packages"]
        if wanted.get(p["name"]) == p["version"]
    }


def tables(manifest: str) -> list[str]:
    """Returns the tables of a manifest that cargo has written, each with its header."""
    return [t for t in re.split(r"(?m)^(?=\[)", manifest) if t.strip()]


def trim(manifest: str, row: Row) -> str:
    """Returns the manifest without benches, examples, lints and the dev-dependencies that the tests of the row do not need."""
    tests = {row.tests[i + 1] for i, argument in enumerate(row.tests) if argument == "--test"}
    kept = []
    for table in tables(manifest):
        header = table.splitlines()[0].strip()
        name = re.search(r'(?m)^name = "([^"]*)"', table)
        dev = re.match(r"\[(?:target\..*\.)?dev-dependencies\.\"?([^\]\"]+)", header)
        if dev and dev.group(1) not in row.keep_dev:
            continue
        if header == "[[bench]]" and name.group(1) != row.bench:
            continue
        if header == "[[example]]" or header.startswith(("[lints", "[profile")):
            continue
        if header == "[[test]]" and name.group(1) not in tests:
            continue
        kept.append(table if table.endswith("\n") else table + "\n")
    return "".join(kept)


def lay_out(row: Row, side: str, released: Path) -> None:
    """Writes a package to a workspace: as released but trimmed, with our test, and edited if the workspace is `after`."""
    folder = row.folder(side)
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(released, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    manifest = trim((folder / "Cargo.toml").read_text(), row)
    for program, section, target in [(row.case(), "tests", CASE), (row.speed(), "examples", SPEED)]:
        if program:
            (folder / section).mkdir(exist_ok=True)
            (folder / section / f"{target}.rs").write_text(program)
            manifest += f'\n[[{section[:-1]}]]\nname = "{target}"\npath = "{section}/{target}.rs"\n'
            if "\nedition = " not in next(t for t in tables(manifest) if t.startswith("[package]")):
                manifest += 'edition = "2021"\n'
    if row.extra:
        manifest += "\n" + row.extra
    if side == "after" and row.edits:
        try:
            edits.apply_all(folder, row.edits)
        except edits.EditError as error:
            row.problem = f"the edit does not fit: {error}"
        headers = tuple(f"[dependencies.{name}]" for name in row.drop)
        manifest = "".join(table for table in tables(manifest) if not table.startswith(headers))
        features = json.dumps(row.utf8_codec)
        manifest += f'\n[dependencies.utf8-codec]\npath = "{REPOSITORY}"\n'
        manifest += f"default-features = false\nfeatures = {features}\n{row.extra_after}"
    (folder / "Cargo.toml").write_text(manifest)


def lock():
    """Prevents a second run until this one ends."""
    WORK.mkdir(exist_ok=True)
    file = (WORK / "lock").open("w")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def prepare(every: list[Row]) -> dict[str, str]:
    """Creates both workspaces. Returns the version of each crate."""
    released = fetch()
    for side in SIDES:
        (WORK / side).mkdir(parents=True, exist_ok=True)
        for row in every:
            lay_out(row, side, released[row.crate][1])
        members = ", ".join(f'"{row.name}"' for row in every)
        patches = "\n".join(f'{row.crate} = {{ path = "{row.name}" }}' for row in every if row.patch)
        (WORK / side / "Cargo.toml").write_text(WORKSPACE.format(members=members, patches=patches))
        lock = ADOPTION / "tests.lock"
        if lock.exists():
            shutil.copy(lock, WORK / side / "Cargo.lock")
    return {name: version for name, (version, _) in released.items()}


def changed_lines(row: Row) -> tuple[int, int]:
    """Returns the number of lines removed from and added to the sources of the crate."""
    folders = [str(row.folder(side) / "src") for side in SIDES]
    diff = subprocess.run(
        ["git", "diff", "--no-index", "--numstat", "--ignore-blank-lines", *folders], text=True, capture_output=True
    )
    counts = [line.split("\t")[:2] for line in diff.stdout.splitlines()]
    return sum(int(deleted) for _, deleted in counts), sum(int(added) for added, _ in counts)


def download() -> None:
    """Fetches the dependencies of both workspaces with cargo, so that the other steps need no network."""
    for side in SIDES:
        checked(cargo("fetch", cwd=WORK / side), "cargo fetch")
