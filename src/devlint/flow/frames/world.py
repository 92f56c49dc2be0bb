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
from devlint.flow.facts import Collective, Context, Fact, KeptDevice, Operand
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.candidates import Candidates
from devlint.flow.frames.coverage import Meetings
from devlint.flow.frames.files import ClassInfo, Closure, File
from devlint.flow.frames.others import Brought, Names, Parameter, Use
from devlint.flow.frames.record import Record
from devlint.flow.frames.steps import ENTRIES, NODES, Steps
from devlint.flow.syntax.walk import descendants
from devlint.model import ir

if TYPE_CHECKING:
    from devlint.flow.frames.frame import Frame
    from devlint.torchapi.table import Table


Attribute = tuple[ClassInfo, str]
"""What objects of a class have under a name."""


class Worked(NamedTuple):
    """A call by which it is seen that worker processes of a loader run a class or a function, with
    its context, and the file where that stands."""

    node: ir.Call
    why: str
    file: File
    context: Context


class Hook(NamedTuple):
    """A function that a module calls, or a part of it; for each argument after the module, whether
    it comes in a tuple."""

    module: Ref
    function: Given
    in_tuples: tuple[bool, ...]


class Notes(NamedTuple):
    """What was noted meanwhile of the file as a whole, wherever the code for it stands."""

    written: set[str]
    passed: set[Parameter]
    backends: set[str]
    options: set[str]


@dataclass(slots=True)
class Trial:
    """What comes of running a function to find something out: its facts, and the steps by which
    what went into code that isn't seen is known."""

    facts: list[Fact] = field(default_factory=list)
    escaped: set[Step] = field(default_factory=set)


Parts = tuple[Value | None, ...]
"""What is known of each of several things that a `forward` returns; None where nothing is."""
Named = Mapping[str, Value | None]
"""The same of the entries of a dict that it returns."""
Returned = Value | Parts | Named | None


@dataclass(slots=True, eq=False, repr=False)
class World:
    """What the frames of one interpretation share."""

    table: Table
    home: File
    """The file that facts are told of."""
    device_types: frozenset[str] = frozenset()
    project: Names | None = None
    """The other files; None where they aren't followed."""
    facts: list[Fact] = field(default_factory=list)
    told_by_calls: list[Fact] = field(default_factory=list)
    """What one call of a module tells of lines of its `forward`: it counts where nothing is told of
    them without that."""
    stores: dict[Attribute, list[tuple[ir.Stmt, Operand]]] = field(default_factory=dict)
    """Where `self.attribute` of a module class is written."""
    inherited: dict[Attribute, list[tuple[ir.Stmt, Operand]]] = field(default_factory=dict)
    """Where constructors of its bases, or of those that stand in another file, write it."""
    kept: dict[Attribute, list[tuple[ir.Node, str]]] = field(default_factory=dict)
    """Where a tensor kept as a plain attribute met something: nodes and words."""
    optimizers: set[Ref] = field(default_factory=set)
    """Those of which it is known whose parameters they hold."""
    left: dict[Ref, Fact] = field(default_factory=dict)
    """What is to be told at the end of optimizers, unless something fixes it before."""
    stale: dict[Attribute, list[tuple[ir.Node, str]]] = field(default_factory=dict)
    """Where a tensor on a device that a module has stored met what follows the module."""
    stale_uses: dict[Attribute, list[ir.Expr]] = field(default_factory=dict)
    """Where such a device is used to make or move something."""
    remembered: list[tuple[ClassInfo, KeptDevice]] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    """Attributes that are written from outside of an object."""
    filled_by_hand: set[Ref] = field(default_factory=set)
    """Modules that get tensors of another place by hand, which may be all that has to be there, and
    those of the file that a function puts into others, which may be moved."""
    passed: set[Parameter] = field(default_factory=set)
    """Parameters of classes for which the file has something to pass."""
    filled: set[Attribute] = field(default_factory=set)
    """Containers of modules of which it is known that a method fills them."""
    reused: dict[ir.If, bool] = field(default_factory=dict)
    """How the tests of caches end while a method runs that finds there what it needs."""
    returned: dict[ir.Function, Returned] = field(default_factory=dict)
    """What `forward` methods return that is no tensor, or on the host wherever their module is; of
    those that return several things, for each."""
    wraps: list[Fact] = field(default_factory=list)
    """Modules that are wrapped on the host, which some backends can't send."""
    backends: set[str] = field(default_factory=set)
    options: set[str] = field(default_factory=set)
    """The backends of process groups, and those that options of the command line stand for."""
    groups: dict[ir.Call, set[str]] = field(default_factory=dict)
    """The calls that start process groups, with the names of backends that they were seen to get;
    "" where they are given none."""
    collectives: list[Collective] = field(default_factory=list)
    hooks: dict[tuple[ir.Call, tuple[ir.Node, ...]], Hook] = field(default_factory=dict)
    """The hooks of modules, by the calls that register them."""
    pending: list[tuple[Closure, Frame, dict[str, bool]]] = field(default_factory=list)
    """Functions found on the way, to be run on their own after the frame that made them; and
    the conditions under which they were found."""
    trial: Trial | None = None
    """What is being found out, if anything: nothing that is seen then is reported."""
    tried: set[ir.Function] = field(default_factory=set)
    """The functions that run for that."""
    summaries: dict[Hashable, Any] = field(default_factory=dict)
    """What calls gave and did, by what they brought."""
    forms: dict[Hashable, Any] = field(default_factory=dict)
    """The first of them by what it brought but for its constants."""
    general: dict[Hashable, Any] = field(default_factory=dict)
    """Those of all such calls; None where they hang on their constants."""
    runs_without_constants: int = 0
    """How many there were: the number of one tells what stands for its constants."""
    candidates: Candidates = field(default_factory=Candidates)
    """Objects of which one is meant."""
    opened: int = 0
    """How often a function was called, or handed on, of which nothing is known but that it is
    one."""
    own: int = 0
    """How often something was noted, or found out, that says nothing to another linted file."""
    run_by_workers: dict[ir.Node, Worked] = field(default_factory=dict)
    """The classes and functions that worker processes of loaders run."""
    uses: dict[ir.Call, Use] = field(default_factory=dict)
    """What may use an accelerator."""
    sets_tensor_type: bool = False
    """The type that `torch.Tensor` is has been set to one that may be of an accelerator."""
    spawned: bool = False
    """Processes are started in another way than by forking: they may use the accelerator."""
    given: dict[ir.Function, dict[str, bool]] = field(default_factory=dict)
    """Of functions that the file alone calls: whether a parameter may be on an accelerator for
    all that each call tells."""
    followed: set[ir.Function] = field(default_factory=set)
    """The parts of functions that have run with these."""
    asked: dict[ir.Function, bool] = field(default_factory=dict)
    """Of functions that the file calls: whether every call stands where an accelerator was asked
    for."""
    required: dict[ir.Function, dict[str, bool]] = field(default_factory=dict)
    """The conditions that hold wherever a call of a function has come back."""
    settings: dict[ir.Function, dict[str, Value | None]] = field(default_factory=dict)
    """Of functions that the file alone calls: the parameters that calls set to `True`, to `False`
    or to the host; None where they differ, or nobody knows."""
    brought: Brought = field(default_factory=dict)
    is_program: bool = False
    """No other file of the project imports it: what it does at its top level is done in earnest."""
    listens: bool = False
    """What the calls of the file bring is all that is asked, also to functions of other files."""
    read_on_host: set[tuple[str, str]] = field(default_factory=set)
    """Places of arguments, by the dotted names of functions, from which these read on the host."""
    beside_host: set[tuple[str, str]] = field(default_factory=set)
    """The same, which meet what was brought to the host."""
    handed: dict[tuple[str, str], set[tuple[str, str]]] = field(default_factory=dict)
    """What calls in the file give to parameters, by dotted names of functions: places of arguments
    of the calling ones; "" for others."""
    sent: set[tuple[str, str]] = field(default_factory=set)
    """The same, from which these send to a device that was chosen."""
    sent_on: set[tuple[str, str]] = field(default_factory=set)
    """The same, from which these send on what they have computed there."""
    moved_batches: set[object] = field(default_factory=set)
    """What loaders yield of which something is moved to where an accelerator may be."""
    tensors_of_batches: dict[Hashable, set[str]] = field(default_factory=dict)
    """Parts of batches, as they are written, that are used as only tensors are, with the functions
    that do."""
    run_on_host: set[str] = field(default_factory=set)
    """The dotted names of methods, and the names of classes, that work where all they are given is
    on the host, and only there."""
    steps: Steps = field(default_factory=Steps)
    meetings: Meetings = field(default_factory=Meetings)
    record: Record | None = None
    """What stands at some lines is written down here, if somebody asks."""
    evaluators: Mapping[type, Callable[[Frame, Any], Value]] = field(default_factory=dict)
    """What evaluates each kind of expression."""
    evaluate: Callable[[Frame, ir.Expr], Value] = lambda frame, node: NOTHING
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
    def noting(self, for_all: bool) -> Iterator[Notes]:
        """What is noted meanwhile of the file as a whole, apart from what was noted before. What is
        found out `for_all` linted files hangs on no call that came before in this one."""
        forms, general = self.forms, self.general
        if for_all:
            self.forms, self.general = {}, {}
        before = Notes(self.written, self.passed, self.backends, self.options)
        self.written, self.passed, self.backends, self.options = notes = Notes(
            set(), set(), set(), set()
        )
        try:
            yield notes
        finally:
            self.forms, self.general = forms, general
            self.written, self.passed, self.backends, self.options = before
            self.note(notes)

    def note(self, notes: Notes) -> None:
        """Note what was noted elsewhere."""
        self.written |= notes.written
        self.passed |= notes.passed
        self.backends |= notes.backends
        self.options |= notes.options

    def effects(self) -> tuple[int, ...]:
        """How much has been written down that hangs on where a call stands, or on its objects."""
        return (
            len(self.facts), len(self.told_by_calls), len(self.optimizers), len(self.left),
            len(self.filled_by_hand), len(self.moved_batches), len(self.wraps),
            len(self.collectives), len(self.pending), len(self.hooks),
        )  # fmt: skip

    def take_back(self, effects: tuple[int, ...]) -> None:
        """Forget what has been written down since there was as much of it."""
        del self.facts[effects[0] :]
        del self.told_by_calls[effects[1] :]
        del self.wraps[effects[6] :]
        del self.collectives[effects[7] :]
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
