"""Identities: what is known of a value of which only the name is known."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import UNKNOWN, Device, Symbol
from devlint.flow.domain.values import NOTHING, Kind, Origin, Value
from devlint.model import ir
from devlint.policy import means

_LONGEST_PATH = 60

Ref = Hashable
"""Where an object was allocated: the node that made it and the calls that led there."""


@dataclass(frozen=True, slots=True)
class Turn(ir.Node):
    """The run of a loop's body for one of its items, which are known: what it makes is another
    object for each."""

    loop: ir.Node
    number: int
    origin: object = None


@dataclass(frozen=True, slots=True)
class Path:
    """The identity of a value that isn't known: a parameter, `args.device`, `cfg["device"]`.

    `given`: it came in through a parameter, so a caller may have put it on any device. What a
    function got elsewhere may never leave the host: nothing is said of where that is.
    """

    text: str
    given: bool = False

    @property
    def root(self) -> str:
        """The name at its front."""
        return self.text.partition(".")[0].partition("[")[0]

    @property
    def is_dotted(self) -> bool:
        """Whether it is made of names alone: the same thing wherever it is spelled so."""
        return all(map(str.isidentifier, self.text.split(".")))


@dataclass(frozen=True, slots=True)
class Remembered(Path):
    """A device that a module stored when it was made: `owner` is its class and the attribute.
    `moves`: a move to it is one, also where the constructor was given no device."""

    owner: object = None
    moves: bool = False


@dataclass(frozen=True, slots=True)
class Owned:
    """Marks a tensor as a parameter of the module at `ref`."""

    ref: Ref


def identity(node: ir.Node) -> str:
    """The text of the path that an expression names: `x`, `args.device`, `cfg["device"]`, `x[0]`;
    "" of what names nothing."""
    match node:
        case ir.Name(id=name):
            return name
        case ir.Attribute(value=value, attr=attr):
            owner = identity(value)
            return f"{owner}.{attr}" if owner else ""
        case ir.Subscript(value=value, index=ir.Constant(value=str() | int() as index)):
            owner = identity(value)
            shown = f'"{index}"' if isinstance(index, str) else index
            return f"{owner}[{shown}]" if owner else ""
    return ""


@lru_cache(maxsize=4096)
def path_value(text: str, given: bool = False) -> Value:
    """A value of which only the identity is known."""
    if len(text) > _LONGEST_PATH:
        return NOTHING
    return Value(Kind.UNKNOWN, data=Path(text, given))


def asks_class(node: ir.Expr, name: str) -> str:
    """The key of the condition that something is an object of a class; "" of what has no name."""
    path = identity(node)
    return path and f"isinstance({path}, {name})"


def asks_attribute(node: ir.Expr, name: str) -> str:
    """The key of the condition that something has an attribute; "" of what has no name."""
    path = identity(node)
    return path and f'hasattr({path}, "{name}")'


def as_device(value: Value) -> Device:
    """What a value names where a device is meant."""
    if value.kind in (Kind.DEVICE, Kind.STRING, Kind.NUMBER):
        return value.device
    if value.kind is Kind.UNKNOWN and isinstance(value.data, Path):
        text = value.data.text
        return UNKNOWN if means("host", text, "variable") else Symbol(text, text)
    if is_of_library(value) and means("about-devices", str(value.data), "variable"):
        return Symbol(str(value.data), str(value.data))
    return UNKNOWN


def is_of_library(value: Value) -> bool:
    """Whether a value is what a library other than torch has under some name."""
    return value.kind is Kind.LIBRARY and not str(value.data).startswith(_KNOWN)


_KNOWN = ("torch.", "builtins.", "numpy.")


def place_of_path(path: Path) -> Device:
    """Where the tensor or the module of that path is; most likely on the host where a name in it
    says so (`batch.lengths_cpu`)."""
    if not path.given or means("host", path.text, "variable"):
        return UNKNOWN
    return Symbol(f"{path.text}.device", f"{path.text}.device")


def given_tensor(data: object, sort: Sort, node: ir.Node) -> Value:
    """A tensor that came in, by its identity, and how it is known that it is one."""
    place = place_of_path(data) if isinstance(data, Path) else UNKNOWN
    return Value(Kind.TENSOR, place, origin=Origin.INPUT, trace=Step(sort, node))
