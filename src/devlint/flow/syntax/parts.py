"""Parts of functions: what a file calls in one place, and names nowhere else.

Whether such a function stands there or its statements do says nothing of the program, so what one
look over it finds belongs to the function that calls it as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import copy

from devlint.flow.syntax.seen import Scan
from devlint.flow.syntax.walk import (
    by_parameter,
    descendants,
    first_parameter,
    nodes_of,
    self_attribute,
    units,
)
from devlint.model import ir
from devlint.model.trees import last_name

_OF_NAMES = (
    "tensors", "used", "modules", "passed", "sliced", "data", "columns", "moved", "called",
)  # fmt: skip
_OF_SELF = (
    "self_stores", "self_items", "self_fills", "self_moves", "self_calls", "applied", "wrapped",
)  # fmt: skip
_OF_ALL = ("answers", "makes", "reads_back", "draws", "hands_out", "registers", "dynamic")


def is_private(name: str) -> bool:
    """Whether a function is meant for its own file (`_shift`); `__call__` is Python's."""
    return name.startswith("_") and not name.endswith("__")


def parts(body: ir.Body) -> Iterator[ir.Function]:
    """The private functions and methods of a file that are called in one place, with arguments that
    are all in sight, and named nowhere else."""
    functions = [each for each in units(body) if isinstance(each, ir.Function)]
    defined = [each for each in functions if is_private(each.name)]
    many = Counter(each.name for each in defined)
    if not many:
        return
    named, called = Counter[str](), Counter[str]()
    for node in nodes_of(body):
        if isinstance(node, (ir.Name, ir.Attribute)):
            if (name := last_name(node)) in many:
                named[name] += 1
        elif isinstance(node, ir.Call) and (name := last_name(node.func)) in many:
            called[name] += not any(each.star for each in node.args)
    for each in defined:
        once = many[each.name] == named[each.name] == called[each.name] == 1
        if once and not each.decorators and not each.is_async:
            yield each


def with_parts(
    found: Scan,
    function: ir.Function,
    parts: Mapping[str, ir.Function],
    scan: Callable[[ir.Function], Scan],
) -> Scan:
    """What is found in a function and in its parts, in the names of the function."""
    if parts.keys().isdisjoint(found.called | found.self_calls):
        return found
    this = first_parameter(function)
    for call in (each for each in descendants(function) if isinstance(each, ir.Call)):
        part = parts.get(last_name(call.func))
        if part is None or part is function:
            continue
        of_self = bool(self_attribute(call.func, this))
        if not of_self and not isinstance(call.func, ir.Name):
            continue
        inner, taken = scan(part), by_parameter(part.params[of_self:], call.args)
        names = {name: a.value.id for name, a in taken if isinstance(a.value, ir.Name)}
        found = copy(found)
        for field in _OF_NAMES:
            here = {names[name] for name in getattr(inner, field) if name in names}
            setattr(found, field, getattr(found, field) | here)
        own = {parameter.name for parameter in part.params}
        found.called = found.called | (inner.called - own)
        found.given = found.given | (inner.given - own)
        for field in (*_OF_SELF, *_OF_ALL) if of_self else ():
            setattr(found, field, getattr(found, field) | getattr(inner, field))
    return found
