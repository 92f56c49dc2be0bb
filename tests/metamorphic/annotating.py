"""Types that are written down."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst
from metamorphic.names import NO_STARS, names_of, parameters
from metamorphic.program import MAIN, Changed, Edit, Program, edited


def annotate(is_tensor: Callable[[int, int], bool | None]) -> Callable[[Program], Changed | None]:
    """`x: torch.Tensor` for each parameter and each variable that is bound once, of which all that
    is known where it is read is that it is a tensor.

    `is_tensor` tells of the name at a row and a column; None where nothing is known.
    """

    def transform(program: Program) -> Changed | None:
        names = names_of(program)
        torch = names.scopes[0].bindings.get("torch")
        if torch is None or torch.kinds != {"import"}:
            return None
        edits: list[Edit] = []
        for node in _annotatable(program):
            binding = names.meaning.get(node)
            if binding is None or binding.stores != 1 or binding.scope.kind == "class":
                continue
            places = (
                program.index.place(program.positions.range(each)[0]) for each in binding.nodes
            )
            told = {is_tensor(*place) for place in places} - {None}
            if told == {True}:
                end = program.positions.range(node)[1]
                edits.append((end, end, ": torch.Tensor"))
        return {MAIN: edited(program, edits)} if edits else None

    return transform


def _annotatable(program: Program) -> list[cst.Name]:
    visitor = _Annotatable()
    program.tree.visit(visitor)
    return visitor.found


class _Annotatable(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[cst.Name] = []

    def visit_Assign(self, node: cst.Assign) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0].target, cst.Name):
            if not node.targets[0].target.lpar:
                self.found.append(node.targets[0].target)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        for param in parameters(node.params):
            if param.annotation is None and param.default is None and param.star in NO_STARS:
                self.found.append(param.name)
