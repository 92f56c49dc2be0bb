"""What modules keep and what hangs on them: tensors, devices, layers, wrappers, optimizers."""

from __future__ import annotations

from dataclasses import dataclass

from devlint.flow.facts.base import Fact, Operand
from devlint.model import ir
from devlint.model.reports import Hop


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
    """No other statement stores the attribute, and no class binds it."""
    scripted: bool = False
    """Its class is one of TorchScript, whose buffers are all saved."""
    method: str = ""
    """The method that stores it."""


@dataclass(frozen=True, slots=True)
class CachedTensor(Fact):
    """A tensor that a method makes where its input is, and keeps as a plain attribute for the next
    calls, as long as a test that asks for no device says so.

    `node` is the statement of the constructor that says that nothing is kept yet (`empty`), or the
    one that keeps it, `stored`. `uses` are the places where a later call meets it.
    """

    class_name: str
    attr: str
    stored: ir.Stmt
    value: Operand
    test: ir.Expr
    reuses: bool
    """It is kept where the test holds, and made anew where it doesn't; else the other way round."""
    uses: tuple[Hop, ...]
    empty: bool
    moved_later: bool
    """The file moves a module that it has called before."""


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
    unfit: bool = False
    """No list or dict of torch.nn can stand in its place: it lacks a method that is called, or
    refuses a key."""
    made: tuple[ir.Node, ...] = ()
    """The calls that made what is in it."""


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
