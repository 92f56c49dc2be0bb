"""Tensors that the host reads: `.numpy()`, numpy's functions, lengths of sequences."""

from __future__ import annotations

import re

from devlint import ir
from devlint.flow.arguments import Given
from devlint.flow.facts import HostRead, Operand, Role
from devlint.flow.lattice import Symbol, is_place_of_argument, may_be_accelerator, names_accelerator
from devlint.flow.use import Use, arguments_of
from devlint.flow.values import TENSORS, Origin


def tell_read(use: Use, given: Given, method: str, container: bool = False) -> None:
    """A tensor is read on the host: the fact where there is a reason to think of an accelerator."""
    node, value = given
    if value.kind not in TENSORS or (method == "__array__" and value.note == "part"):
        return  # `output.names` may be anything that numpy takes
    frame = use.frame
    operand = frame.operand(node, value)
    if value.origin in (Origin.INPUT, Origin.FOLLOWS) and isinstance(operand.device, Symbol):
        frame.world.read_on_host.add((frame.qualname, operand.device.key))
    followed = value.origin in (Origin.MOVED, Origin.FOLLOWS)
    if is_place_of_argument(operand.device):
        followed = followed and method == "cpu-only" and _is_made_of_input(operand, frame.role)
    if may_be_accelerator(operand.device) and (followed or names_accelerator(operand.device)):
        read = HostRead(use.node, frame.context(), operand, method, value.grad, container)
        frame.record(read)


def _is_made_of_input(operand: Operand, role: Role) -> bool:
    """Whether lengths are counted in an input of a module (`(tokens != 0).sum(1)`), and not given
    to it: lengths that are given are on the CPU by custom."""
    if role is not Role.MODULE or not isinstance(operand.device, Symbol):
        return False
    root = operand.device.label.removesuffix(".device")
    return ir.render(operand.node) != root and _ON_THE_HOST.search(root) is None


_ON_THE_HOST = re.compile(r"len(gth)?s?$|sizes?$", re.IGNORECASE)


def read_cpu_only(use: Use) -> None:
    """Arguments that must be on the host are read there. What a list holds is read one by one."""
    for given in arguments_of(use, use.row.cpu_only):
        tell_read(use, given, "cpu-only")
