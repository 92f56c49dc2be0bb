"""The same program with other comments, in another order, one block deeper."""

from __future__ import annotations

import libcst as cst
from metamorphic.names import names_of
from metamorphic.program import MAIN, Changed, Line, Program, unchanged

WORDS = ("# gpu", "# move the model to the device")


def add_comments(program: Program) -> Changed | None:
    """A comment and a blank line before each statement that stands below no comment."""
    rows: dict[int, str] = {}
    for start, _ in program.positions.statements():
        row, column = program.index.place(start)
        before = program.index.row_text(row)[: column - 1]
        above = program.index.row_text(row - 1).lstrip() if row > 1 else ""
        if not before.strip() and not above.startswith("#"):
            rows[row] = before
    lines: list[Line] = []
    for line in unchanged(program):
        if line.row in rows:
            lines += [Line(""), Line(rows[line.row] + WORDS[len(lines) % len(WORDS)])]
        lines.append(line)
    return {MAIN: lines} if rows else None


def wrap(program: Program) -> Changed | None:
    """All that comes after the docstring and the imports in `if True:`."""
    first = 0
    body = program.tree.body
    while first < len(body) and _comes_first(body[first], first == 0):
        first += 1
    if first == len(body):
        return None
    start = program.last_row(body[first - 1]) + 1 if first else 1
    lines = unchanged(program)
    inner = program.inner_rows
    wrapped = [
        Line(
            f"    {line.text}" if line.text.strip() and line.row not in inner else line.text,
            line.row,
        )
        for line in lines[start - 1 :]
    ]
    return {MAIN: [*lines[: start - 1], Line("if True:"), *wrapped]}


def _comes_first(node: cst.CSTNode, is_first: bool) -> bool:
    if not isinstance(node, cst.SimpleStatementLine):
        return False
    if is_first and isinstance(node.body[0], cst.Expr):
        return isinstance(node.body[0].value, (cst.SimpleString, cst.ConcatenatedString))
    return all(isinstance(each, (cst.Import, cst.ImportFrom)) for each in node.body)


def reorder(program: Program) -> Changed | None:
    """Functions and classes that stand below each other in the other order, as far as none of them
    needs another one to be defined."""
    lines, moved = unchanged(program), False
    for run in _runs(program):
        ends = [program.last_row(node) for node in run]
        starts = [program.row(run[0]), *(end + 1 for end in ends[:-1])]
        blocks = [lines[start - 1 : end] for start, end in zip(starts, ends, strict=True)]
        lines[starts[0] - 1 : ends[-1]] = [line for block in reversed(blocks) for line in block]
        moved = True
    return {MAIN: lines} if moved else None


Definition = cst.FunctionDef | cst.ClassDef


def _runs(program: Program) -> list[list[Definition]]:
    """Definitions that follow each other, each of another name, and none needed by another."""
    top = names_of(program).scopes[0].bindings
    functions = {name for name, binding in top.items() if "function" in binding.kinds}
    runs: list[list[Definition]] = [[]]
    for node in program.tree.body:
        if not isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            runs.append([])
            continue
        needed, before = _needed(node), {each.name.value for each in runs[-1]}
        if needed & functions or top[node.name.value].stores > 1:
            runs.append([])  # what is called may need whatever stands above
        elif needed & before:
            runs.append([node])
        else:
            runs[-1].append(node)
    return [run for run in runs if len(run) > 1]


def _needed(node: Definition) -> set[str]:
    """The words that stand in what is run when a function or a class is defined. All that a class
    calls in its body may need anything."""
    visitor = _Defining()
    node.visit(visitor)
    return visitor.words


class _Defining(cst.CSTVisitor):
    def __init__(self) -> None:
        self.words: set[str] = set()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        for part in (*node.decorators, node.params, node.returns):
            if part is not None:
                part.visit(self)
        return False

    def visit_Name(self, node: cst.Name) -> None:
        self.words.add(node.value)

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        for part in (*node.decorators, *node.bases, *node.keywords, node.body):
            part.visit(self)
        return False
