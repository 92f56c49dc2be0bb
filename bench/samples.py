"""Projects drawn by a rule, and sealed until a part of the work is done: samples.toml.

    python bench/corpus.py --set sample1 --mirrors DIR               its findings, by rule
    python bench/corpus.py --set sample1 --mirrors DIR --unlabelled sheet.json

A sealed sample is neither linted nor read, so that what is measured on it is measured at first
sight. Whoever opens one writes `opened = true` in samples.toml, in a commit of its own, and then
never changes devlint's rules before the findings are judged. DIR holds clones, as recall.py has
them; a repository is written from there to the cache at the commit that the sample names.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import clones
import packages

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SAMPLES = Path(__file__).resolve().parent / "samples.toml"

SETTINGS = ("pyproject.toml", "setup.cfg", "devlint.toml")
"""What a checkout holds besides Python files: they tell where a project's packages lie."""


@dataclass(frozen=True)
class Sample:
    """Projects that are opened together."""

    name: str
    opened: bool
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions by name."""
    repositories: Mapping[str, str] = field(default_factory=dict)
    """Commits by owner/name."""
    fixes: Mapping[str, str] = field(default_factory=dict)
    """Repositories whose fixes of device bugs, up to this commit, are for recall."""

    @property
    def projects(self) -> dict[str, str]:
        """What is linted: versions and commits by name."""
        return {**self.packages, **self.repositories}


def read(path: Path = SAMPLES) -> dict[str, Sample]:
    """The samples of a file, by name."""
    with path.open("rb") as file:
        tables = tomllib.load(file)["sample"]
    return {table["name"]: Sample(**table) for table in tables}


def fetch(
    sample: Sample, names: Iterable[str], cache: Path, mirrors: Path | None
) -> list[packages.Package]:
    """The projects called `names` (all where there are none), unpacked in the cache.

    Raises SystemExit where the sample is sealed, a name isn't in it, or a project can't be had.
    """
    if not sample.opened:
        raise SystemExit(f"{sample.name} is sealed: samples.toml says so until it is opened")
    wanted = list(names) or list(sample.projects)
    unknown = [name for name in wanted if name not in sample.projects]
    if unknown:
        raise SystemExit(f"not in {sample.name}: {', '.join(unknown)}")
    return [
        packages.unpacked(name, sample.packages[name], cache)
        if name in sample.packages
        else _checkout(name, sample.repositories[name], cache, mirrors)
        for name in wanted
    ]


def _checkout(repo: str, commit: str, cache: Path, mirrors: Path | None) -> packages.Package:
    folder = cache / f"{repo.replace('/', '+')}-{commit[:12]}"
    if not folder.is_dir():
        clone = clones.clone_of(mirrors, repo) if mirrors else None
        partial = folder.with_name(f"{folder.name}.partial")
        if clone is None or not clones.check_out(clone, commit, partial, is_wanted):
            raise SystemExit(f"no clone with {repo} {commit[:12]} (--mirrors)")
        partial.mkdir(exist_ok=True)
        partial.rename(folder)
    return packages.Package(repo, commit, folder)


def is_wanted(path: str) -> bool:
    """Whether a checkout to lint needs this file of a repository."""
    return path.endswith((".py", ".pyi")) or path.rpartition("/")[2] in SETTINGS
