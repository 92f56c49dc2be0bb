"""Attributes that a constructor stores only where CUDA is there, or isn't, and needs anyway."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.bodies.classes import is_closed
from devlint.flow.conditions.implications import key_of
from devlint.flow.domain.keys import CUDA_AVAILABLE
from devlint.flow.facts import HalfStored
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import (
    descendants,
    first_parameter,
    mentions,
    nodes_of,
    self_attribute,
    targets,
)
from devlint.model import ir
from devlint.model.reports import Hop
from devlint.model.trees import last_name
from devlint.policy import means

_LEAVES = ("exit", "_exit", "abort", "skip", "skipTest", "fail")
_Way = tuple[Hop, ...]


def tell(info: ClassInfo, made: Frame) -> None:
    """Record the first read of each attribute that a new object lacks, with CUDA or without.
    `made` is how its constructor ends."""
    init = info.methods.get("__init__")
    if init is None or not made.notes or made.state.known.get(CUDA_AVAILABLE):
        return
    if not _is_seen(info) or info.intercepts() or info.method("__getattribute__"):
        return
    this = first_parameter(init)
    for place, statement in enumerate(init.body):
        if not isinstance(statement, ir.If):
            continue
        key = key_of(made, statement.test)
        if key is None or key[0] != CUDA_AVAILABLE:
            continue
        first: dict[str, tuple[ir.Attribute, _Way]] = {}
        for read, way in _reads(info, info, init.body[place + 1 :], this, (), {init}):
            first.setdefault(read.attr, (read, way))
        arms = statement.body, statement.orelse
        for arm, other, with_cuda in ((*arms, key[1]), (*arms[::-1], not key[1])):
            for stored in () if any(map(_may_leave, other)) else arm:
                for name in [self_attribute(target, this) for target in targets(stored)]:
                    if name in first and _is_nowhere_else(info, name, this, arm):
                        read, way = first[name]
                        context = made.context()
                        made.record(
                            HalfStored(read, context, info.node.name, stored, with_cuda, way)
                        )


def _is_nowhere_else(info: ClassInfo, name: str, this: str, arm: ir.Body) -> bool:
    """Whether nothing in the files of a class and its bases stores an attribute, or spells its name
    as a text, but one branch."""
    if any(name in each.env or name in each.methods for each in info.lineage()):
        return False
    inside = set(nodes_of(arm))
    for file in {each.file.path: each.file for each in info.lineage()}.values():
        for node in nodes_of(file.body):
            match node:
                case ir.Name(id="setattr"):
                    return False
                case ir.Constant(value=value) if value == name and node not in inside:
                    return False
                case ir.Attribute(attr="__dict__") | ir.Call(func=ir.Name(id="vars")):
                    if mentions(node, this):
                        return False
            stores = (each for target in targets(node) for each in descendants(target))
            if any(isinstance(each, ir.Attribute) and each.attr == name for each in stores):
                if node not in inside:
                    return False
    return True


def _is_seen(info: ClassInfo) -> bool:
    """Whether all bases of a class are in sight, and none is for others to complete."""
    bases = [base for each in info.lineage() for base in each.bases]
    seen = all(isinstance(base, ClassInfo) or is_closed(base) for base in bases)
    return seen and not any(means("mixin", each.node.name, "class") for each in info.lineage())


# --- what runs in any case -----------------------------------------------------------------------


def _reads(
    info: ClassInfo, around: ClassInfo, body: ir.Body, this: str, way: _Way, seen: set[ir.Function]
) -> Iterator[tuple[ir.Attribute, _Way]]:
    """The attributes of an object that statements read whatever holds, and the methods that they
    call so, where these are of its own file; with the calls that lead there. `around` is the class
    in which the statements stand."""
    written = {each for node in nodes_of(body) for each in targets(node)}
    for node in _always(body):
        if isinstance(node, ir.Call) and (name := self_attribute(node.func, this)):
            found = info.method(name)
            if found is not None and found[1] not in seen and not found[1].decorators:
                source, method = found
                seen.add(method)
                led = (*way, Hop(node, f"`{name}` is called here"))
                inside = first_parameter(method)
                yield from _reads(info, source, method.body, inside, led, seen)
        elif isinstance(node, ir.Attribute) and self_attribute(node, this):
            if node not in written and around.file is info.file:
                yield node, way


def _always(body: ir.Body) -> Iterator[ir.Node]:
    """What is evaluated each time that statements run, up to the first that may end them."""
    for statement in body:
        match statement:
            case ir.If(test=test):
                yield from _parts(test)
            case ir.For(iter=given, body=inner):
                yield from _parts(given)
                yield from _always(inner)
            case ir.With(items=items, body=inner):
                for entered, _ in items:
                    yield from _parts(entered)
                yield from _always(inner)
            case ir.Evaluate() | ir.Assign() | ir.Augment() | ir.Return():
                yield from _parts(statement)
        if _may_leave(statement):
            return


_SOMETIMES = (ir.Conditional, ir.Boolean, ir.Lambda, ir.Comprehension)


def _parts(node: ir.Node) -> Iterator[ir.Node]:
    """The nodes of an expression that are evaluated whenever it is."""
    sometimes = {
        inner for each in descendants(node) if isinstance(each, _SOMETIMES)
        for inner in descendants(each)
    }  # fmt: skip
    return (each for each in descendants(node) if each not in sometimes)


def _may_leave(statement: ir.Stmt) -> bool:
    """Whether what stands below a statement may not be reached, or hangs on what it asserts."""
    for node in descendants(statement):
        match node:
            case ir.Return() | ir.Raise() | ir.Assert() | ir.Break() | ir.Continue():
                return True
            case ir.Call(func=func) if last_name(func) in _LEAVES:
                return True
    return False
