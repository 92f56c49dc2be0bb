"""What the frames of one interpretation write down for each other, by what it is about."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from devlint.flow.domain.values import Value
from devlint.flow.facts import Collective, Context, Fact, KeptDevice, Operand
from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.frames.others import Brought, Parameter, Use
from devlint.model import ir

Attribute = tuple[ClassInfo, str]
"""What objects of a class have under a name."""
Parts = tuple[Value | None, ...]
"""What is known of each of several things that a `forward` returns; None where nothing is."""
Named = Mapping[str, Value | None]
"""The same of the entries of a dict that it returns."""
Returned = Value | Parts | Named | None


class Worked(NamedTuple):
    """A call by which it is seen that worker processes of a loader run a class or a function, with
    its context, and the file where that stands."""

    node: ir.Call
    why: str
    file: File
    context: Context


@dataclass(slots=True)
class Answers:
    """What calls of functions gave."""

    summaries: dict[Hashable, list[Any]] = field(default_factory=dict)
    """What calls gave and did, by what they brought."""
    variants: dict[Hashable, list[Any]] = field(default_factory=dict)
    """Calls that differ in their constants alone, by what else they brought."""
    runs_without_constants: int = 0
    """How many there were: the number of one tells what stands for its constants."""
    opened: int = 0
    """How often a function was called, or handed on, of which nothing is known but that it is
    one."""
    assumed: dict[ir.Function, Any] = field(default_factory=dict)
    """What calls of running functions give that lead back to them."""
    own: int = 0
    """How often something was noted, or found out, that says nothing to another linted file."""


@dataclass(slots=True)
class Classes:
    """What was seen of the classes of the file, for when all of it has run."""

    stores: dict[Attribute, list[tuple[ir.Stmt, Operand]]] = field(default_factory=dict)
    """Where `self.attribute` of a module class is written."""
    inherited: dict[Attribute, list[tuple[ir.Stmt, Operand]]] = field(default_factory=dict)
    """Where constructors of its bases, or of those that stand in another file, write it."""
    kept: dict[Attribute, list[tuple[ir.Node, str]]] = field(default_factory=dict)
    """Where a tensor kept as a plain attribute met something: nodes and words."""
    stale: dict[Attribute, list[tuple[ir.Node, str]]] = field(default_factory=dict)
    """Where a tensor on a device that a module has stored met what follows the module."""
    stale_uses: dict[Attribute, list[ir.Expr]] = field(default_factory=dict)
    """Where such a device is used to make or move something."""
    remembered: list[tuple[ClassInfo, KeptDevice]] = field(default_factory=list)
    filled: set[Attribute] = field(default_factory=set)
    """Containers of modules of which it is known that a method fills them."""
    reused: dict[ir.If, bool] = field(default_factory=dict)
    """How the tests of caches end while a method runs that finds there what it needs."""
    returned: dict[ir.Function, Returned] = field(default_factory=dict)
    """What `forward` methods return that is no tensor, or on the host wherever their module is; of
    those that return several things, for each."""
    called: set[object] = field(default_factory=set)
    """The modules that have been called."""
    moved_later: bool = False
    """A module was moved that had been called before."""


@dataclass(slots=True)
class Processes:
    """What was seen of the processes that the program starts, or that it is one of."""

    wraps: list[Fact] = field(default_factory=list)
    """Modules that are wrapped on the host, which some backends can't send."""
    groups: dict[ir.Call, set[str]] = field(default_factory=dict)
    """The calls that start process groups, with the names of backends that they were seen to get;
    "" where they are given none."""
    collectives: list[Collective] = field(default_factory=list)
    run_by_workers: dict[ir.Node, Worked] = field(default_factory=dict)
    """The classes and functions that worker processes of loaders run."""
    uses: dict[ir.Call, Use] = field(default_factory=dict)
    """What may use an accelerator."""
    spawned: bool = False
    """Processes are started in another way than by forking: they may use the accelerator."""
    sets_tensor_type: bool = False
    """The type that `torch.Tensor` is has been set to one that may be of an accelerator."""


@dataclass(slots=True)
class Callers:
    """What calls tell of functions, and functions of what they are called with."""

    given: dict[ir.Function, dict[str, bool]] = field(default_factory=dict)
    """Of functions that the file alone calls: whether a parameter may be on an accelerator for
    all that each call tells."""
    asked: dict[ir.Function, bool] = field(default_factory=dict)
    """Of functions that the file calls: whether every call stands where an accelerator was asked
    for."""
    required: dict[ir.Function, dict[str, bool]] = field(default_factory=dict)
    """The conditions that hold wherever a call of a function has come back."""
    settings: dict[ir.Function, dict[str, Value | None]] = field(default_factory=dict)
    """Of functions that the file alone calls: the parameters that calls set to `True`, to `False`
    or to the host; None where they differ, or nobody knows."""
    brought: Brought = field(default_factory=dict)
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
    run_on_host: set[str] = field(default_factory=set)
    """The dotted names of methods, and the names of classes, that work where all they are given is
    on the host, and only there."""


class OfFile(NamedTuple):
    """What was noted of the file as a whole, wherever the code for it stands."""

    written: set[str]
    """Attributes that are written from outside of an object."""
    passed: set[Parameter]
    """Parameters of classes for which the file has something to pass."""
    backends: set[str]
    options: set[str]
    """The backends of process groups, and those that options of the command line stand for."""

    @classmethod
    def nothing(cls) -> OfFile:
        return cls(set(), set(), set(), set())

    def update(self, other: OfFile) -> None:
        """Note what was noted elsewhere."""
        self.written.update(other.written)
        self.passed.update(other.passed)
        self.backends.update(other.backends)
        self.options.update(other.options)
