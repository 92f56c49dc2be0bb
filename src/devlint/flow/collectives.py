"""Collectives of torch.distributed, and the backends of the process groups that run them."""

from __future__ import annotations

from devlint import ir
from devlint.flow.arguments import Arguments
from devlint.flow.facts import Collective
from devlint.flow.frame import Frame, World
from devlint.flow.lattice import CUDA_AVAILABLE, only_host
from devlint.flow.use import Use, operands
from devlint.flow.values import NOTHING, TENSORS, Kind, Origin, Value
from devlint.torchapi.effects import Row

_FOR_ACCELERATORS = frozenset(("nccl", "rccl", "hccl", "xccl", "cncl", "mccl"))
"""The backends that take tensors of accelerators only."""
_FOR_CUDA = frozenset(("nccl", "rccl"))
_UNKNOWN = "?"
_SETTLED = (Origin.DEFAULT, Origin.HOST_DATA, Origin.MOVED)


def init_process_group(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """Note the backend. Without one there is one for each type of device. NCCL raises where there
    is no GPU: whatever comes after it runs on one."""
    given = args.find((0, "backend"))
    if given is None or given[1].kind is Kind.NONE:
        frame.world.backends.add(_UNKNOWN if args.unpacked else "any")
    else:
        name = given[1].data
        backend = name.lower() if isinstance(name, str) else _UNKNOWN
        frame.world.backends.add(backend)
        if backend in _FOR_CUDA:
            frame.state.known[CUDA_AVAILABLE] = True
    return NOTHING


def note_option(frame: Frame, args: Arguments) -> None:
    """`parser.add_argument("--dist-backend", default="nccl")` tells of a backend too."""
    name, default = args.find((0,)), args.keyword("default")
    if name is not None and default is not None:
        option, value = name[1].data, default[1].data
        if isinstance(option, str) and "backend" in option and isinstance(value, str):
            frame.world.options.add(value.lower())


def collective(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """Remember tensors of the host that are given to all processes."""
    if args.unpacked or args.gives(("group",)) or not frame.notes or frame.expecting:
        return NOTHING
    if any("backend" in key for key in frame.state.known):
        return NOTHING  # the code asks which it is
    for expression, value in operands(Use(frame, node, row, args), row.operands):
        if value.kind not in TENSORS or value.origin not in _SETTLED:
            continue
        if only_host(frame.place(value)):
            operand = frame.operand(expression, value)
            fact = Collective(node, frame.context(), row.name, operand)
            frame.world.collectives.append(fact)
    return NOTHING


def refused(frame: Frame) -> list[Collective]:
    """The facts that are left when all backends are known to take tensors of accelerators only."""
    return frame.world.collectives if sends_from_accelerators_only(frame.world) else []


def sends_from_accelerators_only(world: World) -> bool:
    """Whether no backend of the file takes a tensor of the host."""
    backends = world.backends - {_UNKNOWN}
    if _UNKNOWN in world.backends:
        backends |= world.options or {_UNKNOWN}
    return bool(backends) and backends <= _FOR_ACCELERATORS
