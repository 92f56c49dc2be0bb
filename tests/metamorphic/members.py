"""The attributes and methods of a program's own classes, called otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import libcst as cst
from metamorphic.names import Binding, Names, Scope, names_of, parameters
from metamorphic.program import MAIN, Changed, Edit, Program, edited
from metamorphic.renaming import COLLECTED, edit_of, fresh_names, is_ours, underscores


def rename_attributes(program: Program) -> Changed | None:
    """Every attribute that objects of the file's classes have because the file stores it."""
    names = names_of(program)
    stored = {
        node.attr.value
        for scope, node in names.attributes
        if node in _targets_of(program) and _is_self(scope, node)
    }
    return _members(program, {name for name in stored if not _is_method(names, name)}, "a")


def rename_methods(program: Program) -> Changed | None:
    """Every method that the file calls, and that nothing may call which isn't in the file."""
    names = names_of(program)
    called = {node.attr.value for _, node in names.attributes}
    own = {
        binding.name
        for binding in names.bindings
        if binding.scope.kind == "class" and binding.kinds == {"function"}
    }
    return _members(program, {name for name in own & called if not COLLECTED.match(name)}, "m")


def _members(program: Program, wanted: Iterable[str], prefix: str) -> Changed | None:
    """Other names for attributes or methods that belong to the classes of the file alone."""
    names = names_of(program)
    if names.is_reflective:
        return None
    fresh, edits = fresh_names(names), list[Edit]()
    for name in sorted(wanted):
        if name.startswith("__") or names.spelled(name) or name in names.keywords:
            continue
        classes = [b for b in names.bindings if b.name == name and b.scope.kind == "class"]
        accesses = [(s, n) for s, n in names.attributes if n.attr.value == name]
        if name in known_elsewhere() or any(b.name == name for b in _imports(names)):
            continue
        if not all(_is_of_the_file(names, scope, node) for scope, node in accesses):
            continue
        if not name.startswith("_") and not all(is_ours(names, b.scope) for b in classes):
            continue
        new = fresh(f"{underscores(name)}{prefix}")
        edits += (edit_of(program, node.attr, new) for _, node in accesses)
        edits += (edit_of(program, node, new) for b in classes for node in b.nodes)
    return {MAIN: edited(program, edits)} if edits else None


def _is_of_the_file(names: Names, scope: Scope, node: cst.Attribute) -> bool:
    """Whether what has the attribute is an object of a class of the file, as far as one sees:
    `self`, a variable, an attribute of `self`."""
    value = node.value
    if _is_self(scope, node):
        return True
    if isinstance(value, cst.Attribute):
        return _is_self(scope, value)
    binding = scope.find(value.value) if isinstance(value, cst.Name) else None
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Name):
        binding = scope.find(value.func.value)
        return binding is not None and binding.kinds == {"class"}
    return binding is not None and binding.kinds <= {"variable", "class"}


def _is_self(scope: Scope, node: cst.Attribute) -> bool:
    """Whether it is an attribute of the first parameter of a method."""
    if not isinstance(node.value, cst.Name):
        return False
    binding = scope.find(node.value.value)
    if binding is None or binding.kinds != {"parameter"} or binding.scope.parent is None:
        return False
    function = binding.scope.node
    if binding.scope.parent.kind != "class" or not isinstance(function, cst.FunctionDef):
        return False
    return [param.name.value for param in parameters(function.params)][:1] == [binding.name]


def _is_method(names: Names, name: str) -> bool:
    return any(b.name == name and b.scope.kind == "class" for b in names.bindings)


def _imports(names: Names) -> Iterator[Binding]:
    return (binding for binding in names.bindings if "import" in binding.kinds)


def _targets_of(program: Program) -> set[cst.CSTNode]:
    """The attributes that are stored somewhere."""
    found: set[cst.CSTNode] | None = getattr(program, "stored", None)
    if found is None:
        visitor = _Stores()
        program.tree.visit(visitor)
        found = program.stored = visitor.found  # type: ignore[attr-defined]
    return found


class _Stores(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[cst.CSTNode] = set()

    def _add(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.Attribute):
            self.found.add(node)
        elif isinstance(node, (cst.Tuple, cst.List)):
            for element in node.elements:
                self._add(element.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._add(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._add(node.target)


@cache
def known_elsewhere() -> frozenset[str]:
    """The names of attributes that torch's, numpy's or Python's own objects have."""
    import numpy as np
    import torch

    found: set[str] = set()
    layers = [each for each in vars(torch.nn).values() if isinstance(each, type)]
    optimizers = [each for each in vars(torch.optim).values() if isinstance(each, type)]
    plain = [torch.Tensor, torch.device, torch.Generator, np.ndarray, str, dict, list, set, object]
    for one in (
        *layers,
        *optimizers,
        *plain,
        torch.utils.data.DataLoader,
        torch.utils.data.Dataset,
    ):
        found.update(dir(one), getattr(one, "__annotations__", ()))
        found.update(getattr(one, "__constants__", ()))
    found.update(
        vars(torch.nn.Linear(1, 1)), vars(torch.nn.LSTM(1, 1)), vars(torch.nn.Conv2d(1, 1, 1))
    )
    return frozenset(found) | {"weight", "bias", "param_groups", "defaults", "state"}
