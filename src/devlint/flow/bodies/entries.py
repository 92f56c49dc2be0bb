"""What a call brings, as something that can be compared with what another one has brought."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from devlint.flow.bodies.following import FAR, Call
from devlint.flow.bodies.reachable import HOLDERS
from devlint.flow.domain.derivation import Step
from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.paths import Path, Ref, Remembered
from devlint.flow.domain.settled import about
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import Kind, Opaque, Value
from devlint.flow.frames.aspects import Around, Aspect, Hidden
from devlint.flow.frames.files import ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import names_in
from devlint.model import ir

Site = tuple[ir.Node, ...]
Constant = tuple[type, Hashable]
"""A number, a string or a function, with its type: 1 is no 1.0."""

_MOST_OBJECTS = 50
"""A call that brings more of them has no summary: to compare them would take longer than to run
most functions."""


class Form:
    """What a call brings but for its constants, whatever its objects are. To compare two of them
    takes a while, and so does their hash."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, *parts: Hashable) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self._parts == other._parts


@dataclass(frozen=True, slots=True)
class Surroundings:
    """How a function is called, besides what it is given: all that it may ask."""

    settled: frozenset[tuple[str, bool]]
    hidden: frozenset[str]
    functions: frozenset[str]
    """The names of those that run there."""
    aspects: tuple[Hashable, ...]
    """In the order of `Aspect`."""

    def answer(self, question: Hashable) -> Hashable:
        """What a function is told that asks this."""
        match question:
            case Aspect():
                return self.aspects[question.value]
            case Around(name):
                return name in self.functions
            case Hidden(key):
                return key in self.hidden
        return about(dict(self.settled), str(question))

    @property
    def is_heard(self) -> bool:
        """Whether what goes wrong in the call is written down."""
        return bool(self.aspects[Aspect.HEARD.value])


@dataclass(frozen=True, slots=True)
class Entry:
    """What a call brings: its form, its constants, each once, and its objects and derivations, in
    the order in which they were met."""

    form: Form
    constants: dict[Constant, Opaque]
    refs: dict[Ref, int]
    traces: list[Step | None]
    site: Site
    around: Surroundings
    is_own: bool
    """It brings something that only this file has: a function, a class, or what hangs on one."""

    @property
    def key(self) -> Hashable:
        """What tells it from all calls that bring something else."""
        return self.form, tuple(self.constants)


def entry_of(frame: Frame, call: Call) -> Entry | None:
    """What a call brings, with what the function sees around it; None where that is too much."""
    closure, positional = call.closure, call.positional
    reading = _Reading(frame)
    seen = [reading.value(value) for value in positional]
    named = tuple((name, reading.value(value)) for name, value in call.keywords.items())
    around = tuple((name, reading.whole(value)) for name, value in _seen(frame, closure))
    paths = tuple((path, reading.whole(value)) for path, value in call.paths(frame).items())
    if len(reading.refs) > _MOST_OBJECTS:
        return None
    reading.look(closure.owner)
    *_, outermost = frame.chain()
    maker = outermost.function if outermost.name == "__init__" else None
    is_own = closure.file is frame.world.home
    heard = frame.recording and not frame.expecting
    surroundings = Surroundings(
        frozenset(call.known(frame).items()), call.hidden(frame),
        frozenset(each.name for each in frame.chain()),
        (heard, min(frame.depth, FAR), call.role, frame.guard, maker),
    )  # fmt: skip
    form = Form(
        closure.node, closure.file, closure.owner, tuple(seen), named, around, paths,
        frame.state.default, call.is_apart,
    )  # fmt: skip
    return Entry(
        form, reading.constants, reading.refs, reading.traces, (*frame.here, call.node),
        surroundings, is_own=is_own or reading.is_own,
    )  # fmt: skip


def without_constants(frame: Frame, call: Call, entry: Entry, run: int) -> Call:
    """A call that brings something that stands for each of its constants, as do its objects then in
    the state of the frame; `run` tells what stands for them from what others do."""

    def opaque(value: Value) -> Value:
        constant = constant_of(value)
        if constant is None:
            return value
        return value.but(data=replace(entry.constants[constant], run=run))

    heap = frame.state.heap
    for ref in entry.refs:
        heap[ref] = heap[ref].mapped(opaque)
    keywords = {name: opaque(value) for name, value in call.keywords.items()}
    return replace(call, positional=[*map(opaque, call.positional)], keywords=keywords)


def constant_of(value: Value) -> Constant | None:
    """The number, string or function that a value is, unless more is known of it than that."""
    kind, data = value.kind, value.data
    if kind not in _CONSTANT or data is None or value.trait is not None:
        return None
    if value.device is not UNKNOWN or (kind is Kind.FUNCTION and not isinstance(data, _FUNCTIONS)):
        return None
    return type(data), data


_CONSTANT = (Kind.NUMBER, Kind.STRING, Kind.FUNCTION)
_FUNCTIONS = (Closure, Opaque)
_PLAIN = frozenset((Kind.STRING, Kind.NUMBER, Kind.BOOL, Kind.LIBRARY))
"""Of these no data is a reference."""


def _mentioned(function: ir.Function) -> tuple[str, ...]:
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


class _Reading:
    """Values and what they refer to as something that can be compared: references are numbers, in
    the order in which they are met, and each stands with its object where it is met first."""

    def __init__(self, frame: Frame) -> None:
        project = frame.world.project
        self._candidates = frame.world.candidates
        self._heap = frame.state.heap
        self._home = frame.world.home
        self._global: Mapping[Ref, Object] = {} if project is None else project.heap
        self.constants: dict[Constant, Opaque] = {}
        self.refs: dict[Ref, int] = {}
        self.traces: list[Step | None] = []
        self.is_own = False
        """Something was met that only the linted file has."""

    def value(self, value: Value) -> Hashable:
        """A value, with what stands for its constant."""
        if value.data is None and value.trace is None:
            return value
        constant = constant_of(value)
        if constant is None:
            return self.whole(value)
        self.traces.append(value.trace)
        mark = self.constants.get(constant)
        if mark is None:
            mark = self.constants[constant] = Opaque(len(self.constants))
            self.look(value.data)
        return value.kind, mark, value.origin, value.scalar, value.grad

    def whole(self, value: Value) -> Hashable:
        """A value as it is."""
        data = value.data
        if data is not None and type(data) not in _ATOMS and value.kind not in _PLAIN:
            data = self.thing(data)
        if data is value.data and value.trace is None:
            return value
        self.traces.append(value.trace)
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
            found.source if type(found.source) in _ATOMS else self.thing(found.source),
            found.guarded, found.managed, found.stateless, found.gives_number, found.unsure,
            None if found.trace is None else found.trace.sort,
        )  # fmt: skip

    def thing(self, thing: Any) -> Any:
        """The same of what a value holds; itself where it has no references in it."""
        if isinstance(thing, (tuple, frozenset)):
            number = self.refs.get(thing)
            if number is not None:
                return Number(number)
            found = self._heap.get(thing)
            if found is not None:
                self.refs[thing] = number = len(self.refs)
                told = self.content(found) if number < _MOST_OBJECTS else None
                if isinstance(thing, frozenset):
                    return (Number(number), told, self._several(thing))
                return (Number(number), told)
        if isinstance(thing, tuple):
            if thing in self._global:
                return thing
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
        self.look(thing)
        return thing

    def look(self, thing: Any) -> None:
        """Note whether only the linted file has something that no reference is in."""
        if isinstance(thing, (Closure, ClassInfo)):
            self.is_own |= thing.file is self._home or bool(thing.around)
        else:
            self.is_own |= not isinstance(thing, _ANYWHERE) or type(thing) is Remembered

    def _several(self, refs: frozenset[Any]) -> Any:
        """The same of references of which one is meant, in the order of what is there: a set has
        another one in each run."""
        known = self._candidates.as_made(self._heap, refs)
        told = tuple([self.thing(ref) for ref in known])
        return (refs.difference(known), told) if known else refs


_ATOMS = frozenset((str, int, float, complex, bytes, bool, type(None), Path))
"""Of these nothing is a reference, or hangs on one, and they are the same whoever has them."""
_ANYWHERE = (str, int, float, complex, bytes, type(None), Enum, Path)
"""What is the same whoever has it."""


@dataclass(frozen=True, slots=True)
class Number:
    """A reference, by when it is met."""

    number: int
