"""Which pieces of Python continue each other, by the names that one takes from another.

A page shows pieces of a program between its words. One that uses a name that it doesn't bind itself
goes on from the nearest one above that binds it; those that are linked so are one module. Pieces
with nothing between them are examples of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def chains(trees: Sequence[ast.Module]) -> list[list[int]]:
    """The numbers of the trees that make each module, in their order."""
    leaders = list(range(len(trees)))

    def leader(number: int) -> int:
        while leaders[number] != number:
            leaders[number] = leaders[leaders[number]]
            number = leaders[number]
        return number

    binders: dict[str, int] = {}
    for number, tree in enumerate(trees):
        names = _names(tree)
        for name in names.taken:
            if name in binders:
                leaders[leader(number)] = leader(binders[name])
        binders.update(dict.fromkeys(names.bound, number))
    found: dict[int, list[int]] = {}
    for number in range(len(trees)):
        found.setdefault(leader(number), []).append(number)
    return list(found.values())


@dataclass(slots=True)
class _Names:
    """The names that a module binds, and those that it takes from elsewhere."""

    bound: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    """What functions take, which run when all is bound."""

    def use(self, names: Iterable[str]) -> None:
        self.taken.update(name for name in names if name not in self.bound)


def _names(tree: ast.Module) -> _Names:
    names = _Names()
    pending: list[ast.AST] = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        header: list[ast.AST] = []
        inner: list[ast.AST] = []
        for child in ast.iter_child_nodes(node):
            is_block = isinstance(child, (ast.stmt, ast.excepthandler, _MATCH_CASE))
            (inner if is_block else header).append(child)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            used, bound = _of(inner)
            arguments = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
            names.later |= used - bound - arguments
            inner = []
        used, bound = _of(header)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            used.add(node.target.id)
        names.use(used)
        names.bound |= bound | set(_bound_by(node))
        if isinstance(node, ast.ClassDef):
            used, bound = _of(inner)
            names.later |= used - bound
            inner = []
        pending.extend(reversed(inner))
    names.use(names.later)
    return names


_MATCH_CASE = ast.match_case


def _of(nodes: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """The names that are read anywhere in nodes, and those that are bound there. What functions and
    comprehensions bind for themselves is neither."""
    used: set[str] = set()
    bound: set[str] = set()
    own: set[str] = set()
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                (used if isinstance(each.ctx, ast.Load) else bound).add(each.id)
            elif isinstance(each, _SCOPES):
                own.update(arg.arg for arg in ast.walk(each.args) if isinstance(arg, ast.arg))
            elif isinstance(each, _COMPREHENSIONS):
                for generator in each.generators:
                    targets = ast.walk(generator.target)
                    own.update(name.id for name in targets if isinstance(name, ast.Name))
            bound.update(_bound_by(each))
    return used - own, bound - own


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a node binds without an `ast.Name`."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name
