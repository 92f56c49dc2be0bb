"""Puts the statement that chooses a device where it comes before all that uses it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst
import libcst.matchers as m

from devlint.migrate.scene import Scene

_VISIBLE = m.Assign(
    targets=[
        m.AssignTarget(
            m.Subscript(
                slice=[
                    m.SubscriptElement(
                        m.Index(
                            m.SimpleString("'CUDA_VISIBLE_DEVICES'")
                            | m.SimpleString('"CUDA_VISIBLE_DEVICES"')
                        )
                    )
                ]
            )
        )
    ]
)
_IMPORT = m.SimpleStatementLine(body=[m.Import() | m.ImportFrom()])


def says_what_is_visible(node: cst.CSTNode) -> bool:
    """Whether a statement sets `CUDA_VISIBLE_DEVICES`, itself or below."""
    return bool(m.findall(node, _VISIBLE))


def is_late(module: cst.Module) -> bool:
    """Whether a file sets `CUDA_VISIBLE_DEVICES` after other files may have been imported."""
    imported = False
    for statement in module.body:
        if says_what_is_visible(statement):
            plain = isinstance(statement, cst.SimpleStatementLine)
            return imported or not plain
        imported = imported or m.matches(statement, _IMPORT)
    return False


def with_choice(scene: Scene, old: cst.Module, new: cst.Module) -> cst.Module:
    """The tree with the choice, and with the imports that the new text needs.

    `old` is the tree before: its statements stand in the same places, but for those that are put in
    front of others.
    """
    missing = sorted(name for name in scene.imports if scene.bindings.is_free(name))
    rows = [row for row in scene.asked if not _is_own(scene, row)]
    inside = [scene.bindings.around(row) for row in rows] if scene.project.late else []
    at_top = any(each is None for each in inside) if scene.project.late else bool(rows)
    lines = [cst.parse_statement(f"import {name}\n") for name in missing]
    if at_top and scene.bindings.is_free(scene.chosen.name):
        statement = cst.parse_statement(scene.choice.statement(scene.chosen.name))
        new = _behind_imports(new, lines, statement, scene.chosen.name)
    elif lines:
        new = _behind_imports(new, lines, None)
    functions = {each for each in inside if each is not None}
    return new.visit(_InFunctions(scene, functions, old)) if functions else new


def _is_own(scene: Scene, row: int) -> bool:
    """Whether the file's own statement is the one that a row reads."""
    return not scene.bindings.is_free(scene.chosen.name)


_Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement


def _behind_imports(
    module: cst.Module, imports: Sequence[_Statement], choice: _Statement | None, name: str = ""
) -> cst.Module:
    body: list[_Statement] = list(module.body)
    at = _end_of_imports(body)
    visible = [n for n, each in enumerate(body) if says_what_is_visible(each) and _is_plain(each)]
    if choice is not None and visible:
        at = max(at, visible[-1] + 1)
    reads = [n for n, each in enumerate(body[:at]) if name and m.findall(each, m.Name(name))]
    at = min([at, *reads])
    head, tail = body[:at], body[at:]
    first = next((n for n, each in enumerate(head) if _is_import(each)), len(head))
    head[first:first] = imports
    if choice is not None:
        head.append(_spaced(choice) if head else choice)
        tail[:1] = map(_apart, tail[:1])
    return module.with_changes(body=[*head, *tail])


def _is_import(statement: cst.CSTNode) -> bool:
    future = m.SimpleStatementLine(body=[m.ImportFrom(module=m.Name("__future__"))])
    return m.matches(statement, _IMPORT) and not m.matches(statement, future)


def _is_plain(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine)


def _end_of_imports(body: Sequence[cst.CSTNode]) -> int:
    """Behind the last import of the first rows; a docstring, and a `try` of imports, belong to
    them."""
    end = 0
    for number, statement in enumerate(body):
        if m.matches(statement, _IMPORT) or _is_import_block(statement):
            end = number + 1
        elif number == 0 and m.matches(
            statement, m.SimpleStatementLine(body=[m.Expr(m.SimpleString())])
        ):
            end = 1
        elif isinstance(statement, (cst.FunctionDef, cst.ClassDef)) or m.findall(
            statement, m.Attribute(attr=m.Name("cuda"))
        ):
            break
    return end


def _is_import_block(statement: cst.CSTNode) -> bool:
    return isinstance(statement, (cst.Try, cst.If)) and all(
        m.matches(each, _IMPORT) for each in statement.body.body
    )


def _spaced(statement: _Statement) -> _Statement:
    return statement.with_changes(leading_lines=[cst.EmptyLine(indent=False)])


def _apart(statement: _Statement) -> _Statement:
    """A statement with a blank row above it."""
    lines: Iterable[cst.EmptyLine] = getattr(statement, "leading_lines", ())
    first = next(iter(lines), None)
    if first is not None and first.comment is None:
        return statement
    return statement.with_changes(leading_lines=[cst.EmptyLine(indent=False), *lines])


class _InFunctions(cst.CSTTransformer):
    """Puts the choice at the start of functions, or behind what says there which devices are
    visible."""

    def __init__(self, scene: Scene, functions: set[tuple[int, int]], old: cst.Module) -> None:
        super().__init__()
        self._text = scene.choice.statement(scene.chosen.name)
        wanted = {first for first, _ in functions}
        self._names = [
            each.name.value
            for each in m.findall(old, m.FunctionDef())
            if isinstance(each, cst.FunctionDef)
            and isinstance(each.body, cst.IndentedBlock)
            and scene.row(each.body.body[0]) in wanted
        ]

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        body = updated_node.body
        if original_node.name.value not in self._names or not isinstance(body, cst.IndentedBlock):
            return updated_node
        self._names.remove(original_node.name.value)
        at = next((n + 1 for n, each in enumerate(body.body) if says_what_is_visible(each)), 0)
        docstring = m.SimpleStatementLine(body=[m.Expr(m.SimpleString())])
        if not at and m.matches(body.body[0], docstring):
            at = 1
        statement = cst.parse_statement(self._text)
        inner = [*body.body[:at], statement, *body.body[at:]]
        return updated_node.with_changes(body=body.with_changes(body=inner))
