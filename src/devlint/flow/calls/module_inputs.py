"""The arguments of a module's call: those that may be tensors, and have to be where the module is,
and a device to which the module takes them."""

from __future__ import annotations

from devlint.flow.calls.integers import is_of_integers
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.paths import identity
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import TENSORS, Kind
from devlint.flow.facts import Role
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.frame import Frame
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means
from devlint.torchapi.effects import Effect

_MAY_HOLD_TENSORS = (*TENSORS, Kind.ENCODING, Kind.TUPLE, Kind.LIST)


def may_hold_tensors(frame: Frame, module: Object | None, args: Arguments) -> list[Given]:
    """The arguments of a module whose class isn't seen, without those that may be on the CPU
    whatever it does. What a model is for comes first; that it needs others where it is, too, is
    taken to be so where nothing but their names tells."""
    hidden = _is_hidden(frame, module)
    known = module is not None and module.source
    found: list[Given] = []
    for position, (argument, value) in enumerate(args.all):
        name = argument.keyword or ""
        if value.kind not in _MAY_HOLD_TENSORS:
            continue
        called = name or identity(_subject(argument.value))
        if _is_of_the_host(called) or (not known and means("index", called, "variable")):
            continue
        if position and hidden and not means("tensor", name, "variable"):
            if is_of_integers(value):
                continue
            value = value.but(trace=Step(Sort.OTHER_INPUT, argument, value.trace))
        found.append((argument.value, value))
    return found


def _is_of_the_host(name: str) -> bool:
    """Whether an argument of that name is no tensor, or is on the host by custom."""
    found = means("host-number", name, "variable") or means("no-tensor", name, "variable")
    return bool(found)


def _subject(node: ir.Expr) -> ir.Expr:
    """`lengths` of `lengths.repeat(2)` and `lengths[order]`."""
    while True:
        match node:
            case ir.Call(func=ir.Attribute(value=inner)) | ir.Subscript(value=inner):
                node = inner
            case _:
                return node


def _is_hidden(frame: Frame, module: Object | None) -> bool:
    """Whether nothing tells what a module does with what it is given: neither its class, nor the
    method of another module that calls it."""
    source = module.source if module is not None else None
    row = frame.world.table.get(source) if isinstance(source, str) else None
    known = row is not None and row.effect is Effect.CONSTRUCT  # what was loaded is of any class
    return not known and frame.role is not Role.MODULE


def is_given_device(args: Arguments) -> bool:
    """`model(batch, device)`, `model(batch, device=self.device)`"""
    return any(
        argument.keyword == "device" or means("device", last_name(argument.value), "variable")
        for argument, _ in args.all
    )
