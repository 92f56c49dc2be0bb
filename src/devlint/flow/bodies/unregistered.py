"""Modules and parameters that a class keeps in plain containers, which register nothing."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.bodies.registrations import is_part, is_registered_elsewhere
from devlint.flow.domain.lattice import THE_MODULE, UNKNOWN, may_be_host
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import name_in
from devlint.flow.modules import filled
from devlint.flow.modules.holdings import holds_something
from devlint.flow.modules.rewritten import is_moved_by_hand
from devlint.flow.syntax.walk import (
    by_parameter,
    descendants,
    first_parameter,
    is_one_of,
    is_static,
    mentions,
    names_in,
    nodes_of,
)
from devlint.model import ir
from devlint.model.trees import dotted_name


def tell(info: ClassInfo, frame: Frame, name: str, value: Value) -> None:
    """Tell of a container that an attribute holds, unless what is in it is seen to be looked
    after."""
    found = frame.object(value)
    stores = frame.world.classes.stores.get((info, name), [])
    if found is None or len(stores) != 1 or value.trait is Trait.ANNOTATED:
        return
    inside = found.elements()
    parameters = inside.kind is Kind.TENSOR and inside.trait is Trait.PARAMETER
    if not parameters and inside.kind is not Kind.MODULE:
        return
    held = [each for value in found.inside for each in frame.objects(value)]
    if not parameters and not any(holds_something(frame, each) for each in held):
        return  # there is nothing to move
    if held and all(map(_is_metric, held)) and _places_metrics(info, frame):
        return
    if held and all(map(_is_moved, held)):
        return  # a teacher, say: whoever kept it there has placed it, and doesn't train it
    statement, operand = stores[0]
    shown = _shown(operand.node)
    receivers = set(map(first_parameter, info.methods.values()))
    if parameters and shown and all(is_part(each, receivers) for each in shown):
        return  # the module registers parameters that are its attributes
    if not (
        _is_hidden(info, operand.node)
        or _is_handed_on(info, operand.node, statement)
        or _is_given_part(info, operand.node)
        or is_moved_by_hand(frame.world, info, name)
        or is_registered_elsewhere(info, frame, name, found)
    ):
        frame.record(filled.fact(info, frame, name, found))


def _is_metric(found: Object) -> bool:
    return found.library_class.startswith("torchmetrics.")


def _is_moved(found: Object) -> bool:
    return found.device not in (UNKNOWN, THE_MODULE) and not may_be_host(found.device)


def _places_metrics(info: ClassInfo, frame: Frame) -> bool:
    """Whether a framework places the metrics that objects of a class keep."""
    rows = map(frame.world.table.get, info.library_bases())
    return any(row is not None and row.metrics for row in rows)


def _is_hidden(info: ClassInfo, node: ir.Expr) -> bool:
    """`self.critic = [critic]`: what the constructor was given, or a part of it, is kept out of the
    module on purpose, for it belongs to somebody else."""
    init = info.method("__init__")
    if isinstance(node, ir.Conditional):
        either = [each for each in (node.body, node.orelse) if not isinstance(each, ir.Constant)]
        return bool(either) and all(_is_hidden(info, each) for each in either)
    if init is None or not isinstance(node, ir.Display) or len(node.items) != 1:
        return False
    given = {parameter.name for parameter in init[1].params[1:]}
    for statement in init[1].body:
        match statement:
            case ir.Assign(targets=(ir.Name(id=name),), value=ir.Expr() as value) if (
                _owner(value) in given
            ):
                given.add(name)
    return _owner(node.items[0]) in given


def _owner(node: ir.Expr) -> str:
    """`codec` of `codec.table.weight`, and of itself; "" of what is no name's attribute."""
    return dotted_name(node).partition(".")[0]


def _is_given_part(info: ClassInfo, node: ir.Expr) -> bool:
    """Whether a call in the file gives the constructor what another module holds, where that is
    registered: a slice of a `ModuleList` is one, whatever the annotation says."""
    init = info.method("__init__")
    if init is None or not isinstance(node, ir.Name):
        return False
    classes = info.file.classes.values()
    receivers = {first_parameter(each) for of in classes for each in of.methods.values()}
    for call in nodes_of(info.file.body):
        if isinstance(call, ir.Call) and dotted_name(call.func) == info.node.name:
            given = dict(by_parameter(init[1].params[1:], call.args))
            if node.id in given and is_part(given[node.id].value, receivers):
                return True
    return False


def _shown(node: ir.Expr) -> tuple[ir.Expr, ...]:
    """What the text of a container puts into it; the text itself where that can't be told."""
    match node:
        case ir.Display(items=items):
            return items
        case ir.Mapping(items=pairs):
            return tuple(value for _, value in pairs)
        case ir.Comprehension(element=element, clauses=(clause,)):
            each = _owner(element)
            return _gone_over(clause.iter) if each in names_in(clause.target) else (element,)
    return (node,)


def _gone_over(node: ir.Expr) -> tuple[ir.Expr, ...]:
    """What a loop goes over: `self.fcs` in `enumerate(self.fcs)` and `self.fcs.values()`."""
    if isinstance(node, ir.Call):
        return tuple(each.value for each in node.args) or (node.func,)
    return _shown(node)


def tell_filled(info: ClassInfo, made: Frame, ended: Frame, this: Value) -> None:
    """Containers that a method has filled with modules or parameters of its own making."""
    for name, found in filled.newly_kept(made, ended, this):
        if (info, name) in ended.world.classes.filled:
            continue
        ended.world.classes.filled.add((info, name))
        stores = ended.world.classes.stores.get((info, name), [])
        if len(stores) == 1 and not is_registered_elsewhere(info, ended, name, found):
            ended.record(filled.fact(info, ended, name, found))


_LOOKS_AT = frozenset(
    f"builtins.{name}" for name in ("isinstance", "len", "type", "all", "any", "zip", "enumerate")
)


def _is_handed_on(info: ClassInfo, given: ir.Expr, stored: ir.Stmt) -> bool:
    """Whether the argument that is kept is also given to a call, which may register what is in it:
    `nn.ModuleList(parts)`, `nn.Sequential(*parts.values())`; or each part of it is:
    `for part in parts: steps.append(part)`."""
    if not isinstance(given, ir.Name):
        return False
    for method in info.methods.values():
        inside = list(descendants(method))
        if stored not in inside:
            continue  # another method's name
        parts = set(_parts_of(inside, given.id))
        harmless = set(_harmless(info, inside, {given.id, *parts}))
        for call in (node for node in inside if isinstance(node, ir.Call)):
            if call not in harmless and any(
                is_one_of(argument.value, parts) or mentions(argument.value, given.id)
                for argument in call.args
            ):
                return True
    return False


def _parts_of(inside: list[ir.Node], name: str) -> Iterator[str]:
    """The names of loops over a container: `for part, scale in zip(parts, scales)`."""
    for loop in inside:
        if isinstance(loop, ir.For) and mentions(loop.iter, name):
            yield from names_in(loop.target)


def _harmless(info: ClassInfo, inside: list[ir.Node], names: set[str]) -> Iterator[ir.Node]:
    """The nodes of calls that only look at what they are given: those that are statements of their
    own, and what an error is raised with."""
    for node in inside:
        if isinstance(node, ir.Call) and name_in(info.file, node.func) in _LOOKS_AT:
            yield node
        elif isinstance(node, ir.Evaluate) and _only_looks(info, node.value, names):
            yield node.value
        elif isinstance(node, ir.Raise):
            yield from descendants(node)


def _only_looks(info: ClassInfo, call: ir.Expr, names: set[str]) -> bool:
    """Whether a call that is a statement of its own is given a container and nothing that could
    register what is in it: `check_types(parts)`, or a static method."""
    if not isinstance(call, ir.Call):
        return False
    match call.func:
        case ir.Name():
            reached = True
        case ir.Attribute(value=ir.Name(), attr=attr):
            method = info.method(attr)
            reached = method is not None and is_static(method[1])
        case _:
            reached = False
    given = [argument.value for argument in call.args]
    return reached and all(isinstance(e, ir.Constant) or is_one_of(e, names) for e in given)
