"""Whether a module holds anything that a move takes along."""

from __future__ import annotations

from collections.abc import Collection

from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NONE, NOTHING, Kind, Value
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.placement import is_registered
from devlint.flow.syntax.walk import (
    descendants,
    first_parameter,
    nodes_of,
    self_attribute,
    stored_calls,
)
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.torchapi.effects import Row

_DEEPEST = 4


def holds_something(frame: Frame, found: Object, depth: int = _DEEPEST) -> bool:
    """Whether a module is seen to hold parameters, buffers, or modules that do. One of a library
    does unless its row says otherwise; one of a class that is in sight has to show them."""
    if found.stateless:
        return False
    if not isinstance(found.source, ClassInfo):
        return True
    for name, held in found.entries.items():
        inner = frame.object(held) if held.kind is Kind.MODULE and depth else None
        if inner and _takes_along(found.source, name, inner):
            continue
        if is_registered(held) or (inner and holds_something(frame, inner, depth - 1)):
            return True
    return _makes_something(frame, found.source, depth)


def _takes_along(info: ClassInfo, name: str, part: Object) -> bool:
    """Whether `forward` moves a part by itself that comes from a library and has nothing to
    train."""
    forward = info.method("forward")
    if forward is None or name not in forward[0].file.scan(forward[1]).self_moves:
        return False
    return part.library_class.startswith(_TRAIN_NOTHING)


_TRAIN_NOTHING = ("torchaudio.transforms.", "torchvision.transforms.")


def may_inherit_something(frame: Frame, info: ClassInfo) -> bool:
    """Whether a base of a class is one of torch's that makes parameters of its own, or is given
    what it registers, by no constructor in sight."""
    rows = filter(None, map(frame.world.table.get, info.library_bases()))
    unseen = info.method("__init__") is None
    return any(
        row.parameters or (row.weights and unseen) or row.name.endswith(_CONTAINERS) for row in rows
    )


def inherit(frame: Frame, module: Value, info: ClassInfo, args: Arguments) -> None:
    """`super().__init__(3, 3)`, `super().__init__(weight=weight)`: what a base of torch makes, or
    registers of what it is given."""
    row, found = base_of_torch(frame, info), frame.object(module)
    if row is None or found is None:
        return
    stars = [frame.object(value) for argument, value in args.all if argument.star]
    hidden = not all(each is not None and each.is_empty for each in stars)
    if row.parameters and not hidden and args.find(row.device) is None:
        made = Value(Kind.TENSOR, frame.state.default, grad=True, trait=Trait.PARAMETER)
        found = found.with_entry("weight", made)
    for parameter in row.weights:
        given = args.find(parameter)
        value = given[1] if given is not None else NOTHING if hidden else NONE
        if value.kind is not Kind.NONE and value.data is not False:
            kept = value.but(trait=Trait.BUFFER) if value.kind is Kind.TENSOR else NOTHING
            found = found.with_entry(str(parameter[-1]), kept)
    frame.update(module, found)


def base_of_torch(frame: Frame, info: ClassInfo) -> Row | None:
    """The first base of a class that a library has and a row describes."""
    rows = map(frame.world.table.get, info.library_bases())
    return next(filter(None, rows), None)


_CONTAINERS = ("Container", "Sequential", "List", "Dict")


def inherits_buffer(frame: Frame, info: ClassInfo, name: str) -> bool:
    """Whether a base of a class is one of torch's losses that registers an attribute of that name:
    what is assigned to it is a buffer."""
    rows = (frame.world.table.get(base) for base in info.library_bases())
    return any(name in parameter for row in rows if row is not None for parameter in row.weights)


def holds_buffers_only(frame: Frame, module: Value, depth: int = _DEEPEST) -> bool:
    """Whether all that a module of a class in sight is seen to hold are buffers, and no operation
    of its methods takes one: what it is called with may not meet them."""
    found = frame.object(module)
    if found is None or not isinstance(found.source, ClassInfo):
        return False
    buffers = False
    for held in found.entries.values():
        inner = frame.object(held) if held.kind is Kind.MODULE else None
        if inner is not None and not inner.stateless:
            if depth == 0 or not holds_buffers_only(frame, held, depth - 1):
                return False
            buffers = True
        elif is_registered(held):
            if held.trait is not Trait.BUFFER:
                return False
            buffers = True
    names = {name for name, held in found.entries.items() if held.kind is not Kind.NUMBER}
    return buffers and not _computes_with(found.source, names)


def _computes_with(info: ClassInfo, names: Collection[str]) -> bool:
    """Whether a method computes with an attribute of these names: `(x - self.mean) / self.std`;
    not with what `forward` stores anew."""
    forward = info.method("forward")
    if forward is not None:
        names = {*names} - forward[0].file.scan(forward[1]).self_stores
    for _, method in info.all_methods():
        this = first_parameter(method)
        for node in nodes_of(method.body):
            if isinstance(node, ir.Binary):
                sides = (self_attribute(node.left, this), self_attribute(node.right, this))
                if any(side in names for side in sides):
                    return True
    return False


def _makes_something(frame: Frame, info: ClassInfo, depth: int) -> bool:
    """Whether the words of a class say so, where its constructor wasn't followed."""
    return any(
        each.file.scan(method).registers
        or any(
            _is_made_of_parts(frame, each, call, depth)
            for call in stored_calls(nodes_of(method.body), first_parameter(method))
        )
        for each, method in info.all_methods()
    )


def _is_made_of_parts(frame: Frame, info: ClassInfo, call: ir.Call, depth: int) -> bool:
    """Whether a call makes a module that holds something."""
    func = call.func
    named = info.file.names.get(func.id) if isinstance(func, ir.Name) else None
    if named is not None and isinstance(named.data, ClassInfo):
        return depth > 0 and _makes_something(frame, named.data, depth - 1)
    name = str(named.data) if named is not None else last_name(func)
    row = frame.world.table.get(f"torch.nn.{name.rpartition('.')[2]}")
    if row is None or row.kind != "module":
        return False
    if row.parameters or not call.args:
        return row.parameters
    inside = (node for argument in call.args for node in descendants(argument))
    return any(
        isinstance(node, ir.Call) and _is_made_of_parts(frame, info, node, depth) for node in inside
    )
