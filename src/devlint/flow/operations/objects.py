"""What objects of the project hold and can do, by names that are known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from devlint.flow.domain.state import Object
from devlint.flow.domain.values import MOST_OPTIONS, NOTHING, Kind, OneOf, Value
from devlint.flow.frames.files import Bound, ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.model import ir


def dict_of(frame: Frame, node: ir.Expr, value: Value, names: Iterable[str] | None = None) -> Value:
    """What an object holds, under these names or all: `vars(batch)`, `batch.__dict__`."""
    found = frame.object(value)
    if found is None or value.kind is not Kind.INSTANCE:
        return NOTHING
    entries = {
        name: found.entries[name] for name in names or found.entries if name in found.entries
    }
    made = Object(items=() if entries else None, entries=entries)
    return Value(Kind.DICT, data=frame.allocate(node, made))


def write_back(frame: Frame, node: ir.Expr, held: Value) -> None:
    """Store in an object what a method of `batch.__dict__` or of `vars(batch)` has left there."""
    match node:
        case ir.Attribute(value=whole, attr="__dict__"):
            pass
        case ir.Call(func=ir.Name(id="vars"), args=(ir.Argument(value=whole),)):
            pass
        case _:
            return
    owner, left = frame.ask(whole), frame.object(held)
    found = frame.object(owner) if owner.kind is Kind.INSTANCE else None
    if found is not None and left is not None and left.entries != found.entries:
        known = left.items == () and left.entries
        entries = left.entries if known else dict.fromkeys(found.entries, NOTHING)
        frame.update(owner, replace(found, entries=entries))


def method_named(frame: Frame, node: ir.Expr, base: Value, name: str) -> Bound | None:
    """The method that an object of the project has by a name, which isn't that of a property."""
    info = frame.class_of(base) if base.kind in (Kind.MODULE, Kind.INSTANCE) else None
    closure = None if info is None else info.reached(name)
    if info is None or closure is None or any(name in c.properties for c in info.lineage()):
        return None
    return Bound(base, node, closure=closure)


def made_by_base(frame: Frame, node: ir.Call, base: Value, name: str) -> Value | None:
    """What a method of a base that isn't seen gives where it is called on a class of the project
    that is no module: most likely an object of that (`Pipeline.from_pretrained(path)`). None of
    other methods."""
    info = base.data
    if not isinstance(info, ClassInfo) or info.is_module or not info.is_open or info.method(name):
        return None
    return Value(Kind.INSTANCE, data=frame.allocate(node, Object(source=info)))


def of_each(frame: Frame, node: ir.Expr, base: Value, name: str) -> Value | None:
    """The method of one of several objects, where the class of each has it."""
    if not isinstance(base.data, frozenset):
        return None
    bound: list[Bound] = []
    for each in frame.each(base):
        method = method_named(frame, node, each, name)
        if method is None:
            return None
        bound.append(method)
    options = OneOf(tuple((each, ()) for each in bound))
    return Value(Kind.METHOD, data=options) if 1 < len(bound) <= MOST_OPTIONS else None
