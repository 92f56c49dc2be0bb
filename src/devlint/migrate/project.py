"""A migration: what becomes of the files of a project."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import PurePath
from typing import Any

import libcst as cst
import libcst.matchers as m
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import RemoveImportsVisitor
from libcst.metadata import (
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    QualifiedName,
    QualifiedNameProvider,
)

from devlint import files
from devlint.driver.discover import Failure, Source
from devlint.lint import check
from devlint.migrate.aliases import aliases
from devlint.migrate.bindings import Bindings, ConflictError, Named
from devlint.migrate.choice import Choice
from devlint.migrate.converter import Converter
from devlint.migrate.inserting import is_late, with_choice
from devlint.migrate.scene import Project, Scene
from devlint.migrate.syntax import cuda_index, integer, spelled
from devlint.model.findings import Edit, Finding
from devlint.model.spans import LineIndex
from devlint.source.cells import Cells
from devlint.source.errors import SourceError
from devlint.source.lower import parsed
from devlint.source.reading import read_script
from devlint.source.script import Script
from devlint.torchapi.table import load

_OTHER_NAMES = ("accelerator", "chosen_device", "torch_device")
_PORTABILITY = ("DEV1", "DEV301")
_WORDS = re.compile(r"cuda|nccl|\bload|float64|double")


@dataclass(frozen=True, slots=True)
class Undecided:
    """Something that a migration leaves as it is. `place` is `train.py:7`, or `a.ipynb:cell 3:7`;
    the name alone where it is the whole file."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Migrated:
    """One file. `done` says how often each kind of thing was converted."""

    source: Source
    old: bytes
    new: bytes
    done: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Migration:
    """What a migration changes, and what it leaves; `failures` are files that can't be read."""

    files: tuple[Migrated, ...]
    undecided: tuple[Undecided, ...]
    failures: tuple[Failure, ...]


@dataclass(slots=True)
class _File:
    source: Source
    data: bytes
    script: Script
    wrapper: MetadataWrapper


def migrate(sources: Sequence[Source], choice: Choice, name: str) -> Migration:
    """Work out the migration of a project; nothing is written.

    `choice` says by which words a device is chosen, `name` what the device is to be called.
    """
    failures: list[Failure] = []
    undecided: list[Undecided] = []
    read = []
    for source in sources:
        file = _read(source, failures)
        if file is not None:
            read.append(file)
    done = []
    for file, project in zip(read, _projects(read, choice, name), strict=True):
        migrated, left = _migrate(file, project)
        undecided += left
        if migrated.new != migrated.old:
            done.append(migrated)
    return Migration(tuple(done), tuple(undecided), tuple(failures))


def _read(source: Source, failures: list[Failure]) -> _File | None:
    try:
        most = files.most_bytes(source.path, source.settings.max_file_size)
        data = files.read(source.path, most)
        script = read_script(data, source.path)
        if not _WORDS.search(script.text):
            return None
        parsed(script.text)
        return _File(source, data, script, _wrapper(script.text))
    except OSError as error:
        failures.append(Failure(source.shown, files.reason(error)))
    except SourceError as error:
        failures.append(Failure(source.shown, f"line {error.span.row}: {error.reason}"))
    except (cst.ParserSyntaxError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else "nested too deeply"
        failures.append(Failure(source.shown, f"can't be read: {reason}"))
    return None


def _wrapper(text: str) -> MetadataWrapper:
    return MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=False)


def _projects(read: Sequence[_File], choice: Choice, name: str) -> Iterator[Project]:
    """What is known of the files around each file: those that its imports lead to, or that lead to
    it."""
    table, known = load(), [_known_of(file.wrapper.module) for file in read]
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
class _Known:
    """What one file tells of the project."""

    late: bool
    by_type: bool
    indices: set[int]
    indexed: set[str]


def _known_of(module: cst.Module) -> _Known:
    found = _Known(is_late(module), False, set(), set())
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


def _groups(read: Sequence[_File]) -> list[set[int]]:
    """For each file, the numbers of those that imports connect it with, by the last parts of their
    names."""
    stems: dict[str, list[int]] = {}
    for number, file in enumerate(read):
        path = PurePath(file.source.path)
        stem = path.parent.name if path.stem == "__init__" else path.stem
        stems.setdefault(stem, []).append(number)
    groups = [{number} for number in range(len(read))]
    for number, file in enumerate(read):
        for name in _imported(file.wrapper.module):
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


def _migrate(file: _File, project: Project) -> tuple[Migrated, list[Undecided]]:
    """Convert a file until nothing changes: what ends a program without CUDA goes first, and hides
    what comes behind it."""
    source, first = file.source, file.data
    done: Counter[str] = Counter()
    left: dict[int, str] = {}
    for _ in range(_PASSES):
        indexed = _known_of(file.wrapper.module).indexed
        project = replace(project, indexed=frozenset(project.indexed) | indexed)
        converted = _convert(file, project)
        if converted is None:
            reason = "no name is free for the device: give one with --device"
            return Migrated(source, first, first, ()), [Undecided(source.shown, reason)]
        data, scene = converted
        left = dict(scene.left)
        if data == file.data:
            break
        done += scene.done
        script = read_script(data, source.path)
        file = _File(source, data, script, _wrapper(script.text))
    undecided = [Undecided(_place(file, row), why) for row, why in sorted(left.items())]
    undecided += _remaining(file, set(left))
    return Migrated(source, first, file.data, tuple(done.most_common())), undecided


_PASSES = 6


def _convert(file: _File, project: Project) -> tuple[bytes, Scene] | None:
    """One pass over a file; None where it has no name for the device."""
    text = file.script.text
    found = _findings(file.data, file.source)
    bindings = Bindings(parsed(text))
    known = bindings.devices_of_file()
    for name in dict.fromkeys([*known, project.name, *_OTHER_NAMES]):
        if not bindings.is_free(name) and name not in known:
            continue
        chosen = Named(name, bindings.is_string(name))
        try:
            new, scene = _converted(file, project, bindings, chosen, found)
        except ConflictError:
            continue
        data = file.data if new == text else _encoded(file.script, text, new)
        return data, scene
    return None


def _findings(data: bytes, source: Source) -> list[Finding]:
    """What doesn't run everywhere, by the file alone: others may end a program without CUDA, and
    then be migrated as well."""
    settings = replace(
        source.settings,
        select=_PORTABILITY,
        ignore=(),
        pedantic=True,
        per_file_ignores=(),
        follow_imports=False,
    )
    return check(data, source.path, settings).findings


def _remaining(file: _File, known: set[int]) -> list[Undecided]:
    """The findings about portability that a user would have at their settings."""
    settings = replace(file.source.settings, follow_imports=False)
    found = check(file.data, file.source.path, settings).findings
    return [
        Undecided(_place(file, each.span.row), f"{each.code}: {each.message}")
        for each in found
        if each.code.startswith("DEV1") and each.span.row not in known
    ]


def _place(file: _File, row: int) -> str:
    shown, script = file.source.shown, file.script
    if isinstance(script, Cells):
        number, row = script.cell_of(row)
        shown = f"{shown}:cell {number}"
    return f"{shown}:{row}"


def _converted(
    file: _File, project: Project, bindings: Bindings, chosen: Named, found: Iterable[Finding]
) -> tuple[str, Scene]:
    wrapper = file.wrapper
    names = wrapper.resolve(QualifiedNameProvider)
    reported: dict[tuple[int, int], set[str]] = {}
    for finding in found:
        place = finding.span.row, finding.span.column
        reported.setdefault(place, set()).add(finding.code)
    scene = Scene(
        project,
        {node: tuple(_found(value)) for node, value in names.items()},
        wrapper.resolve(ParentNodeProvider),
        wrapper.resolve(PositionProvider),
        bindings,
        chosen,
        reported,
        Counter(),
    )
    module = wrapper.module
    converter = Converter(scene, aliases(scene, module))
    new = module.visit(converter)
    first = bindings.first_row(chosen.name)
    at_top = [row for row in scene.asked if bindings.around(row) is None]
    if first is not None and any(row <= first for row in at_top):
        raise ConflictError
    new = with_choice(scene, module, new)
    if scene.done["mixed precision"]:
        new = _without_unused(new)
    return new.code, scene


def _found(value: Any) -> Iterable[QualifiedName]:
    """LibCST works out some names only when they are asked for."""
    found: Iterable[QualifiedName] = value() if callable(value) else value
    return found


def _without_unused(module: cst.Module) -> cst.Module:
    """Without the imports of `torch.cuda.amp` that nothing uses any more."""
    context = CodemodContext()
    for name in ("autocast", "GradScaler"):
        RemoveImportsVisitor.remove_unused_import(context, "torch.cuda.amp", name)
    return RemoveImportsVisitor(context).transform_module(module)


def _encoded(script: Script, old: str, new: str) -> bytes:
    """The file with the new text, by edits of the rows that differ."""
    index = LineIndex(old)
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    edits = [
        Edit(index.span(starts[first], starts[last]), "".join(after[begin:end]))
        for tag, first, last, begin, end in SequenceMatcher(
            None, before, after, False
        ).get_opcodes()
        if tag != "equal"
    ]
    return script.edited(edits)
