"""The names that a file binds anywhere, whoever sees them."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.syntax.walk import names_in, nodes_of, statements_of, targets
from devlint.model import ir

_DYNAMIC = frozenset(("exec", "globals", "locals", "vars", "setattr", "builtins", "__builtins__"))
"""By these names something may be bound under a name that isn't spelled out."""


def bound_anywhere(body: ir.Body) -> frozenset[str] | None:
    """The names that a file binds, in whatever function or class, or to which it assigns in any
    other way; None where it may bind others: by `import *`, or by names that are made up."""
    found: set[str] = set()
    for node in nodes_of(body):
        if isinstance(node, ir.Name) and node.id in _DYNAMIC:
            return None
        for name in _bound(node):
            if name == "*":
                return None
            found.add(name)
    return frozenset(found)


def rebound_in(body: ir.Body) -> frozenset[str]:
    """The names that functions in a body bind of what is around them: `global` and `nonlocal`."""
    scopes = (each for each in statements_of(body) if isinstance(each, ir.Scope))
    return frozenset(name for scope in scopes for name in scope.names)


def _bound(node: ir.Node) -> Iterator[str]:
    match node:
        case ir.Function(name=name, type_params=others) | ir.Class(name=name, type_params=others):
            yield from (name, *others)
        case ir.Parameter(name=name):
            yield name
        case ir.Scope(names=names):
            yield from names
        case ir.Handler(name=str(name)):
            yield name
        case ir.Import(names=names) | ir.ImportFrom(names=names):
            for alias in names:
                yield alias.asname or alias.name.partition(".")[0]
        case ir.Clause(target=target) | ir.Walrus(target=target):
            yield from names_in(target)
        case ir.Case(binds=binds):
            yield from binds
        case ir.Delete(targets=several):
            for each in several:
                yield from names_in(each)
        case _:
            for each in targets(node):
                yield from names_in(each)
