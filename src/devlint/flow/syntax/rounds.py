"""Loops of which one round tells all: the next one would meet nothing that the first has left."""

from __future__ import annotations

from devlint import ir
from devlint.flow.domain.state import State
from devlint.flow.syntax.walk import descendants

Loop = ir.For | ir.While


def only_binds(before: State, after: State) -> set[str] | None:
    """The names that a round has bound, where it has done nothing else; None where it has."""
    same = (
        all(after.env.get(name) == value for name, value in before.env.items())
        and all(
            before.heap.get(ref, after.heap.get(ref)) == after.heap.get(ref)
            for ref in after.heap.written
        )
        and before.known.items() <= after.known.items()
        and before.default == after.default
        and before.paths == after.paths
        and before.copies == after.copies
        and before.busy == after.busy
    )
    return set(after.env.keys() - before.env.keys()) if same else None


def carried(loop: Loop) -> frozenset[str]:
    """The names that a round may read before it binds them: what a round before has left there."""
    if isinstance(loop, ir.While):
        return frozenset(_names(loop.test) | _read(loop.body, set()))
    bound: set[str] = set()
    return frozenset(_bind(loop.target, bound) | _read(loop.body, bound))


def _read(body: ir.Body, bound: set[str]) -> set[str]:
    """The names that statements read, but for those that are bound for sure by then; adds those
    that they bind."""
    found: set[str] = set()
    for statement in body:
        match statement:
            case ir.Assign(targets=targets, value=value) if value is not None:
                found |= _names(value) - bound
                for target in targets:
                    found |= _bind(target, bound)
            case (
                ir.If(test=head, body=inner, orelse=orelse)
                | ir.While(test=head, body=inner, orelse=orelse)
            ):
                found |= _names(head) - bound
                found |= _read(inner, set(bound)) | _read(orelse, set(bound))
            case ir.For(target=target, iter=head, body=inner, orelse=orelse):
                found |= _names(head) - bound
                around = set(bound)
                found |= _bind(target, around) | _read(inner, around) | _read(orelse, set(bound))
            case ir.With(items=items, body=inner):
                for head, entered in items:
                    found |= _names(head) - bound
                    found |= set() if entered is None else _bind(entered, bound)
                found |= _read(inner, bound)
            case _:
                found |= _names(statement) - bound
    return found


def _bind(target: ir.Expr, bound: set[str]) -> set[str]:
    """Bind what is assigned to; the names that it reads (`x` of `x[i] = ...`)."""
    if isinstance(target, ir.Name):
        bound.add(target.id)
        return set()
    if isinstance(target, ir.Display):
        return {name for item in target.items for name in _bind(item, bound)}
    if isinstance(target, ir.Starred):
        return _bind(target.value, bound)
    return _names(target) - bound


def _names(node: ir.Node) -> set[str]:
    return {each.id for each in descendants(node) if isinstance(each, ir.Name)}
