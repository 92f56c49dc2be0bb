"""Finds the files to lint: walks folders, heeds patterns and what git ignores."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from devlint.config.configuration import Configuration
from devlint.config.patterns import matcher
from devlint.config.settings import Settings
from devlint.config.sources import Failure, Source
from devlint.driver.ignoring import (
    BY_GIT,
    Ignore,
    by_pattern,
    excluding,
    holds_any,
    ignored,
    ignores_above,
)
from devlint.safety import files
from devlint.safety.files import look

_NEITHER = "it is neither a file nor a folder"


@dataclass(slots=True)
class Found:
    """What a walk found: the files in the order of their paths, and what went wrong."""

    sources: list[Source] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Links that aren't followed though they lead to files."""
    left_out: list[str] = field(default_factory=list)
    """What is left out of a folder that was named, and why, where somebody may miss it."""
    excluded: str = ""
    """The same of the first that `force-exclude` leaves out of what was named."""


def discover(paths: tuple[str, ...], configuration: Configuration) -> Found:
    """The files that `paths` name or contain, each once.

    A file that is named is taken whatever its suffix, and though it is excluded unless the
    settings say `force-exclude`. Of the links in a folder, those that lead to a file in it are
    followed, unless the file is there under its own name. What can't be read becomes a failure.
    """
    found = Found()
    walk = _Walk(configuration, found)
    for path in paths:
        absolute = os.path.abspath(path)
        try:
            mode = os.stat(absolute)
        except OSError as error:
            found.failures.append(Failure(path, files.reason(error)))
            continue
        if stat.S_ISDIR(mode.st_mode):
            walk.folder(absolute)
        elif stat.S_ISREG(mode.st_mode):
            walk.named(absolute, mode)
        else:
            found.failures.append(Failure(path, _NEITHER))
    unique = {source.path: source for source in found.sources}
    seen = set(map(files.resolve, unique)) if walk.linked else set()
    for path, source in sorted(walk.linked.items()):
        target = files.resolve(path)
        if target not in seen:
            seen.add(target)
            unique[path] = source
    found.sources = [unique[path] for path in sorted(unique)]
    return found


class _Walk:
    def __init__(self, configuration: Configuration, found: Found) -> None:
        self._configuration = configuration
        self._found = found
        self._current = os.path.join(os.getcwd(), "")
        self._top = ""
        self._left_out: list[tuple[str, bool, Settings]] = []
        """What patterns or git leave out of the folder that was named last, and whether these are
        folders."""
        self.linked: dict[str, Source] = {}
        """What links lead to, by the path of the link."""

    def shown(self, path: str) -> str:
        """Relative to the current folder where it lies below it."""
        return path.removeprefix(self._current)

    def named(self, path: str, status: os.stat_result) -> None:
        settings = self._configuration.for_folder(os.path.dirname(path))
        if self._is_left_out(path, settings):
            return
        self._found.sources.append(Source(path, self.shown(path), settings, look(status)))

    def folder(self, path: str) -> None:
        settings = self._configuration.for_folder(path)
        if self._is_left_out(path, settings):
            return
        self._top = path
        self._left_out.clear()
        before = len(self._found.sources)
        ignores = ignores_above(path) if settings.respect_gitignore else ()
        for ignore in ignores:
            self._check(ignore)
        self._walk(path, ignores)
        # Whoever names a folder of an environment, or one in which there is nothing, may miss what
        # isn't looked at.
        if len(self._found.sources) == before or excluding(path, settings) is not None:
            self._tell_left_out()

    def _is_left_out(self, path: str, settings: Settings) -> bool:
        """Whether what was named is excluded, and that counts."""
        found = excluding(path, settings) if settings.force_exclude else None
        if found is not None and not self._found.excluded:
            place, by = found
            self._found.excluded = f"{self.shown(place)} is left out, {by}"
        return found is not None

    def _tell_left_out(self) -> None:
        missed = [
            (path, is_folder, settings)
            for path, is_folder, settings in self._left_out
            if not is_folder or holds_any(path, settings)
        ]
        if not missed:
            return
        path, is_folder, settings = missed[0]
        by = by_pattern(path, os.path.basename(path), is_folder, settings) or BY_GIT
        more = f" (and {len(missed) - 1} more)" if len(missed) > 1 else ""
        self._found.left_out.append(f"{self.shown(path)}{more} is left out, {by}")

    def _walk(self, top: str, ignores: tuple[Ignore, ...]) -> None:
        # A list of what is still to visit: a tree may be deeper than Python's recursion limit.
        pending = [(top, ignores)]
        while pending:
            folder, ignores = pending.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except FileNotFoundError:
                continue  # deleted since its parent was listed
            except OSError as error:
                self._found.failures.append(Failure(self.shown(folder), files.reason(error)))
                continue
            names = {entry.name for entry in entries}
            settings = self._configuration.for_folder(folder, names)
            if settings.respect_gitignore and ".gitignore" in names:
                ignores = (Ignore(folder), *ignores)
                self._check(ignores[0])
            pending.extend((path, ignores) for path in self._folders(entries, settings, ignores))

    def _folders(
        self, entries: list[os.DirEntry[str]], settings: Settings, ignores: tuple[Ignore, ...]
    ) -> Iterator[str]:
        """Add a folder's files; the folders in it to visit."""
        include, extensions = matcher(settings.include), dict(settings.extension)
        exclude = matcher(settings.exclude)
        extended = matcher(settings.extend_exclude) if settings.extend_exclude else None
        if not settings.respect_gitignore:
            ignores = ()
        for entry in entries:
            path, name = entry.path, entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if not is_folder and not (
                include.matches(path, name) or files.suffix(name) in extensions
            ):
                continue
            if (
                exclude.matches(path, name, is_folder)
                or (extended is not None and extended.matches(path, name, is_folder))
                or (ignores and ignored(path, is_folder, ignores))
            ):
                self._left_out.append((path, is_folder, settings))
            elif is_folder:
                yield path
            else:
                self._file(entry, settings)

    def _file(self, entry: os.DirEntry[str], settings: Settings) -> None:
        try:
            status = entry.stat()
        except OSError as error:
            # A link that leads nowhere or in a circle. A plain file was deleted since it was seen.
            if entry.is_symlink():
                self._found.failures.append(Failure(self.shown(entry.path), files.reason(error)))
            return
        shown = self.shown(entry.path)
        source = Source(entry.path, shown, settings, look(status))
        if not entry.is_symlink():
            if stat.S_ISREG(status.st_mode):
                self._found.sources.append(source)
            else:
                self._found.failures.append(Failure(shown, _NEITHER))
        elif stat.S_ISDIR(status.st_mode):
            self._found.notes.append(f"{shown}: a link to a folder is not followed")
        elif files.leads_out(entry.path, self._top):
            top = self.shown(self._top)
            self._found.skipped.append(f"{shown}: a link that leads out of {top} is not followed")
        elif stat.S_ISREG(status.st_mode):
            self.linked[entry.path] = source
        else:
            self._found.failures.append(Failure(shown, _NEITHER))

    def _check(self, ignore: Ignore) -> None:
        """Tell, once, of an ignore file that can't be read."""
        failure = Failure(self.shown(ignore.path), ignore.problem)
        if ignore.problem and failure not in self._found.failures:
            self._found.failures.append(failure)
