"""Whose code is running: the tests', the project's, a library's, or what stands between them."""

from __future__ import annotations

import re
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import PurePath
from types import FrameType
from typing import Literal

from devlint.runtime.explaining.stack import owner_of

Side = Literal["test", "project", "library", "between"]

_SHARED = re.compile(r"_?tests?|_?testing|unit_?tests?")
"""Folders of tests and of what they share, and modules of a package that are called so."""
_PACKAGES = ("site-packages", "dist-packages")
_BETWEEN = frozenset(
    {"numpy", "pytest", "_pytest", "pluggy", "hypothesis", "xdist", "execnet", "parameterized"}
)
"""Packages that call for whoever has called them: arrays, and those that run tests."""


class Code:
    """Tells whose a file is.

    Args:
        root: the folder that the tests belong to.
        patterns: how files of tests are called, as pytest's `python_files` says.
    """

    def __init__(self, root: str, patterns: Sequence[str] = ("test_*.py", "*_test.py")) -> None:
        self._root = PurePath(root)
        self._patterns = (*patterns, "conftest.py")
        self._packages: set[str] = set()
        self._known: dict[str, Side] = {}
        self._thread = threading.get_ident()

    def add_collected(self, path: str) -> None:
        """A file that pytest looks into for tests or examples, wherever it is: a package that it is
        inside of is the project's, though it may be installed."""
        package = _package(PurePath(path).parts)
        if package and package not in self._packages:
            self._packages.add(package)
            self._known.clear()

    def add_test(self, path: str) -> None:
        """A file that holds tests, whatever it is called."""
        self._known[path] = "test"

    def side_of(self, file: str) -> Side:
        """Whose a file is."""
        side = self._known.get(file)
        if side is None:
            side = self._known[file] = self._find(file)
        return side

    def begin_test(self) -> None:
        """This thread runs the tests."""
        self._thread = threading.get_ident()

    def frames(self, frame: FrameType | None) -> Iterator[FrameType]:
        """The frames from one on, outwards; in another thread, those of the tests come behind."""
        of_tests = None
        if threading.get_ident() != self._thread:
            of_tests = sys._current_frames().get(self._thread)
        for innermost in filter(None, (frame, of_tests)):
            yield from (each for each, _ in traceback.walk_stack(innermost))

    def asking(self, frame: FrameType | None) -> tuple[Side, FrameType | None]:
        """Who asks for something: the innermost frame, from one on, of what isn't in between."""
        for each in self.frames(frame):
            side = self.side_of(each.f_code.co_filename)
            if side != "between":
                return side, each
        return "between", None

    def is_for_test(self, frame: FrameType | None) -> bool:
        """Whether a test asks, or a library for it."""
        sides = (self.side_of(each.f_code.co_filename) for each in self.frames(frame))
        return next((side for side in sides if side in ("test", "project")), None) == "test"

    def below_test(self, frame: FrameType | None) -> Iterator[FrameType]:
        """The frames from one on, outwards, that a test has called; none where no test has."""
        found: list[FrameType] = []
        for each in self.frames(frame):
            if self.side_of(each.f_code.co_filename) == "test":
                yield from found
                return
            found.append(each)

    def _find(self, file: str) -> Side:
        if file.startswith("<"):  # generated, as a dataclass's methods are
            return "test" if file.startswith("<doctest") else "between"
        owner = owner_of(file)
        if owner in ("torch", "devlint", "python"):
            return "between"
        path = PurePath(file)
        package = _package(path.parts)
        if package in _BETWEEN:
            return "between"
        if package and package not in self._packages:
            return "library"
        if path.is_relative_to(self._root):
            path = path.relative_to(self._root)
        inside = path.parts[path.parts.index(package) :] if package else path.parts
        if any(fnmatch(path.name, pattern) for pattern in self._patterns):
            return "test"
        names = (*inside[:-1], path.stem) if inside[1:] else ()
        return "test" if any(map(_SHARED.fullmatch, names)) else "project"


def _package(parts: Sequence[str]) -> str:
    """The installed package that a path is inside of; "" where it is in none."""
    for place, part in enumerate(parts[:-1]):
        if part in _PACKAGES:
            return parts[place + 1].removesuffix(".py")
    return ""
