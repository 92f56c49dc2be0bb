"""Methods that run while their module is made, before anybody can have moved it."""

from __future__ import annotations

from devlint.flow.calls.callers import is_asked_by_constructors
from devlint.flow.frames.files import OWN_MOVES, ClassInfo
from devlint.flow.frames.protocols import runs_again

_FOR_ALL = ("forward", "train", *OWN_MOVES)
"""Methods that other files and torch itself call."""


def run_while_made(info: ClassInfo) -> set[str]:
    """The methods of a module that its constructor or one of its bases' calls, and no others but
    these; and those that the file calls in other constructors only, of modules that have this one
    as a part. `reset_parameters` runs again, and so does what that calls."""
    if info.method("__init__") is None or not info.is_module:
        return set()
    callers: dict[str, set[str]] = {n: set() for n, m in info.methods.items() if not runs_again(m)}
    for each, method in info.all_methods():
        scan = each.file.scan(method)
        for called in callers.keys() & (scan.self_calls | scan.applied) - {method.name}:
            callers[called].add(method.name)
    early = {"__init__"}
    while more := {name for name, by in callers.items() if by and by <= early} - early:
        early |= more
    asked = (name for name, by in callers.items() if "__init__" not in by and name not in _FOR_ALL)
    return early | {name for name in asked if is_asked_by_constructors(info.file, name)}
