"""The migration of one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import RemoveImportsVisitor
from libcst.metadata import (
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    QualifiedName,
    QualifiedNameProvider,
)

from devlint.config.sources import Source
from devlint.lint import check
from devlint.migrate.aliases import aliases
from devlint.migrate.bindings import Bindings, ConflictError, Named
from devlint.migrate.converter import Converter
from devlint.migrate.inserting import with_choice
from devlint.migrate.scene import Project, Scene
from devlint.migrate.surroundings import known_of
from devlint.model.findings import Edit, Finding
from devlint.model.spans import LineIndex
from devlint.source.cells import Cells
from devlint.source.parsing import parsed
from devlint.source.reading import document_of, read_script
from devlint.source.script import Script

_OTHER_NAMES = ("accelerator", "chosen_device", "torch_device")
_PORTABILITY = ("DEV1", "DEV301")


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


@dataclass(slots=True)
class File:
    source: Source
    data: bytes
    script: Script
    tree: cst.Module


def file_of(source: Source, data: bytes, script: Script) -> File:
    """A file that is read. Raises `SourceError`."""
    parsed(script.text)
    return File(source, data, script, document_of(script, source.path).tree)


def migrate(file: File, project: Project) -> tuple[Migrated, list[Undecided]]:
    """Convert a file until nothing changes: what ends a program without CUDA goes first, and hides
    what comes behind it."""
    source, first = file.source, file.data
    done: Counter[str] = Counter()
    left: dict[int, str] = {}
    for _ in range(_PASSES):
        indexed = known_of(file.tree).indexed
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
        script = read_script(data, source.path, source.language)
        file = file_of(source, data, script)
    undecided = [Undecided(_place(file, row), why) for row, why in sorted(left.items())]
    undecided += _remaining(file, set(left))
    return Migrated(source, first, file.data, tuple(done.most_common())), undecided


_PASSES = 6


def _convert(file: File, project: Project) -> tuple[bytes, Scene] | None:
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


def _remaining(file: File, known: set[int]) -> list[Undecided]:
    """The findings about portability that a user would have at their settings."""
    settings = replace(file.source.settings, follow_imports=False)
    found = check(file.data, file.source.path, settings).findings
    return [
        Undecided(_place(file, each.span.row), f"{each.code}: {each.message}")
        for each in found
        if each.code.startswith("DEV1") and each.span.row not in known
    ]


def _place(file: File, row: int) -> str:
    shown, script = file.source.shown, file.script
    if isinstance(script, Cells):
        number, row = script.cell_of(row)
        shown = f"{shown}:cell {number}"
    return f"{shown}:{row}"


def _converted(
    file: File, project: Project, bindings: Bindings, chosen: Named, found: Iterable[Finding]
) -> tuple[str, Scene]:
    wrapper = MetadataWrapper(file.tree)
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
