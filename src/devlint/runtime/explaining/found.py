"""Where a value may come from."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from devlint.runtime.explaining.scopes import Scope


@dataclass(frozen=True)
class Origin:
    """What has decided where a tensor is, or the last that is known on the way there."""

    scope: Scope
    node: ast.AST
    """An expression, or the statement that handed it on."""
    kind: str = ""
    """`made`, `moved` or `loaded`; empty for what is known to hand it on only, `given`
    for an argument of which no more is known; `again` for what
    is asked for already: it adds nothing."""
    nearest: tuple[Scope, ast.AST] | None = None
    """What first computed something of it, seen from where it is used."""

    instead: tuple[Origin, ...] = ()
    """Of what is asked for already: what it was computed with, and is where it is."""

    @property
    def file(self) -> str:
        return self.scope.text.file

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 0)

    @property
    def is_decided(self) -> bool:
        """Whether this has decided where the tensor is."""
        return self.kind in ("made", "moved", "loaded")

    @property
    def is_near(self) -> bool:
        """Whether nothing else was computed of it on the way."""
        return self.nearest is None or self.nearest[1] is self.scope.text.statement(self.node)

    @property
    def place(self) -> tuple[str, int]:
        return self.file, self.line


def is_again(found: list[Origin]) -> bool:
    """Whether a value is known to come from itself only."""
    return bool(found) and all(each.kind == "again" for each in found)


def is_sure(found: list[Origin]) -> bool:
    """Whether one thing has decided where a tensor is."""
    return len(found) == 1 and found[0].is_decided


def distinct(found: list[Origin]) -> list[Origin]:
    """Each place once; what decides it is taken before what hands it on. Where it came by several
    lines, none of them is known to be the nearest."""
    others = [each for each in found if each.kind != "again"]
    if not others:
        return found[:1]
    kept = dict[tuple[str, int], Origin]()
    for each in others:
        other = kept.get(each.place)
        if other is None or _rank(each) > _rank(other):
            kept[each.place] = each
        elif _rank(each) == _rank(other) and _line(each) != _line(other):
            kept[each.place] = replace(other, nearest=None)
    return list(kept.values())


def _line(origin: Origin) -> tuple[str, int] | None:
    """The nearest line."""
    if origin.nearest is None:
        return None
    scope, at = origin.nearest
    return scope.text.file, getattr(at, "lineno", 0)


def _rank(origin: Origin) -> tuple[bool, bool]:
    return origin.is_decided, origin.is_near
