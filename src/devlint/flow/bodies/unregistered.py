"""Modules and parameters that a class keeps in plain containers, which register nothing."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import zip_longest

from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.value_joins import both
from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import name_in
from devlint.flow.modules import filled
from devlint.flow.modules.holdings import holds_something
from devlint.flow.modules.placement import outermost
from devlint.flow.modules.rewritten import is_moved_by_hand
from devlint.flow.syntax.walk import (
    descendants,
    first_parameter,
    is_static,
    mentions,
    names_in,
    nodes_of,
    self_attribute,
)
from devlint.model import ir
from devlint.model.trees import dotted_name, last_name


def tell(info: ClassInfo, frame: Frame, name: str, value: Value) -> None:
    found = frame.object(value)
    stores = frame.world.stores.get((info, name), [])
    if found is None or len(stores) != 1 or not frame.recording or value.trait is Trait.ANNOTATED:
        return
    inside = found.elements()
    parameters = inside.kind is Kind.TENSOR and inside.trait is Trait.PARAMETER
    if not parameters and inside.kind is not Kind.MODULE:
        return
    held = [frame.object(each) for each in (*(found.items or ()), *found.entries.values(), inside)]
    if not parameters and not any(each and holds_something(frame, each) for each in held):
        return  # there is nothing to move
    statement, operand = stores[0]
    if _is_hidden(info, operand.node) or _is_handed_on(info, operand.node, statement):
        return
    if _is_given_part(info, operand.node):
        return
    if parameters and all(map(_is_part, _shown(operand.node))):
        return  # the module registers parameters that are its attributes
    if is_moved_by_hand(frame.world, info, name):
        return
    if is_registered_elsewhere(info, frame, name, found):
        return
    frame.record(filled.fact(info, frame, name, found))


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
            case ir.Assign(targets=(ir.Name(id=name),), value=value) if _owner(value) in given:
                given.add(name)
    return _owner(node.items[0]) in given


def _owner(node: ir.Expr | None) -> str:
    """`codec` of `codec.table.weight`, and of itself; "" of what is no name's attribute."""
    while isinstance(node, ir.Attribute):
        node = node.value
    return node.id if isinstance(node, ir.Name) else ""


def _is_given_part(info: ClassInfo, node: ir.Expr) -> bool:
    """Whether a call in the file gives the constructor what another module holds, where that is
    registered: a slice of a `ModuleList` is one, whatever the annotation says."""
    init = info.method("__init__")
    if init is None or not isinstance(node, ir.Name):
        return False
    names = [parameter.name for parameter in init[1].params[1:]]
    for call in nodes_of(info.file.body):
        if isinstance(call, ir.Call) and dotted_name(call.func) == info.node.name:
            given = {e.keyword or name: e.value for e, name in zip_longest(call.args, names) if e}
            if node.id in given and _is_part(given[node.id]):
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
        if (info, name) in ended.world.filled or not ended.recording:
            continue
        ended.world.filled.add((info, name))
        stores = ended.world.stores.get((info, name), [])
        if len(stores) == 1 and not is_registered_elsewhere(info, ended, name, found):
            ended.record(filled.fact(info, ended, name, found))


_Methods = list[tuple[ir.Function, list[ir.Node]]]
"""The methods of a class, each with what is in it."""

_REGISTERS = {"add_module", "register_module", "__setattr__"}


def is_registered_elsewhere(info: ClassInfo, frame: Frame, name: str, found: Object) -> bool:
    """Whether the same modules are registered in another way: as attributes of their own, in a
    `ModuleList(self.layers)`, by `add_module`, `register_parameter`, `setattr` or `__setattr__`."""
    for each, method in info.all_methods():
        scan = each.file.scan(method)
        if name in scan.wrapped or _REGISTERS & scan.self_calls or "setattr" in scan.called:
            return True
        if "register_parameter" in scan.self_calls and _registers_several(method):
            return True
    this = frame.state.heap.get((info, "self"))
    modules = {n: v for n, v in this.entries.items() if v.kind is Kind.MODULE} if this else {}
    methods = [(each, frame.world.descendants(each)) for each in info.methods.values()]
    count = len(found.items or ())
    if _is_made_of_parts(methods, name) or _is_added(methods, name, modules, count):
        return True
    own = {(info, "self"), *_reached(frame, modules.values())}
    refs = list(_refs(found.inside))
    return bool(refs) and all(outermost(ref) in own for ref in refs)


def _reached(frame: Frame, modules: Iterable[Value]) -> set[Ref]:
    """Modules, and all that is registered in them."""
    found: set[Ref] = set()
    waiting = list(_refs(modules))
    while waiting:
        ref = waiting.pop()
        inner = frame.state.heap.get(ref)
        if ref not in found and inner is not None:
            waiting.extend(_refs(inner.inside))
        found.add(ref)
    return found


def _refs(values: Iterable[Value]) -> Iterator[Ref]:
    return (ref for each in values if each.kind is Kind.MODULE for ref in both(each.data))


def _is_added(methods: _Methods, name: str, modules: Container[str], count: int) -> bool:
    """Whether what is inside goes into a part of the module one by one:
    `self.heads.add_module(key, self.by_name[key])`, `self.heads.append(self.kept[i])`; or into a
    list that one is made of: `steps.append(self.layers[-1])`, `nn.Sequential(*steps)`; or all of
    it into one: `nn.Sequential(self.kept[0], nn.ReLU(), self.kept[1])`."""
    for method, inside in methods:
        this = first_parameter(method)
        parts = set(_parts_of(inside, f"{this}.{name}"))
        lists = set(_listed(inside))
        for node in inside:
            match node:
                case ir.Call(func=ir.Attribute(value=to, attr="add_module" | "append"), args=args):
                    if self_attribute(to, this) in modules or _is_named(to, lists):
                        given = [each.value for each in args]
                        if any(_is_one_of(each, parts, this, name) for each in given):
                            return True
                case ir.Call(args=args) if _makes_container(node):
                    taken = sum(_is_one_of(each.value, parts, this, name) for each in args)
                    if taken and taken >= count:
                        return True
    return False


def _listed(inside: list[ir.Node]) -> Iterator[str]:
    """The names of lists of which containers of torch's own are made."""
    for node in inside:
        if isinstance(node, ir.Call) and _makes_container(node):
            yield from (each.value.id for each in node.args if isinstance(each.value, ir.Name))


def _is_named(node: ir.Expr, names: set[str]) -> bool:
    return isinstance(node, ir.Name) and node.id in names


def _is_one_of(node: ir.Expr, parts: set[str], this: str, name: str) -> bool:
    """Whether this is a part of a container, by its index or as the name of a loop."""
    if isinstance(node, ir.Subscript):
        return self_attribute(node.value, this) == name
    return _is_named(node, parts)


def _registers_several(method: ir.Function) -> bool:
    """Whether it registers parameters by names that it makes up: those of a container."""
    return any(
        isinstance(node, ir.Call)
        and self_attribute(node.func, method.params[0].name) == "register_parameter"
        and bool(node.args)
        and not isinstance(node.args[0].value, ir.Constant)
        for node in (descendants(method) if method.params else ())
    )


def _is_made_of_parts(methods: _Methods, name: str) -> bool:
    """Whether all that is appended is the module itself, a part of it, or
    `Sequential(self.body, self.heads[-1])`, which holds nothing else; or what such a container is
    made of in the same method: `steps[-1]` beside `Sequential(*steps)`."""
    added = []
    for _, inside in methods:
        appended = list(_appended(inside, name))
        listed = set(_listed(inside)) if appended else set()
        added += [_is_part(each) or _is_in(each, listed) for each in appended]
    return bool(added) and all(added)


def _is_in(node: ir.Expr, names: set[str]) -> bool:
    """Whether it has one of these names, or is a part of what has: `steps[-1]`."""
    return _is_named(node.value if isinstance(node, ir.Subscript) else node, names)


def _appended(inside: list[ir.Node], name: str) -> Iterator[ir.Expr]:
    for node in inside:
        match node:
            case ir.Call(
                func=ir.Attribute(
                    value=ir.Attribute(value=ir.Name(id="self"), attr=attr), attr="append"
                ),
                args=(argument,),
            ) if attr == name:
                yield argument.value


_CONTAINERS = ("Sequential", "ModuleList")


def _is_part(node: ir.Expr) -> bool:
    if isinstance(node, ir.Call):
        parts = [each.value for each in node.args]
        return _makes_container(node) and bool(parts) and all(map(_is_part, parts))
    while isinstance(node, (ir.Attribute, ir.Subscript)):
        node = node.value
    return isinstance(node, ir.Name) and node.id == "self"


def _makes_container(call: ir.Call) -> bool:
    return last_name(call.func) in _CONTAINERS


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
                (isinstance(argument.value, ir.Name) and argument.value.id in parts)
                or mentions(argument.value, given.id)
                for argument in call.args
            ):
                return True
    return False


def _parts_of(inside: list[ir.Node], text: str) -> Iterator[str]:
    """The names of loops over a container: `for part, scale in zip(parts, scales)`."""
    for loop in inside:
        if isinstance(loop, ir.For) and mentions(loop.iter, text):
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
    return reached and all(
        isinstance(each, ir.Constant) or (isinstance(each, ir.Name) and each.id in names)
        for each in given
    )
