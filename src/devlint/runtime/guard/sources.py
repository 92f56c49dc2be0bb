"""The functions of a module's class as they are written: read, and nothing of them run."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partialmethod
from types import CodeType, FunctionType, ModuleType
from typing import Any

from devlint.runtime.explaining.definitions import definition_of
from devlint.runtime.explaining.scopes import unwrapped
from devlint.runtime.explaining.source import is_of
from devlint.runtime.explaining.stack import owner_of

_OVERRIDES = (
    "_apply", "to", "cuda", "cpu", "xpu", "__getattr__", "__getattribute__", "__setattr__"
)  # fmt: skip
"""What moves a module, or lets an attribute be something else than what is stored."""

_FRAMEWORKS = re.compile(r"(pytorch_)?lightning(_fabric)?\.|transformers\.(?!models\.)")
"""Modules whose base classes override `to` and its like only to look on, and call torch's."""

_LONGEST = 2000
"""Lines of one function."""


@dataclass(frozen=True)
class Method:
    """One function of a class, and how it is written."""

    name: str
    function: FunctionType
    node: ast.FunctionDef | ast.AsyncFunctionDef

    @property
    def file(self) -> str:
        return self.function.__code__.co_filename

    @cached_property
    def me(self) -> str:
        """What it calls the module: `self`."""
        args = (*self.node.args.posonlyargs, *self.node.args.args)
        return args[0].arg if args else ""

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.node))

    @cached_property
    def parameters(self) -> Mapping[str, tuple[ast.expr | None, ast.expr | None]]:
        """The annotation and the default of each."""
        spec = self.node.args
        plain = [*spec.posonlyargs, *spec.args]
        defaults = [*[None] * (len(plain) - len(spec.defaults)), *spec.defaults]
        pairs = [*zip(plain, defaults, strict=True)]
        pairs += zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
        found = {arg.arg: (arg.annotation, default) for arg, default in pairs}
        for rest in (spec.vararg, spec.kwarg):
            if rest is not None:
                found[rest.arg] = (None, None)
        return found

    def is_attribute(self, node: ast.AST, name: str) -> bool:
        """Whether a node is `self.name`."""
        return (
            isinstance(node, ast.Attribute)
            and node.attr == name
            and isinstance(node.value, ast.Name)
            and node.value.id == self.me
        )

    def assigned(self, name: str) -> list[ast.expr | None]:
        """What a local name is bound to; nothing for each binding that isn't a plain one."""
        values: list[ast.expr | None] = [None] if name in self.parameters else []
        plain: set[int] = set()
        for node in self.nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name) and target.id == name:
                        plain.add(id(target))
                        values.append(node.value)
        for node in self.nodes:
            if isinstance(node, ast.Name) and node.id == name and id(node) not in plain:
                if not isinstance(node.ctx, ast.Load):
                    values.append(None)
        return values

    def value_of(self, node: ast.AST) -> Any:
        """What a dotted name of the module around stands for; nothing if it is a local one."""
        if isinstance(node, ast.Attribute):
            owner = self.value_of(node.value)
            if isinstance(owner, (ModuleType, type)):
                return vars(owner).get(node.attr)
            return None
        if not isinstance(node, ast.Name):
            return None
        code = self.function.__code__
        if node.id in code.co_freevars:
            cell = (self.function.__closure__ or ())[code.co_freevars.index(node.id)]
            try:
                return cell.cell_contents
            except ValueError:  # not bound yet
                return None
        if node.id in code.co_varnames or node.id in code.co_cellvars:
            return None
        return self.function.__globals__.get(node.id, vars(builtins).get(node.id))

    def is_under_with(self, node: ast.AST) -> bool:
        """Whether a node is in a `with` statement, such as `with torch.device(...)`."""
        return any(
            node is each
            for around in self.nodes
            if isinstance(around, (ast.With, ast.AsyncWith)) and around is not node
            for each in ast.walk(around)
        )


@lru_cache(maxsize=512)
def methods_of(kind: type) -> tuple[Method, ...] | None:
    """All functions of a module's class and of its bases, torch's own left out.

    Nothing where one of them can't be read, or decides itself what is moved or stored.
    """
    found: list[Method] = []
    for base in kind.__mro__:
        name = f"{base.__module__}."
        if base is object or name.startswith(("torch.", "abc.", "typing.")):
            continue
        if _FRAMEWORKS.match(name):
            continue
        if any(override in vars(base) for override in _OVERRIDES):
            return None
        for attribute, value in list(vars(base).items()):
            if _is_unknown(value):
                return None
            for function in _functions_of(value):
                method = _read(attribute, function)
                if method is None:
                    return None
                if owner_of(method.file) != "torch":
                    found.append(method)
    return tuple(found)


def _is_unknown(value: object) -> bool:
    """Whether a class has something that runs code of its own when it is asked for."""
    kind = type(value)
    if isinstance(value, (type, staticmethod, classmethod, property, partialmethod)):
        return False
    computed = any("__get__" in vars(base) for base in kind.__mro__)
    return computed and kind.__module__ not in ("builtins", "functools", "types")


def _functions_of(value: object) -> Iterator[FunctionType]:
    """The functions behind an attribute of a class, without what decorators put around them."""
    value = unwrapped(value)
    if isinstance(value, partialmethod):
        value = value.func
    if isinstance(value, property):
        for part in (value.fget, value.fset, value.fdel):
            yield from _functions_of(part)
        return
    inner = getattr(value, "func", None) if type(value).__name__ == "cached_property" else None
    value = value if inner is None else unwrapped(inner)
    if type(value) is FunctionType:
        yield value


def _read(attribute: str, function: FunctionType) -> Method | None:
    code = function.__code__
    if code.co_name == "__init_subclass__" or owner_of(code.co_filename) == "torch":
        node: Any = ast.parse("def f(): pass").body[0]
        return Method(attribute, function, node)
    if not attribute.endswith(code.co_name):
        return None  # what a decorator has put around another function
    parsed = _definition(code)
    return None if parsed is None else Method(attribute, function, parsed)


@lru_cache(maxsize=4096)
def _definition(code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """How a function is written; nothing if its file has changed, or it has none."""
    tree = definition_of(code, _LONGEST)
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_of(node, code):
            return node
    return None


def _is_of(node: ast.FunctionDef | ast.AsyncFunctionDef, code: CodeType) -> bool:
    names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
    return is_of(node, code) and [name.lstrip("_") for name in names] == [
        re.sub(r"^_.*?__", "", name).lstrip("_") for name in code.co_varnames[: len(names)]
    ]
