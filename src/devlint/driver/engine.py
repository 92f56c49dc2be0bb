"""What stands behind a result: a stamp of devlint's version, code, rules and tables."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache

from devlint import __version__

_PARTS = (".py", ".toml", ".md")


@cache
def stamp() -> str:
    """A hash of the version and of every file that findings depend on.

    The content and not the time: a cache that a CI job restores still fits.
    """
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # of devlint
    pages = os.path.join(here, "_rules")
    if not os.path.isdir(pages):
        pages = os.path.join(os.path.dirname(os.path.dirname(here)), "rules")
    hashed = hashlib.blake2b(f"{__version__} {sys.version_info[:2]}".encode(), digest_size=16)
    for folder in (here, pages):
        for path in _files(folder):
            with open(path, "rb", buffering=0) as file:
                data = file.read()
            name = path.removeprefix(folder).replace(os.sep, "/")
            hashed.update(f"\0{name}\0{len(data)}\0".encode())
            hashed.update(data)
    return hashed.hexdigest()


def _files(folder: str) -> list[str]:
    found: list[str] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in ("report", "runtime", "integrations")]
        found.extend(os.path.join(parent, name) for name in names if name.endswith(_PARTS))
    return sorted(found)
