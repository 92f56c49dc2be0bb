"""Names of tensor types: `Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor`."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from devlint.migrate.scene import Scene
from devlint.migrate.syntax import string
from devlint.torchapi.spellings import place_of_type, type_on_cpu


def aliases(scene: Scene, module: cst.Module) -> dict[str, str]:
    """The names that stand for one type on the CPU or on CUDA, each with that of the CPU.

    Such a name is only called, or given to `.type()`: else it stays what it is.
    """
    types: dict[str, set[str]] = {}
    on_cuda: set[str] = set()
    for assign in m.findall(module, m.Assign(targets=[m.AssignTarget(m.Name())])):
        assert isinstance(assign, cst.Assign)
        target = assign.targets[0].target
        assert isinstance(target, cst.Name)
        found = [_spelled(scene, each) for each in _branches(assign.value)]
        types.setdefault(target.value, set()).update(map(type_on_cpu, found))
        if "cuda" in map(place_of_type, found):
            on_cuda.add(target.value)
    single = {name: min(types[name]) for name in on_cuda if len(types[name]) == 1}
    for name in m.findall(module, m.Name()):
        if isinstance(name, cst.Name) and name.value in single and not _is_type_there(scene, name):
            del single[name.value]
    return single


def _branches(value: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(value, cst.IfExp):
        return [*_branches(value.body), *_branches(value.orelse)]
    return [value]


def _spelled(scene: Scene, node: cst.BaseExpression) -> str:
    return string(node) or scene.library(node)


def _is_type_there(scene: Scene, name: cst.Name) -> bool:
    """Whether a name is assigned, called or given to `.type()`, or is no variable at all."""
    above = scene.parent(name)
    match above:
        case cst.Call(func=func):
            return func is name
        case cst.Attribute(attr=attr):
            return attr is name
        case cst.Arg(value=value):
            call = scene.parent(above)
            if value is not name:
                return True  # the keyword of an argument
            return isinstance(call, cst.Call) and m.matches(
                call, m.Call(func=m.Attribute(attr=m.Name("type")), args=[m.Arg()])
            )
    return isinstance(above, cst.AssignTarget)
