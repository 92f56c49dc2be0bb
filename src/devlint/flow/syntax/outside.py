"""What a file does to the attributes of objects from outside of them."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.syntax.scan import MOVES
from devlint.flow.syntax.walk import descendants, first_parameter, self_attribute, targets
from devlint.model import ir
from devlint.model.trees import children, dotted_name, last_name
from devlint.torchapi.spellings import is_class

Done = tuple[str, bool | None]
"""An attribute, and whether it is bound: to what may be somewhere; None where that is a constant,
or made anew, which is in no place or on the host. Else what it is is moved, which changes a module
only."""


def placed(module: ir.Module) -> frozenset[Done]:
    """The attributes that a file binds, or moves, on objects that aren't those of the running
    method: `trainer.model = wrapped`, `trainer.model.cuda()`, `setattr(trainer, "model", wrapped)`.
    Also with the name before it, as `Module.device` and `nn.Module`, by whatever is called with
    both: `patch(nn, "Module", Own)`.
    """
    return frozenset(_placed(module.body))


def _placed(body: ir.Body, own: str = "", around: ir.Class | None = None) -> Iterator[Done]:
    for statement in body:
        if isinstance(statement, ir.Class):
            yield from _placed(statement.body, around=statement)
        elif isinstance(statement, ir.Function):
            yield from _placed(statement.body, _own(statement, around) if around else own)
        else:
            for node in descendants(statement):
                yield from _of_node(node, own)


def _own(method: ir.Function, info: ir.Class) -> str:
    """What a method calls its object, or the context of an autograd function that it is part of."""
    if any(last_name(base.value) == "Function" for base in info.bases):
        of_class = any(last_name(each) == "classmethod" for each in method.decorators)
        return next((each.name for each in method.params[of_class:]), "")
    return first_parameter(method)


def _of_node(node: ir.Node, own: str) -> Iterator[Done]:
    match node:
        case ir.Assign(value=value):
            for target in targets(node):
                if attr := _attribute(target, own):
                    if isinstance(value, ir.Constant) or _is_new(value):
                        yield attr, None
                    else:
                        yield attr, True
                        yield from _changed(target)
        case ir.Call(func=ir.Attribute(value=moved, attr=move)) if move in MOVES:
            if attr := _attribute(moved, own):
                yield attr, False
        case ir.Call(
            func=func,
            args=(
                ir.Argument(value=ir.Name() | ir.Attribute() as whole),
                ir.Argument(value=ir.Constant(value=str(attr))),
                ir.Argument(value=given),
                *_,
            ),
        ) if last_name(func) != "getattr" and not isinstance(given, ir.Constant):
            if last_name(func) == "setattr":
                yield attr, True
            yield from _changed(ir.Attribute(whole, attr))


def lent(module: ir.Module) -> dict[str, bool]:
    """The methods that a file calls, and whether it lends a default device wherever it does: `with
    torch.device(device): model.setup(n)`. What they make is there."""
    found: dict[str, bool] = {}
    waiting: list[tuple[ir.Node, bool]] = [(module, False)]
    for node, within in waiting:
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute):
            name = node.func.attr
            found[name] = found.get(name, True) and within
        inside = isinstance(node, ir.With) and any(_is_device(item) for item, _ in node.items)
        waiting += [(each, within or inside) for each in children(node)]
    return found


def _is_device(item: ir.Expr) -> bool:
    """`torch.device(device)`, but for the host and for no place at all."""
    if not isinstance(item, ir.Call) or dotted_name(item.func) not in ("torch.device", "device"):
        return False
    named = (each.value.value for each in item.args if isinstance(each.value, ir.Constant))
    return not any(name in ("cpu", "meta") for name in named)


def _changed(target: ir.Expr) -> Iterator[Done]:
    """What is bound of a class or of a module that has a name: `Module.device`, `nn.Module`."""
    if isinstance(target, ir.Attribute) and (name := last_name(target.value)):
        yield f"{name}.{target.attr}", True


def _is_new(made: ir.Expr | None) -> bool:
    """Whether a call makes something anew, which is on the host: `nn.Linear(3, 3)`. Where something
    is moved or a device is given, it may be elsewhere."""
    if not isinstance(made, ir.Call) or not is_class(dotted_name(made.func)):
        return False
    for node in descendants(made):
        match node:
            case ir.Argument(keyword="device") | ir.Attribute(attr="device"):
                return False
            case ir.Call(func=ir.Attribute(attr=move)) if move in MOVES:
                return False
    return True


def _attribute(node: ir.Expr, own: str) -> str:
    """The attribute that an expression names, unless it is one of the running method's object."""
    if not isinstance(node, ir.Attribute) or self_attribute(node, own):
        return ""
    return node.attr
