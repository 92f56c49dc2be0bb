"""Annotations that leave a choice: `Union[torch.Tensor, nn.Module]`, `str | torch.device`."""

from __future__ import annotations

from devlint.flow.domain.lattice import Symbol
from devlint.flow.domain.paths import Path
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means

_CHOICES_OF_TYPE = (Trait.TENSOR_OR, Trait.DEVICE_OR_STRING)


def marked(frame: Frame, node: ir.Expr, value: Value) -> Value:
    """A value that isn't known, with the choice that its annotation leaves."""
    types = members(node)
    if len(types) < 2 or value.kind is not Kind.UNKNOWN or value.trait:
        return value
    names = {dotted(frame, each) for each in types}
    if "torch.Tensor" in names and len(names) > 1:
        return value.but(trait=Trait.TENSOR_OR)
    return value.but(trait=Trait.DEVICE_OR_STRING) if names == _EITHER else value


_EITHER = {"builtins.str", "torch.device"}


def members(node: ir.Expr) -> list[ir.Expr]:
    """The types that an annotation allows, in quotes or not, without None."""
    match node:
        case ir.Binary(op="|", left=left, right=right):
            return [*members(left), *members(right)]
        case ir.Subscript(value=value, index=index):
            name = last_name(value)
            if name == "Optional":
                return members(index)
            if name == "Union" and isinstance(index, ir.Display):
                return [member for item in index.items for member in members(item)]
        case ir.Constant(value=None):
            return []
        case ir.Constant(value=str() as text):
            return _quoted(text) or [node]
    return [node]


def _quoted(text: str) -> list[ir.Expr]:
    """The same of an annotation in quotes; nothing where these hold more than names."""
    inside = text[len("Optional[") : -1] if text.startswith("Optional[") else text
    found: list[ir.Expr] = []
    for name in (each.strip() for each in inside.split("|")):
        first, *attrs = name.split(".")
        if not all(each.isidentifier() for each in (first, *attrs)):
            return []
        if name != "None":
            node: ir.Expr = ir.Name(first)
            for attr in attrs:
                node = ir.Attribute(node, attr)
            found.append(node)
    return found


def settle(frame: Frame, name: str, types: set[str], holds: bool) -> bool:
    """Enter a branch in which a value is one of some types, or none of them; whether it was such a
    value, of which there is no more to tell."""
    value = frame.state.env.get(name)
    if value is None or value.trait not in _CHOICES_OF_TYPE:
        return False
    if value.trait is Trait.DEVICE_OR_STRING and types in ({"builtins.str"}, {"torch.device"}):
        label = value.data.text if isinstance(value.data, Path) else name
        kind = Kind.DEVICE if (types == {"torch.device"}) is holds else Kind.STRING
        frame.state.env[name] = Value(kind, Symbol(label, label))
        return True
    frame.state.env[name] = value.but(trait=None)
    return not holds and types == {"torch.Tensor"}


def forget(frame: Frame, node: ir.Call) -> None:
    """`hasattr(x, "type")`, `callable(x)`: the code tells by itself what it was given."""
    for argument in node.args[:1]:
        if isinstance(argument.value, ir.Name):
            value = frame.state.env.get(argument.value.id, NOTHING)
            if value.trait in _CHOICES_OF_TYPE:
                frame.state.env[argument.value.id] = value.but(trait=None)


def is_compared_both_ways(frame: Frame, name: str) -> bool:
    """Whether a function compares a name with a torch.device too, or reads its type."""
    function = frame.function
    if function is None:
        return True
    for node in nodes_of(function.body):
        match node:
            case ir.Compare(left=left, right=right):
                sides = (left, right)
                if any(isinstance(side, ir.Name) and side.id == name for side in sides):
                    if any(_makes_device(frame, each) for each in nodes_of(sides)):
                        return True
            case ir.Attribute(value=ir.Name(id=read), attr="type" | "index") if read == name:
                return True
            case ir.Call(func=func, args=(first, *_)) if dotted(frame, func) in _READERS:
                if isinstance(first.value, ir.Name) and first.value.id == name:
                    return True
    return False


_READERS = ("builtins.getattr", "builtins.hasattr")


def _makes_device(frame: Frame, node: ir.Node) -> bool:
    if not isinstance(node, ir.Call):
        return False
    named = means("about-devices", last_name(node.func), "variable")
    return bool(named) or dotted(frame, node.func) == "torch.device"
