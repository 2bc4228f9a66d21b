"""The table of a run."""

import platform
import resource
import subprocess

from .measure import Result
from .workspace import ADOPTION, REPOSITORY

START = "<!-- written by adoption/run --write -->"
END = "<!-- end of the table -->"


def progress(result: Result) -> str:
    verdict = "failed" if result.problems else "ok"
    return f"{result.row.name} {result.version}: {verdict}, {result.seconds:.0f} s"


def markdown(results: list[Result]) -> str:
    lines = [
        "| crate | lines | their tests | our test | fixed defect | speed | |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in results:
        tests = str(r.after) if r.before == r.after else f"{r.before}, then {r.after}"
        case = f"{r.cases} fail, then pass" if r.cases else "-"
        verdict = "**failed**" if r.problems else "ok"
        defect = f"{r.row.bug} {r.row.source}".strip()
        lines.append(
            f"| {r.row.name} {r.version} | -{r.deleted} +{r.added} | {tests} | {case} | {defect} | {r.speed} | {verdict} |"
        )
    lines += [
        f"\n{r.row.name}: `{test}` is excluded. It {reason}"
        for r in results
        for test, reason in r.row.without.items()
    ]
    return "\n".join(lines)


def write(results: list[Result]) -> None:
    """Writes the table to the README."""
    readme = ADOPTION / "README.md"
    text = readme.read_text()
    head, rest = text.split(START)
    tail = rest.split(END)[1]
    readme.write_text(f"{head}{START}\n\n{facts(results)}\n\n{markdown(results)}\n\n{END}{tail}")


def facts(results: list[Result]) -> str:
    """Returns the environment of the measurements."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, text=True, capture_output=True
    ).stdout.strip()
    rustc = subprocess.run(["rustc", "--version"], text=True, capture_output=True).stdout.split()[1]
    minutes = sum(result.seconds for result in results) / 60
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = (used.ru_utime + used.ru_stime) / 60
    green = sum(not result.problems for result in results)
    return (
        f"Last run: commit {commit}, rustc {rustc}, {platform.machine()}. "
        f"{green} of {len(results)} rows passed, in {minutes:.0f} minutes ({processor:.0f} of processor time)."
    )
