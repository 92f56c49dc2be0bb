"""The arguments of a call, evaluated."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.syntax import walk
from devlint.model import ir
from devlint.torchapi.effects import Arg

Given = tuple[ir.Expr, Value]


@dataclass(slots=True, unsafe_hash=True)
class Arguments:
    """As a value, they never change. `all` are the arguments as written, each with its value."""

    all: tuple[tuple[ir.Argument, Value], ...]
    receiver: Given | None = None

    @property
    def count(self) -> int:
        return len(self.all)

    @property
    def unpacked(self) -> bool:
        """Some come from `*args` or `**kwargs`."""
        return any(argument.star for argument, _ in self.all)

    @property
    def given(self) -> list[Given]:
        """The receiver and the arguments."""
        first = [] if self.receiver is None else [self.receiver]
        return first + [(argument.value, value) for argument, value in self.all]

    def hides(self, parameter: tuple[Arg, ...]) -> bool:
        """Whether `*args` or `**kwargs` may give a parameter: what has a name only, `**` alone."""
        by_position = any(isinstance(name, int) for name in parameter)
        return any(
            argument.star == "**" or (argument.star and by_position) for argument, _ in self.all
        )

    def positional(self) -> list[Given]:
        """The positional arguments before the first `*args`."""
        found: list[Given] = []
        for argument, value in self.all:
            if argument.star:
                break
            if argument.keyword is None:
                found.append((argument.value, value))
        return found

    def keyword(self, name: str) -> Given | None:
        for argument, value in self.all:
            if argument.keyword == name:
                return argument.value, value
        return None

    def asks(self, name: str) -> bool:
        """Whether a keyword is given as `True`."""
        found = self.keyword(name)
        return found is not None and found[1].data is True

    def keywords(self) -> dict[str, Given]:
        return {a.keyword: (a.value, v) for a, v in self.all if a.keyword is not None}

    def find(self, parameter: tuple[Arg, ...]) -> Given | None:
        """The argument given for a parameter, by position, keyword or as the receiver."""
        for name in parameter:
            if name == "self":
                if self.receiver is not None:
                    return self.receiver
            elif isinstance(name, int):
                positional = self.positional()
                if 0 <= name < len(positional):
                    return positional[name]
            else:
                found = self.keyword(name)
                if found is not None:
                    return found
        return None

    def value(self, parameter: tuple[Arg, ...]) -> Value:
        """The value given for a parameter; NOTHING where none is."""
        found = self.find(parameter)
        return NOTHING if found is None else found[1]

    def gives(self, parameter: tuple[Arg, ...]) -> bool:
        """Whether a parameter is given, and not as None."""
        found = self.find(parameter)
        return found is not None and found[1].kind is not Kind.NONE


def each_given(node: ir.Expr, values: Sequence[Value]) -> list[Given]:
    """The elements of a sequence, each with its own node where the source shows it."""
    if isinstance(node, ir.Display) and len(node.items) == len(values):
        return list(zip(node.items, values, strict=True))
    return [(node, value) for value in values]


def entry_of(node: ir.Expr, name: str) -> ir.Expr:
    """The node of an entry of a dict, where the source shows it."""
    for key, item in node.items if isinstance(node, ir.Mapping) else ():
        if isinstance(key, ir.Constant) and key.value == name:
            return item
    return node


Taken = tuple[str, ir.Argument, Value]
"""An argument and its value, with the name of the parameter that takes it; "" where none is known
to."""


def by_parameter(function: ir.Function, args: Arguments, has_receiver: bool) -> list[Taken]:
    """The arguments of a call by the parameters that take them."""
    written = (argument for argument, _ in args.all)
    taken = walk.by_parameter(function.params[has_receiver:], written)
    return [(name, each, value) for (name, each), (_, value) in zip(taken, args.all, strict=True)]


def omitted(
    params: tuple[ir.Parameter, ...], named: Container[str | None], count: int
) -> list[ir.Parameter]:
    """The parameters that a call doesn't give: it gives `count` by position, and some by name."""
    return [
        each
        for place, each in enumerate(params)
        if each.name not in named and (each.kind != "positional" or place >= count)
    ]


def fits(params: tuple[ir.Parameter, ...], args: Arguments) -> bool:
    """Whether a function of these parameters takes the arguments of a call, as far as is seen."""
    if args.unpacked:
        return True
    kinds = {parameter.kind for parameter in params}
    places = sum(parameter.kind == "positional" for parameter in params)
    given, named = args.positional(), args.keywords()
    if len(given) > places and "*" not in kinds:
        return False
    if "**" not in kinds and not named.keys() <= {parameter.name for parameter in params}:
        return False
    left = omitted(params, named, len(given))
    return all(each.default is not None or each.kind in ("*", "**") for each in left)


@dataclass(frozen=True, slots=True)
class Partial:
    """What `functools.partial` gives: a function, and the arguments that it has got so far."""

    node: ir.Expr
    function: Value
    args: Arguments
