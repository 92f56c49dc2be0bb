"""Compares two pieces of the intermediate form."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from devlint import ir
from devlint.source.reading import read_document
from devlint.source.scout import scout_module


def difference(one: Any, other: Any, path: str = "module") -> str:
    """The first place where two nodes differ, origins aside, and how; "" where nowhere."""
    if type(one) is not type(other):
        return f"{path}: {_short(one)} is not {_short(other)}"
    if isinstance(one, tuple):
        if len(one) != len(other):
            return f"{path}: {len(one)} parts are not {len(other)}: {one} is not {other}"
        pairs = zip(one, other, strict=True)
        found = (difference(*pair, f"{path}[{number}]") for number, pair in enumerate(pairs))
        return next(filter(None, found), "")
    if isinstance(one, ir.Node):
        names = _names(type(one))
        found = (difference(getattr(one, n), getattr(other, n), f"{path}.{n}") for n in names)
        return next(filter(None, found), "")
    return "" if repr(one) == repr(other) else f"{path}: {one!r} is not {other!r}"


def _names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind) if field.name != "origin"]


def _short(node: object) -> str:
    text = ir.render(node) if isinstance(node, ir.Node) else node
    return f"{type(node).__name__} {text!r}"


def differing(data: bytes, name: str) -> str:
    """How the two readings of a file differ; "" where they don't, or Python can't parse it."""
    scouted = scout_module(data, name)
    if scouted is None:
        return ""
    return difference(scouted, read_document(data, name).module)
