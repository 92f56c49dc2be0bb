"""The rows of `names.toml`, which says what their fields mean, and what a name is taken for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, lru_cache

from devlint.policy.toml import RowError, tables

OF = frozenset((
    "class", "condition", "decorator", "docstring", "function", "parameter", "receiver",
    "variable", "word",
))  # fmt: skip
"""What may have a name. A variable is whatever an expression ends with: `c` of `a.b.c` as well, or
the whole of it as it is written."""
MEANINGS = frozenset((
    "a-device", "about-devices", "accelerate", "accelerator-flag", "batch", "class", "collator",
    "composes", "counter", "data", "device", "device-index", "device-or-index", "dtype", "for-cuda",
    "goes-to-device", "host", "host-flag", "host-number", "index", "loader", "local-rank",
    "looks-up", "loss", "mixin", "model", "module", "namespace", "no-tensor", "one-thing",
    "options", "pipeline", "sampler", "scheduler", "set-up", "skips", "speaks-of-devices", "tensor",
    "tokenizer", "trial-run", "unused",
))  # fmt: skip
"""What a name may be taken to mean."""
_REQUIRED = frozenset(("of", "pattern", "means", "reason", "changes", "stays"))
_OPTIONAL = frozenset(("unless",))
_CASE = frozenset(("rule", "source"))


@dataclass(frozen=True, slots=True)
class Example:
    """A source, and the rule whose findings in it the row changes, or doesn't."""

    rule: str
    source: str
    file: str = "code.py"
    """What the file is called: rows on files may speak of it as well."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What names that match are taken to mean, and why."""

    name: str
    of: frozenset[str]
    pattern: re.Pattern[str]
    means: str
    reason: str
    changes: Example
    stays: Example
    unless: re.Pattern[str] | None = None

    def speaks_of(self, name: str, of: str) -> bool:
        """Whether something of that sort has such a name."""
        if of not in self.of or self.pattern.fullmatch(name) is None:
            return False
        return self.unless is None or self.unless.fullmatch(name) is None


@dataclass(frozen=True, slots=True)
class Asking:
    """Which rows are off while a file is read, and those that have spoken so far."""

    off: frozenset[str] = frozenset()
    spoke: set[str] = field(default_factory=set)


_ASKING: ContextVar[Asking | None] = ContextVar("devlint.policy.asking", default=None)


@contextmanager
def asking(off: Collection[str]) -> Iterator[Asking]:
    """Within, `means` leaves out the rows that are off, and what is given tells which have spoken;
    at the end, so does what was given around it."""
    state, around = Asking(frozenset(off)), _ASKING.get()
    token = _ASKING.set(state)
    try:
        yield state
    finally:
        _ASKING.reset(token)
        if around is not None:
            around.spoke.update(state.spoke)


def means(hypothesis: str, name: str, of: str) -> str:
    """The row by which a name is taken to mean that, "" for none."""
    state = _ASKING.get()
    ask = _row if len(name) <= _LONGEST else _row.__wrapped__
    found = ask(hypothesis, name, of, _NONE if state is None else state.off)
    if found and state is not None:
        state.spoke.add(found)
    return found


_NONE: frozenset[str] = frozenset()
_LONGEST = 200
"""Characters of the names that are remembered: others are rare."""


@lru_cache(maxsize=32768)
def _row(hypothesis: str, name: str, of: str, off: frozenset[str]) -> str:
    for row in _meaning()[hypothesis]:
        if row.name not in off and row.speaks_of(name, of):
            return row.name
    return ""


@cache
def _meaning() -> Mapping[str, tuple[Hypothesis, ...]]:
    """The rows by what they take a name for."""
    rows = hypotheses().values()
    return {word: tuple(row for row in rows if row.means == word) for word in MEANINGS}


@cache
def hypotheses() -> Mapping[str, Hypothesis]:
    """All rows by name, in the order of the file."""
    from importlib import resources  # a run without a changed file needs no rows

    text = (resources.files(__package__) / "names.toml").read_text(encoding="utf-8")
    return read(text)


def read(text: str) -> dict[str, Hypothesis]:
    """The rows of a text. Raises `RowError`."""
    return {name: _read(name, given) for name, given in tables(text).items()}


def _read(name: str, given: Mapping[str, object]) -> Hypothesis:
    for problem in _problems(given):
        raise RowError(f"{name}: {problem}")
    fields = dict(given)
    for key in ("pattern", "unless"):
        if key in fields:
            fields[key] = re.compile(str(fields[key]))
    for key in ("changes", "stays"):
        fields[key] = Example(**fields[key])  # type: ignore[arg-type]
    fields["of"] = frozenset(fields["of"])  # type: ignore[call-overload]
    return Hypothesis(name=name, **fields)  # type: ignore[arg-type]


def _problems(given: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with a row, the first of which is told."""
    if missing := _REQUIRED - set(given):
        yield f"without {', '.join(sorted(missing))}"
        return
    if unknown := set(given) - _REQUIRED - _OPTIONAL:
        yield f"unknown: {', '.join(sorted(unknown))}"
    of = given["of"]
    if not isinstance(of, list) or not of or not set(of) <= OF:
        yield f"`of` is a list of {', '.join(sorted(OF))}"
    if given["means"] not in MEANINGS:
        yield f"`means` is one of {', '.join(sorted(MEANINGS))}"
    if not str(given["reason"]).strip():
        yield "without a reason"
    for key in ("changes", "stays"):
        case = given[key]
        keys = {*case} - {"file"} if isinstance(case, dict) else {""}
        if not isinstance(case, dict) or keys != {*_CASE} or not all(case.values()):
            yield f"`{key}` has {', '.join(sorted(_CASE))}"
