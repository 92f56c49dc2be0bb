"""Facts as data: what the interpreter writes down of a file, before any rule has read it.

For whoever changes the interpreter: `devlint check --dump-facts` prints these records, and the
tests and `bench/diff.py --facts` compare them. Their form follows the code and is no promise.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from devlint.config.settings import Settings
from devlint.flow.domain.lattice import Guarded, Known, Symbol, Unknown
from devlint.flow.facts import Context, Fact, Fixed, Misspelling, Operand
from devlint.flow.interpreter import interpret
from devlint.lint import content_of
from devlint.model import ir
from devlint.model.findings import Span
from devlint.model.reports import Hop, Located
from devlint.policy import asking
from devlint.project.plan import Plan, prepare
from devlint.source.encoding import searchable_text
from devlint.source.reading import read_script
from devlint.source.room import with_room
from devlint.source.script import Script
from devlint.source.spots import File, path_of, span_of
from devlint.verdict.locating import no_files

Record = dict[str, Any]
"""One fact: what JSON can hold, with all fields that say something."""

_FLAGS = ("guarded", "passed")


def facts_of(data: bytes, filename: str, settings: Settings) -> list[Record]:
    """The facts of a file, in the order of its text.

    Raises `SourceError` for what can't be read, and `TooManyStepsError` for what takes too long.
    """
    plan = prepare(settings)
    script = read_script(data, filename, settings.language_of(filename))
    if not plan.concerns(searchable_text(script.text)):
        return []
    with asking(plan.policy_off):
        return with_room(lambda: _facts(script, filename, plan))


def _facts(script: Script, filename: str, plan: Plan) -> list[Record]:
    path = os.path.abspath(filename)
    found: list[Fact] = []
    project = plan.project
    for part in script.parts:
        content = content_of(part, filename, plan)
        if project is None:
            found += interpret(content, plan.table, plan.device_types, path)
        else:
            with project.visit():
                project.recount()
                found += interpret(content, plan.table, plan.device_types, path, project)
    files = no_files if plan.neighbours is None else plan.neighbours.file
    writer = _Writer(File(path, script.text), files)
    return [writer.fact(fact) for fact in sorted(found, key=writer.order)]


class _Writer:
    """Writes what points at pieces of one file, or of those that it follows."""

    def __init__(self, own: File, files: Callable[[str], File | None]) -> None:
        self._own = own
        self._files = files

    def fact(self, fact: Fact) -> Record:
        """A fact: its type, its place, and its fields by their names."""
        record: Record = {"type": type(fact).__name__}
        record.update(self.place(fact.node))
        for field in fields(fact):
            if field.name not in ("node", "here"):
                record.update(_said(field.name, self.written(getattr(fact, field.name))))
        return record

    def written(self, value: object) -> Any:
        """Any part of a fact."""
        match value:
            case Fact():
                return self.fact(value)
            case Operand():
                return self._operand(value)
            case Known() | Symbol() | Guarded() | Unknown():
                return _place(value)
            case Hop():
                return {**self.place(value.node), "message": value.message}
            case ir.Node():
                return {"node": type(value).__name__, **self.place(value)}
            case Context():
                named = {"role": value.role.name, "guard": value.guard.name}
                return {"function": value.function, **named}
            case Enum():
                return value.name
            case Misspelling():
                return value.message
            case Fixed():
                return {"by": value.by.name, **_said("condition", value.condition)}
            case tuple():
                return [self.written(each) for each in value]
            case str() | bool() | int() | float() | None:
                return value
        return repr(value)

    def _operand(self, operand: Operand) -> Record:
        value = operand.value
        record: Record = {
            "text": str(operand),
            **self.place(operand.node),
            "kind": operand.kind.name,
            "place": _place(operand.device),
            "origin": operand.origin.name,
        }
        record.update(_said("constant", self.written(operand.constant)))
        record.update(_said("type_name", operand.type_name))
        for flag in _FLAGS:
            record.update(_said(flag, getattr(operand, flag)))
        record.update(_said("near", "" if operand.near is None else ir.render(operand.near)))
        record.update(_said("scalar", value.scalar))
        record.update(_said("grad", value.grad))
        record.update(_said("trait", self.written(value.trait)))
        record.update(_said("trace", [self.written(hop) for hop in operand.trace]))
        return record

    def place(self, node: Located) -> Record:
        """Where a node stands, if anywhere, as `row:column-end_row:end_column`: all count from 1,
        and the end is left out. The path stands before it where that is another file."""
        path, span = self._span(node)
        if span is None:
            return {}
        at = f"{span.row}:{span.column}-{span.end_row}:{span.end_column}"
        return {"at": f"{path}:{at}" if path else at}

    def order(self, fact: Fact) -> tuple[object, ...]:
        """By place, type and all else."""
        path, span = self._span(fact.node)
        row, column = (0, 0) if span is None else (span.row, span.column)
        return path, row, column, type(fact).__name__, json.dumps(self.fact(fact))

    def _span(self, node: Located) -> tuple[str, Span | None]:
        """The path of another file, or "", and the span there."""
        path = path_of(node.origin)
        if path is None:
            return "", node.origin if isinstance(node.origin, Span) else None
        own = path == self._own.path
        file = self._own if own else self._files(path)
        return "" if own else path, None if file is None else span_of(node.origin, file)


def _said(name: str, value: object) -> Mapping[str, object]:
    """A field, if it says anything. A constant may be false, and a tensor no scalar for sure."""
    silent = value is None or (value in (False, "", []) and name not in ("constant", "scalar"))
    return {} if silent else {name: value}


def _place(device: object) -> Any:
    """A device as it is known, and not as messages call it."""
    match device:
        case Known():
            return str(device)
        case Symbol(key=key):
            return {"symbol": key}
        case Guarded(key=key, yes=yes, no=no):
            return {"if": key, "yes": _place(yes), "no": _place(no)}
    return "unknown"
