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
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame

_CONSTANTS = (Kind.BOOL, Kind.NONE)
"""What is handed on as it is: a function has a version for each."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The symbols of a function's parameters by what a call gives, in the frame that calls."""

    frame: Frame
    given: Mapping[str, Value]

    def value(self, value: Value) -> Value:
        """A value of the function, for the call."""
        if isinstance(value.data, Path) and is_local(value.data.text):
            return self._named(value.data.text)
        device = self.device(value.device)
        if device is value.device:
            return value
        trace = value.trace
        if trace is None and isinstance(value.device, Symbol):  # the argument itself
            trace = self._named(value.device.key.removesuffix(_PLACE)).trace
        settled = value.trait is Trait.GUARDED and not isinstance(device, Guarded)
        return value.but(device=device, trace=trace, trait=None if settled else value.trait)

    def device(self, device: Device) -> Device:
        """A place of the function, for the call."""
        match device:
            case Guarded(key, yes, no):
                yes, no = self.device(yes), self.device(no)
                if not is_local(key):
                    holds = self._holds(key)
                    return choose(key, yes, no) if holds is None else yes if holds else no
                given = self._named(key.removesuffix(IS_NONE))
                return join(yes, no) if given.kind in (Kind.UNKNOWN, Kind.NONE) else no
            case Symbol(key) if is_local(key):
                named = as_device(self._named(key))
                if named != UNKNOWN or not key.endswith(_PLACE):
                    return named
                return self.frame.place(self._named(key.removesuffix(_PLACE)))
        return device

    def _holds(self, key: str) -> bool | None:
        """Whether a flag of the object holds whose method it is: `self.cuda`."""
        for symbol in self.given:
            own = symbol.partition(LOCAL)[0]
            if key.startswith(f"{own}."):
                flag = self._named(f"{symbol}{key.removeprefix(own)}")
                return flag.data if isinstance(flag.data, bool) else None
        return None

    def _named(self, text: str) -> Value:
        """What the path of a parameter leads to: `args in build`, `args in build.device`."""
        for symbol, value in self.given.items():
            rest = text.removeprefix(symbol)
            if rest == text:
                continue
            if not rest:
                return value
            found = self.frame.object(value)
            if found is not None:
                return found.entries.get(rest.removeprefix("."), NOTHING)
            if value.kind is Kind.UNKNOWN and isinstance(value.data, Path):
                inner = f"{value.data.text}{rest}"
                return self.frame.state.paths.get(inner, path_value(inner, value.data.given))
        return NOTHING


_PLACE = ".device"
"""How the key ends of where something is."""


def in_terms(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> tuple[Terms, list[Value], dict[str, Value]]:
    """The symbols for what a call gives, and these arguments with symbols in their place."""
    given: dict[str, Value] = {}

    def symbol(name: str, value: Value) -> Value:
        if value.kind in _CONSTANTS:
            return value
        text = f"{name}{LOCAL}{closure.qualname}"
        given[text] = value
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
    return Terms(frame, given), first + rest, named
