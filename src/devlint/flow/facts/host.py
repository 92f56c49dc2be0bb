"""What the host does with tensors: it reads them, waits for them or fails to, pins memory."""

from __future__ import annotations

from dataclasses import dataclass

from devlint.flow.domain.lattice import Device
from devlint.flow.domain.values import Kind
from devlint.flow.facts.base import Fact, Operand
from devlint.model import ir
from devlint.model.reports import Hop


@dataclass(frozen=True, slots=True)
class HostRead(Fact):
    """`receiver.numpy()`, `numpy.asarray(receiver)` and the like: only a host tensor allows it.

    `method` is "numpy", "__array__" ... The receiver's device is the one it is known to be on, or
    a symbol. `grad`: it requires a gradient, so `.detach()` is needed as well. `node` is the call,
    or the place in an array that the receiver is written to.
    """

    node: ir.Call | ir.Subscript
    receiver: Operand
    method: str
    grad: bool = False
    container: Kind | None = None
    """The receiver is inside of a list or a dict, and its node is that of the whole."""


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
class Pinning(Fact):
    """Memory is pinned that may not be, or that it may be impossible to pin.

    `via` is "method" (`operand.pin_memory()` of a tensor on an accelerator), "argument"
    (`argument` is `pin_memory=True` for tensors that are made on an accelerator, or for a loader of
    such tensors) or "anywhere": `node` pins other memory, whatever the machine.
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
