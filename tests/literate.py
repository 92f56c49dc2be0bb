"""Markdown as tests: the rule pages and `tests/cases/*.md`.

A Python block is a whole file. Comments in it say what must be found on their row:

    y = x.cuda(1)  # error: [DEV104] text of the message  # error: [DEV101]
    reveal_device(y)  # revealed: cuda:1

Every finding that isn't announced is a failure, and so is an announced one that is missing.
A block marked `ok` announces nothing. One marked `fixed` is what all fixes make of the block
before it. In one marked `pedantic`, as the last word, something is found with `--pedantic` only;
all of any other block is found without. A TOML block sets options of `[tool.devlint]` for the
blocks after it, down to the next heading of its depth. Of a page, only findings of its own rule
count.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from devlint import torchapi
from devlint.config.rulebook import Block, Page, Section, pages, read_sections
from devlint.config.settings import Settings, check_layer, merge
from devlint.fix.applying import FixResult, fix_source
from devlint.fix.patches import unified_diff
from devlint.flow import facts
from devlint.flow.interpreter import interpret
from devlint.flow.surroundings import Text
from devlint.lint import check_source
from devlint.model.findings import Finding
from devlint.source.errors import SourceError
from devlint.source.lower import lower
from devlint.source.spots import File, span_of
from devlint.verdict.score import is_certain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILENAME = os.path.join(os.sep, "nowhere", "here", "example.py")  # noqa: PTH118
"""In a folder that isn't there: in this one, devlint would look for callers in its own tests."""

_WORD = r"#[ \t]*(?P<word>error|revealed):"
_CLAIM = re.compile(rf"[ \t]*{_WORD}[ \t]*(?P<rest>.*?)[ \t]*(?=#[ \t]*(?:error|revealed):|$)")
_ERROR = re.compile(r"\[(?P<code>DEV\d{3})\][ \t]*(?P<text>.*)")


@dataclass(frozen=True)
class Case:
    """One block. `row` is the row of its first line in the Markdown file at `path`."""

    id: str
    path: Path
    row: int
    source: str
    errors: tuple[tuple[int, str, str], ...] = ()
    """Row within the block, code, and a part of the message."""
    revealed: tuple[tuple[int, str], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""
    pedantic: bool = False
    """Whether it says that something in it is found with `--pedantic` only."""
    fixed: str | None = None
    """The block after all fixes."""
    only: Page | None = None
    """The page that the block stands on: other rules' findings don't count."""

    @property
    def settings(self) -> Settings:
        """What shows all that there is to be found."""
        layers = ({"select": ["ALL"], "pedantic": True}, self.options)
        return merge(check_layer(str(self.path), "", values) for values in layers)

    def at(self, row: int) -> str:
        """The place, in the Markdown file, of a row of the block."""
        return f"{self.path}:{self.row + row - 1}"


# --- reading -------------------------------------------------------------------------------


def page_cases(page: Page) -> list[Case]:
    """The blocks of a page that claim something."""
    cases = _cases(page.path, page.sections)
    return [replace(case, only=page) for case in cases if case.kind]


def file_cases(path: Path) -> list[Case]:
    """The blocks of a file of cases."""
    return list(_cases(path, read_sections(path.read_text(encoding="utf-8"))))


@cache
def all_cases() -> dict[str, list[Case]]:
    """All of both kinds, by the name of their Markdown file."""
    folder = Path(__file__).with_name("cases")
    found = [file_cases(path) for path in sorted(folder.glob("*.md"))]
    found += map(page_cases, pages().values())
    return {cases[0].path.stem: cases for cases in found if cases}


def as_parameters(cases: Iterable[Case]) -> list[Any]:
    """Cases as parameters of a test."""
    return [pytest.param(case, id=case.id) for case in cases]


def _cases(path: Path, sections: Iterable[Section]) -> Iterator[Case]:
    scopes: list[tuple[int, Mapping[str, Any]]] = []
    for section in sections:
        scopes = [scope for scope in scopes if scope[0] < section.depth]
        python = 0
        previous: Case | None = None
        for block in section.blocks:
            if block.language == "toml":
                scopes.append((section.depth, _options(path, block)))
            if not block.is_python:
                continue
            options = {key: value for _, values in scopes for key, value in values.items()}
            case = _case(f"{path.stem}::{section.title}[{python}]", path, block, options)
            python += 1
            if previous is not None and block.kind == "fixed":
                previous = replace(previous, fixed=case.source)
            if previous is not None:
                yield previous
            previous = case
        if previous is not None:
            yield previous


def _case(id: str, path: Path, block: Block, options: Mapping[str, Any]) -> Case:
    errors: list[tuple[int, str, str]] = []
    revealed: list[tuple[int, str]] = []
    lines = []
    for row, line in enumerate(block.text.split("\n"), start=1):
        first = _CLAIM.search(line)
        lines.append(line if first is None else line[: first.start()])
        for claim in _CLAIM.finditer(line):
            if claim["word"] == "revealed":
                revealed.append((row, claim["rest"]))
                continue
            error = _ERROR.fullmatch(claim["rest"])
            if error is None:
                raise ValueError(f"{path}:{block.row + row - 1}: `# error: [DEV000] text` expected")
            errors.append((row, error["code"], error["text"]))
    source = "\n".join(lines)
    return Case(
        id,
        path,
        block.row,
        source,
        tuple(errors),
        tuple(revealed),
        options,
        block.kind,
        block.pedantic,
    )


def _options(path: Path, block: Block) -> Mapping[str, Any]:
    try:
        table = tomllib.loads(block.text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}:{block.row}: {error}") from error
    ours: Mapping[str, Any] = table.get("tool", {}).get("devlint", table)
    return ours


# --- checking ------------------------------------------------------------------------------


def problems(case: Case) -> list[str]:
    """All that is wrong with a case, each with its place; none where it holds."""
    findings = lint(case, case.source.encode())
    return [
        *_wrong_findings(case, findings),
        *_wrong_mark(case, findings),
        *_wrong_reveals(case),
        *_wrong_fix(case, findings),
    ]


def lint(case: Case, data: bytes) -> list[Finding]:
    """The findings that count for a case."""
    findings = check_source(data, FILENAME, case.settings)
    return [f for f in findings if case.only is None or f.code == case.only.code]


def _wrong_findings(case: Case, findings: Iterable[Finding]) -> Iterator[str]:
    if case.kind == "error" and not case.errors:
        yield f"{case.at(1)}: an `error` block announces at least one finding"
    if case.kind in ("ok", "fixed") and case.errors:
        yield f"{case.at(1)}: a block `{case.kind}` announces nothing"
    missing = list(case.errors)
    for finding in findings:
        row = finding.span.row
        for expected in missing:
            if expected[:2] == (row, finding.code) and expected[2] in finding.message:
                missing.remove(expected)
                break
        else:
            yield f"{case.at(row)}: unexpected: [{finding.code}] {finding.message}"
    for row, code, text in missing:
        yield f"{case.at(row)}: missing: [{code}] {text}".rstrip()


def _wrong_mark(case: Case, findings: Iterable[Finding]) -> Iterator[str]:
    """What is wrong with a block that is marked `pedantic`, or isn't: by a run without it."""
    by_default = replace(case, options={**case.options, "pedantic": False})
    shown = lint(by_default, case.source.encode()) if findings else []
    withheld = [finding for finding in findings if finding not in shown]
    for finding in shown:
        if finding not in findings:
            yield f"{case.at(finding.span.row)}: only without `pedantic`: [{finding.code}]"
        if not is_certain(finding.score):
            yield f"{case.at(finding.span.row)}: shown without `pedantic`: [{finding.code}]"
    if case.pedantic and not withheld:
        yield f"{case.at(1)}: all of a block marked `pedantic` is found without"
    for finding in () if case.pedantic else withheld:
        yield f"{case.at(finding.span.row)}: [{finding.code}] needs `pedantic`: mark the block"


def _wrong_reveals(case: Case) -> Iterator[str]:
    if not case.revealed and "reveal_device" not in case.source:
        return
    try:
        module = lower(case.source, FILENAME)
    except SourceError as error:
        yield f"{case.at(error.span.row)}: {error.reason}"
        return
    missing = list(case.revealed)
    device_types = frozenset(case.settings.device_types)
    for fact in interpret(Text(module), torchapi.load(), device_types):
        if not isinstance(fact, facts.Revealed):
            continue
        span = span_of(fact.node.origin, File(FILENAME, case.source))
        assert span is not None
        row = span.row
        device = str(fact.operand.device)
        spellings = {device, f"{fact.operand.kind.name.lower()} on {device}"}
        said = next((c for c in case.revealed if c[0] == row and c[1] in spellings), None)
        if said is None:
            yield f"{case.at(row)}: revealed: {max(spellings, key=len)}"
        elif said in missing:  # a loop's body may say the same in its first and its last round
            missing.remove(said)
    for row, text in missing:
        yield f"{case.at(row)}: not revealed: {text}"


def _wrong_fix(case: Case, findings: list[Finding]) -> Iterator[str]:
    """What is wrong with the fixes of a block that a block `fixed` follows."""
    if case.fixed is None or (case.only is not None and case.only.fix == "never"):
        return
    for finding in findings:
        if finding.fix is None:
            yield f"{case.at(finding.span.row)}: no fix of {finding.code}, but a block `fixed`"
            return
    result = fix(case, case.source.encode())
    for dropped in result.dropped:
        place = case.at(dropped.finding.span.row)
        yield f"{place}: the fix of {dropped.finding.code} doesn't hold: {dropped.reason}"
    if not result.dropped and result.data != case.fixed.encode():
        yield f"{case.at(1)}: the fixes give another text:\n{_difference(case.fixed, result.data)}"
    elif fix(case, result.data).data != result.data:
        yield f"{case.at(1)}: fixing twice gives another text than fixing once"


def fix(case: Case, data: bytes) -> FixResult:
    """What all fixes, unsafe ones too, make of a text."""
    return fix_source(data, FILENAME, case, True, lambda new, filename, case: lint(case, new))


def _difference(expected: str, actual: bytes) -> str:
    return unified_diff(expected.encode(), actual, "fixed").decode()
