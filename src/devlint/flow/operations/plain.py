"""Attributes about devices of what has none: numbers, strings and truth values of Python."""

from __future__ import annotations

from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Kind, Value
from devlint.flow.facts import AttributeRead
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import name_in
from devlint.flow.syntax.walk import descendants, mentions
from devlint.model import ir
from devlint.model.trees import called


def note(frame: Frame, node: ir.Attribute, base: Value) -> None:
    """Note that the device of a number or a string is read. Which of the two an argument is, a call
    tells; whoever asks what it got takes either."""
    function = frame.function
    if not frame.recording or frame.expecting or frame.world.trial is not None:
        return
    if not isinstance(function, ir.Function) or not isinstance(node.value, ir.Name):
        return
    name = node.value.id
    given = any(each.name == name for each in function.params)
    if given and (frame.caller is None or _may_change_arguments(frame, function)):
        return
    if frame.file.scan(function).assigned[name] != (not given):
        return  # it is bound more than once
    if not _is_plain(base) or _is_tested(function, name):
        return
    call = frame.site[-1] if given and frame.site else None
    operand = frame.operand(node.value, base)
    at = call if isinstance(call, ir.Call) else None
    frame.record(AttributeRead(node, frame.context(), operand, node.attr, defined=False, call=at))


def _is_plain(value: Value) -> bool:
    """Whether it is one of Python's own for sure: arrays and numbers of numpy have a device."""
    if value.kind is Kind.NUMBER and value.trait is Trait.PYTHON_NUMBER:
        return True
    plain = value.kind in (Kind.NUMBER, Kind.STRING, Kind.BOOL) and value.trait is None
    return plain and isinstance(value.data, (int, float, str))


def _may_change_arguments(frame: Frame, function: ir.Function) -> bool:
    """Whether a decorator that isn't Python's or torch's may give the function something else."""
    names = (name_in(frame.file, called(each)) for each in function.decorators)
    return not all(name.startswith(("builtins.", "torch.")) for name in names)


def _is_tested(function: ir.Function, name: str) -> bool:
    """Whether a condition of a function has to do with a name."""
    for node in descendants(function):
        match node:
            case ir.If(test=test) | ir.While(test=test) | ir.Conditional(test=test):
                tested: ir.Node = test
            case ir.Boolean() | ir.Assert() | ir.Match() | ir.Try():
                tested = node
            case _:
                continue
        if mentions(tested, name):
            return True
    return False
