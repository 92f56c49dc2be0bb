"""Processes that each have a device of their own to work on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from devlint.flow.facts.base import Fact
from devlint.model import ir


@dataclass(frozen=True, slots=True)
class OwnIndex:
    """An expression for the index of the GPU of the running process.

    `anchor` is the statement beside which it can be used: before it, or `after` it. It is `local`
    where it counts the processes of one machine; else it counts those of all. It is `sure` where
    nothing else in the file calls the function that is started with it, and where the program
    reads the variable itself that launchers set.
    """

    node: ir.Expr | None
    """None for the variable that launchers set."""
    anchor: ir.Stmt
    after: bool = False
    local: bool = True
    sure: bool = True


class Sharing(Enum):
    """By what processes come to share GPU 0."""

    NAMED = auto()  # something goes to "cuda" without an index, or by `.cuda()`
    CURRENT = auto()  # a function of torch works on the current GPU; what is named has an index
    LOADED = auto()  # what was saved on a GPU goes back to that one


@dataclass(frozen=True, slots=True)
class SharedDevice(Fact):
    """Something is on GPU 0 in all processes of a machine, since none has chosen its own.

    `node` is what to underline, `use` the call or the device that goes there, and `group` the call
    that starts the process group. `name` is that of the function of torch that works on the current
    GPU. `index` is how the program calls the GPU of a process. `torch`: the file knows torch by
    that name.
    """

    group: ir.Call
    use: ir.Expr
    how: Sharing
    name: str = ""
    index: OwnIndex | None = None
    torch: bool = False
