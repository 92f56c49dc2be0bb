"""A call of a function: answered by a summary, or run.

A function runs once for each version of what it is given, and once more for all that differ in
their constants alone where nothing hangs on these. One of another file runs for all linted files of
the project, unless it is given something that only one of them has.
"""

from __future__ import annotations

from collections.abc import Callable

from devlint.flow.bodies.entries import Entry, entry_of, without_constants
from devlint.flow.bodies.following import Call
from devlint.flow.bodies.summaries import (
    Found,
    Summary,
    agree,
    in_common,
    instantiate,
    summary_of,
)
from devlint.flow.domain.paths import Ref
from devlint.flow.domain.values import NOTHING, Value
from devlint.flow.frames.frame import Frame
from devlint.flow.shared import Shared

Run = Callable[[Frame, Call], tuple[Value, Frame, list[Ref]]]
"""Runs a function inside of a call: what it gives, the frame that it ran in, and what it has
written of the objects that somebody can still find."""


def answer(frame: Frame, call: Call, run: Run) -> Value:
    """What a call gives by the summary of an earlier one, or of this one, which runs then."""
    entry, shared = entry_of(frame, call), _shared(frame, call)
    if entry is None:
        value = run(frame, call)[0]
        return NOTHING if call.is_apart else value
    summary = _known(frame, entry, shared) or _general(frame, call, entry, shared, run)
    if summary is not None:
        frame.world.step(summary.size)
        frame.reached |= summary.reached
        frame.is_deep |= summary.is_deep
        frame.state.wait()
        return instantiate(summary, entry, frame, call.terms)
    value, summary = _find_out(frame, call, entry, shared, run)
    if summary is not None:
        frame.world.step(summary.size)  # as where it is found
        key = entry.key(summary.is_deep)
        frame.world.answers.summaries[key] = summary
        frame.world.answers.forms.setdefault(entry.kind, summary)
        common = in_common(summary, frame.world.home)
        if common is not None and common.found is not None and shared is not None:
            shared.keep(key, call.closure.file.path, common, common.found.inquiry)
    if not call.is_apart:
        return value
    return NOTHING if summary is None else instantiate(summary, entry, frame, call.terms)


def _shared(frame: Frame, call: Call) -> Shared | None:
    """What linted files of the project share, where a call leads into another file. While something
    is found out, and for whoever asks why, each runs what it calls."""
    world, file = frame.world, call.closure.file
    if file.guest is None or file is world.home or world.project is None or world.hooks:
        return None
    if world.callers.listens or world.trial is not None or world.record is not None:
        return None
    return world.project.shared if world.project.shared.is_open else None


def _known(frame: Frame, entry: Entry, shared: Shared | None) -> Summary | None:
    """The summary of an earlier call that brought the same: of the linted file, or of any."""
    world, found = frame.world, None
    for key in (entry.key(is_deep=False), entry.key(is_deep=True)):
        found = found or world.answers.summaries.get(key)
        if found is None and shared is not None and not entry.is_own:
            found = shared.find(key)
            if found is not None:
                world.answers.summaries[key] = found
    return _used(frame, found, entry, shared)


def _used(
    frame: Frame, summary: Summary | None, entry: Entry, shared: Shared | None
) -> Summary | None:
    """A summary if it answers a call, with what was noted when it was found out."""
    if summary is None or not summary.answers(entry) or _leads_back(frame, summary):
        return None
    world, found = frame.world, summary.found
    world.answers.own += found is None or not found.is_shared
    if found is not None and shared is not None:
        shared.rely_on(found.inquiry)
        world.of_file.update(found.notes)
    return summary


def _leads_back(frame: Frame, summary: Summary) -> bool:
    """Whether what a call leads to has led to it: it isn't followed there, and the summary has it
    followed. So what is found out doesn't hang on what was called before."""
    reached = summary.reached
    return any(
        each.function in reached or not reached.isdisjoint(each.cycle) for each in frame.chain()
    )


def _general(
    frame: Frame, call: Call, entry: Entry, shared: Shared | None, run: Run
) -> Summary | None:
    """The summary of all calls that differ from this one in their constants alone. It is found out
    at the second one, by a run without them: that has to give what the first one has given."""
    world = frame.world
    first = world.answers.forms.get(entry.kind)
    if first is None or not entry.constants:
        return None
    if entry.kind not in world.answers.general:
        world.answers.general[entry.kind] = None
        before, effects = frame.state, world.effects()
        frame.state = frame.fork()
        world.answers.runs_without_constants = number = world.answers.runs_without_constants + 1
        plain = without_constants(frame, call, entry, number)
        _, summary = _find_out(frame, plain, entry, shared, run, number)
        frame.state = before
        if summary is not None and agree(first, summary):
            world.answers.general[entry.kind] = summary
        world.take_back(effects)
    return _used(frame, world.answers.general[entry.kind], entry, shared)


def _find_out(
    frame: Frame, call: Call, entry: Entry, shared: Shared | None, run: Run, number: int = 0
) -> tuple[Value, Summary | None]:
    """Run a function: what it gives, and the summary of that, if it has one. `number` is that of a
    run without constants."""
    world = frame.world
    effects, own, opened, found = world.effects(), world.answers.own, world.answers.opened, None
    if shared is None:
        value, inner, left = run(frame, call)
    else:
        with shared.inquiry() as inquiry, world.noting(for_all=not entry.is_own) as notes:
            value, inner, left = run(frame, call)
        shared.rely_on(inquiry)
        found = Found(inquiry, notes, not entry.is_own and world.answers.own == own)
    if call.is_apart:
        inner.state.paths = {}  # the names of what is unknown are its own
    if world.effects() != effects or world.answers.opened != opened or inner.is_cut:
        return value, None
    return value, summary_of(entry, inner, value, left, found, number)
