"""What a file imports, as far as its own text says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from devlint.flow.syntax.walk import inner_blocks
from devlint.model import ir


def imported(module: ir.Module) -> dict[str, str]:
    """What the names stand for that a file's imports bind, wherever they stand: at its top level,
    or else in functions, where all of these mean the same."""
    found: dict[str, str] = {}
    inside: dict[str, set[str]] = {}
    for statement, is_inside in _imports(module.body):
        for name, whole in _bound(statement):
            if is_inside:
                inside.setdefault(name, set()).add(whole)
            else:
                found[name] = whole
    alike = {name: wholes.pop() for name, wholes in inside.items() if len(wholes) == 1}
    return {**alike, **found}


def _bound(statement: ir.Stmt) -> Iterator[tuple[str, str]]:
    match statement:
        case ir.Import(names=names):
            for alias in names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or whole, whole
        case ir.ImportFrom(module=module, names=names, level=0):
            for alias in names:
                yield alias.asname or alias.name, f"{module}.{alias.name}"


def brought(statement: ir.Node) -> Iterator[str]:
    """The dotted names of what an import brings; a relative one, which is no library, with dots at
    its front."""
    match statement:
        case ir.Import(names=names):
            yield from (alias.name for alias in names)
        case ir.ImportFrom(module=module, names=names, level=level):
            yield from (f"{'.' * level}{module}.{alias.name}" for alias in names)


def spelled(node: ir.Expr, whole: Callable[[str], str | None]) -> str:
    """The dotted name of an expression, by what the name at its front stands for; "" where that is
    nothing of a library."""
    if isinstance(node, ir.Name):
        return whole(node.id) or ""
    if isinstance(node, ir.Attribute):
        base = spelled(node.value, whole)
        return f"{base}.{node.attr}" if base else ""
    return ""


def _imports(body: ir.Body, is_inside: bool = False) -> Iterator[tuple[ir.Stmt, bool]]:
    """The imports of a file, each with whether it stands in a function."""
    for statement in body:
        if isinstance(statement, (ir.Import, ir.ImportFrom)):
            yield statement, is_inside
        elif isinstance(statement, (ir.Function, ir.Class)):
            yield from _imports(statement.body, is_inside or isinstance(statement, ir.Function))
        else:
            for block, _ in inner_blocks(statement):
                yield from _imports(block, is_inside)
