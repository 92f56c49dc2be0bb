"""A file and findings in it, made by hand, for the tests of the formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from devlint.model.findings import Edit, Finding, Fix, Level, Safety, Span, Step
from devlint.model.spans import LineIndex
from devlint.report import Context, Summary

SOURCE = """\
import torch

x = torch.ones(3, device="cuda")
y = torch.zeros(3)



z = x + y
x.cuda(1)
"""


@dataclass(frozen=True)
class Trouble:
    """A failure, as the runner tells of one."""

    filename: str
    reason: str


def span(text: str, part: str, nth: int = 0) -> Span:
    """Where `part` occurs for the `nth` time (0-based) in `text`."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(part, at + 1)
    return LineIndex(text).span(at, at + len(part))


def place(text: str, start: int, end: int) -> Span:
    """A span from two offsets."""
    return LineIndex(text).span(start, end)


def finding(
    text: str,
    part: str,
    *steps: Step,
    code: str = "DEV202",
    name: str = "operands-on-other-devices",
    message: str = "`y` is on cpu but `x` is on cuda",
    level: Level = Level.ERROR,
    fix: Fix | None = None,
    help: str = "",
    sorts: tuple[str, ...] = (),
    filename: str = "train.py",
    nth: int = 0,
) -> Finding:
    where = span(text, part, nth)
    rows = (where.row, where.end_row)
    return Finding(filename, code, name, message, level, where, steps, fix, help, rows, sorts=sorts)


def insertion(text: str, after: str, content: str, safety: Safety = Safety.UNSAFE) -> Fix:
    """A fix that puts `content` behind the first occurrence of `after`."""
    end = span(text, after).end
    return Fix("move it", safety, (Edit(place(text, end, end), content),))


def context(sources: Mapping[str, str], summary: Summary | None = None) -> Context:
    return Context(summary or Summary(), False, sources.get)


MISMATCH = finding(
    SOURCE,
    "x + y",
    Step(span(SOURCE, 'torch.ones(3, device="cuda")'), "made on cuda here"),
    Step(span(SOURCE, "torch.zeros(3)"), "made on cpu here"),
    Step(span(SOURCE, "x + y"), "used together here"),
    fix=insertion(SOURCE, "x + y", ".to(x.device)"),
    help="make `y` where `x` is",
    sorts=("source.default-device", "source.named"),
)

HARDCODED = finding(
    SOURCE,
    "x.cuda(1)",
    code="DEV104",
    name="hardcoded-device-index",
    message="the index 1 is fixed",
    level=Level.WARNING,
    fix=Fix("drop it", Safety.SAFE, (Edit(span(SOURCE, "1"), ""),)),
)
