"""Finds and reads configuration files: `[tool.devlint]`, `devlint.toml`, `.devlint.toml`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Container
from typing import Any

from devlint.config.settings import Layer, Settings, SettingsError, check_file_layer, merge
from devlint.safety import files

FILENAMES = (".devlint.toml", "devlint.toml", "pyproject.toml")
"""The strongest first; one folder has one configuration."""

_MOST_FILES = 20
"""Files that inherit from each other."""
_MOST_PARTS = 30
"""Parts of a dotted key, and levels of nested values: tomllib takes quadratic time for the first,
and what is made of values is recursive."""
_LARGEST_NUMBER = 2**63
"""As TOML has it. Python converts no number of thousands of digits."""

_OPAQUE = re.compile(
    r"""
    "{3} (?: [^\\] | \\. )*? (?: "{3,5} | \Z )
    | '{3} .*? (?: '{3,5} | \Z )
    | " (?: [^"\\\n] | \\[^\n] )* "?
    | ' [^'\n]* '?
    | \# [^\n]*
    """,
    re.VERBOSE | re.DOTALL,
)
"""Strings and comments of TOML, also those that don't end."""
_TOO_DEEP = "its values are nested too deeply"
_OUTSIDE_OF_KEYS = re.compile(r"[\n=,\[\]{}]")


class Configuration:
    """Gives the settings that hold in a folder: of the nearest file above, under the overrides.

    `overrides` are stronger than any file: the environment, then the command line. With
    `explicit`, that file is used everywhere and none is looked for; with `isolated`, none is
    used at all.
    """

    def __init__(
        self,
        overrides: tuple[Layer, ...] = (),
        explicit: str | None = None,
        isolated: bool = False,
    ) -> None:
        self._overrides = overrides
        self._by_file: dict[str, Settings] = {}
        self._by_folder: dict[str, Settings] = {}
        self._fixed: Settings | None = None
        self.read: set[str] = set()
        """The configuration files that were read, those that others inherit from among them."""
        if explicit is not None:
            self._fixed = self._read(os.path.abspath(explicit))
        elif isolated:
            self._fixed = self._merge([], "")

    def for_folder(self, folder: str, names: Container[str] | None = None) -> Settings:
        """The settings for files of an absolute folder.

        `names` are the names in the folder, where the caller has them; they save looking them up.
        Raises `SettingsError` where a file is malformed.
        """
        if self._fixed is not None:
            return self._fixed
        passed: list[str] = []
        place = folder
        while (settings := self._by_folder.get(place)) is None:
            passed.append(place)
            above = os.path.dirname(place)
            path = _file_in(place, names)
            if path is not None or above == place:
                settings = self._merge([], "") if path is None else self._read(path)
                break
            place, names = above, None
        self._by_folder.update(dict.fromkeys(passed, settings))
        return settings

    def _read(self, path: str) -> Settings:
        settings = self._by_file.get(path)
        if settings is None:
            settings = self._merge(_layers(path, (), self.read), os.path.dirname(path))
            self._by_file[path] = settings
        return settings

    def _merge(self, layers: list[Layer], root: str) -> Settings:
        return merge((*layers, *self._overrides), root)


def _file_in(folder: str, names: Container[str] | None) -> str | None:
    """The configuration file of a folder. A link that leads nowhere is one that can't be read."""
    for name in FILENAMES:
        if names is None or name in names:
            path = os.path.join(folder, name)
            if os.path.lexists(path) and not os.path.isdir(path) and _is_ours(path):
                return path
    return None


def _is_ours(path: str) -> bool:
    """Whether a file has to do with devlint, as its name or its content says.

    Raises `SettingsError` for a link that leads out of the repository, or without one of its
    folder: what is there is nobody's configuration of this.
    """
    if not _has_settings(path):
        return False
    if os.path.islink(path) and files.leads_out(path, _repository(os.path.dirname(path))):
        raise _unreadable(path, "it is a link that leads out of the project; --config can name it")
    return True


def _has_settings(path: str) -> bool:
    """Most `pyproject.toml` files have no table for devlint."""
    if not path.endswith("pyproject.toml"):
        return True
    try:
        if b"devlint" not in files.read(path, files.CEILING):
            return False
    except (files.NotPlainError, files.TooLargeError) as error:
        raise _unreadable(path, files.reason(error)) from error
    except OSError:
        return False
    return "devlint" in _table(_parse(path), path, "tool")


def _repository(folder: str) -> str:
    """The root of the repository that a folder is in, or the folder where it is in none."""
    place = folder
    while not os.path.exists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return folder
        place = above
    return place


def _layers(path: str, children: tuple[str, ...], read: set[str]) -> list[Layer]:
    """The file's keys as the last layer, after those of the files it inherits from. `read` is told
    which files these are."""
    read.add(path)
    if path in children:
        chain = " -> ".join(_shown(item) for item in (*children, path))
        raise SettingsError(f"{_shown(path)}: `extend` goes in a circle: {chain}")
    if len(children) == _MOST_FILES:
        first = _shown(children[0])
        raise SettingsError(f"{first}: `extend` leads through more than {_MOST_FILES} files")
    values, prefix = _parse(path), ""
    if path.endswith("pyproject.toml"):
        values, prefix = _table(_table(values, path, "tool"), path, "devlint"), "tool.devlint."
    elif "tool" in values:
        raise SettingsError(f"{_shown(path)}: keys stand here without `[tool.devlint]` above them")
    layer = check_file_layer(_shown(path), os.path.dirname(path), values, prefix)
    extend = values.get("extend")
    if not extend:
        return [layer]
    parent = os.path.normpath(os.path.join(layer.base, os.path.expanduser(str(extend))))
    if not os.path.exists(parent) or os.path.isdir(parent):
        raise SettingsError(f"{_shown(path)}: `{prefix}extend`: there is no file {_shown(parent)}")
    return [*_layers(parent, (*children, path), read), layer]


def _parse(path: str) -> dict[str, Any]:
    try:
        return parse_toml(files.read(path, files.CEILING).decode("utf-8-sig"), _shown(path))
    except OSError as error:
        raise _unreadable(path, files.reason(error)) from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, "it isn't valid UTF-8") from error


def _unreadable(path: str, reason: str) -> SettingsError:
    return SettingsError(f"{_shown(path)}: can't be read: {reason}")


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises `SettingsError` naming the source and the place."""
    if sys.version_info >= (3, 11):  # here and not above: a run without such a file needs none
        import tomllib
    else:
        import tomli as tomllib
    keys = _OUTSIDE_OF_KEYS.split(_OPAQUE.sub("", text))
    if any(key.count(".") >= _MOST_PARTS for key in keys):
        raise SettingsError(f"{source}: it has a key of more than {_MOST_PARTS} parts")
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except RecursionError as error:
        raise SettingsError(f"{source}: {_TOO_DEEP}") from error
    except ValueError as error:  # also for a number of more digits than Python converts
        raise SettingsError(f"{source}: {error}") from error
    _check_bounds(values, source)
    return values


def _check_bounds(values: dict[str, Any], source: str) -> None:
    """Refuse values that can't be printed or walked through."""
    pending: list[tuple[Any, int]] = [(values, 0)]
    while pending:
        value, depth = pending.pop()
        if depth > _MOST_PARTS:
            raise SettingsError(f"{source}: {_TOO_DEEP}")
        if isinstance(value, (dict, list)):
            below = value.values() if isinstance(value, dict) else value
            pending.extend((item, depth + 1) for item in below)
        elif isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
            raise SettingsError(f"{source}: it has a number of more than 64 bits")


def _table(values: dict[str, Any], path: str, key: str) -> dict[str, Any]:
    table = values.get(key, {})
    if not isinstance(table, dict):
        raise SettingsError(f"{_shown(path)}: `{key}` must be a table, not {table!r}")
    return table


def _shown(path: str) -> str:
    """A path as messages show it: relative to the current folder where it lies below it."""
    current = os.getcwd().rstrip(os.sep) + os.sep
    return path.removeprefix(current)
