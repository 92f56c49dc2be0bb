"""What a file imports, as far as its own text says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from devlint.model import ir


def imported(module: ir.Module) -> dict[str, str]:
    """What the names stand for that a file's imports bind, wherever they stand at its top level."""
    found: dict[str, str] = {}
    for statement in _top_level(module.body):
        if isinstance(statement, ir.Import):
            for alias in statement.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                found[alias.asname or whole] = whole
        elif isinstance(statement, ir.ImportFrom) and statement.level == 0:
            for alias in statement.names:
                found[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
    return found


def spelled(node: ir.Expr, names: Mapping[str, str]) -> str:
    """The dotted name of an expression, by what a file has imported; "" where none brings it."""
    if isinstance(node, ir.Name):
        return names.get(node.id, "")
    if isinstance(node, ir.Attribute):
        base = spelled(node.value, names)
        return f"{base}.{node.attr}" if base else ""
    return ""


def _top_level(body: ir.Body) -> Iterator[ir.Stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, (ir.If, ir.Try)):
            yield from _top_level(statement.body)
