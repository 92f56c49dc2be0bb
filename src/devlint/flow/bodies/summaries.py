"""Summaries: what a call of a function gives and does, kept by all that it hangs on.

A call that brings what an earlier one has brought, under the same conditions, is answered by the
summary of that: its own objects stand in the place of the earlier ones, and what was made there is
made here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from devlint.flow.bodies.entries import Entry, Number, Site
from devlint.flow.bodies.reachable import HOLDERS
from devlint.flow.bodies.terms import Terms
from devlint.flow.domain.derivation import Step
from devlint.flow.domain.lattice import Device
from devlint.flow.domain.paths import Path, Ref
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import Opaque, Value
from devlint.flow.frames.aspects import Asked, Aspect
from devlint.flow.frames.files import ClassInfo, Closure, File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.notes import OfFile
from devlint.flow.surroundings import Inquiry
from devlint.model import ir


@dataclass(frozen=True, slots=True)
class Found:
    """How a call of another file's function was found out, and what was noted meanwhile."""

    inquiry: Inquiry
    notes: OfFile
    is_shared: bool
    """It holds for all linted files of the project."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a call gives and does."""

    entry: Entry
    value: Value
    written: tuple[tuple[Ref, Object], ...]
    default: Device
    found: Found | None
    run: int
    """The run without constants that gave it; 0 where these were known."""
    reached: frozenset[ir.Function]
    """The functions that it led to, and its own."""
    asked: Asked
    """What it has asked of how it was called: it hangs on nothing else of that."""

    @property
    def size(self) -> int:
        """How much is to be done for a call that it answers."""
        inside = sum(len(found.inside) for _, found in self.written)
        return len(self.entry.traces) + inside

    def answers(self, entry: Entry) -> bool:
        """Whether it is all that a call would do."""
        around = entry.around
        return all(around.answer(question) == answer for question, answer in self.asked.items())


def summary_of(
    entry: Entry, inner: Frame, value: Value, left: list[Ref], found: Found | None, run: int
) -> Summary | None:
    """The summary of a call that has run; None where it hangs on more than it was brought."""
    if inner.state.paths and isinstance(value.data, Path):
        return None  # what was written to it is found by a name of the function's own
    written = tuple((ref, inner.state.heap[ref]) for ref in left)
    probe = _Moving(dict.fromkeys(entry.refs, _ELSEWHERE), {}, entry.site, _ELSEWHERE)
    if any(probe.thing(ref) is ref for ref, _ in written):
        return None  # an object that others find without it
    assert inner.function is not None
    reached = frozenset((*inner.reached, inner.function))
    asked = {question: entry.around.answer(question) for question in inner.asked}
    if entry.around.is_heard:
        asked.pop(Aspect.HEARD, None)  # nothing was to be told, and nothing would be elsewhere
    return Summary(entry, value, written, inner.state.default, found, run, reached, asked)


_NOWHERE = ir.Name("", None)
_ELSEWHERE = (_NOWHERE,)


def in_common(summary: Summary, home: File) -> Summary | None:
    """A summary that holds nothing of the call that it is of, for other linted files; None where
    what it gives holds something that they would share, such as a function that was made there."""
    entry = summary.entry
    if summary.found is None or not summary.found.is_shared:
        return None
    traces = {id(each): Step(each.sort, _NOWHERE) for each in entry.traces if each is not None}
    refs = _numbers(entry)
    moving = _Moving(refs, traces, entry.site, _ELSEWHERE)
    value = moving.value(summary.value)
    written = tuple((moving.thing(ref), moving.content(found)) for ref, found in summary.written)
    if any(_is_made_there(each, home) for each in (value, *written)):
        return None
    marks = [None if each is None else traces[id(each)] for each in entry.traces]
    numbers = {refs[ref]: number for ref, number in entry.refs.items()}
    apart = replace(entry, refs=numbers, traces=marks, site=_ELSEWHERE)
    return replace(summary, entry=apart, value=value, written=written)


def _numbers(entry: Entry) -> dict[Ref, Ref]:
    """What stands for the objects that a call brings, whatever they are."""
    return {ref: (Number(number),) for ref, number in entry.refs.items()}


def _is_made_there(thing: Any, home: File) -> bool:
    """Whether something is, or holds, a function or a class of one file or of one call."""
    if isinstance(thing, (Closure, ClassInfo)):
        return thing.file is home or bool(thing.around)
    if isinstance(thing, Value):
        return _is_made_there(thing.data, home)
    if isinstance(thing, Object):
        return any(_is_made_there(each, home) for each in (*thing.inside, thing.source))
    if isinstance(thing, (tuple, frozenset)):
        return any(_is_made_there(each, home) for each in thing)
    if isinstance(thing, HOLDERS):
        return any(_is_made_there(getattr(thing, each.name), home) for each in fields(thing))
    return False


def agree(plain: Summary, general: Summary) -> bool:
    """Whether what a call gives and does hangs on none of its constants: `general` was found out
    without them."""
    constants = _constants(general, plain.entry)
    return _apart(plain, {}) == _apart(general, constants)


def _constants(summary: Summary, entry: Entry) -> dict[Opaque, Hashable]:
    """The constants of a call by what stands for them in a summary."""
    if not summary.run:
        return {}
    return {replace(mark, run=summary.run): value for (_, value), mark in entry.constants.items()}


def _apart(summary: Summary, constants: Mapping[Opaque, Hashable]) -> object:
    """What a call gives and does, whatever its objects are, with these constants."""
    site = summary.entry.site
    moving = _Moving(_numbers(summary.entry), {}, site, _ELSEWHERE, constants=constants)
    written = {moving.thing(ref): moving.content(found) for ref, found in summary.written}
    return moving.value(summary.value), written, summary.default


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
    moving = _Moving(refs, given, old.site, entry.site, terms, _constants(summary, entry))
    for ref, found in summary.written:
        frame.state.heap[moving.thing(ref)] = moving.content(found)
    frame.state.default = summary.default
    return moving.value(summary.value)


@dataclass(frozen=True, slots=True)
class _Moving:
    """Values and objects of one call as those of another one: its own objects, derivations and
    constants in the place of the earlier ones, and what was made there made here."""

    refs: Mapping[Ref, Ref]
    traces: Mapping[int, Step | None]
    old: Site
    new: Site
    terms: Terms | None = None
    constants: Mapping[Opaque, Hashable] = field(default_factory=dict)

    def value(self, value: Value) -> Value:
        if self.terms is not None:
            value = self.terms.value(value)
        data, trace = self.thing(value.data), self.trace(value.trace)
        if data is value.data and trace is value.trace:
            return value
        return value.but(data=data, trace=trace)

    def content(self, found: Object) -> Object:
        device = found.device if self.terms is None else self.terms.device(found.device)
        source, trace = self.thing(found.source), self.trace(found.trace)
        moved = found.mapped(self.value)
        if device is moved.device and source is moved.source and trace is moved.trace:
            return moved
        return replace(moved, device=device, source=source, trace=trace)

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
        if isinstance(thing, Opaque):
            return self.constants.get(thing, thing)
        if isinstance(thing, HOLDERS):
            inside = {each.name: getattr(thing, each.name) for each in fields(thing)}
            changed = {name: self.thing(each) for name, each in inside.items()}
            same = all(changed[name] is each for name, each in inside.items())
            return thing if same else replace(thing, **changed)
        return thing
