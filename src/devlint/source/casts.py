"""Casts to another dtype that stand right behind what they cast: `x.view(-1).float()`."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from devlint.model.trees import CASTS

_DTYPES = CASTS | {"float16", "float32", "int8", "int16", "int32", "int64", "uint8"}
_OF_SHAPE = frozenset({
    "clone", "contiguous", "detach", "expand", "flatten", "permute", "repeat", "reshape", "squeeze",
    "t", "transpose", "unsqueeze", "view",
})  # fmt: skip
"""Methods that work alike on a tensor of any dtype, and take no other tensor."""


class Casts:
    """The calls of methods in a text, by what these are called on."""

    def __init__(self, nodes: Iterable[cst.CSTNode]) -> None:
        self._calls: dict[cst.CSTNode, tuple[str, cst.Call]] = {}
        for node in nodes:
            if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
                self._calls[node.func.value] = node.func.attr.value, node

    def last(self, node: cst.CSTNode) -> cst.Call | None:
        """The last cast of what an expression gives, before anything else is done with it."""
        cast: cst.Call | None = None
        while (found := self._calls.get(node)) is not None:
            name, call = found
            if _is_cast(name, call):
                cast = call
            elif name not in _OF_SHAPE:
                break
            node = call
        return cast


def _is_cast(name: str, call: cst.Call) -> bool:
    """`.float()`, `.to(torch.float32)`, `.type(dtype=torch.long)`."""
    if name in ("to", "type") and len(call.args) == 1:
        given = call.args[0]
        named = given.keyword is None or given.keyword.value == "dtype"
        return named and isinstance(given.value, cst.Attribute) and _is_dtype(given.value)
    return name in CASTS and not call.args


def _is_dtype(node: cst.Attribute) -> bool:
    owner = node.value
    return isinstance(owner, cst.Name) and owner.value == "torch" and node.attr.value in _DTYPES
