"""Lines that set an attribute of a class's objects, or a name of a file: no frame runs them."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType

from devlint.runtime.explaining.definitions import LONGEST, definition_of, parsed
from devlint.runtime.explaining.origins import place_of, shown_line
from devlint.runtime.explaining.reaching import may_be_elsewhere
from devlint.runtime.explaining.stack import Owner, owner_of

_LOCAL = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Line:
    """A line that sets something."""

    file: str
    line: int
    value: ast.expr | None = None
    """What it is set to; nothing for one part of it, and for what a loop sets."""

    @property
    def label(self) -> str:
        return "made at" if isinstance(self.value, ast.Call) else "set at"

    def shown(self) -> tuple[str, str]:
        """As a line of an explanation."""
        return self.label, shown_line(self.file, self.line)

    def place(self) -> str:
        return f"{self.label} {place_of(self.file, self.line)}"


def is_empty(value: ast.expr | None) -> bool:
    """Whether a value is a container that is filled later, or stands for one that is set later."""
    if isinstance(value, ast.Constant):
        return value.value is None
    if isinstance(value, (ast.List, ast.Tuple)):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.keys
    if not isinstance(value, ast.Call) or value.args or value.keywords:
        return False
    return getattr(value.func, "id", "") in ("list", "dict", "deque")


def of_global(file: str, name: str) -> Line | None:
    """Of a name of the file."""
    lines = linecache.getlines(file)
    tree = parsed("".join(lines)) if len(lines) <= LONGEST else None
    if tree is None or any(isinstance(n, ast.Global) and name in n.names for n in ast.walk(tree)):
        return None
    return _only(file, tree, name)


def of_result(function: FunctionType, user: Owner) -> Line | None:
    """The line that makes what a function of the user's gives back, if it is just one."""
    code = function.__code__
    tree = definition_of(code) if owner_of(code.co_filename) == user else None
    found = () if tree is None else ast.walk(tree)
    own = next((node for node in found if isinstance(node, ast.FunctionDef)), None)
    body = ast.Module([] if own is None else own.body, [])
    given = [node for node in _own(body) if isinstance(node, (ast.Return, ast.Yield))]
    if len(given) != 1 or isinstance(given[0], ast.Yield) or given[0].value is None:
        return None
    value = given[0].value
    while isinstance(value, ast.Subscript):
        value = value.value
    if isinstance(value, ast.Name):
        return _only(code.co_filename, body, value.id)
    return Line(code.co_filename, given[0].lineno, value)


def _only(file: str, tree: ast.AST, name: str) -> Line | None:
    found = [
        node
        for node in _own(tree)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    if len(found) != 1:
        return None
    value = value_of(tree, found[0])
    return None if is_empty(value) else Line(file, found[0].lineno, value)


def value_of(tree: ast.AST | None, target: ast.AST) -> ast.expr | None:
    """What a target gets, if it gets all of it."""
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.Assign) and target in node.targets:
            return node.value
        if isinstance(node, ast.AnnAssign) and target is node.target:
            return node.value
    return None


def _own(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a file without those of its functions and classes."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _LOCAL):
            waiting += ast.iter_child_nodes(node)


def of_attribute(kind: type, name: str, user: Owner) -> Line | None:
    """The one line of the user's in a class and its bases that sets an attribute of its objects."""
    found = [line for base in kind.__mro__ for line in _set_in(base, name, user)]
    return found[0] if len(found) == 1 else None


def set_from_outside(files: Iterable[str], name: str) -> list[Line]:
    """The lines of some files that set an attribute of what isn't their own object."""
    return [
        Line(file, node.lineno, value_of(tree, node))
        for file in files
        if (tree := parsed("".join(linecache.getlines(file)[:LONGEST]))) is not None
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if node.attr == name and ast.unparse(node.value) not in ("self", "cls")
    ]


def _set_in(kind: type, name: str, user: Owner) -> Iterator[Line]:
    for value in list(vars(kind).values()):
        if type(value) is FunctionType and owner_of(value.__code__.co_filename) == user:
            if name in (*value.__code__.co_names, *value.__code__.co_consts):
                yield from _set_by(value.__code__, name)


def _set_by(code: CodeType, name: str) -> Iterator[Line]:
    tree = definition_of(code)
    own = code.co_varnames[:1]
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if node.attr == name and isinstance(node.value, ast.Name) and (node.value.id,) == own:
                if not _is_changed(tree, node):
                    value = value_of(tree, node)
                    if not is_empty(value) and not _is_update(value, node):
                        yield Line(code.co_filename, node.lineno, value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("register_buffer", "register_parameter", "add_module"):
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and first.value == name:
                    yield Line(code.co_filename, node.lineno, node)


def _is_update(value: ast.expr | None, target: ast.Attribute) -> bool:
    """Whether an attribute's new value is computed from its old one, and so stays where it is."""
    if value is None or may_be_elsewhere(value):
        return False
    old = ast.unparse(target)
    return any(isinstance(n, ast.Attribute) and ast.unparse(n) == old for n in ast.walk(value))


def _is_changed(tree: ast.AST | None, target: ast.expr) -> bool:
    """Whether a target gets another value in place only, as with `+=`."""
    nodes = () if tree is None else ast.walk(tree)
    return any(isinstance(node, ast.AugAssign) and node.target is target for node in nodes)
