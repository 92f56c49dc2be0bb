"""What a file defines: its names, classes and functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from devlint.flow.domain.values import Value
from devlint.flow.facts import Guard, Role
from devlint.flow.syntax.seen import Scan
from devlint.model import ir
from devlint.policy import means

if TYPE_CHECKING:
    from devlint.flow.frames.frame import Frame

CONSTRUCTORS = ("__init__", "__post_init__")
"""The methods that run while an object is made."""
OWN_MOVES = ("to", "cuda", "cpu", "_apply")
"""The methods by which torch moves a module."""


_Found = TypeVar("_Found")


@dataclass(slots=True, eq=False, repr=False)
class Remembering:
    """What remembers the looks at it, or at something that belongs to it."""

    found: dict[tuple[Callable[[Any], Any], Hashable], Any] = field(
        default_factory=dict, kw_only=True
    )

    def once(self, look: Callable[..., _Found], of: Hashable, *given: object) -> _Found:
        """What a look at something finds, which isn't taken again, whatever else it is given."""
        if (look, of) not in self.found:
            self.found[look, of] = look(of, *given)
        found: _Found = self.found[look, of]
        return found


@dataclass(slots=True, eq=False, repr=False)
class ClassInfo(Remembering):
    """A class of the file. `bases` are classes of the file or dotted names, nearest first.

    `is_module`: it is an nn.Module. `open_base`: a base isn't known, so that it may define
    anything. `attributes` are the names that the class body or its methods define.
    """

    node: ir.Class
    file: File
    bases: tuple[ClassInfo | str, ...] = ()
    ancestors: tuple[ClassInfo, ...] = ()
    """The bases that are in sight, and theirs, nearest first."""
    is_module: bool = False
    open_base: bool = False
    role: Role = Role.PLAIN
    methods: dict[str, ir.Function] = field(default_factory=dict)
    properties: set[str] = field(default_factory=set)
    setters: dict[str, ir.Function] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    env: dict[str, Value] = field(default_factory=dict)
    """The names that the class body binds."""
    around: tuple[Scope, ...] = ()
    """The functions that it stands in, as of the latest run: its methods see their names."""
    guard: Guard = Guard.NONE
    known: dict[str, bool] = field(default_factory=dict)
    """The conditions under which the class is defined."""
    made: dict[str, Value] | None = None
    """The tensors that its constructor makes on the host; None before anybody has asked."""
    tensors: frozenset[str] | None = None
    """The fields of a dataclass that are tensors by their annotations; None before anybody has
    asked."""

    def lineage(self) -> tuple[ClassInfo, ...]:
        """The class and its bases in sight, nearest first."""
        return (self, *self.ancestors)

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

    def closure_of(self, method: ir.Function, source: ClassInfo | None = None) -> Closure:
        """A method as one of this class. `source` is the class that defines it, where that is a
        base."""
        where = source or self
        return Closure(method, where.file, where.around, self, f"{self.node.name}.{method.name}")

    def reached(self, name: str) -> Closure | None:
        """The method that a call of `name` reaches, as one of the class that defines it."""
        found = self.method(name)
        return None if found is None else found[0].closure_of(found[1])

    def all_methods(self) -> Iterator[tuple[ClassInfo, ir.Function]]:
        """The methods of the class and of its bases, each with the class that defines it."""
        for info in self.lineage():
            for method in info.methods.values():
                yield info, method

    def scans(self) -> Iterator[tuple[ir.Function, Scan]]:
        """The methods of the class and of its bases, each with what its words say."""
        return ((method, info.file.scan(method)) for info, method in self.all_methods())

    def stored_later(self, known: Collection[ir.Function] = ()) -> set[str]:
        """The attributes that methods store which don't make an object, but for those `known`."""
        later = (s for m, s in self.scans() if m.name not in CONSTRUCTORS and m not in known)
        return set[str]().union(*(scan.self_stores for scan in later))

    @property
    def is_open(self) -> bool:
        """Whether it has a base that isn't known, or one of its bases has."""
        return any(info.open_base for info in self.lineage())

    def intercepts(self) -> bool:
        """Whether a method of its own runs where an attribute is stored, or isn't found."""
        return any(self.method(name) for name in ("__setattr__", "__getattr__"))

    def moves_itself(self) -> bool:
        """Whether a module has a move of its own, which may take anything along."""
        return any(self.method(name) for name in OWN_MOVES)

    def is_stateless(self) -> bool:
        """Whether it is a module that makes nothing to hold: nothing of it is moved, and what it is
        given may be samples, unless it has a name for a batch or a device."""
        return self.once(ClassInfo._makes_nothing, self)

    def _makes_nothing(self) -> bool:
        return self.is_module and not any(_holds_or_places(*each) for each in self.scans())

    def setter(self, name: str) -> tuple[ClassInfo, ir.Function] | None:
        """What `self.name = ...` calls where that is a property, with the class that defines it."""
        for info in self.lineage():
            if name in info.setters or name in info.methods:
                found = info.setters.get(name)
                return None if found is None else (info, found)
        return None

    def defines(self, name: str) -> bool:
        """Whether the class or a base of this file defines an attribute, in any way."""
        return any(name in info.attributes or name in info.methods for info in self.lineage())

    def binds(self, name: str) -> bool:
        """Whether the body of the class or of a base of this file binds a name: then no buffer can
        be registered by it."""
        return any(name in info.env for info in self.lineage())


def _holds_or_places(method: ir.Function, scan: Scan) -> bool:
    names = (*scan.assigned, *(parameter.name for parameter in method.params))
    named = any(
        means(meaning, name, "variable") for name in names for meaning in ("about-devices", "batch")
    )
    return scan.makes or scan.registers or named


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """The names of one run of a function, for the functions that it makes: as they are now, and
    after it as they were at its end."""

    frame: Frame | None
    left: dict[str, Value] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, Value]:
        return self.left if self.frame is None else self.frame.state.env

    def close(self) -> None:
        """The run has ended: nothing but its names is needed any more."""
        self.frame, self.left = None, self.names


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Closure:
    """A function of a file, with the names it sees around it, innermost first."""

    node: ir.Function
    file: File
    around: tuple[Scope, ...] = ()
    owner: ClassInfo | None = None
    qualname: str = ""

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def called_as(self) -> str:
        """The name by which it is called: of a constructor, that of its class."""
        made = self.owner if self.name == "__init__" else None
        return self.name if made is None else made.node.name


def is_inner(function: Closure | Frame) -> bool:
    """Whether a function stands in another one, and isn't just a method of a class that does."""
    owner = function.owner
    return len(function.around) > (0 if owner is None else len(owner.around))


@dataclass(frozen=True, slots=True)
class Bound:
    """A method with its receiver: of a library type (`name`) or of this file (`closure`)."""

    receiver: Value
    node: ir.Expr
    name: str = ""
    closure: Closure | None = None


@dataclass(slots=True, eq=False, repr=False)
class File(Remembering):
    """One file: its names and classes, and what has been found out about its expressions."""

    path: str = ""
    body: ir.Body = ()
    """The statements of the file."""
    scan: Callable[[ir.Function], Scan] = field(default=lambda function: Scan())
    rebound: frozenset[str] = frozenset()
    """Names that functions declare `global` or `nonlocal`."""
    whole: bool = True
    """It binds what it uses, or imports it."""
    speaks_of_devices: bool = True
    """It names a device, or moves something, anywhere."""
    role: Role = Role.PLAIN
    """`TEST` where it holds tests, by what it defines."""
    places_batches: bool = False
    """A library that it imports may place what loaders yield."""
    parts: Mapping[str, ir.Function] = field(default_factory=dict)
    """The functions that are called in one place, and by nobody else: what they do is a part of
    what is done there."""
    top: Frame | None = None
    """The frame of the file itself, where that is run as a whole."""
    guest: dict[str, Value] | None = None
    """The names of a file that is only followed."""
    modules: dict[str, str] = field(default_factory=dict)
    """The modules of the project that it imports: paths by dotted names."""
    stars: tuple[str, ...] = ()
    """Those of which it imports all names."""
    classes: dict[ir.Class, ClassInfo] = field(default_factory=dict)
    fixtures: dict[str, Closure] = field(default_factory=dict)
    """The functions that pytest runs for the parameters of tests, by their names."""
    nn: str = ""
    """The name by which it reaches torch.nn."""

    @property
    def names(self) -> dict[str, Value]:
        """The names of the file as they are bound now."""
        if self.guest is not None:
            return self.guest
        return {} if self.top is None else self.top.state.env
