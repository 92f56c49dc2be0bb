"""The table of rows: read from TOML, checked, and looked up by dotted name.

A file has up to three parts.

    [rows]
    "torch.cat" = { effect = "join", operands = [[0, "tensors"]] }

    [[group]]                           # one row for many names
    names = ["add", "mul"]
    prefix = "torch.Tensor."            # put before each name
    functions = ["torch."]              # also functions: `self` becomes their first argument
    row = { effect = "join", operands = ["self", [0, "other"]] }

    [aliases]                           # another dotted name of the same thing
    "torch.nn.modules.linear.*" = "torch.nn.*"

In a name `*` stands for any part of one component and `**` for one or more components. An
exact name goes before an alias, an alias before a pattern, a pattern without `**` before one with
it, a longer pattern before a shorter one.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import resources
from itertools import count
from reprlib import repr as shorten
from typing import Any

from devlint.torchapi.effects import Arg, Dims, Effect, Row

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KINDS = frozenset({
    "unknown", "tensor", "module", "placed", "optimizer", "loader", "dataset", "batch", "tokenizer",
    "encoding", "list", "tuple", "set", "dict", "ndarray", "device", "generator", "string",
    "number", "bool", "none", "dtype", "namespace",
})  # fmt: skip
"""The kinds that a row may name, from `flow.domain.values.Kind`."""
TRAITS = frozenset(
    ("parameter", "buffer", "device context", "number of devices", "registers a buffer")
)
"""The traits that a row may name, from `flow.domain.traits.Trait`."""

_MOST_ROWS = 1000
"""Rows that a user adds: a name may be compared with all of them."""
_LONGEST_NAME = 255
_MOST_WILDCARDS = 10
_SHOWN = 100
"""Characters of a wrong word that a message shows."""

_PARAMETER = ("device", "like", "data", "of", "dim", "size", "generator", "parts_without")
_PARAMETERS = ("operands", "cpu_only", "weights")
_NAMES = ("submodules", "parts_with", "beside", "batches", "model_and_batch")
_TYPES: dict[str, type] = {
    item.name: type(item.default)
    for item in fields(Row)
    if item.name not in (*_PARAMETER, *_PARAMETERS, *_NAMES, "name", "effect", "dims")
}
_NEEDED = {
    Effect.CREATE_LIKE: ("like",),
    Effect.JOIN: ("operands",),
    Effect.INDEX: ("operands",),
    Effect.HOST_ONLY: ("operands",),
    Effect.OVERLAY: ("overlay",),
    Effect.READ_ON_HOST: ("host",),
}
"""The fields without which an effect says nothing."""


@dataclass(frozen=True)
class Table:
    """Rows by dotted name. `version` changes whenever a row does."""

    rows: Mapping[str, Row]
    patterns: Mapping[str, tuple[tuple[re.Pattern[str], Row], ...]]
    """By the first component of the name, the most specific pattern first."""
    aliases: Mapping[str, str]
    version: str
    _found: dict[str, Row | None] = field(default_factory=dict, repr=False, compare=False)

    def get(self, name: str) -> Row | None:
        """The row for a dotted name, with that name in it; None where nothing is claimed."""
        try:
            return self._found[name]
        except KeyError:
            row = self._look_up(name)
            found = None if row is None else replace(row, name=self.canonical(name))
            return self._found.setdefault(name, found)

    def canonical(self, name: str) -> str:
        """The name under which the documentation knows it: `torch.nn.Linear`."""
        if name in self.rows:
            return name
        if name in self.aliases:
            return self.aliases[name]
        parent, dot, last = name.rpartition(".")
        while dot:
            if f"{parent}.*" in self.aliases:
                return self.canonical(self.aliases[f"{parent}.*"][:-1] + last)
            parent, dot, component = parent.rpartition(".")
            last = f"{component}.{last}"
        return name

    def names(self) -> Iterator[str]:
        """Every exact name, then every pattern."""
        yield from self.rows
        for patterns in self.patterns.values():
            for _, row in patterns:
                yield row.name

    def with_rows(self, mapping: Mapping[str, Any]) -> Table:
        """A table with a user's rows on top.

        Raises:
            ValueError: a row says something that no row can say.
        """
        if len(mapping) > _MOST_ROWS:
            raise ValueError(f"there are more than {_MOST_ROWS:,} rows")
        added = dict(_row(name, entry, f'"{name}"') for name, entry in mapping.items())
        stamp = hashlib.sha256(f"{self.version}{sorted(map(repr, added.values()))}".encode())
        every = {row.name: row for group in self.patterns.values() for _, row in group}
        known = {row.overlay for row in (*self.rows.values(), *every.values())}
        for name, row in added.items():
            if row.overlay not in known:
                raise ValueError(f'"{name}": overlay: there is no {shorten(row.overlay)}')
        return _assemble({**self.rows, **every, **added}, self.aliases, stamp.hexdigest())

    def _look_up(self, name: str) -> Row | None:
        row = self.rows.get(name) or self.rows.get(self.canonical(name))
        if row is not None:
            return row
        for spelling in dict.fromkeys((name, self.canonical(name))):
            for pattern, row in self.patterns.get(spelling.partition(".")[0], ()):
                if pattern.fullmatch(f"{spelling}."):
                    return row
        return None


@cache
def load() -> Table:
    """The table that devlint brings along.

    Raises:
        ValueError: one of its files is wrong; the text names the file and the key.
    """
    rows: dict[str, Row] = {}
    aliases: dict[str, str] = {}
    digest = hashlib.sha256()
    here = resources.files(__package__)
    for folder in (here, here / "companions"):
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if not file.name.endswith(".toml"):
                continue
            data = file.read_bytes()
            digest.update(data)
            for name, row in read(data.decode(), file.name, aliases):
                if name in rows:
                    raise ValueError(f'{file.name}: "{name}": this name has a row already')
                rows[name] = row
    return _assemble(rows, aliases, digest.hexdigest())


def read(text: str, filename: str, aliases: dict[str, str]) -> Iterator[tuple[str, Row]]:
    """Each name of a file with its row; the file's aliases are put into `aliases`.

    Rows of one group are one object: `Table.get` puts in the name that was asked for.

    Raises:
        ValueError: the file isn't TOML, or says something that no row can say.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{filename}: {error}") from None
    for key in content.keys() - {"rows", "group", "aliases"}:
        raise ValueError(f'{filename}: "{key}": expected [rows], [[group]] or [aliases]')
    for name, entry in content.get("rows", {}).items():
        yield _row(name, entry, f'{filename}: "{name}"')
    for position, group in enumerate(content.get("group", ()), 1):
        yield from _group(group, f"{filename}: group {position}")
    for name, target in content.get("aliases", {}).items():
        if name in aliases or name.endswith(".*") != target.endswith(".*"):
            raise ValueError(f'{filename}: alias "{name}": given twice, or `*` on one side only')
        aliases[name] = target


def _group(group: dict[str, Any], where: str) -> Iterator[tuple[str, Row]]:
    for key in group.keys() - {"names", "prefix", "functions", "row"}:
        raise ValueError(f'{where}: unknown key "{key}"')
    names, prefix = group.get("names", []), group.get("prefix", "")
    if not names or "row" not in group:
        raise ValueError(f"{where}: `names` and `row` are needed")
    where = f'{where} ("{prefix}{names[0]}" ...)'
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'{where}: "{twice}" is given twice')
    _, row = _row(prefix + names[0], group["row"], where)
    forms = [(prefix, row), *((form, as_function(row)) for form in group.get("functions", ()))]
    for form, template in forms:
        for name in names:
            full = form + name
            yield full, replace(template, name=full) if "*" in full else template


def as_function(row: Row) -> Row:
    """A method's row as that of the function: `self` is its first argument, the rest move up."""

    def shift(args: tuple[Arg, ...]) -> tuple[Arg, ...]:
        shifted: list[Arg] = []
        for arg in args:
            if arg == "self":
                shifted += [0, "input"]
            else:
                shifted.append(arg + 1 if isinstance(arg, int) and arg >= 0 else arg)
        return tuple(shifted)

    shifted: dict[str, Any] = {name: shift(getattr(row, name)) for name in _PARAMETER}
    for name in _PARAMETERS:
        shifted[name] = tuple(map(shift, getattr(row, name)))
    return replace(row, **shifted)


def _row(name: str, entry: Any, where: str) -> tuple[str, Row]:
    """Check one entry. Keys may be written with hyphens or underscores."""
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"a name has more than {_LONGEST_NAME} characters")
    if len(re.findall(r"\*+", name)) > _MOST_WILDCARDS:
        raise ValueError(f"{where}: there are more than {_MOST_WILDCARDS} wildcards in it")
    if not re.fullmatch(r"[\w*]+(\.[\w*]+)*", name):
        raise ValueError(f"{where}: expected a dotted name")
    if not isinstance(entry, Mapping):
        raise ValueError(f'{where}: expected a table, such as {{ effect = "keep" }}')
    given = {key.replace("-", "_"): value for key, value in entry.items()}
    changes: dict[str, Any] = {}
    for key, value in given.items():
        if key == "effect":
            changes[key] = _member(Effect, value, where)
        elif key == "dims":
            changes[key] = _member(Dims, value, where)
        elif key in _PARAMETER:
            changes[key] = _parameter(value, f"{where}: {key}")
        elif key in _PARAMETERS:
            if not isinstance(value, list):
                raise ValueError(
                    f"{where}: {key}: expected a list of parameters, not {shorten(value)}"
                )
            changes[key] = tuple(_parameter(item, f"{where}: {key}") for item in value)
        elif key in _NAMES:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise ValueError(f"{where}: {key}: expected a list of names, not {shorten(value)}")
            changes[key] = tuple(value)
        elif key in _TYPES:
            if type(value) is not _TYPES[key]:
                raise ValueError(
                    f"{where}: {key}: expected {_TYPES[key].__name__}, not {shorten(value)}"
                )
            changes[key] = value
        else:
            known = ", ".join(item.name for item in fields(Row) if item.name != "name")
            raise ValueError(f'{where}: unknown key "{key[:_SHOWN]}"; the keys are {known}')
    if "effect" not in changes:
        raise ValueError(f"{where}: `effect` is missing")
    for needed in _NEEDED.get(changes["effect"], ()):
        if not changes.get(needed):
            raise ValueError(f'{where}: effect "{changes["effect"].value}" needs `{needed}`')
    for key, words in (("kind", KINDS), ("trait", TRAITS)):
        if key in changes and changes[key] not in words:
            known = ", ".join(sorted(words))
            raise ValueError(f'{where}: unknown {key} "{changes[key][:_SHOWN]}": {known}')
    return name, Row(name, **changes)


def _member(enum: type[Effect] | type[Dims], value: Any, where: str) -> Effect | Dims:
    try:
        return enum(value)
    except ValueError:
        known = ", ".join(member.value for member in enum if member.value)
        raise ValueError(f"{where}: {shorten(value)} is none of {known}") from None


def _parameter(value: Any, where: str) -> tuple[Arg, ...]:
    args = value if isinstance(value, list) else [value]
    if not args or not all(type(arg) in (int, str) for arg in args):
        raise ValueError(
            f"{where}: expected a position or a keyword, or a list of such: {shorten(value)}"
        )
    return tuple(args)


def _assemble(rows: Mapping[str, Row], aliases: Mapping[str, str], version: str) -> Table:
    exact = {name: row for name, row in rows.items() if "*" not in name}
    globs = sorted((n for n in rows if "*" in n), key=lambda n: (n.count("**"), -len(n), n))
    patterns: dict[str, list[tuple[re.Pattern[str], Row]]] = {}
    for name in globs:
        patterns.setdefault(name.partition(".")[0], []).append((_regex(name), rows[name]))
    return Table(exact, {root: tuple(found) for root, found in patterns.items()}, aliases, version)


def _regex(glob: str) -> re.Pattern[str]:
    """A name with wildcards, as an expression that takes the first place that fits for what stands
    between two of them, and stays with it: the second has the most room then. So the time grows
    with the name and the pattern alone."""
    groups = count()

    def first(text: str) -> str:
        group = f"g{next(groups)}"
        return f"(?=(?P<{group}>{text}))(?P={group})"

    def component(part: str) -> str:
        head, *pieces = map(re.escape, re.split(r"\*+", part))
        middle = (first(rf"\w*?{piece}") for piece in pieces[:-1])
        return "".join([head, *middle, *(rf"\w*{piece}" for piece in pieces[-1:])])

    blocks: list[list[str]] = [[]]
    for part in glob.split("."):
        if part == "**":
            blocks.append([])
        else:
            blocks[-1].append(rf"{component(part)}\.")
    # Behind each component is a dot, which the whole is matched without.
    start, *rest = ["".join(block) for block in blocks]
    middle = [first(rf"(?:\w+\.)+?{block}") for block in rest[:-1]]
    end = [rf"(?:\w+\.)+{block}" for block in rest[-1:]]
    return re.compile("".join([start, *middle, *end]))
