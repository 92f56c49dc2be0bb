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
    asks_type,
    difference,
    is_chosen,
    left_out,
    may_be_accelerator,
    may_be_host,
    only_host,
    stands_in,
)
from devlint.flow.values import Kind, Origin, Value

__all__ = [
    "CPU", "CUDA", "CUDA_AVAILABLE", "UNKNOWN", "ApiCall", "ApiRead", "AttributeRead",
    "AttributeWrite", "BareReference", "Collective", "Comparison", "Context", "Device",
    "DeviceUse", "Difference", "Draw", "EarlyClock", "EarlyRead", "Elsewhere", "Fact", "Guard",
    "Guarded", "HostRead", "IdleSuppression", "Indexing", "Join", "KeptDevice", "KeptModules",
    "KeptTensor", "Kind", "Known", "LeftState", "LoopRead", "Loss", "LossyDefault",
    "MixedPrecision", "ModuleCall", "Move", "Neglect", "NeglectedDevice", "Operand", "Origin",
    "Pinning", "Revealed", "Role", "StrayPart", "Symbol", "Unparsable", "Unreadable",
    "WorkerUse", "Wrap", "asks_type", "difference", "is_chosen", "left_out", "may_be_accelerator",
    "may_be_host", "only_host", "stands_in",
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
    managed: bool = False
    """A framework was given the receiver, to place it (`accelerator.prepare(model)`)."""


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


class Neglect(Enum):
    """What a function does with a device that it is given, instead of using it."""

    UNREAD = auto()  # it never reads it, and settles on another one
    UNUSED = auto()  # it only fills it in where it is left out, and settles on another one
    UNBOUND = auto()  # it uses another name, which nothing binds
    OPTION = auto()  # it hands on the options of a command line, without the device
    REPLACED = auto()  # it stores one in an attribute, and at once another one
    OVERWRITTEN = auto()  # it binds the name anew before it has read it
    DROPPED = auto()  # it calls a function that takes a device as well, and doesn't pass it on
    LATE = auto()  # it uses the old one, `self.device`, before it stores the new one


@dataclass(frozen=True, slots=True)
class NeglectedDevice(Fact):
    """A function takes a device, which has no effect there.

    `node` is the statement, the call or the expression that goes past it; the parameter where
    that happens in another function. `function` is the name of the function, `callee` that of the
    one that is called without the device. `instead` are the lines that have to do with it: those
    that settle on another device, and the parameter where nobody reads it. `optional`: the
    parameter has None for a default.
    """

    parameter: str
    function: str
    how: Neglect
    instead: tuple[Hop, ...] = ()
    callee: str = ""
    optional: bool = False


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
    holder: Operand | None = None
    """The call stands in a method of this module, which holds the one called and is where it is."""


@dataclass(frozen=True, slots=True)
class StrayPart(Fact):
    """A module is called that was moved before one of its parts was put in.

    `name` is that of the part within the module, with dots; the node of `part` is the call.
    """

    node: ir.Call
    module: Operand
    name: str
    part: Operand


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
    container: bool = False
    """The receiver is inside of a list, and its node is the list's."""


@dataclass(frozen=True, slots=True)
class Draw(Fact):
    """Random numbers for one place are drawn from a generator of another.

    `generator` is None where nobody gave one, and the CPU's is taken whatever the default device
    is. The numbers are for `device`: there because `placed` says so, because `target` is there,
    which they fill or follow, or else because it is the default device. `tensors`: what is made
    is a tensor; otherwise it is an order, of a loader or a sampler.
    """

    node: ir.Call
    op: str
    generator: Operand | None
    device: Device
    tensors: bool = True
    target: Operand | None = None
    placed: ir.Argument | None = None


@dataclass(frozen=True, slots=True)
class EarlyRead(Fact):
    """The values of a copy to the host are read although it may still be under way.

    `node` is what reads, `operand` the copy there; `call` began it, and `argument` says that
    nothing waits for it.
    """

    operand: Operand
    call: ir.Call
    argument: ir.Argument


@dataclass(frozen=True, slots=True)
class Collective(Fact):
    """A tensor of the host is given to a collective, and every process group that the file starts
    has a backend that takes tensors of accelerators only."""

    node: ir.Call
    op: str
    tensor: Operand


@dataclass(frozen=True, slots=True)
class Pinning(Fact):
    """Memory is pinned that may not be, or that it may be impossible to pin.

    `via` is "method" (`operand.pin_memory()` of a tensor on an accelerator), "argument"
    (`argument` is `pin_memory=True` for tensors that are made on an accelerator, or for a loader of
    such tensors) or "moved": `node` pins, whatever the machine, what then goes to `device`, which
    may be the CPU.
    """

    node: ir.Call
    operand: Operand
    via: str
    device: Device
    argument: ir.Argument | None = None


@dataclass(frozen=True, slots=True)
class WorkerUse(Fact):
    """An accelerator is used in code that the worker processes of a loader run.

    `node` uses it: it moves something to `device`, or makes something there. `what` is that code
    ("`Data.__getitem__`"), `proof` tells where it is seen that workers run it.
    """

    node: ir.Call
    what: str
    device: Device
    proof: Hop


@dataclass(frozen=True, slots=True)
class EarlyClock(Fact):
    """A difference of two readings of the clock, where the accelerator may still be at work.

    `clock` is the later reading; `work` is what was begun before it and not waited for.
    """

    clock: ir.Node
    work: ir.Node


@dataclass(frozen=True, slots=True)
class LoopRead(Fact):
    """A training loop brings a tensor to the host in each of its rounds.

    `method` says how: "item", "cpu", "print" ... `loop` is the loop.
    """

    operand: Operand
    method: str
    loop: ir.Stmt


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
    """`left op right` where one side has to do with devices: a DEVICE or its `.type`, `str()` of a
    tensor's, or a parameter that may be a DEVICE as well as a string.

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
    default_of: str = ""
    """The parameter whose default it is: it runs once, where the function is defined."""
    too_early: ir.Assign | None = None
    """It is such a default, and this says only later which devices CUDA may see."""

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
class KeptDevice(Fact):
    """A device that the constructor of a module stores, and that a move doesn't change.

    `node` is the statement that stores it. `value` is where the parameters are at that time, or
    the `parameter` that is None where it is left out. `uses` are the expressions that use it,
    `meetings` the places where what is made there meets something that follows the module.
    """

    class_name: str
    attr: str
    value: Operand
    parameter: str
    uses: tuple[ir.Expr, ...]
    meetings: tuple[Hop, ...]


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
class Wrap(Fact):
    """A module on the wrong device is wrapped, to be spread over several.

    `reason`: "device-ids" (they are given, and the module is on the host), "other-index" (it is on
    another accelerator than the first of them), "backend" (on the host, and only accelerator
    tensors can be sent), "sync" (its state is to be sent from the host), "called" (`node` is a
    call of the wrapper, whose module isn't on the first device). `target` is the first device id.
    """

    node: ir.Call
    module: Operand
    reason: str
    target: Operand | None = None


@dataclass(frozen=True, slots=True)
class LeftState(Fact):
    """The state of an optimizer is left on the host while its parameters go elsewhere.

    `node` is what put it there. `reason`: "built" (the optimizer makes it when it is built),
    "loaded" (`load_state_dict`), "stepped" (a step on the host), or "replaced": the move gives
    the module new parameters, and the optimizer keeps the old ones.
    """

    optimizer: str
    reason: str
    because: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Elsewhere(Fact):
    """A call of this file leads to a function of another one, where something goes wrong with what
    it is given.

    `node` is the call, `fact` what was seen there, and `function` the name of that function.
    """

    fact: Fact
    function: str


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
