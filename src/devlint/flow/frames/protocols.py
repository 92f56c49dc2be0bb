"""Methods that Python and torch call by themselves: what iterating, indexing or asking an object
gives, and what runs again."""

from __future__ import annotations

from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.model import ir


def answer(frame: Frame, node: ir.Expr, value: Value, name: str, *given: Value) -> Value:
    """What a method of that name gives, of an object whose class is in sight."""
    info = frame.class_of(value)
    method = None if info is None else info.reached(name)
    if method is None:
        return NOTHING
    return frame.world.invoke(frame, node, method, [value, *given], {})


def stores_itself(frame: Frame, node: ir.Expr, value: Value, name: str, stored: Value) -> bool:
    """Whether the class of an object has a `__setattr__`, which runs then, unless it is running."""
    info = frame.class_of(value) if value.kind is Kind.INSTANCE else None
    method = None if info is None else info.method("__setattr__")
    if method is None or any(each.function is method[1] for each in frame.chain()):
        return False
    answer(frame, node, value, "__setattr__", Value(Kind.STRING, data=name), stored)
    return True


def in_body(info: ClassInfo, name: str) -> Value | None:
    """What the body of a class, or of a base in sight, binds to a name."""
    return next((each.env[name] for each in info.lineage() if name in each.env), None)


def defines(frame: Frame, value: Value | None, name: str) -> bool:
    """Whether something is an object whose class, which is in sight, has such a method."""
    info = None if value is None or value.kind is not Kind.INSTANCE else frame.class_of(value)
    return info is not None and info.reached(name) is not None


def sets_up_again(frame: Frame) -> bool:
    """Whether `reset_parameters` runs here, or what it calls: most modules are only made by it, few
    are moved and then set up again."""
    return frame.runs_in("reset_parameters")


def runs_again(method: ir.Function) -> bool:
    """Whether a method that the constructor of a module calls runs later, too: `reset_parameters`,
    where FSDP has taken the module off the meta device, and between the rounds of an experiment.
    They give it nothing: what takes values is for those who make the module."""
    return method.name == "reset_parameters" and len(method.params) == 1
