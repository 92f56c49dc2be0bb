"""The running interpreter: the world of one file, and the frame of one function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devlint import ir
from devlint.flow.facts import Context, Fact, Guard, Operand, Role
from devlint.flow.lattice import CUDA_AVAILABLE, UNKNOWN, Device, Symbol
from devlint.flow.scan import Scan
from devlint.flow.state import Object, Path, Ref, State
from devlint.flow.values import NOTHING, Kind, Origin, Trace, Value

if TYPE_CHECKING:
    from devlint.torchapi.table import Table

ACCELERATOR_CHOSEN = "an accelerator was asked for"
"""The key of a condition on a flag or a device that somebody set (`if args.cuda:`)."""

_DEEPEST_CALL = 3
_LONGEST_PATH = 60


@dataclass(slots=True, eq=False, repr=False)
class ClassInfo:
    """A class of the file. `bases` are classes of the file or dotted names, nearest first.

    `is_module`: it is an nn.Module. `open_base`: a base isn't known, so that it may define
    anything. `attributes` are the names that the class body or its methods define.
    """

    node: ir.Class
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
    """A function of this file, with the names it sees around it."""

    node: ir.Function | ir.Lambda
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
class World:
    """What the frames of one file share."""

    table: Table
    device_types: frozenset[str] = frozenset()
    top: Frame | None = None
    """The frame of the file itself."""
    classes: dict[ir.Class, ClassInfo] = field(default_factory=dict)
    scan: Callable[[ir.Function], Scan] = field(default=lambda function: Scan())
    facts: list[Fact] = field(default_factory=list)
    stores: dict[tuple[ClassInfo, str], list[tuple[ir.Stmt, Operand]]] = field(default_factory=dict)
    """Where `self.attribute` of a module class is written."""
    kept: dict[tuple[ClassInfo, str], list[tuple[ir.Node, str]]] = field(default_factory=dict)
    """Where a tensor kept as a plain attribute met something: nodes and words."""
    pending: list[tuple[Closure, Frame, dict[str, bool]]] = field(default_factory=list)
    """Functions found on the way, to be run on their own after the frame that made them; and
    the conditions under which they were found."""
    answers: dict[Hashable, tuple[Object | None, Value]] = field(default_factory=dict)
    """What calls of the file's functions gave, by what their answer hangs on, with the state of
    their receiver."""
    hints: dict[tuple[ir.Expr, bool], tuple[tuple[str, bool], ...]] = field(default_factory=dict)
    stable: dict[ir.Expr, bool] = field(default_factory=dict)
    """What the words of a condition say, and whether it can't change between two looks at it."""
    speaks_of_devices: bool = True
    """The file names a device, or moves something, anywhere."""
    rebound: frozenset[str] = frozenset()
    """Names that functions declare `global` or `nonlocal`."""
    budget: int = 0
    """How many more statements may run inside inlined calls."""
    nn: str = ""
    """The name by which the file reaches torch.nn."""
    evaluate: Callable[[Frame, ir.Expr], Value] = lambda frame, node: NOTHING
    invoke: Callable[[Frame, ir.Call, Closure, list[Value], dict[str, Value]], Value] = (
        lambda frame, node, closure, positional, keywords: NOTHING
    )
    store: Callable[[Frame, ir.Expr, Value], None] = lambda frame, target, value: None
    run: Callable[[Frame, ir.Body], None] = lambda frame, body: None
    """The doors back up: rooms below an expression or a call go through them, so that no
    module imports one above it."""

    @property
    def globals(self) -> dict[str, Value]:
        """The names of the file as they are bound now."""
        return {} if self.top is None else self.top.state.env


@dataclass(slots=True, eq=False, repr=False)
class Frame:
    """One run of one function, or of the module."""

    world: World
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
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    expecting: bool = False
    """The code expects an error here (`with pytest.raises(...)`): nothing is said of it."""
    testing: bool = False
    """The expression is the test of a branch."""
    comparing: bool = False
    """The expression is compared: a device in it is asked for, not used."""
    discarded: ir.Expr | None = None
    """The expression that is a statement of its own, while it is evaluated."""
    context_expr: ir.Expr | None = None
    """The expression that a `with` statement enters, while it is evaluated."""

    @property
    def depth(self) -> int:
        return len(self.site)

    @property
    def can_inline(self) -> bool:
        return self.depth < _DEEPEST_CALL and self.world.budget > 0

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
            self.world.facts.append(fact)

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
                moved = found.trace is not None
                origin = Origin.MOVED if moved else value.origin
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
        return self.state.heap.get(value.data)

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
        if name in self.world.rebound and name not in self.globals:
            return self._rebound(name)
        if name not in self.globals:
            value = self.state.env.get(name)
            if value is not None:
                return value
            for scope in self.scopes:
                if name in scope:
                    return scope[name]
        return self.world.globals.get(name)

    def _rebound(self, name: str) -> Value | None:
        """A name that some function binds anew through `global` or `nonlocal`: what was bound
        here may be gone. Imports, functions and classes are taken to stay."""
        scopes = (self.state.env, *self.scopes, self.world.globals)
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


def is_place_of_argument(device: Device) -> bool:
    """Whether nothing is known but that it is where an argument is (`x.device`)."""
    return (
        isinstance(device, Symbol)
        and device.key.endswith(".device")
        and (not device.key.startswith(("self.", "args.", "cls.")))
    )


def trace(node: ir.Node, message: str, before: Value | None = None) -> Trace:
    return Trace(node, message, before.trace if before is not None else None)
