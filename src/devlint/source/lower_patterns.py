"""What the patterns of a `match` test and bind."""

from __future__ import annotations

from typing import Any

import libcst as cst

from devlint import ir
from devlint.source.lower_expressions import expression
from devlint.source.lower_literals import spelled


def values(pattern: cst.MatchPattern) -> list[ir.Expr]:
    """What the subject itself is tested against; not what its parts are tested against."""
    if isinstance(pattern, cst.MatchValue):
        return [expression(pattern.value)]
    if isinstance(pattern, cst.MatchSingleton):
        return [expression(pattern.value)]
    if isinstance(pattern, cst.MatchClass):
        return [expression(pattern.cls)]
    if isinstance(pattern, cst.MatchAs) and pattern.pattern is not None:
        return values(pattern.pattern)
    if isinstance(pattern, cst.MatchOr):
        return [value for each in pattern.patterns for value in values(each.pattern)]
    return []


def collect_names(pattern: Any, found: list[str]) -> None:
    """The names that a pattern binds, each once, in the order of the source."""
    if isinstance(pattern, cst.MatchAs):
        if pattern.pattern is not None:
            collect_names(pattern.pattern, found)
        _add(pattern.name, found)
    elif isinstance(pattern, cst.MatchStar):
        _add(pattern.name, found)
    elif isinstance(pattern, cst.MatchSequenceElement):
        collect_names(pattern.value, found)
    elif isinstance(pattern, (cst.MatchSequence, cst.MatchOr)):
        for each in pattern.patterns:
            collect_names(each, found)
    elif isinstance(
        pattern, (cst.MatchMappingElement, cst.MatchKeywordElement, cst.MatchOrElement)
    ):
        collect_names(pattern.pattern, found)
    elif isinstance(pattern, cst.MatchMapping):
        for element in pattern.elements:
            collect_names(element, found)
        _add(pattern.rest, found)
    elif isinstance(pattern, cst.MatchClass):
        for positional in pattern.patterns:
            collect_names(positional, found)
        for keyword in pattern.kwds:
            collect_names(keyword, found)


def _add(name: cst.Name | None, found: list[str]) -> None:
    if name is not None and spelled(name.value) not in found:
        found.append(spelled(name.value))


def takes_all(pattern: cst.MatchPattern) -> bool:
    """Whether a pattern matches everything: `_`, a bare name, or a choice with one of them."""
    if isinstance(pattern, cst.MatchAs):
        return pattern.pattern is None or takes_all(pattern.pattern)
    if isinstance(pattern, cst.MatchOr):
        return any(takes_all(each.pattern) for each in pattern.patterns)
    return False
