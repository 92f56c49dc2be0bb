"""What makes batches and changes samples, by what is handed to a loader or put into a pipeline of
transforms: such code runs on the host, one sample after the other."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.syntax.walk import descendants
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means


class Samples:
    """What the statements of one scope say of it."""

    __slots__ = ("_composed", "_found", "_lists")

    def __init__(self) -> None:
        self._found: set[str] = set()
        self._composed: set[str] = set()
        self._lists: dict[str, set[str]] = {}

    def see(self, node: ir.Node) -> None:
        """Look at a call (`collate_fn=self.pad`, `Compose([Pad(8), flip])`, `Compose(Pad(8))`,
        `steps.append(Flip())`, `compose.transforms.append(Flip())`) or at a list that is bound."""
        match node:
            case ir.Call(func=func, args=args):
                for argument in args:
                    if argument.keyword == "collate_fn":
                        self._found.add(last_name(argument.value))
                if means("composes", last_name(func), "function"):
                    for argument in args:
                        self._found |= _made(argument.value)
                    self._composed.update(last_name(each.value) for each in args[:1])
                elif isinstance(func, ir.Attribute) and func.attr in _ADDING and args:
                    self._add(func.value, args[-1].value)
            case ir.Assign(targets=(ir.Name() as target,), value=ir.Display() as value):
                self._add(target, value)

    def _add(self, target: ir.Expr, value: ir.Expr) -> None:
        if isinstance(target, ir.Name):
            self._lists.setdefault(target.id, set()).update(_made(value))
        elif isinstance(target, ir.Attribute) and target.attr == "transforms":
            self._found |= _made(value)  # the list that `Compose` keeps

    def names(self) -> set[str]:
        """The last words of the functions and classes that were seen."""
        parts = (self._lists.get(name, set()) for name in self._composed)
        return self._found.union(*parts) - {""}


_ADDING = ("append", "extend", "insert")


def _made(node: ir.Expr) -> set[str]:
    """`Pad`, of `Pad(8)` and of `[t.Pad(8)]`, and what it is given to choose from: `Either` and
    `Pad`, of `Either([Pad(8)])`; a function that is named itself, of `[pad]`."""
    match node:
        case ir.Display(items=items):
            return set[str]().union(*map(_made, items))
        case ir.Call(func=func, args=args):
            inside = (each.value for each in args if isinstance(each.value, (ir.Display, ir.Call)))
            return {last_name(func)}.union(*map(_made, inside))
    return {last_name(node)}


def of_samples(body: ir.Body) -> set[str]:
    """What makes batches and changes samples, by all that a file says."""
    found: set[str] = set()
    for scope in _scopes(body):
        samples = Samples()
        for statement in scope:
            for node in descendants(statement):
                samples.see(node)
        found |= samples.names()
    return found


def _scopes(body: ir.Body) -> Iterator[ir.Body]:
    """The statements of a file that define nothing, and the body of each function and method."""
    yield tuple(each for each in body if not isinstance(each, (ir.Function, ir.Class)))
    for each in body:
        if isinstance(each, ir.Class):
            yield from _scopes(each.body)
        elif isinstance(each, ir.Function):
            yield each.body
