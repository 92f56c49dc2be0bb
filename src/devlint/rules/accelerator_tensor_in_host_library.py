"""DEV206: a tensor on an accelerator is given to a library that computes on the host."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import HostRead
from devlint.model import ir
from devlint.model.reports import Report
from devlint.rules import rule
from devlint.rules._host import copied, each_copied, is_told, missing
from devlint.rules._meetings import confidence, followed_by, place


@rule("accelerator-tensor-in-host-library", on=HostRead)
def accelerator_tensor_in_host_library(read: HostRead) -> Iterator[Report]:
    """Report the argument of a function of numpy, matplotlib, scikit-learn and their like."""
    reader = read.node.func if isinstance(read.node, ir.Call) else read.node.value
    if read.method != "__array__" or isinstance(reader, ir.Call) or not is_told(read):
        return
    given, function = read.receiver, f"`{ir.render(reader)}`"
    if isinstance(read.node, ir.Subscript):
        function = f"the array {function}"
    where, calls = place(given), missing(read)
    if read.container:
        message = f"`{given}` holds tensors {where} but {function} needs them on cpu"
        help = f"copy them to the host first: `{each_copied(read)}`"
    else:
        message = f"`{given}` is {where} but {function} needs it on cpu"
        help = f"copy it to the host first: `{followed_by(given, calls)}`"
    yield Report(
        at=given.node,
        message=message,
        because=given.trace,
        fix=copied(read),
        help=help,
        confidence=confidence(given.device),
    )
