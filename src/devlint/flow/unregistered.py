"""Modules and parameters that a class keeps in plain containers, which register nothing."""

from __future__ import annotations

from collections.abc import Iterator

from devlint import ir
from devlint.flow import filled
from devlint.flow.facts import KeptModules
from devlint.flow.frame import ClassInfo, Frame
from devlint.flow.holdings import holds_something
from devlint.flow.operations import outermost
from devlint.flow.scan import descendants
from devlint.flow.state import Object, both
from devlint.flow.values import Kind, Value


def tell(info: ClassInfo, frame: Frame, name: str, value: Value) -> None:
    found = frame.object(value)
    stores = frame.world.stores.get((info, name), [])
    if found is None or len(stores) != 1 or not frame.recording or value.note == "any":
        return
    inside = found.elements()
    parameters = inside.kind is Kind.TENSOR and inside.note == "parameter"
    if not parameters and inside.kind is not Kind.MODULE:
        return
    held = [frame.object(each) for each in (*(found.items or ()), *found.entries.values(), inside)]
    if not parameters and not any(each and holds_something(frame, each) for each in held):
        return  # there is nothing to move
    statement, operand = stores[0]
    if _is_hidden(info, operand.node) or _is_handed_on(info, operand.node, statement):
        return
    if is_registered_elsewhere(info, frame, name, found):
        return
    shown = isinstance(operand.node, (ir.Display, ir.Mapping, ir.Comprehension))
    display = operand.node if shown else None
    frame.record(
        KeptModules(
            statement, frame.context(), info.node.name, name, operand, display, parameters,
            frame.file.nn,
        )
    )  # fmt: skip


def _is_hidden(info: ClassInfo, node: ir.Expr) -> bool:
    """`self.critic = [critic]`: what the constructor was given is kept out of the module on
    purpose, for it belongs to somebody else."""
    init = info.method("__init__")
    if init is None or not isinstance(node, ir.Display) or len(node.items) != 1:
        return False
    names = {parameter.name for parameter in init[1].params}
    return isinstance(node.items[0], ir.Name) and node.items[0].id in names


def tell_filled(info: ClassInfo, made: Frame, ended: Frame, this: Value) -> None:
    """Containers that a method has filled with modules or parameters of its own making."""
    for name, found in filled.newly_kept(made, ended, this):
        if (info, name) in ended.world.filled or not ended.recording:
            continue
        ended.world.filled.add((info, name))
        stores = ended.world.stores.get((info, name), [])
        if len(stores) == 1 and not is_registered_elsewhere(info, ended, name, found):
            ended.record(filled.fact(info, ended, name, found))


def is_registered_elsewhere(info: ClassInfo, frame: Frame, name: str, found: Object) -> bool:
    """Whether the same modules are registered in another way: as attributes of their own, in a
    `ModuleList(self.layers)`, by `add_module` or `setattr`."""
    for each in info.lineage():
        for method in each.methods.values():
            scan = each.file.scan(method)
            if name in scan.wrapped or {"add_module", "register_module"} & scan.self_calls:
                return True
            if "setattr" in scan.called:
                return True
    this = frame.state.heap.get((info, "self"))
    entries = this.entries.values() if this else ()
    own = {ref for v in entries if v.kind is Kind.MODULE for ref in both(v.data)}
    held = (*(found.items or ()), *found.entries.values(), found.element)
    return any(
        v.note == "self" or any(outermost(ref) in own for ref in both(v.data))
        for v in held
        if v.kind is Kind.MODULE
    )


_LOOKS_AT = ("isinstance", "len", "type", "all", "any", "zip", "enumerate")


def _is_handed_on(info: ClassInfo, given: ir.Expr, stored: ir.Stmt) -> bool:
    """Whether the argument that is kept is also given to a call, which may register what is in it:
    `nn.ModuleList(parts)`, `nn.Sequential(*parts.values())`."""
    if not isinstance(given, ir.Name):
        return False
    for method in info.methods.values():
        inside = list(descendants(method))
        if stored not in inside:
            continue  # another method's name
        harmless = set(_harmless(info, inside, given.id))
        for call in (node for node in inside if isinstance(node, ir.Call)):
            if call not in harmless and any(
                isinstance(node, ir.Name) and node.id == given.id
                for argument in call.args
                for node in descendants(argument.value)
            ):
                return True
    return False


def _harmless(info: ClassInfo, inside: list[ir.Node], name: str) -> Iterator[ir.Node]:
    """The nodes of calls that only look at what they are given: those that are statements of their
    own, and what an error is raised with."""
    for node in inside:
        if isinstance(node, ir.Call) and ir.render(node.func) in _LOOKS_AT:
            yield node
        elif isinstance(node, ir.Evaluate) and _only_looks(info, node.value, name):
            yield node.value
        elif isinstance(node, ir.Raise):
            yield from descendants(node)


def _only_looks(info: ClassInfo, call: ir.Expr, name: str) -> bool:
    """Whether a call that is a statement of its own is given a container and nothing that could
    register what is in it: `check_types(parts)`, or a static method."""
    if not isinstance(call, ir.Call):
        return False
    match call.func:
        case ir.Name():
            reached = True
        case ir.Attribute(value=ir.Name(), attr=attr):
            method = info.method(attr)
            reached = method is not None and any(
                ir.render(decorator) == "staticmethod" for decorator in method[1].decorators
            )
        case _:
            reached = False
    given = [argument.value for argument in call.args]
    return reached and all(
        isinstance(each, ir.Constant) or (isinstance(each, ir.Name) and each.id == name)
        for each in given
    )
