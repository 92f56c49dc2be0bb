"""LibCST tree -> intermediate form."""

from __future__ import annotations

import libcst as cst

from devlint import ir
from devlint.source.lower_statements import statements


def lower(tree: cst.Module) -> ir.Module:
    """Lower a whole file. Raises `RecursionError` for trees nested too deeply for the stack."""
    return ir.Module(statements(tree.body), tree)
