"""DEV303: a plain module is asked for its device."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import AttributeRead, Kind
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, insert_after, insert_before
from devlint.rules import rule

_OF_TENSORS = frozenset({"device", "is_cuda", "get_device"})


@rule("device-of-module", on=AttributeRead)
def device_of_module(read: AttributeRead) -> Iterator[Report]:
    module = read.receiver
    if module.kind is not Kind.MODULE or read.defined or read.attr not in _OF_TENSORS:
        return
    name = module.type_name or "nn.Module"
    message = f"`{module}` is a plain module ({name}), which has no `.{read.attr}`"
    if read.stateless:
        help = "it has no parameters and so no device: use the device of its input"
        yield Report(at=read.node, message=message, because=module.trace, help=help)
        return
    fix = Change(
        "Read it from the first parameter",
        (insert_before(module.node, "next("), insert_after(module.node, ".parameters())")),
        Safety.UNSAFE,  # one that turns out to have no parameters raises StopIteration
    )
    remedy = f"next({module}.parameters()).{read.attr}"
    yield Report(
        at=read.node,
        message=message,
        because=module.trace,
        fix=fix if not read.called or read.attr == "get_device" else None,
        help=f"read it from a parameter: `{remedy}{'()' if read.called else ''}`",
    )
