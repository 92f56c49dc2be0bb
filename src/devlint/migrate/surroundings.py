"""What the files around a file tell of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import libcst as cst
import libcst.matchers as m

from devlint.migrate.choice import Choice
from devlint.migrate.inserting import is_late
from devlint.migrate.scene import Project
from devlint.migrate.syntax import cuda_index, integer, spelled
from devlint.torchapi.table import load

Tree = tuple[str, cst.Module]
"""A file: its path and what is in it."""


def projects(read: Sequence[Tree], choice: Choice, name: str) -> Iterator[Project]:
    """What is known of the files around each file: those that its imports lead to, or that lead to
    it."""
    table, known = load(), [known_of(module) for _, module in read]
    late = any(each.late for each in known)
    for group in _groups(read):
        around = [known[each] for each in group]
        yield Project(
            choice,
            table,
            name,
            frozenset().union(*(each.indices for each in around)),
            frozenset().union(*(each.indexed for each in around)),
            late,
            any(each.by_type for each in around),
        )


@dataclass(slots=True)
class Known:
    """What one file tells of the project."""

    late: bool
    by_type: bool
    indices: set[int]
    indexed: set[str]


def known_of(module: cst.Module) -> Known:
    found = Known(is_late(module), False, set(), set())
    for each in m.findall(module, m.SimpleString() | m.Call()):
        if isinstance(each, cst.Call):
            found.indices.update(_given_index(each))
            if each.args and m.matches(each.func, m.Attribute(attr=m.Name("set_device"))):
                found.indexed.add(spelled(each.args[0].value))
            if each.args and m.matches(
                each.func, m.Attribute(attr=m.Name("set_default_tensor_type"))
            ):
                found.by_type = found.by_type or "cuda" in spelled(each.args[0].value)
        elif (index := cuda_index(each)) is not None and index >= 0:
            found.indices.add(index)
    return found


def _groups(read: Sequence[Tree]) -> list[set[int]]:
    """For each file, the numbers of those that imports connect it with, by the last parts of their
    names."""
    stems: dict[str, list[int]] = {}
    for number, (name, _) in enumerate(read):
        path = PurePath(name)
        stem = path.parent.name if path.stem == "__init__" else path.stem
        stems.setdefault(stem, []).append(number)
    groups = [{number} for number in range(len(read))]
    for number, (_, module) in enumerate(read):
        for name in _imported(module):
            for other in stems.get(name, ()):
                if groups[other] is not groups[number]:
                    groups[number] |= groups[other]
                    for member in groups[other]:
                        groups[member] = groups[number]
    return groups


def _imported(module: cst.Module) -> Iterator[str]:
    """The words in the imports of a file."""
    for each in m.findall(module, m.Import() | m.ImportFrom()):
        for word in m.findall(each, m.Name()):
            assert isinstance(word, cst.Name)
            yield word.value


def _given_index(call: cst.Call) -> Iterable[int]:
    """The index in `x.cuda(1)` and `torch.device("cuda", 1)`."""
    if m.matches(call.func, m.Attribute(attr=m.Name("cuda") | m.Name("device"))):
        for each in call.args[:2]:
            index = integer(each.value)
            if index is not None:
                yield index
