"""Counts what is decided of the places where tensors meet."""

from __future__ import annotations

from devlint.flow.domain.keys import shown
from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.paths import Path
from devlint.flow.domain.values import TENSORS, Kind, Value
from devlint.flow.frames.arguments import Given
from devlint.flow.frames.frame import Frame
from devlint.model import ir
from devlint.model.findings import OTHERS

_PLACED = frozenset((Kind.UNKNOWN, Kind.MODULE, Kind.ENCODING, *TENSORS))
"""The kinds of what is, or may be, somewhere."""


def count(frame: Frame, node: ir.Node, operands: list[Given]) -> None:
    """These meet at a node: it is decided if all of them are known."""
    meetings = frame.world.meetings
    if node in meetings.decided or frame.is_guest:
        return
    placed = [pair for pair in operands if pair[1].kind in _PLACED and not pair[1].scalar]
    if len(placed) < 2:
        return
    cause = next((_name(*pair) for pair in placed if not _is_known(frame, pair[1])), None)
    if cause is None:
        meetings.decided.add(node)
    else:
        meetings.unknown.setdefault(node, cause)


def _is_known(frame: Frame, value: Value) -> bool:
    if value.kind is Kind.UNKNOWN:
        return False
    found = frame.object(value)
    return frame.place(value) != UNKNOWN or (found is not None and found.stateless)


def _name(node: ir.Expr, value: Value) -> str:
    """What somebody would have to know: where it comes from, as far as one word says that."""
    if isinstance(value.data, Path):
        first, _, rest = value.data.text.partition(".")
        return f"`self.{_root(rest)}`" if first == "self" and rest else f"`{_root(first)}`"
    if isinstance(node, ir.Name):
        return f"`{node.id}`"
    if isinstance(node, ir.Call):
        return f"calls of `{_root(ir.render(node.func))}`"
    return OTHERS


def _root(text: str) -> str:
    """`args` of `args.weights[0]`."""
    return shown(text, ".").partition(".")[0].partition("[")[0].partition("(")[0]
