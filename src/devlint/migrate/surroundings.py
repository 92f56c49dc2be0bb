"""What the files around a file tell of it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import libcst as cst
import libcst.matchers as m

from devlint.migrate.choice import Choice
from devlint.migrate.inserting import is_late
from devlint.migrate.scene import Default, Project
from devlint.migrate.syntax import cuda_index, integer, spelled
from devlint.source.parsing import parsed
from devlint.torchapi.table import load

Tree = tuple[str, str, cst.Module]
"""A file: its path, its text and what is in it."""


def projects(
    read: Sequence[Tree], defaults: Sequence[Default], choice: Choice, name: str
) -> Iterator[Project]:
    """What is known of the files around each file: those that its imports lead to, or that lead to
    it. `defaults` has the default type of each."""
    table, known = load(), [known_of(module) for _, _, module in read]
    late = any(each.late for each in known)
    words = [(path, imported(text)) for path, text, _ in read]
    for default, group in zip(defaults, groups(words), strict=True):
        around = [known[each] for each in group]
        yield Project(
            choice,
            table,
            name,
            frozenset().union(*(each.indices for each in around)),
            frozenset().union(*(each.indexed for each in around)),
            late,
            default,
        )


@dataclass(slots=True)
class Known:
    """What one file tells of the project."""

    late: bool
    indices: set[int]
    indexed: set[str]


def known_of(module: cst.Module) -> Known:
    found = Known(is_late(module), set(), set())
    for each in m.findall(module, m.SimpleString() | m.Call()):
        if isinstance(each, cst.Call):
            found.indices.update(_given_index(each))
            if each.args and m.matches(each.func, m.Attribute(attr=m.Name("set_device"))):
                found.indexed.add(spelled(each.args[0].value))
        elif (index := cuda_index(each)) is not None and index >= 0:
            found.indices.add(index)
    return found


def groups(files: Sequence[tuple[str, Collection[str]]]) -> list[set[int]]:
    """For each file, of which there are the path and the words in its imports, the numbers of those
    that imports connect it with, by the last parts of their names."""
    stems: dict[str, list[int]] = {}
    for number, (name, _) in enumerate(files):
        path = PurePath(name)
        stem = path.parent.name if path.stem == "__init__" else path.stem
        stems.setdefault(stem, []).append(number)
    found = [{number} for number in range(len(files))]
    for number, (_, words) in enumerate(files):
        for name in words:
            for other in stems.get(name, ()):
                if found[other] is not found[number]:
                    found[number] |= found[other]
                    for member in found[other]:
                        found[member] = found[number]
    return found


def imported(text: str) -> set[str]:
    """The words in the imports of a file that Python can parse."""
    found: set[str] = set()
    for node in ast.walk(parsed(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [name for each in node.names for name in (each.name, each.asname)]
            for name in (*names, getattr(node, "module", None)):
                found.update((name or "").split("."))
    return found


def _given_index(call: cst.Call) -> Iterable[int]:
    """The index in `x.cuda(1)` and `torch.device("cuda", 1)`."""
    if m.matches(call.func, m.Attribute(attr=m.Name("cuda") | m.Name("device"))):
        for each in call.args[:2]:
            index = integer(each.value)
            if index is not None:
                yield index
