"""What is known of every value in a file, for hovers and hints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from devlint.config.settings import Settings
from devlint.flow.frames.record import Record, Seen
from devlint.flow.interpreter import interpret
from devlint.lint import content_of
from devlint.model import ir
from devlint.model.findings import Edit, Span
from devlint.model.spans import LineIndex
from devlint.policy import asking
from devlint.project.plan import Plan, prepare
from devlint.source.encoding import searchable_text
from devlint.source.errors import SourceError
from devlint.source.reading import read_script
from devlint.source.room import with_room
from devlint.source.script import Part, Script
from devlint.source.spots import offsets_of
from devlint.why.known import DULL, Known, distinct, known_of


@dataclass(frozen=True, slots=True)
class Value:
    """What stands somewhere: an expression, or a name that is bound there. `known` is what it is as
    its function runs on its own, and then as calls of that see it."""

    span: Span
    is_bound: bool
    known: tuple[Known, ...]


def values(data: bytes, path: str, settings: Settings) -> list[Value]:
    """All values of a file of which something is known; none where it can't be read.

    Raises `TooManyStepsError` and `SettingsError`.
    """
    plan = prepare(settings)
    try:
        script = read_script(data, path, settings.language_of(path))
        if not plan.concerns(searchable_text(script.text)):
            return []
        return [each for part in script.parts for each in _of(part, script, path, plan)]
    except SourceError:
        return []


def _of(part: Part, script: Script, path: str, plan: Plan) -> Iterator[Value]:
    index = LineIndex(script.text)
    record = Record(path, range(1, index.rows + 1))
    visit = nullcontext() if plan.project is None else plan.project.visit()
    with asking(plan.policy_off), visit:
        content = content_of(part, path, plan)
        if plan.project is not None:
            plan.project.recount()
        with_room(
            lambda: interpret(content, plan.table, plan.device_types, path, plan.project, record)
        )
    for seen, is_bound in ((record.seen, False), (record.bound, True)):
        by_node: dict[ir.Node, list[Seen]] = {}
        for (node, _), each in seen.items():
            by_node.setdefault(node, []).append(each)
        for node, views in by_node.items():
            known = [known_of(each.operand, each.site) for each in views]
            told = tuple(each for each in known if each.kind not in DULL)
            span = _span(node, index, script)
            if told and span is not None:
                in_order = sorted(told, key=lambda each: len(each.called_from))
                yield Value(span, is_bound, distinct(in_order))


def _span(node: ir.Node, index: LineIndex, script: Script) -> Span | None:
    """Where a node stands in the file; of a parameter, its name."""
    place = offsets_of(node.origin, index)
    if place is None:
        return None
    start, end = place
    if isinstance(node, ir.Parameter):
        end = start + len(node.name)
    try:
        return script.placed_edit(Edit(index.span(start, end), "")).span
    except ValueError:
        return None


def at(found: list[Value], row: int, column: int) -> Value | None:
    """The smallest value that stands at a place."""

    def size(value: Value) -> tuple[int, bool]:
        return value.span.end - value.span.start, not value.is_bound

    def covers(span: Span) -> bool:
        return (span.row, span.column) <= (row, column) < (span.end_row, span.end_column)

    return min((each for each in found if covers(each.span)), key=size, default=None)


def place_of(value: Value) -> str | None:
    """Where a value is, however its function is called; None where that isn't known, or goes
    without saying: a parameter is where its caller has it."""
    own = [each for each in value.known if not each.called_from] or value.known
    places = {each.place for each in own}
    place = places.pop() if len(places) == 1 else None
    name = own[0].expression
    return None if place in (f"`{name}`", f"`{name}.device`") else place
