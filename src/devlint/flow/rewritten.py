"""Containers of an object that its methods fill anew: what the constructor put in may be gone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from devlint import ir
from devlint.flow.frame import ClassInfo, Frame
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
