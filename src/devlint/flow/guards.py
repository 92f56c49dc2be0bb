"""Guards that stand around a whole function, class or file: decorators and pytest's marks."""

from __future__ import annotations

import re

from devlint import ir
from devlint.flow.facts import Guard
from devlint.flow.frame import Frame
from devlint.flow.values import Condition, Value

_NEEDS_ACCELERATOR = re.compile(r"cuda|gpu|accelerator|xpu|device", re.IGNORECASE)


def guard_of(outer: Guard, decorators: tuple[ir.Expr, ...], frame: Frame) -> Guard:
    """The guard of what these decorators stand on."""
    if outer is not Guard.NONE:
        return outer
    if any(needs_accelerator(frame, decorator) for decorator in decorators):
        return Guard.CHOSEN
    return outer


def needs_accelerator(frame: Frame, node: ir.Expr) -> bool:
    """Whether a decorator or a mark has to do with accelerators, by its words or the name under
    which its arguments were stored."""
    if _NEEDS_ACCELERATOR.search(ir.render(node, 300)):
        return True
    arguments = node.args if isinstance(node, ir.Call) else ()
    return any(_is_condition(frame, argument.value) for argument in arguments)


def _is_condition(frame: Frame, node: ir.Expr) -> bool:
    value: Value | None = frame.look_up(node.id) if isinstance(node, ir.Name) else None
    return (
        value is not None
        and isinstance(value.data, Condition)
        and bool((*value.data.true, *value.data.false))
    )
