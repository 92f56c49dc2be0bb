"""Finds programs that are installed, and never those that a linted tree holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from devlint.safety import files


def folders_of_path(trees: Iterable[str]) -> list[str]:
    """The folders of PATH that are named as they are, and lie in none of the trees."""
    places = [files.resolve(tree) for tree in trees]
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [
        folder
        for folder in folders
        if os.path.isabs(folder) and not _is_inside((folder, files.resolve(folder)), places)
    ]


def program(name: str, folders: Iterable[str], trees: Iterable[str]) -> str | None:
    """A program of the first folder that has it; none that is a link into one of the trees."""
    places = [files.resolve(tree) for tree in trees]
    for folder in folders:
        path = os.path.join(folder, f"{name}.exe" if os.name == "nt" else name)
        is_program = os.path.isfile(path) and os.access(path, os.X_OK)
        if is_program and not _is_inside((files.resolve(path),), places):
            return path
    return None


def _is_inside(paths: Iterable[str], places: Sequence[str]) -> bool:
    return any(files.is_below(os.path.abspath(each), place) for each in paths for place in places)
