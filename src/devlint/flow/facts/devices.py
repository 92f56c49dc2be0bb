"""Devices that are named, moved to, ignored, lost, or shared by processes that need one each."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum, auto

from devlint.flow.domain.devicestring import Misspelling
from devlint.flow.domain.lattice import Device, Known
from devlint.flow.domain.values import Kind
from devlint.flow.facts.base import Fact, Operand
from devlint.model import ir
from devlint.model.reports import Hop


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
    managed: bool = False
    """A framework was given the receiver, to place it (`accelerator.prepare(model)`)."""
    idle: bool = False
    """The receiver is a module without parameters and buffers: nothing is moved."""
    passing: ir.For | None = None
    """The loop whose name the receiver is, where nothing reads that after a move that is
    discarded."""
    over: Kind = Kind.UNKNOWN
    """What that loop goes over, or has a method of which it goes over: `rows.values()`."""
    copies: bool = False
    """The receiver is an object of the project whose method gives another one and leaves it as it
    is."""


@dataclass(frozen=True, slots=True)
class SentToCuda(Fact):
    """`node` goes to the current CUDA device since `tested` is on CUDA (`tested.is_cuda`): it is a
    move of something else, a choice that is given as a device, or the name of CUDA."""

    node: ir.Expr
    tested: Operand


_ALIKE = 0.85
"""Of two words that are written alike: `non_block` is just above, `blocking` below."""


def is_misspelled_flag(keyword: str | None) -> bool:
    """Whether an argument's name is nearly `non_blocking`, which only PyTorch's moves take."""
    if keyword is None or keyword == "non_blocking":
        return False
    return SequenceMatcher(None, keyword, "non_blocking").ratio() > _ALIKE


@dataclass(frozen=True, slots=True)
class DeviceUse(Fact):
    """A value that stands where a device is meant.

    `node` is the expression. `via` says where: "to", "cuda", "torch.device", "index" (the second
    argument of `torch.device`), "device" (a `device=` argument), "map_location", "set_device",
    "set_default_device", "default" (a parameter's default), "autocast". `parsed` is the device that
    a string or a number spells; None where it isn't a constant, and `problem` tells why a constant
    spells none: the text of the run-time error.
    `choice`: it is one branch of a choice (`"cuda" if ... else "cpu"`), or another device than
    CUDA where a condition has asked for devices.
    """

    operand: Operand
    via: str
    parsed: Known | None = None
    problem: Misspelling | None = None
    choice: bool = False


class Ignored(Enum):
    """What a function does with a device that it is given, instead of using it."""

    UNREAD = auto()  # it never reads it, and settles on another one
    UNUSED = auto()  # it only fills it in where it is left out, and settles on another one
    UNBOUND = auto()  # it uses another name, which nothing binds
    OPTION = auto()  # it hands on the options of a command line, without the device
    REPLACED = auto()  # it stores one in an attribute, and at once another one
    OVERWRITTEN = auto()  # it binds the name anew before it has read it
    DROPPED = auto()  # it calls a function that takes a device as well, and doesn't pass it on
    DEFAULTED = auto()  # a call leaves it to a default, which names another one
    MISSING = auto()  # a call gives it none, though it has to be given one
    LATE = auto()  # it uses the old one, `self.device`, before it stores the new one


@dataclass(frozen=True, slots=True)
class IgnoredDevice(Fact):
    """A function takes a device, which has no effect there.

    `node` is the statement, the call or the expression that goes past it; the parameter where
    that happens in another function. `function` is the name of the function, `callee` that of the
    one that is called without the device. `instead` are the lines that have to do with it: those
    that settle on another device, and the parameter where nobody reads it. `optional`: the
    parameter has None for a default.
    """

    parameter: str
    function: str
    how: Ignored
    instead: tuple[Hop, ...] = ()
    callee: str = ""
    optional: bool = False
    at_hand: ir.Expr | None = None
    """What could be passed on, where it isn't the parameter."""


@dataclass(frozen=True, slots=True)
class LeftOut(Fact):
    """A call of a function of the project leaves out where a file of tensors is loaded to.

    `node` is the call, `callee` the name of the function, which hands its `parameter` on to what
    loads: it is None there. `way` are the calls that do.
    """

    node: ir.Call
    parameter: str
    callee: str
    way: tuple[Hop, ...]


class Loss(Enum):
    """How a default gets lost, or hides what it stands for."""

    INDEX = auto()  # `gpu or -1`: GPU 0 is false
    BINDING = auto()  # `device or "cuda" if there else "cpu"`: it is lost where the test fails
    ALWAYS = auto()  # `kind == "cuda" or "mps"`: a string that isn't empty is true
    TRUTH = auto()  # `"cuda" if device else "cpu"` with "cpu" for a device: it is true as well


@dataclass(frozen=True, slots=True)
class LossyDefault(Fact):
    """An expression that chooses a device or an index, and loses one on the way.

    `node` is the whole expression, or the operand that decides it. `kept` is the operand that
    stands for what somebody gave, `default` what comes in its place.
    """

    node: ir.Expr
    how: Loss
    kept: Operand
    default: Operand


@dataclass(frozen=True, slots=True)
class MixedPrecision(Fact):
    """Autocast, or a gradient scaler, for one type of device, in code whose device is a choice.

    `name` is its full dotted name. `device_type` is the argument that says the type, where there is
    one; `whole` is the device that it spells with `str(device)`. `chosen` is the device that the
    code around uses, "" where that is no choice; `is_device`: it is a torch.device for sure;
    `because` are the lines that show it. `torch`: the file knows torch by that name. `indexed` is a
    string with an index that the type, a name, holds on one way there.
    """

    node: ir.Call
    name: str
    device_type: Operand | None = None
    whole: Operand | None = None
    chosen: str = ""
    is_device: bool = False
    because: tuple[Hop, ...] = ()
    torch: bool = False
    indexed: ir.Expr | None = None


@dataclass(frozen=True, slots=True)
class OwnIndex:
    """An expression for the index of the GPU of the running process.

    `anchor` is the statement beside which it can be used: before it, or `after` it. It is `local`
    where it counts the processes of one machine; else it counts those of all. It is `sure` where
    nothing else in the file calls the function that is started with it, and where the program
    reads the variable itself that launchers set.
    """

    node: ir.Expr | None
    """None for the variable that launchers set."""
    anchor: ir.Stmt
    after: bool = False
    local: bool = True
    sure: bool = True


class Sharing(Enum):
    """By what processes come to share GPU 0."""

    NAMED = auto()  # something goes to "cuda" without an index, or by `.cuda()`
    CURRENT = auto()  # a function of torch works on the current GPU; what is named has an index
    LOADED = auto()  # what was saved on a GPU goes back to that one


@dataclass(frozen=True, slots=True)
class SharedDevice(Fact):
    """Something is on GPU 0 in all processes of a machine, since none has chosen its own.

    `node` is what to underline, `use` the call or the device that goes there, and `group` the call
    that starts the process group. `name` is that of the function of torch that works on the current
    GPU. `index` is how the program calls the GPU of a process. `torch`: the file knows torch by
    that name.
    """

    group: ir.Call
    use: ir.Expr
    how: Sharing
    name: str = ""
    index: OwnIndex | None = None
    torch: bool = False
