"""What the other files of a project say, as the frames of one file ask for it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from devlint.flow.facts import WorkerUse
from devlint.flow.frames.files import ClassInfo
from devlint.model import ir

Parameter = tuple[str, str, str]
"""A parameter by the path of its file, the dotted name of its function or class, and its own."""
Brought = dict[Parameter, set[bool | Parameter]]
"""What calls give to parameters: True for what is on the host, False for what may be on an
accelerator, a parameter of the calling function for what that is given."""


def receiver_of(row: int) -> str:
    """How the object is called whose method, which is defined in a row, is called: a file may
    define several methods of one dotted name."""
    return f"self:{row}"


class Use(NamedTuple):
    """What may use an accelerator, with the function and the class where it stands."""

    function: ir.Node
    owner: ClassInfo | None
    fact: WorkerUse


class Heard(NamedTuple):
    """What the calls of a file bring, the parameters of classes for which it has something, and
    what in it may use an accelerator."""

    brought: Brought
    passed: Set[Parameter]
    uses: Sequence[Use] = ()
