"""By which name a device can be typed at a place of a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Named:
    """A name that stands for a device. `is_string`: as a string, perhaps, which has no `.type`."""

    name: str
    is_string: bool = False

    @property
    def type(self) -> str:
        """An expression for the type of it: "cuda", "cpu"."""
        return f"torch.device({self.name}).type" if self.is_string else f"{self.name}.type"


class ConflictError(Exception):
    """The name that a file is to have for its device means something else at a place."""


@dataclass(slots=True)
class _Scope:
    node: ast.Module | Function
    first: int
    last: int
    bound: dict[str, list[tuple[int, ast.expr | None]]] = field(default_factory=dict)
    """The rows that bind a name, each with the value where that is plain; row 0: a parameter."""


class Bindings:
    """The names that a file binds, and those of a device among them."""

    def __init__(self, tree: ast.Module) -> None:
        self._module = _Scope(tree, 0, 0)
        _fill(self._module, tree.body)
        self._functions = [
            _function(node)
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        self._functions.sort(key=lambda scope: scope.first)
        self._numbers = _numbers(tree)
        for scope in (self._module, *self._functions):
            for bound in scope.bound.values():
                bound[:] = [(row, self._plain(value)) for row, value in bound]
        self._classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        self._callees: dict[str, Function | ast.ClassDef] = {
            node.name: node
            for node in tree.body
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        }

    def devices_of_file(self) -> list[str]:
        """The names by which the file knows a device it chooses at its top level, in order."""
        return [
            name
            for name, bound in self._module.bound.items()
            if all(value is not None and names_device(value) for _, value in bound)
        ]

    def _plain(self, value: ast.expr | None) -> ast.expr | None:
        """A value, or a number for an option that is one, however it is called."""
        is_number = isinstance(value, ast.Attribute) and value.attr in self._numbers
        return _NUMBER if is_number else value

    def is_number(self, name: str, row: int) -> bool:
        """Whether a name at a row, or `args.name`, is an option that is a number."""
        holder, _, last = name.rpartition(".")
        if holder:
            return last in self._numbers
        inside = [each for each in self._functions if each.first <= row <= each.last]
        for scope in (*reversed(inside), self._module):
            if (bound := scope.bound.get(name)) is not None:
                return all(value is _NUMBER for _, value in bound)
        return False

    def first_row(self, name: str) -> int | None:
        """The first row at the top level that binds a name."""
        bound = self._module.bound.get(name)
        return None if bound is None else min(row for row, _ in bound)

    def is_string(self, name: str) -> bool:
        """Whether a name of the top level may be a string."""
        return any(_is_string(value) for _, value in self._module.bound.get(name, ()))

    def is_free(self, name: str) -> bool:
        """Whether nothing at the top level binds a name."""
        return name not in self._module.bound

    def takes_device(self, name: str, position: int) -> bool:
        """Whether a function or a class of the file takes a device in a place of its arguments."""
        node = self._callees.get(name)
        given = 0
        if isinstance(node, ast.ClassDef):
            makers = (each for each in node.body if isinstance(each, ast.FunctionDef))
            node, given = next((each for each in makers if each.name == "__init__"), None), 1
        if node is None:
            return False
        params = [each.arg for each in (*node.args.posonlyargs, *node.args.args)][given:]
        return position < len(params) and params[position].endswith("device")

    def around(self, row: int) -> tuple[int, int] | None:
        """First and last row of the outermost function around a row."""
        found = next((each for each in self._functions if each.first <= row <= each.last), None)
        return None if found is None else (found.first, found.last)

    def at(self, row: int, name: str, chosen: str) -> Named | None:
        """The device at a row: what a function there calls `name`, or `self.device`; None where
        it is what the file calls `chosen`. Raises `ConflictError` where that can't be typed."""
        inside = [each for each in self._functions if each.first <= row <= each.last]
        for scope in reversed(inside):
            bound = scope.bound.get(name)
            if bound is not None and _is_device(bound, row):
                return Named(name, any(_is_string(value) for _, value in bound))
            if name != chosen and bound is not None:
                break
        if inside and (stored := self._stored(inside[-1])) is not None:
            return stored
        for scope in inside:
            if chosen in scope.bound:
                raise ConflictError
        return None

    def _stored(self, scope: _Scope) -> Named | None:
        """`self.device`, in the methods of a class whose constructor is given one to store."""
        method = scope.node
        if isinstance(method, ast.Module) or method.name == "__init__":
            return None
        owner = next((each for each in self._classes if method in each.body), None)
        makers = () if owner is None else owner.body
        for maker in makers:
            if not isinstance(maker, ast.FunctionDef) or maker.name != "__init__":
                continue
            params = {each.arg for each in (*maker.args.args, *maker.args.kwonlyargs)}
            for node in ast.walk(maker):
                match node:
                    case ast.Assign(
                        targets=[ast.Attribute(value=ast.Name(id=holder), attr="device")],
                        value=ast.Name(id=given),
                    ) if given in params and method.args.args[:1]:
                        if holder == maker.args.args[0].arg:
                            return Named(f"{method.args.args[0].arg}.device", is_string=True)
        return None


def names_device(value: ast.expr) -> bool:
    """Whether an expression names a device, by its form."""
    match value:
        case ast.Constant(value=str(text)):
            return text.partition(":")[0] in _TYPES
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text.partition(":")[0] in _TYPES
        case ast.IfExp(body=body, orelse=orelse):
            return names_device(body) and names_device(orelse)
        case ast.BoolOp(values=values):
            return any(map(names_device, values))
        case ast.Call(func=ast.Name(id="str"), args=[inner]):
            return names_device(inner)
        case ast.Call(func=func):
            return _last(func) in ("device", "current_accelerator")
        case ast.Attribute(attr=attr):
            return attr == "device"
        case ast.Name(id=name):
            return name == "device"
    return False


def _numbers(tree: ast.Module) -> set[str]:
    """The options of a file that are numbers: `add_argument("--gpu", type=int)`."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=args, keywords=keywords):
                given = {each.arg: each.value for each in keywords}
                match given.get("type"), given.get("dest"):
                    case ast.Name(id="int"), ast.Constant(value=str(name)):
                        found.add(name)
                    case ast.Name(id="int"), None:
                        texts = (each.value for each in args if isinstance(each, ast.Constant))
                        names = [text for text in texts if isinstance(text, str)]
                        long = [name for name in names if name.startswith("--")] or names
                        found.update(name.lstrip("-").replace("-", "_") for name in long[:1])
    return found


_NUMBER = ast.Constant(0)
"""Stands for any number."""

_TYPES = frozenset({"cuda", "cpu", "mps", "xpu"})


def _is_string(value: ast.expr | None) -> bool:
    """Whether a value may be a string; a parameter may."""
    match value:
        case None:
            return True
        case ast.Call(func=func):
            return _last(func) not in ("device", "current_accelerator")
        case ast.BoolOp(values=values):
            return any(map(_is_string, values))
        case ast.Attribute(value=ast.Name(id="self" | "args" | "opt" | "config" | "cfg")):
            return True
        case ast.Attribute():
            return False
    return True


def _is_device(bound: list[tuple[int, ast.expr | None]], row: int) -> bool:
    """Whether what a function binds is a device, and bound above a row."""
    devices = all(first == 0 if value is None else names_device(value) for first, value in bound)
    return devices and any(first < row for first, _ in bound)


def _last(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _function(node: Function) -> _Scope:
    scope = _Scope(node, node.body[0].lineno, node.end_lineno or node.lineno)
    given = node.args
    params = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    for each in params:
        if each is not None:
            scope.bound.setdefault(each.arg, []).append((0, None))
    _fill(scope, node.body)
    return scope


def _fill(scope: _Scope, body: list[ast.stmt]) -> None:
    foreign: set[str] = set()
    for name, row, value in _bindings(body, foreign):
        if name not in foreign:
            scope.bound.setdefault(name, []).append((row, value))


def _bindings(
    body: list[ast.stmt], foreign: set[str]
) -> Iterator[tuple[str, int, ast.expr | None]]:
    """The names that statements bind, each with its row and value; `foreign` are those that they
    declare to belong to another scope."""
    waiting: list[ast.AST] = [*reversed(body)]
    plain: set[ast.AST] = set()
    while waiting:
        node = waiting.pop()
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield name, node.lineno, ast.Constant(None)
                continue
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp():
                continue
            case ast.GeneratorExp():
                continue
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                foreign.update(names)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Name):
                        plain.add(target)
                        yield target.id, node.lineno, value
            case ast.AnnAssign(target=ast.Name(id=name) as target, value=ast.expr() as value):
                plain.add(target)
                yield name, node.lineno, value
            case ast.Name(id=name, ctx=ast.Store()) if node not in plain:
                yield name, node.lineno, ast.Constant(None)
            case ast.ExceptHandler(name=str(name)):
                yield name, node.lineno, ast.Constant(None)
            case ast.alias(name=name, asname=known):
                yield known or name.partition(".")[0], node.lineno, ast.Constant(None)
        waiting.extend(reversed([*ast.iter_child_nodes(node)]))
