"""Whether a file has anything to do with devices, as far as its words tell."""

from __future__ import annotations

from itertools import chain

from devlint.flow.syntax.walk import descendants
from devlint.model import ir
from devlint.policy import means

_SIGNS = (".to", "cuda", "device", "gpu", "accelerator", "map_location")
"""One of these stands in each file in which something speaks of devices."""


def speaks_of_devices(text: str, module: ir.Module) -> bool:
    """Whether the code of a file names a device or moves something, anywhere. What comments and
    docstrings say of devices changes nothing."""
    lower = text.lower()
    if not any(sign in lower for sign in _SIGNS):
        return False
    said: set[ir.Node] = set()
    for node in chain.from_iterable(map(descendants, module.body)):
        if isinstance(node, ir.Evaluate) and isinstance(node.value, ir.Constant):
            said.add(node.value)
        elif node not in said and _is_sign(node):
            return True
    return False


def _is_sign(node: ir.Node) -> bool:
    match node:
        case ir.Call(func=ir.Attribute(attr="to"), args=args):
            return not args or not all(map(_is_dtype, args))
        case ir.Call(func=ir.Attribute(attr="cuda")):
            return True
        case ir.Name(id=word) | ir.Attribute(attr=word) | ir.Constant(value=str(word)):
            return _speaks(word)
        case ir.Parameter(name=word) | ir.Function(name=word) | ir.Class(name=word):
            return _speaks(word)
        case ir.Argument(keyword=str(word)):
            return _speaks(word)
        case ir.Alias(name=word, asname=other):
            return _speaks(word) or _speaks(other or "")
        case ir.ImportFrom(module=word):
            return _speaks(word)
    return False


def _is_dtype(argument: ir.Argument) -> bool:
    """Whether what `.to(...)` is given moves nothing: `torch.float32`, `dtype=x.dtype`."""
    match argument.value:
        case ir.Attribute(value=ir.Name(id="torch"), attr=attr):
            return argument.keyword in (None, "dtype") and not _speaks(attr)
        case ir.Attribute(attr="dtype"):
            return True
    return argument.keyword == "dtype"


def _speaks(word: str) -> bool:
    return bool(means("speaks-of-devices", word, "word"))
