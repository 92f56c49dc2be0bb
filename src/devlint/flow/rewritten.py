"""What the constructor put into an object may be gone: containers that its methods fill anew, and
tensors that functions take elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from devlint import ir
from devlint.flow.frame import ClassInfo, Frame
from devlint.flow.scan import descendants, self_attribute
from devlint.flow.values import Kind, Value


def forget_rewritten(
    info: ClassInfo, frame: Frame, this: Value, seen: Iterable[ir.Function]
) -> None:
    """Forget what containers of tensors held, where a method stores another one under that name.

    `seen` are the methods that have been run already, and whose containers are known.
    """
    found = frame.state.heap[this.data]
    skipped = {info.methods.get("__init__"), *seen}
    stored = {
        name
        for each in info.lineage()
        for method in each.methods.values()
        if method not in skipped
        for name in each.file.scan(method).self_stores & found.entries.keys()
        if _holds_tensors(frame, found.entries[name])
    }
    if stored:
        kept = {name: value for name, value in found.entries.items() if name not in stored}
        frame.state.heap[this.data] = replace(found, entries=kept)


def _holds_tensors(frame: Frame, value: Value) -> bool:
    found = frame.object(value) if value.kind.is_container else None
    return found is not None and found.elements().kind is Kind.TENSOR


def is_taken_along(info: ClassInfo, name: str) -> bool:
    """Whether a method stores what a function gives for the attribute itself, which may be a move:
    `self.mask = on_same_device(x, self.mask)`."""
    return any(
        _gives_back(node, name, method.params[0].name)
        for each in info.lineage()
        for method in each.methods.values()
        if method.params and name in each.file.scan(method).self_stores
        for statement in method.body
        for node in descendants(statement)
    )


def _gives_back(node: ir.Node, name: str, this: str) -> bool:
    match node:
        case ir.Assign(targets=targets, value=ir.Call(func=func, args=args)):
            stored = any(self_attribute(target, this) == name for target in targets)
            given = any(self_attribute(each.value, this) == name for each in args)
            return stored and given and not ir.render(func).startswith("torch.")
    return False
