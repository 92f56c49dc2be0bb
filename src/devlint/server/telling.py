"""What is told of a value or a rule, as Markdown, and the hints of devices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from devlint.config.rulebook import Page, find, pages
from devlint.safety.escaping import markdown, shown
from devlint.server.targets import Target
from devlint.server.values import Value, place_of
from devlint.why.known import Known, Step

_HERE = re.compile(r"\s+here\b.*", re.DOTALL)
"""Of the message of a step, what makes sense only beside its line."""
_CODE = re.compile(r"\bDEV\d{3}\b")
_TICKS = re.compile(r"`+")
_MOST_VIEWS = 4
"""Calls of a function of which it is told how they see a value."""


def page_of(name: str) -> str:
    """The page of a rule, by its name."""
    page = pages()[name]
    return f"## {page.code} {page.name}\n\n{page.summary}\n\n{page.body.strip()}\n"


def page_at(text: str, column: int) -> Page | None:
    """The page of the rule whose code stands at a column (from 1) of a row, as in the comments that
    suppress it."""
    for code in _CODE.finditer(text):
        if code.start() < column <= code.end():
            return find(code[0])
    return None


def value_text(value: Value, target: Target) -> str:
    """What a value is, where, and by which steps that is known; "" where nothing is."""
    told = (_view(known, target) for known in value.known[:_MOST_VIEWS] if _says(known))
    return "\n\n".join(dict.fromkeys(told))


def _says(known: Known) -> bool:
    return known.place is not None or known.kind != "unknown"


def _view(known: Known, target: Target) -> str:
    what = known.kind if known.kind != "unknown" else "a value"
    place = f" on {known.place}" if known.place is not None else ", device unknown"
    first = f", {_origin(known.steps[0], target)}" if known.steps else ""
    calls = ", ".join(_at(each.path, each.row, target) for each in known.called_from)
    seen = f" (as called at {calls})" if calls else ""
    lines = [f"{_code(known.expression)}: {markdown(f'{what}{place}{first}{seen}')}"]
    if len(known.steps) > 1:
        lines += ["", *(f"- {_line(step, target)}" for step in known.steps)]
    return "\n".join(lines)


def _origin(step: Step, target: Target) -> str:
    return f"{_HERE.sub('', step.message)} at {_at(step.at.path, step.at.row, target)}"


def _line(step: Step, target: Target) -> str:
    return markdown(f"{_at(step.at.path, step.at.row, target)}: {step.message}")


def _at(path: str, row: int, target: Target) -> str:
    """`line 7`, in another file with its path, in a notebook with the cell."""
    if path != target.path:
        return f"{path}:{row}"
    cell, own = target.shown_row(row)
    return f"line {own}" if cell is None else f"cell {cell}, line {own}"


def _code(text: str) -> str:
    """A piece of source as Markdown shows it."""
    text = shown(text)
    ticks = "`" * (max(map(len, _TICKS.findall(text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def hints(values: Iterable[Value], rows: range) -> Iterator[tuple[Value, str]]:
    """The names that are bound in some rows to what has a place, and that place."""
    for value in values:
        if value.is_bound and value.span.row in rows:
            place = place_of(value)
            if place is not None:
                yield value, shown(place)
