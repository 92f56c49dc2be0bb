"""What devlint finds in a program before and after a transformation, and the list of differences
that are known."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from literate import Case
from metamorphic import annotating, layout, members, moving, renaming, splitting
from metamorphic.program import MAIN, Changed, Line, Program, joined, unchanged

from devlint import policy
from devlint.config.rulebook import Page
from devlint.config.selection import catalogue, codes_for
from devlint.config.settings import Settings
from devlint.driver.dumping import Record, facts_of
from devlint.lint import check_source, content_of
from devlint.model.reports import Report
from devlint.project.plan import prepare
from devlint.source.encoding import searchable
from devlint.source.pragmas import has_own_pragmas
from devlint.source.reading import syntax_error
from devlint.source.script import Part
from devlint.verdict.saying import say
from devlint.why.alternatives import without

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KNOWN = Path(__file__).with_name("known.toml")

Transformation = Callable[[Program], Changed | None]

PLAIN: Mapping[str, Transformation] = {
    "rename-locals": renaming.rename_locals,
    "rename-globals": renaming.rename_globals,
    "rename-functions": renaming.rename_functions,
    "rename-classes": renaming.rename_classes,
    "rename-methods": members.rename_methods,
    "rename-parameters": renaming.rename_parameters,
    "rename-attributes": members.rename_attributes,
    "file-for-cuda": renaming.renamed_file("cuda/export_onnx_gpu.py"),
    "file-of-data": renaming.renamed_file("data/collate.py"),
    "file-of-tests": renaming.renamed_file("tests/test_example.py"),
    "file-that-shows": renaming.renamed_file("examples/run.py"),
    "add-comments": layout.add_comments,
    "wrap": layout.wrap,
    "reorder": layout.reorder,
    "split": splitting.split,
    "move": moving.move,
}
TRANSFORMATIONS = (*PLAIN, "annotate")

TELL_ELSEWHERE = ("annotate", "move")
"""Those after which the same meeting may be told of the other side: an annotation proves that what
is given is a tensor, and what another file leads to is told at the call."""
FILES = tuple(name for name in TRANSFORMATIONS if name.startswith("file-"))

Seen = Mapping[tuple[int, str], frozenset[int]]
"""What is found: the row of the original, and a code or what a value was revealed to be, with all
rows that are pointed at. What a row of policy withholds is found, too, in brackets."""


@dataclass
class Checker:
    """Lints programs in folders of their own below `folder`."""

    folder: Path
    count: int = 0

    def differences(self, case: Case, names: Iterable[str] = TRANSFORMATIONS) -> dict[str, str]:
        """The transformations that change what is found in a case, each with what changes, and
        those that leave it, with ""; what doesn't concern the case is left out."""
        program = program_of(case)
        if program is None:
            return {}
        same = {MAIN: unchanged(program)}
        before, spoke = self._seen(case.settings, same)
        found: dict[str, str] = {}
        for name in names:
            changed = self.transformation(name, case)(program)
            if changed is not None:
                after, then = self._seen(case.settings, changed, before)
                differing = _difference(before, after, name in TELL_ELSEWHERE)
                if differing and name.startswith(("rename-", "file-")):
                    differing &= self._apart_from_names(case, same, changed, spoke | then)
                found[name] = ", ".join(sorted(differing, key=_place))
        return found

    def _apart_from_names(
        self, case: Case, before: Changed, after: Changed, rows: set[str]
    ) -> set[str]:
        """What differs as well where the rows of policy are off that took some name of one of two
        programs to mean something: what differs no longer hangs on them."""
        blind = without(case.settings, rows)
        return _difference(self._seen(blind, before)[0], self._seen(blind, after)[0], False)

    def transformation(self, name: str, case: Case) -> Transformation:
        if name in PLAIN:
            return PLAIN[name]
        path = str(self._write({MAIN: case.source}) / MAIN)
        known = _tensors(facts_of(case.source.encode(), path, case.settings))
        return annotating.annotate(lambda row, column: known.get((row, column)))

    def _seen(
        self, settings: Settings, changed: Changed, before: Collection[tuple[int, str]] = ()
    ) -> tuple[Seen, set[str]]:
        """What is found, and the rows of policy that spoke meanwhile. What a call leads to
        in another file is told at the call, with the way there: that is what was found `before`
        where one of the steps in that file stands."""
        texts = {name: joined(lines) for name, lines in changed.items()}
        folder = self._write(texts)
        found: dict[tuple[int, str], frozenset[int]] = {}
        with policy.asking(settings.policy_off) as asked:
            for name, lines in changed.items():
                data, path = texts[name].encode(), str(folder / name)
                for steps, what in _found(texts[name], path, settings, asked.spoke):
                    rows = [_row(changed[_name(file, folder)], row) for file, row in steps]
                    led = (r for (f, _), r in zip(steps, rows, strict=True) if f != steps[0][0])
                    same = (row for row in (rows[0], *led) if (row, what) in before)
                    found[next(same, rows[0]), what] = frozenset(rows)
                if "reveal_device" in texts[name]:
                    seen = _revealed(facts_of(data, path, settings))
                    found.update(((_row(lines, row), what), frozenset()) for row, what in seen)
        return found, asked.spoke

    def _write(self, texts: Mapping[str, str]) -> Path:
        """Put the files into a project of their own."""
        self.count += 1
        folder = self.folder / f"p{self.count}"
        folder.mkdir()
        (folder / "pyproject.toml").touch()
        for name, text in texts.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        return folder


Place = tuple[str, int]
"""A file, and a row of it."""


def _found(
    text: str, path: str, settings: Settings, spoke: set[str]
) -> Iterator[tuple[list[Place], str]]:
    """The codes of findings, and where they are: the row that is reported, and those of its steps.
    Their exact places take LibCST as long as all the rest, and are left out where no
    comment suppresses anything. What withholds a finding has spoken, too."""
    data, plan = text.encode(), prepare(settings)
    if has_own_pragmas(text) or plan.project is None:
        found = check_source(data, path, settings)
        yield from (([(path, finding.span.row)], finding.code) for finding in found)
        everything = check_source(data, path, _without_policy(settings))
        shown = {(finding.span.row, finding.code) for finding in found}
        for finding in everything:
            if (finding.span.row, finding.code) not in shown:
                yield [(path, finding.span.row)], _withheld(finding.code)
    elif plan.concerns(searchable(data)):
        codes = codes_for(settings, path, catalogue())
        withheld: list[tuple[Page, Report]] = []

        def sieve(page: Page, report: Report, by: str) -> None:
            if by in policy.rows():
                withheld.append((page, report))
                spoke.add(by)

        with plan.project.visit():
            said = say(content_of(Part(text), path, plan), path, codes, plan, sieve=sieve)
        yield from ((_places_of(report), page.code) for page, report in said)
        yield from ((_places_of(report), _withheld(page.code)) for page, report in withheld)


def _places_of(report: Report) -> list[Place]:
    origins = (node.origin for node in (report.at, *(hop.node for hop in report.because)))
    return [(str(each[0]), int(each[1])) for each in origins if isinstance(each, tuple)]


def _name(path: str, folder: Path) -> str:
    return Path(path).relative_to(folder).as_posix()


def _withheld(code: str) -> str:
    return f"[{code}]"


def _without_policy(settings: Settings) -> Settings:
    return without(settings, policy.rows())


def program_of(case: Case) -> Program | None:
    """The program of a case; None for what can't be transformed: no Python, or of other line
    breaks."""
    if "\r" in case.source or "\f" in case.source or syntax_error(case.source.encode()):
        return None
    return Program(case.source)


def _row(lines: list[Line], row: int) -> int:
    return lines[row - 1].row if row <= len(lines) else 0


def _difference(before: Seen, after: Seen, elsewhere: bool) -> set[str]:
    """What is found no longer, and what is new. What a row of policy withholds counts as found: its
    name is told. A value may be revealed once more, as it is in a function that is known for itself
    as well, beside what it was. Where it may be told `elsewhere`, what points at the row of another
    finding is the same as that, and values are revealed to calls of the file alone."""
    held = {each for each in after if each[1].startswith("[")}
    come = [each for each in after if each not in before and each not in held]
    gone = [
        (row, what)
        for row, what in before
        if (row, what) not in after and (row, _withheld(what)) not in held
    ]
    if elsewhere:
        rows = {row for row, _ in after}
        same = [(a, b) for a in gone for b in come if a[0] in after[b] or b[0] in before[a]]
        gone = [a for a in gone if all(a is not one for one, _ in same)]
        gone = [(row, what) for row, what in gone if " " not in what or row not in rows]
        come = [b for b in come if all(b is not other for _, other in same)]
    lost = {row for row, _ in gone}
    come = [(row, what) for row, what in come if " " not in what or row in lost]
    return {f"- {row} {what}" for row, what in gone} | {f"+ {row} {what}" for row, what in come}


def _place(told: str) -> tuple[bool, int, str]:
    sign, row, what = told.split(" ", 2)
    return sign == "+", int(row), what


def _revealed(records: list[Record]) -> Iterator[tuple[int, str]]:
    """What `reveal_device` says at each row, without names."""
    for record in records:
        if record["type"] == "Revealed":
            operand = record["operand"]
            row, _ = _start(record)
            yield row, f"{operand['kind']} {_shape(operand['place'])}"


def _start(record: Record) -> tuple[int, int]:
    row, column = record["at"].partition("-")[0].split(":")
    return int(row), int(column)


def _shape(place: str | dict[str, Any]) -> str:
    """A place without the names of what it hangs on."""
    if isinstance(place, str):
        return place
    if "symbol" in place:
        return "symbol"
    return f"choice of {' and '.join(sorted((_shape(place['yes']), _shape(place['no']))))}"


def _tensors(records: list[Record]) -> dict[tuple[int, int], bool]:
    """Of each name whose value some fact tells: whether it is a tensor for sure in all of them."""
    found: dict[tuple[int, int], bool] = {}
    for operand in _operands(records):
        if str(operand["text"]).isidentifier() and ":" in operand.get("at", "")[:4]:
            proved = operand["kind"] == "TENSOR" and "trait" not in operand
            found[_start(operand)] = found.get(_start(operand), True) and proved
    return found


def _operands(part: object) -> Iterator[Record]:
    """All operands of a fact."""
    if isinstance(part, dict) and "kind" in part:
        yield part
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _operands(each)


# --- the list of what is known -------------------------------------------------------------


def chosen(case: Case) -> tuple[str, ...]:
    """The transformations that the tests make of a case: one of those that rename the file, each
    of which takes as long as to lint the case, and all others."""
    turn = FILES[zlib.crc32(case.id.encode()) % len(FILES)]
    return tuple(name for name in TRANSFORMATIONS if name not in FILES or name == turn)


def read_known() -> dict[str, frozenset[str]]:
    """The cases that are known to change, by transformation."""
    table = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
    return {name: frozenset(table.get(name, ())) for name in TRANSFORMATIONS}
