"""How it is known where something is: steps of named sorts, each with what it is about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from devlint.flow.domain.lattice import CPU, UNKNOWN, Device, Known
from devlint.model import ir

_THEIR_DEVICE = "the device of the parameters: {device}"


class Sort(Enum):
    """What a step is, and the words in which users read it; none where they aren't shown it."""

    wording: str

    def __new__(cls, label: str, wording: str = "") -> Sort:
        sort = object.__new__(cls)
        sort._value_ = label
        sort.wording = wording
        return sort

    __hash__ = object.__hash__  # Enum's own is written in Python

    @property
    def shown(self) -> bool:
        return bool(self.wording)

    # --- where a value begins
    DEFAULT = "source.default-device", "made without `device=` here: on {place}"
    NAMED = "source.named", "made on {device} here"
    CHOSEN = "source.chosen", "made on {device} here"
    STORED = "source.stored-device", "made on {device} here"
    BESIDE = "source.where-another-is", "made on {device} here"
    HOST_DATA = "source.host-data", "made from host data here: on the CPU"
    FILE = "source.file", "read from a file here: on the CPU"
    LOADED = "source.loaded", "comes from a DataLoader here: on the CPU"
    GRAPH = "source.data-set", "a data set gives it on the CPU here"
    ENCODED = "source.encoded", "comes from a tokenizer here: on the CPU"
    HOST_GENERATOR = "source.host-generator", "drawn from a generator of the CPU here: on the CPU"
    NUMBERS = "source.numbers", "drawn from a distribution of numbers here: on {device}"
    MODULE = "source.module", "made on {place} here"
    MODULE_NAMED = "source.module-with-device", "made on {device} here"
    PRETRAINED = "source.pretrained", "loaded on the CPU here"
    PRETRAINED_NAMED = "source.pretrained-with-device", "loaded on {device} here"
    PLACED_BY_LIBRARY = "source.placed-by-library", "loaded as {name} model here"
    COPY = "source.copy", "copied on the CPU here"
    GENERATOR = "source.generator", "made on {place} here"
    LITERAL = "source.device-literal", '"{name}" is named here'
    PINNED = "source.pinned", "pinned here"
    WORK = "source.work", "work for the accelerator is queued here"
    GLOBAL_RANK = "source.global-rank", "the number of the process among those of all machines"
    CLOCK = "source.clock", "the clock is read here"
    EARLY_CLOCK = "source.clock-after-work", "read here"
    # --- how it moves
    MOVE_NAMED = "move.named", "moved to {device} here"
    MOVE_CHOSEN = "move.chosen", "moved to {device} here"
    MOVE_HOST = "move.host", "moved to {device} here"
    MOVE_BESIDE = "move.where-another-is", "moved to {device} here"
    MOVE_TYPE = "move.by-type", "moved to {device} by its type here"
    MOVE_STATE = "move.by-state", "takes the tensors of a state here: on {device}"
    MOVE_UNKNOWN = "move.unknown", "moved here"
    PREPARED = "move.by-framework", "prepared here: on {device}"
    MOVE_DATA = "move.data"
    MOVE_USERS = "move.chosen-by-users"
    # --- what a call gives
    RETURN = "summary.return", "returned here"
    MADE_BY_CALL = "summary.other-file", "made by this call"
    CONSTRUCTOR = "summary.constructor", "the constructor of `{name}` makes it on the CPU"
    CALL = "summary.call"
    OUTPUT = "summary.module-output"
    # --- what holds it, and where paths meet
    ITERATION = "flow.iteration"
    ARGUMENT = "flow.argument"
    REGISTERED = "heap.registered"
    HELD = "heap.held-by-module"
    ATTRIBUTE = "heap.attribute-of-other-method"
    CACHED = "heap.attribute-of-earlier-call"
    JOIN = "join.condition"
    OPAQUE = "join.opaque-condition"
    STAND_IN = "join.default-argument"
    # --- the state of an optimizer
    OPTIMIZER = "optimizer.built", "{name} is built here"
    STATE_BUILT = "optimizer.state-built", f"its state is made here, on {_THEIR_DEVICE}"
    STATE_STEPPED = "optimizer.state-stepped", f"its state is made here, on {_THEIR_DEVICE}"
    STATE_LOADED = "optimizer.state-loaded", f"its state is loaded here, onto {_THEIR_DEVICE}"
    # --- what is taken to be so
    HYPOTHESIS = "policy.hypothesis"  # by its name: `name` is the row
    PART_FOLLOWS = "convention.part-follows-input", "`{name}` gives it where its input is"
    FORWARD_INPUT = "convention.forward-input"
    TENSOR_BY_USE = "convention.tensor-by-use"
    PLACED_BATCH = "convention.batch-of-framework", "given by a framework, which has placed it"
    MODULE_MOVES = "convention.module-may-move"
    HOST_LOADER = "convention.loader-on-host"
    OTHER_INPUT = "convention.other-input"
    BESIDE_MOVED = "convention.beside-what-is-moved", "comes here together with what is moved"
    COPIED_ELSEWHERE = (
        "convention.copied-in-another-line",
        "copied to the host here, before it is read",
    )
    HOST_DATA_SET = "convention.data-set-on-host"
    ANNOTATION = "contract.annotation"
    TYPE_ASKED = "contract.isinstance"
    SAME_PLACE = "contract.same-place"
    CALLERS = "context.callers-may-give-accelerators"
    NO_CALL_SEEN = "context.no-call-seen"
    MODEL_FOLLOWS = "convention.model-by-name", "called with `{name}` here, which is on {device}"


@dataclass(slots=True, eq=False)
class Step:
    """One step of a derivation, and the steps before it: a linked list, newest first. It never
    changes, but isn't frozen, as a `Value` isn't."""

    sort: Sort
    node: ir.Node
    before: Step | None = None
    device: Device = UNKNOWN
    name: str = ""


MOVES = frozenset(
    (
        Sort.MOVE_NAMED, Sort.MOVE_CHOSEN, Sort.MOVE_HOST, Sort.MOVE_BESIDE, Sort.MOVE_TYPE,
        Sort.MOVE_STATE,
    )
)  # fmt: skip
"""The moves of which it is known where they go."""
UNTIL_MOVED = frozenset((Sort.HYPOTHESIS, Sort.HOST_LOADER, Sort.HOST_DATA_SET))
"""Assumptions about where something is, which a move makes void."""
SAYS_HOST = frozenset(
    (
        Sort.HOST_DATA, Sort.FILE, Sort.LOADED, Sort.GRAPH, Sort.ENCODED, Sort.HOST_GENERATOR,
        Sort.PRETRAINED, Sort.COPY, Sort.CONSTRUCTOR,
    )
)  # fmt: skip
"""Their words say that it is on the CPU, and they needn't be told a device."""
_MAKING = (Sort.MODULE, Sort.PRETRAINED, Sort.COPY, Sort.GRAPH)


def steps(last: Step | None) -> list[Step]:
    """All steps of a derivation, oldest first."""
    found: list[Step] = []
    while last is not None:
        found.append(last)
        last = last.before
    return found[::-1]


def shown(last: Step | None) -> Step | None:
    """The newest step that users are shown."""
    while last is not None and not last.sort.wording:
        last = last.before
    return last


def unseen(last: Step | None) -> Step | None:
    """A derivation of which users are shown nothing, to go on from it; else None."""
    return last if shown(last) is None else None


def first(last: Step | None) -> ir.Node | None:
    """Where the oldest step is that users are shown."""
    return next((step.node for step in steps(last) if step.sort.shown), None)


def led_by(mark: Step, last: Step | None) -> Step:
    """A derivation with a step put before its oldest one."""
    told = mark
    for step in steps(last):
        told = replace(step, before=told)
    return told


def is_making(told: Step | None) -> bool:
    """Whether a module has never been moved: all that is told of it is the call that made it, on
    the CPU."""
    last = shown(told)
    return last is not None and last.sort in _MAKING and shown(last.before) is None


def made(node: ir.Node, device: Device, owner: object) -> Step:
    """What makes something is given a device; `owner` is what has stored it, if anything."""
    sort = Sort.NAMED if isinstance(device, Known) else Sort.CHOSEN
    return Step(sort if owner is None else Sort.STORED, node, device=device)


def moved(node: ir.Node, device: Device, before: Step | None = None) -> Step:
    """The program moves something: where it was moved before doesn't matter any more."""
    if device == UNKNOWN:
        sort = Sort.MOVE_UNKNOWN
    elif device == CPU:
        sort = Sort.MOVE_HOST
    else:
        sort = Sort.MOVE_NAMED if isinstance(device, Known) else Sort.MOVE_CHOSEN
    return Step(sort, node, _until_moved(before), device)


def as_named(told: Step, place: Step | None) -> Step:
    """A step to a place of which nothing is known but what its name says."""
    by_name = place is not None and place.sort is Sort.HYPOTHESIS and place.before is None
    return replace(place, before=told) if place is not None and by_name else told


def _until_moved(last: Step | None) -> Step | None:
    """The steps that come before the first move; all where there is none."""
    step = last
    while step is not None and step.sort not in MOVES:
        step = step.before
    return last if step is None else step.before
