"""A migration: what becomes of the files of a project."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from devlint.config.sources import Failure, Source
from devlint.migrate.choice import Choice
from devlint.migrate.defaults import with_defaults
from devlint.migrate.file import File, Migrated, Undecided, file_of
from devlint.migrate.file import migrate as convert
from devlint.migrate.surroundings import projects
from devlint.safety import files
from devlint.source.concrete import unchecked
from devlint.source.errors import SourceError
from devlint.source.reading import read_script
from devlint.source.room import with_room

__all__ = ["Migrated", "Migration", "Undecided", "migrate"]

_WORDS = re.compile(r"cuda|nccl|\bload|float64|double")


@dataclass(frozen=True, slots=True)
class Migration:
    """What a migration changes, and what it leaves; `failures` are files that can't be read."""

    files: tuple[Migrated, ...]
    undecided: tuple[Undecided, ...]
    failures: tuple[Failure, ...]


@unchecked()
def migrate(sources: Sequence[Source], choice: Choice, name: str) -> Migration:
    """Work out the migration of a project; nothing is written.

    `choice` says by which words a device is chosen, `name` what the device is to be called.
    """
    failures: list[Failure] = []
    undecided: list[Undecided] = []
    read = []
    for source in sources:
        if source.language == files.MARKDOWN:
            continue  # examples choose no device of a program
        file = _read(source, failures)
        if file is not None:
            read.append(file)
    done = []
    chosen = with_defaults(read, sources)
    trees = [(file.source.path, file.script.text, file.tree) for file, _ in chosen]
    around = projects(trees, [default for _, default in chosen], choice, name)
    for (file, _), project in zip(chosen, around, strict=True):
        try:
            migrated, left = with_room(partial(convert, file, project))
        except Exception as error:  # one bad file must not end the run
            failures.append(Failure(file.source.shown, _told(error)))
            continue
        undecided += left
        if migrated.new != migrated.old:
            done.append(migrated)
    return Migration(tuple(done), tuple(undecided), tuple(failures))


def _read(source: Source, failures: list[Failure]) -> File | None:
    try:
        most = files.most_bytes(source.language, source.settings.max_file_size)
        data = files.read(source.path, most)
        script = read_script(data, source.path, source.language)
        if not _WORDS.search(script.text):
            return None
        return file_of(source, data, script)
    except OSError as error:
        failures.append(Failure(source.shown, files.reason(error)))
    except SourceError as error:
        failures.append(Failure(source.shown, f"line {error.span.row}: {error.reason}"))
    return None


def _told(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply to be migrated"
    text = " ".join(str(error).split())
    return f"internal error: {type(error).__name__}: {text}"
