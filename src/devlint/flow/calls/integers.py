"""Tensors of integers and truth values: counts, flags and indices, which the host may read."""

from __future__ import annotations

from devlint.flow.domain.derivation import first
from devlint.flow.domain.values import MADE, Value
from devlint.model import ir
from devlint.model.trees import last_name


def is_of_integers(value: Value) -> bool:
    """Whether a tensor was made of integers or truth values: counts and flags that the host reads,
    as likely as indices."""
    made = first(value.trace) if value.origin in MADE else None
    if not isinstance(made, ir.Call):
        return False
    dtype = next((each.value for each in made.args if each.keyword == "dtype"), None)
    if dtype is not None:
        return last_name(dtype) in _INTEGERS
    name = last_name(made.func)
    if name in ("tensor", "as_tensor"):
        return bool(made.args) and _lists_integers(made.args[0].value)
    return name in _MAKE_INTEGERS


def _lists_integers(node: ir.Expr) -> bool:
    """`[16] * n`, `[[1, 2]]`, `[False]` and `[len(x)]`."""
    match node:
        case ir.Constant(value=value):
            return type(value) in (int, bool)
        case ir.Call(func=ir.Name(id="len")):
            return True
        case ir.Display(items=items):
            return bool(items) and all(_lists_integers(item) for item in items)
        case ir.Binary(op="*", left=left, right=right):
            return any(isinstance(e, ir.Display) and _lists_integers(e) for e in (left, right))
    return False


_INTEGERS = frozenset("int8 int16 int32 int64 uint8 uint16 uint32 uint64 int long short".split())
_MAKE_INTEGERS = frozenset(("arange", "randint", "randperm", "LongTensor", "IntTensor"))
