"""What a docstring says of the arguments: which ones are tensors."""

from __future__ import annotations

from devlint.model import ir
from devlint.policy import docstrings


def tensors(function: ir.Function) -> frozenset[str]:
    """The names of the arguments that a docstring calls tensors."""
    return docstrings.tensors(docstring(function))


def docstring(function: ir.Function) -> str:
    """The text at the beginning of a function, "" for none."""
    match function.body[:1]:
        case (ir.Evaluate(value=ir.Constant(value=str(text))),):
            return text
    return ""
