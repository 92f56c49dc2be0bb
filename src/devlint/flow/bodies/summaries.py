"""Summaries: what a call of a function gives and does, kept by all that it hangs on.

A function runs once for each version of what it is given. A call that brings what an earlier one
has brought, under the same conditions, is answered by the summary of that: its own objects stand in
the place of the earlier ones, and what was made there is made here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from devlint.flow.bodies.following import FAR, Call
from devlint.flow.bodies.reachable import HOLDERS
from devlint.flow.bodies.terms import Terms
from devlint.flow.domain.derivation import Step
from devlint.flow.domain.lattice import Device
from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import names_in
from devlint.model import ir

Site = tuple[ir.Node, ...]

_MOST_OBJECTS = 200
"""A call that brings more of them has no summary: to compare them would take longer than to run
most functions."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a call brings: the `key` tells what it is, whatever the objects are; these follow in the
    order in which they were met, as do the derivations."""

    key: Hashable
    refs: dict[Ref, int]
    traces: list[Step | None]
    site: Site
    is_heard: bool
    """What goes wrong in the call is written down."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a call gives and does."""

    entry: Entry
    value: Value
    written: tuple[tuple[Ref, Object], ...]
    default: Device

    def answers(self, entry: Entry) -> bool:
        """Whether it is all that a call would do: one that has told nobody what goes wrong in it
        might have something to tell."""
        return self.entry.is_heard or not entry.is_heard


def entry_of(frame: Frame, call: Call) -> Entry | None:
    """What a call brings, with what the function sees around it; None where that is too much."""
    closure, positional = call.closure, call.positional
    reading = _Reading(frame.state.heap)
    seen = [reading.value(value) for value in positional]
    named = tuple((name, reading.value(value)) for name, value in call.keywords.items())
    around = tuple((name, reading.value(value)) for name, value in _seen(frame, closure))
    if len(reading.refs) > _MOST_OBJECTS:
        return None
    owner = frame.class_of(positional[0]) if positional else None
    made = owner is not None and frame.outermost.function is owner.methods.get("__init__")
    is_own = closure.file is frame.world.home
    context = (
        call.role, frame.guard if is_own else None, frame.state.default,
        frozenset(call.known(frame).items()), call.hidden(frame),
        made, min(frame.depth, FAR), frame.nested(),
        _TELLING & {each.name for each in frame.chain()},
    )  # fmt: skip
    key = (closure.node, closure.file, closure.owner, tuple(seen), named, around, context)
    is_heard = frame.recording and not frame.expecting
    return Entry(key, reading.refs, reading.traces, (*frame.site, call.node), is_heard)


_PLAIN = frozenset((Kind.STRING, Kind.NUMBER, Kind.BOOL, Kind.LIBRARY))
"""Of these no data is a reference."""
_TELLING = frozenset(("__init__", "reset_parameters"))
"""Functions that say, wherever they are in the chain of calls, what becomes of what is made."""


def _mentioned(function: ir.Function | ir.Lambda) -> tuple[str, ...]:
    """The names that a function mentions, but for its parameters."""
    return tuple(sorted(set(names_in(function)) - {each.name for each in function.params}))


def _seen(frame: Frame, closure: Closure) -> list[tuple[str, Value]]:
    """The names around a function that it mentions, as they are now: of functions around it, and
    those of its file that stand for objects."""
    found, bound = [], closure.file.names
    for name in closure.file.once(_mentioned, closure.node):
        scope = next((each.names for each in closure.around if name in each.names), None)
        if scope is not None:
            found.append((name, scope[name]))
            continue
        value = dict.get(bound, name)
        if value is not None and value.data is not None and value.data in frame.state.heap:
            found.append((name, value))
    return found


def summary_of(entry: Entry, inner: Frame, value: Value, left: list[Ref]) -> Summary | None:
    """The summary of a call that has run; None where it hangs on more than it was brought."""
    if inner.state.paths:
        return None
    written = tuple((ref, inner.state.heap[ref]) for ref in left)
    probe = _Moving(dict.fromkeys(entry.refs, _ELSEWHERE), {}, entry.site, _ELSEWHERE)
    if any(probe.thing(ref) is ref for ref, _ in written):
        return None  # an object that others find without it
    return Summary(entry, value, written, inner.state.default)


_ELSEWHERE = (ir.Name("", None),)


def instantiate(summary: Summary, entry: Entry, frame: Frame, terms: Terms | None = None) -> Value:
    """Do in a frame what a summary says, with what this call brings. `terms` are those of a
    function that has run apart."""
    old = summary.entry
    refs = dict(zip(old.refs, entry.refs, strict=True))
    given = {
        id(one): other
        for one, other in zip(old.traces, entry.traces, strict=True)
        if one is not None and other is not one
    }
    moving = _Moving(refs, given, old.site, entry.site, terms)
    inside = sum(len(found.inside) for _, found in summary.written)
    frame.world.step(len(entry.traces) + inside)
    for ref, found in summary.written:
        frame.state.heap[moving.thing(ref)] = moving.content(found)
    frame.state.default = summary.default
    return moving.value(summary.value)


class _Reading:
    """Values and what they refer to as something that can be compared: references are numbers, in
    the order in which they are met, and each stands with its object where it is met first."""

    def __init__(self, heap: Mapping[Ref, Object]) -> None:
        self._heap = heap
        self.refs: dict[Ref, int] = {}
        self.traces: list[Step | None] = []

    def value(self, value: Value) -> Hashable:
        self.traces.append(value.trace)
        if value.data is None or value.kind in _PLAIN:
            return value
        data = self.thing(value.data)
        if data is value.data:
            return value
        return (
            value.kind, value.device, data, value.origin, value.scalar, value.grad, value.trait,
        )  # fmt: skip

    def content(self, found: Object) -> Hashable:
        self.traces.append(found.trace)
        return (
            found.device,
            None if found.items is None else tuple([self.value(each) for each in found.items]),
            tuple([(name, self.value(each)) for name, each in found.entries.items()]),
            self.value(found.element),
            self.thing(found.source), found.guarded, found.managed, found.stateless,
            found.gives_number, found.unsure, None if found.trace is None else found.trace.sort,
        )  # fmt: skip

    def thing(self, thing: Any) -> Any:
        """The same of what a value holds; itself where it has no references in it."""
        if isinstance(thing, (tuple, frozenset)):
            number = self.refs.get(thing)
            if number is not None:
                return _Number(number)
            found = self._heap.get(thing)
            if found is not None:
                self.refs[thing] = number = len(self.refs)
                told = self.content(found) if number < _MOST_OBJECTS else None
                if isinstance(thing, frozenset):
                    return (_Number(number), told, self._several(thing))
                return (_Number(number), told)
        if isinstance(thing, tuple):
            parts = tuple([self.thing(part) for part in thing])
            return thing if all(a is b for a, b in zip(parts, thing, strict=True)) else parts
        if isinstance(thing, frozenset):
            return self._several(thing)
        if isinstance(thing, Value):
            return self.value(thing)
        if isinstance(thing, HOLDERS):
            inside = [getattr(thing, each.name) for each in fields(thing)]
            seen = [self.thing(each) for each in inside]
            same = all(a is b for a, b in zip(seen, inside, strict=True))
            return thing if same else (type(thing), *seen)
        return thing

    def _several(self, refs: frozenset[Any]) -> Any:
        """The same of references of which one is meant, in the order of what is there: a set has
        another one in each run."""
        known = [ref for ref in self._heap if ref in refs]
        told = tuple([self.thing(ref) for ref in known])
        return (refs.difference(known), told) if known else refs


@dataclass(frozen=True, slots=True)
class _Number:
    """A reference, by when it is met."""

    number: int


@dataclass(frozen=True, slots=True)
class _Moving:
    """Values and objects of one call as those of another one: its own objects and derivations in
    the place of the earlier ones, and what was made there made here."""

    refs: Mapping[Ref, Ref]
    traces: Mapping[int, Step | None]
    old: Site
    new: Site
    terms: Terms | None = None

    def value(self, value: Value) -> Value:
        if self.terms is not None:
            value = self.terms.value(value)
        data, trace = self.thing(value.data), self.trace(value.trace)
        if data is value.data and trace is value.trace:
            return value
        return value.but(data=data, trace=trace)

    def content(self, found: Object) -> Object:
        return replace(
            found,
            device=found.device if self.terms is None else self.terms.device(found.device),
            items=None if found.items is None else tuple(map(self.value, found.items)),
            entries={name: self.value(each) for name, each in found.entries.items()},
            element=self.value(found.element),
            source=self.thing(found.source),
            trace=self.trace(found.trace),
        )

    def trace(self, trace: Step | None) -> Step | None:
        if trace is None or not self.traces:
            return trace
        if id(trace) in self.traces:
            return self.traces[id(trace)]
        before = self.trace(trace.before)
        return trace if before is trace.before else replace(trace, before=before)

    def thing(self, thing: Any) -> Any:
        """The same of what a value holds; itself where nothing of it hangs on the call."""
        if isinstance(thing, (tuple, frozenset)):
            known = self.refs.get(thing)
            if known is not None:
                return known
        if isinstance(thing, tuple):
            length = len(self.old)
            if thing[:length] == self.old:
                return (*self.new, *thing[length:])
            parts = tuple([self.thing(part) for part in thing])
            return thing if all(a is b for a, b in zip(parts, thing, strict=True)) else parts
        if isinstance(thing, frozenset):
            moved = frozenset(map(self.thing, thing))
            return thing if moved == thing else moved
        if isinstance(thing, Value):
            return self.value(thing)
        if isinstance(thing, HOLDERS):
            inside = {each.name: getattr(thing, each.name) for each in fields(thing)}
            changed = {name: self.thing(each) for name, each in inside.items()}
            same = all(changed[name] is each for name, each in inside.items())
            return thing if same else replace(thing, **changed)
        return thing
