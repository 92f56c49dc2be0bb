"""Statements that put something into a container, or into an object."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from devlint.runtime.explaining.flow import LOOPS, own_nodes, written
from devlint.runtime.explaining.given import Path
from devlint.runtime.explaining.scopes import Scope, Text


@dataclass(frozen=True)
class Put:
    """A statement that puts something into what an expression stands for."""

    at: ast.stmt
    value: ast.expr
    path: Path = ()
    """From that value to the part that is asked for."""
    is_exact: bool = False
    """Whether what was there before is gone."""


_ADDS = {"append": 0, "appendleft": 0, "add": 0, "insert": 1, "put": 0, "setdefault": 1}
_EXTENDS = ("extend", "extendleft", "update")
_REGISTERS = ("register_buffer", "register_parameter", "add_module", "register_module")


def puts(scope: Scope, owner: str, path: Path, line: int) -> Iterator[Put]:
    """The statements of a scope, up to a line, that put a part into what is written so."""
    (kind, key), rest = path[0], path[1:]
    parts = about(scope.node, owner)
    if kind == "item" and rest:
        for text in dict.fromkeys(written(node) for node in parts if _is_item(node, key)):
            yield from puts(scope, text, rest, line)
    for node in parts:
        found = None
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            found = _assigned(node, owner, kind, key, rest)
        elif isinstance(node, ast.Call):
            found = _called(node, kind, key, rest)
        statement = None if found is None else scope.text.statement(node)
        if found is not None and statement is not None:
            if not line or statement.lineno < line or _in_loop_with(scope.text, statement, line):
                is_exact = isinstance(node, ast.Assign) and (kind == "attr" or key is not None)
                is_exact = is_exact and not any(map(_is_open, getattr(node, "targets", ())))
                yield Put(statement, *found, is_exact)


def about(top: ast.AST, owner: str) -> Sequence[ast.AST]:
    """The parts of a function that set or name what an expression keeps, or call its methods."""
    return _by_owner(top).get(owner, ())


@lru_cache(maxsize=1024)
def _by_owner(top: ast.AST) -> Mapping[str, Sequence[ast.AST]]:
    found = defaultdict[str, list[ast.AST]](list)
    for node in own_nodes(top):
        for owner in dict.fromkeys(written(each) for each in _owners(node)):
            found[owner].append(node)
    return found


def _owners(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.AugAssign):
        yield node.target
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        for each in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for target, _ in _parts(each, ()):
                if isinstance(target, (ast.Attribute, ast.Subscript)):
                    yield target.value
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield node.func.value
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
        yield from node.args[:1]


def _assigned(
    node: ast.Assign | ast.AnnAssign | ast.AugAssign, owner: str, kind: str, key: object, rest: Path
) -> tuple[ast.expr, Path] | None:
    if isinstance(node, ast.AugAssign):
        if kind == "item" and isinstance(node.op, (ast.Add, ast.BitOr)):
            if written(node.target) == owner and not isinstance(node.value, ast.Constant):
                return node.value, (("item", key if type(key) is str else None), *rest)
        return None
    if node.value is None:
        return None
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target, way in ((t, w) for each in targets for t, w in _parts(each, ())):
        if kind == "attr" and isinstance(target, ast.Attribute):
            if target.attr == key and written(target.value) == owner:
                return node.value, way + rest
        if kind == "item" and isinstance(target, ast.Subscript):
            if written(target.value) == owner and _may_be(target.slice, key):
                return node.value, way + rest
    return None


def _is_item(node: ast.AST, key: object) -> bool:
    """Whether an expression stands for an item of a container: `rows[i]`."""
    if isinstance(node, ast.Subscript):
        return _may_be(node.slice, key)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in ("setdefault", "get") and any(
        _may_be(each, key) for each in node.args[:1]
    )


def _is_open(target: ast.expr) -> bool:
    """Whether it takes a run to know the key of an item."""
    return isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Constant)


def _parts(target: ast.expr, path: Path) -> Iterator[tuple[ast.expr, Path]]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for index, part in enumerate(target.elts):
            yield from _parts(part, (*path, ("item", index)))
    else:
        yield target, path


def _called(call: ast.Call, kind: str, key: object, rest: Path) -> tuple[ast.expr, Path] | None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if kind == "attr":
        args = call.args
        if name == "setattr" and len(args) == 3 and isinstance(call.func, ast.Name):
            return (args[2], rest) if _may_be(args[1], key) else None
        is_register = name in _REGISTERS and isinstance(call.func, ast.Attribute)
        if is_register and len(args) > 1 and _may_be(args[0], key):
            return args[1], rest
        return None
    if not isinstance(call.func, ast.Attribute):
        return None
    if name in _ADDS and len(call.args) > _ADDS[name]:
        if name == "setdefault" and not _may_be(call.args[0], key):
            return None
        return call.args[_ADDS[name]], rest
    if name in _EXTENDS:
        for keyword in call.keywords:
            if keyword.arg == key and key is not None:
                return keyword.value, rest
        if call.args:
            return call.args[0], (("item", key if type(key) is str else None), *rest)
    return None


def _may_be(node: ast.expr, key: object) -> bool:
    """Whether a key may be one that is asked for: nothing stands for any."""
    if key is None:
        return True
    if isinstance(node, ast.Constant):
        return bool(node.value == key)
    if isinstance(node, ast.JoinedStr):
        head = node.values[0] if node.values else None
        start = head.value if isinstance(head, ast.Constant) else ""
        return isinstance(key, str) and key.startswith(str(start))
    return True


def _in_loop_with(text: Text, statement: ast.stmt, line: int) -> bool:
    loops = (node for node in text.around(statement) if isinstance(node, LOOPS))
    return any(loop.lineno <= line <= (loop.end_lineno or 0) for loop in loops)
