"""One run of one function, or of a file: what it knows, where it stands, what it writes down."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field

from devlint.flow.domain.keys import ACCELERATOR_CHOSEN, CUDA_AVAILABLE, HOST_CHOSEN, Literal, roots
from devlint.flow.domain.lattice import UNKNOWN, Device
from devlint.flow.domain.paths import Ref, Turn, path_value
from devlint.flow.domain.state import Object, State
from devlint.flow.domain.values import DEFINED, Kind, Value
from devlint.flow.facts import Context, Fact, Guard, Operand, Role
from devlint.flow.frames import telling
from devlint.flow.frames.aspects import Around, Aspect
from devlint.flow.frames.files import ClassInfo, Closure, File, Scope
from devlint.flow.frames.operands import operand
from devlint.flow.frames.world import World
from devlint.flow.syntax.bindings import rebound_in
from devlint.model import ir

_MEANS_THE_SAME = frozenset((CUDA_AVAILABLE, ACCELERATOR_CHOSEN, HOST_CHOSEN))


@dataclass(slots=True, eq=False, repr=False)
class Frame:
    """One run of one function, or of the module."""

    world: World
    file: File
    state: State
    function: ir.Function | None = None
    qualname: str = ""
    of_role: Role = Role.PLAIN
    owner: ClassInfo | None = None
    around: tuple[Scope, ...] = ()
    """The enclosing functions, innermost first."""
    scope: Scope | None = field(default=None, init=False)
    """Its own names, once a function was made that sees them."""
    globals: frozenset[str] = frozenset()
    guard: Guard = Guard.NONE
    recording: bool = True
    inherited: bool = False
    """The function is a method of a base: its class is told of its single lines."""
    caller: Frame | None = None
    site: tuple[ir.Node, ...] = ()
    turns: tuple[Turn, ...] = ()
    depth: int = 0
    """How many calls have led here, but for those of parts."""
    is_apart: bool = False
    """It doesn't know what it was called with: symbols stand for that."""
    is_alone: bool = True
    """It runs on its own, or is a part of what does."""
    is_cut: bool = False
    """A call in it wasn't followed, since what had led here was called again."""
    reached: set[ir.Function] = field(default_factory=set)
    """The functions that calls in it have led to."""
    cycle: set[ir.Function] = field(default_factory=set)
    """Functions that lead to each other, and to its own, by what was seen since it began."""
    returns: list[tuple[Value, State]] = field(default_factory=list)
    yielded: list[tuple[Value, State]] = field(default_factory=list)
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    dropped_devices: list[tuple[ir.Call, str, Value]] = field(default_factory=list)
    """Calls that could have passed on the device that this function was given: the name of what is
    called, and what it gave."""
    loop: ir.For | ir.While | None = None
    """The innermost loop whose body runs, outside of any `if` in it."""
    arm: ir.If | None = None
    """The innermost `if` one of whose branches runs."""
    saved: dict[Hashable, ir.If | None] = field(default_factory=dict)
    """The paths at which something was saved, with the `if` in which it was."""
    partly: dict[str, tuple[ir.If, Literal, Value]] = field(default_factory=dict)
    """The names that an `if` without an `else` alone has bound: its condition, and to what."""
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

    @property
    def asked(self) -> set[Hashable]:
        """What it has asked of how it was called: the questions of `aspects.Asked`."""
        return self.state.known.read

    @property
    def role(self) -> Role:
        """What its code is for, where something hangs on that."""
        self.asked.add(Aspect.ROLE)
        return self.of_role

    @property
    def is_heard(self) -> bool:
        """Whether what goes wrong here is written down."""
        if self.recording and not self.expecting:
            return True
        self.state.known.read.add(Aspect.HEARD)
        return False

    @property
    def name(self) -> str:
        """The name of the function that runs; "" of a file."""
        return "" if self.function is None else self.function.name

    @property
    def body(self) -> ir.Body:
        """The statements of the function that runs; none of a file."""
        return () if self.function is None else self.function.body

    @property
    def is_guest(self) -> bool:
        """Whether it runs code of another file, of which nothing is told."""
        return self.file is not self.world.home

    @property
    def is_followed(self) -> bool:
        """Whether it runs a function of another file to which a call has led."""
        return self.is_guest and self.caller is not None

    def has_part(self, closure: Closure) -> bool:
        """Whether a function is a part of the running one: this calls it, and nobody else does."""
        return self.is_alone and closure.file.parts.get(closure.name) is closure.node

    def fork(self, state: State | None = None) -> State:
        """A copy of its state, or of another one, that can be changed alone."""
        state = self.state if state is None else state
        self.world.step(len(state.env) + len(state.heap) + len(state.known))
        return state.fork()

    def known_in(
        self, file: File, foreign: Set[str] = frozenset(), is_apart: bool = False
    ) -> dict[str, bool]:
        """The conditions that are settled here, as far as they mean the same in another file, in a
        function that runs apart, or in one where some names stand for something else."""
        known = self.state.known
        if file is self.file and not is_apart:
            return {k: holds for k, holds in known.literals() if foreign.isdisjoint(roots(k))}
        return {key: holds for key, holds in known.literals() if key in _MEANS_THE_SAME}

    def evaluate(self, node: ir.Expr) -> Value:
        """The value of an expression; its facts are recorded on the way."""
        return self.world.evaluators[type(node)](self, node)

    def ask(self, node: ir.Expr, is_first: bool = False) -> Value:
        """The value of an expression of which nothing is told. `is_first`: nobody else evaluates
        it, so whoever asks about its line sees what it is."""
        with self.silently(is_first):
            return self.evaluate(node)

    @contextmanager
    def silently(self, is_first: bool = False) -> Iterator[None]:
        """Nothing is told or noted of what is done meanwhile."""
        before = self.recording, self.expecting
        self.recording, self.expecting = self.recording and is_first, True
        yield
        self.recording, self.expecting = before

    def run(self, body: ir.Body) -> None:
        """Run statements one after the other."""
        self.world.run(self, body)

    # --- facts -----------------------------------------------------------------------------

    def context(self, *by: str) -> Context:
        """What stands around a fact, and the rows of policy by which it is one."""
        return telling.context(self, by)

    def record(self, fact: Fact) -> None:
        """Write a fact down, unless nothing is told here; of a followed function, as one of the
        call that leads there."""
        telling.record(self, fact)

    def withhold(self, fact: Fact, by: str) -> None:
        """Nothing is reported of a fact: this tells whoever asks why."""
        if self.world.record is not None:
            self.world.record.withhold(fact, by)

    @property
    def notes(self) -> bool:
        """Whether what is to be told at the end of the file may be noted."""
        return self.file is self.world.home and self.is_heard

    @property
    def tells(self) -> bool:
        """Whether facts about single lines are wanted: not in inlined calls, whose function is
        run on its own as well."""
        return self.is_alone and not self.inherited and self.is_heard

    def operand(self, node: ir.Expr, value: Value) -> Operand:
        """The value at a node as rules see it: conditions applied, objects looked up."""
        return operand(self, node, value)

    def takes(self, name: str) -> bool:
        """Whether the running function has a parameter of that name."""
        params = () if self.function is None else self.function.params
        return any(parameter.name == name for parameter in params)

    def is_parameter(self, node: ir.Expr) -> bool:
        """Whether an expression is a parameter of the running function."""
        return isinstance(node, ir.Name) and self.takes(node.id)

    # --- objects ---------------------------------------------------------------------------

    def allocate(self, made_by: Hashable, found: Object) -> Ref:
        """A reference to an object made in this call: at a node, or as a part of what is made there
        (`(node, "pair")`)."""
        ref = (made_by, self.here)
        self.state.heap[ref] = found
        return ref

    @property
    def here(self) -> tuple[ir.Node, ...]:
        """The calls that have led here, and the turns of loops."""
        return (*self.site, *self.turns)

    def object(self, value: Value) -> Object | None:
        """The object that a value refers to, if it refers to one."""
        if value.data is None or value.kind in _WITHOUT_OBJECT:
            return None
        found = self.state.heap.get(value.data)
        if found is None and isinstance(value.data, frozenset):
            return self.world.candidates.one_of(self.state.heap, value.data)
        if found is None and self.world.project is not None:
            return self.world.project.object(value.data, self.world.home.path)
        return found

    def class_of(self, value: Value) -> ClassInfo | None:
        """The class in sight of which the object is that a value refers to."""
        found = self.object(value)
        return found.source if found is not None and isinstance(found.source, ClassInfo) else None

    def objects(self, value: Value) -> list[Object]:
        """The objects of which a value refers to one."""
        found = map(self.object, self.each(value))
        return [each for each in found if each is not None]

    def each(self, value: Value) -> list[Value]:
        """The values of which nobody knows which one it is, in the order in which their objects
        were made; a value itself if it is one."""
        if not isinstance(value.data, frozenset):
            return [value]
        refs = self.world.candidates.as_made(self.state.heap, value.data)
        return [value.but(data=ref) for ref in refs] or [value]

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
        if name not in self.globals:
            if name in self.file.rebound and self.is_rebound(name):
                return self._rebound(name)
            value = self.state.env.get(name)
            if value is not None or self.binds(name):
                return value
            for scope in self.around:
                if name in scope.names:
                    return scope.names[name]
        return self.file.names.get(name)

    def binds(self, name: str) -> bool:
        """Whether the function binds a name: it is nothing of what is around then."""
        function = self.function
        return function is not None and name in self.file.scan(function).assigned

    def is_rebound(self, name: str) -> bool:
        """Whether some other function may bind a name anew, through `global` or `nonlocal`."""
        function = self.function
        if name not in self.file.rebound or function is None:
            return name in self.file.rebound
        is_own = self.binds(name) or any(each.name == name for each in function.params)
        return not is_own or name in self.file.once(rebound_in, function.body)

    def own_names(self) -> set[str]:
        """The names that the function binds, its parameters among them; none of a file."""
        if self.function is None:
            return set()
        names = {each.name for each in self.function.params}
        return names.union(self.file.scan(self.function).assigned) - self.globals

    @property
    def scopes(self) -> list[dict[str, Value]]:
        """The names of the running function and of those around it, innermost first."""
        return [self.state.env, *(each.names for each in self.around)]

    def inner(self) -> tuple[Scope, ...]:
        """What is around a function that is made here."""
        if self.function is None:
            return self.around
        if self.scope is None:
            self.scope = Scope(self)
        return (self.scope, *self.around)

    def _rebound(self, name: str) -> Value | None:
        """A name that some function binds anew through `global` or `nonlocal`: what was bound
        here may be gone. Imports, functions and classes are taken to stay."""
        scopes = (*self.scopes, self.file.names)
        value = next((names[name] for names in scopes if name in names), None)
        if value is None or value.kind in DEFINED:
            return value
        return path_value(name)

    @property
    def outermost(self) -> Frame:
        """The frame that runs on its own, from which calls have led here: what that is for tells
        its role, too."""
        self.asked.add(Aspect.ROLE)
        *_, last = self.chain()
        return last

    def runs_in(self, name: str) -> bool:
        """Whether a function of that name runs, here or in what has called it."""
        self.asked.add(Around(name))
        return any(each.name == name for each in self.chain())

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
