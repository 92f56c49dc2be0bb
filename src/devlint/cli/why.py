"""`devlint why FILE:LINE[:COL]`, or `NOTEBOOK:CELL:LINE[:COL]`: what is known there, and what
becomes of it."""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar, cast

from devlint.cli.arguments import UsageError
from devlint.cli.check import configured
from devlint.flow.frames.steps import TooManyStepsError
from devlint.lint import TOO_MUCH
from devlint.safety import files
from devlint.safety.escaping import json_text, line
from devlint.source.cells import Cells
from devlint.source.errors import SourceError
from devlint.source.notebooks import read_notebook
from devlint.why.inspection import Judged, Why
from devlint.why.inspection import why as ask
from devlint.why.known import Contract, Known, Place, Step

_LINE = r"(?P<row>[1-9]\d{0,8})(:(?P<column>[1-9]\d{0,8}))?"
_IN_NOTEBOOK = re.compile(rf"(?P<file>.+?):(cell )?(?P<cell>[1-9]\d{{0,8}}):{_LINE}")
_PLACE = re.compile(rf"(?P<file>.+?):{_LINE}")


def why(options: argparse.Namespace) -> int:
    """Answer for one place. Raises `UsageError` and `SettingsError`."""
    found = _PLACE.fullmatch(options.place)
    if found is None:
        raise UsageError(f"`{options.place}` is not of the form FILE:LINE[:COL]")
    asked = {name: getattr(options, name) for name in ("config", "isolated", "extension")}
    configuration = configured(argparse.Namespace(**asked), os.getcwd())
    settings = configuration.for_folder(os.path.dirname(os.path.abspath(found["file"])))
    notebook = _IN_NOTEBOOK.fullmatch(options.place)
    if notebook is not None and settings.language_of(notebook["file"]) != files.NOTEBOOK:
        notebook = None
    if notebook is None and settings.language_of(found["file"]) == files.NOTEBOOK:
        raise UsageError(f"`{options.place}` is not of the form NOTEBOOK:CELL:LINE[:COL]")
    found = notebook or found
    filename, row = found["file"], int(found["row"])
    column = int(found["column"]) if found["column"] else None
    path, language = os.path.abspath(filename), settings.language_of(filename)
    try:
        data = files.read(filename, files.most_bytes(language, settings.max_file_size))
        if notebook is None:
            answer = ask(data, filename, settings, row, column)
        else:
            cells, number = read_notebook(data), int(notebook["cell"])
            inside = cells.row_of(number, row)
            if inside is None:
                raise UsageError(f"{filename}: there is no line {row} in a cell {number} of Python")
            answer = _in_cells(ask(data, filename, settings, inside, column), path, cells)
    except UsageError:
        raise
    except OSError as error:
        raise UsageError(f"{filename}: {files.reason(error)}") from error
    except SourceError as error:
        raise UsageError(f"{filename}:{error.span.row}: {error.reason}") from error
    except TooManyStepsError as error:
        raise UsageError(f"{filename}: {TOO_MUCH}") from error
    except Exception as error:  # a bug of devlint's, which `check` reports as a failed file
        text = " ".join(str(error).split())
        raise UsageError(f"{filename}: internal error: {type(error).__name__}: {text}") from error
    if options.output_format == "json":
        print(json_text(_record(answer), indent=2))
    else:
        sys.stdout.write("".join(f"{line(each)}\n" for each in _text(answer, filename)))
    return 0


_Part = TypeVar("_Part")


def _in_cells(part: _Part, path: str, cells: Cells) -> _Part:
    """A part of an answer, with the lines of a notebook as those of its cells."""

    def told(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(told, value))
        if isinstance(value, Place):
            if value.path != path:
                return value
            number, row = cells.cell_of(value.row)
            return Place(path, row, number)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = (each.name for each in dataclasses.fields(value))
            parts = {name: told(getattr(value, name)) for name in names}
            return dataclasses.replace(value, **parts)
        return value

    return cast("_Part", told(part))


def _record(answer: Why) -> dict[str, object]:
    """As plain values: withheld findings with the reason in words."""
    found = dataclasses.asdict(answer)
    for finding, record in zip(answer.findings, found["findings"], strict=True):
        record["reason"] = finding.reason
    found["callers"] = dict(answer.callers)
    return found


def _text(answer: Why, filename: str) -> Iterator[str]:
    cell = "" if answer.place.cell is None else f"cell {answer.place.cell}:"
    yield f"{filename}:{cell}{answer.place.row}"
    yield f"    {answer.source}"
    sections = (
        ("values", (each for known in answer.known for each in _known(known, answer.place))),
        (
            "must be on one device",
            (each for contract in answer.contracts for each in _contract(contract, answer.place)),
        ),
        ("calls of this function", (f"{name}: {given}" for name, given in answer.callers)),
        ("findings", map(_finding, answer.findings)),
        ("how to settle it", answer.advice),
    )
    for title, lines in sections:
        first = True
        for text in lines:
            if first:
                yield ""
                yield title
                first = False
            yield f"  {text}"
    if not (answer.known or answer.findings):
        yield ""
        yield "As far as devlint knows, nothing on this line has to do with devices."


def _known(known: Known, here: Place) -> Iterator[str]:
    yield f"{known.expression}: {known.kind}{_where(known)}{_seen(known.called_from, here)}"
    for step in known.steps:
        yield f"    {_at(step, here)}  {step.message}"


_WITHOUT_PLACE = ("list", "tuple", "set", "dict", "ndarray", "device", "dataset", "loader")


def _where(known: Known) -> str:
    if known.place is not None:
        return f" on {known.place}"
    if known.kind in _WITHOUT_PLACE:
        return ""
    return "" if known.kind == "unknown" else ", device unknown"


def _seen(calls: Iterable[Place], here: Place) -> str:
    places = ", ".join(_name(place, here) for place in calls)
    return f" (as called at {places})" if places else ""


def _at(step: Step, here: Place) -> str:
    return _name(step.at, here)


def _name(place: Place, here: Place) -> str:
    """How a place is called: by its line in the same file."""
    if place.path != here.path:
        return f"{os.path.relpath(place.path)}:{place.row}"
    cell = "" if place.cell == here.cell else f"cell {place.cell}, "
    return f"{cell}line {place.row}"


def _contract(contract: Contract, here: Place) -> Iterator[str]:
    words = {"differ": "they differ", "agree": "they agree", "unknown": "not decided"}
    yield f"{contract.operation}: {words[contract.outcome]}{_seen(contract.called_from, here)}"
    for operand in contract.operands:
        yield f"    {operand.expression}: {operand.kind}{_where(operand)}"


def _finding(finding: Judged) -> str:
    shown = (
        "shown"
        if not finding.withheld_by
        else f"not shown: {finding.reason} [{finding.withheld_by}]"
    )
    if finding.hangs_on:
        shown += f"; by the name of something [{', '.join(finding.hangs_on)}]"
    return f"{finding.code} {finding.name}: {finding.message} ({shown})"
