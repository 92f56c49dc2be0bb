"""DEV206: a tensor on an accelerator is given to a library that computes on the host."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import HostRead
from devlint.model import ir
from devlint.model.reports import Report
from devlint.rules import rule
from devlint.rules._host import copied, is_told, remedy
from devlint.rules._meetings import confidence, place


@rule("accelerator-tensor-in-host-library", on=HostRead)
def accelerator_tensor_in_host_library(read: HostRead) -> Iterator[Report]:
    """Report the argument of a function of numpy, matplotlib, scikit-learn and their like."""
    reader = read.node.func if isinstance(read.node, ir.Call) else read.node.value
    if read.method != "__array__" or isinstance(reader, ir.Call) or not is_told(read):
        return
    given, function = read.receiver, f"`{ir.render(reader)}`"
    if isinstance(read.node, ir.Subscript):
        function = f"the array {function}"
    if read.container:
        message = f"`{given}` holds tensors {place(given)} but {function} needs them on cpu"
    else:
        message = f"`{given}` is {place(given)} but {function} needs it on cpu"
    yield Report(
        at=given.node,
        message=message,
        because=given.trace,
        fix=copied(read),
        help=remedy(read),
        confidence=confidence(given.device),
    )
