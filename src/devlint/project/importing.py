"""Where the modules lie that a file of a project imports.

An absolute import is looked for in the folders that Python would have on its path when the
project runs: the one that holds the file's package, those above it up to the root of the project,
and its `src` and `lib`; and beside a folder around the file that has the name which is asked for.
Installed packages, the standard library and torch are nobody's project.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache

from devlint.safety.files import leads_out, version

_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What lies in the root of a project."""

_SIGNS = tuple(
    f"{name}{suffix}" for name in ("README", "LICENSE") for suffix in ("", ".md", ".txt", ".rst")
)
"""What lies there as well, and in other folders: it tells where nothing else does, as of an archive
that was downloaded, or of a copy in an image."""

_SOURCES = ("src", "lib")
"""Folders in the root that programs put on their path (`sys.path.insert(0, "lib")`)."""

_INSTALLED = ("site-packages", "dist-packages")
_HIGHEST = 12
"""Folders above a file that are looked at."""

_MOST_MODULES = 5000
"""Files, and folders, of one project."""

ALL = "*"
"""The last part of a path that stands for all modules of a folder."""

PLACES = "?places"
"""The last part of a path that stands for where imports start in a folder."""

_NEVER = frozenset(sys.stdlib_module_names) | {"torch"}


class Finder:
    """Finds modules, and remembers in `consulted` what that hung on.

    A module is known by its path: a file, or a folder (ending with a separator) without
    `__init__.py`. In `consulted` are the files that were found, and where none was found the path
    without a suffix that a module of that name would have.
    """

    def __init__(self) -> None:
        self.consulted: set[str] = set()

    def absolute(self, importer: str, name: str) -> str | None:
        """The module that `import name` means in a file."""
        first, _, rest = name.partition(".")
        folder = os.path.dirname(importer)
        self.consulted.add(os.path.join(folder, PLACES))
        places, own = _places(folder)
        if first in _NEVER or (own is not None and first != own):
            return None
        for place in (*places, *_around(folder, first)):
            found = self.submodule(place, first)
            whole = None if found is None else self._below(found, rest)
            if whole is not None:
                return whole
            if found is not None and not found.endswith(os.sep):
                break  # it hides what is called so further away, which plain folders don't
        return self._beside(folder, first, rest)

    def _beside(self, folder: str, first: str, rest: str) -> str | None:
        """A module of a package that lies beside a script, where the script's folder is a package
        as well: Python looks there as long as that is run and not imported."""
        found = self.submodule(self._package(folder), first) if rest else None
        return None if found is None else self._below(found, rest)

    def relative(self, importer: str, level: int, name: str) -> tuple[str, str] | None:
        """The module that `from ..name import` means in a file, and its dotted name."""
        folder = os.path.dirname(importer)
        self.consulted.add(os.path.join(folder, PLACES))
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        found = self._below(self._package(folder), name)
        if found is None:
            return None
        return ".".join(part for part in (_dotted(folder), name) if part), found

    def submodule(self, module: str, name: str) -> str | None:
        """A module of a package; None where the module is a plain file, or has none such."""
        folder, file = os.path.split(module)
        if file not in ("", "__init__.py"):
            return None
        names = listing(folder)
        path = os.path.join(folder, name)
        package = os.path.join(path, "__init__.py")
        if f"{name}/" in names and "__init__.py" in listing(path):
            return package
        self.consulted.add(package)  # it would come first
        if f"{name}.py" in names:
            return f"{path}.py"
        if f"{name}/" in names and _holds_modules(path):
            self.consulted.add(f"{path}.py")
            return os.path.join(path, "")
        self.consulted.add(path)
        return None

    def brings(self, importer: str, statement: str, path: str) -> bool:
        """Whether an import, of which one line is at hand, means a module, or something in it.
        What isn't found in the project, which may lie on a path that only a run knows, does if it
        is called as the module is, with the packages that are named."""
        source, *rest = re.split(r"\bimport\b", statement, maxsplit=1)
        names = "".join(rest)
        base = source.removeprefix("from").strip(" \t\\")
        level = len(base) - len(base.lstrip("."))
        base = base[level:]
        asked = [each.split()[0] for each in names.replace("(", " ").split(",") if each.split()]
        dotted = [base, *(f"{base}.{each}" if base else each for each in asked)]
        if level:
            found = (self.relative(importer, level, each) for each in dotted)
            return any(each is not None and each[1] == path for each in found)
        own = path.removesuffix(".py").removesuffix(os.sep + "__init__")
        for each in filter(None, dotted):
            module = self.absolute(importer, each)
            if module == path:
                return True
            if module is None and own.endswith(os.sep + each.replace(".", os.sep)):
                return True
        return False

    def modules(self, path: str) -> list[str] | None:
        """All files of the project that a file belongs to, none where these are too many; None for
        a script that lies in no project."""
        self.consulted.add(os.path.join(os.path.dirname(path), PLACES))
        root = _root(os.path.dirname(path))
        if root is None:
            return None
        waiting = [root]
        found: list[str] = []
        folders = 0
        while waiting and max(len(found), folders) <= _MOST_MODULES:
            folder = waiting.pop()
            folders += 1
            self.consulted.add(os.path.join(folder, ALL))
            for name in sorted(listing(folder), reverse=True):
                below = os.path.join(folder, name.rstrip("/"))
                if not name.endswith("/"):
                    found.append(below)
                elif not os.path.islink(below):  # what it leads to is met where it is
                    waiting.append(below)
        return found if max(len(found), folders) <= _MOST_MODULES else []

    def _package(self, folder: str) -> str:
        own = "__init__.py" if "__init__.py" in listing(folder) else ""
        return os.path.join(folder, own)

    def _below(self, module: str, name: str) -> str | None:
        found: str | None = module
        for part in name.split(".") if name else ():
            if found is None:
                return None
            found = self.submodule(found, part)
        return found


@lru_cache(maxsize=1024)
def in_project(path: str) -> str:
    """A path below the root of its project; without one, the file and its nearest folders."""
    root = _root(os.path.dirname(path))
    return os.path.relpath(path, root) if root else os.path.join(*path.split(os.sep)[-_NEAREST:])


_NEAREST = 3


def modules_of(path: str) -> str:
    """The names of all modules of a folder, for a path that stands for them."""
    return " ".join(sorted(listing(os.path.dirname(path))))


def starts(folder: str) -> tuple[str, ...]:
    """The folders where absolute imports start in files of a folder; none for what is installed."""
    places, own = _places(folder)
    return places if own is None else ()


def surroundings_of(path: str, below: str = "") -> str:
    """What is known of a folder's place in its project, for a path that stands for that; of a
    project that was put `below` another folder, as if it weren't."""
    folder = os.path.dirname(path)
    (places, own), root = _places(folder), _root(folder)
    places = tuple(place.removeprefix(below) for place in places)
    return repr(((places, own), root and root.removeprefix(below)))


def forget() -> None:
    """Look anew where projects begin, and what their packages are: in a process that lints more
    than once."""
    for each in (_places, _root, _has, in_project):
        each.cache_clear()


def is_strangers(path: str) -> bool:
    """Whether a path is a link that leads out of its project: there is no module of it."""
    return os.path.islink(path) and leads_out(path, _boundary(os.path.dirname(path)))


def is_absent(path: str) -> bool:
    """Whether there is no module of that path, which has no suffix."""
    folder, name = os.path.split(path.rstrip(os.sep))
    names = listing(folder)
    if f"{name}.py" in names:
        return False
    return not (f"{name}/" in names and _holds_modules(path))


def _holds_modules(folder: str) -> bool:
    """Whether modules lie in a folder, or in one that lies there."""
    return any(
        each.endswith(".py") or any(n.endswith(".py") for n in listing(os.path.join(folder, each)))
        for each in listing(folder)
    )


def listing(folder: str) -> frozenset[str]:
    """The modules of a folder: files as they are called, folders with a slash. Links that lead out
    of the project are none."""
    try:
        status = os.stat(folder)
    except OSError:
        return frozenset()
    return _list(folder, version(status))


@lru_cache(maxsize=4096)
def _list(folder: str, _version: tuple[int, int, int]) -> frozenset[str]:
    found: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                is_file = entry.name.endswith(".py")
                if "." in entry.name and not is_file:
                    continue
                if entry.is_symlink() and is_strangers(entry.path):
                    continue
                if not entry.is_dir():
                    if is_file:
                        found.add(entry.name)
                elif not is_file:
                    found.add(f"{entry.name}/")
    except OSError:
        return frozenset()
    return frozenset(found)


def _boundary(folder: str) -> str:
    """The folder that all of a project lies in, or all that is known of it."""
    return _root(folder) or folder


@lru_cache(maxsize=1024)
def _places(folder: str) -> tuple[tuple[str, ...], str | None]:
    """Where absolute imports in files of a folder start, as paths of folders, nearest first; and
    for installed packages the only name that is looked for there: their own."""
    top = _above_package(folder)
    if os.path.basename(top) in _INSTALLED:
        return (os.path.join(top, ""),), os.path.relpath(folder, top).split(os.sep)[0]
    above = list(_upwards(top))
    places = above[: next(_roots(above), 0) + 1]  # without one only the package itself is known
    for name in _SOURCES:
        sources = os.path.join(places[-1], name)
        if sources not in places and os.path.isdir(sources):
            places.append(sources)
    if is_package(top):  # a checkout: it may be imported by its own name as well
        places.append(os.path.dirname(top))
    return tuple(os.path.join(each, "") for each in places), None


def _around(folder: str, name: str) -> Iterator[str]:
    """Where a folder of that name lies which holds another one: within its project, or anywhere
    where nothing marks the root of that."""
    above = list(_upwards(folder))
    for place in above[: next(_roots(above), len(above) - 1)]:
        if os.path.basename(place) == name:
            yield os.path.join(os.path.dirname(place), "")


@lru_cache(maxsize=1024)
def _root(folder: str) -> str | None:
    """The folder of the project that holds another: that of an installed package is its own. None
    where a script lies in no project."""
    places, _ = _places(folder)
    top = os.path.dirname(places[0])
    above = list(_upwards(top))
    if (root := next(_roots(above), None)) is not None:
        return above[root]
    package = os.path.relpath(folder, top).split(os.sep)[0]
    return None if folder == top else os.path.join(top, package)


def _upwards(folder: str) -> Iterator[str]:
    """A folder and those that it is in, as far as is looked."""
    for _ in range(_HIGHEST):
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _roots(folders: list[str]) -> Iterator[int]:
    """Which of some folders, each in the next, is the root of a project: the nearest that is
    marked as one, else the outermost that looks like one."""
    yield from (at for at, place in enumerate(folders) if _has(place, _MARKS))
    yield from (at for at, place in reversed(list(enumerate(folders))) if _has(place, _SIGNS))


@lru_cache(maxsize=1024)
def _has(place: str, names: tuple[str, ...]) -> bool:
    return any(os.path.exists(os.path.join(place, name)) for name in names)


def _above_package(folder: str) -> str:
    """The folder that holds the outermost package that a folder is in; itself if it is in none.
    The root of a checkout holds what is in it, even where that makes the root a package."""
    while is_package(folder) and not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return folder


def is_package(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "__init__.py"))


def _dotted(folder: str) -> str:
    """The name of the package that a folder is; "" if it is none."""
    top = _above_package(folder)
    return "" if folder == top else os.path.relpath(folder, top).replace(os.sep, ".")
