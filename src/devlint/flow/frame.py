"""The running interpreter: the world of one file, and the frame of one function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from devlint import ir
from devlint.findings import Hop
from devlint.flow.facts import (
    Collective,
    Context,
    Fact,
    Guard,
    KeptDevice,
    Operand,
    Role,
    WorkerUse,
)
from devlint.flow.joins import join_objects
from devlint.flow.lattice import CUDA_AVAILABLE, UNKNOWN, Device, Symbol
from devlint.flow.overheard import overheard
from devlint.flow.scan import Scan
from devlint.flow.state import WAITED, Object, Path, Ref, State
from devlint.flow.values import NOTHING, TENSORS, Kind, Origin, Trace, Value

if TYPE_CHECKING:
    from devlint.torchapi.table import Table

ACCELERATOR_CHOSEN = "an accelerator was asked for"
"""The key of a condition on a flag or a device that somebody set (`if args.cuda:`)."""
DEVICE_ASKED = "a device was asked for"
"""The key of any condition that has to do with devices; it holds in one branch and not in the
other, and is known in both."""

_MEANS_THE_SAME = frozenset((CUDA_AVAILABLE, ACCELERATOR_CHOSEN))

_DEEPEST_CALL = 3
_DEEPEST_GUEST = 2
_LONGEST_PATH = 60


@dataclass(slots=True, eq=False, repr=False)
class ClassInfo:
    """A class of the file. `bases` are classes of the file or dotted names, nearest first.

    `is_module`: it is an nn.Module. `open_base`: a base isn't known, so that it may define
    anything. `attributes` are the names that the class body or its methods define.
    """

    node: ir.Class
    file: File
    bases: tuple[ClassInfo | str, ...] = ()
    ancestors: tuple[ClassInfo, ...] = ()
    """The bases of this file and theirs, nearest first."""
    is_module: bool = False
    open_base: bool = False
    role: Role = Role.PLAIN
    methods: dict[str, ir.Function] = field(default_factory=dict)
    properties: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    env: dict[str, Value] = field(default_factory=dict)
    """The names that the class body binds."""
    guard: Guard = Guard.NONE
    known: dict[str, bool] = field(default_factory=dict)
    """The conditions under which the class is defined."""

    def lineage(self) -> Iterator[ClassInfo]:
        """The class and its bases of this file, nearest first."""
        yield self
        yield from self.ancestors

    def library_bases(self) -> Iterator[str]:
        """The dotted names of the bases that come from libraries."""
        for info in self.lineage():
            yield from (base for base in info.bases if isinstance(base, str))

    def method(self, name: str) -> tuple[ClassInfo, ir.Function] | None:
        """The method that a call of `name` reaches, with the class that defines it."""
        for info in self.lineage():
            if name in info.methods:
                return info, info.methods[name]
        return None

    def defines(self, name: str) -> bool:
        """Whether the class or a base of this file defines an attribute, in any way."""
        return any(name in info.attributes or name in info.methods for info in self.lineage())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Closure:
    """A function of a file, with the names it sees around it."""

    node: ir.Function | ir.Lambda
    file: File
    scopes: tuple[dict[str, Value], ...] = ()
    owner: ClassInfo | None = None
    qualname: str = ""

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, ir.Function) else "<lambda>"


@dataclass(frozen=True, slots=True)
class Bound:
    """A method with its receiver: of a library type (`name`) or of this file (`closure`)."""

    receiver: Value
    node: ir.Expr
    name: str = ""
    closure: Closure | None = None


@dataclass(slots=True, eq=False, repr=False)
class File:
    """One file: its names and classes, and what has been found out about its expressions."""

    path: str = ""
    body: ir.Body = ()
    """The statements of the file."""
    scan: Callable[[ir.Function], Scan] = field(default=lambda function: Scan())
    rebound: frozenset[str] = frozenset()
    """Names that functions declare `global` or `nonlocal`."""
    speaks_of_devices: bool = True
    """It names a device, or moves something, anywhere."""
    places_batches: bool = False
    """A library that it imports may place what loaders yield."""
    top: Frame | None = None
    """The frame of the file itself, where that is run as a whole."""
    guest: dict[str, Value] | None = None
    """The names of a file that is only followed."""
    modules: dict[str, str] = field(default_factory=dict)
    """The modules of the project that it imports: paths by dotted names."""
    stars: tuple[str, ...] = ()
    """Those of which it imports all names."""
    classes: dict[ir.Class, ClassInfo] = field(default_factory=dict)
    collators: frozenset[str] | None = None
    """Its functions that loaders make batches with; None before anybody has looked."""
    fixtures: dict[str, Closure] = field(default_factory=dict)
    """The functions that pytest runs for the parameters of tests, by their names."""
    nn: str = ""
    """The name by which it reaches torch.nn."""
    hints: dict[tuple[ir.Expr, bool], tuple[tuple[str, bool], ...]] = field(default_factory=dict)
    stable: dict[ir.Expr, bool] = field(default_factory=dict)
    types: dict[ir.Expr, tuple[str, bool] | None] = field(default_factory=dict)
    """What the words of a condition say, whether it can't change between two looks at it, and the
    key of one that asks for a type."""
    carried: dict[ir.Stmt, frozenset[str]] = field(default_factory=dict)
    """The names that a round of a loop may have left to the next one."""

    @property
    def names(self) -> dict[str, Value]:
        """The names of the file as they are bound now."""
        if self.guest is not None:
            return self.guest
        return {} if self.top is None else self.top.state.env


class Names(Protocol):
    """What the names of other files stand for."""

    @property
    def heap(self) -> Mapping[Ref, Object]:
        """What they refer to."""

    def imported(self, file: File, level: int, name: str) -> str | None:
        """The dotted name of the module that an import of a file means, if it is followed."""

    def of_star(self, file: File, name: str) -> Value | None:
        """What a name stands for that a file may have got by `import *`."""

    def value(self, file: File, name: str) -> Value | None:
        """What a dotted name stands for in a file; None where that isn't known."""


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
    stores: dict[tuple[ClassInfo, str], list[tuple[ir.Stmt, Operand]]] = field(default_factory=dict)
    """Where `self.attribute` of a module class is written."""
    inherited: dict[tuple[ClassInfo, str], list[tuple[ir.Stmt, Operand]]] = field(
        default_factory=dict
    )
    """Where constructors of its bases, or of those that stand in another file, write it."""
    kept: dict[tuple[ClassInfo, str], list[tuple[ir.Node, str]]] = field(default_factory=dict)
    """Where a tensor kept as a plain attribute met something: nodes and words."""
    optimizers: set[Ref] = field(default_factory=set)
    """Those of which it is known whose parameters they hold."""
    left: dict[Ref, Fact] = field(default_factory=dict)
    """What is to be told at the end of optimizers, unless something mends it before."""
    stale: dict[tuple[ClassInfo, str], list[tuple[ir.Node, str]]] = field(default_factory=dict)
    """Where a tensor on a device that a module has stored met what follows the module."""
    stale_uses: dict[tuple[ClassInfo, str], list[ir.Expr]] = field(default_factory=dict)
    """Where such a device is used to make or move something."""
    remembered: list[tuple[ClassInfo, KeptDevice]] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    """Attributes that are written from outside of an object."""
    filled_by_hand: set[Ref] = field(default_factory=set)
    """Modules that get tensors of another place by hand: it may be all that has to be there."""
    passed: set[tuple[ClassInfo, str]] = field(default_factory=set)
    """Parameters of constructors for which the file has something to pass."""
    filled: set[tuple[ClassInfo, str]] = field(default_factory=set)
    """Containers of modules of which it is known that a method fills them."""
    made_on_host: dict[ir.Function, Value] = field(default_factory=dict)
    """What `forward` methods return that made it on the host, wherever their module is."""
    wraps: list[Fact] = field(default_factory=list)
    """Modules that are wrapped on the host, which some backends can't send."""
    backends: set[str] = field(default_factory=set)
    options: set[str] = field(default_factory=set)
    """The backends of process groups, and those that options of the command line stand for."""
    collectives: list[Collective] = field(default_factory=list)
    pending: list[tuple[Closure, Frame, dict[str, bool]]] = field(default_factory=list)
    """Functions found on the way, to be run on their own after the frame that made them; and
    the conditions under which they were found."""
    answers: dict[Hashable, tuple[Object | None, Value]] = field(default_factory=dict)
    """What calls of the file's functions gave, by what their answer hangs on, with the state of
    their receiver."""
    run_by_workers: dict[Hashable, Hop] = field(default_factory=dict)
    """The classes and functions that worker processes of loaders run, with the proof."""
    uses: dict[ir.Call, tuple[ir.Node, ClassInfo | None, WorkerUse]] = field(default_factory=dict)
    """What may use an accelerator, with the function and the class where it stands."""
    sets_tensor_type: bool = False
    """The type that `torch.Tensor` is has been set to one that may be of an accelerator."""
    spawned: bool = False
    """Processes are started in another way than by forking: they may use the accelerator."""
    given: dict[ir.Function, dict[str, bool]] = field(default_factory=dict)
    """Of functions that the file alone calls: whether a parameter may be on an accelerator for
    all that each call tells."""
    asked: dict[ir.Function, bool] = field(default_factory=dict)
    """Of the same: whether every call stands where an accelerator was asked for."""
    required: dict[ir.Function, dict[str, bool]] = field(default_factory=dict)
    """The conditions that hold wherever a call of a function has come back."""
    flags: dict[ir.Function, dict[str, bool | None]] = field(default_factory=dict)
    """Of the same: the parameters that calls set to `True` or `False`; None where they differ."""
    brought: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Parameters, by the dotted names of functions, for which a call brings to the host what it
    gives, and whether no other call gives what may be on an accelerator."""
    read_on_host: set[tuple[str, str]] = field(default_factory=set)
    """Places of arguments, by the dotted names of functions, from which these read on the host."""
    budget: int = 0
    guest_budget: int = 0
    """How many more statements may run inside inlined calls, of this file and of the others."""
    evaluate: Callable[[Frame, ir.Expr], Value] = lambda frame, node: NOTHING
    invoke: Callable[[Frame, ir.Expr, Closure, list[Value], dict[str, Value]], Value] = (
        lambda frame, node, closure, positional, keywords: NOTHING
    )
    store: Callable[[Frame, ir.Expr, Value], None] = lambda frame, target, value: None
    run: Callable[[Frame, ir.Body], None] = lambda frame, body: None
    """The doors back up: rooms below an expression or a call go through them, so that no
    module imports one above it."""


@dataclass(slots=True, eq=False, repr=False)
class Frame:
    """One run of one function, or of the module."""

    world: World
    file: File
    state: State
    function: ir.Function | ir.Lambda | None = None
    qualname: str = ""
    role: Role = Role.PLAIN
    owner: ClassInfo | None = None
    scopes: tuple[dict[str, Value], ...] = ()
    """The enclosing names, innermost first; the module's are in the world."""
    globals: frozenset[str] = frozenset()
    guard: Guard = Guard.NONE
    recording: bool = True
    caller: Frame | None = None
    site: tuple[ir.Node, ...] = ()
    returns: list[tuple[Value, State]] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    undirected: list[tuple[ir.Call, str, str, Value]] = field(default_factory=list)
    """Calls that could have passed on the device that this function was given: the parameter, the
    name of what is called, and what it gave."""
    loop: ir.For | ir.While | None = None
    """The innermost loop whose body runs, outside of any `if` in it."""
    arm: ir.If | None = None
    """The innermost `if` one of whose branches runs."""
    saved: dict[str, ir.If | None] = field(default_factory=dict)
    """The paths at which something was saved, with the `if` in which it was."""
    expecting: bool = False
    """The code expects an error here (`with pytest.raises(...)`): nothing is said of it."""
    testing: bool = False
    """The expression is the test of a branch."""
    comparing: bool = False
    """The expression is compared: a device in it is asked for, not used."""
    discarded: ir.Expr | None = None
    """The expression that is a statement of its own, while it is evaluated."""
    default_is_lent: bool = False
    """A `with` statement of this function has set the default device."""
    default_of: str = ""
    """The parameter whose default is being evaluated."""
    context_expr: ir.Expr | None = None
    """The expression that a `with` statement enters, while it is evaluated."""

    @property
    def depth(self) -> int:
        return len(self.site)

    @property
    def is_guest(self) -> bool:
        """Whether it runs code of another file, of which nothing is told."""
        return self.file is not self.world.home

    def can_inline(self, file: File) -> bool:
        """Whether a call of a function of a file may be followed."""
        if file is self.world.home:
            return self.depth < _DEEPEST_CALL and self.world.budget > 0
        return self.depth < _DEEPEST_GUEST and self.world.guest_budget > 0

    def spend(self) -> None:
        """Count a statement of an inlined call."""
        if self.is_guest:
            self.world.guest_budget -= 1
        else:
            self.world.budget -= 1

    def known_in(self, file: File) -> dict[str, bool]:
        """The conditions that are settled here, as far as they mean the same in another file."""
        known = self.state.known
        if file is self.file:  # the types of names are those of this function
            return {key: holds for key, holds in known.items() if "isinstance(" not in key}
        return {key: holds for key, holds in known.items() if key in _MEANS_THE_SAME}

    def evaluate(self, node: ir.Expr) -> Value:
        """The value of an expression."""
        return self.world.evaluate(self, node)

    def run(self, body: ir.Body) -> None:
        """Run statements one after the other."""
        self.world.run(self, body)

    def test(self, node: ir.Expr) -> Value:
        """The value of the test of a branch."""
        before, self.testing = self.testing, True
        value = self.world.evaluate(self, node)
        self.testing = before
        if value.kind in TENSORS:  # the host looks at it
            self.state.busy = WAITED
            if self.state.copies:
                self.state.copies = dict.fromkeys(self.state.copies, False)
        return value

    # --- facts -----------------------------------------------------------------------------

    def context(self) -> Context:
        known = self.state.known
        guard = self.guard
        if known.get(CUDA_AVAILABLE):
            guard = Guard.PROVEN
        elif known.get(ACCELERATOR_CHOSEN) and guard is Guard.NONE:
            guard = Guard.CHOSEN
        return Context(self.qualname, self.role, guard)

    def record(self, fact: Fact) -> None:
        if self.recording and not self.expecting:
            told = overheard(self, fact) if self.is_guest else fact
            if told is not None:
                self.world.facts.append(told)

    @property
    def notes(self) -> bool:
        """Whether what is to be told at the end of the file may be noted."""
        return self.recording and not self.is_guest

    @property
    def tells(self) -> bool:
        """Whether facts about single lines are wanted: not in inlined calls, whose function is
        run on its own as well."""
        return self.recording and not self.site and not self.expecting

    def operand(self, node: ir.Expr, value: Value) -> Operand:
        """The value at a node as rules see it: conditions applied, objects looked up."""
        device, guarded = self.place(value), value.note == "guarded"
        found = self.object(value)
        type_name = value.kind.name.lower()
        if found is not None and value.kind.is_container:
            inside = found.items or (found.element,)
            if any(each.note == "moved-leaf" for each in inside):
                value = value.but(note="moved-leaf")
        if found is not None:
            guarded = found.guarded
            if value.kind is Kind.MODULE:
                origin = value.origin
                if found.trace is not None:
                    origin = Origin.DEFAULT if is_making(found.trace) else Origin.MOVED
                value = value.but(trace=found.trace or value.trace, origin=origin)
            if isinstance(found.source, str):
                type_name = _short_name(found.source)
            elif isinstance(found.source, ClassInfo):
                type_name = found.source.node.name
        return Operand(node, value, device, type_name, guarded)

    # --- objects ---------------------------------------------------------------------------

    def allocate(self, node: ir.Node, found: Object) -> Ref:
        """A reference to an object made at a node in this call."""
        ref = (node, self.site)
        self.state.heap[ref] = found
        return ref

    def object(self, value: Value) -> Object | None:
        """The object that a value refers to, if it refers to one."""
        if value.data is None or value.kind in _WITHOUT_OBJECT:
            return None
        found = self.state.heap.get(value.data)
        if found is None and isinstance(value.data, frozenset):
            return self._several(value.data)
        if found is None and self.world.project is not None:
            return self.world.project.heap.get(value.data)
        return found

    def _several(self, refs: frozenset[Ref]) -> Object | None:
        """What is known of one of several modules, of which nobody knows which."""
        found = [self.state.heap.get(ref) for ref in refs]
        known = [each for each in found if each is not None]
        return reduce(join_objects, known) if len(known) == len(found) else None

    def update(self, value: Value, found: Object) -> None:
        """Change the object that a value refers to."""
        self.state.heap[value.data] = found

    def place(self, value: Value) -> Device:
        """Where a value is; UNKNOWN for what has no place."""
        if value.kind is Kind.UNKNOWN:
            return UNKNOWN
        found = self.object(value)
        device = value.device if found is None else found.device
        return self.state.simplify(device)

    # --- names -----------------------------------------------------------------------------

    def look_up(self, name: str) -> Value | None:
        """The value of a name, or None where nothing binds it."""
        if name in self.file.rebound and name not in self.globals:
            return self._rebound(name)
        if name not in self.globals:
            value = self.state.env.get(name)
            if value is not None:
                return value
            for scope in self.scopes:
                if name in scope:
                    return scope[name]
        return self.file.names.get(name)

    def _rebound(self, name: str) -> Value | None:
        """A name that some function binds anew through `global` or `nonlocal`: what was bound
        here may be gone. Imports, functions and classes are taken to stay."""
        scopes = (self.state.env, *self.scopes, self.file.names)
        value = next((scope[name] for scope in scopes if name in scope), None)
        if value is None or value.kind in (Kind.LIBRARY, Kind.FUNCTION, Kind.CLASS):
            return value
        return path_value(name)

    def chain(self) -> Iterator[Frame]:
        """This frame and those that called it."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.caller


_WITHOUT_OBJECT = frozenset(
    (Kind.UNKNOWN, Kind.TENSOR, Kind.BATCH, Kind.PLACED, Kind.STRING, Kind.NUMBER, Kind.BOOL,
     Kind.NONE, Kind.DTYPE, Kind.LIBRARY, Kind.FUNCTION, Kind.CLASS, Kind.METHOD, Kind.DEVICE,
     Kind.NDARRAY, Kind.GENERATOR)
)  # fmt: skip


def _short_name(name: str) -> str:
    """How people call a library's class: `nn.Linear`, `DataLoader`."""
    if name.startswith("torch.nn."):
        return name.removeprefix("torch.")
    return name.rpartition(".")[2]


def is_making(told: Trace) -> bool:
    """Whether a module has never been moved: its trace is no longer than the call that made it."""
    return told.message.endswith(MADE_ON_HOST) and told.before is None


MADE_ON_HOST = "on the CPU here"
"""How the words end that tell of a module that was made or loaded, on the CPU."""


def path_value(text: str, given: bool = False) -> Value:
    """A value of which only the identity is known."""
    if len(text) > _LONGEST_PATH:
        return NOTHING
    return Value(Kind.UNKNOWN, data=Path(text, given))


def as_device(value: Value) -> Device:
    """What a value names where a device is meant."""
    if value.kind in (Kind.DEVICE, Kind.STRING, Kind.NUMBER):
        return value.device
    if value.kind is Kind.UNKNOWN and isinstance(value.data, Path):
        return Symbol(value.data.text, value.data.text)
    return UNKNOWN


def place_of_path(path: Path) -> Device:
    """Where the tensor or the module of that path is."""
    return Symbol(f"{path.text}.device", f"{path.text}.device") if path.given else UNKNOWN


def trace(node: ir.Node, message: str, before: Value | None = None) -> Trace:
    return Trace(node, message, before.trace if before is not None else None)
