"""DEV504: a tensor is made on the CPU and moved at once."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import CPU, UNKNOWN, Kind, Move, Origin
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Anchor, Change, Report, Rewrite, insert_after, replace_tail
from devlint.rules import rule
from devlint.rules._moving import put_in_creation

_DRAWN = ("rand", "randn", "randint", "randperm")
_OF_DATA = ("tensor", "as_tensor", "asarray")
"""PyTorch puts Python's data into a tensor of the host and copies that, with `device=` too."""


@rule("tensor-created-then-moved", on=Move)
def tensor_created_then_moved(move: Move) -> Iterator[Report]:
    """Report `torch.zeros(n).to(device)`."""
    node, receiver = move.receiver.node, move.receiver
    if receiver.origin is not Origin.DEFAULT or receiver.value.grad or receiver.device != CPU:
        return
    if not isinstance(node, ir.Call) or move.device in (CPU, UNKNOWN) or move.discarded:
        return
    if isinstance(node.func, ir.Attribute) and node.func.attr in _OF_DATA:
        return
    device = _device(move)
    if not device or not put_in_creation(node, device):
        return
    yield Report(
        at=move.node,
        message=f"creates the tensor on the CPU and then copies it: `device={device}` creates it "
        "there",
        fix=_fix(move, node, device),
        help=f"create it there: `device={device}`",
    )


def _device(move: Move) -> str:
    """The device as the source writes it; "" where something else is given as well."""
    if not move.arguments:
        return f'"{move.method}"' if move.method in ("cuda", "xpu") else ""
    if len(move.arguments) > 1 or move.target is None or move.method != "to":
        return ""
    if isinstance(move.target.node, ir.Unpacked):
        return ""
    return "" if move.target.kind is Kind.TENSOR else str(move.target)


def _fix(move: Move, made: ir.Call, device: str) -> Change:
    """What is drawn comes from the generator of the device, so that its values change."""
    func = made.func
    drawn = isinstance(func, ir.Attribute) and func.attr in _DRAWN
    safety = Safety.UNSAFE if drawn else Safety.SAFE
    last = made.args[-1]
    rewrites: tuple[Rewrite, ...]
    if move.target is not None:  # it stays where it is written
        rewrites = (Rewrite(Anchor(last, "end"), Anchor(move.target.node, "start"), ", device="),)
    else:
        rewrites = (insert_after(last, f", device={device}"), replace_tail(made, move.node, ""))
    return Change(f"Create it with `device={device}`", rewrites, safety)
