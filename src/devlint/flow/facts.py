"""Facts: what the interpreter saw, which rules read.

A fact is written in the last pass over a piece of code, when loops have settled. It holds
nodes (to point at) and operands (what is known of a value there). Rules import this module
and `devlint.findings`, and nothing else of the interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from devlint import ir
from devlint.findings import Hop, Located
from devlint.flow.lattice import (
    CPU,
    CUDA,
    CUDA_AVAILABLE,
    UNKNOWN,
    Device,
    Difference,
    Guarded,
    Known,
    Symbol,
    difference,
    left_out,
    may_be_accelerator,
)
from devlint.flow.values import Kind, Origin, Value

__all__ = [
    "CPU", "CUDA", "CUDA_AVAILABLE", "UNKNOWN", "ApiCall", "ApiRead", "AttributeRead",
    "AttributeWrite", "BareReference", "Comparison", "Context", "Device",
    "DeviceUse", "Difference", "Fact", "Guard",
    "Guarded", "HostRead", "IdleSuppression", "Indexing", "Join", "KeptModules", "KeptTensor",
    "Kind", "Known", "ModuleCall", "Move", "Operand", "Origin", "Revealed", "Role", "Symbol",
    "Unparsable", "Unreadable", "difference", "left_out", "may_be_accelerator",
]  # fmt: skip


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
    """Where a fact was seen. `function` is a dotted name, "" at module level."""

    function: str = ""
    role: Role = Role.PLAIN
    guard: Guard = Guard.NONE


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
    def trace(self) -> tuple[Hop, ...]:
        """How it came to be where it is, oldest step first."""
        if self.value.trace is None:
            return ()
        return tuple(Hop(node, message) for node, message in self.value.trace.steps())


@dataclass(frozen=True, slots=True)
class Fact:
    """`node` is what to underline."""

    node: ir.Node
    context: Context


# --- moves and devices ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Move(Fact):
    """`receiver.to(...)`, `.cuda(...)`, `.cpu(...)`, `.xpu()`, `.mps()`, `.type(...)`: a call.

    The receiver may be of any kind, also UNKNOWN; other libraries' `.to` is left out where it
    is known. `target` is the argument that names a device (None for `.cuda()` and where there
    is none); `device` is where the result is. `discarded`: the call is a statement of its own.
    `arguments` are all arguments, in order.
    """

    node: ir.Call
    receiver: Operand
    method: str
    target: Operand | None
    device: Device
    discarded: bool
    arguments: tuple[tuple[ir.Argument, Operand], ...] = ()
    override: bool = False
    """The call stands in a method of the same name (`def cuda(self): super().cuda()`)."""


@dataclass(frozen=True, slots=True)
class DeviceUse(Fact):
    """A value that stands where a device is meant.

    `node` is the expression. `via` says where: "to", "cuda", "torch.device", "device" (a
    `device=` argument), "map_location", "set_device", "set_default_device", "default" (a
    parameter's default), "autocast". `parsed` is the device that a string or a number spells;
    None where it isn't a constant, and `problem` tells why a constant spells none: the text of
    the run-time error.
    `choice`: it is one branch of a choice (`"cuda" if ... else "cpu"`).
    """

    operand: Operand
    via: str
    parsed: Known | None = None
    problem: str = ""
    choice: bool = False


# --- meetings ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Join(Fact):
    """One operation takes several tensors. `op` names it ("+", "torch.cat", "F.cross_entropy").

    `placed` are the operands whose device is known, without 0-dimensional host tensors (which
    may meet any device); `inplace` for operations that write into their first operand.
    """

    op: str
    placed: tuple[Operand, ...]
    inplace: bool = False


@dataclass(frozen=True, slots=True)
class Indexing(Fact):
    """`base[index]` of tensors, read. Each tensor index is one fact."""

    base: Operand
    index: Operand


@dataclass(frozen=True, slots=True)
class ModuleCall(Fact):
    """A module is called. `inputs` are the arguments whose device is known.

    Modules that move their inputs themselves (DataParallel, DDP, a `forward` that calls `.to`)
    are left out, and so is everything that a framework places.
    """

    node: ir.Call
    module: Operand
    inputs: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class HostRead(Fact):
    """`receiver.numpy()`, `numpy.asarray(receiver)` and the like: only a host tensor allows it.

    `method` is "numpy", "__array__" ... The receiver's device is the one it is known to be on, or
    a symbol. `grad`: it requires a gradient, so `.detach()` is needed as well.
    """

    node: ir.Call
    receiver: Operand
    method: str
    grad: bool = False


# --- objects -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AttributeRead(Fact):
    """`receiver.attr` for attributes about devices: device, is_cuda, get_device.

    `called`: it is called (`x.device()`), and `node` is then the call. `defined`: the
    receiver's class (or a base that isn't known) may define the attribute.
    """

    receiver: Operand
    attr: str
    called: bool = False
    defined: bool = True


@dataclass(frozen=True, slots=True)
class AttributeWrite(Fact):
    """`receiver.attr = value`. `self_module`: the receiver is `self` of an nn.Module class.

    `node` is the statement.
    """

    receiver: Operand
    attr: str
    value: Operand
    self_module: bool = False


@dataclass(frozen=True, slots=True)
class BareReference(Fact):
    """`model.cuda` as a statement: the method is named and not called."""

    node: ir.Attribute
    receiver: Operand
    attr: str


@dataclass(frozen=True, slots=True)
class Comparison(Fact):
    """`left op right` where one side has to do with devices: a DEVICE or its `.type`.

    `op` is "==", "!=", "in", "not in", "is", "is not"; or "startswith" and other string methods
    of a DEVICE (`right` is then its argument).
    """

    op: str
    left: Operand
    right: Operand
    of_type: bool = False
    """The left side is `device.type`, a string without an index."""


@dataclass(frozen=True, slots=True)
class ApiCall(Fact):
    """A call of a library's function or class, by its full dotted name (`torch.load`)."""

    node: ir.Call
    name: str
    positional: tuple[Operand, ...] = ()
    keywords: tuple[tuple[str, Operand], ...] = ()
    unpacked: bool = False
    """Some arguments come from `*args` or `**kwargs`: what is missing isn't known."""
    discarded: bool = False
    needs_cuda: bool = False
    """It raises where CUDA is absent (the `cuda` field of its row)."""
    context_manager: bool = False
    """It is the context expression of a `with` statement or a decorator."""

    def keyword(self, name: str) -> Operand | None:
        """The operand given for a keyword, or None."""
        return next((operand for key, operand in self.keywords if key == name), None)


@dataclass(frozen=True, slots=True)
class ApiRead(Fact):
    """A library's name is read but not called (`torch.cuda.FloatTensor` as an argument)."""

    name: str


@dataclass(frozen=True, slots=True)
class KeptTensor(Fact):
    """A tensor kept as a plain attribute of an nn.Module and used in its methods.

    `node` is the statement that stores it, `uses` are the places where it meets something that
    follows the model, or where it is given to a submodule.
    """

    class_name: str
    attr: str
    value: Operand
    uses: tuple[Hop, ...]
    only: bool = True
    """No other statement stores the attribute."""


@dataclass(frozen=True, slots=True)
class KeptModules(Fact):
    """Modules or parameters kept in a plain list, tuple or dict of an nn.Module.

    `display` is the container's expression, where the source shows one; `parameters`: its items
    are parameters.
    """

    class_name: str
    attr: str
    value: Operand
    display: ir.Expr | None = None
    parameters: bool = False
    nn: str = ""
    """The name by which the file reaches torch.nn ("nn", "torch.nn"); "" where it doesn't."""


@dataclass(frozen=True, slots=True)
class Revealed(Fact):
    """`reveal_device(x)` in a case file: what the interpreter thinks of `x`."""

    operand: Operand


# --- the file itself -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unparsable:
    """The file, or a cell of a notebook, is no Python. `at.origin` is a `findings.Span`."""

    at: Located
    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The file can't be read or decoded. `at.origin` is a `findings.Span`."""

    at: Located
    reason: str


@dataclass(frozen=True, slots=True)
class IdleSuppression:
    """A suppression comment, or some codes of it, that suppress nothing.

    `at.origin` is the span of the comment; `codes` are the idle ones; `remaining` is the text
    that the comment keeps, "" to remove it whole (with the blanks before it).
    """

    at: Located
    codes: tuple[str, ...]
    remaining: str
