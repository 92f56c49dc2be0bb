"""A call of a function: answered by a summary, or run.

A function runs once for each version of what it is given, and once more for all that differ in
their constants alone where nothing hangs on these. One of another file runs for all linted files of
the project, unless it is given something that only one of them has.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

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
from devlint.flow.frames.aspects import asked_by_caller
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.placement import outermost
from devlint.flow.shared import Shared

Run = Callable[[Frame, Call], tuple[Value, Frame, list[Ref]]]
"""Runs a function inside of a call: what it gives, the frame that it ran in, and what it has
written of the objects that somebody can still find."""


@dataclass(slots=True)
class Variants:
    """Calls that differ in their constants alone."""

    first: Summary
    """What the first of them gave and did."""
    general: Summary | None = None
    """What all of them give and do; None where that hangs on their constants."""
    is_tried: bool = False


def answer(frame: Frame, call: Call, run: Run) -> Value:
    """What a call gives by the summary of an earlier one, or of this one, which runs then."""
    entry = entry_of(frame, call)
    if entry is None:
        value = run(frame, call)[0]
        return NOTHING if call.is_apart else value
    shared = _shared(frame, call, entry)
    summary = _known(frame, entry, shared) or _general(frame, call, entry, shared, run)
    if summary is not None:
        frame.world.step(summary.size)
        frame.reached |= summary.reached
        frame.asked.update(map(asked_by_caller, summary.asked))
        frame.state.wait()
        return instantiate(summary, entry, frame, call.terms)
    value, summary = _find_out(frame, call, entry, shared, run)
    if summary is not None:
        frame.world.step(summary.size)  # as where it is found
        frame.world.answers.summaries.setdefault(entry.key, []).append(summary)
        if _variants(frame, entry) is None:
            frame.world.answers.variants.setdefault(entry.form, []).append(Variants(summary))
        common = in_common(summary, frame.world.home)
        if common is not None and common.found is not None and shared is not None:
            shared.keep(entry.key, call.closure.file.path, common, common.found.inquiry)
    if not call.is_apart:
        return value
    return NOTHING if summary is None else instantiate(summary, entry, frame, call.terms)


def _shared(frame: Frame, call: Call, entry: Entry) -> Shared | None:
    """What linted files of the project share, where a call leads into another file. While something
    is found out, and for whoever asks why, each runs what it calls; hooks of a module that a call
    brings are of one file."""
    world, file = frame.world, call.closure.file
    if file.guest is None or file is world.home or world.project is None:
        return None
    if any(_may_be_called(world.project.heap, entry, each.module) for each in world.hooks.values()):
        return None
    if world.callers.listens or world.trial is not None or world.record is not None:
        return None
    return world.project.shared if world.project.shared.is_open else None


def _may_be_called(around: Container[Ref], entry: Entry, module: Ref) -> bool:
    """Whether a function can call a module: it is given that, or a part, or it may know it."""
    return module in around or any(outermost(ref) == module for ref in entry.refs)


def _known(frame: Frame, entry: Entry, shared: Shared | None) -> Summary | None:
    """The summary of an earlier call that brought the same: of the linted file, or of any."""
    known: list[Summary] = frame.world.answers.summaries.setdefault(entry.key, [])
    found = next((each for each in known if each.answers(entry)), None)
    if found is None and shared is not None and not entry.is_own:
        found = shared.find(entry.key, lambda each: each.answers(entry))
        if found is not None:
            known.append(found)
    return _used(frame, found, entry, shared)


def _used(
    frame: Frame, summary: Summary | None, entry: Entry, shared: Shared | None
) -> Summary | None:
    """A summary that answers a call, with what was noted when it was found out."""
    if summary is None or _leads_back(frame, summary):
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
    world, variants = frame.world, _variants(frame, entry)
    if variants is None or not entry.constants:
        return None
    if not variants.is_tried:
        variants.is_tried = True
        before, effects = frame.state, world.effects()
        frame.state = frame.fork()
        world.answers.runs_without_constants = number = world.answers.runs_without_constants + 1
        plain = without_constants(frame, call, entry, number)
        _, summary = _find_out(frame, plain, entry, shared, run, number)
        frame.state = before
        if summary is not None and agree(variants.first, summary):
            variants.general = summary
        world.take_back(effects)
    found = variants.general
    answers = found is not None and found.answers(entry)
    return _used(frame, found if answers else None, entry, shared)


def _variants(frame: Frame, entry: Entry) -> Variants | None:
    """The calls of which an earlier one differs from this in its constants alone."""
    several: list[Variants] = frame.world.answers.variants.get(entry.form, [])
    return next((each for each in several if each.first.answers(entry)), None)


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
