"""The file itself, and what a case file asks."""

from __future__ import annotations

from dataclasses import dataclass

from devlint.flow.facts.base import Fact, Operand
from devlint.model.reports import Located


@dataclass(frozen=True, slots=True)
class Revealed(Fact):
    """`reveal_device(x)` in a case file: what the interpreter thinks of `x`."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Unparsable:
    """The file, or a cell of a notebook, is no Python. `at.origin` is a `findings.Span`."""

    at: Located
    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The file can't be read or decoded. `at.origin` is a `findings.Span`."""

    at: Located
    reason: str


@dataclass(frozen=True, slots=True)
class IdleSuppression:
    """A suppression comment, or some codes of it, that suppress nothing.

    `at.origin` is the span of the comment; `codes` are the idle ones; `remaining` is the text
    that the comment keeps, "" to remove it whole (with the blanks before it).
    """

    at: Located
    codes: tuple[str, ...]
    remaining: str
