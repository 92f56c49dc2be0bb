"""Turns it on: an emulated accelerator on which tests for the CPU run."""

from __future__ import annotations

import sys
from typing import Any

from torch import Tensor

from devlint.runtime.operands import memory_of
from devlint.runtime.patches import Patches
from devlint.runtime.ported.births import Births
from devlint.runtime.ported.code import Code
from devlint.runtime.ported.holdings import Holdings, is_registered, near_site
from devlint.runtime.ported.modules import Modules
from devlint.runtime.ported.notes import Notes
from devlint.runtime.ported.wishes import SETTABLE
from devlint.runtime.virtual import Emulation
from devlint.runtime.virtual.kinds import parse
from devlint.runtime.virtual.tags import CPU, notes_of, put, shown_place, tensors_in
from devlint.runtime.virtual.world import World


class Port:
    """An emulation whose devices tests are ported to, between entering and leaving.

    Args:
        kind: "cuda", "xpu" or "mps".
        code: whose code is whose.

    Raises:
        ValueError: for another kind.
    """

    def __init__(self, kind: str, code: Code) -> None:
        self.notes = Notes()
        self._code = code
        self._modules: Modules | None = None
        self.emulation = Emulation(parse(kind), extend=self._extend)

    def begin_test(self) -> None:
        """A test begins; its fixtures may have begun earlier."""
        self.notes.begin()
        self._code.begin_test()

    def _extend(self, world: World, patches: Patches) -> None:
        self._modules = modules = Modules(world, self._code, self.notes)
        Births(world, self._code, self.notes).install(patches)
        modules.install(patches)
        world.functions.again = self._again

    def _again(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Move what the tests hold of the operands of a call that has raised. Returns whether
        anything has moved, so that the call is made again."""
        assert self._modules is not None
        operands = list(tensors_in((*args, *kwargs.values())))
        there = [tensor for tensor in operands if shown_place(tensor) is CPU]
        if not there:
            return self._read_by_test(error, operands)
        if len(there) == len(operands):
            return False
        if any(near_site(tensor) not in (None, self.notes.handed) for tensor in there):
            self.notes.handed = None  # it is of the function at work
        holdings = Holdings(self._code, sys._getframe(1))
        moved = False
        for tensor in there:
            for module in holdings.modules:
                if is_registered(module, tensor):
                    moved |= self._modules.move(module)
                    moved |= self._modules.bring(tensor)
            if SETTABLE in notes_of(tensor) or memory_of(tensor) in holdings.tensors:
                moved |= self._modules.bring(tensor)
        return moved

    def _read_by_test(self, error: Exception, operands: list[Tensor]) -> bool:
        """Bring the one operand to the CPU that a test's own call of torch reads there."""
        told = getattr(error, "devlint_explanation", None)
        if told is None or told.rule != "cpu-only-argument":
            return False
        if self._code.asking(sys._getframe(1))[0] != "test":
            return False
        label = told.lines[0][0]
        facts = getattr(error, "devlint_operands", ())
        wanted = next((each.identity for each in facts if each.name == label), None)
        found = next((each for each in operands if id(each) == wanted), None)
        if found is None:
            return False
        put(found, CPU)
        return True
