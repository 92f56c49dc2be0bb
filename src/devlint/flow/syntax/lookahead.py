"""Which statements of a file have to do with which of its names, without running any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from devlint.flow.syntax.walk import descendants
from devlint.model import ir

_LONG = 24
"""Names in a statement."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The top level of a file.

    `binds` are the names that it binds; `bound` those that each statement binds, `names` those
    that it binds or reads, where functions and classes read none; `mentions` the places of the
    statements, by name.
    """

    body: ir.Body
    binds: frozenset[str]
    bound: tuple[frozenset[str], ...]
    names: tuple[frozenset[str], ...]
    mentions: dict[str, tuple[int, ...]]

    def is_table(self, place: int) -> bool:
        """Whether a statement binds a long list or dict: to look up all that its names stand for
        would lead through the whole project."""
        statement = self.body[place]
        long = isinstance(statement, ir.Assign) and len(self.names[place]) > _LONG
        return long and any(isinstance(n, (ir.Display, ir.Mapping)) for n in descendants(statement))


def outline(module: ir.Module) -> Outline:
    """Look over a file. What runs only where it is the main program is left out."""
    bound: list[frozenset[str]] = []
    names: list[frozenset[str]] = []
    mentions: dict[str, tuple[int, ...]] = {}
    for place, statement in enumerate(module.body):
        is_run = not (isinstance(statement, ir.If) and _is_main(statement.test))
        binds = frozenset(_bound(statement) if is_run else ())
        found = binds | _read(statement) if is_run else binds
        bound.append(binds)
        names.append(found)
        for name in found:
            mentions[name] = (*mentions.get(name, ()), place)
    return Outline(
        module.body, frozenset().union(*bound), tuple(bound), tuple(names), mentions
    )  # fmt: skip


def _is_main(test: ir.Expr) -> bool:
    """`__name__ == "__main__"`"""
    return any(isinstance(node, ir.Name) and node.id == "__name__" for node in descendants(test))


def _bound(statement: ir.Stmt) -> Iterator[str]:
    """The names that a statement binds, those in its blocks included."""
    match statement:
        case ir.Function(name=name) | ir.Class(name=name):
            yield name
        case ir.Import(names=names):
            for alias in names:
                yield alias.asname or alias.name.partition(".")[0]
        case ir.ImportFrom(names=names):
            for alias in names:
                yield alias.asname or alias.name  # `*` too: it stands for what isn't seen
        case ir.Assign(targets=targets):
            for target in targets:
                yield from _targets(target)
        case ir.Augment(target=target):
            yield from _targets(target)
        case ir.For(target=target):
            yield from _targets(target)
        case ir.With(items=items):
            for _, entered in items:
                if entered is not None:
                    yield from _targets(entered)
        case _:
            pass
    for block in _blocks(statement):
        for inner in block:
            yield from _bound(inner)


def _blocks(statement: ir.Stmt) -> Iterator[ir.Body]:
    match statement:
        case ir.If() | ir.While() | ir.For():
            yield from (statement.body, statement.orelse)
        case ir.With():
            yield statement.body
        case ir.Try():
            yield from (statement.body, statement.orelse, statement.final)
            yield from (handler.body for handler in statement.handlers)
        case ir.Match():
            yield from (case.body for case in statement.cases)


def _targets(node: ir.Expr) -> Iterator[str]:
    """Names in what is assigned to; also the `x` of `x.a = ...`, which changes what `x` is."""
    return (each.id for each in descendants(node) if isinstance(each, ir.Name))


def _read(statement: ir.Stmt) -> set[str]:
    if isinstance(statement, (ir.Function, ir.Class, ir.Import, ir.ImportFrom)):
        return set()
    return {node.id for node in descendants(statement) if isinstance(node, ir.Name)}
