"""What the frames of one interpretation share."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Hashable,
    Iterator,
    Mapping,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from devlint.flow.domain.derivation import Step
from devlint.flow.domain.paths import Ref
from devlint.flow.domain.values import NOTHING, Value
from devlint.flow.facts import Fact
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.candidates import Candidates
from devlint.flow.frames.coverage import Meetings
from devlint.flow.frames.files import Closure, File
from devlint.flow.frames.notes import Answers, Callers, Classes, OfFile, Processes
from devlint.flow.frames.record import Record
from devlint.flow.frames.steps import ENTRIES, NODES, Steps
from devlint.flow.syntax.walk import descendants
from devlint.model import ir

if TYPE_CHECKING:
    from devlint.flow.frames.frame import Frame
    from devlint.flow.project import Project
    from devlint.torchapi.table import Table


class Hook(NamedTuple):
    """A function that a module calls, or a part of it; for each argument after the module, whether
    it comes in a tuple."""

    module: Ref
    function: Given
    in_tuples: tuple[bool, ...]


@dataclass(slots=True)
class Trial:
    """What comes of running a function to find something out: its facts, and the steps by which
    what went into code that isn't seen is known."""

    facts: list[Fact] = field(default_factory=list)
    escaped: set[Step] = field(default_factory=set)


@dataclass(slots=True, eq=False, repr=False)
class World:
    """What the frames of one interpretation share."""

    table: Table
    home: File
    """The file that facts are told of."""
    device_types: frozenset[str] = frozenset()
    project: Project | None = None
    """The other files; None where they aren't followed."""
    answers: Answers = field(default_factory=Answers)
    classes: Classes = field(default_factory=Classes)
    processes: Processes = field(default_factory=Processes)
    callers: Callers = field(default_factory=Callers)
    of_file: OfFile = field(default_factory=OfFile.nothing)
    facts: list[Fact] = field(default_factory=list)
    told_by_calls: list[Fact] = field(default_factory=list)
    """What one call of a module tells of lines of its `forward`: it counts where nothing is told of
    them without that."""
    optimizers: set[Ref] = field(default_factory=set)
    """Those of which it is known whose parameters they hold."""
    left: dict[Ref, Fact] = field(default_factory=dict)
    """What is to be told at the end of optimizers, unless something fixes it before."""
    filled_by_hand: set[Ref] = field(default_factory=set)
    """Modules that get tensors of another place by hand, which may be all that has to be there, and
    those of the file that a function puts into others, which may be moved."""
    hooks: dict[tuple[ir.Call, tuple[ir.Node, ...]], Hook] = field(default_factory=dict)
    """The hooks of modules, by the calls that register them."""
    pending: list[tuple[Closure, Frame, dict[str, bool]]] = field(default_factory=list)
    """Functions found on the way, to be run on their own after the frame that made them; and
    the conditions under which they were found."""
    trial: Trial | None = None
    """What is being found out, if anything: nothing that is seen then is reported."""
    tried: set[ir.Function] = field(default_factory=set)
    """The functions that run for that."""
    candidates: Candidates = field(default_factory=Candidates)
    """Objects of which one is meant."""
    followed: set[ir.Function] = field(default_factory=set)
    """The parts of functions that have run with these."""
    is_program: bool = False
    """No other file of the project imports it: what it does at its top level is done in earnest."""
    moved_batches: set[object] = field(default_factory=set)
    """What loaders yield of which something is moved to where an accelerator may be."""
    tensors_of_batches: dict[Hashable, set[str]] = field(default_factory=dict)
    """Parts of batches, as they are written, that are used as only tensors are, with the functions
    that do."""
    steps: Steps = field(default_factory=Steps)
    meetings: Meetings = field(default_factory=Meetings)
    record: Record | None = None
    """What stands at some lines is written down here, if somebody asks."""
    evaluators: Mapping[type, Callable[[Frame, Any], Value]] = field(default_factory=dict)
    """What evaluates each kind of expression."""
    call: Callable[[Frame, ir.Call, ir.Expr, Value, Arguments], Value] = (
        lambda frame, node, func, value, args: NOTHING
    )
    invoke: Callable[[Frame, ir.Expr, Closure, list[Value], dict[str, Value]], Value] = (
        lambda frame, node, closure, positional, keywords: NOTHING
    )
    store: Callable[[Frame, ir.Expr, Value], None] = lambda frame, target, value: None
    run: Callable[[Frame, ir.Body], None] = lambda frame, body: None
    """The callbacks up: packages below an expression or a call go through them, so that no
    module imports one above it."""

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """The steps count for nobody: another file may have asked for the same before."""
        before, self.steps = self.steps, Steps()
        try:
            yield
        finally:
            self.steps = before

    @contextmanager
    def noting(self, for_all: bool) -> Iterator[OfFile]:
        """What is noted meanwhile of the file as a whole, apart from what was noted before. What is
        found out `for_all` linted files hangs on no call that came before in this one."""
        answers, before, self.of_file = self.answers, self.of_file, OfFile.nothing()
        variants = answers.variants
        if for_all:
            answers.variants = {}
        try:
            yield self.of_file
        finally:
            answers.variants = variants
            before.update(self.of_file)
            self.of_file = before

    def effects(self) -> tuple[int, ...]:
        """How much has been written down that hangs on where a call stands, or on its objects."""
        return (
            len(self.facts), len(self.told_by_calls), len(self.optimizers), len(self.left),
            len(self.filled_by_hand), len(self.moved_batches), len(self.processes.wraps),
            len(self.processes.collectives), len(self.pending), len(self.hooks),
        )  # fmt: skip

    def take_back(self, effects: tuple[int, ...]) -> None:
        """Forget what has been written down since there was as much of it."""
        del self.facts[effects[0] :]
        del self.told_by_calls[effects[1] :]
        del self.processes.wraps[effects[6] :]
        del self.processes.collectives[effects[7] :]
        del self.pending[effects[8] :]

    def step(self, copied: int = 0) -> None:
        """Count a step, and what it copies. Raises as `Steps.take` does."""
        steps = self.steps  # as `Steps.take` does, without a call: this is done for each statement
        steps.taken += 1 + copied // ENTRIES
        if steps.taken > steps.free:
            steps.look()

    def descendants(self, node: ir.Node) -> list[ir.Node]:
        """A node and all nodes below it. This counts as steps: it is for what looks at a whole body
        once for each of many things in it. Raises `TooManyStepsError`."""
        found = list(descendants(node))
        self.steps.take(1 + len(found) // NODES)
        return found
