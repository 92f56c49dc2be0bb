"""Functions that are cut in two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst
from metamorphic.names import NO_STARS, Collected, Names, Scope, names_of, parameters
from metamorphic.program import MAIN, Changed, Line, Program, unchanged


def split(program: Program) -> Changed | None:
    """The second half of each function that ends with plain statements is a helper of its own,
    which takes what it uses; the half of a method is a method."""
    names = names_of(program)
    if names.is_reflective:
        return None
    inserted: dict[int, list[Line]] = {}
    dropped: set[int] = set()
    number = 0
    for scope in names.scopes:
        cut = _cut(program, names, scope)
        if cut is None:
            continue
        number += 1
        while f"_rest{number}" in names.all:
            number += 1
        tail, given = cut
        node = scope.node
        assert isinstance(node, cst.FunctionDef)
        is_method = scope.parent is not None and scope.parent.kind == "class"
        first, last = program.row(tail[0]), program.last_row(tail[-1])
        indent = program.lines[program.index.place(program.positions.start(node))[0] - 1]
        indent = indent[: len(indent) - len(indent.lstrip())]
        inner = program.lines[first - 1]
        inner = inner[: len(inner) - len(inner.lstrip())]
        taken = [name for name in given if not (is_method and name == given[0])]
        owner = f"{given[0]}." if is_method else ""
        gives = isinstance(_small(tail[-1]), cst.Return) and _small(tail[-1]).value is not None
        call = f"{inner}{'return ' if gives else ''}{owner}_rest{number}({', '.join(taken)})"
        typed = {each.name.value: _typed(program, each) for each in parameters(node.params)}
        header = f"{indent}def _rest{number}({', '.join(typed.get(g, g) for g in given)}):"
        body = [Line(program.lines[row - 1], row) for row in range(first, last + 1)]
        inserted[first] = [Line(call), Line(""), Line(header), *body]
        dropped.update(range(first, last + 1))
    if not inserted:
        return None
    lines = []
    for line in unchanged(program):
        lines += inserted.get(line.row, [])
        if line.row not in dropped:
            lines.append(line)
    return {MAIN: lines}


def _typed(program: Program, param: cst.Param) -> str:
    """A parameter as it is written, without its default."""
    name, said = param.name.value, param.annotation
    if said is None or param.star not in NO_STARS:
        return name
    return f"{name}: {program.source(said.annotation)}"


def _small(node: cst.CSTNode) -> cst.BaseSmallStatement:
    assert isinstance(node, cst.SimpleStatementLine)
    return node.body[0]


def _cut(
    program: Program, names: Names, scope: Scope
) -> tuple[Sequence[cst.BaseStatement], list[str]] | None:
    """The statements of the second half of a function, and the names that they need."""
    node = scope.node
    if not isinstance(node, cst.FunctionDef) or node.asynchronous is not None:
        return None
    if not isinstance(node.body, cst.IndentedBlock) or scope.elsewhere:
        return None
    parent = scope.parent
    if parent is None or parent.kind not in ("module", "class"):
        return None
    is_method = parent.kind == "class"
    decorators = {_word(each.decorator) for each in node.decorators}
    if node.name.value.startswith("__") and node.name.value != "__call__":
        return None
    if is_method and decorators:
        return None
    whole = Collected()
    node.body.visit(whole)
    if whole.kinds & {cst.Yield, cst.Await, cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.Del}:
        return None
    if any(each.value in ("super", "__class__") for each in whole.names):
        return None
    body = node.body.body
    start = len(body)
    while start > 0 and _is_plain(body[start - 1], start == len(body)):
        start -= 1
    middle = start + (len(body) - start + 1) // 2
    if middle == 0 or middle >= len(body) or len(body) - start < 2:
        return None
    tail = body[middle:]
    collected = Collected()
    for each in tail:
        each.visit(collected)
    bound = _bound(body[:middle])
    own = [param.name.value for param in parameters(node.params)]
    meant = [names.meaning.get(each) for each in collected.names]
    used = {each.name for each in meant if each is not None and each.scope is scope}
    first_stored = _stored_first(tail, used)
    needed = used - first_stored
    if not needed <= bound | {*own}:
        return None
    order = [name for name in own if name in needed or (is_method and name == own[0])]
    return tail, order + sorted(needed - {*own})


def _word(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Call):
        return _word(node.func)
    return node.attr.value if isinstance(node, cst.Attribute) else getattr(node, "value", "")


def _is_plain(node: cst.CSTNode, is_last: bool) -> bool:
    """One statement of a line of its own that goes on to the next one, or returns at the end."""
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) != 1:
        return False
    kinds: tuple[type[cst.CSTNode], ...] = (cst.Expr, cst.Assign, cst.AnnAssign, cst.AugAssign)
    return isinstance(node.body[0], (*kinds, cst.Return) if is_last else kinds)


def _bound(body: Iterable[cst.CSTNode]) -> set[str]:
    """The names that plain statements bind for sure."""
    found: set[str] = set()
    for node in body:
        if isinstance(node, cst.SimpleStatementLine):
            for small in node.body:
                if isinstance(small, cst.Assign):
                    for target in small.targets:
                        found |= {each.value for each in _names_in(target.target)}
                elif isinstance(small, cst.AnnAssign) and small.value is not None:
                    found |= {each.value for each in _names_in(small.target)}
        elif isinstance(node, cst.With):
            found |= _bound(node.body.body)
    return found


def _names_in(node: cst.CSTNode) -> list[cst.Name]:
    if isinstance(node, cst.Name):
        return [node]
    if isinstance(node, (cst.Tuple, cst.List)):
        return [each for element in node.elements for each in _names_in(element.value)]
    return []


def _stored_first(tail: Sequence[cst.CSTNode], used: set[str]) -> set[str]:
    """The names that are bound in these statements before anything reads them."""
    stored: set[str] = set()
    read: set[str] = set()
    for node in tail:
        small = _small(node)
        visitor = Collected()
        value = getattr(small, "value", None)
        targets = small.targets if isinstance(small, cst.Assign) else ()
        if value is not None:
            value.visit(visitor)
        if isinstance(small, cst.AugAssign) or (
            isinstance(small, cst.AnnAssign) and not isinstance(small.target, cst.Name)
        ):
            small.target.visit(visitor)
        for target in targets:
            if not _names_in(target.target):
                target.target.visit(visitor)
        read |= {each.value for each in visitor.names} - stored
        stored |= _bound([node])
    return (used & stored) - read
