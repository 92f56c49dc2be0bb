"""Whether the modules in a plain container are registered in another way."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Object
from devlint.flow.domain.value_joins import both
from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.placement import outermost
from devlint.flow.syntax.walk import descendants, first_parameter, is_one_of, self_attribute
from devlint.model import ir
from devlint.model.trees import last_name

_Methods = list[tuple[ir.Function, list[ir.Node]]]
"""The methods of a class, each with what is in it."""

_REGISTERS = {"add_module", "register_module", "__setattr__"}


def is_registered_elsewhere(info: ClassInfo, frame: Frame, name: str, found: Object) -> bool:
    """Whether the same modules are registered in another way: as attributes of their own, in a
    `ModuleList(self.layers)`, by `add_module`, `register_parameter`, `setattr` or `__setattr__`."""
    for method, scan in info.scans():
        if name in scan.wrapped or _REGISTERS & scan.self_calls or "setattr" in scan.called:
            return True
        if "register_parameter" in scan.self_calls and _registers_several(method):
            return True
    this = frame.state.heap[info, "self"]
    modules = {n: v for n, v in this.entries.items() if v.kind is Kind.MODULE}
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
        lists = set(_listed(inside))
        for node in inside:
            match node:
                case ir.Call(func=ir.Attribute(value=to, attr="add_module" | "append"), args=args):
                    if self_attribute(to, this) in modules or is_one_of(to, lists):
                        if any(_is_item(each.value, this, name) for each in args):
                            return True
                case ir.Call(args=args) if _makes_container(node):
                    taken = sum(_is_item(each.value, this, name) for each in args)
                    if taken and taken >= count:
                        return True
    return False


def _listed(inside: list[ir.Node]) -> Iterator[str]:
    """The names of lists of which containers of torch's own are made."""
    for node in inside:
        if isinstance(node, ir.Call) and _makes_container(node):
            yield from (each.value.id for each in node.args if isinstance(each.value, ir.Name))


def _is_item(node: ir.Expr, this: str, name: str) -> bool:
    """`self.name[i]`."""
    return isinstance(node, ir.Subscript) and self_attribute(node.value, this) == name


def _registers_several(method: ir.Function) -> bool:
    """Whether it registers parameters by names that it makes up: those of a container."""
    return any(
        isinstance(node, ir.Call)
        and self_attribute(node.func, first_parameter(method)) == "register_parameter"
        and bool(node.args)
        and not isinstance(node.args[0].value, ir.Constant)
        for node in descendants(method)
    )


def _is_made_of_parts(methods: _Methods, name: str) -> bool:
    """Whether all that is put into it is the module itself, a part of it, or
    `Sequential(self.body, self.heads[-1])`, which holds nothing else; or what such a container is
    made of in the same method: `steps[-1]` beside `Sequential(*steps)`."""
    added = []
    for method, inside in methods:
        this = first_parameter(method)
        put = list(_put(inside, this, name))
        listed = set(_listed(inside)) if put else set()
        added += [is_part(each, {this}) or _is_in(each, listed) for each in put]
    return bool(added) and all(added)


def _is_in(node: ir.Expr, names: set[str]) -> bool:
    """Whether it has one of these names, or is a part of what has: `steps[-1]`."""
    return is_one_of(node.value if isinstance(node, ir.Subscript) else node, names)


def _put(inside: list[ir.Node], this: str, name: str) -> Iterator[ir.Expr]:
    """What is appended to a container, or stored under a key of it."""
    for node in inside:
        match node:
            case ir.Call(func=ir.Attribute(value=to, attr="append"), args=(argument,)):
                if self_attribute(to, this) == name:
                    yield argument.value
            case ir.Assign(targets=(ir.Subscript(value=to),), value=ir.Expr() as value):
                if self_attribute(to, this) == name:
                    yield value


_CONTAINERS = ("Sequential", "ModuleList")


def is_part(node: ir.Expr, this: Container[str]) -> bool:
    """Whether it is a part of an object that has one of these names: `self.head`,
    `self.heads[0].bias`, `nn.Sequential(self.body, self.head)`."""
    if isinstance(node, ir.Call):
        parts = [each.value for each in node.args]
        return _makes_container(node) and bool(parts) and all(is_part(each, this) for each in parts)
    while isinstance(node, (ir.Attribute, ir.Subscript)):
        node = node.value
    return isinstance(node, ir.Name) and node.id in this


def _makes_container(call: ir.Call) -> bool:
    return last_name(call.func) in _CONTAINERS
