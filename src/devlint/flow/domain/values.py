"""What a value is: kinds, origins, and the value that the interpreter passes around."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.keys import Literal, Settled
from devlint.flow.domain.lattice import CPU, UNKNOWN, Device, rekeyed
from devlint.flow.domain.traits import ELEMENTS, Fixed, Trait
from devlint.model import ir


class Kind(Enum):
    """What is proved about a value. What isn't proved is `UNKNOWN`."""

    UNKNOWN = auto()
    TENSOR = auto()
    MODULE = auto()
    PLACED = auto()  # a tensor or a module: something that was moved, nobody knows which
    OPTIMIZER = auto()
    LOADER = auto()
    DATASET = auto()
    BATCH = auto()  # what a loader yields, or a part of it: most likely a tensor
    TOKENIZER = auto()  # a tokenizer or processor: a call gives an ENCODING
    ENCODING = auto()  # a mapping of tensors whose `to` moves in place and returns itself
    LIST = auto()
    TUPLE = auto()
    SET = auto()
    DICT = auto()
    NDARRAY = auto()
    DEVICE = auto()  # a torch.device
    GENERATOR = auto()
    DISTRIBUTION = auto()  # of torch.distributions: what it draws is where its parameters are
    STRING = auto()
    NUMBER = auto()
    BOOL = auto()
    NONE = auto()
    DTYPE = auto()
    LIBRARY = auto()  # a dotted name of an imported library
    FUNCTION = auto()  # a function or lambda of a file that is read
    CLASS = auto()  # a class of one
    METHOD = auto()  # a bound method
    INSTANCE = auto()  # an instance of a plain class of a file that is read
    NAMESPACE = auto()  # argparse's result, a configuration: attributes without types

    __hash__ = object.__hash__  # Enum's own is written in Python

    @property
    def is_container(self) -> bool:
        return self in (Kind.LIST, Kind.TUPLE, Kind.SET, Kind.DICT)

    @property
    def is_tensor_like(self) -> bool:
        """A tensor, proved or as good as."""
        return self in (Kind.TENSOR, Kind.BATCH)


DEFINED = (Kind.LIBRARY, Kind.FUNCTION, Kind.CLASS)
"""What imports and definitions bind: that is taken to stay, also where a function declares its name
`global` or `nonlocal`."""
NAMED = (Kind.DEVICE, Kind.STRING)
"""The kinds that name a device."""
TENSORS = (Kind.TENSOR, Kind.BATCH, Kind.PLACED)
"""The kinds that stand for a tensor, proved or as good as, or for what is as likely a module."""


class Origin(Enum):
    """How a value came to be where it is."""

    NONE = auto()
    DEFAULT = auto()  # made without a device: on the default device
    HOST_DATA = auto()  # made from numpy or read from a file: on the CPU
    LOADED = auto()  # from a DataLoader
    ENCODED = auto()  # from a tokenizer or a processor
    MOVED = auto()  # by .to(), .cuda(), .cpu() or device=
    FOLLOWS = auto()  # an argument of a module's method, its parameters, its outputs
    INPUT = auto()  # an argument of any other function
    ATTRIBUTE = auto()  # a plain attribute of a module
    STALE = auto()  # made on, or moved to, a device that a module stored when it was made


MADE = (Origin.DEFAULT, Origin.HOST_DATA)
"""The origins of what was made on its own, not moved."""
PROVED = (*MADE, Origin.MOVED)
"""Of what is a tensor for sure: what comes in may be other than it is said to be."""
SHAPED = (Origin.LOADED, Origin.ENCODED)
"""Of what has dimensions for sure."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy to the host that isn't waited for: the call that begins it, and the argument that
    says so."""

    call: ir.Call
    argument: ir.Argument


@dataclass(frozen=True, slots=True)
class Batch:
    """What loaders yield in one place, or in several: its parts say of which one they are, as long
    as nobody knows whether they are tensors."""

    refs: frozenset[object]


@dataclass(frozen=True, slots=True)
class Condition:
    """What a stored truth value proves: `use_cuda = torch.cuda.is_available() and args.cuda`."""

    key: Literal | None
    true: Settled
    false: Settled


@dataclass(frozen=True, slots=True)
class OneOf:
    """Several functions, or classes, of which a call runs one, each with the conditions under which
    it does."""

    options: tuple[tuple[object, Settled], ...]


MOST_OPTIONS = 8
"""Where there are more, none of them is followed."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """Stands for a constant of which nothing is known but which one of a call's it is, and in which
    run without constants."""

    number: int
    run: int = 0


@dataclass(slots=True, unsafe_hash=True)
class Value:
    """One abstract value. It never changes, but isn't frozen: a frozen dataclass is three times as
    slow to make, and nothing is made as often.

    `device` is where a tensor is, or what a device object or device string names. `data`
    depends on the kind: the constant of a STRING, NUMBER or BOOL; the dotted name of a LIBRARY;
    the summary of a FUNCTION, CLASS or METHOD; the heap reference of a MODULE, a container or an
    INSTANCE; the `Copy` that a tensor is; the `Batch` of which something is a part. `scalar` is
    True for a tensor proved to be 0-dimensional, False for one proved not to be, None where it
    isn't known. `grad`: the tensor requires a gradient. `trait`: one thing that is known besides.
    """

    kind: Kind
    device: Device = UNKNOWN
    data: object = None
    origin: Origin = Origin.NONE
    scalar: bool | None = None
    grad: bool = False
    trait: Trait | Fixed | None = None
    trace: Step | None = field(default=None, compare=False)

    def but(self, **changes: object) -> Value:
        """A copy with some fields changed. (`dataclasses.replace` takes three times as long.)"""
        other = Value(
            self.kind, self.device, self.data, self.origin, self.scalar, self.grad, self.trait,
            self.trace,
        )  # fmt: skip
        for name, value in changes.items():
            setattr(other, name, value)
        return other

    def alike(self, **changes: object) -> Value:
        """The value of another tensor that is where this one is: it has no trait but that of an
        element, and remembers only whose plain attribute it came from."""
        data = self.data if self.origin in _OF_ATTRIBUTES else None
        trait = Trait.ELEMENT if self.trait is Trait.ELEMENT else None
        return self.but(**{"data": data, "trait": trait, **changes})

    def view(self, **changes: object) -> Value:
        """As `alike`, of a tensor that shares the memory of this one: what is under way to the
        one is under way to the other."""
        data = self.data if isinstance(self.data, Copy) else self.alike().data
        return self.alike(**{"data": data, **changes})

    def rekeyed(self, named: Callable[[str], str]) -> Value:
        """The value where each condition that its place hangs on goes by another key."""
        place = rekeyed(self.device, named)
        return self if place is self.device else self.but(device=place)

    @property
    def batch(self) -> Batch | None:
        """The batch of which it is a part, as long as nobody knows whether it is a tensor."""
        return self.data if isinstance(self.data, Batch) else None

    @property
    def is_unseen(self) -> bool:
        """Whether it is a function of which nothing is known but that it is one."""
        return self.kind is Kind.FUNCTION and isinstance(self.data, Opaque)

    def step(self, sort: Sort, node: ir.Node, name: str = "") -> Value:
        """A copy whose trace is longer by one step."""
        return self.but(trace=Step(sort, node, self.trace, name=name))


_OF_ATTRIBUTES = (Origin.ATTRIBUTE, Origin.STALE)
NOTHING = Value(Kind.UNKNOWN)
NONE = Value(Kind.NONE)
HOST_TENSOR = Value(Kind.TENSOR, CPU)
READ_BACK = Value(Kind.UNKNOWN, origin=Origin.MOVED)
"""What may have been brought to the host: nothing is known of it."""


def as_tensor(value: Value) -> Value:
    """What is perhaps a tensor, where it is one."""
    origin = Origin.ATTRIBUTE if value.device == CPU else value.origin
    return value.but(kind=Kind.TENSOR, trait=None, origin=origin)


def as_loaded(value: Value) -> Value:
    """What a file holds, where it is proved to be a tensor: it is where it was loaded to."""
    return value.but(kind=Kind.TENSOR, trait=None) if value.trait is Trait.LOADED else value


def in_place_of(before: Value, value: Value) -> Value:
    """What takes the place of another value: what a file holds is a tensor where that was one."""
    is_tensor = before.kind is Kind.TENSOR and value.trait is Trait.LOADED
    return as_loaded(value).but(scalar=before.scalar) if is_tensor else value


def is_number(value: Value) -> bool:
    """Whether a tensor has no dimension, or is an element of what may have had one."""
    return value.trait in ELEMENTS if value.scalar is None else value.scalar


def is_fresh(value: Value) -> bool:
    """Whether a tensor was made on its own, and nothing has become of it."""
    made = value.kind is Kind.TENSOR and value.origin in MADE
    return made and value.trait in (None, Trait.ROWS)


def with_gradient(value: Value) -> Value:
    """A tensor that is asked for its gradient after it was made: a leaf, if it is new. One that is
    none keeps what it gets from then on."""
    if is_fresh(value) and not value.grad:
        return value.but(grad=True, trait=Trait.LEAF)
    return value.but(grad=True, trait=None if value.trait is Trait.MOVED_LEAF else value.trait)
