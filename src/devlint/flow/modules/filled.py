"""Plain lists and dicts of a module that its methods fill with modules and parameters, and the
keys of those dicts."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.domain.derivation import is_making
from devlint.flow.domain.lattice import CPU, THE_MODULE
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Kind, Value
from devlint.flow.facts import KeptModules
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.holdings import holds_something
from devlint.flow.syntax.walk import descendants, first_parameter, self_attribute
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.torchapi.spellings import is_lacking, names_submodule


def newly_kept(made: Frame, ended: Frame, this: Value) -> list[tuple[str, Object]]:
    """The containers that hold nothing once an object is made, and after one of its methods
    modules or parameters which that method has made: by name, with what they are then."""
    before, after = made.state.heap[this.data], ended.state.heap[this.data]
    found = []
    for name, value in before.entries.items():
        if not value.kind.is_container or after.entries.get(name) != value:
            continue
        empty, filled = made.state.heap.get(value.data), ended.state.heap.get(value.data)
        if empty is None or filled is None or not empty.is_empty:
            continue
        inside = filled.elements()
        if _is_new_parameter(inside) or _is_made_there(ended, inside):
            found.append((name, filled))
    return found


def _is_new_parameter(value: Value) -> bool:
    """Whether it is a parameter that no module registers: that one follows its module."""
    return value.trait is Trait.PARAMETER and value.device != THE_MODULE


def _is_made_there(frame: Frame, value: Value) -> bool:
    """Whether it is a module with something in it, fresh from its constructor."""
    found = frame.object(value)
    if value.kind is not Kind.MODULE or found is None or found.device != CPU:
        return False
    return is_making(found.trace) and holds_something(frame, found)


def fact(info: ClassInfo, frame: Frame, name: str, found: Object) -> KeptModules:
    """What is to be told of a container, which one statement stores."""
    ((statement, operand),) = frame.world.classes.stores[info, name]
    shown = isinstance(operand.node, (ir.Display, ir.Mapping, ir.Comprehension))
    parameters = found.elements().kind is not Kind.MODULE
    container = "Dict" if operand.kind is Kind.DICT else "List"
    steps = [value.trace for value in found.inside]
    steps += [each.trace for value in found.inside for each in frame.objects(value)]
    made = tuple(step.node for step in steps if step is not None)
    return KeptModules(
        statement, frame.context(), info.node.name, name, operand,
        operand.node if shown else None, parameters, frame.file.nn,
        _is_unfit(info, name, f"{'Parameter' if parameters else 'Module'}{container}"), made,
    )  # fmt: skip


def _is_unfit(info: ClassInfo, name: str, container: str) -> bool:
    """Whether a method asks what an attribute holds for something that such a container lacks, or
    stores in it under what names no module: a number, say, or what a loop counts."""
    for _, method in info.all_methods():
        this = first_parameter(method)
        inside = list(descendants(method))
        counted = {each for loop in inside for each in _counted(loop)}
        for node in inside:
            match node:
                case ir.Attribute(value=owner, attr=attr) if is_lacking(container, attr):
                    if self_attribute(owner, this) == name:
                        return True
            for target in node.targets if isinstance(node, ir.Assign) else ():
                match target:
                    case ir.Subscript(value=owner, index=key) if _names_nothing(key, counted):
                        if self_attribute(owner, this) == name:
                            return True
    return False


def _names_nothing(key: ir.Expr, counted: set[str]) -> bool:
    if isinstance(key, ir.Constant):
        return not names_submodule(key.value)
    return isinstance(key, ir.Name) and key.id in counted


def _counted(loop: ir.Node) -> Iterator[str]:
    """`i` of `for i in range(n)` and of `for i, x in enumerate(rows)`."""
    match loop:
        case ir.For(target=ir.Name(id=name), iter=ir.Call(func=func)):
            if last_name(func) == "range":
                yield name
        case ir.For(target=ir.Display(items=(ir.Name(id=name), *_)), iter=ir.Call(func=func)):
            if last_name(func) == "enumerate":
                yield name
