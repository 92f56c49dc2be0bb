"""How many findings carry a fix, how many of these hold, and what runs once all are applied.

    python bench/fixes.py --jobs 2                          examples/ and the planted mistakes
    python bench/fixes.py --mirrors DIR --jobs 2            the files of the real bugs as well
    python bench/fixes.py --sets planted --mistakes bench/mistakes.md --show
    python bench/fixes.py --sets planted --only GAN --lint  programs named so, without running any
    python bench/fixes.py --mirrors DIR --check             fails below the marks

Counted are the findings of level error, as with `--pedantic`, but for files that can't be read.
A fix holds if it clears its finding and adds none: each is applied to its file alone, and the file
is linted again, as `--fix --unsafe-fixes` does it: with the fixes of what it uncovers.

examples/ holds a project with bugs of every family. A planted mistake is one in a program of
mistakes*.md (mistakes.py says where they come from); programs whose packages aren't installed are
left out, and counted. Each is run by `devlint run --emulate cuda`, in a process of its own, as it
is and after `--fix --unsafe-fixes --pedantic` over all of its files. The files of real bugs are
those of bugs.jsonl before their fix, linted as recall.py does it, out of the clones in DIR.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import bugs
import clones
import linting
import recall
import samples

from devlint.config.selection import FAILURES
from devlint.config.settings import Settings
from devlint.fix.applying import objection_to
from devlint.lint import check_source
from devlint.model.findings import Finding, Level
from devlint.project.plan import prepare

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
SETS = ("examples", "planted", "bugs")
MARKS = {"with a fix": 0.85, "hold": 1.0, "end": 0.80}
SETTINGS = Settings(pedantic=True)
SECONDS = 300
"""How long a program may run."""
RUN = ("run", "--guard", "off", "--emulate")


@dataclass(frozen=True)
class Judged:
    """A finding, and what is true of its fix."""

    place: str
    code: str
    message: str
    has_fix: bool = False
    dropped: str = ""
    """Why its fix doesn't hold; "" where it does."""

    @property
    def holds(self) -> bool:
        return self.has_fix and not self.dropped


@dataclass(frozen=True)
class Ran:
    """A program with a mistake, and what has become of it by fixing."""

    title: str
    findings: tuple[Judged, ...]
    left: int = 0
    """Its findings once all fixes are applied."""
    before: str = ""
    """How it ends as it is: the last line of its error; "" where it runs to its end."""
    after: str = ""


# --- findings ----------------------------------------------------------------------------------


def counts(finding: Finding) -> bool:
    """Whether a finding is one that is counted here."""
    return finding.level is Level.ERROR and finding.code not in FAILURES


def judged(path: Path, shown: str) -> list[Judged]:
    """The findings of a file, each with what becomes of its fix when that alone is applied."""
    prepare.cache_clear()  # what an earlier file has imported isn't needed any more
    data = path.read_bytes()

    def judge(finding: Finding) -> Judged:
        place = f"{shown}:{finding.span.row}"
        if finding.fix is None or not finding.fix.edits:
            return Judged(place, finding.code, finding.message)
        dropped = objection_to(finding, data, str(path), SETTINGS, check_source, _read)
        return Judged(place, finding.code, finding.message, True, dropped)

    return [judge(each) for each in check_source(data, str(path), SETTINGS) if counts(each)]


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def of_folder(folder: Path) -> list[Judged]:
    """The findings of all files of a folder."""
    files = sorted(folder.rglob("*.py"))
    return [each for path in files for each in judged(path, str(path.relative_to(folder)))]


def of_version(version: recall.Version, mirrors: Path) -> list[Judged] | str | None:
    """The findings of a file at a commit, alone or in its project; None without a clone, and what
    goes wrong in devlint where it fails."""
    clone = clones.clone_of(mirrors, version.repo)
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch, version.path)
        if clone is None:
            return None
        if version.whole:
            clones.check_out(clone, version.commit, Path(scratch), samples.is_wanted)
        elif (data := clones.content(clone, version.commit, version.path)) is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        if not target.is_file():
            return None
        shown = f"{version.repo}@{version.commit[:10]}/{version.path}"
        try:
            return judged(target, shown)
        except Exception as error:
            return f"{shown}: {type(error).__name__}: {error}"


def versions(wanted: Iterable[bugs.Bug]) -> list[recall.Version]:
    """The files of bugs before their fix, each once; one that is both ways in its project."""
    found: dict[tuple[str, str, str], recall.Version] = {}
    both = (recall.versions(bug, False)[0] for bug in wanted)
    for version in sorted(both, key=lambda version: version.whole):
        found[version.repo, version.commit, version.path] = version
    return list(found.values())


# --- programs ----------------------------------------------------------------------------------


def only_linted(title: str, files: dict[str, str], count: int) -> Ran:
    """Lint a program, and try the fixes of its findings, without running it."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in files.items():
            Path(scratch, name).write_text(text, "utf-8")
        found = of_folder(Path(scratch))
    return Ran(title, tuple(replace(each, place=f"{title}: {each.place}") for each in found))


def ran(title: str, files: dict[str, str], count: int) -> Ran:
    """Lint, fix and run a program, before and after in folders of their own."""
    with tempfile.TemporaryDirectory() as scratch:
        before, after = Path(scratch, "before"), Path(scratch, "after")
        for folder in (before, after):
            folder.mkdir()
            for name, text in files.items():
                (folder / name).write_text(text, "utf-8")
        found = of_folder(before)
        ends = _end(before, count)
        fixing = linting.started("check", ".", *linting.OPTIONS, "--pedantic", "--quiet")
        subprocess.run([*fixing, "--fix", "--unsafe-fixes"], cwd=after, capture_output=True)
        same = all((after / name).read_text("utf-8") == text for name, text in files.items())
        left = found if same else of_folder(after)
        return Ran(title, tuple(found), len(left), ends, ends if same else _end(after, count))


def _end(folder: Path, count: int) -> str:
    """How the program in a folder ends on emulated accelerators: its error, or ""."""
    scripts = {"setup.py": 2, "train.py": count}
    for script in (name for name in scripts if (folder / name).is_file()):
        command = [sys.executable, "-m", "devlint", *RUN, f"cuda:{scripts[script]}", script]
        try:
            ended = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, env=_alone()
            )
        except subprocess.TimeoutExpired:
            return f"{script}: not done after {SECONDS} s"
        if ended.returncode:
            said = [line for line in ended.stderr.splitlines() if line[:1].strip()]
            return f"{script}: {said[-1] if said else f'exit code {ended.returncode}'}"
    return ""


def _alone() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def programs(path: Path) -> tuple[list[tuple[str, dict[str, str], int]], int]:
    """The programs of a file of mistakes: title, files and devices; and how many are left out."""
    import mistakes

    lacking: list[str] = []
    cases = mistakes.planted(path, lacking.append)
    found = [(case.title, dict(case.files), case.facts.get("count", 2)) for case in cases]
    return found, len(lacking)


# --- tables ------------------------------------------------------------------------------------


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "0 of 0"


def table(found: Sequence[Judged]) -> str:
    """By rule: findings, those with a fix, and those whose fix holds."""
    by_code: dict[str, list[Judged]] = defaultdict(list)
    for each in found:
        by_code[each.code].append(each)
    lines = [f"{'rule':8}{'findings':>9}{'with a fix':>20}{'hold':>20}"]
    for code, group in [*sorted(by_code.items()), ("all", list(found))]:
        fixes = [each for each in group if each.has_fix]
        hold = share(sum(each.holds for each in fixes), len(fixes))
        cells = (f"{len(group):9}", f"{share(len(fixes), len(group)):>20}", f"{hold:>20}")
        lines.append(f"{code:8}" + "".join(cells))
    return "\n".join(lines)


def outcomes(results: Sequence[Ran]) -> str:
    """How many programs end, before and after fixing."""
    mistaken = [each for each in results if each.before]
    found = [each for each in mistaken if each.findings]
    ended = [each for each in mistaken if not each.after]
    lines = (
        ("fail before", share(len(mistaken), len(results))),
        ("of these, with a finding", share(len(found), len(mistaken))),
        ("end after fixing, of all that fail", share(len(ended), len(mistaken))),
        ("of those with a finding", share(sum(not e.after for e in found), len(found))),
        ("end before and fail after", str(sum(not e.before and bool(e.after) for e in results))),
        ("findings before, and left after", f"{_all(results)}, {sum(e.left for e in results)}"),
    )
    return "\n".join(f"{what:36}{figure}" for what, figure in lines)


def _all(results: Sequence[Ran]) -> int:
    return sum(len(each.findings) for each in results)


def misses(found: Iterable[Judged]) -> Iterator[str]:
    """A line for each finding without a fix, and for each fix that doesn't hold."""
    for each in found:
        if not each.has_fix:
            yield f"no fix   {each.code} {each.place}: {each.message}"
        elif each.dropped:
            yield f"dropped  {each.code} {each.place}: {each.message}: {each.dropped}"


def below(figures: dict[str, float]) -> list[str]:
    """A line for each figure of a set that is below its mark."""
    return [
        f"{name}: {figures[name]:.1%}, below {mark:.0%}"
        for name, mark in MARKS.items()
        if name in figures and figures[name] < mark
    ]


def figures_of(found: Sequence[Judged], results: Sequence[Ran] = ()) -> dict[str, float]:
    """The shares that have marks; one is missing where there is nothing that it is of."""
    fixes = [each for each in found if each.has_fix]
    ends = [not each.after for each in results if each.before]
    parts = {
        "with a fix": [each.has_fix for each in found],
        "hold": [each.holds for each in fixes],
        "end": ends,
    }
    return {name: sum(flags) / len(flags) for name, flags in parts.items() if flags}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--mistakes", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--only", default="", metavar="WORD", help="programs with it in the title")
    parser.add_argument("--lint", action="store_true", help="run no program")
    parser.add_argument("--mirrors", type=Path, help="the folder of the clones")
    parser.add_argument("--bugs", type=Path, default=bugs.BUGS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="what has no fix, and what is dropped")
    parser.add_argument("--check", action="store_true", help="fail where a share is below its mark")
    options = parser.parse_args()
    low = list[str]()
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=40) as pool:

        def tell(
            name: str, found: Sequence[Judged], results: Sequence[Ran] = (), is_part: bool = False
        ) -> None:
            print(f"\n{name}\n{table(found)}")
            if results and not options.lint:
                print(outcomes(results))
            if options.show and (is_part or not results):
                print(*misses(found), sep="\n")
                for each in results:
                    if each.after:
                        as_before = " (as before)" if each.after == each.before else ""
                        print(f"fails    {each.title}: {each.after}{as_before}")
            if not is_part:
                low.extend(f"{name}: {line}" for line in below(figures_of(found, results)))

        if "examples" in options.sets:
            tell("examples/", of_folder(EXAMPLES))
        everything, left_out = list[Ran](), 0
        paths = options.mistakes or sorted(HERE.glob("mistakes*.md"))
        for path in paths if "planted" in options.sets else ():
            cases, without = programs(path)
            cases = [case for case in cases if options.only.lower() in case[0].lower()]
            results = pool.starmap(only_linted if options.lint else ran, cases, 1)
            everything += results
            left_out += without
            name = f"{path.name}: {len(cases)} programs, {without} left out for want of packages"
            tell(name, [f for each in results for f in each.findings], results, is_part=True)
        if everything:
            name = f"planted mistakes: {len(everything)} programs, {left_out} left out"
            tell(name, [f for each in everything for f in each.findings], everything)
        if "bugs" in options.sets and options.mirrors:
            wanted = versions(bugs.read(options.bugs))
            of_each = pool.map(partial(of_version, mirrors=options.mirrors), wanted, 1)
            there = [each for each in of_each if isinstance(each, list)]
            failed = [each for each in of_each if isinstance(each, str)]
            absent = len(wanted) - len(there) - len(failed)
            name = f"files of real bugs: {len(there)} files, {absent} not there"
            low += [f"internal error: {each}" for each in failed]
            tell(name, [finding for each in there for finding in each])
    print(*low, sep="\n")
    return int(options.check and bool(low))


if __name__ == "__main__":
    sys.exit(main())
