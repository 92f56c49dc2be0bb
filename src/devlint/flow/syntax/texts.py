"""Which parts of what a function returns are text or lists, as far as its own words tell.

What a data set gives as text a loader yields as a list of strings: no tensor, and nothing to move.
What a `collate_fn` leaves in lists is no tensor, either: its items may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from devlint.flow.syntax.walk import mentions, nodes_of, self_attribute, targets
from devlint.model import ir
from devlint.model.trees import dotted_name

_OF_TEXT = frozenset("lower upper strip lstrip rstrip title capitalize".split())
"""Methods that texts alone have, and that give text."""
_GIVE_TEXT = _OF_TEXT | {"format", "join", "readline", "read_text"}
_TEXT_FUNCTIONS = frozenset(
    ("str", "repr", "re.sub", "os.path.basename", "os.path.abspath", "os.path.dirname")
)
_MOST_STEPS = 20
WHOLE = ""
"""Stands for what is returned, where that is one text."""


def text_parts(function: ir.Function) -> frozenset[str]:
    """The positions and keys of what is text in all that a function returns."""
    return _of_all(_parts, function)


EACH = "*"
"""Stands for all parts of what is returned."""


def list_parts(function: ir.Function) -> frozenset[str]:
    """The positions and keys of what is a list or a tuple in all that a function returns; `EACH`
    where that is made by `zip`: `tuple(zip(*rows))`."""
    return _of_all(_lists, function)


def _of_all(tell: Callable[[Any, ir.Expr], Iterator[str]], function: ir.Function) -> frozenset[str]:
    """What is told alike of all that a function returns."""
    returned = [n.value for n in _statements(function) if isinstance(n, ir.Return) and n.value]
    told = [frozenset(tell(function, value)) for value in returned]
    return frozenset.intersection(*told) if told else frozenset()


def _lists(function: ir.Function, node: ir.Expr) -> Iterator[str]:
    if _is_zip(node):
        yield EACH
    named = _named(node) or ()
    columns = _columns(function)
    for name, item in named:
        match item:
            case ir.Display() | ir.Comprehension(kind="list"):
                yield name
            case ir.Call(func=ir.Name(id="list" | "tuple")):
                yield name
            case ir.Name(id=column) if column in columns:
                yield name


def _is_zip(node: ir.Expr) -> bool:
    """`zip(*rows)`, and a list or a tuple of that."""
    match node:
        case ir.Call(func=ir.Name(id="list" | "tuple"), args=(argument,)):
            return _is_zip(argument.value)
        case ir.Call(func=ir.Name(id="zip"), args=(argument,)):
            return argument.star == "*"
    return False


def _columns(function: ir.Function) -> set[str]:
    """The names that are bound once, in `a, b = zip(*rows)`."""
    bound, columns = list[str](), set[str]()
    for node in _statements(function):
        if isinstance(node, ir.Assign):
            for each in node.targets:
                names = each.items if isinstance(each, ir.Display) else (each,)
                own = [name.id for name in names if isinstance(name, ir.Name)]
                bound += own
                if isinstance(each, ir.Display) and node.value is not None and _is_zip(node.value):
                    columns.update(own)
    return {name for name in columns if bound.count(name) == 1}


def _statements(function: ir.Function) -> Iterator[ir.Node]:
    """The nodes of a function's own body."""
    return nodes_of(s for s in function.body if not isinstance(s, (ir.Function, ir.Class)))


def _parts(function: ir.Function, node: ir.Expr) -> Iterator[str]:
    named = _named(node)
    for name, item in [(WHOLE, node)] if named is None else named:
        if _is_text(function, item, _MOST_STEPS):
            yield name


def _named(node: ir.Expr) -> list[tuple[str, ir.Expr]] | None:
    """What a sequence or a dict is made of, by positions and keys; None of anything else."""
    match node:
        case ir.Display(items=items):
            return [(str(position), item) for position, item in enumerate(items)]
        case ir.Mapping(items=entries):
            return [(str(k.value), item) for k, item in entries if isinstance(k, ir.Constant)]
    return None


def _is_text(function: ir.Function, node: ir.Expr, steps: int) -> bool:
    match node:
        case ir.Text() | ir.Constant(value=str()):
            return True
        case ir.Call(func=ir.Attribute(attr=attr)) if attr in _GIVE_TEXT:
            return True
        case ir.Call(func=func):
            return dotted_name(func) in _TEXT_FUNCTIONS
        case ir.Binary(op="+", left=left, right=right) if steps > 0:
            return _is_text(function, left, steps - 1) or _is_text(function, right, steps - 1)
        case ir.Binary(op="%", left=left) if steps > 0:
            return _is_text(function, left, steps - 1)
        case ir.Subscript(value=value, index=ir.Slice()) if steps > 0:
            return _is_text(function, value, steps - 1)
        case ir.Name(id=name) if steps > 0:
            bound = _bound(function, name)
            texts = [each for each in bound if _is_text(function, each, steps - 5)]
            if texts and _is_asked_as_text(function, name):  # what was read from somewhere is, too
                bound = [each for each in bound if isinstance(each, ir.Call)]
            return bool(texts) and all(each in texts for each in bound)
    return False


def _is_asked_as_text(function: ir.Function, name: str) -> bool:
    """Whether a name has a method called that texts alone have."""
    return any(self_attribute(node, name) in _OF_TEXT for node in _statements(function))


def _bound(function: ir.Function, name: str) -> list[ir.Expr]:
    """All that a name is bound to; nothing where that can't be told."""
    found: list[ir.Expr] = []
    for node in _statements(function):
        match node:
            case ir.Assign(targets=(ir.Name(id=bound),), value=value) if bound == name and value:
                found.append(value)
            case _ if any(mentions(target, name) for target in targets(node)):
                return []
    return found
