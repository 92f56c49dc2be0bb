"""What every fact has: the node, the code around it, values as rules see them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from devlint.flow.domain.derivation import MOVES, Step, steps
from devlint.flow.domain.lattice import UNKNOWN, Device
from devlint.flow.domain.values import Kind, Origin, Value
from devlint.flow.domain.wording import hops, place_of
from devlint.model import ir
from devlint.model.reports import Hop


class Guard(Enum):
    """What stands between the start of the program and a line that needs CUDA."""

    NONE = auto()  # nothing: it runs on every machine
    CHOSEN = auto()  # a condition on a flag or a device that somebody set (`if args.cuda:`)
    PROVEN = auto()  # CUDA is known to be available here


class Role(Enum):
    """What the code around a fact is for."""

    PLAIN = auto()
    MODULE = auto()  # a method of an nn.Module: it runs where the model is
    DATA = auto()  # data sets, transforms, collate functions, samplers: host code on purpose
    MANAGED = auto()  # a Lightning module, or after accelerator.prepare: a framework places things
    TEST = auto()  # a test


@dataclass(frozen=True, slots=True)
class Context:
    """Where a fact was seen. `function` is a dotted name, "" at module level; `receiver` is how it
    calls the object whose method it is, "" where it is a method of none. It is `stateless` in a
    module that makes nothing to hold. `by` are the rows of policy on names by which a fact is one,
    beside those by which it is known what its operands are. `running` is the function that runs on
    its own, from which calls have led here: it has the arguments whose places are told by their
    names; `row` is where it is defined, of a method."""

    function: str = ""
    role: Role = Role.PLAIN
    guard: Guard = Guard.NONE
    receiver: str = ""
    stateless: bool = False
    by: tuple[str, ...] = ()
    running: str = ""
    row: int = 0


@dataclass(frozen=True, slots=True)
class Operand:
    """A value at a node. `str()` of it is its source, cut short, for messages.

    `device` is where the value is (for a DEVICE or STRING: what it names). `constant` is the
    value of a string, number or boolean that the source spells out, else None. `type_name` is
    how to call its kind in a message: "list", "DataLoader", "nn.Linear".
    """

    node: ir.Expr
    value: Value
    device: Device = UNKNOWN
    type_name: str = ""
    guarded: bool = False
    """Its last move stands under an `if` (the other branch leaves it where it was)."""
    passed: bool = False
    """It is called by the name that a parameter has, of a function which a call leads to."""
    among: bool = False
    """It is one of several that the expression at its node gives."""
    near: ir.Expr | None = None
    """What has a name, and stands for a tensor that is where it is, most often a part of it: `x` of
    `x.sum()`. That, and `said`, are only looked for in facts about what meets."""
    said: ir.Expr | None = None
    """A variable for its device."""

    def __str__(self) -> str:
        return ir.render(self.node)

    @property
    def kind(self) -> Kind:
        return self.value.kind

    @property
    def origin(self) -> Origin:
        return self.value.origin

    @property
    def constant(self) -> object:
        if self.value.kind in (Kind.STRING, Kind.NUMBER, Kind.BOOL):
            return self.value.data
        return None

    @property
    def steps(self) -> list[Step]:
        """How it came to be where it is, oldest step first; those too that users aren't shown."""
        return steps(self.value.trace)

    @property
    def is_moved(self) -> bool:
        """Whether a move is among these steps."""
        return any(step.sort in MOVES for step in self.steps)

    @property
    def place(self) -> str:
        """Where it is, in the words of the program if that chose the device."""
        return place_of(self.device, self.value.trace)

    @property
    def trace(self) -> tuple[Hop, ...]:
        """How it came to be where it is, oldest step first."""
        return hops(self.value.trace, str(self))


@dataclass(frozen=True, slots=True)
class Fact:
    """`node` is what to underline."""

    node: ir.Node
    context: Context


@dataclass(frozen=True, slots=True)
class Elsewhere(Fact):
    """A call of this file leads to a function of another one, where something goes wrong with what
    it is given.

    `node` is the call, `fact` what was seen there, and `function` the name of that function.
    """

    fact: Fact
    function: str
    here: Fact | None = None
    """The same, with what the call gives instead of the parameters that are given it."""
