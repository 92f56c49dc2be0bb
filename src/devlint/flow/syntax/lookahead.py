"""Which statements of a file have to do with which of its names, without running any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from devlint.flow.syntax.walk import (
    descendants,
    inner_statements,
    mentions,
    names_in,
    targets,
)
from devlint.model import ir

_LONG = 24
"""Names in a statement."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The top level of a file.

    `binds` are the names that it binds; `bound` those that each statement binds, `names` those
    that it binds or reads, where functions and classes read none but what their decorators change;
    `mentions` the places of the statements, by name.
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
    places: dict[str, tuple[int, ...]] = {}
    own: dict[str, ir.Stmt] = {}
    for place, statement in enumerate(module.body):
        is_run = not (isinstance(statement, ir.If) and mentions(statement.test, "__name__"))
        binds = frozenset(names_bound(statement) if is_run else ())
        found = binds.union(_read(statement, own)) if is_run else binds
        if not isinstance(statement, (ir.Import, ir.ImportFrom)):
            own.update(dict.fromkeys(binds, statement))
        bound.append(binds)
        names.append(found)
        for name in found:
            places[name] = (*places.get(name, ()), place)
    return Outline(module.body, frozenset().union(*bound), tuple(bound), tuple(names), places)


def names_bound(statement: ir.Stmt) -> Iterator[str]:
    """The names that a statement binds, those in its blocks included."""
    match statement:
        case ir.Function(name=name) | ir.Class(name=name):
            yield name
        case ir.Import(names=names) | ir.ImportFrom(names=names):
            for alias in names:  # `*` too: it stands for what isn't seen
                yield alias.asname or alias.name.partition(".")[0]
        case _:
            for target in targets(statement):
                yield from names_in(target)  # `x` of `x.a = ...`, too: that changes what `x` is
    for inner in inner_statements(statement):
        yield from names_bound(inner)


def _read(statement: ir.Stmt, own: dict[str, ir.Stmt]) -> Iterable[str]:
    """The names that a statement reads; of functions and classes those that decorators of the file
    itself have to do with, and what runs in the bases of a class when it is made: one may put it
    into a registry."""
    if isinstance(statement, (ir.Import, ir.ImportFrom)):
        return ()
    if not isinstance(statement, (ir.Function, ir.Class)):
        return names_in(statement)
    names = {name for each in statement.decorators for name in names_in(each) if name in own}
    functions = [own[name] for name in names if isinstance(own[name], ir.Function)]
    told = _told(statement, own) if isinstance(statement, ir.Class) else ()
    return names.union(*map(names_in, (*functions, *told)))


def _told(statement: ir.Class, own: dict[str, ir.Stmt]) -> Iterator[ir.Stmt]:
    """What runs in the bases of a class, as far as the file defines them, when it is made."""
    seen, waiting = {statement}, [statement]
    while waiting:
        for base in waiting.pop().bases:
            above = own.get(base.value.id) if isinstance(base.value, ir.Name) else None
            if isinstance(above, ir.Class) and above not in seen:  # `class Model(Model):`
                seen.add(above)
                waiting.append(above)
                for inner in above.body:
                    if isinstance(inner, ir.Function) and inner.name == "__init_subclass__":
                        yield inner
