"""The pinned packages of a set, fetched once and unpacked outside the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import unpacking

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BENCH = Path(__file__).resolve().parent

SETS = {"corpus": "corpus.toml", "heldout": "corpus_heldout.toml"}
"""The file of each set."""


@dataclass(frozen=True)
class Package:
    """One pinned package, unpacked in `folder`."""

    name: str
    version: str
    folder: Path

    @property
    def files(self) -> list[Path]:
        """Its Python files, sorted."""
        found = (*self.folder.rglob("*.py"), *self.folder.rglob("*.pyi"))
        return sorted(path for path in found if path.is_file())


def default_cache() -> Path:
    """Where packages are kept: a folder of the user's cache, never of the repository."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "devlint-bench"


def pinned(which: str = "corpus") -> dict[str, str]:
    """Versions by name, in the order of the set's file."""
    with (BENCH / SETS[which]).open("rb") as file:
        versions: dict[str, str] = tomllib.load(file)["packages"]
    return versions


def fetch(names: Iterable[str], cache: Path, which: str = "corpus") -> list[Package]:
    """The packages called `names` (all where there are none), downloaded where needed.

    Raises SystemExit where a name is not in the set or pip can't get it.
    """
    versions = pinned(which)
    wanted = list(names) or list(versions)
    unknown = [name for name in wanted if name not in versions]
    if unknown:
        raise SystemExit(f"not in {SETS[which]}: {', '.join(unknown)}")
    return [unpacked(name, versions[name], cache) for name in wanted]


def unpacked(name: str, version: str, cache: Path) -> Package:
    """A release of a package, downloaded where needed."""
    folder = cache / f"{name}-{version}"
    if not folder.is_dir():
        archives = cache / "archives" / folder.name
        archives.mkdir(parents=True, exist_ok=True)
        print(f"fetching {name} {version}", file=sys.stderr)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        got = subprocess.run([*command, "--dest", str(archives), f"{name}=={version}"])
        archive = next(iter(sorted(archives.iterdir())), None)
        if got.returncode or archive is None:
            raise SystemExit(f"pip could not download {name} {version}")
        # Unpacked beside and renamed at the end, so that a broken run leaves no half package.
        partial = cache / f"{folder.name}.partial"
        _unpack(archive, partial)
        partial.rename(folder)
    return Package(name, version, folder)


def _unpack(archive: Path, folder: Path) -> None:
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder)
    else:
        with tarfile.open(archive) as source:
            unpacking.unpack(source, folder)
