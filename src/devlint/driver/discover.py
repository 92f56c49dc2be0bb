"""Finds the files to lint: walks folders, heeds patterns and what git ignores."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from devlint import files
from devlint.config.configuration import Configuration
from devlint.config.globs import Lines
from devlint.config.patterns import as_pattern_path, compile_lines, matcher
from devlint.config.settings import Settings
from devlint.files import Look, look

_MOST_TRIED = 2000
"""Lines of an ignore file that each path below is compared with, one by one."""
_NEITHER = "it is neither a file nor a folder"


@dataclass(frozen=True, slots=True)
class Source:
    """A file to lint: its absolute path, how messages call it, and what it looked like."""

    path: str
    shown: str
    settings: Settings
    look: Look

    @property
    def language(self) -> str:
        """What it is read as."""
        return self.settings.language_of(self.path)


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that devlint couldn't do. `filename` is "" where no file is to blame."""

    filename: str
    reason: str


@dataclass(slots=True)
class Found:
    """What a walk found: the files in the order of their paths, and what went wrong."""

    sources: list[Source] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Links that aren't followed though they lead to files."""


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
        self.linked: dict[str, Source] = {}
        """What links lead to, by the path of the link."""

    def shown(self, path: str) -> str:
        """Relative to the current folder where it lies below it."""
        return path.removeprefix(self._current)

    def named(self, path: str, status: os.stat_result) -> None:
        settings = self._configuration.for_folder(os.path.dirname(path))
        if settings.force_exclude and is_excluded(path, settings):
            return
        self._found.sources.append(Source(path, self.shown(path), settings, look(status)))

    def folder(self, path: str) -> None:
        settings = self._configuration.for_folder(path)
        if settings.force_exclude and is_excluded(path, settings):
            return
        self._top = path
        ignores = _ignores_above(path) if settings.respect_gitignore else ()
        for ignore in ignores:
            self._check(ignore)
        self._walk(path, ignores)

    def _walk(self, top: str, ignores: tuple[_Ignore, ...]) -> None:
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
                ignores = (_Ignore(folder), *ignores)
                self._check(ignores[0])
            pending.extend((path, ignores) for path in self._folders(entries, settings, ignores))

    def _folders(
        self, entries: list[os.DirEntry[str]], settings: Settings, ignores: tuple[_Ignore, ...]
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
            if exclude.matches(path, name, is_folder):
                continue
            if extended is not None and extended.matches(path, name, is_folder):
                continue
            if ignores and _ignored(path, is_folder, ignores):
                continue
            if is_folder:
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

    def _check(self, ignore: _Ignore) -> None:
        """Tell, once, of an ignore file that can't be read."""
        failure = Failure(self.shown(ignore.path), ignore.problem)
        if ignore.problem and failure not in self._found.failures:
            self._found.failures.append(failure)


def is_excluded(path: str, settings: Settings) -> bool:
    """Whether an absolute path, or a folder that it lies in, is excluded or ignored by git.

    Folders above the project (or above the current folder) don't count.
    """
    top = os.path.join(settings.root or os.getcwd(), "")
    place = top.rstrip(os.sep) if path.startswith(top) else ""
    parts = path.removeprefix(top).split(os.sep)
    ignores = _ignores_above(path) if settings.respect_gitignore else ()
    for index, name in enumerate(parts):
        place = f"{place}{os.sep}{name}" if place or index else name
        is_folder = index < len(parts) - 1 or os.path.isdir(place)
        for patterns in (settings.exclude, settings.extend_exclude):
            if patterns and matcher(patterns).matches(place, name, is_folder):
                return True
        if ignores and _ignored(place, is_folder, ignores):
            return True
    return False


def forget() -> None:
    """Read ignore files anew, which a process that goes on may outlive."""
    _read_ignore.cache_clear()


def is_ignored(path: str, top: str) -> bool:
    """Whether git ignores an absolute path, or a folder around it that lies below another one."""
    ignores = _ignores_above(path)
    place = path
    while ignores and files.is_below(place, top) and place != top:
        if _ignored(place, place != path, ignores):
            return True
        place = os.path.dirname(place)
    return False


class _Ignore:
    """The patterns of one `.gitignore` (or `.git/info/exclude`), for the paths below a folder.
    `problem` says why there are none, where that is none of git's reasons."""

    def __init__(self, folder: str, filename: str = ".gitignore") -> None:
        self._base = os.path.join(folder, "")
        self.path = os.path.join(folder, filename)
        self._lines, self.problem = _read_ignore(self.path, folder)

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """True where the path is ignored, False where it is taken back in, None otherwise."""
        if self._lines is None or not path.startswith(self._base):
            return None
        below = as_pattern_path(path[len(self._base) :])
        return self._lines.decide(below + "/" if is_folder else below)


def _ignored(path: str, is_folder: bool, ignores: tuple[_Ignore, ...]) -> bool:
    """What the nearest file with an opinion says."""
    for ignore in ignores:
        verdict = ignore.decides(path, is_folder)
        if verdict is not None:
            return verdict
    return False


def _ignores_above(folder: str) -> tuple[_Ignore, ...]:
    """The ignore files of the folders above, up to the root of the repository; nearest first.

    None outside of a repository: git reads none there either.
    """
    found: list[_Ignore] = []
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            found.append(_Ignore(folder, os.path.join(".git", "info", "exclude")))
            return tuple(found)
        above = os.path.dirname(folder)
        if above == folder:
            return ()
        folder = above
        if os.path.isfile(os.path.join(folder, ".gitignore")):
            found.append(_Ignore(folder))


@cache
def _read_ignore(path: str, folder: str) -> tuple[Lines | None, str]:
    if os.path.islink(path) or files.leads_out(path, folder):  # git follows no such link either
        return None, ""
    try:
        text = files.read(path, files.CEILING).decode("utf-8-sig", "surrogateescape")
    except (files.NotPlainError, files.TooLargeError) as error:
        return None, "" if os.path.isdir(path) else files.reason(error)
    except OSError:
        return None, ""
    lines = compile_lines(tuple(line.removesuffix("\r") for line in text.split("\n")))
    if lines is not None and lines.tried > _MOST_TRIED:
        return None, f"it has more than {_MOST_TRIED:,} patterns with wildcards"
    return lines, ""
