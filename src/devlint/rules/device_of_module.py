"""DEV303: a plain module, or what is no tensor at all, is asked for its device."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import AttributeRead, Kind
from devlint.model.findings import Safety
from devlint.model.reports import Change, Hop, Report, insert_after, insert_before
from devlint.rules import rule

_OF_TENSORS = frozenset({"device", "is_cuda", "get_device"})
_PLAIN = {Kind.NUMBER: "a number", Kind.STRING: "a string", Kind.BOOL: "a truth value"}


@rule("device-of-module", on=AttributeRead)
def device_of_module(read: AttributeRead) -> Iterator[Report]:
    module = read.receiver
    if module.kind in _PLAIN and not read.defined:
        yield from _of_plain(read, _PLAIN[module.kind])
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


def _of_plain(read: AttributeRead, what: str) -> Iterator[Report]:
    receiver, call = read.receiver, read.call
    there = "" if call is None else " here"
    led = () if call is None else (Hop(call, f"`{receiver}` is {what} in this call"),)
    yield Report(
        at=read.node,
        message=f"`{receiver}` is {what}{there}, which has no `.{read.attr}`",
        because=(*receiver.trace, *led),
        help="read it from a tensor, or from a parameter of the model",
    )
