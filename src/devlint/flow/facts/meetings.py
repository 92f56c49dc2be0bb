"""Where tensors, modules and generators come together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from devlint.flow.domain.lattice import Device
from devlint.flow.facts.base import Fact, Operand
from devlint.flow.facts.host import HostRead
from devlint.flow.facts.names import AttributeRead
from devlint.model import ir


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

    `name` is that of the part within the module, with dots; "" where it isn't known.
    """

    node: ir.Call
    module: Operand
    name: str
    part: Operand
    inside: str = ""
    """What in the part is on the CPU, where not all of it is: `part` is that, at the node of the
    whole part."""


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
class Collective(Fact):
    """A tensor of the host is given to a collective, and every process group that the file starts
    has a backend that takes accelerator tensors only; or it starts none, and asks elsewhere
    (`asked`) whether the backend is such a one. `handed_on`: the group is the caller's."""

    node: ir.Call
    op: str
    tensor: Operand
    handed_on: bool = False
    asked: ir.Expr | None = None


def met(fact: Fact) -> tuple[Operand, ...]:
    """What meets in a fact about one operation, one index or one call of a module; what the host
    reads meets it."""
    match fact:
        case Join(placed=placed):
            return placed
        case Indexing(base=base, index=index):
            return (base, index)
        case ModuleCall(module=module, inputs=inputs):
            return (module, *inputs)
        case HostRead(receiver=receiver):
            return (receiver,)
    return ()


def changed(fact: Fact, change: Callable[[Operand], Operand]) -> Fact:
    """A fact with other operands."""
    match fact:
        case Join():
            return replace(fact, placed=tuple(map(change, fact.placed)))
        case Indexing():
            return replace(fact, base=change(fact.base), index=change(fact.index))
        case ModuleCall():
            inputs = tuple(map(change, fact.inputs))
            return replace(fact, module=change(fact.module), inputs=inputs)
        case StrayPart():
            return replace(fact, module=change(fact.module), part=change(fact.part))
        case HostRead() | AttributeRead():
            return replace(fact, receiver=change(fact.receiver))
        case Draw(generator=Operand() as generator):
            return replace(fact, generator=change(generator))
    return fact
