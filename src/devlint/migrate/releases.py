"""Which release of PyTorch a project is written for, as its own files say."""

from __future__ import annotations

import ast
import configparser
import os
import re
from collections.abc import Callable, Iterator
from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from devlint.config.configuration import parse_toml
from devlint.config.settings import SettingsError
from devlint.safety import files

_LARGEST = 1_000_000
_CONDA = re.compile(r"^\s*-\s*(?:[\w.-]+::)?pytorch\s*([=<>!~]=?[^#\s]*)")
_REQUIREMENTS = re.compile(r"requirements[\w.-]*\.txt|environment[\w.-]*\.ya?ml")


def oldest_torch(folder: str) -> Version | None:
    """The oldest release of torch that a project takes: by its requirements, or else the one that
    is installed. None where nothing tells.

    What is pinned to a release, where a newer one is installed, isn't taken at its word. `folder`
    is the root of the project; only files right in it are read, and none is run.
    """
    installed = _installed()
    bounds = [bound for each in _stated(folder) if (bound := _lower_bound(each, installed))]
    return max(bounds, default=installed)


def _installed() -> Version | None:
    try:
        return Version(metadata.version("torch"))
    except (metadata.PackageNotFoundError, InvalidVersion):
        return None


def _stated(folder: str) -> Iterator[SpecifierSet]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        reader = _reader(name)
        if reader is None:
            continue
        try:
            text = files.read(os.path.join(folder, name), _LARGEST).decode("utf-8", "replace")
            yield from filter(None, map(_of_torch, reader(text)))
        except (OSError, SettingsError, configparser.Error, SyntaxError, ValueError):
            continue  # what can't be read says nothing of torch


def _reader(name: str) -> Callable[[str], list[str]] | None:
    if _REQUIREMENTS.fullmatch(name):
        return _conda if name.endswith(("yml", "yaml")) else lambda text: text.splitlines()
    return _READERS.get(name)


def _of_torch(line: str) -> SpecifierSet | None:
    """What a requirement says, if it is one of torch."""
    try:
        found = Requirement(line.partition("#")[0].strip())
    except InvalidRequirement:
        return None
    return found.specifier if found.name.lower() == "torch" else None


def _lower_bound(specifiers: SpecifierSet, installed: Version | None) -> Version | None:
    bounds = []
    for each in specifiers:
        if each.operator in (">=", "==", "~=", ">", "==="):
            try:
                stated = Version(each.version.removesuffix(".*"))
            except InvalidVersion:
                continue
            is_pin = each.operator in ("==", "===")
            bounds.append(max(stated, installed) if is_pin and installed else stated)
    return max(bounds, default=None)


def _pyproject(text: str) -> list[str]:
    project = parse_toml(text, "pyproject.toml").get("project")
    stated = project.get("dependencies") if isinstance(project, dict) else None
    return [each for each in stated if isinstance(each, str)] if isinstance(stated, list) else []


def _setup_cfg(text: str) -> list[str]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser.get("options", "install_requires", fallback="").splitlines()


def _setup_py(text: str) -> list[str]:
    nodes = ast.walk(ast.parse(text))
    return [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def _conda(text: str) -> list[str]:
    """`pytorch=2.1` of conda is `torch==2.1`."""
    found = map(_CONDA.match, text.splitlines())
    stated = [each[1] for each in found if each is not None]
    exact = [re.sub(r"^=(?!=)", "==", each).partition("=py")[0] for each in stated]
    pip = [line.strip().removeprefix("- ") for line in text.splitlines()]
    return [*(f"torch{each}" for each in exact), *pip]


_READERS = {"pyproject.toml": _pyproject, "setup.cfg": _setup_cfg, "setup.py": _setup_py}
