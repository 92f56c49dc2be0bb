"""The rows of `files.toml`, which says what their fields mean, and those that speak of a file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import PurePath

from devlint.policy.toml import RowError, tables

CODE = ("plain", "module", "stateless-module", "data", "managed")
"""The sorts of code that a row may speak of."""
ROLES = ("test", "data")
GUARDS = ("chosen",)
EFFECTS = ("role", "guard", "host", "closed")
_OPTIONAL = frozenset(("stem", "suffix", "unless", "but_in", "folder", "near", *EFFECTS))
_REQUIRED = frozenset(("reason", "of", "withheld", "reported"))
_CASE = frozenset(("file", "rule", "source"))


@dataclass(frozen=True, slots=True)
class Case:
    """A file and its source, in which a rule reports something unless the row withholds it."""

    file: str
    rule: str
    source: str


@dataclass(frozen=True, slots=True)
class Row:
    """One habit. One of `role`, `guard`, `host` and `closed` is how rules look at a fact once more:
    each of the others is empty."""

    name: str
    reason: str
    of: frozenset[str]
    role: str
    guard: str
    withheld: Case
    reported: Case
    host: bool = False
    closed: bool = False
    stem: re.Pattern[str] | None = None
    suffix: str = ""
    unless: re.Pattern[str] | None = None
    but_in: str = ""
    folder: re.Pattern[str] | None = None
    near: int = 0

    def speaks_of(self, path: str) -> bool:
        """Whether a file has such a name, or one of the folders near it."""
        names = PurePath(path.lower())
        if self.unless is not None and self.unless.search(names.stem):
            if not self.but_in or not rows()[self.but_in].speaks_of(path):
                return False
        if self.stem is not None and self.stem.fullmatch(names.stem):
            return True
        if self.suffix and names.suffix == self.suffix:
            return True
        near = names.parts[:-1][-self.near :] if self.near else ()
        return self.folder is not None and any(map(self.folder.fullmatch, near))


@cache
def rows() -> Mapping[str, Row]:
    """All rows by name, in the order of the file."""
    from importlib import resources  # a run without a changed file needs no rows

    text = (resources.files(__package__) / "files.toml").read_text(encoding="utf-8")
    return read(text)


@lru_cache(maxsize=4096)
def of_file(path: str, off: Collection[str]) -> tuple[Row, ...]:
    """The rows that speak of a file, without those that are `off`: of those of one effect the
    first."""
    found = [row for row in rows().values() if row.name not in off and row.speaks_of(path)]
    firsts = (next((row for row in found if getattr(row, key)), None) for key in EFFECTS)
    return tuple(row for row in firsts if row is not None)


def read(text: str) -> dict[str, Row]:
    """The rows of a text. Raises `RowError`."""
    found = {name: _row(name, given) for name, given in tables(text).items()}
    for row in found.values():
        if row.but_in and row.but_in not in found:
            raise RowError(f"{row.name}: no row `{row.but_in}`")
    return found


def _row(name: str, given: Mapping[str, object]) -> Row:
    for problem in _problems(given):
        raise RowError(f"{name}: {problem}")
    fields = dict(given)
    for key in ("stem", "unless", "folder"):
        if key in fields:
            fields[key] = re.compile(str(fields[key]))
    for key in ("withheld", "reported"):
        fields[key] = Case(**fields[key])  # type: ignore[arg-type]
    fields["of"] = frozenset(fields["of"])  # type: ignore[call-overload]
    return Row(name=name, **{"role": "", "guard": "", **fields})  # type: ignore[arg-type]


def _problems(given: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with a row, the first of which is told."""
    if missing := _REQUIRED - set(given):
        yield f"without {', '.join(sorted(missing))}"
        return
    if unknown := set(given) - _REQUIRED - _OPTIONAL:
        yield f"unknown: {', '.join(sorted(unknown))}"
    if not ({"stem", "suffix", "folder"} & set(given)):
        yield "it speaks of no file"
    if sum(key in given for key in EFFECTS) != 1:
        yield f"it has one of {', '.join(EFFECTS)}"
    known = {"role": ROLES, "guard": GUARDS, "host": (True,), "closed": (True,)}
    if any(given.get(key, known[key][0]) not in known[key] for key in EFFECTS):
        yield "no such role or guard"
    of = given["of"]
    if not isinstance(of, list) or not of or not set(of) <= set(CODE):
        yield f"`of` is a list of {', '.join(CODE)}"
    if not str(given["reason"]).strip():
        yield "without a reason"
    for key in ("withheld", "reported"):
        case = given[key]
        if not isinstance(case, dict) or set(case) != _CASE or not all(case.values()):
            yield f"`{key}` has {', '.join(sorted(_CASE))}"
