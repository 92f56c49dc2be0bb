"""What a function gives in terms of its parameters, told for a call that gives these something.

A function that runs apart from its calls has symbols for its parameters (`device in build`). What
it gives names these: "on `device in build`", "where `x in build` is", "the host if `device in
build` is None". For a call each is what that call gives; what hangs on other names of the function
isn't known there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from devlint.flow.domain.keys import IS_NONE, LOCAL, is_local
from devlint.flow.domain.lattice import UNKNOWN, Device, Guarded, Symbol, choose, join
from devlint.flow.domain.paths import Path, as_device, path_value
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame

_CONSTANTS = (Kind.BOOL, Kind.NONE)
"""What is handed on as it is: a function has a version for each."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The symbols of a function's parameters by what a call gives."""

    given: Mapping[str, Value]
    places: Mapping[str, Device]

    def value(self, value: Value) -> Value:
        """A value of the function, for the call."""
        if isinstance(value.data, Path) and is_local(value.data.text):
            return self.given.get(value.data.text, NOTHING)
        device = self.device(value.device)
        if device is value.device:
            return value
        trace = value.trace
        if trace is None and isinstance(value.device, Symbol):  # the argument itself
            trace = self.given.get(value.device.key.removesuffix(_PLACE), NOTHING).trace
        return value.but(device=device, trace=trace)

    def device(self, device: Device) -> Device:
        """A place of the function, for the call."""
        match device:
            case Guarded(key, yes, no):
                yes, no = self.device(yes), self.device(no)
                if not is_local(key):
                    return choose(key, yes, no)
                given = self.given.get(key.removesuffix(IS_NONE), NOTHING)
                return join(yes, no) if given.kind in (Kind.UNKNOWN, Kind.NONE) else no
            case Symbol(key) if is_local(key):
                return self.places.get(key, UNKNOWN)
        return device


_PLACE = ".device"


def in_terms(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> tuple[Terms, list[Value], dict[str, Value]]:
    """The symbols for what a call gives, and these arguments with symbols in their place."""
    given: dict[str, Value] = {}
    places: dict[str, Device] = {}

    def symbol(name: str, value: Value) -> Value:
        if value.kind in _CONSTANTS:
            return value
        text = f"{name}{LOCAL}{closure.qualname}"
        given[text], places[text] = value, as_device(value)
        places[f"{text}{_PLACE}"] = frame.place(value)
        if value.kind is Kind.DEVICE:
            return Value(Kind.DEVICE, Symbol(text, text))
        if value.kind is Kind.TENSOR:
            place = Symbol(f"{text}{_PLACE}", f"{text}{_PLACE}")
            return value.but(device=place, data=None, trace=None)
        return path_value(text)

    names = [each.name for each in closure.node.params if each.kind == "positional"]
    taken = {each.name for each in closure.node.params if each.kind not in ("*", "**")}
    rest = [NOTHING for _ in positional[len(names) :]]
    first = [symbol(name, value) for name, value in zip(names, positional, strict=False)]
    named = {
        name: symbol(name, value) if name in taken else NOTHING for name, value in keywords.items()
    }
    return Terms(given, places), first + rest, named
