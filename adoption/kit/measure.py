"""Runs the tests and the workloads of a row."""

import json
import os
import re
import resource
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from .workspace import CASE, SIDES, SPEED, WORK, Row, cargo, changed_lines

RUNS = 7
BENCH_RUNS = 3
# Seconds of user time. Generating the text takes a hundredth of it, which is subtracted.
LONG_ENOUGH = 0.15


@dataclass
class Result:
    """The results of a row."""

    row: Row
    version: str
    deleted: int = 0
    added: int = 0
    before: int = 0
    after: int = 0
    cases: int = 0
    speed: str = "-"
    seconds: float = 0
    problems: list[str] = field(default_factory=list)


def outcomes(output: str) -> dict[str, str]:
    """Returns the tests of a run of `cargo test` by binary and name: `ok`, `FAILED` or `ignored`."""
    found, binary = {}, ""
    for line in output.splitlines():
        if running := re.match(r"\s*(?:Running|Doc-tests) (\S+(?: \S+\.rs)?)", line):
            binary = running.group(1)
        elif test := re.match(r"test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", line):
            found[f"{binary}: {test.group(1)}"] = test.group(2)
    return found


def feature_arguments(row: Row, more: list[str]) -> list[str]:
    features = [*row.features, *more]
    arguments = ["--features", ",".join(features)] if features else []
    return arguments if row.default_features else [*arguments, "--no-default-features"]


def run_tests(row: Row, side: str, arguments: list[str], jobs: int | None) -> tuple[dict[str, str], str]:
    features = feature_arguments(row, [])
    done = cargo(
        "test", "--offline", "--no-fail-fast", *features, *arguments, cwd=row.folder(side), jobs=jobs
    )
    log = WORK / f"{row.name}.{side}.log"
    with log.open("a") as file:
        file.write(done.stderr + done.stdout)
    found = outcomes(done.stdout)
    return found, "" if found else f"no test ran:\n{done.stderr[-2000:]}"


def check(row: Row, jobs: int | None) -> str:
    """Returns why the edited crate does not compile, or an empty string if it does."""
    features = feature_arguments(row, [])
    done = cargo("check", "--offline", "--lib", *features, cwd=row.folder("after"), jobs=jobs)
    return f"{row.name} does not compile:\n{done.stderr[-2000:]}" if done.returncode else ""


def selections(row: Row) -> list[list[str]]:
    """Returns the arguments of a row: one selection of a test binary for each run."""
    single, common, index = [], [], 0
    while index < len(row.tests):
        argument = row.tests[index]
        if argument in ("--lib", "--doc"):
            single.append([argument])
        elif argument == "--test":
            single.append([argument, row.tests[index + 1]])
            index += 1
        else:
            common.append(argument)
        index += 1
    return [selection + common for selection in single]


def own_tests(row: Row, side: str, jobs: int | None, problems: list[str]) -> dict[str, str]:
    """Runs the tests of the crate."""
    every = {}
    for selection in selections(row):
        found, trouble = run_tests(row, side, selection, jobs)
        if trouble:
            problems.append(f"{side} {' '.join(selection)}: {trouble}")
        every |= {f"{' '.join(selection)}{name}": outcome for name, outcome in found.items()}
    return every


def compare(row: Row, jobs: int | None, result: Result) -> None:
    """Runs the tests of the crate and our test, before and after the edit."""
    passed = {}
    for side in SIDES:
        found = own_tests(row, side, jobs, result.problems)
        found = {name: outcome for name, outcome in found.items() if name.split(": ")[1] not in row.without}
        result.problems += [f"{side}: {name} failed" for name, outcome in found.items() if outcome == "FAILED"]
        passed[side] = {name for name, outcome in found.items() if outcome == "ok"}
    result.before, result.after = len(passed["before"]), len(passed["after"])
    if result.problems:
        return
    result.problems += [f"after: {name} is gone" for name in sorted(passed["before"] - passed["after"])]
    if not row.case():
        return
    cases = {side: run_tests(row, side, ["--test", CASE], jobs) for side in SIDES}
    for side, wanted in zip(SIDES, ("FAILED", "ok")):
        found, trouble = cases[side]
        if trouble:
            result.problems.append(f"{side}, our test: {trouble}")
        result.problems += [
            f"{side}: our test {name.removeprefix(': ')}: {outcome}, expected {wanted}"
            for name, outcome in found.items()
            if outcome != wanted
        ]
    result.cases = len(cases["after"][0])


def processor_time(program: Path, arguments: list[str]) -> float:
    """Returns the user time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def build(row: Row, side: str, kind: str, name: str, features: list[str], jobs: int | None) -> Path:
    """Builds a program of a package with optimizations. Returns its path."""
    arguments = ["build", "--offline", "--release", "--message-format=json", f"--{kind}", name]
    arguments += feature_arguments(row, features)
    done = cargo(*arguments, cwd=row.folder(side), jobs=jobs)
    if done.returncode != 0:
        raise RuntimeError(f"{side}: {name} does not build: {done.stderr[-2000:]}")
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    built = next(m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == name)
    # Examples with the same name have the same path, even in different packages.
    program = WORK / "programs" / f"{row.name}.{name}.{side}"
    program.parent.mkdir(exist_ok=True)
    return Path(shutil.copy(built, program))


def workload(row: Row, jobs: int | None) -> list[str]:
    """Returns the speedup of our workload by the edit, from the minimum user times of interleaved runs."""
    programs = {side: build(row, side, "example", SPEED, [], jobs) for side in SIDES}
    texts = subprocess.run([programs["after"]], text=True, capture_output=True, check=True).stdout.split()
    ratios = []
    for text in texts:
        rounds = {side: calibrate(programs[side], text) for side in SIDES}
        least = dict.fromkeys(SIDES, float("inf"))
        for _ in range(RUNS):
            for side in SIDES:
                empty = processor_time(programs[side], [text, "0"])
                used = processor_time(programs[side], [text, str(rounds[side])]) - empty
                least[side] = min(least[side], used / rounds[side])
        ratios.append(f"{text} {least['before'] / least['after']:.2f}")
    return ratios


def calibrate(program: Path, text: str) -> int:
    """Returns the number of rounds that takes long enough."""
    rounds = 1
    while processor_time(program, [text, str(rounds)]) < LONG_ENOUGH:
        rounds *= 2
    return rounds


def their_bench(row: Row, jobs: int | None) -> list[str]:
    """Returns the speedup of the benchmark of the crate, from criterion's medians."""
    programs = {side: build(row, side, "bench", row.bench, ["criterion"], jobs) for side in SIDES}
    least: dict[str, dict[str, float]] = {side: {} for side in SIDES}
    arguments = "--bench --noplot --warm-up-time 0.5 --measurement-time 2 --sample-size 10".split()
    for _ in range(BENCH_RUNS):
        for side in SIDES:
            home = WORK / "criterion" / f"{row.name}.{side}"
            environment = os.environ | {"CRITERION_HOME": str(home)}
            subprocess.run(
                [programs[side], *arguments],
                check=True, cwd=row.folder(side), env=environment, capture_output=True, timeout=300,
            )
            for file in home.glob("**/new/estimates.json"):
                median = json.loads(file.read_text())["median"]["point_estimate"]
                name = str(file.relative_to(home))
                least[side][name] = min(least[side].get(name, median), median)
    ratios = [least["before"][name] / least["after"][name] for name in sorted(least["before"])]
    return ["their bench " + ", ".join(f"{ratio:.2f}" for ratio in ratios)]


def speed(row: Row, jobs: int | None) -> str:
    ratios = workload(row, jobs) if row.speed() else []
    if row.bench:
        ratios += their_bench(row, jobs)
    return ", ".join(ratios) or "-"


def measure(row: Row, version: str, jobs: int | None, with_speed: bool) -> Result:
    result = Result(row, version)
    start = time.monotonic()
    for side in SIDES:
        (WORK / f"{row.name}.{side}.log").unlink(missing_ok=True)
    result.deleted, result.added = changed_lines(row)
    if row.problem:
        result.problems.append(row.problem)
        return result
    try:
        compare(row, jobs, result)
        if with_speed and not result.problems:
            result.speed = speed(row, jobs)
    except (subprocess.SubprocessError, RuntimeError) as error:
        result.problems.append(str(error))
    result.seconds = time.monotonic() - start
    return result
