"""DEV209: an argument that has to be on the CPU isn't."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import HostRead
from devlint.model import ir
from devlint.model.reports import Report
from devlint.rules import rule
from devlint.rules._host import copied, is_told, remedy
from devlint.rules._meetings import confidence, place

_METHODS = ("apply_", "map_")


@rule("cpu-only-argument", on=HostRead)
def cpu_only_argument(read: HostRead) -> Iterator[Report]:
    """Report lengths of sequences, states of generators and their like on an accelerator."""
    if read.method not in ("cpu-only", *_METHODS) or not isinstance(read.node, ir.Call):
        return
    if not is_told(read):
        return
    given, sure = read.receiver, confidence(read.receiver.device)
    where, function = place(given), ir.render(read.node.func)
    if read.method in _METHODS:
        message = f"`{given}` is {where} but `.{read.method}()` works on cpu only"
        help = "it runs a Python function for each number: write it with operators of tensors"
        yield Report(at=read.node, message=message, because=given.trace, help=help, confidence=sure)
        return
    yield Report(
        at=given.node,
        message=f"`{given}` is {where} but `{function}` takes it on cpu only",
        because=given.trace,
        fix=copied(read),
        help=remedy(read),
        confidence=sure,
    )
