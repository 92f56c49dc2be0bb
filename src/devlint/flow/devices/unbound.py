"""A name that stands for a device and that nothing binds, where the function was given another."""

from __future__ import annotations

from devlint.flow.devices.dropped import record
from devlint.flow.facts import Ignored
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import BUILTINS, from_star
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.reports import Hop
from devlint.policy import means


def note(frame: Frame, node: ir.Expr) -> None:
    """Look at a name that stands where a device is meant: is it bound anywhere?"""
    function = frame.function
    if not isinstance(node, ir.Name) or not isinstance(function, ir.Function):
        return
    if (
        not means("about-devices", node.id, "variable")
        or frame.look_up(node.id) is not None
        or node.id in BUILTINS
    ):
        return
    given = next((p for p in function.params if means("about-devices", p.name, "parameter")), None)
    if given is None or from_star(frame, node) is not None or _may_be_bound(frame, node.id):
        return
    hop = Hop(given, f"`{given.name}` is given here")
    record(frame, function, given, node, Ignored.UNBOUND, (hop,))


def _may_be_bound(frame: Frame, name: str) -> bool:
    """Whether anything of the file might bind a name, the function itself among others."""
    function = frame.function
    assert isinstance(function, ir.Function)
    if name in frame.file.rebound or frame.file.scan(function).assigned[name]:
        return True
    outside = [s for s in frame.file.body if not isinstance(s, (ir.Function, ir.Class))]
    if any(_reads(each, name) for each in nodes_of(outside)):
        return True
    return any(_imports(each, name) for each in nodes_of((*outside, *function.body)))


def _reads(node: ir.Node, name: str) -> bool:
    """Whether a statement of the file itself has to do with a name, or with any."""
    return isinstance(node, ir.Name) and node.id in (name, "globals", "exec", "setattr")


def _imports(node: ir.Node, name: str) -> bool:
    if not isinstance(node, (ir.Import, ir.ImportFrom)):
        return False
    return any(alias.name == "*" or name in (alias.asname, alias.name) for alias in node.names)
