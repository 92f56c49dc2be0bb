"""The keys of dicts in which modules are kept."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.frames.files import ClassInfo
from devlint.flow.syntax.walk import descendants, first_parameter, self_attribute
from devlint.model import ir
from devlint.model.trees import last_name


def is_numbered(info: ClassInfo, name: str) -> bool:
    """Whether a method stores under a number in the dict that an attribute holds: under one that
    is spelled out, or that a loop counts."""
    for method in info.methods.values():
        this = first_parameter(method)
        inside = list(descendants(method))
        counted = {each for loop in inside for each in _counted(loop)}
        for node in inside:
            targets = node.targets if isinstance(node, ir.Assign) else ()
            for target in targets:
                match target:
                    case ir.Subscript(value=owner, index=key) if (
                        self_attribute(owner, this) == name
                    ) and _is_number(key, counted):
                        return True
    return False


def _is_number(key: ir.Expr, counted: set[str]) -> bool:
    if isinstance(key, ir.Constant):
        return isinstance(key.value, int)
    return isinstance(key, ir.Name) and key.id in counted


def _counted(loop: ir.Node) -> Iterator[str]:
    """`i` of `for i in range(n)` and of `for i, x in enumerate(rows)`."""
    match loop:
        case ir.For(target=ir.Name(id=name), iter=ir.Call(func=func)):
            if last_name(func) == "range":
                yield name
        case ir.For(target=ir.Display(items=(ir.Name(id=name), *_)), iter=ir.Call(func=func)) if (
            last_name(func) == "enumerate"
        ):
            yield name
