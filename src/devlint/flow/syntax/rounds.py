"""Loops of which one round tells all: the next one would meet nothing that the first has left."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from devlint.flow.domain.state import State
from devlint.flow.syntax.walk import descendants, names_in, single_targets
from devlint.model import ir

Loop = ir.For | ir.While


@dataclass(frozen=True, slots=True)
class Reads:
    """What a loop reads of what a round before has left."""

    names: frozenset[str]
    """The names that it may read before it binds them, but for those that it fills."""
    filled: frozenset[str]
    """The names that it only fills: `rows.append(x)`, `table[i] = x`."""


def tells_all(reads: Reads, before: State, after: State) -> bool:
    """Whether the first round has left nothing that another one would read."""
    same = before.known.literals() <= after.known.literals() and before.besides == after.besides
    if not same or any(after.env.get(name) != before.env.get(name) for name in reads.names):
        return False
    changed = {
        ref
        for ref in after.heap.written
        if ref in before.heap and before.heap[ref] != after.heap[ref]
    }
    filled = {before.env[name].data for name in reads.filled if name in before.env}
    return changed <= filled and not any(
        before.env[name].data in changed for name in reads.names if name in before.env
    )


def reads(loop: Loop) -> Reads:
    """What a loop reads before it has bound it itself."""
    if isinstance(loop, ir.While):
        names = set(names_in(loop.test)) | _read(loop.body, set())
    else:
        bound: set[str] = set()
        names = _bind(loop.target, bound) | _read(loop.body, bound)
    filled = _filled(loop)
    return Reads(frozenset(names - filled), frozenset(names & filled))


def _filled(loop: Loop) -> set[str]:
    """The names that stand nowhere but where something is put into what they stand for."""
    filling: Counter[str] = Counter()
    for node in descendants(loop):
        match node:
            case ir.Evaluate(
                value=ir.Call(func=ir.Attribute(value=ir.Name(id=name), attr="append" | "add"))
            ):
                filling[name] += 1
            case ir.Assign(targets=(ir.Subscript(value=ir.Name(id=name)),)):
                filling[name] += 1
    if not filling:
        return set()
    standing = Counter(names_in(loop))
    return {name for name, times in filling.items() if standing[name] == times}


def _read(body: ir.Body, bound: set[str]) -> set[str]:
    """The names that statements read, but for those that are bound for sure by then; adds those
    that they bind."""
    found: set[str] = set()
    for statement in body:
        match statement:
            case ir.Assign(targets=targets, value=value) if value is not None:
                found |= set(names_in(value)) - bound
                for target in targets:
                    found |= _bind(target, bound)
            case (
                ir.If(test=head, body=inner, orelse=orelse)
                | ir.While(test=head, body=inner, orelse=orelse)
            ):
                found |= set(names_in(head)) - bound
                found |= _read(inner, set(bound)) | _read(orelse, set(bound))
            case ir.For(target=target, iter=head, body=inner, orelse=orelse):
                found |= set(names_in(head)) - bound
                around = set(bound)
                found |= _bind(target, around) | _read(inner, around) | _read(orelse, set(bound))
            case ir.With(items=items, body=inner):
                for head, entered in items:
                    found |= set(names_in(head)) - bound
                    found |= set() if entered is None else _bind(entered, bound)
                found |= _read(inner, bound)
            case _:
                found |= set(names_in(statement)) - bound
    return found


def _bind(target: ir.Expr, bound: set[str]) -> set[str]:
    """Bind what is assigned to; the names that it reads (`x` of `x[i] = ...`)."""
    read: set[str] = set()
    for each in single_targets(target):
        if isinstance(each, ir.Name):
            bound.add(each.id)
        else:
            read |= set(names_in(each)) - bound
    return read
