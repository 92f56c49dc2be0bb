"""Runs the conversions over the tree of one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import libcst as cst
import libcst.matchers as m

from devlint.migrate import conditions, doubles, library, moves, strings
from devlint.migrate.reading import moves_itself, renamed
from devlint.migrate.scene import Scene
from devlint.migrate.syntax import moved_to, spelled

_CALLS: tuple[Callable[[Scene, cst.Call, cst.Call], cst.BaseExpression | None], ...] = (
    moves.move,
    moves.as_float,
    doubles.made,
    doubles.buffer,
    doubles.moved,
    moves.type_called,
    moves.type_method,
    moves.type_asked,
    moves.bare_type,
    moves.default_type,
    strings.device_made,
    conditions.available,
    library.autocast,
    library.scaler,
    library.load,
    library.distributed,
    library.api,
)
"""Each converts a call of its own kind."""


_S = TypeVar("_S", cst.If, cst.For, cst.With, cst.SimpleStatementLine)


class Converter(cst.CSTTransformer):
    """Converts what needs CUDA. `aliases` are names of tensor types."""

    def __init__(self, scene: Scene, aliases: Mapping[str, str]) -> None:
        super().__init__()
        self._scene = scene
        self._aliases = aliases
        self._inserted: set[tuple[cst.FunctionDef | None, str]] = set()

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        named = self._of_alias(original_node, updated_node)
        if named is not None:
            return named
        for convert in _CALLS:
            found = convert(self._scene, original_node, updated_node)
            if found is not None:
                return found
        if self._is_bare(original_node) and library.needs_cuda(self._scene, original_node):
            self._scene.done["functions of torch.cuda"] += 1
            text = f"{spelled(updated_node)} if torch.cuda.is_available() else None"
            return self._scene.code(text)
        return updated_node

    def _is_bare(self, call: cst.Call) -> bool:
        """Whether a call is a statement that shares its row with others."""
        above = self._scene.parent(call)
        line = None if above is None else self._scene.parent(above)
        return isinstance(above, cst.Expr) and not _is_alone(line)

    def _of_alias(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
        func = original.func
        if isinstance(func, cst.Name) and func.value in self._aliases:
            return moved_to(updated, cst.Arg(self._scene.device_expression(original)))
        if m.matches(original, m.Call(m.Attribute(attr=m.Name("type")), [m.Arg(m.Name())])):
            name = self._aliases.get(spelled(original.args[0].value))
            if name is not None:
                assert isinstance(updated.func, cst.Attribute)
                return moves.to_type(self._scene, original, updated.func.value, name)
        return None

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        target = strings.assigned(self._scene, original_node.value)
        name = self._aliases.get(target.value) if isinstance(target, cst.Name) else None
        if name is None:
            return updated_node
        self._scene.done["tensor types"] += 1
        return updated_node.with_changes(value=self._scene.code(name))

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.BaseExpression:
        scene = self._scene
        found = strings.text(scene, original_node) or library.backend(scene, original_node)
        return updated_node if found is None else found

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.BaseExpression:
        return strings.text(self._scene, original_node) or updated_node

    def leave_Integer(
        self, original_node: cst.Integer, updated_node: cst.Integer
    ) -> cst.BaseExpression:
        return strings.number(self._scene, original_node) or updated_node

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        return conditions.on_cuda(self._scene, original_node, updated_node) or updated_node

    def leave_IfExp(self, original_node: cst.IfExp, updated_node: cst.IfExp) -> cst.BaseExpression:
        return strings.choice(self._scene, original_node, updated_node) or updated_node

    # --- statements

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        owner = self._scene.owner(original_node)
        if moves_itself(original_node, owner):
            self._scene.done["methods"] += 1
            return renamed(updated_node)
        if original_node.name.value == "cuda" and isinstance(owner, cst.ClassDef):
            self._scene.leave(original_node, "`.to()` has to do what this `cuda` does")
        return updated_node

    def leave_If(
        self, original_node: cst.If, updated_node: cst.If
    ) -> cst.If | cst.RemovalSentinel | cst.FlattenSentinel[cst.BaseStatement]:
        above = self._scene.parent(original_node)
        if not isinstance(above, cst.If) and conditions.ends_without_cuda(
            self._scene, original_node
        ):
            self._scene.done["conditions"] += 1
            return cst.RemoveFromParent()
        other = original_node.orelse
        if isinstance(other, cst.If) and conditions.is_only_way(self._scene, other):
            self._scene.done["conditions"] += 1
            assert isinstance(updated_node.orelse, cst.If)
            last = cst.Else(updated_node.orelse.body, updated_node.orelse.leading_lines)
            updated_node = updated_node.with_changes(orelse=last)
        elif not isinstance(above, cst.If) and conditions.is_only_way(self._scene, original_node):
            self._scene.done["conditions"] += 1
            body = updated_node.body.body
            if isinstance(updated_node.body, cst.IndentedBlock) and body:
                first, *rest = updated_node.body.body
                lines = [*updated_node.leading_lines, *getattr(first, "leading_lines", ())]
                return cst.FlattenSentinel([first.with_changes(leading_lines=lines), *rest])
        return self._with_index(original_node, updated_node)

    def leave_For(
        self, original_node: cst.For, updated_node: cst.For
    ) -> cst.For | cst.FlattenSentinel[cst.BaseStatement]:
        return self._with_index(original_node, updated_node)

    def leave_With(
        self, original_node: cst.With, updated_node: cst.With
    ) -> cst.With | cst.FlattenSentinel[cst.BaseStatement]:
        return self._with_index(original_node, updated_node)

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement | cst.RemovalSentinel | cst.FlattenSentinel[cst.BaseStatement]:
        scene = self._scene
        first = original_node.body[0] if original_node.body else None
        if _is_alone(original_node) and isinstance(first, cst.Assert):
            if conditions.ends_without_cuda(scene, first):
                scene.done["conditions"] += 1
                return cst.RemoveFromParent()
        if _is_alone(original_node) and isinstance(first, cst.Expr):
            if isinstance(first.value, cst.Call) and (
                name := library.needs_cuda(scene, first.value)
            ):
                scene.done["functions of torch.cuda"] += 1
                return self._guarded(name, updated_node)
        return self._with_index(original_node, updated_node)

    def _guarded(self, name: str, line: cst.SimpleStatementLine) -> cst.BaseStatement:
        """A statement under a condition."""
        test = "torch.cuda.is_available()"
        inner = line.with_changes(leading_lines=[])
        if name == "torch.cuda.synchronize" and self._scene.choice.has_accelerator:
            call = m.extract(
                line, m.SimpleStatementLine([m.Expr(m.SaveMatchedNode(m.Call(args=[]), "call"))])
            )
            if call is not None:
                test = self._scene.choice.available
                called = self._scene.code("torch.accelerator.synchronize()")
                inner = inner.with_changes(body=[cst.Expr(called)])
        return cst.If(
            self._scene.code(test), cst.IndentedBlock([inner]), leading_lines=line.leading_lines
        )

    def _with_index(
        self, original: cst.CSTNode, updated: _S
    ) -> _S | cst.FlattenSentinel[cst.BaseStatement]:
        """A statement, behind the one that makes an index the current device where it needs one."""
        row = self._scene.row(original)
        found = next((each for each, at in self._scene.indexed.items() if at == row), None)
        if found is None or found in self._inserted:
            return updated
        self._inserted.add(found)
        _, text = found
        call = cst.Expr(self._scene.code(f"torch.cuda.set_device({text})"))
        block = cst.IndentedBlock([cst.SimpleStatementLine([call])])
        lines = updated.leading_lines
        test = self._scene.code("torch.cuda.is_available()")
        guarded = cst.If(test, block, leading_lines=lines)
        return cst.FlattenSentinel([guarded, updated.with_changes(leading_lines=[])])


def _is_alone(line: cst.CSTNode | None) -> bool:
    """Whether a statement has its row for itself."""
    return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
