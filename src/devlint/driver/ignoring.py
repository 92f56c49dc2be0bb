"""What is left out: by patterns of the settings, and by what git ignores."""

from __future__ import annotations

import os
from functools import cache

from devlint.config.globs import Lines
from devlint.config.patterns import as_pattern_path, compile_lines, matcher
from devlint.config.settings import DEFAULT_EXCLUDE, Settings
from devlint.safety import files

_MOST_TRIED = 2000
"""Lines of an ignore file that each path below is compared with, one by one."""
_MOST_LOOKED = 20_000
"""Files and folders among which a folder that is left out is searched for one to lint."""


def is_excluded(path: str, settings: Settings) -> bool:
    """Whether an absolute path, or a folder that it lies in, is excluded or ignored by git.

    Folders above the project (or above the current folder) don't count.
    """
    return excluding(path, settings) is not None


def excluding(path: str, settings: Settings) -> tuple[str, str] | None:
    """What of an absolute path is left out, itself or a folder that it lies in, and by what; None
    where it isn't."""
    top = os.path.join(settings.root or os.getcwd(), "")
    place = top.rstrip(os.sep) if path.startswith(top) else ""
    parts = path.removeprefix(top).split(os.sep)
    ignores = ignores_above(path) if settings.respect_gitignore else ()
    for index, name in enumerate(parts):
        place = f"{place}{os.sep}{name}" if place or index else name
        is_folder = index < len(parts) - 1 or os.path.isdir(place)
        if by := by_pattern(place, name, is_folder, settings):
            return place, by
        if ignores and ignored(place, is_folder, ignores):
            return place, BY_GIT
    return None


BY_GIT = "as git ignores it: --no-respect-gitignore lints it"


def by_pattern(path: str, name: str, is_folder: bool, settings: Settings) -> str:
    """By which pattern a path is left out, in words; "" where it isn't."""
    if matcher(settings.exclude).matches(path, name, is_folder):
        if settings.exclude != DEFAULT_EXCLUDE:
            return "by `exclude`"
        own = (each for each in DEFAULT_EXCLUDE if matcher((each,)).matches(path, name, is_folder))
        return f"by the default pattern `{next(own)}`: --no-default-exclude lints it"
    extended = settings.extend_exclude
    if extended and matcher(extended).matches(path, name, is_folder):
        return "by `extend-exclude`"
    return ""


def holds_any(folder: str, settings: Settings) -> bool:
    """Whether a folder that is left out holds a file that would be linted, as far as a short search
    tells."""
    include, extensions = matcher(settings.include), dict(settings.extension)
    looked = 0
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if include.matches(path, name) or files.suffix(name) in extensions:
                return True
        looked += 1 + len(names)
        if looked > _MOST_LOOKED:
            break
    return False


def is_ignored(path: str, top: str) -> bool:
    """Whether git ignores an absolute path, or a folder around it that lies below another one."""
    ignores = ignores_above(path)
    place = path
    while ignores and files.is_below(place, top) and place != top:
        if ignored(place, place != path, ignores):
            return True
        place = os.path.dirname(place)
    return False


class Ignore:
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


def ignored(path: str, is_folder: bool, ignores: tuple[Ignore, ...]) -> bool:
    """What the nearest file with an opinion says."""
    for ignore in ignores:
        verdict = ignore.decides(path, is_folder)
        if verdict is not None:
            return verdict
    return False


def ignores_above(folder: str) -> tuple[Ignore, ...]:
    """The ignore files of the folders above, up to the root of the repository; nearest first.

    None outside of a repository: git reads none there either.
    """
    found: list[Ignore] = []
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            found.append(Ignore(folder, os.path.join(".git", "info", "exclude")))
            return tuple(found)
        above = os.path.dirname(folder)
        if above == folder:
            return ()
        folder = above
        if os.path.isfile(os.path.join(folder, ".gitignore")):
            found.append(Ignore(folder))


def forget() -> None:
    """Read ignore files again: in a process that looks for files more than once."""
    _read_ignore.cache_clear()


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
