"""Collectives of torch.distributed, and the backends of the process groups that run them."""

from __future__ import annotations

from dataclasses import replace

from devlint.flow.conditions.cuda_proofs import ON_CUDA_ALONE
from devlint.flow.domain.keys import CUDA_AVAILABLE
from devlint.flow.domain.lattice import only_host
from devlint.flow.domain.values import NOTHING, PROVED, TENSORS, Origin, Value
from devlint.flow.effects.use import Use, operands
from devlint.flow.facts import Collective
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.files import File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.world import World
from devlint.flow.syntax.walk import descendants, nodes_of
from devlint.model import ir
from devlint.model.trees import dotted_name, last_name
from devlint.torchapi.effects import Row

_FOR_ACCELERATORS = frozenset(("nccl", "rccl", "hccl", "xccl", "cncl", "mccl"))
"""The backends that take tensors of accelerators only."""
_BACKENDS = _FOR_ACCELERATORS | {"gloo", "mpi", "ucc"}
UNKNOWN_BACKEND = "?"


def init_process_group(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """Note the backend. Without one there is one for each type of device. NCCL raises where there
    is no GPU: whatever comes after it runs on one."""
    name = args.value((0, "backend")).data
    if args.gives((0, "backend")):
        backend = name.lower() if isinstance(name, str) else UNKNOWN_BACKEND
    else:
        backend = UNKNOWN_BACKEND if args.unpacked else ""
    frame.world.of_file.backends.add(backend or "any")
    if frame.notes:
        frame.world.processes.groups.setdefault(node, set()).add(backend)
    if backend in ON_CUDA_ALONE:
        frame.state.known[CUDA_AVAILABLE] = True
    return NOTHING


def note_option(frame: Frame, args: Arguments) -> None:
    """`parser.add_argument("--dist-backend", default="nccl")` tells of a backend too."""
    default = args.value(("default",)).data
    if isinstance(default, str) and default.lower() in _BACKENDS:
        frame.world.of_file.options.add(default.lower())


def collective(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """Remember tensors of the host that are given to all processes."""
    if args.unpacked or not frame.notes:
        return NOTHING
    group, handed_on = args.keyword("group"), args.gives(("group",))
    if group is not None and handed_on and not frame.is_parameter(group[0]):
        return NOTHING  # what is no argument may be a group of any backend
    if frame.state.known.any(lambda key, _: "backend" in key):
        return NOTHING  # the code asks which it is
    for expression, value in operands(Use(frame, node, row, args), row.operands):
        if value.kind not in TENSORS or value.origin not in PROVED:
            continue
        if only_host(frame.place(value)):
            operand = frame.operand(expression, value)
            fact = Collective(node, frame.context(), row.name, operand, handed_on)
            frame.world.processes.collectives.append(fact)
    return NOTHING


def refused(frame: Frame) -> list[Collective]:
    """The facts that are left when all backends are known to take tensors of accelerators only, or
    where other functions of the file ask whether theirs is one of these."""
    found = frame.world.processes.collectives
    if found and sends_from_accelerators_only(frame.world):
        return [each for each in found if not each.handed_on]
    fresh = [each for each in found if each.tensor.origin is not Origin.MOVED]
    if not fresh or frame.world.of_file.backends:
        return []
    asked, chosen = _asked_backends(frame.file)
    return [
        replace(each, asked=asked)
        for each in fresh
        if asked is not None and each.context.function.rpartition(".")[2] not in chosen
    ]


def _asked_backends(file: File) -> tuple[ir.Expr | None, set[str]]:
    """Where a file compares a backend with NCCL (`get_backend(group) == dist.Backend.NCCL`), if it
    makes no group of its own; and the functions that it calls where it has asked. To assert that
    it is another one is not to ask."""
    asked, chosen, denied = None, set[str](), None
    for node in nodes_of(file.body):
        match node:
            case ir.Assert(test=ir.Compare(op="!=") as test):
                denied = test
            case ir.Compare(op="==" | "!=" | "is") if node is not denied and _is_of_nccl(node):
                asked = asked or node
            case ir.If(test=test) if any(_is_of_nccl(each) for each in descendants(test)):
                calls = (each for each in descendants(node) if isinstance(each, ir.Call))
                chosen |= {dotted_name(call.func) for call in calls}
            case ir.Call(func=ir.Name(id="new_group") | ir.Attribute(attr="new_group")):
                return None, chosen
    return asked, chosen


def _is_of_nccl(node: ir.Node) -> bool:
    return isinstance(node, ir.Compare) and (_names_nccl(node.left) or _names_nccl(node.right))


def _names_nccl(node: ir.Expr) -> bool:
    """`"nccl"` and `dist.Backend.NCCL`."""
    match node:
        case ir.Constant(value="nccl"):
            return True
        case ir.Attribute(value=owner, attr="NCCL"):
            return last_name(owner) == "Backend"
    return False


def sends_from_accelerators_only(world: World) -> bool:
    """Whether no backend of the file takes a tensor of the host."""
    backends = world.of_file.backends - {UNKNOWN_BACKEND}
    if UNKNOWN_BACKEND in world.of_file.backends:
        backends |= world.of_file.options or {UNKNOWN_BACKEND}
    return bool(backends) and backends <= _FOR_ACCELERATORS
