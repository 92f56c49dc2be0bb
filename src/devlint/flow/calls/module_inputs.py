"""The arguments of a module's call that may be tensors, and have to be where the module is."""

from __future__ import annotations

from devlint.flow.calls.host_inputs import gives_numbers_only, is_a_bound, is_of_integers
from devlint.flow.calls.taking import takes_tensor
from devlint.flow.domain.lattice import left_out, only_host
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import TENSORS, Kind, Value
from devlint.flow.facts import Role
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.operations import batches
from devlint.flow.syntax.seen import Scan
from devlint.model import ir
from devlint.policy import means
from devlint.torchapi.effects import Effect
from devlint.torchapi.spellings import says_plain

_MAY_HOLD_TENSORS = (*TENSORS, Kind.ENCODING, Kind.TUPLE, Kind.LIST)


def may_hold_tensors(frame: Frame, module: Object | None, args: Arguments) -> list[Given]:
    """The arguments of a module's call, without those that may be on the CPU whatever it does."""
    info = module.source if module is not None and isinstance(module.source, ClassInfo) else None
    method = None if info is None else info.method("forward")
    params = () if method is None else method[1].params[1:]
    names = [parameter.name for parameter in params]
    plain = {parameter.name for parameter in params if _is_plain(parameter)}
    found: list[Given] = []
    for position, (argument, value) in enumerate(args.all):
        if value.kind not in _MAY_HOLD_TENSORS:
            continue
        at = names[position] if argument.keyword is None and position < len(names) else ""
        name = argument.keyword or at
        if name in plain or _is_of_the_host(name or ir.render(_subject(argument.value))):
            continue
        if method is None:
            if not (module and module.source) and means(
                "index", name or ir.render(_subject(argument.value)), "variable"
            ):
                continue
            if position and not means("tensor", name, "variable") and _is_hidden(frame, module):
                if is_of_integers(value):
                    continue
            if not _is_bound(frame, argument.value):
                found.append((argument.value, value))
            continue
        if means("mask", name, "parameter") and not _applies(method[0].file.scan(method[1]), name):
            continue
        if means("index", name, "parameter") and takes_tensor(frame, module, method, name) is None:
            continue  # what is only handed on is often moved by what indexes with it
        if _has_host_part(frame, value) and gives_numbers_only(*method, name):
            continue
        if value.batch is not None:
            told = takes_tensor(frame, module, method, name)
            if told is False:
                continue
            if told:
                batches.note_tensor(frame, argument.value, value)
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


def _applies(scan: Scan, name: str) -> bool:
    return name in scan.tensors or name in scan.masks


def _is_bound(frame: Frame, node: ir.Expr) -> bool:
    """Whether what a module of an unknown class gets is the bound of slices where it is called."""
    function, owner = frame.function, frame.owner
    if not isinstance(function, ir.Function) or owner is None or not isinstance(node, ir.Name):
        return False
    return is_a_bound(owner, function, node.id)


def _is_hidden(frame: Frame, module: Object | None) -> bool:
    """Whether nothing tells what a module does with what it is given: neither its class, nor the
    method of another module that calls it."""
    source = module.source if module is not None else None
    row = frame.world.table.get(source) if isinstance(source, str) else None
    known = row is not None and row.effect is Effect.CONSTRUCT  # what was loaded is of any class
    return not known and frame.role is not Role.MODULE


def _is_plain(parameter: ir.Parameter) -> bool:
    """Whether a parameter is said to be a string or a number: no operand, whatever comes; or to
    be perhaps a list of numbers: then what is made of it is made where that is needed."""
    if parameter.annotation is None:
        return False
    said = ir.render(parameter.annotation, 200)
    return says_plain(said)


def _has_host_part(frame: Frame, value: Value) -> bool:
    """Whether a tensor, or one that a list holds, is on the host."""
    found = frame.object(value) if value.kind.is_container else None
    if found is None:
        return only_host(left_out(frame.place(value)))
    inside = (found.element,) if found.items is None else found.items
    return any(only_host(left_out(frame.place(each))) for each in inside)
