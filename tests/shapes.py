"""What a format looks like, whatever is in it: each place of a value, and the kinds found there."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import devlint
from devlint.cli.why import _record
from devlint.crashes.told import Told
from devlint.model.findings import (
    LESS_CERTAIN,
    Coverage,
    Edit,
    Finding,
    Fix,
    Level,
    Safety,
    Span,
    Step,
)
from devlint.report import Summary, render, statistics
from devlint.report.versions import FORMAT_VERSIONS
from devlint.why.inspection import Why

_PARTS = {kind.__name__: kind for kind in (Edit, Fix, Level, Safety, Span, Step)}
"""What a finding consists of: nobody has to name them, but all read their attributes."""
FOLDER = Path(__file__).parent / "shapes"


def examples(kind: Any) -> list[Any]:
    """Values of a type: with all that may be left out, without what may be None, with nothing."""
    return [_example(kind, True, True), _example(kind, True, False), _example(kind, False, False)]


def _example(kind: Any, full: bool, optional: bool) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        some = [each for each in arguments if each is not type(None)]
        return _example(some[0], full, optional) if optional or len(some) > 1 else None
    if origin is tuple and arguments[-1] is Ellipsis:
        return (_example(arguments[0], full, optional),) if full else ()
    if origin is tuple:
        return tuple(_example(each, full, optional) for each in arguments)
    if origin is typing.Literal:
        return arguments[0]
    if dataclasses.is_dataclass(kind):
        hints, fields = typing.get_type_hints(kind), dataclasses.fields(kind)
        return kind(**{each.name: _example(hints[each.name], full, optional) for each in fields})
    if issubclass(kind, enum.Enum):
        return next(iter(kind))
    return kind(1) if issubclass(kind, int) else kind("x" if full else "")


def shape(values: Iterable[object], maps: Iterable[str] = ()) -> list[str]:
    """A line for each place of some values: its path and the kinds that stand there. `maps` are
    paths of objects whose keys are data."""
    found: dict[str, set[str]] = {}

    def add(path: str, value: object) -> None:
        kind = {dict: "object", list: "array", str: "string", type(None): "null"}
        kinds = found.setdefault(path, set())
        kinds.add(kind.get(type(value), type(value).__name__))
        if isinstance(value, dict):
            for key, each in value.items():
                add(f"{path}.{'*' if path in maps else key}", each)
        if isinstance(value, list):
            for each in value:
                add(f"{path}[]", each)

    for value in values:
        add("$", json.loads(json.dumps(value)))
    return [f"{path}: {' | '.join(sorted(kinds))}" for path, kinds in found.items()]


def _findings() -> list[Finding]:
    """Those that a format may have to show: in a notebook, without a fix, with one that is safe."""
    found = [
        dataclasses.replace(each, code="DEV106", name="load-without-map-location")
        for each in examples(Finding)
    ]
    edit = Edit(Span(0, 1, 1, 1, 1, 2), "y")
    return [*found, dataclasses.replace(found[1], fix=Fix("x", Safety.SAFE, (edit,)))]


def _rendered(output_format: str) -> list[object]:
    failures = tuple(
        types.SimpleNamespace(filename=name, reason="it is broken") for name in ("", "a.py")
    )
    coverage = examples(Coverage)[0]
    withheld = {"tests": 1, LESS_CERTAIN: 1}
    told = Summary(root=Path("/"), failures=failures, coverage=coverage, withheld_by=withheld)
    everything = (_findings(), told), ([], Summary(root=Path("/")))
    return [
        json.loads(render(output_format, findings, summary, False, lambda _: "x\n"))
        for findings, summary in everything
    ]


def _collected() -> list[object]:
    from devlint.runtime.collected import Collection, Mismatch
    from devlint.runtime.collected_report import rendered

    collection = Collection()
    for mismatch in examples(Mismatch):
        collection.add(mismatch)
    return [json.loads(rendered("json", collection, Path("/")))]


def _transfers() -> list[object]:
    import torch

    from devlint.runtime.transfers import TransferLog
    from devlint.runtime.virtual import emulate

    log = TransferLog()
    with emulate("cuda", transfers=log):
        torch.ones(3).to("cuda").sum().item()
    return [log.as_record()]


def shapes() -> dict[str, list[str]]:
    """The lines of each format."""
    whys = [_record(answer) for answer in examples(Why)]
    told = [[dataclasses.asdict(each) for each in examples(Told)]]
    counts = [json.loads(statistics("json", _findings()))]
    maps_of_sarif = ["$.runs[].properties.coverage.unknown", "$.runs[].properties.withheldByPolicy"]
    maps_of_transfers = ["$.bytes", "$.timeline.rows", "$.lines[].what"]
    found = {
        "json": shape(_rendered("json")),
        "statistics": shape(counts),
        "sarif": shape(_rendered("sarif"), maps_of_sarif),
        "gitlab": shape(_rendered("gitlab")),
        "rdjson": shape(_rendered("rdjson")),
        "why": shape(whys, ["$.callers"]),
        "explain": shape(told),
        "collected": shape(_collected()),
        "transfers": shape(_transfers(), maps_of_transfers),
    }
    assert found.keys() == FORMAT_VERSIONS.keys()
    return found


def public_api() -> list[str]:
    """What a program may name, with the parameters of each."""
    lines = [f"{name}: str" for name in dir(devlint) if name == "__version__"]
    named = {name: getattr(devlint, name) for name in dir(devlint) if not name.startswith("_")}
    for name, value in {**named, **_PARTS}.items():
        if callable(value):
            lines.append(f"{name}{_signature(value)}")
        if inspect.isclass(value):
            lines += _members(name, value)
    return lines


def _signature(value: Any) -> str:
    """Parameters and result; "" where Python's own code takes them, as for an error."""
    try:
        return str(inspect.signature(value))
    except ValueError:
        return ""


def _members(name: str, owner: type) -> list[str]:
    found = [f"{name}({base.__name__})" for base in owner.__bases__ if base is not object]
    foreign = {"builtins", "enum"}
    inherited = {name for kind in owner.__mro__ if kind.__module__ in foreign for name in dir(kind)}
    for member in sorted(set(dir(owner)) - inherited):
        value = inspect.getattr_static(owner, member)
        if not member.startswith("_"):
            signature = _signature(value) if inspect.isfunction(value) else ""
            found.append(f"{name}.{member}{signature}")
    return found


def files() -> Mapping[str, list[str]]:
    """The lines of each file of `FOLDER`."""
    versioned = {f"{name}-{FORMAT_VERSIONS[name]}.txt": lines for name, lines in shapes().items()}
    return {**versioned, "api.txt": public_api()}
