"""Objects at the top of a file that functions change: what was stored there may be gone where
another one runs, so it isn't known what they hold."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from devlint.flow.domain.lattice import UNKNOWN, Symbol
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import DEFINED, NAMED, NOTHING, Kind, Value
from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.seen import ANY
from devlint.flow.syntax.walk import units
from devlint.model import ir


def leave_changed(frame: Frame) -> None:
    """Forget what the names of a file hold that its functions store into. A device that is kept
    there is still the same one wherever its path stands."""
    for name, value in frame.state.env.items():
        found = frame.object(value) if value.kind is not Kind.MODULE else None
        if isinstance(value.data, ClassInfo) and value.data.env:
            keys = frame.file.once(_changes, frame.file).get(name, ())
            _leave(value.data.env, f"{name}.{{}}", keys)
        elif found is not None:
            keys = frame.file.once(_changes, frame.file).get(name, ())
            later = found.source.stored_later() if isinstance(found.source, ClassInfo) else ()
            frame.update(value, _left(found, name, {*keys, *later}))


def _changes(file: File) -> dict[str, set[str]]:
    """What functions of a file change that isn't their own, with the attributes and the keys."""
    found: dict[str, set[str]] = {}
    for function in units(file.body):
        if isinstance(function, ir.Function):
            scan = file.scan(function)
            own = scan.assigned.keys() | {each.name for each in function.params}
            for name, key in scan.changes:
                if name not in own:
                    found.setdefault(name, set()).add(key)
    return found


def _left(found: Object, name: str, keys: Container[str]) -> Object:
    entries = dict(found.entries)
    _leave(entries, f"{name}.{{}}" if found.source is not None else f'{name}["{{}}"]', keys)
    inside = (*(found.items or ()), found.element)
    if ANY not in keys or all(each.kind in DEFINED for each in inside if each is not NOTHING):
        return replace(found, entries=entries)
    return replace(found, entries=entries, items=None, element=NOTHING)


def _leave(entries: dict[str, Value], name: str, keys: Container[str]) -> None:
    for key, value in entries.items():
        if (key in keys or ANY in keys) and value.kind not in DEFINED:
            path = name.format(key)
            is_device = value.kind in NAMED and value.device != UNKNOWN
            entries[key] = Value(Kind.DEVICE, Symbol(path, path)) if is_device else NOTHING
