"""What the patterns of a `match` in Python's `ast` test and bind."""

from __future__ import annotations

import ast
from typing import Any

from devlint.model import ir
from devlint.source.lower_expressions import expression
from devlint.source.spots import spot


def values(pattern: ast.pattern, path: str) -> list[ir.Expr]:
    """What the subject itself is tested against; not what its parts are tested against."""
    if isinstance(pattern, ast.MatchValue):
        return [expression(pattern.value, path)]
    if isinstance(pattern, ast.MatchSingleton):
        return [ir.Constant(pattern.value, spot(pattern, path))]
    if isinstance(pattern, ast.MatchClass):
        return [expression(pattern.cls, path)]
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        return values(pattern.pattern, path)
    if isinstance(pattern, ast.MatchOr):
        return [value for each in pattern.patterns for value in values(each, path)]
    return []


def collect_names(pattern: Any, found: list[str]) -> None:
    """The names that a pattern binds, each once, in the order of the source."""
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            collect_names(pattern.pattern, found)
        _add(pattern.name, found)
    elif isinstance(pattern, ast.MatchStar):
        _add(pattern.name, found)
    elif isinstance(pattern, (ast.MatchSequence, ast.MatchOr)):
        for each in pattern.patterns:
            collect_names(each, found)
    elif isinstance(pattern, ast.MatchMapping):
        for each in pattern.patterns:
            collect_names(each, found)
        _add(pattern.rest, found)
    elif isinstance(pattern, ast.MatchClass):
        for each in (*pattern.patterns, *pattern.kwd_patterns):
            collect_names(each, found)


def _add(name: str | None, found: list[str]) -> None:
    if name is not None and name not in found:
        found.append(name)


def takes_all(pattern: ast.pattern) -> bool:
    """Whether a pattern matches everything: `_`, a bare name, or a choice with one of them."""
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or takes_all(pattern.pattern)
    if isinstance(pattern, ast.MatchOr):
        return any(map(takes_all, pattern.patterns))
    return False
