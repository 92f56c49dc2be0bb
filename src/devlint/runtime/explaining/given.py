"""What a call gives to the parameters of a function, as expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devlint.runtime.explaining.scopes import Scope

Step = tuple[str, Any]
"""`attr` and a name, `item` and a key or nothing for any, `enter` for what `with` gets."""
Path = tuple[Step, ...]
"""From a value to a part of it."""
ANY: Step = ("item", None)


@dataclass(frozen=True)
class Point:
    """A part of what an expression gives, where a scope has it."""

    scope: Scope
    node: ast.expr
    path: Path = ()

    def part(self, path: Path) -> Point:
        return replace(self, path=self.path + path)


@dataclass(frozen=True)
class Given:
    """The arguments of a call."""

    args: Sequence[Point]
    keywords: Sequence[tuple[str | None, Point]] = ()
    own: Point | None = None
    """The object whose method is called."""
    is_whole: bool = True
    """Whether all arguments are known."""

    @classmethod
    def of(cls, scope: Scope, call: ast.Call) -> Given:
        args = [Point(scope, node) for node in call.args]
        return cls(args, [(k.arg, Point(scope, k.value)) for k in call.keywords])

    def behind(self, first: Given) -> Given:
        """With the arguments that `functools.partial` was given before."""
        return Given((*first.args, *self.args), (*self.keywords, *first.keywords), self.own)

    def at(self, index: int, path: Path) -> Point | None:
        """What stands at a place."""
        for place, point in enumerate(self.args[: index + 1]):
            if isinstance(point.node, ast.Starred):
                inner = Point(point.scope, point.node.value, point.path)
                return inner.part((("item", index - place), *path))
        return self.args[index].part(path) if index < len(self.args) else None

    def named(self, name: str, path: Path) -> Point | None:
        """What is given by a name."""
        for keyword, point in self.keywords:
            if keyword == name:
                return point.part(path)
        spread = [point for keyword, point in self.keywords if keyword is None]
        return spread[0].part((("item", name), *path)) if len(spread) == 1 else None

    def each(self) -> Iterator[Point]:
        """All arguments."""
        for point in self.args:
            if isinstance(point.node, ast.Starred):
                yield Point(point.scope, point.node.value, point.path).part((ANY,))
            else:
                yield point
        for _, point in self.keywords:
            yield point


def bound(function: Any, given: Given, name: str, path: Path) -> Point | None:
    """What a call gives for a parameter, or for a part of `*args` and `**kwargs`."""
    rules: ast.arguments = function.args
    places = [each.arg for each in (*rules.posonlyargs, *rules.args)]
    if given.own is not None and places:
        if name == places[0]:
            return given.own.part(path)
        places = places[1:]
    if name in places:
        return given.at(places.index(name), path) or given.named(name, path)
    if any(name == each.arg for each in rules.kwonlyargs):
        return given.named(name, path)
    if not path or path[0][0] != "item":
        return None
    key, rest = path[0][1], path[1:]
    if rules.vararg is not None and name == rules.vararg.arg:
        return given.at(len(places) + (key if type(key) is int and key >= 0 else 0), rest)
    if rules.kwarg is not None and name == rules.kwarg.arg and type(key) is str:
        return given.named(key, rest)
    return None


def own_name_of(scope: Scope) -> str:
    """What a method calls its own object."""
    names = parameter_names(scope.node)
    return names[0] if names else ""


def default(function: Any, name: str) -> ast.expr | None:
    """What a parameter is where a call gives nothing for it."""
    rules: ast.arguments = function.args
    places = [each.arg for each in (*rules.posonlyargs, *rules.args)]
    if name in places:
        index = places.index(name) - len(places)
        return rules.defaults[index] if -index <= len(rules.defaults) else None
    for each, value in zip(rules.kwonlyargs, rules.kw_defaults, strict=True):
        if each.arg == name:
            return value
    return None


def parameter_names(function: Any) -> list[str]:
    rules: ast.arguments | None = getattr(function, "args", None)
    if rules is None:
        return []
    found = [*rules.posonlyargs, *rules.args, *rules.kwonlyargs]
    return [each.arg for each in (*found, rules.vararg, rules.kwarg) if each is not None]


def unpacked(function: Any) -> tuple[str, ...]:
    """The names of `*args` and `**kwargs`."""
    found = (function.args.vararg, function.args.kwarg)
    return tuple(each.arg for each in found if each is not None)
