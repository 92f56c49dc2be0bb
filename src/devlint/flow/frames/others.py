"""What the other files of a project say, as the frames of one file ask for it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence, Set
from typing import NamedTuple, Protocol

from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import Value
from devlint.flow.facts import WorkerUse
from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.frames.sharing import Sharing
from devlint.model import ir

Parameter = tuple[str, str, str]
"""A parameter by the path of its file, the dotted name of its function or class, and its own."""
RECEIVER = "self"
"""How the object is called whose method is called."""
Brought = dict[Parameter, set[bool | Parameter]]
"""What calls give to parameters: True for what is on the host, False for what may be on an
accelerator, a parameter of the calling function for what that is given."""


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


class Names(Protocol):
    """What the names of other files stand for."""

    @property
    def heap(self) -> Mapping[Ref, Object]:
        """What they refer to."""

    @property
    def changing(self) -> Container[Ref]:
        """Those of them that what runs now changes for good, as the top level of a file does."""

    def object(self, ref: Ref, home: str) -> Object | None:
        """What one of them refers to, with what other files than `home` put into it."""

    def imported(self, file: File, level: int, name: str) -> str | None:
        """The dotted name of the module that an import of a file means, if it is followed."""

    def of_star(self, file: File, name: str) -> Value | None:
        """What a name stands for that a file may have got by `import *`."""

    def value(self, file: File, name: str) -> Value | None:
        """What a dotted name stands for in a file; None where that isn't known."""

    def may_bind(self, path: str, name: str) -> bool:
        """Whether a file may bind an attribute of that name from outside of what has it."""

    def may_give(self, path: str, class_name: str, attr: str) -> bool:
        """Whether another file may give the objects of a class an attribute."""

    def spawned(self, path: str, functions: Iterable[str]) -> Mapping[str, bool]:
        """The functions of a file for which others start processes, and whether each is given the
        number of its process."""

    def uses(self, path: str) -> Sequence[Use]:
        """What in a file may use an accelerator."""

    @property
    def shared(self) -> Sharing:
        """What calls of their functions give and do."""
