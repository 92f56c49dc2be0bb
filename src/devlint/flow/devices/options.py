"""Calls that hand on the options of a command line, and leave out its device."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Ignored, IgnoredDevice
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import descendants, nodes_of
from devlint.model import ir
from devlint.model.reports import Hop

_ENOUGH = 2
"""How many options a call hands on by their own names, so that the device belongs there too."""


def note_call(frame: Frame, node: ir.Call, taken: ir.Parameter, callee: str) -> None:
    """Look at a call that leaves its parameter for a device to the default, which is a string: is
    there an option for it, of which the others stand in the call?"""
    default = taken.default
    if not isinstance(default, ir.Constant) or not isinstance(default.value, str):
        return
    if any(a.star or mentions_device(a.value) for a in node.args):
        return
    handed = [name for name in map(_handed_on, node.args) if name]
    if len(handed) < _ENOUGH or len(set(handed)) != 1:
        return
    declared = next(_declared(frame, f"--{taken.name}"), None)
    if declared is None:
        return
    hop = Hop(declared, f"the option `--{taken.name}` is declared here")
    frame.record(
        IgnoredDevice(node, frame.context(), taken.name, handed[0], Ignored.OPTION, (hop,), callee)
    )


def mentions_device(node: ir.Expr) -> bool:
    """Whether an argument has to do with a device: it may be there already."""
    return any(
        "device" in (each.attr if isinstance(each, ir.Attribute) else each.id)
        for each in descendants(node)
        if isinstance(each, (ir.Attribute, ir.Name))
    )


def _handed_on(argument: ir.Argument) -> str:
    """`options` of `batch_size=options.batch_size`, else ""."""
    match argument.value:
        case ir.Attribute(value=ir.Name(id=name), attr=attr) if attr == argument.keyword:
            return name
    return ""


def _declared(frame: Frame, option: str) -> Iterator[ir.Call]:
    """Where the file declares an option."""
    for node in nodes_of(frame.file.body):
        match node:
            case ir.Call(
                func=ir.Attribute(attr="add_argument"),
                args=(ir.Argument(value=ir.Constant(value=name)), *_),
            ) if name == option:
                yield node
