"""The errors that an emulated accelerator raises: PyTorch's text, and beside it an explanation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from devlint.runtime.explain import Explanation, explain
from devlint.runtime.explaining.notes import add_note, log_failure
from devlint.runtime.explaining.stack import live
from devlint.runtime.operands import OperandFacts, Reader
from devlint.runtime.virtual.tags import NEUTRAL, moved_site, place, shown_place, site

READER = Reader(shown_place, site, moved_site)
"""Asks a tensor where it is said to be."""


class NotEmulatedError(NotImplementedError):
    """A program asks for something of an accelerator that devlint doesn't emulate."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that an operation was given."""

    name: str
    """Of the parameter, as PyTorch names it."""
    tensor: Tensor
    device: torch.device

    @classmethod
    def of(cls, name: str, tensor: Tensor) -> Operand:
        """A tensor where it is said to be."""
        return cls(name, tensor, place(tensor))

    def differs_from(self, other: Operand) -> bool:
        """Whether it is known of both where they are, and that isn't one device."""
        return NEUTRAL not in (self.device, other.device) and self.device != other.device


def device_error(
    kind: type[Exception], text: str, operands: list[Operand], operation: str = ""
) -> Exception:
    """An error with PyTorch's own text, to be raised, and with a note that explains it."""
    error = kind(text)
    with torch._C.DisableTorchFunction():
        facts = tuple(READER.facts(o.name, o.tensor, o.device) for o in operands)
    error.devlint_operands = facts  # type: ignore[attr-defined]
    error.devlint_operation = operation  # type: ignore[attr-defined]
    explanation = _explanation(text, facts)
    error.devlint_explanation = explanation  # type: ignore[attr-defined]
    if explanation is not None:
        add_note(error, str(explanation))
    return error


def _explanation(text: str, operands: Sequence[OperandFacts]) -> Explanation | None:
    try:
        return explain(live(sys._getframe(1)), text, operands, READER)
    except Exception:  # whatever the program's objects are like, PyTorch's error comes first
        log_failure()
        return None
