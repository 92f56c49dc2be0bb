"""Functions and classes that come from another file."""

from __future__ import annotations

import libcst as cst
from metamorphic.names import Collected, Names, names_of
from metamorphic.program import MAIN, Changed, Line, Program, unchanged

OTHER = "helpers.py"


def move(program: Program) -> Changed | None:
    """Functions and classes that the rest of the file uses come from another file, if all they
    need is imported or moved as well."""
    names, body = names_of(program), program.tree.body
    top = names.scopes[0]
    imports = [each for each in body if _is_import(each)]
    imported = {name for each in imports for name in _imported(each)}
    definitions = {
        node.name.value: node
        for node in body
        if isinstance(node, (cst.FunctionDef, cst.ClassDef))
        and top.bindings[node.name.value].stores == 1
    }
    needs = {name: _free(names, node) for name, node in definitions.items()}
    movable = set(definitions)
    while True:
        fine = {name for name in movable if needs[name] <= imported | movable}
        if fine == movable:
            break
        movable = fine
    rest = [n for n in body if n not in imports and _defined(n) not in movable]
    asked = {name for node in rest for name in _free(names, node)} & movable
    if not asked or any(_is_star(each) for each in imports):
        return None
    moved = _closure(asked, needs, movable)
    lines = unchanged(program)
    there = [line for each in imports for line in _rows_of(program, lines, each)]
    gone: dict[int, list[Line]] = {}
    for name, node in definitions.items():
        if name in moved:
            block = _rows_of(program, lines, node)
            there += block
            gone.update((line.row, []) for line in block)
    first = min(gone)
    stays = [n for n in body if n not in imports and _defined(n) not in moved]
    used = {name for node in stays for name in _free(names, node)} & moved
    gone[first] = [Line(f"from helpers import {', '.join(sorted(used))}")]
    here = [each for line in lines for each in gone.get(line.row, [line])]
    return {MAIN: here, OTHER: [*there, Line("")]}


def _is_import(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleStatementLine) and all(
        isinstance(each, (cst.Import, cst.ImportFrom)) for each in node.body
    )


def _is_star(node: cst.CSTNode) -> bool:
    assert isinstance(node, cst.SimpleStatementLine)
    return any(isinstance(getattr(each, "names", None), cst.ImportStar) for each in node.body)


def _imported(node: cst.CSTNode) -> set[str]:
    """The names that an import binds."""
    visitor = Collected()
    node.visit(visitor)
    return {each.value for each in visitor.names}


def _defined(node: cst.CSTNode) -> str:
    return node.name.value if isinstance(node, (cst.FunctionDef, cst.ClassDef)) else ""


def _free(names: Names, node: cst.CSTNode) -> set[str]:
    """The names of the module that a statement uses, but for its own."""
    top = names.scopes[0]
    visitor = Collected()
    node.visit(visitor)
    found = (names.meaning.get(each) for each in visitor.names)
    return {each.name for each in found if each is not None and each.scope is top} - {
        _defined(node)
    }


def _closure(asked: set[str], needs: dict[str, set[str]], movable: set[str]) -> set[str]:
    found, waiting = set[str](), list(asked)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += needs[name] & movable
    return found


def _rows_of(program: Program, lines: list[Line], node: cst.CSTNode) -> list[Line]:
    return lines[program.row(node) - 1 : program.last_row(node)]
