"""DEV309: `device` is called or assigned, or what moves or answers is named and not called."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import (
    AttributeRead,
    AttributeWrite,
    BareReference,
    Kind,
    UncalledQuestion,
)
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Anchor, Change, Report, Rewrite, insert_after, replace_tail
from devlint.rules import rule

_VALUES = {"device": "torch.device", "is_cuda": "bool"}
_METHODS = frozenset({"to", "cpu", "cuda", "xpu", "hpu", "mtia"})


@rule("called-device", on=AttributeRead)
def called_device(read: AttributeRead) -> Iterator[Report]:
    if not read.called or read.receiver.kind is not Kind.TENSOR or read.attr not in _VALUES:
        return
    tail = replace_tail(read.receiver.node, read.node, f".{read.attr}")
    bare = isinstance(read.node, ir.Call) and not read.node.args
    yield Report(
        at=read.node,
        message=f"`{read.receiver}.{read.attr}` is a {_VALUES[read.attr]}, not a method",
        because=read.receiver.trace,
        fix=Change("Drop the parentheses", (tail,), Safety.SAFE) if bare else None,
        help=f"read `{read.receiver}.{read.attr}`; `{read.receiver}.to(...)` moves",
    )


@rule("called-device", on=AttributeWrite)
def device_assigned(write: AttributeWrite) -> Iterator[Report]:
    receiver = write.receiver
    if receiver.kind is not Kind.TENSOR or write.attr not in _VALUES:
        return
    fix = None
    if write.attr == "device" and isinstance(receiver.node, ir.Name):
        start = Anchor(receiver.node, "end")
        call = Rewrite(start, Anchor(write.value.node, "start"), f" = {receiver.node.id}.to(")
        rewrites = (call, insert_after(write.value.node, ")"))
        fix = Change("Move the tensor", rewrites, Safety.UNSAFE)
    yield Report(
        at=write.node,
        message=f"`{receiver}.{write.attr}` can't be assigned: a tensor is moved by `.to()`",
        because=receiver.trace,
        fix=fix,
        help=f"`{receiver} = {receiver}.to(...)` makes a copy there",
    )


@rule("called-device", on=BareReference)
def move_not_called(reference: BareReference) -> Iterator[Report]:
    receiver, attr = reference.receiver, reference.attr
    if attr not in _METHODS or receiver.kind not in (Kind.TENSOR, Kind.MODULE, Kind.PLACED):
        return
    fix = None
    if receiver.kind is Kind.MODULE and attr != "to":
        fix = Change("Call it", (insert_after(reference.node, "()"),), Safety.UNSAFE)
    yield Report(
        at=reference.node,
        message=f"`{receiver}.{attr}` is named but not called, so nothing moves",
        because=receiver.trace,
        fix=fix,
        help=f"call it: `{receiver}.{attr}({'...' if attr == 'to' else ''})`",
    )


@rule("called-device", on=UncalledQuestion)
def question_not_called(question: UncalledQuestion) -> Iterator[Report]:
    name = ir.render(question.node)
    yield Report(
        at=question.node,
        message=f"`{name}` is named but not called, so it is always true",
        fix=Change("Call it", (insert_after(question.node, "()"),), Safety.UNSAFE),
        help=f"call it: `{name}()`",
    )
