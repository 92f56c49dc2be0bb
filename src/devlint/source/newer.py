"""Syntax that is newer than the running Python: which Python reads it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import libcst as cst
from libcst import matchers as m

from devlint.model.spans import LineIndex
from devlint.source.concrete import REFUSED, tree_of
from devlint.source.depth import is_deep, too_long
from devlint.source.errors import SourceError
from devlint.source.positions import Positions
from devlint.source.room import in_large_stack

Version = tuple[int, int]


def newer_syntax(text: str) -> SourceError | None:
    """Why the running Python refuses a text, where that is syntax of a newer one, which LibCST
    reads; else None."""
    if too_long(text) is not None:
        return None
    try:
        deep = is_deep(text.encode("utf-8", "surrogatepass"))
        tree = in_large_stack(lambda: tree_of(text)) if deep else tree_of(text)
        newest = max(_newer(tree), key=lambda found: found[0], default=None)
        if newest is None:
            return None
        version, words, node = newest
        span = LineIndex(text).span(*Positions(tree, text).range(node))
    except (*REFUSED, RecursionError):
        return None
    needed, running = (".".join(map(str, each)) for each in (version, sys.version_info[:2]))
    reason = (
        f"{words}: syntax of Python {needed}, and devlint runs on Python {running}; run devlint "
        f"with Python {needed} or newer to lint this file"
    )
    return SourceError(reason, span, "syntax")


def _newer(tree: cst.Module) -> Iterator[tuple[Version, str, cst.CSTNode]]:
    """What is newer than the running Python: since which one, in words, and where."""
    newer = [each for each in _SYNTAX if each[0] > sys.version_info[:2]]
    waiting: list[cst.CSTNode] = [tree]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.children)
        for version, words, matcher in newer:
            if matcher(node) if callable(matcher) else m.matches(node, matcher):
                yield version, words, node


def _is_nested_freely(node: cst.CSTNode) -> bool:
    """Whether it is an f-string, one of whose expressions has what only Python 3.12 and newer take
    there: the quotes of the string itself, a backslash, a comment."""
    if not isinstance(node, cst.FormattedString):
        return False
    inside = [cst.Module([]).code_for_node(part) for part in _expressions(node)]
    return any(odd in code for code in inside for odd in (node.end, "\\", "#"))


def _expressions(node: cst.FormattedString) -> Iterator[cst.CSTNode]:
    for part in node.parts:
        if isinstance(part, cst.FormattedStringExpression):
            yield part.with_changes(format_spec=None)


_BARE = m.Tuple(lpar=[])
_GIVEN: Any = m.MatchIfTrue(lambda found: found is not None)
_STARRED = m.StarredElement()

_SYNTAX: tuple[tuple[Version, str, Any], ...] = (
    ((3, 11), "`except*`", m.TryStar()),
    ((3, 11), "`*` in an index", m.Index(star=_GIVEN)),
    ((3, 11), "`*` in an annotation", m.Annotation(annotation=_STARRED)),
    ((3, 12), "a `type` statement", m.TypeAlias()),
    ((3, 12), "type parameters", m.TypeParameters()),
    ((3, 12), "quotes or a backslash in the expression of an f-string", _is_nested_freely),
    ((3, 13), "a default of a type parameter", m.TypeParam(default=_GIVEN)),
    ((3, 14), "a template string", m.TemplatedString()),
    ((3, 14), "`except` without parentheses", m.ExceptHandler(type=_BARE)),
    ((3, 14), "`except*` without parentheses", m.ExceptStarHandler(type=_BARE)),
    ((3, 15), "`*` in a comprehension", m.ListComp(elt=_STARRED)),
    ((3, 15), "`*` in a comprehension", m.SetComp(elt=_STARRED)),
    ((3, 15), "`*` in a comprehension", m.GeneratorExp(elt=_STARRED)),
    ((3, 15), "`**` in a comprehension", m.StarredDictComp()),
    ((3, 15), "a `lazy` import", m.LazyImport()),
    ((3, 15), "a `lazy` import", m.LazyImportFrom()),
)
"""Since when Python has it, what it is called, how LibCST's tree shows it."""
