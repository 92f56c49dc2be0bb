"""The rules, one small module each, and the registry that joins them with their pages.

A rule is one function that turns a fact into reports:

    @rule("discarded-move", on=Move)
    def discarded_move(move: Move) -> Iterator[Report]: ...

The name is that of its page, `rules/discarded-move.md`, which holds the code, the level and
the prose. Every module of this package is a rule module; nothing else has to be edited.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from devlint.model.reports import Report

F = TypeVar("F")
Check = Callable[[Any], Iterator[Report]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's name, the type of fact it reads, and its function."""

    name: str
    on: type
    check: Check


def rule(
    name: str, *, on: type[F]
) -> Callable[[Callable[[F], Iterator[Report]]], Callable[[F], Iterator[Report]]]:
    """Mark a function as the rule called `name`, run on each fact of type `on`."""

    def mark(check: Callable[[F], Iterator[Report]]) -> Callable[[F], Iterator[Report]]:
        marks: tuple[Rule, ...] = getattr(check, "__devlint_rules__", ())
        check.__devlint_rules__ = (*marks, Rule(name, on, check))  # type: ignore[attr-defined]
        return check

    return mark


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule of this package, by module name. A rule may read several types of fact."""
    found: list[Rule] = []
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for attribute in vars(module).values():
            if getattr(attribute, "__module__", "") == module.__name__:
                found.extend(getattr(attribute, "__devlint_rules__", ()))
    return tuple(found)
