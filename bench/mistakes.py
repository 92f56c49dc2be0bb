"""Programs with mistakes about devices, and how much of what the guard says of them is right.

    python bench/mistakes.py                    all programs in all modes
    python bench/mistakes.py --only GAN         those whose titles have a word
    python bench/mistakes.py --show             and what is said of each
    python bench/mistakes.py --check            fails where less than 90 % is right
    python bench/mistakes.py --set FILE         another file's programs, as mistakes_heldout.md

The programs and the facts are in mistakes.md; in mistakes_third.md several mistakes share one
program. Those of programs whose packages aren't installed are named and not run. Each runs on
emulated accelerators: `explain`, `strict` and `trace` are the guard's modes; `device` is `explain`
without the notes that an emulation has of where tensors were made, as on a real accelerator, and
`card` is `explain` on this machine's own, for those programs for which it has enough devices.

Five things are graded: the module, the argument, the devices, the origin and the fix. A fix is
right if it is one of the lines that were expected; where it can be done to the program's text it
is done, what is said next is done too, and the program has to run to its end.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import linecache
import os
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from mistakes_fixes import applied, bare, code_of, is_same, places
from programs_start import prepare_torchvision

from devlint import emulate, guard
from devlint.config import rulebook
from devlint.runtime.explain import Explanation
from devlint.runtime.explaining.caught import explain_error
from devlint.runtime.explaining.notes import NAME, held_by
from devlint.runtime.operands import Reader
from devlint.runtime.virtual.tags import shown_place

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
MODES = ("explain", "strict", "trace", "device")
CARD = "card"
POINTS = ("module", "argument", "devices", "origin", "fix")
MODULES = {"scikit-learn": "sklearn"}
"""What a package is imported as, where that isn't its own name."""
ROUNDS = 4
"""How many times in a row a fix may show the next mistake."""


@dataclass(frozen=True)
class Planted:
    """A program with a mistake, and what is true of it."""

    title: str
    files: Mapping[str, str]
    facts: Mapping[str, Any]

    @property
    def alone(self) -> bool:
        return bool(self.facts.get("alone", False))

    @property
    def rules(self) -> list[str]:
        return _several(self.facts["rule"])

    right: Mapping[str, str] = field(default_factory=dict)
    """The files without the mistake, where these are what was written down."""

    @cached_property
    def repaired(self) -> Mapping[str, str]:
        """The files without the mistake."""
        return self.right or _replaced(self.title, self.files, self.facts["repair"])

    @cached_property
    def origins(self) -> list[str]:
        """The lines of the origin, as `file:line`; an empty one where none can be told."""
        return [self._line(each) for each in _several(self.facts["origin"])]

    def _line(self, origin: str) -> str:
        if not origin:
            return ""
        text, _, nth = origin.partition(" #")
        file, _, text = text.partition(": ")
        lines = [n for n, t in enumerate(self.files[file].split("\n"), 1) if t.strip() == text]
        if len(lines) < int(nth or 1):
            raise ValueError(f"{self.title}: no line is {origin!r}")
        return f"{file}:{lines[int(nth or 1) - 1]}"


@dataclass(frozen=True)
class Told:
    """What was said of a program: an explanation as plain data, or why there is none."""

    headline: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    code: str = ""
    fix: str = ""
    module: str = ""
    argument: str = ""
    devices: tuple[str, ...] = ()
    error: str = ""
    """The last line of the error; empty if the program has run to its end."""

    @classmethod
    def of(cls, found: Explanation | None, error: str) -> Told:
        if found is None:
            return cls(error=error)
        code = found.code or ""
        return cls(
            found.headline,
            found.lines,
            code,
            found.fix,
            found.module,
            found.argument,
            found.devices,
            error,
        )


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _replaced(title: str, files: Mapping[str, str], changes: Any) -> dict[str, str]:
    changed = dict(files)
    for file, old, new in changes:
        if old not in changed[file]:
            raise ValueError(f"{title}: {old!r} isn't in {file}")
        changed[file] = changed[file].replace(old, new)
    return changed


def planted(path: Path = HERE / "mistakes.md", say: Callable[[str], None] = print) -> list[Planted]:
    """All programs with a mistake, of those whose packages are installed; `say` hears of others."""
    found, packages, files = list[Planted](), dict[str, str](), dict[str, str]()
    for section in rulebook.read_sections(path.read_text("utf-8")):
        if programs := {b.info: b.text for b in section.blocks if b.is_python}:
            files = programs
        for block in section.blocks:
            if block.is_python:
                continue
            facts = tomllib.loads(block.text)
            if "packages" in facts:
                packages = facts["packages"]
            elif lacking := _lacking(packages, files):
                say(f"{section.title}: not run, for want of {', '.join(lacking)}")
            elif "plant" in facts:
                changed = _replaced(section.title, files, facts["plant"])
                found.append(Planted(section.title, changed, facts, files))
            else:
                found.append(Planted(section.title, files, facts))
    return found


def _lacking(packages: Mapping[str, str], files: Mapping[str, str]) -> list[str]:
    """The packages that a program imports, and that aren't there as they were pinned."""
    imported = {
        name.partition(".")[0]
        for text in files.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in _imported(node)
    }
    lacking = []
    for package, wanted in packages.items():
        if MODULES.get(package, package.replace("-", "_")) not in imported:
            continue
        try:
            installed = version(package)
        except PackageNotFoundError:
            installed = ""
        if installed != wanted:
            lacking.append(f"{package} {wanted}")
    return lacking


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names]


# --- running


def told(case: Planted, files: Mapping[str, str], mode: str) -> Told:
    """What is said of a program in a mode."""
    if case.alone:
        return _told_elsewhere(case, files, mode)
    with tempfile.TemporaryDirectory() as folder, inside(Path(folder), files):
        return run(files, mode, case.facts.get("count", 2))


def run(files: Mapping[str, str], mode: str, count: int) -> Told:
    """Run a program that lies in the current folder."""
    if "setup.py" in files:
        with _machine(mode, 2):
            _execute("setup.py", files["setup.py"])
    with _machine(mode, count):
        try:
            with guard(mode={"device": "off", CARD: "explain"}.get(mode, mode)):
                _execute("train.py", files["train.py"])
        except Exception as error:
            if mode == "device":
                _forget(error, set())
                reader = Reader(shown_place, lambda tensor: None)
                found = explain_error(error, (), reader)
                explanation = None if found is None else found.explanation
            else:
                explanation = _shown(error)
            return Told.of(explanation, f"{type(error).__name__}: {error}".partition("\n")[0])
    return Told()


def _machine(mode: str, count: int) -> contextlib.AbstractContextManager[object]:
    """Where a program runs in a mode."""
    return contextlib.nullcontext() if mode == CARD else emulate("cuda", count=count)


def _shown(error: Exception) -> Explanation | None:
    """The explanation that somebody reads who sees the error."""
    found = explain_error(error)
    text = "".join(traceback.format_exception(error))
    if found is None or (sys.version_info >= (3, 11) and found.explanation.headline not in text):
        return None
    return found.explanation


def _forget(error: BaseException | None, seen: set[int]) -> None:
    """Take from errors what an emulation has put on them."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    held = held_by(error)
    for name in (NAME, "devlint_operands", "devlint_operation", "devlint_told", "__notes__"):
        held.pop(name, None)
    _forget(error.__cause__, seen)
    _forget(error.__context__, seen)


def _execute(name: str, code: str) -> None:
    quiet = io.StringIO()
    with (
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        exec(compile(code, str(Path(name).absolute()), "exec"), {"__name__": "__main__"})


@contextlib.contextmanager
def inside(folder: Path, files: Mapping[str, str]) -> Iterator[None]:
    """Be in a folder with a program's files, whose modules are imported anew."""
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    linecache.clearcache()
    before, path = Path.cwd(), list(sys.path)
    modules = {Path(name).stem for name in files}
    kept = {name: sys.modules.pop(name) for name in modules if name in sys.modules}
    writes = sys.dont_write_bytecode
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
        sys.dont_write_bytecode = writes
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(kept)


def _told_elsewhere(case: Planted, files: Mapping[str, str], mode: str) -> Told:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, "utf-8")
        command = [sys.executable, __file__, "--here", mode, str(case.facts.get("count", 2))]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    if ended.returncode:
        raise RuntimeError(f"{case.title}: {ended.stderr[-2000:]}")
    data = json.loads(ended.stdout.splitlines()[-1])
    data["lines"] = tuple(tuple(line) for line in data["lines"])
    data["devices"] = tuple(data["devices"])
    return Told(**data)


def _run_here(mode: str, count: int) -> None:
    """Run the program in the current folder, for another process."""
    sys.path.insert(0, str(Path.cwd()))
    files = {path.name: path.read_text("utf-8") for path in Path.cwd().glob("*.py")}
    print(json.dumps(asdict(run(files, mode, count))))


# --- grading


def grade(case: Planted, said: Told, mode: str, proven: bool | None = None) -> dict[str, str]:
    """What is wrong, by point, as "expected ..., told ..."; empty where all is right."""
    facts, wrong = case.facts, dict[str, str]()

    def miss(point: str, got: object) -> None:
        expected = case.origins if point == "origin" else facts[point]
        wrong[point] = f"expected {expected!r}, told {got!r}"

    if not said.headline:
        return dict.fromkeys(POINTS, f"nothing is said of {said.error or 'no error'}")
    if said.module not in _several(facts["module"]):
        miss("module", said.module)
    if _plain(said.argument) not in map(_plain, _several(facts["argument"])):
        miss("argument", said.argument)
    devices = facts["devices"]
    choices = devices if devices and isinstance(devices[0], list) else [devices]
    if list(said.devices) not in choices:
        miss("devices", list(said.devices))
    if not _is_origin_right(case, said, mode):
        miss("origin", [line for line in said.lines if line[0].endswith(" at")])
    if not _is_listed(case, said.fix):
        miss("fix", said.fix)
    elif proven is False:
        wrong["fix"] = f"done as told, {said.fix!r} doesn't let the program run"
    return wrong


def _is_origin_right(case: Planted, said: Told, mode: str) -> bool:
    if "" in case.origins:
        return True
    shown = [(label, text) for label, text in said.lines if label not in ("fix", "more")]
    named = [f"{p.file}:{p.line}" for p in places([said.headline, *(text for _, text in shown)])]
    if any(origin in named for origin in case.origins):
        return True
    says_one = any(label in ("made at", "moved at", "set at") for label, _ in shown)
    return mode != "trace" and not case.facts["known"] and not says_one


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text).replace("'", '"')


def _is_listed(case: Planted, fix: str) -> bool:
    """Whether a fix is one of those expected, behind words or with words only."""
    expected = _several(case.facts["fix"])
    code = code_of(fix)
    if code:
        return any(is_same(code, each) for each in expected)
    return any(_plain(each) in _plain(fix) for each in expected)


def proof(case: Planted, said: Told, mode: str, rounds: int = ROUNDS) -> bool | None:
    """Whether the program runs once all is done that is said; nothing if that can't be done."""
    return _ends(case, case.files, said, mode, rounds)


def _ends(
    case: Planted, files: Mapping[str, str], said: Told, mode: str, rounds: int
) -> bool | None:
    code = code_of(said.fix)
    if not code:
        return None
    where = places([said.fix, *(text for _, text in said.lines)])
    outcomes: list[bool] = []
    for changed in applied(files, code, where):
        after = told(case, changed, mode)
        if not after.error:
            return True
        is_other = after.headline and not _is_same_mistake(after, said)
        if is_other and rounds > 1 and _ends(case, changed, after, mode, rounds - 1):
            return True
        outcomes.append(False)
    return False if outcomes else None


def _is_same_mistake(one: Told, other: Told) -> bool:
    """Whether two errors are of the same tensor in the same line, which may stand lower now."""
    (place, _, text), (other_place, _, other_text) = (
        dict(said.lines).get("used at", "").partition("  ") for said in (one, other)
    )
    if bare(one.argument) != bare(other.argument):
        return False
    return place == other_place or text == other_text


# --- the table


@dataclass(frozen=True)
class Graded:
    case: Planted
    mode: str
    said: Told
    wrong: Mapping[str, str]
    proven: bool | None


def graded(case: Planted, mode: str) -> Graded:
    said = told(case, case.files, mode)
    proven = proof(case, said, mode)
    return Graded(case, mode, said, grade(case, said, mode, proven), proven)


def share(part: int, whole: int) -> str:
    return f"{part}/{whole} = {100 * part / whole:.0f} %" if whole else "-"


def table(results: list[Graded], modes: list[str]) -> str:
    lines = ["", f"{'rule':8}" + "".join(f"{mode:>16}" for mode in modes)]
    rules = sorted({r.case.rules[0] for r in results})
    for rule in [*rules, "all"]:
        cells = []
        for mode in modes:
            of = [r for r in results if r.mode == mode and rule in ("all", r.case.rules[0])]
            cells.append(share(sum(not r.wrong for r in of), len(of)))
        lines.append(f"{rule:8}" + "".join(f"{cell:>16}" for cell in cells))
    lines.append("")
    for point in (*POINTS, "rule", "fix proven"):
        cells = []
        for mode in modes:
            of = [r for r in results if r.mode == mode]
            cells.append(share(sum(_has(r, point) for r in of), len(of)))
        lines.append(f"{point:10}" + "".join(f"{cell:>16}" for cell in cells))
    return "\n".join(lines)


def _has(result: Graded, point: str) -> bool:
    if point == "rule":
        return bool(result.said.headline) and result.said.code in result.case.rules
    if point == "fix proven":
        return result.proven is True
    return point not in result.wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--set", type=Path, default=HERE / "mistakes.md", metavar="FILE")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD")
    parser.add_argument("--modes", nargs="*", default=list(MODES), choices=[*MODES, CARD])
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--here", nargs=2, metavar=("MODE", "COUNT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    prepare_torchvision()
    if options.here:
        _run_here(options.here[0], int(options.here[1]))
        return 0
    cases = [
        c
        for c in planted(options.set)
        if not options.only or any(w in c.title for w in options.only)
    ]
    if CARD in options.modes:
        there = torch.cuda.device_count()
        cases = [c for c in cases if there > 1 or not any("cuda:1" in t for t in c.files.values())]
    results, broken = list[Graded](), 0
    for case in cases:
        for mode in [CARD] if options.modes == [CARD] else ("strict", "trace"):
            after = told(case, case.repaired, mode)
            if after.error:
                broken += 1
                print(f"{case.title} ({mode}): repaired, it ends with {after.error}")
                print(f"    {after.headline}")
        for mode in options.modes:
            result = graded(case, mode)
            results.append(result)
            for point, text in result.wrong.items():
                print(f"{case.title} ({mode}): {point}: {text}")
            if result.wrong and result.proven:
                print(f"{case.title} ({mode}): what is said lets the program run")
            if result.said.headline and result.said.code not in case.rules:
                print(f"{case.title} ({mode}): rule {result.said.code}, not {case.rules}")
            if options.show:
                print(f"    {result.said.headline}")
                for label, text in result.said.lines:
                    print(f"      {label:9}  {text}")
    print(table(results, options.modes))
    lowest = min(
        sum(not r.wrong for r in results if r.mode == mode) / max(len(cases), 1)
        for mode in options.modes
    )
    return int(options.check and (lowest < 0.9 or broken > 0))


if __name__ == "__main__":
    sys.exit(main())
