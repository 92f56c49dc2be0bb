"""What a condition was asked of, and whether that is still what it was."""

from __future__ import annotations

from functools import lru_cache

from devlint.flow.domain.paths import identity
from devlint.flow.domain.state import Asked
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import condition, stored
from devlint.model import ir
from devlint.model.trees import descendants


def asked_about(frame: Frame, node: ir.Expr) -> Asked:
    """The names in a condition, and what the attributes in it stand for."""
    names, attributes = _named(node)
    held = {path: stored(frame, each) for path, each in attributes} if attributes else {}
    return {**names, **held} if held else names


@lru_cache(maxsize=256)
def _named(node: ir.Expr) -> tuple[dict[str, None], tuple[tuple[str, ir.Expr], ...]]:
    """The names in an expression, and the attributes with their paths."""
    inside = tuple(descendants(node))
    names = dict.fromkeys(each.id for each in inside if isinstance(each, ir.Name))
    attributes = (each for each in inside if isinstance(each, ir.Attribute))
    return names, tuple((identity(each), each) for each in attributes)


def is_past(frame: Frame, node: ir.Expr, key: str) -> bool:
    """Whether something that a condition names isn't any more what it was when that was asked. What
    a name has stored of a condition may have been asked by another name."""
    then = frame.state.asked.get(key)
    if then is None or condition(frame, node) is not None:
        return False
    now = asked_about(frame, node)
    return any(then.get(path, value) is not value for path, value in now.items())
