"""What makes batches and changes samples, by what is handed to a loader or put into a pipeline of
transforms: such code runs on the host, one sample after the other."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.trees import called, last_name, one_or_several
from devlint.policy import means


def of_samples(body: ir.Body) -> set[str]:
    """The last words of the functions and classes that make batches and change samples, by all that
    a file says."""
    return set[str]().union(*map(_of_scope, _scopes(body)))


def _of_scope(scope: ir.Body) -> set[str]:
    """The same of one scope, by its calls (`collate_fn=self.pad`, `Compose([Pad(8), flip])`,
    `Compose(Pad(8))`, `steps.append(Flip())`, `compose.transforms.append(Flip())`) and the lists
    that it binds."""
    found, composed = set[str](), set[str]()
    lists: dict[str, set[str]] = {}
    for node in nodes_of(scope):
        match node:
            case ir.Call(func=func, args=args):
                found.update(last_name(a.value) for a in args if a.keyword == "collate_fn")
                if means("composes", last_name(func), "function"):
                    found.update(*(_made(each.value) for each in args))
                    composed.update(last_name(each.value) for each in args[:1])
                elif isinstance(func, ir.Attribute) and func.attr in _ADDING and args:
                    to, made = func.value, _made(args[-1].value)
                    if isinstance(to, ir.Name):
                        lists.setdefault(to.id, set()).update(made)
                    elif isinstance(to, ir.Attribute) and to.attr == "transforms":
                        found |= made  # the list that `Compose` keeps
            case ir.Assign(targets=(ir.Name(id=name),), value=ir.Display() as value):
                lists.setdefault(name, set()).update(_made(value))
    return found.union(*(lists.get(name, ()) for name in composed)) - {""}


_ADDING = ("append", "extend", "insert")


def _made(node: ir.Expr) -> set[str]:
    """`Pad`, of `Pad(8)` and of `[t.Pad(8)]`; a function that is named itself, of `[pad]`."""
    return {last_name(called(each)) for each in one_or_several(node)}


def _scopes(body: ir.Body) -> Iterator[ir.Body]:
    """The statements of a file that define nothing, and the body of each function and method."""
    yield tuple(each for each in body if not isinstance(each, (ir.Function, ir.Class)))
    for each in body:
        if isinstance(each, ir.Class):
            yield from _scopes(each.body)
        elif isinstance(each, ir.Function):
            yield each.body
